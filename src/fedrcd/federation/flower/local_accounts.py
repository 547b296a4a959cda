"""Which account of this machine is at the other end of a local connection, as the kernel tells."""

from __future__ import annotations

import ipaddress
import os
import sys
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""The connections of this machine, on Linux."""

LOCAL, REMOTE, ACCOUNT = 1, 2, 7
"""Places in a line of theirs."""

Address = tuple[str, int]


def is_own_account(client: Address, server: Address) -> bool:
    """Whether whoever made a connection from this machine is the account of this process, or root.

    Where the system does not tell (not on Linux), everybody on this machine is taken for it.
    """
    if not TABLES[0].exists():
        return True
    account = account_behind(client, server)
    return account is not None and account in {0, os.getuid()}


def account_behind(client: Address, server: Address) -> int | None:
    """The number of the account that made a connection; None if there is no such connection from here."""
    wanted = {(_in_hex(*client, mapped=mapped), _in_hex(*server, mapped=mapped)) for mapped in (False, True)}
    for table in TABLES:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            parts = line.split()
            if (parts[LOCAL], parts[REMOTE]) in wanted:
                return int(parts[ACCOUNT])
    return None


def _in_hex(host: str, port: int, *, mapped: bool) -> str:
    """An address as the kernel writes it: words of four bytes in the order of this machine, then the port."""
    address: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    packed = address.packed
    if mapped and len(packed) == 4:
        packed = bytes(10) + b"\xff\xff" + packed
    words = [int.from_bytes(packed[k : k + 4], sys.byteorder) for k in range(0, len(packed), 4)]
    return "".join(f"{word:08X}" for word in words) + f":{port:04X}"
