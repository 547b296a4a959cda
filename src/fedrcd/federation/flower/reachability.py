"""Why a coordinator cannot be reached, in one line: Flower tries again without a word, or fills the screen."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

SECONDS = 10.0
"""In which a connection must be made."""

OTHER_HOST, OTHER_ADDRESS, EXPIRED, NOT_YET = 62, 64, 10, 9
"""OpenSSL's numbers for what is wrong with a certificate."""


def unreachable(address: str, authority: Path | None, seconds: float = SECONDS) -> str:
    """What keeps this machine from the coordinator at HOST:PORT; empty if nothing does.

    `authority` is the certificate that the coordinator's must be signed by, None where connections are not secured.
    """
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    try:
        with socket.create_connection((host, int(port)), seconds) as plain:
            if authority is None:
                return ""
            with ssl.create_default_context(cafile=str(authority)).wrap_socket(plain, server_hostname=host):
                return ""
    except ssl.SSLCertVerificationError as problem:
        return _about_certificate(problem, host, authority)
    except ssl.SSLError:
        return f"{address} does not speak TLS, or was not started by `fedrcd coordinator start`"
    except socket.gaierror:
        return f"there is no host {host!r}; is --coordinator right?"
    except (OSError, ValueError, OverflowError) as problem:
        why = "nobody listens there" if isinstance(problem, ConnectionRefusedError) else "no connection"
        return f"the coordinator at {address} cannot be reached: {why}"


def occupied(port: int) -> str:
    """What keeps the processes of a site from their port of the loopback; empty if nothing does."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as problem:
            return f"port {port} of this machine cannot be used: {problem.strerror}; choose another --local-port"
    return ""


def _about_certificate(problem: ssl.SSLCertVerificationError, host: str, authority: Path | None) -> str:
    """What is wrong with the coordinator's certificate."""
    if problem.verify_code in {OTHER_HOST, OTHER_ADDRESS}:
        return (
            f"the coordinator's certificate is not for {host!r}: connect by the name that it was made for, or have it "
            "made for this one too, `fedrcd keys init --host`"
        )
    if problem.verify_code in {EXPIRED, NOT_YET}:
        return "the coordinator's certificate has expired, or is not valid yet: is the clock right?"
    return f"the coordinator's certificate is not signed by the authority in {authority}; is it the coordinator's own?"
