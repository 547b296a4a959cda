"""After any history the ledger holds, to the bit, what a fresh federation of the remaining rows would hold."""

import pytest

from tests.federation.histories import live

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")


@pytest.mark.parametrize("seed", range(8))  # `make verify` lives 1,000
def test_a_federation_that_lived_is_a_fresh_one_of_what_remains(seed, tmp_path):
    ending = live(tmp_path, seed)
    assert ending.lived == ending.fresh
    assert ending.orders
    assert ending.weights
    assert ending.embedded
    assert ending.sound
    assert ending.entries > 5
