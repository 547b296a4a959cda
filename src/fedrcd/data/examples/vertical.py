"""Synthetic patients whose columns lie at three places: a clinic, a laboratory and an insurer.

The model is that of the three hospitals. Each place holds some columns of the same patients, every two columns are
together somewhere, and no place holds them all.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fedrcd.data.examples.three_hospitals import FEDERATION, TRUTH, VARIABLES, hospital_model, model_json
from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame, write_federation

SEED = 20260102
PATIENTS = 4000
BLOCK = "patients"
COLUMNS = {
    "clinic": ("blood_pressure", "length_of_stay", "age", "bmi"),
    "laboratory": ("glucose", "age", "crp", "cholesterol", "bmi", "creatinine"),
    "insurer": ("blood_pressure", "glucose", "length_of_stay", "crp", "cholesterol", "creatinine"),
}


def vertical_federation() -> Federation:
    """Who holds which columns of the patients."""
    return Federation(
        variables=tuple(VARIABLES),
        sites=tuple(SiteEntry(site, columns, (BLOCK,)) for site, columns in COLUMNS.items()),
        blocks=(BlockEntry(BLOCK, PATIENTS),),
        frame={name: VariableFrame(one.mean, one.noise_sd, one.unit) for name, one in VARIABLES.items()},
    )


def write_vertical(folder: Path) -> tuple[Path, ...]:
    """Write a table per place, with the number of the patient, the federation and the graph; return the paths."""
    model, rng = hospital_model(), np.random.default_rng(SEED)
    X = np.array([variable.mean for variable in VARIABLES.values()]) + model.sample(PATIENTS, rng)
    numbers = np.arange(1, PATIENTS + 1)
    for site, columns in COLUMNS.items():
        held = np.column_stack([numbers, X[:, [model.names.index(name) for name in columns]]])
        header, digits = ",".join(("id", *columns)), ["p%05d"] + ["%.5g"] * len(columns)
        path = folder / f"{site}.csv"
        np.savetxt(path, held, fmt=digits, delimiter=",", header=header, comments="", encoding="utf-8")
    (folder / TRUTH).write_text(model_json(model), encoding="utf-8", newline="\n")
    write_federation(folder / FEDERATION, vertical_federation())
    return tuple(folder / name for name in (*(f"{site}.csv" for site in COLUMNS), TRUTH, FEDERATION))
