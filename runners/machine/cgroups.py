"""Limits of the control groups around this process, as set by containers and batch systems.

Reads versions 2 and 1 of the kernel's interface; a machine without them (macOS) has no limits.
`root` is the root of the file system; tests pass their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path("/")


def processors(root: Path = ROOT) -> Iterator[float]:
    """Yield the processor limit of each group: quota over period, 1.5 for "150000 100000"."""
    for group in _groups(root, ""):
        quota, _, period = read(group / "cpu.max").strip().partition(" ")
        if quota.isdecimal() and period.isdecimal() and int(period):  # "max": no limit
            yield int(quota) / int(period)
    for group in _groups(root, "cpu"):
        most, every = _number(group / "cpu.cfs_quota_us"), _number(group / "cpu.cfs_period_us")
        if most and every:  # -1 (no limit) gives None
            yield most / every


def memory_left_bytes(root: Path = ROOT) -> Iterator[int]:
    """Yield the free memory of each group [bytes]; cached file pages count as free."""
    for group in _groups(root, ""):
        yield from _left(group, "memory.max", "memory.current", "inactive_file")
    for group in _groups(root, "memory"):
        yield from _left(
            group, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
        )


def _left(group: Path, limit: str, used: str, cached: str) -> Iterator[int]:
    most, now = _number(group / limit), _number(group / used)
    if most is not None:
        yield most - (now or 0) + _statistics(group / "memory.stat").get(cached, 0)


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the groups around this process, innermost first; "" is version 2.

    In a container the paths may be those of the host; missing ones read as empty.
    """
    for line in read(root / "proc" / "self" / "cgroup").splitlines():
        _, names, path = [*line.split(":", 2), "", ""][:3]
        if controller in names.split(","):
            mount = root / "sys" / "fs" / "cgroup" / controller
            inner = Path(path.lstrip("/"))
            yield from (mount / part for part in (inner, *inner.parents))


def _statistics(path: Path) -> Mapping[str, int]:
    """Return the numbers of a file with lines "name number"."""
    pairs = [line.split() for line in read(path).splitlines()]
    return {p[0]: int(p[1]) for p in pairs if len(p) == 2 and p[1].isdecimal()}


def _number(path: Path) -> int | None:
    text = read(path).strip()
    return int(text) if text.isdecimal() else None


def read(path: Path) -> str:
    """Return the text of a small kernel file; empty if it is missing or unreadable."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
