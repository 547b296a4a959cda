"""How to add a transport, in one class.

A transport carries a question to all sites and gives back the sum of their answers. It has a `setting` (the variables
and the frame in which sums are taken, which all sites must share) and `pool`, in three steps: gather the answers,
accept each, combine them. Methods, bootstrap and checks run over it unchanged.

The transport here is a folder: the question is a file, and every site, in a thread of its own, answers by another.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

import fedrcd
from fedrcd.errors import StatisticError
from fedrcd.methods.registry import METHODS
from fedrcd.protocol.accept import accept
from fedrcd.protocol.combine import combine
from fedrcd.protocol.gather import Answer
from fedrcd.protocol.wire import from_bytes, to_bytes

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes on the data do not matter here
TABLES = np.array_split(np.random.default_rng(3).laplace(size=(2000, 4)).cumsum(axis=1), 3)


class Folder:
    """Questions and answers are files in a folder; `sites` answer them."""

    def __init__(self, folder, sites, setting):
        self.folder, self.sites, self.setting, self.numbers = folder, sites, setting, count(1)

    def pool(self, question):
        """The sum of all sites' answers."""
        return combine(accept(question, answer) for answer in self.gather(question))

    def gather(self, question):
        """The answers, in the order of the sites whoever is first."""
        number = next(self.numbers)
        asked = self.folder / f"{number}.question"
        asked.write_bytes(to_bytes(question))
        with ThreadPoolExecutor(len(self.sites)) as threads:
            files = list(threads.map(lambda site: self.answer(site, asked), self.sites))
        for site, file in zip(self.sites, files, strict=True):
            yield Answer(site.name, from_bytes(file.read_bytes(), object))

    def answer(self, site, asked):
        """What a site does: it sees its own rows, and the file."""
        sums = site.answer(from_bytes(asked.read_bytes(), object), self.setting.layout)
        file = asked.with_suffix(f".{site.name.replace(' ', '-')}")
        file.write_bytes(to_bytes(sums))
        return file


@pytest.fixture
def folder(tmp_path):
    """The folder, with the sites and the frame of an ordinary run; `random_state` splits rows for a bootstrap."""
    inside = fedrcd.in_process(TABLES, arithmetic="exact", random_state=7)
    return Folder(tmp_path, inside.sites, inside.setting)


@pytest.mark.parametrize("method", [name for name, card in METHODS.items() if not card.one_table])
def test_every_method_has_the_bits_of_one_process(folder, method):
    plain, found = fedrcd.discover(TABLES, method, arithmetic="exact"), fedrcd.discover(folder, method)
    assert (found.order, found.rounds) == (plain.order, plain.rounds)
    assert found.B.tobytes() == plain.B.tobytes()
    assert len(list(folder.folder.iterdir())) == found.rounds * (1 + len(TABLES))


def test_replicates_and_checks_have_the_bits_of_one_process(folder):
    how = {"n_sampling": 6, "groups": 10, "random_state": 7, "n_jobs": 1}
    plain, found = fedrcd.bootstrap(TABLES, arithmetic="exact", **how), fedrcd.bootstrap(folder, **how)
    assert found.adjacency_matrices_.tobytes() == plain.adjacency_matrices_.tobytes()
    assert fedrcd.check(folder).to_dict()["checks"] == fedrcd.check(TABLES, arithmetic="exact").to_dict()["checks"]


def test_what_cannot_be_used_is_not_accepted(folder):
    question = replace(folder.setting.pairs(2), grid=None)
    answer = folder.sites[0].answer(question)
    answer.sums[1, 1][0, 0] = np.inf
    with pytest.raises(StatisticError, match="the sums of table 1 cannot be used"):
        accept(question, Answer("table 1", answer))
