"""Cards tell what methods do, so that nothing else needs to know a method by its name."""

import ast
from pathlib import Path

import numpy as np
import pytest

import fedrcd
from fedrcd.confidence.replicates import one_round
from fedrcd.methods.auto import one_round_choices, pairs_only, scale_free_default
from fedrcd.methods.card import ONE_ROUND, Coverage, RoundCount
from fedrcd.methods.registry import METHODS, MODULES, build
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed
from tests.contracts.federations import simulated

SOURCE = Path(fedrcd.__file__).parent
LOGIC = [
    path
    for folder in ("api", "methods", "federation/coordinator")
    for path in sorted((SOURCE / folder).glob("*.py"))
    if path.stem not in (*MODULES, "registry")  # which lists modules, some of which are called like their method
]
P = 4


@pytest.mark.parametrize("method", [name for name, card in METHODS.items() if not card.one_table])
def test_a_method_takes_the_rounds_of_its_card(method):
    card = METHODS[method]
    _, X = simulated(P, 400, 3)
    transport = embed(np.split(X, 2), tuple("abcd"))
    run(build(method).rounds(transport.setting), transport)
    rounds = transport.traffic.rounds
    assert rounds == card.rounds(P) or (card.rounds.at_most and 1 < rounds < card.rounds(P))


@pytest.mark.parametrize("method", [name for name, card in METHODS.items() if card.in_one_round])
def test_the_method_of_one_round_gives_the_same_order(method):
    card = METHODS[method]
    _, X = simulated(P, 400, 3)
    transport = embed([X], tuple("abcd"))
    once = run(one_round(card, {}).rounds(transport.setting), transport)
    assert transport.traffic.rounds == 1
    assert once.order.tolist() == run(build(method).rounds(transport.setting), transport).order.tolist()


@pytest.mark.parametrize(
    ("rounds", "text"),
    [(ONE_ROUND, "1"), (RoundCount(1, 0), "p"), (RoundCount(1, -1), "p - 1"), (RoundCount(2, 3), "2 p + 3")],
)
def test_rounds_are_told_in_words(rounds, text):
    assert str(rounds) == text


def test_payload_is_a_number_and_words():
    assert [(card.payload(12), card.payload_text) for card in map(METHODS.get, ("fedrcd-s", "fed-direct", "hc"))] == [
        (864.0, "p^4 / 24"),
        (288.0, "2 p^2 a round"),
        (144.0, "-"),
    ]


def test_coverage_is_a_number_of_columns():
    assert [one.together(10) for one in Coverage] == [2, 4, 10]
    assert [one.together(3) for one in Coverage] == [2, 3, 3]


def test_methods_that_messages_name_are_found_by_what_they_need():
    assert (scale_free_default(), pairs_only(), one_round_choices()) == (
        "fedrcd-s",
        "fedrcd-sp",
        ["fedrcd-s", "fedrcd-sp"],
    )


def test_auto_takes_scale_free_methods_only():
    assert all(card.scale_free for card in METHODS.values() if card.auto)


@pytest.mark.parametrize("path", LOGIC, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_logic_knows_a_method_by_its_name(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told
    ]
    words = {word.strip(".,;:'\"()") for text in texts for word in text.split()}
    assert words & set(METHODS) == set()
