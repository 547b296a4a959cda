"""The counter of type tests finds one of each kind, and nothing else."""

import ast

from tools.type_tests import KINDS, SOURCE, classes_in, collect, find

SNIPPET = """
class PairQuestion: ...
class PairSums:
    def __eq__(self, other): return isinstance(other, PairSums)  # may ask whether it is of its own kind
class TableSite: ...
class Other: ...

def one(question, sums, site, value, rules):
    isinstance(question, PairQuestion)              # 9
    isinstance(sums, PairSums | None)               # 10
    issubclass(value, (Other, statistics.PairSums)) # 11
    hasattr(question, "grid")                       # 12
    getattr(value.question, "grid", None)           # 13
    type(sums) is type(value)                       # 14
    type(value) is PairSums                         # 15
    rules[type(question)]                           # 16
    rules.get(type(value.question))                 # 17
    {PairQuestion: 1, Other: 2, TableSite: 3}       # 18, twice
    match site:
        case TableSite():                           # 20
            pass
    isinstance(value, Other)
    isinstance(value, Other | int)
    hasattr(value, "grid")
    getattr(question, "grid")
    type(value) is Other
    rules[type(value)]
    rules.get(question)
    type(sums)(1, 2)
    {"pairs": PairSums}
"""

FOUND = [
    (9, "isinstance"),
    (10, "isinstance"),
    (11, "isinstance"),
    (12, "probe"),
    (13, "probe"),
    (14, "type"),
    (15, "type"),
    (16, "type"),
    (17, "type"),
    (18, "table"),
    (18, "table"),
    (20, "case"),
]


def test_one_of_each_kind_is_found_and_nothing_else():
    tree = ast.parse(SNIPPET)
    assert classes_in([tree]) == {"PairQuestion", "PairSums", "TableSite"}
    assert find(tree, classes_in([tree])) == FOUND
    assert {kind for _, kind in FOUND} == set(KINDS)


def test_places_of_the_source_are_lines_of_it():
    for place in collect():
        lines = (SOURCE / place.file).read_text(encoding="utf-8").splitlines()
        assert lines[place.line - 1].strip() == place.text
