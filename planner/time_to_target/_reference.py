"""MLPerf's reference convergence points: read, as workloads with a law each, and in rows.

`mlperf-logging` has them as JSON beside its code. Only the files are read, since importing the code
is slow (docs/decisions/0016-mlperf-reference-points.md).

A reference point is a batch size, a recipe and a list with one number per seed; submitters tuned
the recipe for that batch size. The points of a benchmark are steps to its target by batch size:

    steps = epochs*samples of the data set/batch = samples/batch = tokens/2,048/batch

The unit depends on the benchmark, although nearly every list is called "Epochs to converge".
`benchmarks.csv` states unit, model, data set and target. Sources:

    unit                    the size of the numbers, and the package's reader of training logs
    optimiser               the recipe of the point, else the rules for closed submissions
    target                  the package's rules for closed submissions
    data set                mlcommons.org/benchmarks/training, table of benchmarks
    samples (ImageNet)      ILSVRC 2012, training images
    samples (COCO)          COCO 2017, training images with at least one box
    samples (OpenImages)    as logged by MLPerf submissions (batch x steps an epoch)
    samples (KiTS19, CAM5)  the package's rules for closed submissions (`train_samples`)
    samples (Criteo)        rows of days 0 to 22, as the reference implementation counts them

Where these do not state an epoch's samples, or the unit is uncertain, `left_out` says why the
points are not used. Lists are repeated from round to round and under new names. `editions_of`
returns each set of lists of a benchmark that was in force, with its rounds. `point_rows` lists
every list and its use.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from planner.convergence import ConvergenceCurve, fit_convergence, group_medians
from planner.core import (
    Floats,
    Record,
    Refusal,
    Text,
    joined,
    message_of,
    plural,
    shipped_rows,
    texts_in,
)
from planner.runs import NO_OPTIMIZER
from planner.time_to_target.goodput import OptimizerComparison, OptimizerCurve
from planner.time_to_target.sentences import TargetWords

Unit = Literal["epochs", "samples", "tokens", "steps"]
Round = tuple[int, int]
"""A round of submissions: (4, 1) is 4.1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One benchmark of a suite ("training" or "hpc"), with its names in the files.

    `names` hold from round `first` to round `last`. `per_unit` is the samples in one unit, None for
    steps (the batch) and where unknown. `left_out` is the reason why its points are not used, empty
    where they are.
    """

    key: str
    names: tuple[str, ...]
    model: str
    target: str
    unit: Unit
    dataset: str | None = None
    optimizer: str | None = None
    per_unit: float | None = None
    suite: str = "training"
    first: Round = (0, 0)
    last: Round = (99, 0)
    left_out: str = ""

    @property
    def trained(self) -> str:
        """Model and data set in words."""
        return " on ".join(p for p in (self.model, self.dataset) if p)


def _round(cell: str) -> Round:
    first, second = cell.split(".")
    return int(first), int(second)


def benchmark_of(suite: str, name: str, when: Round) -> Benchmark | None:
    """Return the benchmark called `name` in the files of a round; None if unknown."""
    matches = (b for b in BENCHMARKS if b.suite == suite and name in b.names)
    return next((b for b in matches if b.first <= when <= b.last), None)


BENCHMARKS: Final = tuple(
    Benchmark(**row)
    for row in shipped_rows(
        __package__, "benchmarks.csv", names=texts_in, first=_round, last=_round, per_unit=float
    )
)
"""Every benchmark that has reference points, in the order they are offered."""


SLIP: Final = 5.0
"""A value this many times the median of its list is an error: all others are below 1.9 times."""
CAUTION: Final = (
    "Reference points of MLPerf Training and HPC. Submitters tuned a recipe at every batch size, "
    "so this is the best that was found, not a grid of learning rates. Laws fitted to them are "
    "ours and not verified by MLCommons."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceList:
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

    points: tuple[ReferenceList, ...]
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
        return Text("{trained} (MLPerf reference)", trained=self.benchmark.trained)

    @property
    def rounds_text(self) -> str:
        """The rounds in words: 4.0, or 2.0 to 4.0."""
        first, last = (f"{a}.{b}" for a, b in (self.rounds[0], self.rounds[-1]))
        return first if first == last else f"{first} to {last}"


def editions_of(points: Iterable[ReferenceList]) -> dict[str, tuple[Edition, ...]]:
    """Return usable editions of every benchmark by its name, the latest first, in offered order."""
    usable = [(b, p) for p in points if (b := benchmark_for(p)) and not b.left_out]
    by_key: dict[str, list[tuple[Benchmark, ReferenceList]]] = {}
    for benchmark, point in sorted(usable, key=lambda x: (x[1].round, x[1].batch)):
        by_key.setdefault(benchmark.key, []).append((benchmark, point))
    editions = [_editions(pairs) for pairs in by_key.values()]
    editions.sort(key=lambda e: -max(x.batch.size for x in e))
    return {e[0].name: e for e in editions}


def comparison_of(edition: Edition) -> OptimizerComparison:
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
    return OptimizerComparison(
        target=np.nan, curves=(curve,), reached=_resolution(edition, medians)
    )


def split_errors(values: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return a list without erroneous values, and these: `SLIP` times its median or more."""
    array = np.asarray(values, dtype=np.float64)
    usual = float(np.median(array)) if array.size else 0.0
    slip = np.isfinite(array) & (usual > 0.0) & (array >= SLIP * usual)
    return tuple(array[~slip].tolist()), tuple(array[slip].tolist())


def benchmark_for(point: ReferenceList) -> Benchmark | None:
    """Return the benchmark of a point; None for an unknown one."""
    return benchmark_of(point.suite, point.benchmark, point.round)


def _per_unit(benchmark: Benchmark, point: ReferenceList) -> float:
    if point.in_samples:
        return 1.0
    return float(point.batch) if benchmark.per_unit is None else benchmark.per_unit


def samples_of(benchmark: Benchmark, point: ReferenceList) -> tuple[float, ...]:
    """Return samples to target, one value per seed, without erroneous ones."""
    factor = _per_unit(benchmark, point)
    return tuple(round(v * factor, 3) for v in split_errors(point.values)[0])


def _editions(pairs: Sequence[tuple[Benchmark, ReferenceList]]) -> tuple[Edition, ...]:
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
        return Refusal(reason=message_of(problem), measure_next="Check the package's files.")


def _resolution(edition: Edition, medians: Floats) -> str:
    """Return the count of runs, and the resolution of lists in whole epochs, in words."""
    runs, benchmark = sum(map(len, edition.samples)), edition.benchmark
    lead = Text("{runs:,} reference runs at {size} batch sizes", runs=runs, size=edition.batch.size)
    per_epoch = benchmark.per_unit or 0.0
    in_epochs = benchmark.unit == "epochs" and per_epoch > 0.0
    whole = in_epochs and all(
        float(v / per_epoch).is_integer() for s in edition.samples for v in s if np.isfinite(v)
    )
    finite = medians[np.isfinite(medians)]
    if not whole or not finite.size:
        return Text("{lead}.", lead=lead)
    coarse = 100.0 * per_epoch / np.array([finite.max(), finite.min()])
    return Text(
        "{lead}, stated in whole epochs: each is {low:.2g} to {high:.2g} % of the steps.",
        lead=lead,
        low=coarse[0],
        high=coarse[1],
    )


PACKAGE: Final = "mlperf-logging"
MISSING: Final = Text(
    "MLPerf's reference convergence points are unavailable: the package {package} "
    "is not installed. Run pip install {package}.",
    package=PACKAGE,
)
_FOLDER: Final = re.compile(r"(training|hpc)_(\d+)\.(\d+)\.\d+")
_LISTS: Final = ("Epochs to converge", "samples to converge")
_MOST_BYTES: Final = 1_000_000
"""A file of points has 2 to 10 kB; a larger one is not such a file."""


@cache
def read_points(package: str = PACKAGE) -> ReferencePoints:
    """Return all points of the installed package; none, with the reason, without it."""
    try:
        installed = metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return ReferencePoints(points=(), problem=MISSING)
    place = Path(str(installed.locate_file("mlperf_logging/rcp_checker")))
    about = installed.metadata
    return _read(place, installed.version, about["License"] or "", about["Home-page"] or "")


def _read(place: Path, version: str, licence: str, source: str) -> ReferencePoints:
    points: list[ReferenceList] = []
    unreadable: list[str] = []
    for path in sorted(place.glob("*/rcps_*.json")):
        try:
            points += _points(path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
            unreadable.append(f"{path.parent.name}/{path.name}: {fault}")
    problem = (
        ""
        if points
        else Text(
            "{package} {version} has no reference convergence points.",
            package=PACKAGE,
            version=version,
        )
    )
    return ReferencePoints(
        points=tuple(points),
        version=version,
        licence=licence,
        source=source,
        unreadable=tuple(unreadable),
        problem=problem,
    )


def _points(path: Path) -> list[ReferenceList]:
    """Return the points of one file; its folder names suite and round."""
    folder = _FOLDER.fullmatch(path.parent.name)
    if folder is None:
        raise ValueError("its folder does not name a suite and round")
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError("it is too large for a list of points")
    records: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    suite, when = folder[1], (int(folder[2]), int(folder[3]))
    return [_point(suite, when, record) for record in records.values()]


def _point(suite: str, when: tuple[int, int], record: dict[str, Any]) -> ReferenceList:
    name = _LISTS[_LISTS[0] not in record]
    recipe = record.get("Hyperparams") or {}
    values = tuple(float("inf") if v is None else float(v) for v in record[name])
    if not values:
        raise ValueError("a list has no value")
    rate = recipe.get("opt_base_learning_rate", recipe.get("opt_lr"))
    return ReferenceList(
        suite=suite,
        round=when,
        benchmark=str(record["Benchmark"]),
        batch=int(record["BS"]),
        values=values,
        in_samples=name == _LISTS[1],
        learning_rate=float("nan") if rate is None else float(rate),
        precision=str(record.get("Precision") or ""),
    )


UNKNOWN: Final = "unknown benchmark: unit and target are missing"


def goal_of_reference(edition: Edition) -> TargetWords:
    """Return model, data set and target of an edition, for sentences."""
    when = Text("MLPerf reference points, round {rounds_text}", rounds_text=edition.rounds_text)
    return TargetWords(
        trained=edition.benchmark.trained, target=f"{edition.benchmark.target} ({when})"
    )


def point_rows(points: Iterable[ReferenceList]) -> list[Record]:
    """Return every different list once: its rounds, unit, median and use."""
    points = tuple(points)
    latest = {
        (e[0].benchmark.key, float(b), s)
        for e in editions_of(points).values()
        for b, s in zip(e[0].batch, e[0].samples, strict=True)
    }
    return [_row(members, latest) for members in _different(points)]


def summary_of(points: Sequence[ReferenceList]) -> str:
    """Return how many lists there are, are repeats, corrected or left out, in words."""
    rows = point_rows(points)
    parts: list[str] = [
        Text(
            "{points:,} lists are in the package's files; {repeats:,} repeat another "
            "list of the same benchmark, so {rows:,} differ",
            points=len(points),
            repeats=len(points) - len(rows),
            rows=len(rows),
        )
    ]
    for use, words in (
        ("in the latest round", "{} are in force in the latest round of their benchmark"),
        ("in earlier rounds", "{} were replaced or dropped later"),
        ("left out", "{} cannot be used"),
    ):
        parts.append(words.format(f"{sum(str(r['use']).startswith(use) for r in rows):,}"))
    slips = sum(len(split_errors(p[0].values)[1]) for p in _different(points))
    return plural(
        slips,
        "{parts}; {count} value is corrected.",
        "{parts}; {count} values are corrected.",
        parts="; ".join(parts),
    )


def _different(points: Iterable[ReferenceList]) -> list[list[ReferenceList]]:
    groups: dict[tuple[object, ...], list[ReferenceList]] = {}
    for point in points:
        benchmark = benchmark_for(point)
        key = benchmark.key if benchmark else f"{point.suite} {point.benchmark}"
        unit = benchmark.unit if benchmark else ""
        groups.setdefault((key, point.batch, unit, point.values), []).append(point)
    return [sorted(g, key=lambda p: p.round) for g in groups.values()]


def _row(
    members: Sequence[ReferenceList], latest: set[tuple[str, float, tuple[float, ...]]]
) -> Record:
    first, benchmark = members[0], benchmark_for(members[0])
    suite = "HPC " if first.suite == "hpc" else ""
    row: dict[str, str | float | int | bool | None] = {
        "benchmark": benchmark.trained if benchmark else first.benchmark,
        "named": ", ".join(dict.fromkeys(p.benchmark for p in members)),
        "rounds": f"{suite}{', '.join(f'{p.round[0]}.{p.round[1]}' for p in members)}",
        "global_batch_size": first.batch,
        "unit": ("samples" if first.in_samples else benchmark.unit) if benchmark else None,
        "seeds": len(first.values),
        "median": float(np.median(first.values)),
        "samples_to_target": None,
    }
    if benchmark is None or benchmark.left_out:
        return row | {
            "use": Text(
                "left out: {left_out}", left_out=benchmark.left_out if benchmark else UNKNOWN
            )
        }
    samples = samples_of(benchmark, first)
    row["samples_to_target"] = float(np.median(samples))
    now = (benchmark.key, float(first.batch), samples) in latest
    use = "in the latest round" if now else "in earlier rounds: replaced or dropped later"
    return row | {"use": joined("; ", (use, _corrections(first)))}


def _corrections(point: ReferenceList) -> str:
    slips = split_errors(point.values)[1]
    if not slips:
        return ""
    values = ", ".join(f"{v:,.0f}" for v in slips)
    times = slips[0] / float(np.median(point.values))
    return Text(
        "corrected: {values} is {times:.2g} times the median of its list and left out",
        values=values,
        times=times,
    )
