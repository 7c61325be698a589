"""MLPerf's reference convergence points as workloads, with one steps-to-target law each.

A reference point is a batch size with runs of several seeds. Submitters made it with a recipe tuned
for that batch size, so that others can check their training against it. The points of a benchmark
are steps to its target by batch size:

    steps = epochs*samples of the data set/batch = samples/batch = tokens/2,048/batch

Lists are repeated from round to round and under new names, some were measured again, and one value
has a digit too many. `editions_of` returns each set of lists of a benchmark that was in force, with
its rounds. `planner.time_to_target._reference_tables` lists every list and its use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np

from planner.convergence import ConvergenceCurve, fit_convergence, group_medians
from planner.core import Floats, Refusal
from planner.runs import NO_OPTIMIZER
from planner.time_to_target._optimizer_curves import Comparison, OptimizerCurve
from planner.time_to_target._reference_benchmarks import Benchmark, Round, benchmark_of

SLIP: Final = 5.0
"""A value this many times the median of its list is an error: all others are below 1.9 times."""
CAUTION: Final = (
    "Reference points of MLPerf Training and HPC: submitters tuned a recipe at every batch size, "
    "so this is the best that was found, not a grid of learning rates. Laws fitted to them are "
    "ours and not verified by MLCommons."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One list of a file; the unit of `values` depends on the benchmark.

    `values` are one number per seed (infinite if it did not converge). `in_samples` is True where
    the file calls them samples. `learning_rate` is that of the recipe, NaN where missing.
    """

    suite: str
    round: Round
    benchmark: str
    batch: int
    values: tuple[float, ...]
    in_samples: bool = False
    learning_rate: float = float("nan")
    precision: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencePoints:
    """All points that were read, with their source; `problem` is the reason if there are none."""

    points: tuple[Point, ...]
    version: str = ""
    licence: str = ""
    source: str = ""
    unreadable: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """The points of a benchmark that were in force together, in `rounds`.

    `batch` [samples] and `learning_rate` (NaN where missing) have shape (batches,). `samples` are
    the samples to target for each batch, one value per seed.
    """

    benchmark: Benchmark
    rounds: tuple[Round, ...]
    batch: Floats
    learning_rate: Floats
    samples: tuple[tuple[float, ...], ...]

    @property
    def name(self) -> str:
        """Name as a workload: ResNet-50 on ImageNet (MLPerf reference)."""
        return f"{self.benchmark.trained} (MLPerf reference)"

    @property
    def rounds_text(self) -> str:
        """The rounds in words: 4.0, or 2.0 to 4.0."""
        first, last = (f"{a}.{b}" for a, b in (self.rounds[0], self.rounds[-1]))
        return first if first == last else f"{first} to {last}"


def editions_of(points: Iterable[Point]) -> dict[str, tuple[Edition, ...]]:
    """Return usable editions of every benchmark by its name, the latest first, in offered order."""
    usable = [(b, p) for p in points if (b := benchmark_for(p)) and not b.left_out]
    by_key: dict[str, list[tuple[Benchmark, Point]]] = {}
    for benchmark, point in sorted(usable, key=lambda x: (x[1].round, x[1].batch)):
        by_key.setdefault(benchmark.key, []).append((benchmark, point))
    editions = [_editions(pairs) for pairs in by_key.values()]
    editions.sort(key=lambda e: -max(x.batch.size for x in e))
    return {e[0].name: e for e in editions}


def comparison_of(edition: Edition) -> Comparison:
    """Return the law through the medians over seeds, as one curve to compare or show."""
    benchmark = edition.benchmark
    counts = [len(s) for s in edition.samples]
    seed_batch = np.repeat(edition.batch, counts)
    samples = np.concatenate([np.asarray(s) for s in edition.samples])
    medians = group_medians(np.repeat(np.arange(edition.batch.size), counts), samples)
    curve = OptimizerCurve(
        optimizer=benchmark.optimizer or NO_OPTIMIZER,
        batch=edition.batch,
        learning_rate=edition.learning_rate,
        median_steps=medians / edition.batch,
        reached=np.array([int(np.isfinite(s).sum()) for s in edition.samples]),
        seeds=np.array(counts),
        noise_scale=np.full(edition.batch.shape, np.nan),
        seed_batch=seed_batch,
        seed_steps=samples / seed_batch,
        curve=_law(seed_batch, samples),
    )
    return Comparison(target=np.nan, curves=(curve,), reached=_resolution(edition, medians))


def split_errors(values: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return a list without erroneous values, and these: `SLIP` times its median or more."""
    array = np.asarray(values, dtype=np.float64)
    usual = float(np.median(array)) if array.size else 0.0
    slip = np.isfinite(array) & (usual > 0.0) & (array >= SLIP * usual)
    return tuple(array[~slip].tolist()), tuple(array[slip].tolist())


def benchmark_for(point: Point) -> Benchmark | None:
    """Return the benchmark of a point; None for an unknown one."""
    return benchmark_of(point.suite, point.benchmark, point.round)


def _per_unit(benchmark: Benchmark, point: Point) -> float:
    """Return samples in one unit of a list."""
    if point.in_samples:
        return 1.0
    return float(point.batch) if benchmark.per_unit is None else benchmark.per_unit


def samples_of(benchmark: Benchmark, point: Point) -> tuple[float, ...]:
    """Return samples to target, one value per seed, without erroneous ones."""
    factor = _per_unit(benchmark, point)
    return tuple(round(v * factor, 3) for v in split_errors(point.values)[0])


def _editions(pairs: Sequence[tuple[Benchmark, Point]]) -> tuple[Edition, ...]:
    """Return the editions, the latest first; successive rounds with equal points are one."""
    sets = []
    for when, members in groupby(pairs, key=lambda x: x[1].round):
        own = list(members)
        samples = {float(p.batch): samples_of(b, p) for b, p in own}
        rates = {float(p.batch): p.learning_rate for _, p in own}
        sets.append((when, own[-1][0], samples, rates))
    editions = []
    for samples, same in groupby(sets, key=lambda x: x[2]):
        alike, batches = list(same), sorted(samples)
        editions.append(
            Edition(
                benchmark=alike[-1][1],
                rounds=tuple(x[0] for x in alike),
                batch=np.array(batches),
                learning_rate=np.array([alike[-1][3][b] for b in batches]),
                samples=tuple(samples[b] for b in batches),
            )
        )
    return tuple(reversed(editions))


def _law(batch: Floats, samples: Floats) -> ConvergenceCurve | Refusal:
    try:
        return fit_convergence(batch, samples)
    except ValueError as problem:  # a file may hold any number: the page stays
        return Refusal(reason=str(problem), measure_next="Check the package's files.")


def _resolution(edition: Edition, medians: Floats) -> str:
    """Return the count of runs, and the resolution of lists in whole epochs, in words."""
    runs, benchmark = sum(map(len, edition.samples)), edition.benchmark
    lead = f"{runs:,} reference runs at {edition.batch.size} batch sizes"
    per_epoch = benchmark.per_unit or 0.0
    in_epochs = benchmark.unit == "epochs" and per_epoch > 0.0
    whole = in_epochs and all(
        float(v / per_epoch).is_integer() for s in edition.samples for v in s if np.isfinite(v)
    )
    finite = medians[np.isfinite(medians)]
    if not whole or not finite.size:
        return f"{lead}."
    coarse = 100.0 * per_epoch / np.array([finite.max(), finite.min()])
    return (
        f"{lead}, stated in whole epochs: each is {coarse[0]:.2g} to {coarse[1]:.2g} % of the "
        "steps."
    )
