"""Names of the `lingam` package over this one: change the import, keep the notebook.

::

    from fedrcd import lingam
    from fedrcd.lingam.utils import make_dot, make_prior_knowledge

    model = lingam.DirectLiNGAM().fit(X)
"""

from __future__ import annotations

from typing import Any

from fedrcd.api.bootstrap_result import Bootstrap as BootstrapResult
from fedrcd.api.estimator import FedLiNGAM
from fedrcd.errors import ConfigError
from fedrcd.lingam.utils import make_dot, make_prior_knowledge

__all__ = ["BootstrapResult", "DirectLiNGAM", "make_dot", "make_prior_knowledge"]


def DirectLiNGAM(  # noqa: N802 - lingam's name
    random_state: int | None = None,
    prior_knowledge: Any = None,
    apply_prior_knowledge_softly: bool = False,  # noqa: FBT001, FBT002 - lingam's signature
    measure: str = "pwling",
) -> FedLiNGAM:
    """An estimator that gives what `lingam.DirectLiNGAM` gives: its order, and effects selected by BIC.

    Prior knowledge is always enforced; other measures than "pwling" do not exist here.
    """
    if measure != "pwling":
        raise ConfigError(f"measure must be 'pwling', got {measure!r}")
    if apply_prior_knowledge_softly:
        raise ConfigError("prior knowledge is enforced here; leave apply_prior_knowledge_softly=False")
    return FedLiNGAM(
        "direct-lingam", weights="bic", stack=True, prior_knowledge=prior_knowledge, random_state=random_state
    )
