"""A method on a card: the same parts, but for where the work is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fedrcd.data.rows import count_rows
from fedrcd.methods.deflations.entropies import Entropies
from fedrcd.methods.deflations.rows_on_card import EntropyRows, GapRows, RowsOnCard, of_rows
from fedrcd.methods.deflations.site_residuals import SiteResiduals
from fedrcd.methods.deflations.tensors import Tensors
from fedrcd.methods.scores.negentropy import NegentropyGap
from fedrcd.methods.skeleton import Parts
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.accelerated_tensors import AcceleratedTensors
from fedrcd.statistics.accelerator import Accelerator


def on_card(parts: Parts[Any], card: Accelerator, setting: Setting, sites: Sequence[Any]) -> Parts[Any]:
    """The parts with loops on a card, where they have such a form and it has room for them.

    Tensors are deflated and refined there. The rows of one complete table stay there for DirectLiNGAM and
    `fedrcd-sx`. Everything else comes from questions as ever, which sites may answer on a card.
    """
    p = len(setting.variables)
    if isinstance(parts.deflation, Tensors):
        there = card.takes(AcceleratedTensors.bytes_for(p), f"the tensor of {p} variables")
        return replace(parts, deflation=replace(parts.deflation, card=card)) if there else parts
    kind, options = _kind_of_rows(parts)
    site = _only(sites, setting)
    if kind is None or site is None:
        return parts
    rows = count_rows(site.rows)
    if not card.takes(kind.bytes_for(rows, p), f"{rows:,} rows of {p} variables, with their powers,"):
        return parts
    return replace(parts, score=of_rows, deflation=RowsOnCard(card, site, kind, options))


def _kind_of_rows(parts: Parts[Any]) -> tuple[type[EntropyRows | GapRows] | None, dict[str, Any]]:
    """How rows on a card are scored as these parts score sums, if they can be."""
    match parts.deflation, parts.score:
        case Entropies(), _:
            return EntropyRows, {}
        case SiteResiduals(order=4, estimator="plug-in"), NegentropyGap(negentropy=negentropy):
            return GapRows, {"negentropy": negentropy}
    return None, {}


def _only(sites: Sequence[Any], setting: Setting) -> LocalSite | None:
    """The site, if there is one alone whose rows are here, complete, and summed in float64."""
    if len(sites) != 1 or setting.grid is not None or setting.fills_gaps:
        return None
    site: LocalSite | None = sites[0] if hasattr(sites[0], "expressed") and not sites[0].gaps else None
    return site
