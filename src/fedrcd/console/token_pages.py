"""Who may use a console: its tokens, made and withdrawn."""

from __future__ import annotations

from starlette.responses import Response

from fedrcd.console.tokens import ADMINISTER, ROLES, Tokens
from fedrcd.console.web import Page, Visit


def token_pages(tokens: Tokens) -> list[Page]:
    """The page of the people, and what is done there."""

    def people(visit: Visit) -> Response:
        made = visit.session.kept.pop("token", None)
        return visit.show("people.html", kept=tokens.kept(), roles=ROLES, made=made)

    def make(visit: Visit) -> Response:
        role, name = visit.form.get("role", ""), visit.form.get("name", "").strip()
        text = tokens.make(role, name)
        visit.console.note(f"made a token of the role {role} for {name}", visit.who, "")
        visit.session.keep("token", (name, role, text))
        return visit.back("/people")

    def withdraw(visit: Visit) -> Response:
        name = visit.form.get("name", "")
        tokens.withdraw(name)
        visit.console.note(f"withdrew the token of {name}", visit.who, "")
        return visit.back("/people", f"the token of {name} is no longer good")

    return [
        Page("/people", people, ADMINISTER, title="People"),
        Page("/people/make", make, ADMINISTER, acts=True),
        Page("/people/withdraw", withdraw, ADMINISTER, acts=True),
    ]
