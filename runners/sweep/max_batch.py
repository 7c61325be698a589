"""The largest batch that fits: doubling, then bisection, started from a memory line.

Two small runs give memory against batch; the line says where memory should end, so the search
begins there instead of at the bottom. Every probe is a run of its own and becomes a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from runners.sweep.forecast import memory_line

SMALL: Final = (8, 64)
"""The two batch sizes that give the memory line [samples]."""
GUESSES: Final = 4
"""So often the line is drawn anew through all probes: two small runs alone mislead it."""
RESOLUTION: Final = 16
"""The search ends when the first batch that fails is within 1/16 of the last that fits."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether a batch size fitted, and the peak memory it took [bytes], where known."""

    fits: bool
    peak_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The largest batch that was seen to fit, and the smallest that was seen not to."""

    largest: int | None
    fails: int | None
    """None where the search ended at its bound."""
    probes: tuple[int, ...]
    """Batch sizes in the order they were tried."""


Bracket = tuple[int | None, int | None]
"""The largest batch that fits and the smallest that does not, as far as known."""


class UndecidedError(RuntimeError):
    """A probe ended in a way that says nothing of memory; the text says how."""


def search(
    probe: Callable[[int], Probe],
    *,
    bound: int,
    memory_bytes: float | None = None,
    known: Mapping[int, Probe] = MappingProxyType({}),
) -> Found:
    """Find the largest batch from 1 to `bound` for which `probe` says that it fits.

    `memory_bytes` is where memory ends, if known; without it the search doubles from the second
    small batch. `known` are probes of an earlier search, which this one goes on with. Assumes that
    what fits at a batch fits below it.
    """
    seen = {batch: told for batch, told in known.items() if batch <= bound}

    def fits(batch: int) -> bool:
        if batch not in seen:
            seen[batch] = probe(batch)
        return seen[batch].fits

    good, bad = _bracket(seen)
    if good is None or bad is None:
        good, bad = _widely(fits, seen, (bound, memory_bytes))
    good, bad = _bisect(fits, good, bad)
    return Found(largest=good, fails=bad, probes=tuple(seen))


def _bracket(seen: Mapping[int, Probe]) -> Bracket:
    """What earlier probes say: the largest that fits below the smallest that does not."""
    bad = min((b for b, p in seen.items() if not p.fits), default=None)
    good = max((b for b, p in seen.items() if p.fits and (bad is None or b < bad)), default=None)
    return good, bad


def _widely(
    fits: Callable[[int], bool], seen: dict[int, Probe], limits: tuple[int, float | None]
) -> Bracket:
    """Two small batches, a jump to where their line ends, then on from there."""
    bound, _ = limits
    good, bad = _small(fits, bound)
    step = good or 1
    if good is not None and bad is None:
        good, bad = _from_line(fits, seen, good, limits)
        # Just below the line's end a whole doubling would only waste a probe.
        step = good or 1 if good in SMALL else max((good or 1) // 8, 1)
    return _gallop(fits, (good, bad), step, bound)


def _small(fits: Callable[[int], bool], bound: int) -> Bracket:
    good: int | None = None
    for batch in sorted({min(b, bound) for b in SMALL}):
        if not fits(batch):
            return good, batch
        good = batch
    return good, None


def _from_line(
    fits: Callable[[int], bool],
    seen: dict[int, Probe],
    good: int,
    limits: tuple[int, float | None],
) -> Bracket:
    """Probes where the line says that memory is nearly full, until it says so of the last one."""
    for _ in range(GUESSES):
        guess = _guess(seen, limits)
        if guess is None or guess - good <= good // RESOLUTION:
            break
        if not fits(guess):
            return good, guess
        good = guess
    return good, None


def _guess(seen: Mapping[int, Probe], limits: tuple[int, float | None]) -> int | None:
    """Just below the batch at which the line through all that fitted meets the end of memory."""
    bound, memory_bytes = limits
    points = [(float(b), p.peak_bytes) for b, p in seen.items() if p.peak_bytes and p.fits]
    line = memory_line(points) if memory_bytes else None
    if not line or not line[1] or memory_bytes is None:
        return None
    return min(int((memory_bytes - line[0]) / line[1] * (1 - 1 / RESOLUTION)), bound)


def _gallop(fits: Callable[[int], bool], bracket: Bracket, step: int, bound: int) -> Bracket:
    """Go up in steps that double until something fails; halve where nothing fits yet."""
    good, bad = bracket
    while good is not None and bad is None and good < bound:
        further = min(good + step, bound)
        good, bad = (further, None) if fits(further) else (good, further)
        step *= 2
    while good is None and bad is not None and bad > 1:
        good, bad = (bad // 2, bad) if fits(bad // 2) else (None, bad // 2)
    return good, bad


def _bisect(fits: Callable[[int], bool], good: int | None, bad: int | None) -> Bracket:
    while good is not None and bad is not None and bad - good > max(1, good // RESOLUTION):
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good, bad
