"""One word, one meaning: the table of words, and the names of classes."""

import ast
import re
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8").split("\n## Words\n")[1].split("\n## ")[0]
LINES = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in GLOSSARY.splitlines() if line[:2] == "| "]
FOLDERS = ("src", "experiments", "benchmarks", "tools")
WORDS = {word: place for word, _, place in LINES[1:]}


def resolve(place):
    """A module, or what a module has."""
    try:
        return import_module(place)
    except ModuleNotFoundError:
        module, _, name = place.rpartition(".")
        return getattr(import_module(module), name)


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_where_the_table_says(word):
    place = re.fullmatch("`(.+)`|-", WORDS[word])
    assert place
    if place[1]:
        assert resolve(f"fedrcd.{place[1]}")


def test_every_word_stands_there_once():
    words = [word for word, *_ in LINES[1:]]
    assert len(words) == len(set(words)) > 40


def test_a_class_of_a_words_name_is_the_one_of_the_table():
    named = {word.capitalize(): place for word, place in WORDS.items() if place != "-"}
    for name, place in named.items():
        last = place.strip("`").rpartition(".")[2]
        assert not last[0].isupper() or last == name or name not in classes(), (name, place)


@cache
def trees():
    return {path: ast.parse(path.read_text(encoding="utf-8")) for top in FOLDERS for path in paths(top)}


@cache
def classes():
    """How often each class name is used, in the package and beside it; an underscore makes no other name."""
    names = [node.name for tree in trees().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return Counter(name.lstrip("_") for name in names)


@cache
def aliases():
    """How often each name is given to a type at the top of a module; options of commands are no types."""
    names = []
    for path, tree in trees().items():
        nodes = [] if path.parent.name == "cli" else tree.body
        targets = [node.target for node in nodes if isinstance(node, ast.AnnAssign)]
        targets += [node.targets[0] for node in nodes if isinstance(node, ast.Assign)]
        names += [one.id for one in targets if isinstance(one, ast.Name) and re.fullmatch("_?[A-Z][A-Za-z]+", one.id)]
    return Counter(name.lstrip("_") for name in names if not name.isupper())


def paths(top):
    return sorted((ROOT / top).rglob("*.py"))


def test_no_two_classes_have_one_name():
    assert {name for name, count in classes().items() if count > 1} == set()


def test_no_alias_of_a_type_has_the_name_of_another_or_of_a_class():
    assert aliases()
    assert {name for name, count in aliases().items() if count > 1 or name in classes()} == set()
