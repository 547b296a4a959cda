"""Whatever happens at five sites, their answers together tell nobody, and the ledger is that of a fresh federation."""

import pytest

from tests.federation import edition_histories
from tests.federation.edition_histories import live

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")


SEEDS = [0, 1, 63269, 63385, 63474]
"""Forced now and then; plain; three in which a site once waited for ever, two with groups. `make verify` has 1,000."""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_life_tells_nobody(seed, tmp_path):
    ending = live(tmp_path, seed)
    assert ending.problems == []
    assert ending.releases > 15


def test_the_checker_finds_what_the_rule_prevents(tmp_path, monkeypatch):
    """Without the rule the same life tells single persons."""
    monkeypatch.setattr(edition_histories, "OFF", ("batch",))
    assert any("persons are told" in problem for problem in live(tmp_path, 1).problems)
