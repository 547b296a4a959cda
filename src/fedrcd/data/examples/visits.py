"""Patients of two clinics who were seen at six visits: what acts within a visit, and from one visit to the next."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame, write_federation
from fedrcd.data.simulate.models import LinearModel
from fedrcd.data.simulate.noise import noise_per_variable
from fedrcd.data.simulate.over_time import ModelOverTime, truth_over_time

SEED = 5
CLINICS = {"clinic_a": 220, "clinic_b": 180}
VISITS = 6
VARIABLES = {"dose": (20.0, 4.0, "mg"), "pain": (50.0, 8.0, "points"), "sleep": (6.5, 1.0, "h")}
"""Mean, standard deviation of what is new at a visit, and unit."""

WITHIN = {("dose", "pain"): -1.2, ("pain", "sleep"): -0.08}
LATER = {("dose", "dose"): 0.5, ("pain", "pain"): 0.4, ("sleep", "sleep"): 0.3, ("pain", "dose"): 0.15}
"""Effects (cause, effect) within a visit, and one visit later: who has pain is given more."""


def visits_model() -> ModelOverTime:
    """The model behind the tables; means are added to its rows."""
    names = tuple(VARIABLES)
    now, later = (np.zeros((len(names), len(names))) for _ in range(2))
    for effects, matrix in ((WITHIN, now), (LATER, later)):
        for (cause, effect), weight in effects.items():
            matrix[names.index(effect), names.index(cause)] = weight
    noise = noise_per_variable("laplace", len(names), rng=np.random.default_rng(0))
    spread = np.array([sd for _, sd, _ in VARIABLES.values()])
    return ModelOverTime(LinearModel(now, noise, spread, names), (later,))


def visits_federation() -> Federation:
    """Two clinics; every row goes back one visit, and patients are protected."""
    names = tuple(VARIABLES)
    plain = Federation(
        variables=names,
        sites=tuple(SiteEntry(clinic, names, (clinic,)) for clinic in CLINICS),
        blocks=tuple(BlockEntry(clinic, patients * (VISITS - 1)) for clinic, patients in CLINICS.items()),
        frame={name: VariableFrame(mean, 2 * sd, unit) for name, (mean, sd, unit) in VARIABLES.items()},
        unit="subject",
    )
    return plain.with_past(1, time_column="visit", step=1.0)


def write_visits(folder: Path) -> tuple[Path, ...]:
    """Write a table per clinic, the federation and the effects; return the paths."""
    model, rng = visits_model(), np.random.default_rng(SEED)
    means = np.array([mean for mean, _, _ in VARIABLES.values()])
    for clinic, patients in CLINICS.items():
        rows = means + model.sample(patients, VISITS, rng).reshape(-1, len(means))
        numbers, visits = np.repeat(np.arange(1, patients + 1), VISITS), np.tile(np.arange(1, VISITS + 1), patients)
        table = np.column_stack([numbers, visits, rows])
        header, digits = ",".join(("id", "visit", *VARIABLES)), [f"{clinic[-1]}%03d", "%d", *["%.5g"] * len(means)]
        path = folder / f"{clinic}.csv"
        np.savetxt(path, table, fmt=digits, delimiter=",", header=header, comments="", encoding="utf-8")
    (folder / "truth.json").write_text(truth_over_time(model), encoding="utf-8", newline="\n")
    write_federation(folder / "federation.toml", visits_federation())
    return tuple(folder / name for name in (*(f"{clinic}.csv" for clinic in CLINICS), "truth.json", "federation.toml"))
