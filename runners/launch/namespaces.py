"""Two network namespaces of this machine with a link of a set rate between them (Linux, root).

Each namespace has one end of a veth pair; `tc` limits both ends with a token bucket (tbf). The
namespaces are deleted at the end, also after an error, and the link with them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_FOLDERS: Final = os.pathsep.join((os.defpath, "/usr/sbin", "/sbin"))
"""Folders of ip and tc, which an ordinary user's PATH may lack."""
_LEAST_BURST_BYTES: Final = 16_000
_BURST_S: Final = 1e-3
"""Time of traffic that may pass at once [s]: short beside a step at low rates."""
_QUEUE: Final = "100ms"
"""Longest wait in the queue of a link; packets beyond are dropped."""


class NotPossibleError(Exception):
    """This machine has no network namespaces for this user; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two connected namespaces; each is its name and the address of its end."""

    names: tuple[str, str]
    addresses: tuple[str, str]

    @property
    def hosts(self) -> tuple[str, ...]:
        """The namespaces as hosts of a launcher: name=address."""
        pairs = zip(self.names, self.addresses, strict=True)
        return tuple(f"{name}={address}" for name, address in pairs)

    @property
    def prefix(self) -> str:
        """The command prefix that runs a program in a namespace."""
        return f"{_program('ip')} netns exec {{host}}"

    def unlimit(self) -> None:
        """Take the limit off the link."""
        for name in self.names:
            with contextlib.suppress(NotPossibleError):  # it has none
                _run("ip", "netns", "exec", name, _program("tc"), "qdisc", "delete", "dev", "veth0",
                     "root")  # fmt: skip

    def shape(self, rate_bits_per_s: float) -> None:
        """Limit the link to a rate in each direction [bit/s]."""
        burst = max(_LEAST_BURST_BYTES, int(rate_bits_per_s / 8 * _BURST_S))
        for name in self.names:
            _run("ip", "netns", "exec", name, _program("tc"), "qdisc", "replace", "dev", "veth0",
                 "root", "tbf", "rate", f"{rate_bits_per_s:.0f}bit", "burst", str(burst),
                 "latency", _QUEUE)  # fmt: skip


@contextlib.contextmanager
def pair() -> Iterator[Pair]:
    """Make two connected namespaces and delete them at the end.

    Raises:
        NotPossibleError: programs or rights are missing.
    """
    own = os.getpid()
    made = Pair(
        names=(f"epochwise-{own}-a", f"epochwise-{own}-b"),
        addresses=("10.77.0.1", "10.77.0.2"),
    )
    try:
        _make(made)
        yield made
    finally:
        for name in made.names:
            with contextlib.suppress(NotPossibleError):  # it was not made
                _run("ip", "netns", "delete", name)


def _make(made: Pair) -> None:
    for name in made.names:
        _run("ip", "netns", "add", name)
    first, second = made.names
    _run("ip", "link", "add", "veth0", "netns", first, "type", "veth", "peer", "name", "veth0",
         "netns", second)  # fmt: skip
    for name, address in zip(made.names, made.addresses, strict=True):
        _run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "veth0")
        for device in ("lo", "veth0"):
            _run("ip", "-n", name, "link", "set", device, "up")
    made.shape(10e9)  # a kernel without tbf is noticed before a run


def _program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=_FOLDERS)
    if not found:
        raise NotPossibleError(f"The program {name} is missing. Install iproute2.")
    return found


def _run(program: str, *arguments: str) -> None:
    """Run ip or tc; NotPossibleError has its message."""
    command = [_program(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        reason = lines[0] if lines else f"exit code {done.returncode}"
        raise NotPossibleError(
            f"{program} {' '.join(arguments[:2])}: {reason}. It needs root and CAP_NET_ADMIN."
        )
