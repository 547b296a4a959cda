"""What every console does before a page is made: who asks, from where, may they; and what goes out with each answer."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fedrcd.console.computed import Computations
from fedrcd.console.pages import render
from fedrcd.console.refused_visits import RefusedVisits
from fedrcd.console.sessions import Session, Sessions
from fedrcd.console.tokens import ROLES, VIEW
from fedrcd.errors import FedrcdError, ProtocolError

LARGEST = 4_000_000
"""Bytes of a form at most: a list of identifiers, a federation file."""

LOOK = 0.3
"""Seconds between two looks whether something has changed, as long as a page is open."""

SIGN_OF_LIFE = 10.0
"""Seconds after which an open page is told that the console is there."""

MOST_OPEN = 50
"""Pages that are kept up to date at a time."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
"""Nothing comes from elsewhere, nothing goes elsewhere, nothing is kept."""

DOCUMENT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:"
)
"""For a page that was written to a file, with all it needs in it: it is shown as if it came from nowhere."""

UPDATE = "fedrcd-update"
"""The header with which the script of a page asks for what is new."""

ASSETS = {
    "page.css": ("fedrcd.report", "text/css"),
    "console.css": ("fedrcd.console", "text/css"),
    "console.js": ("fedrcd.console", "text/javascript"),
}
"""The look is that of the report, and a little more."""

OPEN_TO_ALL = frozenset({"/enter", "/login", *(f"/assets/{name}" for name in ASSETS)})
"""What needs no session."""


@dataclass(frozen=True, slots=True)
class ConsoleAddress:
    """Where a console listens; `names` are what browsers may call it."""

    host: str
    port: int
    is_secure: bool = False
    names: tuple[str, ...] = ("127.0.0.1", "localhost")

    @property
    def hosts(self) -> frozenset[str]:
        """What may stand in the header `Host`: any other name was made to lead here by somebody else."""
        usual = 443 if self.is_secure else 80
        return frozenset(f"{name}:{self.port}" for name in self.names) | frozenset(
            self.names if self.port == usual else ()
        )

    @property
    def origins(self) -> frozenset[str]:
        """Where forms may come from."""
        scheme = "https" if self.is_secure else "http"
        return frozenset(f"{scheme}://{host}" for host in self.hosts)

    @property
    def cookie(self) -> str:
        """The name of the cookie: browsers tell hosts apart, not ports."""
        return f"__Host-fedrcd-{self.port}" if self.is_secure else f"fedrcd-{self.port}"


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of somebody who was let in."""

    console: Console
    session: Session
    path: str
    values: Mapping[str, str]
    """What the address says: parts of the path, and what follows the question mark."""
    form: Mapping[str, str]
    version: str = ""
    """Of what the page shows: if it is another one when the page has come, it has changed meanwhile."""
    is_update: bool = False
    """Whether an open page asks for what is new on it, and nobody reads the whole."""

    @property
    def who(self) -> str:
        """For logs."""
        return str(self.session.visitor)

    def show(self, template: str, **values: Any) -> Response:
        """A page of the console."""
        messages = list(self.session.messages)
        if not self.is_update:
            self.session.messages.clear()
        return Response(
            render(
                template,
                console=self.console,
                session=self.session,
                here=self.path,
                page_version=self.version,
                messages=messages,
                may=self.session.visitor.may,
                **values,
            ),
            media_type="text/html",
        )

    def back(self, to: str, message: str = "") -> Response:
        """On to a page, with a sentence about what was done."""
        if message:
            self.session.messages.append(message)
        return RedirectResponse(to, 303)


Handler = Callable[[Visit], Response]


@dataclass(frozen=True, slots=True)
class Page:
    """A page, or with `acts` something that is done; `title` stands in the menu, if it does."""

    path: str
    handler: Handler
    role: str = VIEW
    title: str = ""
    acts: bool = False

    @property
    def way(self) -> str:
        """By which method of HTTP it is asked for."""
        return "POST" if self.acts else "GET"


@dataclass(slots=True, kw_only=True)
class Console:
    """What a console is made of: its pages, who may see them, and how it notes what is done.

    `note` is given what was done, by whom, and details. `stamp` is another one whenever pages may have changed; it is
    asked for several times a second, as long as somebody looks.
    """

    title: str
    kind: str
    address: ConsoleAddress
    sessions: Sessions
    pages: Sequence[Page]
    note: Callable[[str, str, str], None]
    stamp: Callable[[], str]
    computations: Computations = field(default_factory=Computations)
    refused: RefusedVisits = field(init=False)
    open_pages: int = 0
    is_closing: bool = False

    def __post_init__(self) -> None:
        def note(what: str, detail: str) -> None:
            self.note(what, "nobody who is known", detail)

        self.refused = RefusedVisits(note, time.monotonic)

    def version(self) -> str:
        """Another one whenever a page may have changed, also by what was computed for it."""
        return f"{self.stamp()} {self.computations.changed}"

    @property
    def menu(self) -> list[Page]:
        """The pages that have a title."""
        return [page for page in self.pages if page.title]

    def app(self) -> ASGIApp:
        """The console as a web application."""
        routes = [
            Route("/enter", partial(_enter, self)),
            Route("/login", partial(_login, self), methods=["GET", "POST"]),
            Route("/logout", partial(_logout, self), methods=["POST"]),
            Route("/live", partial(_live, self)),
            Route("/assets/{name}", _asset),
            *(Route(one.path, partial(_answer, self, one), methods=[one.way]) for one in self.pages),
        ]
        return Starlette(
            routes=routes,
            middleware=[Middleware(Guard, console=self)],
            exception_handlers={HTTPException: partial(_failed, self), FedrcdError: partial(_hindered, self)},
        )


@dataclass(slots=True)
class Guard:
    """Stands in front of everything: refuses what comes from elsewhere, and lets nobody in without a session."""

    app: ASGIApp
    console: Console

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message["headers"]}
                more = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *(one for one in more if one[0] not in own)]
            await send(message)

        request = Request(scope, receive)
        refusal = await self._refusal(request)
        await (self.app if refusal is None else refusal)(scope, receive, with_headers)

    async def _refusal(self, request: Request) -> Response | None:
        """Why a request is not passed on; None if it is."""
        console, address = self.console, self.console.address
        if request.headers.get("host", "") not in address.hosts:
            return await self._refused("a request under another name than the console's", 421)
        if request.method == "POST":
            if request.headers.get("origin", "") not in address.origins:
                return await self._refused("a form that came from another page", 403)
            if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
                return await self._refused("a form of another kind", 415)
        elif request.method not in {"GET", "HEAD"}:
            return await self._refused("a request of another kind", 405)
        if request.headers.get("sec-fetch-site", "none") not in {"none", "same-origin"} and request.url.path == "/live":
            return await self._refused("a page of others that listened in", 403)
        if request.url.path in OPEN_TO_ALL:
            return None
        session = console.sessions.find(request.cookies.get(address.cookie, ""))
        if session is None:
            await run_in_threadpool(console.refused.tell, "a request without a token")
            if request.method == "GET" and request.url.path != "/live":
                return RedirectResponse("/login", 303)
            return Response("not let in: log in first\n", 401)
        request.state.session = session
        return None

    async def _refused(self, reason: str, status: int) -> Response:
        await run_in_threadpool(self.console.refused.tell, reason)
        return Response(f"refused: {reason}\n", status, media_type="text/plain")


async def _form(request: Request) -> dict[str, str]:
    """What a form says; too much of it is refused before it is read."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST:
            raise HTTPException(413, "the form is too large")
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=1000))
    except ValueError:
        raise HTTPException(400, "the form cannot be read") from None


async def _answer(console: Console, page: Page, request: Request) -> Response:
    """What a page answers to somebody who may see it."""
    session: Session = request.state.session
    form = await _form(request) if page.acts else {}
    if page.acts and not hmac.compare_digest(form.pop("form_token", "").encode(), session.form_token.encode()):
        await run_in_threadpool(console.refused.tell, "a form that is not of this session")
        raise HTTPException(403, "the form is not of this session; open the page again")
    if not session.visitor.may(page.role):
        detail = f"{page.path} needs the role {page.role}"
        await run_in_threadpool(
            console.note, "refused at the console: the role is not enough", str(session.visitor), detail
        )
        raise HTTPException(403, f"this needs the role {page.role}; yours is {session.visitor.role}")
    values = {**request.query_params, **{name: str(value) for name, value in request.path_params.items()}}
    now = await run_in_threadpool(console.version)
    visit = Visit(console, session, page.path, values, form, now, UPDATE in request.headers)
    return await run_in_threadpool(_handled, page, visit)


def _handled(page: Page, visit: Visit) -> Response:
    try:
        return page.handler(visit)
    except ProtocolError as problem:
        if "in use by another process" not in str(problem):
            return _not_done(visit, str(problem), 409)
        answer = visit.show("busy.html", kind=visit.console.kind)
        answer.status_code = 503
        return answer
    except FedrcdError as problem:
        return _not_done(visit, str(problem), 409)
    except Exception as problem:  # its text may hold data: only its kind is told, here and in the log
        visit.console.note("a page of the console failed", "the console", type(problem).__name__)
        return _not_done(visit, "this page failed; what went wrong is in the log", 500)


def _not_done(visit: Visit, said: str, status: int) -> Response:
    answer = visit.show("problem.html", problem=said)
    answer.status_code = status
    return answer


async def _enter(console: Console, request: Request) -> Response:
    """The link that was printed where the console was started; it is good once."""
    name = console.sessions.enter_once(request.query_params.get("once", ""))
    if name is None:
        await run_in_threadpool(console.refused.tell, "a start link that is wrong, or was used before")
        return RedirectResponse("/login?failed=link", 303)
    return await _let_in(console, name)


async def _login(console: Console, request: Request) -> Response:
    failed = request.query_params.get("failed", "")
    if request.method == "POST":
        form = await _form(request)
        name = console.sessions.enter(form.get("token", ""))
        if name is not None:
            return await _let_in(console, name)
        await asyncio.sleep(0.5)
        await run_in_threadpool(console.refused.tell, "a wrong token")
        return RedirectResponse("/login?failed=token", 303)
    return Response(render("login.html", console=console, failed=failed, roles=ROLES), media_type="text/html")


async def _let_in(console: Console, name: str) -> Response:
    session = console.sessions.find(name)
    assert session is not None  # it was just begun
    await run_in_threadpool(console.note, "came to the console", str(session.visitor), "")
    answer = RedirectResponse("/", 303)
    secure = console.address.is_secure
    answer.set_cookie(console.address.cookie, name, httponly=True, samesite="strict", secure=secure, path="/")
    return answer


async def _logout(console: Console, request: Request) -> Response:
    form, session = await _form(request), request.state.session
    if not hmac.compare_digest(form.get("form_token", "").encode(), session.form_token.encode()):
        raise HTTPException(403, "the form is not of this session; open the page again")
    console.sessions.end(request.cookies.get(console.address.cookie, ""))
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(console.address.cookie, path="/", secure=console.address.is_secure, httponly=True)
    return answer


async def _live(console: Console, request: Request) -> Response:
    """Tell an open page when something has changed."""
    if console.open_pages >= MOST_OPEN:
        raise HTTPException(503, "too many pages are open")
    name = request.cookies.get(console.address.cookie, "")

    async def events() -> AsyncIterator[str]:
        console.open_pages += 1
        told, silent = "", 0.0
        try:
            while not console.is_closing and console.sessions.find(name) is not None:
                stamp = await run_in_threadpool(console.version)
                if stamp != told:
                    told, silent = stamp, 0.0
                    yield f"data: {stamp}\n\n"
                elif silent > SIGN_OF_LIFE:
                    silent = 0.0
                    yield ": here\n\n"
                await asyncio.sleep(LOOK)
                silent += LOOK
        finally:
            console.open_pages -= 1

    return StreamingResponse(events(), media_type="text/event-stream")


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in ASSETS:
        raise HTTPException(404, "there is no such page")
    package, media_type = ASSETS[name]
    text = files(package).joinpath("assets", name).read_text(encoding="utf-8")
    return Response(text, media_type=media_type, headers={"Cache-Control": "max-age=60"})


async def _failed(console: Console, _: Request, problem: Exception) -> Response:
    """A page for what cannot be shown; it repeats nothing of what was asked."""
    assert isinstance(problem, HTTPException)
    said = {404: "there is no such page", 405: "this cannot be done with this page"}.get(
        problem.status_code, problem.detail
    )
    text = render("failed.html", console=console, problem=said, status=problem.status_code)
    return Response(text, problem.status_code, media_type="text/html")


def text_file(name: str, text: str, media_type: str) -> Response:
    """Something to be saved."""
    return binary_file(name, text.encode(), media_type)


async def _hindered(console: Console, _: Request, problem: Exception) -> Response:
    """What kept a request from being noted: then it is not done."""
    text = render("failed.html", console=console, problem=str(problem), status=503)
    return Response(text, 503, media_type="text/html")


def binary_file(name: str, content: bytes, media_type: str) -> Response:
    """Something to be saved that is no text."""
    safe = "".join(one if one.isalnum() or one in "-_." else "_" for one in name)
    return Response(content, media_type=media_type, headers={"Content-Disposition": f'attachment; filename="{safe}"'})


def document(text: str) -> Response:
    """A page that was written to be a file of its own, shut in."""
    return Response(text, media_type="text/html", headers={"Content-Security-Policy": DOCUMENT_POLICY})
