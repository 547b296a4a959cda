"""Count the places of the source that test what kind of question, sums or site something is.

Such a place must be found and edited when a statistic is added; a thing that answers for itself needs none. The classes
are found in the source by the way their names end, and by a short list of those that end otherwise. Passed over is
``__eq__``, in which a thing may ask whether the other is of its own kind. Run ``python -m tools.type_tests``, with
``--list`` for every place.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[1] / "src" / "fedrcd"

ENDINGS = ("Question", "Sums", "Moments", "Site")
OTHERS = frozenset({"Stack"})
"""Classes of questions, sums and sites that are named otherwise."""

THINGS = frozenset(
    {"question", "each", "asked", "sums", "answer", "part", "pooled", "statistic", "site", "kind", "plain", "low"}
)
"""What variables and attributes that hold a question, sums or a site are called."""

LOOK_UP = frozenset({"get", "pop", "setdefault"})

KINDS = {
    "isinstance": "isinstance or issubclass of such a class",
    "case": "a case of match that names such a class",
    "probe": "hasattr, or getattr with a default, of such a thing",
    "type": "type of such a thing, compared or looked up",
    "table": "a dictionary keyed by such classes, an entry each",
}


class TypeTest(NamedTuple):
    """Where a test is, and of which kind."""

    file: str
    line: int
    kind: str
    text: str


def classes_in(trees: Collection[ast.Module]) -> frozenset[str]:
    """Names of the classes of questions, sums and sites that are defined."""
    defined = {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    return frozenset(name for name in defined if name.endswith(ENDINGS)) | (OTHERS & defined)


def collect(root: Path = SOURCE) -> list[TypeTest]:
    """All type tests below a folder, in the order of the files."""
    files = {path: path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in files.items()}
    classes = classes_in(list(trees.values()))
    return [
        TypeTest(str(path.relative_to(root)), line, kind, files[path].splitlines()[line - 1].strip())
        for path, tree in trees.items()
        for line, kind in find(tree, classes)
    ]


def find(tree: ast.AST, classes: Collection[str]) -> list[tuple[int, str]]:
    """Line and kind of every type test in a syntax tree."""
    return sorted(found for node in _walk(tree) for found in _tests(node, classes))


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those of `__eq__`."""
    if isinstance(node, ast.FunctionDef) and node.name == "__eq__":
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


def _tests(node: ast.AST, classes: Collection[str]) -> Iterator[tuple[int, str]]:
    """Those that a node itself is, not what it holds."""
    if isinstance(node, ast.Call):
        yield from _calls(node, classes)
    elif isinstance(node, ast.MatchClass) and _names(node.cls, classes):
        yield node.lineno, "case"
    elif isinstance(node, ast.Dict):
        yield from ((key.lineno, "table") for key in node.keys if key is not None and _names(key, classes))
    elif isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        if any(_is_type(side) for side in sides) and (
            any(_is_type_of_thing(side) for side in sides) or any(_names(side, classes) for side in sides)
        ):
            yield node.lineno, "type"
    elif isinstance(node, ast.Subscript) and _is_type_of_thing(node.slice):
        yield node.lineno, "type"


def _calls(node: ast.Call, classes: Collection[str]) -> Iterator[tuple[int, str]]:
    """Functions that test a type, and methods of dictionaries that look one up."""
    function, arguments = _last_name(node.func), node.args
    if isinstance(node.func, ast.Attribute):
        if function in LOOK_UP and arguments and _is_type_of_thing(arguments[0]):
            yield node.lineno, "type"
    elif function in {"isinstance", "issubclass"} and len(arguments) == 2 and _names(arguments[1], classes):
        yield node.lineno, "isinstance"
    elif (function == "hasattr" or (function == "getattr" and len(arguments) == 3)) and _is_thing(arguments[0]):
        yield node.lineno, "probe"


def _names(node: ast.AST, classes: Collection[str]) -> bool:
    """Whether a class is named, alone or in a tuple, a list or a union."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _names(node.left, classes) or _names(node.right, classes)
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(_names(one, classes) for one in node.elts)
    if isinstance(node, ast.Subscript):
        return _names(node.value, classes)
    return _last_name(node) in classes


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_thing(node: ast.AST) -> bool:
    return _last_name(node) in THINGS


def _is_type(node: ast.AST) -> bool:
    call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"
    return call and len(node.args) == 1


def _is_type_of_thing(node: ast.AST) -> bool:
    return _is_type(node) and _is_thing(node.args[0])  # type: ignore[attr-defined]


def main() -> None:
    """Print how many there are, by kind and by file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="Every place.")
    places = collect()
    if parser.parse_args().list:
        for place in places:
            print(f"{place.file}:{place.line}: {place.kind}: {place.text}")
    kinds, files = (Counter(one) for one in ((p.kind for p in places), (p.file for p in places)))
    for kind, meaning in KINDS.items():
        print(f"{kinds[kind]:4}  {kind}: {meaning}")
    for file, count in files.most_common():
        print(f"{count:4}  {file}")
    print(f"{len(places)} type tests on questions, sums and sites in {len(files)} files")


if __name__ == "__main__":
    main()
