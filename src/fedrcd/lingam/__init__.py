"""Names of the `lingam` package over this one: change the import, keep the notebook.

::

    from fedrcd import lingam
    from fedrcd.lingam.longitudinal_lingam import LongitudinalLiNGAM
from fedrcd.lingam.longitudinal_lingam import LongitudinalLiNGAM
from fedrcd.lingam.utils import make_dot, make_prior_knowledge

    model = lingam.DirectLiNGAM().fit(X)
"""

from __future__ import annotations

from typing import Any

from fedrcd import __version__
from fedrcd.lingam.bootstrap_result import BootstrapResult
from fedrcd.lingam.direct_lingam import DirectLiNGAM
from fedrcd.lingam.hidden_causes import RCD, BottomUpParceLiNGAM
from fedrcd.lingam.longitudinal_lingam import LongitudinalLiNGAM
from fedrcd.lingam.results_over_time import LongitudinalBootstrapResult, VARBootstrapResult
from fedrcd.lingam.utils import make_dot, make_prior_knowledge
from fedrcd.lingam.var_lingam import VARLiNGAM

__all__ = [
    "RCD",
    "BootstrapResult",
    "BottomUpParceLiNGAM",
    "DirectLiNGAM",
    "LongitudinalBootstrapResult",
    "LongitudinalLiNGAM",
    "VARBootstrapResult",
    "VARLiNGAM",
    "__version__",
    "make_dot",
    "make_prior_knowledge",
]

_HIDDEN = "allows hidden causes otherwise than fedrcd.discover(..., hidden=True) does; take lingam on one table"
_NONLINEAR = "fits nonlinear functions to rows, which sums over sites cannot; take lingam on one table"
_ROWS = "works on the rows of one table; take lingam there, or fedrcd.discover over sites"
_GROUPS = "orders groups of variables, which nothing here does; take lingam on one table"
ABSENT = {
    "ABICLiNGAM": _HIDDEN,
    "CAMUV": _NONLINEAR,
    "CausalBasedSimulator": "simulates from the rows of one table; `fedrcd simulate` writes tables of a known model",
    "CausalEffect": "predicts from the rows of one table; Discovery.total_effects() has total effects",
    "GroupDirectLiNGAM": _GROUPS,
    "GroupLiNGAM": _GROUPS,
    "HighDimDirectLiNGAM": _ROWS,
    "ICALiNGAM": _ROWS,
    "LEWIS": _ROWS,
    "LiM": "takes discrete variables; fedrcd.discover only notes columns of few levels. Take lingam on one table",
    "LiNA": _ROWS,
    "LongitudinalRESIT": _NONLINEAR,
    "MDLiNA": _ROWS,
    "MultiGroupCAMUV": _NONLINEAR,
    "MultiGroupDirectLiNGAM": "is fedrcd.discover([table, table], 'fed-direct') where the tables share all effects",
    "MultiGroupRCD": _HIDDEN,
    "MultiGroupRESIT": _NONLINEAR,
    "RESIT": _NONLINEAR,
    "VARMABootstrapResult": "is not here, as VARMALiNGAM is not",
    "VARMALiNGAM": "models averages of past noise, which sums of products do not tell; VARLiNGAM takes past values",
    "mLiNGAM": "fills gaps by rows; fedrcd.discover(..., missing='expected') fills them by pooled moments",
}
"""Names of `lingam` that are not here, with the reason and where to look."""


def __getattr__(name: str) -> Any:
    """Say of a name of `lingam` that is not here why: as an ImportError, which `from` passes on."""
    if name in ABSENT:
        raise ImportError(f"fedrcd.lingam has no {name}: it {ABSENT[name]}", name=name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
