"""Drafts of public frames."""

import re

import numpy as np
import pandas as pd
import pytest

from fedrcd.data.federation import read_federation
from fedrcd.data.frame_draft import draft_frame
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError
from tests.cli.commands import entered
from tests.cli.test_coverage_command import fedrcd


def table(tmp_path, **columns):
    path = tmp_path / "hospital.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def site_rows():
    rng = np.random.default_rng(0)
    return {"id": range(500), "age": rng.normal(52, 11, 500), "dose": rng.gamma(1, 3e-4, 500)}


FEDERATION = """variables = ["age", "dose"]
[frame.age]
centre = 0.0
scale = 1.0
unit = "years"
[[site]]
name = "hospital"
columns = ["age", "dose"]
blocks = ["all"]
[[block]]
label = "all"
rows = 500
"""


def test_a_draft_has_one_digit(tmp_path):
    said = fedrcd("frame", "propose", table(tmp_path, **site_rows()), "--drop", "id")
    assert said == "[frame.age]\ncentre = 50.0\nscale = 20.0\n\n[frame.dose]\ncentre = 0.0002\nscale = 0.0002\n"


def test_a_draft_goes_into_a_federation_file_and_keeps_units(tmp_path):
    described = tmp_path / "federation.toml"
    described.write_text(FEDERATION)
    fedrcd("frame", "propose", table(tmp_path, **site_rows()), "--into", described)
    frame = read_federation(described).frame
    assert (frame["age"].centre, frame["age"].scale, frame["age"].unit) == (50.0, 20.0, "years")
    assert set(frame) == {"age", "dose"}


def test_a_table_that_lacks_a_variable_is_refused_and_the_file_left_alone(tmp_path):
    described = tmp_path / "federation.toml"
    described.write_text(FEDERATION)
    rows = site_rows()
    rows["doze"] = rows.pop("dose")
    with pytest.raises(ConfigError, match=r"lacks column 'dose'.*did you mean 'doze'"):
        fedrcd("frame", "propose", table(tmp_path, **rows), "--into", described)
    assert described.read_text() == FEDERATION


def untidy(tmp_path, **more):
    """A table as it comes out of a hospital's system."""
    n, rng = 500, np.random.default_rng(1)
    dates = pd.date_range("2026-01-01", periods=n, freq="h").strftime("%Y-%m-%d")
    plain = {"number": np.arange(n), "visit": dates, "remark": ["ok", ""] * (n // 2), "country": 1, "empty": np.nan}
    return table(tmp_path, **plain, **{"age (years)": rng.normal(52, 11, n), "count": rng.poisson(4, n)}, **more)


def test_identifiers_dates_text_and_constants_are_passed_over_and_named(tmp_path):
    said = fedrcd("frame", "propose", untidy(tmp_path))
    assert re.findall(r"^\[frame\.(.*)\]$", said, re.MULTILINE) == ['"age (years)"', "count"]
    assert 'unit = "years"' in said
    told = entered("frame", "propose", untidy(tmp_path)).stderr.splitlines()
    assert told == [
        "passed over: visit (dates)",
        "passed over: remark (text)",
        "passed over: country (one value)",
        "passed over: empty (nothing but missing values)",
        "passed over: number (an identifier)",
        "next: fedrcd discover TABLE TABLE ... --drop visit --drop remark --drop country --drop empty --drop number",
    ]


def test_with_a_federation_file_its_variables_are_taken_and_nothing_else_is_looked_at(tmp_path):
    described = tmp_path / "federation.toml"
    described.write_text(FEDERATION)
    rng = np.random.default_rng(0)
    path = untidy(tmp_path, age=rng.normal(52, 11, 500), dose=rng.gamma(1, 3e-4, 500))
    fedrcd("frame", "propose", path, "--into", described)
    assert set(read_federation(described).frame) == {"age", "dose"}


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_drafts_hold_the_rows_well_inside_the_grid(size):
    rows = size * np.random.default_rng(1).normal(3, 1, (200, 2))
    for name, frame in draft_frame(Table(rows, columns=("a", "b"), source="t")).items():
        z = (rows[:, "ab".index(name)] - frame.centre) / frame.scale
        assert 0.3 < z.std() < 3
        assert np.abs(z).max() < 10
