"""Names of the `lingam` package over this one: change the import, keep the notebook.

::

    from fedrcd import lingam
    from fedrcd.lingam.longitudinal_lingam import LongitudinalLiNGAM
from fedrcd.lingam.longitudinal_lingam import LongitudinalLiNGAM
from fedrcd.lingam.utils import make_dot, make_prior_knowledge

    model = lingam.DirectLiNGAM().fit(X)
"""

from __future__ import annotations

from fedrcd import __version__
from fedrcd.lingam.bootstrap_result import BootstrapResult
from fedrcd.lingam.direct_lingam import DirectLiNGAM
from fedrcd.lingam.longitudinal_lingam import LongitudinalLiNGAM
from fedrcd.lingam.utils import make_dot, make_prior_knowledge
from fedrcd.lingam.var_lingam import VARLiNGAM

__all__ = [
    "BootstrapResult",
    "DirectLiNGAM",
    "LongitudinalLiNGAM",
    "VARLiNGAM",
    "__version__",
    "make_dot",
    "make_prior_knowledge",
]
