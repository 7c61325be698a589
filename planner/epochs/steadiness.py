"""Whether the epochs of a run are of one kind.

An N-epoch projection assumes that later epochs have one distribution. Runs that enlarge their
images, change the batch size or share the machine for a while break that: no mean of the first
epochs predicts the rest. So before a projection, the logarithms of epochs 2.. (epoch 1 differs) are
cut into segments:

    1. a running median of three, with Tukey's rule at both ends, removes single hiccups;
    2. the cuts minimise  sum of squares about each segment's mean + penalty per segment,
       segments at least SHORTEST epochs long, exactly (Jackson et al. 2005, "optimal
       partitioning"); penalty = max(ln(1.2)^2, NOISE * s^2 * ln n), s the scatter between
       neighbouring epochs;
    3. cuts across which the median changes by 20 % or less are dropped. Where none is left and
       the lowest and the highest segment still differ by more, the epochs drift and all are kept.

No constant was fitted to runs. Limit: correlated scatter of 10 % is sometimes cut in error.

Evidence: docs/evidence.md#steady-epochs.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from planner.core import Floats, Text, bad_seconds, in_words, paragraph, plural, speak_once

CHANGE: Final = 0.20
"""Smaller changes are scatter or drift, covered by the interval [share]."""
SHORTEST: Final = 2
"""Least length of a segment [epochs]: one epoch alone is a hiccup."""
NOISE: Final = 6.0
"""Scatter that a cut must explain [variances]."""
STEP: Final = float(np.log1p(CHANGE))
"""The smallest change in the logarithm of an epoch time."""
NORMAL: Final = 1.4826
"""Standard deviation of a normal distribution in median absolute deviations."""
SHOWN: Final = 4
"""Segments that are described one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Epochs `first_epoch` to `last_epoch`, both included, counted from 1, and their mean [s]."""

    first_epoch: int
    last_epoch: int
    mean_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Steadiness:
    """Whether epochs 2.. are of one kind.

    `steady` means that no change was seen, `tested` that there were enough epochs to see one (2 on
    either side). `segments` are in order, one if steady, none without a later epoch. `hiccups` are
    single epochs more than 20 % off the median of their segment, counted from 1. `sentence`
    describes them.
    """

    steady: bool
    tested: bool
    segments: tuple[Segment, ...]
    hiccups: tuple[int, ...]
    sentence: str

    @property
    def unsettled(self) -> bool:
        """The last epoch is unlike the ones before: a hiccup, or the first of another kind."""
        return bool(self.hiccups) and self.hiccups[-1] == self.segments[-1].last_epoch


def steadiness(epoch_s: ArrayLike) -> Steadiness:
    """Return the changes of more than 20 % in the epoch times of one run.

    Args:
        epoch_s: measured epoch times from epoch 1 on [s], finite and above 0, shape (k,).

    Returns:
        The segments of epochs 2..k. Fewer than 4 later epochs cannot show a change: then
        `tested` is False and there is one segment.

    Raises:
        ValueError: not one flat list, or an epoch time that is not finite and above 0.
    """
    times = np.asarray(epoch_s, dtype=np.float64)
    if times.ndim != 1:
        raise ValueError(
            Text("epoch_s has shape {shape}. Give one flat list of epoch times.", shape=times.shape)
        )
    speak_once([p for e, s in enumerate(times, start=1) for p in bad_seconds(f"Epoch {e}", s)])
    log = np.log(times[1:])
    bounds = _bounds(log)
    segments = tuple(
        Segment(first_epoch=a + 2, last_epoch=b + 1, mean_s=float(times[a + 1 : b + 1].mean()))
        for a, b in itertools.pairwise(bounds)
    )
    return Steadiness(
        steady=len(segments) < 2,
        tested=log.size >= 2 * SHORTEST,
        segments=segments,
        hiccups=_hiccups(log, bounds),
        sentence=_sentence(times, segments, _hiccups(log, bounds)),
    )


def _bounds(log: Floats) -> list[int]:
    """Return where segments begin, and the end of the last.

    [0, n] for one kind, [0] for nothing.
    """
    whole = [0, log.size] if log.size else [0]
    if log.size < 2 * SHORTEST:
        return whole
    smooth = _without_hiccups(log)
    if np.ptp(smooth) <= STEP:
        return whole
    bounds = _partition(smooth - smooth.mean(), _penalty(log))
    merged = _merged(log, bounds)
    creeps = np.ptp(_medians(log, bounds)) > STEP
    return bounds if len(merged) == len(whole) and creeps else merged


def _without_hiccups(log: Floats) -> Floats:
    """Return the running median of three.

    At an end, of it, its neighbour and the line through the next.
    """
    inner = np.median(sliding_window_view(log, 3), axis=1)
    ends = [
        np.median([log[edge], inner[edge], 3.0 * inner[edge] - 2.0 * inner[towards]])
        for edge, towards in ((0, 1), (-1, -2))
    ]
    return np.concatenate(([ends[0]], inner, [ends[1]]))


def _penalty(log: Floats) -> float:
    """Return the cost of a segment, in squared logarithms."""
    noise = NORMAL * float(np.median(np.abs(np.diff(log)))) / np.sqrt(2.0)
    return float(max(STEP**2, NOISE * noise**2 * np.log(log.size)))


def _partition(values: Floats, penalty: float) -> list[int]:
    """Return bounds of the segments with the least squares + penalties, by dynamic programming."""
    n = values.size
    sums = np.concatenate(([0.0], np.cumsum(values)))
    squares = np.concatenate(([0.0], np.cumsum(values * values)))
    least, origin = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.int64)
    least[0] = 0.0
    for end in range(SHORTEST, n + 1):
        start = np.arange(end - SHORTEST + 1)
        rest = squares[end] - squares[start] - (sums[end] - sums[start]) ** 2 / (end - start)
        cost = least[start] + rest + penalty
        origin[end] = cost.argmin()
        least[end] = cost[origin[end]]
    bounds = [n]
    while bounds[0]:
        bounds.insert(0, int(origin[bounds[0]]))
    return bounds


def _merged(log: Floats, bounds: list[int]) -> list[int]:
    """Return the bounds of changes above CHANGE; the weakest are dropped first."""
    while True:
        steps = np.abs(np.diff(_medians(log, bounds)))
        if not steps.size or steps.min() > STEP:
            return bounds
        weakest = int(steps.argmin()) + 1
        bounds = bounds[:weakest] + bounds[weakest + 1 :]


def _medians(log: Floats, bounds: Sequence[int]) -> Floats:
    return np.array([np.median(log[a:b]) for a, b in itertools.pairwise(bounds)])


def _hiccups(log: Floats, bounds: list[int]) -> tuple[int, ...]:
    level = np.repeat(_medians(log, bounds), np.diff(bounds))
    return tuple(int(i) + 2 for i in np.flatnonzero(np.abs(log - level) > STEP))


def _sentence(times: Floats, segments: tuple[Segment, ...], hiccups: tuple[int, ...]) -> str:
    if not segments:
        return "No epoch after the first was measured."
    if len(segments) > 1:
        return _changes(segments)
    lead = Text(
        "Epochs 2 to {size} are of one kind: {mean_s} on average.",
        size=times.size,
        mean_s=in_words(segments[0].mean_s),
    )
    if times.size - 1 < 2 * SHORTEST:
        lead = plural(
            times.size - 1,
            "It takes {shortest} later epochs to see a change; {count} is known.",
            "It takes {shortest} later epochs to see a change; {count} are known.",
            shortest=2 * SHORTEST,
        )
    return paragraph(lead, _aside(times, hiccups))


def _changes(segments: tuple[Segment, ...]) -> str:
    parts: list[str] = [
        Text(
            "epochs {first_epoch} to {last_epoch} took {mean_s} each",
            first_epoch=s.first_epoch,
            last_epoch=s.last_epoch,
            mean_s=in_words(s.mean_s),
        )
        for s in segments
    ]
    if len(parts) > SHOWN:
        parts = [*parts[: SHOWN - 1], Text("then others"), parts[-1]]
    return Text("Epoch times change during the run: {parts}.", parts=", ".join(parts))


def _aside(times: Floats, hiccups: tuple[int, ...]) -> str:
    """Return a remark on single epochs, against the median of all later ones."""
    if not hiccups:
        return ""
    if len(hiccups) > 1:
        return Text(
            "{hiccups} single epochs were more than 20 % off; single ones are not a change.",
            hiccups=len(hiccups),
        )
    ratio = times[hiccups[0] - 1] / np.median(times[1:])
    return Text(
        "Epoch {hiccup} alone took {ratio:.2f} times as long as the others.",
        hiccup=hiccups[0],
        ratio=ratio,
    )
