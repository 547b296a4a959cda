"""Flower's SuperLink with its doors sorted: sites from anywhere, orders from its own account on this machine only.

SuperLink serves three interfaces on one port: that of the nodes, which authenticate by key, that by which runs are
started, and that by which its own processes fetch their work. The last two ask for no credentials, and starting a run
means running code here. So anything but the interface of the nodes is refused to other machines, and to other accounts
of this one. SuperNode has the last of them on its local port, where whoever fetches the work of a site reads what it is
asked and can answer in its place: the same layer stands there.
"""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fedrcd.federation.flower.heartbeats import miss_soon, wait_for_starts
from fedrcd.federation.flower.local_accounts import is_own_account

OPEN = ("/v1/fleet/",)
"""Paths for everybody."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class LocalOrders:
    """An ASGI layer that refuses whatever is not for nodes unless it comes from this account on this machine."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with 403."""
        if scope["type"] not in {"http", "websocket"} or allowed(scope):
            await self.app(scope, receive, send)
            return
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
        else:
            await send({"type": "websocket.close", "code": 1008})


def allowed(scope: Scope) -> bool:
    """Whether a request is for nodes, or comes from this account on this machine."""
    if scope["type"] == "http" and str(scope.get("path", "")).startswith(OPEN):
        return True
    client, server = scope.get("client"), scope.get("server")
    if not client or not server or server[1] is None:
        return False
    try:
        is_here = client[0] == server[0] or ipaddress.ip_address(client[0]).is_loopback  # or an address of its own
        return is_here and is_own_account((client[0], client[1]), (server[0], server[1]))
    except ValueError:
        return False


def put_in_front() -> None:
    """Make SuperLink take the layer before all of its own."""
    from flwr.superlink import extensions
    from starlette.middleware import Middleware

    assert hasattr(extensions, "get_middleware"), "this is not the pinned version of Flower"
    extensions.get_middleware = lambda: (Middleware(LocalOrders),)


def main() -> None:
    """Run SuperLink with both in place."""
    from flwr.superlink.cli import flower_superlink

    put_in_front()
    miss_soon()
    wait_for_starts()
    sys.argv[0] = "flower-superlink"
    flower_superlink()


if __name__ == "__main__":
    main()
