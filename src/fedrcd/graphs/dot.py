"""Statements of DOT, the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterable


def digraph(statements: Iterable[str], comment: str) -> str:
    """A whole text: a directed graph of these statements, one a line.

    Examples
    --------
    >>> print(digraph([node("a"), edge("a", "b", label="0.50")], "from cause to effect"), end="")
    // from cause to effect
    digraph {
      "a";
      "a" -> "b" [label="0.50"];
    }
    """
    return "\n".join([f"// {comment}", "digraph {", *(f"  {one}" for one in statements), "}", ""])


def node(name: str, **attributes: str) -> str:
    """A variable."""
    return f"{quoted(name)}{_listed(attributes)};"


def edge(cause: str, effect: str, **attributes: str) -> str:
    """An arrow from one variable to another."""
    return f"{quoted(cause)} -> {quoted(effect)}{_listed(attributes)};"


def same_rank(names: Iterable[str]) -> str:
    """Variables that stand side by side."""
    return "{ rank=same; " + " ".join(f"{quoted(name)};" for name in names) + " }"


def quoted(text: str) -> str:
    """Text as a DOT string; a bare quote would end it, a bare backslash start a layout code."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _listed(attributes: dict[str, str]) -> str:
    if not attributes:
        return ""
    return " [" + ", ".join(f"{name}={quoted(value)}" for name, value in attributes.items()) + "]"
