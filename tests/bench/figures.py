"""Measure and print: a small table of figures beside their targets."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


def best_s(work: Callable[[], object], times: int = 5) -> float:
    """Least wall time of some calls [s]."""
    return min(timed(work)[0] for _ in range(times))


def timed(work: Callable[[], Answer]) -> tuple[float, Answer]:
    """Wall time of one call [s], and what it gave."""
    began = time.perf_counter()
    answer = work()
    return time.perf_counter() - began, answer


def peak_gb() -> float:
    """Largest memory this process has had [GB]."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def heading(text: str) -> None:
    """What the figures below are of, and how busy the machine is with other things."""
    print(f"\n{text}  [load average {os.getloadavg()[0]:.1f}]")


def figure(name: str, value: float, unit: str, target: float | None = None) -> None:
    """One line: a figure, and whether it keeps its target (at most that much)."""
    promise = "" if target is None else f"  target {target:g}: {_kept(value <= target)}"
    print(f"  {name:<52}{value:>10.4g} {unit:<8}{promise}", flush=True)


def at_least(name: str, value: float, unit: str, target: float) -> None:
    """One line: a figure that is to be at least its target."""
    promise = f"  target {target:g}: {_kept(value >= target)}"
    print(f"  {name:<52}{value:>10.4g} {unit:<8}{promise}", flush=True)


def _kept(good: bool) -> str:  # noqa: FBT001 - one of two words
    return "kept" if good else "MISSED"
