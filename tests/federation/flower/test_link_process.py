"""Orders come from this machine only."""

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from fedrcd.federation.flower.link_process import LocalOrders, allowed


def scope(path="/v1/control/start-run", client="203.0.113.9", server="192.0.2.1", kind="http"):
    return {"type": kind, "path": path, "client": (client, 4711), "server": (server, 9443)}


@pytest.mark.parametrize("client", ["203.0.113.9", "10.0.0.7", "2001:db8::1", "not an address"])
@pytest.mark.parametrize(
    "path", ["/v1/control/start-run", "/v1/runtime/acquire-task", "/docs", "/", "/v1/fleet", "/V1/FLEET/x"]
)
def test_others_reach_the_interface_of_the_nodes_only(client, path):
    assert not allowed(scope(path, client))
    assert allowed(scope("/v1/fleet/pull-messages", client))


@pytest.mark.parametrize("client", ["127.0.0.1", "127.9.9.9", "::1", "192.0.2.1"])
def test_this_machine_reaches_everything(client):
    assert allowed(scope(client=client))


def test_nobody_and_websockets_are_others():
    assert not allowed({**scope(), "client": None})
    assert not allowed(scope("/v1/fleet/x", kind="websocket"))


def answered(request):
    sent, passed = [], []

    async def inner(*_):
        passed.append(True)

    async def send(message):
        sent.append(message)

    with ThreadPoolExecutor(1) as alone:  # this thread may have an event loop already, that of a browser
        alone.submit(lambda: asyncio.run(LocalOrders(inner)(request, None, send))).result()
    return bool(passed), sent


def test_a_refused_request_does_not_get_through():
    assert answered(scope()) == (
        False,
        [
            {"type": "http.response.start", "status": 403, "headers": [(b"content-length", b"0")]},
            {"type": "http.response.body", "body": b""},
        ],
    )
    assert answered(scope(kind="websocket"))[1] == [{"type": "websocket.close", "code": 1008}]
    assert answered(scope("/v1/fleet/pull-messages")) == (True, [])
    assert answered({"type": "lifespan"}) == (True, [])


def test_the_layer_is_before_all_others():
    check = """
from fedrcd.federation.flower.link_process import LocalOrders, put_in_front
put_in_front()
from flwr.superlink.main import _get_middleware
assert _get_middleware()[0].cls is LocalOrders
"""
    subprocess.run([sys.executable, "-c", check], check=True)
