"""Whether a connection on loopback is of another account of this machine, as the kernel says.

Linux names the account of each socket: by one message about one socket (sock_diag(7)), and in a
table of all. The table is for kernels and containers that answer no such message; it takes 20 ms
with 5,000 sockets. Other systems show neither, so nothing is decided there.
"""

import os
import socket
import struct
import sys
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any, Final

from starlette.types import Scope

from planner.answers import is_loopback

_TABLES: Final = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
_OPEN: Final = 1
"""Established: the kernel lists a closed socket under root, whoever had it."""
_LOOKS: Final = 2
"""The kernel sends the table in pieces, so a row can be missed while others go."""
_ROOT: Final = 0
_ACCOUNT: Final = 3
_SOCKET: Final = 5
"""Columns after the state of a connection; the number of a socket without a process is 0."""
_LENGTH: Final = 160
_IPV4: Final = 4

_SOCK_DIAG: Final = 4
_BY_FAMILY: Final = 20
_REQUEST: Final = 1
_ANY_STATE: Final = 0xFFFFFFFF
_ANY_COOKIE: Final = b"\xff" * 8
_HEADER: Final = struct.Struct("=IHHII")
"""struct nlmsghdr: length, type, flags, sequence, sender."""
_QUESTION: Final = struct.Struct("=BBBxI2s2s16s16sI8s")
"""struct inet_diag_req_v2: family, protocol, extensions, states; ports and addresses of the
socket's own end and of its peer, interface, cookie."""
_REPLY: Final = struct.Struct("=BB2x2s2s16s16s12x12xII")
"""struct inet_diag_msg: family, state; ends as above; account, number of the socket."""

Address = IPv4Address | IPv6Address
End = tuple[Address, int]


def is_of_another_account(scope: Scope) -> bool:
    """Return whether a request on loopback is of an account other than this process' and root.

    A connection that the kernel no longer lists counts as another's: it was closed meanwhile.
    """
    client, server = scope.get("client"), scope.get("server")
    if not (client and server and is_loopback(str(server[0])) and _TABLES[0].exists()):
        return False
    try:
        ends = _end(client), _end(server)
    except ValueError:
        return True
    account = by_message(*ends)
    if account is None:
        account = by_table(*ends)
    return account not in {_ROOT, os.geteuid()}


def by_message(own: End, peer: End) -> int | None:
    """Return the account of the open socket with these ends; None where the kernel names none."""
    families = {address.version for address, _ in (own, peer)}
    if len(families) > 1:
        return None
    family = socket.AF_INET if families == {_IPV4} else socket.AF_INET6
    (ours, our_port), (theirs, their_port) = own, peer
    ports = our_port.to_bytes(2, "big"), their_port.to_bytes(2, "big")
    question = _QUESTION.pack(
        family, socket.IPPROTO_TCP, 0, _ANY_STATE, *ports, ours.packed, theirs.packed, 0,
        _ANY_COOKIE,
    )  # fmt: skip
    header = _HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _REQUEST, 0, 0)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as line:
            line.sendto(header + question, (0, 0))
            reply = line.recv(4096, socket.MSG_DONTWAIT)  # it is there when the message is sent
    except OSError:
        return None
    if len(reply) < _HEADER.size + _REPLY.size or _HEADER.unpack_from(reply)[1] != _BY_FAMILY:
        return None
    _, state, *ends, account, number = _REPLY.unpack_from(reply, _HEADER.size)
    return account if state == _OPEN and tuple(ends[:2]) == ports and number else None


def by_table(own: End, peer: End) -> int | None:
    """Return the account of the open socket with these ends, from the table of all sockets."""
    pairs = [(_cell(own, wide=wide), _cell(peer, wide=wide)) for wide in (False, True)]
    rows = [f" {' '.join(pair)} {_OPEN:02X} ".encode() for pair in pairs if all(pair)]
    for _ in range(_LOOKS):
        for table in _TABLES:
            if (account := _account(table, rows)) is not None:
                return account
    return None


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


def _end(end: Sequence[Any]) -> End:
    """Return address and port; an IPv4 address in IPv6 notation is that IPv4 address."""
    address = ip_address(str(end[0]))
    return getattr(address, "ipv4_mapped", None) or address, int(end[1])


def _cell(end: End, *, wide: bool) -> str:
    """Return an address and port as the kernel's table has it; "" where it does not fit."""
    address, port = end
    if wide and address.version == _IPV4:  # of a program that uses IPv6 sockets for everything
        address = ip_address(f"::ffff:{address}")
    elif not wide and address.version != _IPV4:
        return ""
    raw = address.packed
    words = [int.from_bytes(raw[at : at + 4], sys.byteorder) for at in range(0, len(raw), 4)]
    return f"{''.join(f'{word:08X}' for word in words)}:{port:04X}"
