"""Single constants: what the published tables choose for each, and without each source.

    LINKED_LOSS, LINKED_SD    speeds of 2 to 16 devices of one node over one device, same batch each
    REPEAT_SD                 trials of MLPerf with one accelerator, count, batch and round
    COUNT_SD                  residuals of two counts of one workload, with the source hidden
    WIDER                     coverage after a timed step is about 90 %, with the source hidden
    IMAGE_BYTES, IMAGE_POWER  stated memory of image networks without state and framework
    IMAGE_JOB_SD              smallest sd with which whole image jobs have their coverage

Every value is chosen again without each source (of MLPerf's trials: each benchmark; of whole jobs:
each repository).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from backtest.published.jobs import KnownJob, known_jobs, whole_jobs
from backtest.published.memory import image_memory
from backtest.published.mfu import FAR, Study, after_steps, counts_of
from planner.catalog import Catalog
from planner.job import Hardware
from planner.job.efficiency import has_links
from planner.mfu import REPEAT_SD
from planner.published import Configuration, PublishedRow, configurations

LARGEST_NODE: Final = 16
NOMINAL: Final = 0.9
IMAGE_COVERAGE: Final = 0.85
"""Target of the coverage of whole image jobs."""
GRID: Final = 0.05
IMAGE_JOBS: Final = "job._times.IMAGE_JOB_SD"


class Point(NamedTuple):
    """A measurement of a constant: its source, and two numbers in its units."""

    source: str
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A constant with its shipped value, the choice of all tables, and those without a source."""

    name: str
    ships: float
    chosen: float
    without: tuple[float, ...]
    points: int


def chosen_constants(
    rows: Sequence[PublishedRow], catalog: Catalog, usable: Sequence[Configuration], study: Study
) -> list[Chosen]:
    """Return the choice of every constant that the tables have data for.

    Args:
        rows: of the tables.
        catalog: whose accelerators and peaks count.
        usable: the configurations of the rows.
        study: the fits, with predictions of hidden sources.
    """
    linked = _linked(usable)
    repeats = _repeats(rows, catalog)
    counts = [
        Point(a.row.source, math.log2(b.row.devices / a.row.devices),
              (a.truth - a.value) - (b.truth - b.value))
        for predictions in study.hidden["source"].values()
        for a, b in counts_of(predictions)
    ]  # fmt: skip
    kept = [Point(*row) for row in image_memory(rows)]
    jobs = _image_jobs(rows, catalog)
    found = [
        _chosen("job.efficiency.LINKED_LOSS", linked, _loss),
        _chosen("job.efficiency.LINKED_SD", linked, _loss_sd),
        _chosen("mfu._model.REPEAT_SD", repeats, _repeat_sd),
        _chosen("mfu._model.COUNT_SD", counts, _count_sd),
        _wider(study),
        _chosen("networks._memory.IMAGE_BYTES", kept, _image_bytes),
        _chosen("networks._memory.IMAGE_POWER", kept, _image_power),
        _chosen(IMAGE_JOBS, jobs, _job_sd),
    ]
    return [choice for choice in found if choice is not None]


def _shipped(name: str) -> float:
    """Return the value in the code of a constant, named after `planner.`."""
    module, member = name.rsplit(".", maxsplit=1)
    return float(getattr(import_module(f"planner.{module}"), member))


def _chosen(
    name: str, points: Sequence[Point], choose: Callable[[Sequence[Point]], float]
) -> Chosen | None:
    if not points:
        return None
    sources = sorted({point.source for point in points})
    parts = [[p for p in points if p.source != source] for source in sources]
    without = tuple(choose(part) for part in parts if part)
    return Chosen(
        name=name, ships=_shipped(name), chosen=choose(points), without=without, points=len(points)
    )


def _linked(usable: Sequence[Configuration]) -> list[Point]:
    """Return doublings of devices on one linked node, and ln of their efficiency, to one device."""
    alike: dict[tuple[object, ...], dict[int, Configuration]] = defaultdict(dict)
    for run in usable:
        hardware = Hardware(label="", accelerator=run.accelerator, count=run.devices)
        if run.global_batch is None or run.nodes > 1 or not has_links(hardware):
            continue
        each = round(math.log2(run.global_batch / run.devices), 1)
        key = (run.source, run.software, run.network, run.sequence, run.image_px, run.precision,
               run.accelerator.id, each)  # fmt: skip
        alike[key].setdefault(run.devices, run)
    return [
        Point(
            run.source,
            math.log2(devices),
            math.log(run.samples_per_s / (devices * counts[1].samples_per_s)),
        )
        for counts in alike.values()
        if 1 in counts
        for devices, run in counts.items()
        if 1 < devices <= LARGEST_NODE
    ]


def _loss(points: Sequence[Point]) -> float:
    return -float(np.median([y / x for _, x, y in points]))


def _loss_sd(points: Sequence[Point]) -> float:
    loss = _loss(points)
    return _robust_sd([y / x + loss for _, x, y in points])


def _robust_sd(values: Sequence[float]) -> float:
    """Return the sd of a normal distribution with the same 90th percentile of |value|."""
    return float(np.quantile(np.abs(values), NOMINAL)) / FAR


def _repeats(rows: Sequence[PublishedRow], catalog: Catalog) -> list[Point]:
    """Return, for two trials of one configuration, 2 and the difference of ln of their speeds."""
    alike: dict[tuple[object, ...], list[Configuration]] = defaultdict(list)
    for row in rows:
        if row.time_to_train_h and row.global_batch:
            for run in configurations([row], catalog)[0]:
                key = (run.network, run.accelerator.id, run.devices, run.nodes, run.global_batch,
                       run.published)  # fmt: skip
                alike[key].append(run)
    return [
        Point(of[0].network, 2.0, math.log(a.samples_per_s / b.samples_per_s))
        for of in alike.values()
        if of[0].source == "mlperf"
        for a, b in pairwise(of)
    ]


def _repeat_sd(points: Sequence[Point]) -> float:
    return _robust_sd([y / math.sqrt(x) for _, x, y in points])


def _count_sd(points: Sequence[Point]) -> float:
    return _robust_sd(
        [math.sqrt(max(y**2 - REPEAT_SD**2, 0.0) / abs(x)) for _, x, y in points if x]
    )


def _wider(study: Study) -> Chosen | None:
    """Return the factor with which 90 % of the rows are covered after a timed step."""
    by_factor: dict[float, list[Point]] = {}
    for factor in np.arange(1.0, 2.0, GRID):
        by_factor[float(factor)] = [
            Point(after.row.source, float(after.answer.held), 0.0)
            for domain, fit in study.fits.items()
            for pairs in after_steps(study.hidden["source"][domain], fit, float(factor)).values()
            for _, after in pairs
        ]

    def choose(left_out: str) -> float:
        shares = {
            factor: float(np.mean([p.x for p in points if p.source != left_out]))
            for factor, points in by_factor.items()
        }
        return min((abs(share - NOMINAL), round(factor, 2)) for factor, share in shares.items())[1]

    points = by_factor[1.0]
    if not points:
        return None
    sources = sorted({point.source for point in points})
    name = "mfu._model.WIDER"
    without = tuple(choose(source) for source in sources if len(sources) > 1)
    return Chosen(
        name=name, ships=_shipped(name), chosen=choose(""), without=without, points=len(points)
    )


def _image_line(points: Sequence[Point]) -> tuple[float, float]:
    """Return ln of the bytes at 1e9 multiply-adds and the exponent, by least squares."""
    logs = np.array([(math.log(x / 1e9), math.log(y)) for _, x, y in points])
    slope, at_one = np.polyfit(logs[:, 0], logs[:, 1], 1)
    return float(at_one), float(slope)


def _image_bytes(points: Sequence[Point]) -> float:
    return math.exp(_image_line(points)[0])


def _image_power(points: Sequence[Point]) -> float:
    return _image_line(points)[1]


def _image_jobs(rows: Sequence[PublishedRow], catalog: Catalog) -> list[Point]:
    """Return ln(estimate/published) of whole image jobs, and the sd without `IMAGE_JOB_SD`."""
    jobs = [job for job in whole_jobs(rows, catalog) if not job.language]
    return [point for job in known_jobs(jobs) if (point := _image_job(job)) is not None]


def _image_job(job: KnownJob) -> Point | None:
    if job.value is None or job.low is None or job.high is None:
        return None
    variance = (math.log(job.high / job.low) / (2.0 * FAR)) ** 2 - _shipped(IMAGE_JOBS) ** 2
    repository = job.place.split(" ", maxsplit=1)[0]
    return Point(
        repository, math.log(job.value / job.published_device_hours), math.sqrt(max(variance, 0.0))
    )


def _job_sd(points: Sequence[Point]) -> float:
    return next(
        sd
        for sd in (round(step * GRID, 2) for step in range(100))
        if np.mean([abs(x) <= FAR * math.hypot(y, sd) for _, x, y in points]) >= IMAGE_COVERAGE
    )


def chosen_lines(constants: Sequence[Chosen]) -> list[str]:
    """Return the section of docs/efficiency.md about these constants."""
    return [
        "## Constants and what the tables would choose",
        "",
        "Each constant is chosen by all tables, and again without each source. The range is that",
        "of the choices without a source. Rules are in `backtest/published/chosen.py`.",
        "",
        "| constant | ships | all tables choose | without one source | measurements |",
        "|---" * 5 + "|",
        *(
            f"| `planner.{c.name}` | {c.ships:.3g} | {c.chosen:.3g} | {_range(c.without)} | "
            f"{c.points:,} |"
            for c in constants
        ),
    ]


def _range(values: Sequence[float]) -> str:
    if not values:
        return ""
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"
