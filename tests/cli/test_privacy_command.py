"""`fedrcd privacy simulate`."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from fedrcd.cli.main import main


def entered(monkeypatch, capsys, *words):
    monkeypatch.setattr("sys.argv", ["fedrcd", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code or 0, *capsys.readouterr()


SMALL = ("privacy", "simulate", "--p", "4", "--rows", "3000", "--epsilon", "0.05,20")


def test_more_epsilon_finds_more(monkeypatch, capsys):
    code, said, _ = entered(monkeypatch, capsys, *SMALL, "--json")
    assert code == 0
    found = json.loads(said)
    assert len(found) == 2 * 11
    worth = {e: [one["worth"] for one in found if one["epsilon"] == e] for e in (0.05, 20)}
    assert max(worth[0.05]) < min(worth[20]) <= 3100
    sure = [one["ancestral_accuracy"] for one in found if one["epsilon"] == 20]
    assert sum(sure) / len(sure) > 0.9


def test_it_prints_a_line_per_epsilon(monkeypatch, capsys):
    code, said, _ = entered(monkeypatch, capsys, *SMALL, "--sites", "4", "--own-noise")
    assert code == 0
    assert "delta 1e-06; 3,000 rows" in said
    assert "0.05" in said


def test_it_draws_accuracy_against_epsilon(monkeypatch, capsys, tmp_path):
    picture = tmp_path / "curve.svg"
    code, _, _ = entered(monkeypatch, capsys, *SMALL, "--sites", "3", "--picture", str(picture))
    assert code == 0
    root = ElementTree.fromstring(picture.read_text())
    names = [one.tag.rpartition("}")[2] for one in root]
    assert (names.count("circle"), names.count("polyline")) == (2, 1)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--picture", "a.png"), "--picture must be an .svg file"),
        (("--epsilon", "a"), "--epsilon must be numbers separated by commas, got 'a'"),
        (("--epsilon", "0"), "epsilon must be a number above 0"),
        (("--delta", "1"), "delta must lie above 0"),
        (("--seeds", "0"), "seeds and sites must be at least 1"),
    ],
)
def test_what_cannot_be_is_one_line(words, reason, monkeypatch, capsys):
    code, _, said = entered(monkeypatch, capsys, "privacy", "simulate", *words)
    assert code == 2
    assert reason in said
    assert said.count("\n") == 1


@pytest.fixture
def rows(tmp_path):
    """A table of three variables, and a frame that is known without it, as files."""
    rng = np.random.default_rng(2)
    X = rng.laplace(size=(3000, 3))
    X[:, 1] += X[:, 0]
    np.savetxt(tmp_path / "a.csv", X, delimiter=",", header="u,v,w", comments="")
    (tmp_path / "frame.toml").write_text("".join(f"[frame.{name}]\ncentre = 0\nscale = 2.0\n" for name in "uvw"))
    return tmp_path


def test_a_discovery_under_noise_is_charged_until_the_budget_is_spent(monkeypatch, capsys, rows):
    said = ("--frame", rows / "frame.toml", "--epsilon", 3, "--delta", 1e-5, "--account", rows / "account.json")
    words = [str(word) for word in ("discover", rows / "a.csv", *said, "--epsilon-budget", 4, "--json")]
    code, out, _ = entered(monkeypatch, capsys, *words)
    assert code == 0
    found = json.loads(out)
    assert (found["method"], found["epsilon"], found["delta"]) == ("fedrcd-dp", 3.0, 1e-5)
    code, _, err = entered(monkeypatch, capsys, *words)
    assert code != 0
    assert "of its budget 4" in err
    code, out, _ = entered(monkeypatch, capsys, "privacy", "spent", str(rows / "account.json"), "--json")
    assert [one["discoveries"] for one in json.loads(out)] == [1]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--epsilon", "1"), "needs a declared frame"),
        (("--delta", "1e-6"), "--delta is for noise: say --epsilon, too"),
        (("--epsilon", "0", "--frame", "frame.toml"), "epsilon must be a number above 0"),
        (("--epsilon", "1", "--frame", "a.csv"), "a.csv"),
        (("--epsilon", "1", "--frame", "empty.toml"), "has no [frame.NAME]"),
        (("--epsilon", "1", "--frame", "flat.toml"), "[frame.u] scale: must be above 0"),
    ],
)
def test_what_is_wrong_with_noise_is_one_line(monkeypatch, capsys, rows, words, reason):
    monkeypatch.chdir(rows)
    (rows / "empty.toml").write_text("")
    (rows / "flat.toml").write_text("[frame.u]\ncentre = 0\nscale = 0\n")
    code, _, err = entered(monkeypatch, capsys, "discover", "a.csv", "--account", "account.json", *words)
    assert code != 0
    if "--delta" in words:
        assert "say --epsilon, too" in err
    else:
        assert reason in err
    assert not (rows / "account.json").exists()
