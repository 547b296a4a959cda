"""Parts that the sources of databases share."""

from __future__ import annotations

from collections.abc import Sequence

from fedrcd.errors import ConfigError


def one_statement(query: str, address: str) -> str:
    """A query as it can stand in another; raise if there is none."""
    stripped = query.strip().rstrip(";").strip()
    if not stripped:
        raise ConfigError(f"{address} needs a query (--query, or fedrcd.source_at(address, query=...))")
    return stripped


def quoted(name: str) -> str:
    """The name of a column, as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def selecting(columns: Sequence[str], query: str) -> str:
    """Some columns, or expressions, of what a query gives; a comment in its last line must not swallow the rest."""
    return f"select {', '.join(columns)} from (\n{query}\n) as fedrcd_rows"


def needs(extra: str) -> ConfigError:
    """That packages are not installed."""
    return ConfigError(f"this source needs packages of its own: pip install 'fedrcd[{extra}]'")
