"""Why a coordinator cannot be reached is one line each; a connection that keeps ending is not a loop of lines."""

import socket
import ssl
import sys
import threading
from contextlib import contextmanager

import pytest

from fedrcd.federation.flower import supervise
from fedrcd.federation.flower.processes import Command
from fedrcd.federation.flower.reachability import occupied, unreachable
from fedrcd.federation.flower.supervise import UNKNOWN_NODE, keep_running
from fedrcd.federation.messages.keys import make_development_keys


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    make_development_keys(folder / "own", ["a"], ["127.0.0.1"])
    make_development_keys(folder / "other", ["a"], ["127.0.0.1"])
    return folder


@contextmanager
def listening(certificate=None):
    """An address on which somebody takes connections, with TLS if there is a certificate."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"

        def take():
            connection, _ = server.accept()
            with connection:
                if certificate:
                    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                    context.load_cert_chain(certificate / "server.pem", certificate / "server.key")
                    try:
                        context.wrap_socket(connection, server_side=True).close()
                    except (ssl.SSLError, OSError):
                        return
                else:
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=take)
        thread.start()
        yield address
        thread.join()


def test_nothing_is_wrong_where_nothing_is(keys):
    with listening(keys / "own") as address:
        assert unreachable(address, keys / "own" / "ca.crt") == ""


def test_another_authority(keys):
    with listening(keys / "own") as address:
        assert "is not signed by the authority in" in unreachable(address, keys / "other" / "ca.crt")


def test_another_host_name(keys, monkeypatch):
    real = socket.create_connection
    with listening(keys / "own") as address:
        port = address.rpartition(":")[2]
        monkeypatch.setattr(socket, "create_connection", lambda _, seconds: real(("127.0.0.1", int(port)), seconds))
        assert "is not for 'coordinator.example'" in unreachable(f"coordinator.example:{port}", keys / "own" / "ca.crt")


def test_no_tls(keys):
    with listening() as address:
        assert "does not speak TLS" in unreachable(address, keys / "own" / "ca.crt")


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "127.0.0.1:99999", "no such host:9443"])
def test_nobody_there(keys, address):
    said = unreachable(address, keys / "own" / "ca.crt")
    assert said
    assert "\n" not in said


def test_what_is_wrong_is_said_once(monkeypatch):
    said, pauses = [], []
    reasons = ["nobody listens there"] * 3 + [""] * 4 + ["nobody listens there"] * 2

    def pause(_):
        pauses.append(len(said))
        if len(pauses) == len(reasons):
            raise KeyboardInterrupt

    monkeypatch.setattr(supervise.time, "sleep", pause)
    left = iter(reasons)
    command = Command((sys.executable, "-S", "-c", f"raise SystemExit({UNKNOWN_NODE})"), {})
    keep_running(command, said.append, unreachable=lambda: next(left))
    assert [line.split(":")[0].split(";")[0] for line in said] == [
        "nobody listens there",
        "the coordinator does not know the key of this site",
        "nobody listens there",
        "stopping",
    ]


def test_a_local_port_that_somebody_else_holds_is_told():
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        said = occupied(port)
        assert said.startswith(f"port {port} of this machine cannot be used: ")
        assert said.endswith("choose another --local-port")
    assert occupied(port) == ""
