"""Whether a connection on loopback is of another account of this machine, by the kernel's table.

Linux names the account of each socket. Other systems show none, so nothing is decided there.
"""

import os
import sys
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

from starlette.types import Scope

from planner.answers import is_loopback

_TABLES: Final = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
_OPEN: Final = "01"
"""Established: the kernel lists a closed socket under root, whoever had it."""
_LOOKS: Final = 2
"""The kernel sends the table in pieces, so a row can be missed while others go."""
_ROOT: Final = 0
_ACCOUNT: Final = 3
_SOCKET: Final = 5
"""Columns after the state of a connection; the number of a socket without a process is 0."""
_LENGTH: Final = 160
_IPV4: Final = 4


def is_of_another_account(scope: Scope) -> bool:
    """Return whether a request on loopback is of an account other than this process' and root.

    A connection that the kernel no longer lists counts as another's: it was closed meanwhile.
    """
    client, server = scope.get("client"), scope.get("server")
    if not (client and server and is_loopback(str(server[0])) and _TABLES[0].exists()):
        return False
    try:
        ends = [(_end(client, wide=wide), _end(server, wide=wide)) for wide in (False, True)]
    except ValueError:
        return True
    rows = [f" {' '.join(pair)} {_OPEN} ".encode() for pair in ends if all(pair)]
    for _ in range(_LOOKS):
        for table in _TABLES:
            if (account := _account(table, rows)) is not None:
                return account not in {_ROOT, os.geteuid()}
    return True


def _account(table: Path, rows: Sequence[bytes]) -> int | None:
    """Return the account of an open connection; None where the table has no such row."""
    try:
        data = table.read_bytes()
    except OSError:
        return None
    for row in rows:
        if (at := data.find(row)) >= 0:
            cells = data[at + len(row) : at + len(row) + _LENGTH].split()
            return int(cells[_ACCOUNT]) if cells[_SOCKET] != b"0" else None
    return None


def _end(end: Sequence[Any], *, wide: bool) -> str:
    """Return an address and port as the kernel's table has it; "" where it does not fit."""
    address = ip_address(str(end[0]))
    if wide and address.version == _IPV4:  # of a program that uses IPv6 sockets for everything
        address = ip_address(f"::ffff:{address}")
    elif not wide and address.version != _IPV4:
        return ""
    raw = address.packed
    words = [int.from_bytes(raw[at : at + 4], sys.byteorder) for at in range(0, len(raw), 4)]
    return f"{''.join(f'{word:08X}' for word in words)}:{int(end[1]):04X}"
