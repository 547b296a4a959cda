"""The experiments, one module each; `EXPERIMENTS` finds them by name."""

from __future__ import annotations

from experiments.harness.experiment import Experiment
from experiments.studies.ablation import ABLATION
from experiments.studies.bnlearn import BNLEARN
from experiments.studies.coefficient import COEFFICIENT
from experiments.studies.complexity import COMPLEXITY
from experiments.studies.contamination import CONTAMINATION
from experiments.studies.hidden import HIDDEN
from experiments.studies.invariance import INVARIANCE
from experiments.studies.noise import NOISE
from experiments.studies.per_noise import PER_NOISE
from experiments.studies.privacy import PRIVACY
from experiments.studies.sample_size import SAMPLE_SIZE
from experiments.studies.scalability import SCALABILITY
from experiments.studies.site_effects import SITE_EFFECTS
from experiments.studies.stratification import STRATIFICATION
from experiments.studies.when_scale_suffices import WHEN_SCALE_SUFFICES
from fedrcd.errors import ConfigError
from fedrcd.suggest import did_you_mean

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        COMPLEXITY,
        NOISE,
        ABLATION,
        SCALABILITY,
        INVARIANCE,
        STRATIFICATION,
        PER_NOISE,
        BNLEARN,
        SAMPLE_SIZE,
        WHEN_SCALE_SUFFICES,
        COEFFICIENT,
        SITE_EFFECTS,
        CONTAMINATION,
        HIDDEN,
        PRIVACY,
    )
}
"""In the order of the paper, then beyond it."""


def find_experiment(name: str) -> Experiment:
    """An experiment by name; an unknown one is answered with the nearest."""
    if name not in EXPERIMENTS:
        hint = did_you_mean(name.lower(), EXPERIMENTS) or f"; the experiments are {', '.join(EXPERIMENTS)}"
        raise ConfigError(f"there is no experiment {name!r}{hint}")
    return EXPERIMENTS[name]
