"""Federated LiNGAM causal discovery from statistics that add up: sites send sums, never rows.

The public names below are imported when first used, so that `import fedrcd` stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedrcd.api.bootstrap import bootstrap as bootstrap
    from fedrcd.api.bootstrap_result import Bootstrap as Bootstrap
    from fedrcd.api.checks import Checks as Checks
    from fedrcd.api.checks import check as check
    from fedrcd.api.comparison import Comparison as Comparison
    from fedrcd.api.comparison import compare as compare
    from fedrcd.api.discover import discover as discover
    from fedrcd.api.discovery import Discovery as Discovery
    from fedrcd.api.estimator import FedLiNGAM as FedLiNGAM
    from fedrcd.api.machines import connect as connect
    from fedrcd.api.tables import in_process as in_process
    from fedrcd.data.sources.address import source_at as source_at
    from fedrcd.data.table import Table as Table
    from fedrcd.graphs.knowledge.statements import Knowledge as Knowledge
    from fedrcd.lingam.utils import make_dot as make_dot
    from fedrcd.lingam.utils import make_prior_knowledge as make_prior_knowledge
    from fedrcd.methods.settings import Settings as Settings

__version__ = "0.1.0"

_HOMES = {
    "Bootstrap": "fedrcd.api.bootstrap_result",
    "Checks": "fedrcd.api.checks",
    "Knowledge": "fedrcd.graphs.knowledge.statements",
    "bootstrap": "fedrcd.api.bootstrap",
    "check": "fedrcd.api.checks",
    "Comparison": "fedrcd.api.comparison",
    "compare": "fedrcd.api.comparison",
    "connect": "fedrcd.api.machines",
    "in_process": "fedrcd.api.tables",
    "Settings": "fedrcd.methods.settings",
    "discover": "fedrcd.api.discover",
    "make_dot": "fedrcd.lingam.utils",
    "make_prior_knowledge": "fedrcd.lingam.utils",
    "Discovery": "fedrcd.api.discovery",
    "FedLiNGAM": "fedrcd.api.estimator",
    "Table": "fedrcd.data.table",
    "source_at": "fedrcd.data.sources.address",
}

__all__ = [
    "Bootstrap",
    "Checks",
    "Comparison",
    "Discovery",
    "FedLiNGAM",
    "Knowledge",
    "Settings",
    "Table",
    "__version__",
    "bootstrap",
    "check",
    "compare",
    "connect",
    "discover",
    "in_process",
    "make_dot",
    "make_prior_knowledge",
    "source_at",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fedrcd' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
