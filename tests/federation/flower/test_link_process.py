"""Orders come from this machine and this account only."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn

from fedrcd.federation.flower import link_process
from fedrcd.federation.flower.link_process import LocalOrders, allowed
from fedrcd.federation.flower.local_accounts import account_behind


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
def test_this_machine_reaches_everything_from_the_account_of_the_process(client, monkeypatch):
    assert not allowed(scope(client=client))  # no such connection is there
    monkeypatch.setattr(link_process, "is_own_account", lambda *_: True)
    assert allowed(scope(client=client))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_system_tells_whose_a_connection_is(host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with (
        socket.create_server((host, 0), family=family) as server,
        socket.create_connection(server.getsockname()[:2]) as own,
    ):
        client = own.getsockname()[:2]
        assert account_behind(client, server.getsockname()[:2]) == os.getuid()
        assert account_behind(client, (host, 1)) is None


@contextmanager
def served(app):
    """An app on a port of this machine."""
    server = uvicorn.Server(
        uvicorn.Config(
            app, host="127.0.0.1", port=0, log_level="error", lifespan="off", http="h11", ws="none", loop="asyncio"
        )
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


async def takes_orders(scope, _, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"started"})


NOBODY = """
import encodings.idna, os, socket, sys
os.setgid(65534), os.setuid(int(sys.argv[2]))  # who may not read the library any more
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20) as connection:
    connection.sendall(b"POST " + sys.argv[3].encode() + b" HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
    print(connection.recv(100).split()[1].decode())
"""


def asked_by(account, port, path):
    done = subprocess.run(
        [sys.executable, "-S", "-c", NOBODY, str(port), str(account), path], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(os.getuid() != 0 or not Path("/proc/net/tcp").exists(), reason="only root can be other accounts")
@pytest.mark.parametrize("path", ["/v1/control/start-run", "/v1/runtime/acquire-task"])
def test_other_accounts_of_this_machine_start_nothing_and_take_no_work(path):
    with served(takes_orders) as port:
        assert asked_by(65534, port, path) == 200  # without the layer
    with served(LocalOrders(takes_orders)) as port:
        assert asked_by(65534, port, path) == 403
        assert asked_by(0, port, path) == 200


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


def test_the_layer_is_before_the_local_port_of_a_node():
    check = """
from fedrcd.federation.flower.link_process import LocalOrders
from fedrcd.federation.flower.node_process import answer_own_account_only
answer_own_account_only()
from flwr.supernode.main import create_app
assert isinstance(create_app(), LocalOrders)
"""
    subprocess.run([sys.executable, "-c", check], check=True)
