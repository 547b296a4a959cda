"""Masked sums over tables in this process: whether they can be, before anything is asked."""

from __future__ import annotations

from dataclasses import replace

from fedrcd.errors import ConfigError
from fedrcd.methods.auto import scale_free_default
from fedrcd.protocol.combine import in_the_clear
from fedrcd.protocol.transport import InProcess, Traffic, Transport
from fedrcd.runs.run import Run


def masked_over(transport: InProcess) -> InProcess:
    """The same sites, whose answers are added under masks."""
    from fedrcd.federation.masking.in_process import MaskedTotal
    from fedrcd.federation.messages.signatures import require_cryptography

    require_cryptography("masks are made with")
    return replace(transport, combine=MaskedTotal(), traffic=Traffic())


def is_masked(transport: Transport) -> bool:
    """Whether answers are added otherwise than in the clear."""
    return isinstance(transport, InProcess) and transport.combine is not in_the_clear


def require_no_checks(transport: Transport) -> None:
    """Raise for checks of assumptions under masks."""
    if is_masked(transport):
        raise ConfigError(
            "checks ask a second question, for residuals given pooled moments, and masks are offered for one; check "
            "without masked=True where the sums may be seen"
        )


def require_maskable(run: Run) -> None:
    """Raise unless masks are offered for the method, and hide every site that answers."""
    from fedrcd.federation.masking.coverage import require_hidden

    if run.card.one_table:
        raise ConfigError(f"{run.card.name} works on one table, where there is nothing to mask")
    if not run.card.maskable:
        raise ConfigError(
            f"{run.card.name} asks several times, for what sites cannot work out by themselves; "
            f"{scale_free_default()} can be masked"
        )
    question = next(run.parts.rounds(run.setting))
    require_hidden(question, run.setting.layout, tuple(dict.fromkeys(run.sites)))
