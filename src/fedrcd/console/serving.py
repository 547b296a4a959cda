"""A console on a port of this machine, until it is stopped."""

from __future__ import annotations

import getpass
import ipaddress
import secrets
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from fedrcd.console.sessions import Sessions
from fedrcd.console.tokens import ADMINISTER, Tokens, Visitor
from fedrcd.console.web import Console, ConsoleAddress
from fedrcd.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where a console is to listen, and how it is secured."""

    host: str = "127.0.0.1"
    port: int = 0
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def address(self, tokens: Tokens) -> ConsoleAddress:
        """The address, if the console may be there; a free port is taken where none was said."""
        if (self.certificate is None) != (self.key is None):
            raise ConfigError("--certificate and --key belong together")
        if not self.is_loopback and self.certificate is None:
            raise ConfigError(
                f"at {self.host} others can listen in: give --certificate and --key, or stay on 127.0.0.1"
            )
        if not self.is_loopback and not tokens.kept():
            raise ConfigError("at an address for others everybody needs a token: make one with the command `token`")
        names = (*self.names, self.host) if not self.is_loopback else (*self.names, "127.0.0.1", "localhost")
        return ConsoleAddress(self.host, self.port or _free_port(self.host), self.certificate is not None, names)


def sessions_of(tokens: Tokens) -> Sessions:
    """An empty book of sessions."""
    return Sessions(tokens, lambda: secrets.token_urlsafe(32), time.monotonic)


def serve(console: Console, listening: Listening, say: Callable[[str], None]) -> None:
    """Answer browsers until this process is told to end; on this machine, print the link that lets in once."""
    address = console.address
    scheme = "https" if address.is_secure else "http"
    place = f"{scheme}://{address.names[-2] if listening.is_loopback else listening.host}:{address.port}"
    if listening.is_loopback:
        word = console.sessions.offer_start(Visitor(_account(), ADMINISTER))
        say(f"{console.title}: {place}/enter?once={word}")
        say("the link is good once; others come in at the same address with a token")
    else:
        say(f"{console.title}: {place}/login")
    try:
        server_of(console, listening).run()
    finally:
        console.computations.close()


def server_of(console: Console, listening: Listening) -> uvicorn.Server:
    """What answers browsers, once it is run."""
    address = console.address
    return _Server(
        console,
        uvicorn.Config(
            console.app(),
            host=address.host,
            port=address.port,
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            ws="none",
            lifespan="off",
            timeout_graceful_shutdown=3,
            h11_max_incomplete_event_size=32_768,
            ssl_certfile=listening.certificate,
            ssl_keyfile=listening.key,
        ),
    )


class _Server(uvicorn.Server):
    """Lets go of open pages before it waits for what is under way."""

    def __init__(self, console: Console, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._console = console

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        self._console.is_closing = True
        await super().shutdown(sockets)


def say_at_once(text: str) -> None:
    """Print for whoever started the console, or reads it from a pipe."""
    print(text, file=sys.stdout, flush=True)


def _account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "the one who started it"


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
