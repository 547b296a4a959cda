"""The text of a page, from its template; whatever comes from elsewhere is escaped."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def render(template: str, **values: Any) -> str:
    """The text of a page; its forms carry the word of the session."""
    session = values.get("session")
    word = "" if session is None else session.form_token
    field = Markup('<input type="hidden" name="form_token" value="{}">').format(word)
    return _environment().get_template(template).render(**values, token=lambda: field)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("fedrcd.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["number"] = lambda value: f"{value:,}"
    made.filters["day"] = lambda text: text.replace("T", " ")[:16]
    made.globals["version"] = version("fedrcd")
    return made
