"""Synthetic patients of three hospitals, drawn from one linear model with clinical names and units.

Nothing here was measured on anybody. The graph, the effects and the noise are invented to look plausible; the three
tables are independent samples of the same model.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedrcd.data.federation import BlockEntry, Federation, SiteEntry, VariableFrame, write_federation
from fedrcd.data.simulate.models import LinearModel
from fedrcd.data.simulate.noise import Noise
from fedrcd.data.table import Table
from fedrcd.graphs.exports import ORIENTATION, Edge, edge_list
from fedrcd.typing import Matrix

SEED = 20260101
TRUTH, FEDERATION = "truth.json", "federation.toml"
ROWS = {"hospital_a": 1500, "hospital_b": 1900, "hospital_c": 2300}


class _Variable(NamedTuple):
    """A column: its mean, and the family and standard deviation of its noise, in its unit."""

    mean: float
    noise: str
    noise_sd: float
    unit: str


VARIABLES = {  # deliberately not in causal order
    "blood_pressure": _Variable(134.0, "logistic", 9.0, "mmHg"),
    "glucose": _Variable(108.0, "exponential", 14.0, "mg/dL"),
    "length_of_stay": _Variable(8.5, "exponential", 2.2, "days"),
    "age": _Variable(58.0, "uniform", 13.0, "years"),
    "crp": _Variable(9.5, "exponential", 4.0, "mg/L"),
    "cholesterol": _Variable(202.0, "laplace", 20.0, "mg/dL"),
    "bmi": _Variable(27.5, "gamma", 3.6, "kg/m²"),
    "creatinine": _Variable(88.0, "gamma", 10.0, "µmol/L"),
}

LOCAL_UNITS = {"glucose": ("mmol/L", 18.0), "cholesterol": ("mmol/L", 38.67), "creatinine": ("mg/dL", 88.4)}
"""What `hospital_c` measures in where it follows its own laboratory, and how much of the common unit one of it is."""

EFFECTS = (
    Edge("age", "blood_pressure", 0.55),
    Edge("age", "cholesterol", 0.9),
    Edge("age", "creatinine", 0.45),
    Edge("age", "length_of_stay", 0.06),
    Edge("bmi", "blood_pressure", 1.3),
    Edge("bmi", "cholesterol", 2.0),
    Edge("bmi", "glucose", 2.4),
    Edge("bmi", "crp", 0.55),
    Edge("blood_pressure", "creatinine", 0.4),
    Edge("glucose", "creatinine", 0.3),
    Edge("crp", "length_of_stay", 0.25),
    Edge("creatinine", "length_of_stay", 0.07),
)


class Truth(NamedTuple):
    """The graph behind the example: ``B[i, j]`` is the effect of ``names[j]`` on ``names[i]``."""

    names: tuple[str, ...]
    B: Matrix


def hospital_model() -> LinearModel:
    """Model of the deviations from the means in `VARIABLES`."""
    names = tuple(VARIABLES)
    return LinearModel(
        B=_matrix(EFFECTS, names),
        noise=tuple(Noise(variable.noise) for variable in VARIABLES.values()),
        noise_sd=np.array([variable.noise_sd for variable in VARIABLES.values()]),
        names=names,
    )


def hospitals() -> tuple[Table, ...]:
    """Tables of the three hospitals before rounding; every call gives the same."""
    model, rng = hospital_model(), np.random.default_rng(SEED)
    means = np.array([variable.mean for variable in VARIABLES.values()])
    return tuple(
        Table(means + model.sample(n, rng), columns=model.names, source=f"{name}.csv") for name, n in ROWS.items()
    )


def example_paths() -> tuple[Path, ...]:
    """Paths of the bundled CSV files, one per hospital."""
    return tuple(bundled(f"{name}.csv") for name in ROWS)


def example_truth() -> Truth:
    """Bundled graph from which the hospitals' rows were drawn."""
    stored = json.loads(bundled(TRUTH).read_text(encoding="utf-8"))
    names = tuple(stored["variables"])
    return Truth(names, _matrix([Edge(**edge) for edge in stored["edges"]], names))


def hospital_federation(*, local_units: bool = False) -> Federation:
    """The federation of the three hospitals; with local units they share no frame."""
    frame = {
        name: VariableFrame(variable.mean, variable.noise_sd, variable.unit) for name, variable in VARIABLES.items()
    }
    return Federation(
        variables=tuple(VARIABLES),
        sites=tuple(SiteEntry(name, tuple(VARIABLES), (name,)) for name in ROWS),
        blocks=tuple(BlockEntry(name, rows) for name, rows in ROWS.items()),
        frame={} if local_units else frame,
    )


def write_examples(folder: Path, *, local_units: bool = False) -> tuple[Path, ...]:
    """Write the tables, to five significant digits, the federation and the graph to a folder; return the paths.

    With `local_units` the last hospital's laboratory measures in units of its own; the graph stays that of the common
    units.
    """
    tables = hospitals()
    if local_units:
        factors = np.array([LOCAL_UNITS[name][1] if name in LOCAL_UNITS else 1.0 for name in VARIABLES])
        tables = (*tables[:-1], replace(tables[-1], data=tables[-1].values / factors))
    texts = {table.source: _as_csv(table) for table in tables}
    texts[TRUTH] = model_json(hospital_model())
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    write_federation(folder / FEDERATION, hospital_federation(local_units=local_units))
    return tuple(folder / name for name in (*texts, FEDERATION))


def bundled(name: str) -> Path:
    """Path of a file that comes with the package."""
    return Path(str(files("fedrcd.data.examples").joinpath(name)))


def _matrix(edges: Sequence[Edge], names: Sequence[str]) -> Matrix:
    """Weights in the package's convention, [effect, cause]."""
    B = np.zeros((len(names), len(names)))
    for edge in edges:
        B[names.index(edge.effect), names.index(edge.cause)] = edge.weight
    return B


def _as_csv(table: Table) -> str:
    text = io.StringIO()
    np.savetxt(text, table.values, fmt="%.5g", delimiter=",", header=",".join(table.columns), comments="")
    return text.getvalue()


def model_json(model: LinearModel) -> str:
    """The graph of a model as `truth.json` holds it."""
    edges = [asdict(edge) for edge in edge_list(model.B, model.names)]
    stored = {"orientation": ORIENTATION, "variables": model.names, "edges": edges}
    return json.dumps(stored, indent=2) + "\n"
