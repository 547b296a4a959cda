"""Tables and stores that cannot be answered about: one clear line at the site, a code outside, and nothing leaves."""

import shutil

import numpy as np
import pandas as pd
import pytest

from fedrcd.federation.messages.refusals import Refusal
from tests.contracts.doors import BLOCK, Place, table_of

N, P = 300, 3


def identifiers_lost(place):
    place.put(place.table().drop(columns="id", index=[3]))


def identifiers_twice(place):
    table = place.table()
    place.put(pd.concat([table, table.iloc[[7]]]))


def identifiers_that_lack(place):
    place.put(place.table().assign(id=lambda table: table["id"].where(table["id"] != "r7")))


def nobody_left(place):
    place.put(place.table().iloc[:0])


def nobody_without_gaps(place):
    place.put(place.table().assign(v1=np.nan))


def store_of_another(place):
    """The folder of another site was given by mistake."""
    other = Place.of(place.folder / "elsewhere", table_of(P, N))
    with other.store() as store:
        store.rename("south")
    shutil.rmtree(place.state, ignore_errors=True)
    shutil.copytree(other.state, place.state)


CASES = {
    identifiers_lost: "without identifiers",
    identifiers_twice: "2 times",
    identifiers_that_lack: "without identifier",
    nobody_left: "no row without missing values",
    nobody_without_gaps: "nothing but missing values",
    store_of_another: "is the store of site 'south'",
}


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """A site that answered about an edition."""
    place = Place.of(tmp_path_factory.mktemp("place"), table_of(P, N))
    assert place.respond(place.question("pairs")).refusal is None
    return place


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.__name__)
def test_what_cannot_be_an_edition_is_refused_with_one_line(answered, tmp_path, case):
    place = answered.copied(tmp_path)
    case(place)
    reply = place.respond(place.question("pairs"))
    assert (reply.refusal is None, reply.blocks) == (False, ())
    seen = place.contribute("pairs", patient=True)
    assert seen.left == {}
    if case is not identifiers_lost:  # a contribution waits then, as it does whenever somebody seems to be gone
        assert CASES[case] in seen.said
        assert "\n" not in seen.said.strip()
    if case is not store_of_another:  # it has no log of this site's
        assert CASES[case] in place.log()[-1].detail


def test_an_edition_that_would_be_empty_is_none(answered, tmp_path):
    """Whoever erases everybody, one by one, is told to take the block out; nobody is erased by halves."""
    place = answered.copied(tmp_path)
    seen = place.erase("pairs", "--ids", place.listed(*[f"r{k}" for k in range(N)]))
    assert (seen.refused, seen.left) == (True, {})
    assert "take the whole block out" in seen.said
    assert place.gone() == set()
    place.contribute("pairs", patient=True)
    assert place.erase("pairs", "--block", BLOCK).left == {}
    assert place.respond(place.question("pairs")).refusal is Refusal.WITHDRAWN
