"""Times to a target that published runs state, by accelerator and count.

A cell holds the runs on one accelerator at one count. Its time is the median. The interval is that
of one more run, in the logarithm, with the spread s of the cell's n runs and that p of the other
cells (pooled in the same way with `SUBMITTERS_SD`):

    sd^2 = (s^2*(n - 1) + SPREAD_RUNS*p^2) / (n - 1 + SPREAD_RUNS),  times 1 + 1/n

Another count of the same accelerator has the time of the nearest cell, over the scaling of
`planner.job.efficiency`, `BATCH_SD` wider for each doubling. docs/decisions/0043 has the reasons.
Evidence: `pytest -s tests/planner/job/test_stated_public.py`.
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from planner.catalog import Catalog
from planner.core import LEVEL, Estimate, Text, percent_of, several, t_quantile
from planner.fits import log_half_widths, widened
from planner.job._placing import placed
from planner.job._records import Hardware, Scaling
from planner.job.efficiency import SPREAD_DOF, octaves_between, scaling_from

SUBMITTERS_SD: Final = 0.14
"""Sd of ln(time) between runs on one accelerator and count."""
SPREAD_RUNS: Final = 4.0
"""Weight of the spread of other cells [runs]."""
BATCH_SD: Final = 0.1
"""Relative sd for each doubling of the count: submitters change the batch with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedTime:
    """The stated times to a target on some hardware.

    `seconds` are those of each run, ascending, without repeats of one submission. `batch` [samples]
    is that of the median run, None where it is not stated.
    """

    hardware: Hardware
    seconds: tuple[float, ...]
    batch: float | None = None

    @property
    def median_s(self) -> float:
        """The median time [s]."""
        return statistics.median(self.seconds)


def stated_times(
    catalog: Catalog, rows: Iterable[Mapping[str, Any]], target: float
) -> tuple[StatedTime, ...]:
    """Return the times stated for a target, by hardware: fewest accelerators first.

    Args:
        catalog: to place the runs.
        rows: of `planner.store.queries.target_times`.
        target: value of the metric; runs to other targets are left out.
    """
    cells: dict[tuple[str, int, int], dict[tuple[str, float, float], Hardware]] = {}
    for row in rows:
        aimed, seconds = row["target_value"], row["time_to_target_s"]
        if aimed is not None and not math.isclose(aimed, target, rel_tol=1e-6):
            continue
        there = placed(catalog, row)
        name = there.label if there.accelerator is None else there.accelerator.id
        # A submission that later rounds repeat has equal numbers.
        run = (str(row["system"]), float(row["global_batch_size"] or 0.0), float(seconds))
        cells.setdefault((name, there.count, there.nodes), {})[run] = there
    times = (_cell(runs) for runs in cells.values())
    return tuple(sorted(times, key=lambda t: (t.hardware.count, t.median_s, t.hardware.label)))


def _cell(runs: Mapping[tuple[str, float, float], Hardware]) -> StatedTime:
    ordered = sorted(runs, key=lambda run: run[2])
    middle = ordered[(len(ordered) - 1) // 2]
    return StatedTime(
        hardware=runs[middle], seconds=tuple(run[2] for run in ordered), batch=middle[1] or None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedAnswer:
    """The time to the target on hardware [s], from the runs of one cell.

    `alone` is without the uncertainty of `scaling`; both None on the hardware of the cell.
    """

    total: Estimate
    source: StatedTime
    alone: Estimate | None = None
    scaling: Scaling | None = None


def stated_on(
    times: Sequence[StatedTime], hardware: Hardware, level: float = LEVEL
) -> StatedAnswer | None:
    """Return the time to the target on hardware; None where no run states one on its accelerator.

    The cell of the accelerator and count, with the same machines where there is one; else the
    nearest count.
    """
    card = hardware.accelerator
    alike = [t for t in times if card is not None and t.hardware.accelerator == card]
    if not alike:
        return None
    nearest = min(alike, key=lambda t: _distance(t.hardware, hardware))
    there = nearest.hardware
    time = stated_interval(nearest, times, level)
    if there.count == hardware.count:
        return StatedAnswer(total=time, source=nearest)
    factor = scaling_from(hardware, there, level)
    octaves = abs(octaves_between(hardware, there))
    more = float(t_quantile(level, SPREAD_DOF)) * BATCH_SD * octaves
    scaling = replace(factor, factor=widened(factor.factor, more, more))
    ratio = there.count / hardware.count / float(scaling.factor.value)
    alone = replace(
        time,
        value=float(time.value) * ratio,
        low=float(time.low) * ratio,
        high=float(time.high) * ratio,
        basis="similar workload",
        reasons=(*time.reasons, _scaled(hardware, there, scaling.factor)),
    )
    down, up = log_half_widths(scaling.factor)
    return StatedAnswer(
        total=widened(alone, up, down), source=nearest, alone=alone, scaling=scaling
    )


def stated_interval(
    cell: StatedTime, times: Sequence[StatedTime], level: float = LEVEL
) -> Estimate:
    """Return the time of one more run of a cell [s]; `times` are all cells."""
    logs, runs = [math.log(s) for s in cell.seconds], len(cell.seconds)
    others = [[math.log(s) for s in t.seconds] for t in times if t is not cell]
    pooled = _spread(others, SUBMITTERS_SD)
    squares = _squares(logs) + SPREAD_RUNS * pooled**2
    dof = runs - 1 + SPREAD_RUNS
    sd = math.sqrt(squares / dof * (1.0 + 1.0 / runs))
    far = math.exp(float(t_quantile(level, dof)) * sd)
    value = cell.median_s
    return Estimate(
        value=value, low=value / far, high=value * far, level=level, basis="published",
        reasons=(_source(cell),),
    )  # fmt: skip


def _spread(cells: Sequence[Sequence[float]], usual: float) -> float:
    """Return the sd of ln within cells, pooled with `usual` at the weight of `SPREAD_RUNS`."""
    squares = math.fsum(_squares(cell) for cell in cells)
    dof = sum(len(cell) - 1 for cell in cells)
    return math.sqrt((squares + SPREAD_RUNS * usual**2) / (dof + SPREAD_RUNS))


def _squares(logs: Sequence[float]) -> float:
    mean = statistics.fmean(logs)
    return math.fsum((x - mean) ** 2 for x in logs)


def _distance(there: Hardware, hardware: Hardware) -> tuple[bool, bool, bool, float]:
    return (
        there.count != hardware.count,
        there.nodes != hardware.nodes,
        (there.nodes > 1) is not (hardware.nodes > 1),
        abs(octaves_between(hardware, there)),
    )


def hardware_words(hardware: Hardware) -> str:
    """Return accelerators with their count: '8 x B200 SXM 180GB'."""
    card = hardware.accelerator
    return hardware.label if card is None else f"{hardware.count} x {card.name}"


def _source(cell: StatedTime) -> str:
    runs, where = len(cell.seconds), hardware_words(cell.hardware)
    if runs == 1:
        return Text(
            "Time to the target of 1 published run on {where}; the interval is the "
            "usual difference between submitters.",
            where=where,
        )
    return Text(
        "Median time to the target of {runs_words} on {where}.",
        runs_words=several(runs, "published run"),
        where=where,
    )


def _scaled(hardware: Hardware, there: Hardware, factor: Estimate) -> str:
    """Return that the count is scaled from another, with the efficiency assumed."""
    return Text(
        "No run states the time on {count}: each accelerator is assumed to reach "
        "{factor} of its speed among {counts}, to the same number of samples.",
        count=hardware.count,
        factor=percent_of(factor),
        counts=there.count,
    )
