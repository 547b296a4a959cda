"""Federated LiNGAM causal discovery from statistics that add up: sites send sums, never rows.

The public names below are imported when first used, so that `import fedrcd` stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedrcd.api.comparison import Comparison as Comparison
    from fedrcd.api.comparison import compare as compare
    from fedrcd.api.discover import discover as discover
    from fedrcd.api.discovery import Discovery as Discovery
    from fedrcd.api.estimator import FedLiNGAM as FedLiNGAM
    from fedrcd.data.labelled import LabelledTable as Table

__version__ = "0.1.0"

_HOMES = {
    "Comparison": "fedrcd.api.comparison",
    "compare": "fedrcd.api.comparison",
    "discover": "fedrcd.api.discover",
    "Discovery": "fedrcd.api.discovery",
    "FedLiNGAM": "fedrcd.api.estimator",
    "Table": "fedrcd.data.labelled",
}
_NAMES = {"Table": "LabelledTable"}

__all__ = ["Comparison", "Discovery", "FedLiNGAM", "Table", "__version__", "compare", "discover"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fedrcd' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), _NAMES.get(name, name))


def __dir__() -> list[str]:
    return sorted(__all__)
