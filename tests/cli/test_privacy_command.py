"""`fedrcd privacy simulate`."""

import json

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


@pytest.mark.parametrize(
    ("words", "reason"),
    [
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
