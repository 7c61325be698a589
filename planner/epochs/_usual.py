"""The runs that a question uses by default, the same on a page and in a command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from planner.core import Estimate
from planner.epochs.epoch_size import ONE_PASS, EpochSize
from planner.epochs.how_long import (
    EPOCHS,
    Option,
    options_of,
    total_time,
    with_sizes,
)
from planner.epochs.steadiness import SHORTEST
from planner.runs import Run

EpochTimes = Callable[[Sequence[str]], Mapping[str, tuple[float, ...]]]
"""Seconds of each epoch of runs, by their ids; runs without single epochs may be missing."""
MOST_LINES: Final = 12
MOST_CHOSEN: Final = MOST_LINES - 1
"""The one that all are compared with is drawn as well."""
PREFERRED: Final = 5


def offered(runs: Sequence[Run], epoch_times: EpochTimes) -> list[Option]:
    """Return runs as options; single epochs are read only if the summary lacks them."""
    bare = [r for r in runs if r.later_epoch_mean_s is None and r.asymptotic_throughput is None]
    return options_of(runs, epoch_times([r.run_id for r in bare if r.status == "ok"]))


def with_epochs(options: Sequence[Option], epoch_times: EpochTimes) -> list[Option]:
    """Return options with single epochs, where there are enough to show a change."""
    enough = [o.run.run_id for o in options if not o.epoch_s and _may_change(o.run)]
    times = epoch_times(enough)
    return [replace(o, epoch_s=times.get(o.run.run_id, ()) or o.epoch_s) for o in options]


def _may_change(run: Run) -> bool:
    """Return whether it has epochs enough for a change of pace to be seen."""
    return run.status == "ok" and (run.epochs_measured or 0) > 2 * SHORTEST


def usual_options(by_slug: Mapping[str, Option], size: EpochSize = ONE_PASS) -> list[str]:
    """Return the initial systems, with epochs of one size.

    The fastest of all, of each system the fastest, the smallest and the largest batch, then others
    between while there are few; those with an answer first.
    """
    sized = dict(zip(by_slug, with_sizes(list(by_slug.values()), size), strict=True))
    totals = {s: total_time(o, EPOCHS) for s, o in sized.items()}
    good = {s: float(t.value) for s, t in totals.items() if isinstance(t, Estimate)}
    pool = list(good) or list(by_slug)
    groups: dict[str, list[str]] = {}
    for s in pool:
        groups.setdefault(by_slug[s].run.system, []).append(s)
    picked = [min(good, key=good.__getitem__)] if good else []
    if good:
        picked += [min(members, key=good.__getitem__) for members in groups.values()]
    for members in groups.values():
        picked += [members[0], members[-1]]
    for members in sorted(groups.values(), key=len, reverse=True):
        picked += [members[len(members) * k // 4] for k in (2, 3, 1)]
    most = min(max(PREFERRED, len(groups)), MOST_CHOSEN)
    chosen = list(dict.fromkeys(picked))[:most]
    return [s for s in by_slug if s in chosen]
