"""MLPerf's reference convergence points as workloads: one law of steps to target a benchmark.

A reference point is a batch size with the runs of several seeds, made by submitters with a recipe
tuned for that batch size, so that others can prove that their training is the same. Together the
points of a benchmark are steps to its target over the batch size:

    steps = epochs*samples of the data set/batch = samples/batch = tokens/2,048/batch

Lists are repeated from round to round and under new names, some were measured again, and one value
has a digit too many. `editions_of` keeps, for every benchmark, each set of lists that was in force
once, with its rounds; `planner.time_to_target._reference_tables` lists every list and what became
of it.
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
"""A value so many times the median of its list is a slip: all others stay below 1.9 times."""
CAUTION: Final = (
    "Reference points of MLPerf Training and HPC: submitters tuned a recipe at every batch size, "
    "so this is the best that was found, not a grid of learning rates. Laws fitted to them are "
    "ours and not verified by MLCommons."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One list as a file tells it: what `values` count depends on the benchmark.

    `values` are one number a seed (infinite where it did not converge), `in_samples` whether the
    file itself calls them samples, `learning_rate` that of the recipe (NaN where not told).
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
    """All that was read, from what; `problem` says why there is nothing, empty where there is."""

    points: tuple[Point, ...]
    version: str = ""
    licence: str = ""
    source: str = ""
    unreadable: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """The points of a benchmark that were in force together, in `rounds`.

    `batch` [samples], `learning_rate` (NaN where not told) have shape (batches,), `samples` a list
    of samples to target for each, one value a seed.
    """

    benchmark: Benchmark
    rounds: tuple[Round, ...]
    batch: Floats
    learning_rate: Floats
    samples: tuple[tuple[float, ...], ...]

    @property
    def name(self) -> str:
        """As workloads are named: ResNet-50 on ImageNet (MLPerf reference)."""
        return f"{self.benchmark.trained} (MLPerf reference)"

    @property
    def told(self) -> str:
        """The rounds in words: 4.0, or 2.0 to 4.0."""
        first, last = (f"{a}.{b}" for a, b in (self.rounds[0], self.rounds[-1]))
        return first if first == last else f"{first} to {last}"


def editions_of(points: Iterable[Point]) -> dict[str, tuple[Edition, ...]]:
    """The usable editions of every benchmark by its name, the latest first, in offered order."""
    known = [(b, p) for p in points if (b := meant(p)) and not b.left_out]
    by_key: dict[str, list[tuple[Benchmark, Point]]] = {}
    for benchmark, point in sorted(known, key=lambda x: (x[1].round, x[1].batch)):
        by_key.setdefault(benchmark.key, []).append((benchmark, point))
    found = [_editions(pairs) for pairs in by_key.values()]
    found.sort(key=lambda e: -max(x.batch.size for x in e))
    return {e[0].name: e for e in found}


def comparison_of(edition: Edition) -> Comparison:
    """The law through the medians over seeds, as one curve to compare or show."""
    one = edition.benchmark
    counts = [len(s) for s in edition.samples]
    seed_batch = np.repeat(edition.batch, counts)
    samples = np.concatenate([np.asarray(s) for s in edition.samples])
    medians = group_medians(np.repeat(np.arange(edition.batch.size), counts), samples)
    curve = OptimizerCurve(
        optimizer=one.optimizer or NO_OPTIMIZER,
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


def mended(values: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """A list without the values that are slips, and those: `SLIP` times its median or more."""
    known = np.asarray(values, dtype=np.float64)
    usual = float(np.median(known)) if known.size else 0.0
    slip = np.isfinite(known) & (usual > 0.0) & (known >= SLIP * usual)
    return tuple(known[~slip].tolist()), tuple(known[slip].tolist())


def meant(point: Point) -> Benchmark | None:
    """The benchmark a point is of; None for one that is not known here."""
    return benchmark_of(point.suite, point.benchmark, point.round)


def _per_unit(benchmark: Benchmark, point: Point) -> float:
    """Samples in one unit of a list."""
    if point.in_samples:
        return 1.0
    return float(point.batch) if benchmark.per_unit is None else benchmark.per_unit


def samples_of(benchmark: Benchmark, point: Point) -> tuple[float, ...]:
    """Samples to target, one value a seed, without slips."""
    factor = _per_unit(benchmark, point)
    return tuple(round(v * factor, 3) for v in mended(point.values)[0])


def _editions(pairs: Sequence[tuple[Benchmark, Point]]) -> tuple[Edition, ...]:
    """Rounds one after the other with the same points are one edition; the latest first."""
    sets = []
    for when, members in groupby(pairs, key=lambda x: x[1].round):
        own = list(members)
        samples = {float(p.batch): samples_of(b, p) for b, p in own}
        rates = {float(p.batch): p.learning_rate for _, p in own}
        sets.append((when, own[-1][0], samples, rates))
    found = []
    for samples, same in groupby(sets, key=lambda x: x[2]):
        alike, batches = list(same), sorted(samples)
        found.append(
            Edition(
                benchmark=alike[-1][1],
                rounds=tuple(x[0] for x in alike),
                batch=np.array(batches),
                learning_rate=np.array([alike[-1][3][b] for b in batches]),
                samples=tuple(samples[b] for b in batches),
            )
        )
    return tuple(reversed(found))


def _law(batch: Floats, samples: Floats) -> ConvergenceCurve | Refusal:
    try:
        return fit_convergence(batch, samples)
    except ValueError as problem:  # a file may hold any number: the page stays
        return Refusal(reason=str(problem), measure_next="Look at the package's files.")


def _resolution(edition: Edition, medians: Floats) -> str:
    """How many runs there are, and how coarsely they were evaluated where epochs tell it."""
    runs, one = sum(map(len, edition.samples)), edition.benchmark
    told = f"{runs:,} reference runs at {edition.batch.size} batch sizes"
    per_epoch = one.per_unit or 0.0
    whole = all(float(v / per_epoch).is_integer() for s in edition.samples for v in s
                if np.isfinite(v)) if one.unit == "epochs" and per_epoch else False  # fmt: skip
    known = medians[np.isfinite(medians)]
    if not whole or not known.size:
        return f"{told}."
    coarse = 100.0 * per_epoch / np.array([known.max(), known.min()])
    return (
        f"{told}, told in whole epochs: each is {coarse[0]:.2g} to {coarse[1]:.2g} % of the steps."
    )
