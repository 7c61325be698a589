"""Questions on published series: more devices, a batch left out, twice the largest batch.

Hidden points are of the same series as shown ones. Device counts are predicted as step times, from
fits on the smaller half of the counts; batches are predicted as speeds.

A series over device counts is one workload on one kind of accelerator. Its rows state the same
source, page, model, length, image size, precision, software, accelerator and memory. Speeds are
samples/s of all devices together. For MLPerf they are samples to target over time to target,
including evaluations. The batch per device is the micro-batch if stated, else the global batch over
the devices.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from backtest.data.cases import TASKS, MeasuredCurve, cases_of, curves_of
from backtest.published.described import DescribedAnswer, answer_of
from backtest.questions.batch import may_answer
from backtest.questions.devices import Runs
from backtest.questions.methods import corrected_line
from planner.core import Refusal
from planner.published import LEAST_BERT_SAMPLES, PublishedRow
from planner.scaling import fit_scaling
from planner.time_to_target import benchmark_of

NODE: Final = 8
"""Devices of a node if a row states none."""
TOKENS: Final = 2048
"""Tokens of a sample if a row states none."""
SCATTERED: Final = "the other batches scatter, or are too few or too far away"
"""Why a hidden batch is refused."""
SAMPLES: Final = "samples/s"
_AT_STOP: Final = re.compile(r"epoch_num at stop ([\d.]+(?:e[+-]?\d+)?)")
_MLPERF: Final = re.compile(r"training_results_v(\d+)\.(\d+)")
_KEY: Final = re.compile(r"\(MLPerf (\w+)\)")
_SETTING: Final = re.compile(r"\w+=\S+")
"""A setting of the host, such as cpu=8, that does not affect the workload."""
_A_SECOND: Final = re.compile(r"/ ?s\b|/ ?sec|per s|a second|\brate\b")
_LANGUAGE: Final = frozenset({"decoder", "moe"})
_SECONDS: Final = 3600.0
_TERA: Final = 1e12
_PER_PARAMETER: Final = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSeries:
    """Runs of one workload over device counts; rows of one `benchmark` are left out together."""

    name: str
    source: str
    benchmark: str
    language: bool
    runs: Runs


def series_of(rows: Sequence[PublishedRow], counts: int = 3) -> list[MeasuredSeries]:
    """Return the series with at least `counts` different device counts, in the order of the rows.

    Rows without a speed or a device count are skipped. So are MLPerf's open division, whose rules
    differ from row to row, and its Minigo, whose speed is not that of training steps.
    """
    units = _logged_units(rows)
    grouped: dict[tuple[str, ...], list[tuple[PublishedRow, float]]] = defaultdict(list)
    for row in rows:
        if (speed := _speed(row, units)) is not None:
            grouped[_key(row, speed[1])].append((row, speed[0]))
    made = [_series(key, members) for key, members in grouped.items()]
    return [series for series in made if np.unique(series.runs.devices).size >= counts]


def _series(key: tuple[str, ...], members: Sequence[tuple[PublishedRow, float]]) -> MeasuredSeries:
    """Return one series of median repeats; rows without a batch count only if none has one."""
    batched = [(row, speed, b) for row, speed in members if (b := _batch(row))]
    usable = batched or [(row, speed, 1.0) for row, speed in members]
    places: dict[tuple[float, float, float], list[float]] = defaultdict(list)
    for row, speed, batch in usable:
        devices = float(row.n_accelerators or 1)
        nodes = min(float(row.nodes or -(-devices // NODE)), devices)
        places[devices, nodes, batch].append(batch * devices / speed)
    devices, nodes, batch = np.array(sorted(places)).T
    step_s = np.array([float(np.median(places[place])) for place in sorted(places)])
    first = members[0][0]
    return MeasuredSeries(
        name=_words(key),
        source=source_of(first),
        benchmark=_benchmark(first),
        language=(first.family or "") in _LANGUAGE,
        runs=Runs(
            batch=batch, devices=devices, nodes=nodes, step_s=step_s,
            compute_s=np.full(step_s.shape, np.nan),
        ),
    )  # fmt: skip


def batch_curves(rows: Sequence[PublishedRow]) -> dict[str, list[MeasuredCurve]]:
    """Return step times [s] over the global batch of one workload and device count, by source.

    Rows need a batch and a speed in a unit shared by the curve. MLPerf's times to target are left
    out, as their recipes change with the batch.
    """
    points: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        batch = _global_batch(row)
        speed = None if _round(row) is not None or not batch else _stated(row)
        if batch and speed is not None:
            key = (*_key(row, speed[1]), f"x{row.n_accelerators}")
            points[source_of(row)][_words(key)].append((batch, batch / speed[0]))
    curves = {source: curves_of(of, 3) for source, of in points.items()}
    return {source: kept for source, kept in curves.items() if kept}


def source_of(row: PublishedRow) -> str:
    """Return the table of a row."""
    return row.source_id or row.file


def _global_batch(row: PublishedRow) -> float | None:
    """Return the samples per step over all devices."""
    if row.global_batch:
        return float(row.global_batch)
    return float(row.micro_batch * (row.n_accelerators or 1)) if row.micro_batch else None


def _stated(row: PublishedRow) -> tuple[float, str] | None:
    """Return a speed and its unit; for one device if the row states no count."""
    speed = _speed(replace(row, n_accelerators=row.n_accelerators or 1), {})
    if speed is not None:
        return speed
    unit = (row.throughput_unit or "").casefold()
    if row.throughput_value and _A_SECOND.search(unit):
        return row.throughput_value, unit
    return None


def _words(key: Sequence[str]) -> str:
    return " ".join(part for part in key if part)


def _key(row: PublishedRow, measure: str) -> tuple[str, ...]:
    """Return what the rows of a series share; for MLPerf the submitter, else page and section."""
    path, section = row.path or "", (row.note or "").split(";")[0]
    if _SETTING.fullmatch(section):
        section = ""
    if _round(row) is not None:
        path, section = path.split("/results/")[0], ""
    parts = (
        row.source_id, row.repo_or_page, path, section, row.model, row.seq_len, row.image_px,
        row.precision, row.framework, row.accelerator, row.accelerator_memory_gb, measure,
    )  # fmt: skip
    return tuple("" if part is None else str(part) for part in parts)


def _benchmark(row: PublishedRow) -> str:
    return f"MLPerf {key}" if (key := _mlperf_key(row)) else row.source_id or row.file


def _batch(row: PublishedRow) -> float | None:
    """Return the samples per step of one device."""
    if row.micro_batch:
        return float(row.micro_batch)
    if row.global_batch and row.n_accelerators:
        return row.global_batch / row.n_accelerators
    return None


def _speed(row: PublishedRow, units: Mapping[str, float]) -> tuple[float, str] | None:
    """Return samples/s of all devices and the measured quantity; None if the row has neither."""
    devices = row.n_accelerators
    if not devices:
        return None
    if _round(row) is not None:
        speed = _mlperf_speed(row, units)
        return None if speed is None else (speed, SAMPLES)
    return next(_speeds(row, devices), None)


def _speeds(row: PublishedRow, devices: int) -> Iterator[tuple[float, str]]:
    """Yield the speeds that a row states, the most direct first."""
    length = row.seq_len or TOKENS
    if row.samples_per_s_total:
        yield row.samples_per_s_total, SAMPLES
    if row.tokens_per_s_per_device:
        yield row.tokens_per_s_per_device * devices / length, "tokens/s"
    if row.step_time_s and row.global_batch:
        yield row.global_batch / row.step_time_s, "step time"
    if row.model_tflops_per_device and (params := row.active_params or row.params):
        operations = row.model_tflops_per_device * _TERA * devices
        yield operations / (_PER_PARAMETER * params * length), "FLOP/s"


# -- MLPerf ------------------------------------------------------------------------------------


def _round(row: PublishedRow) -> tuple[int, int] | None:
    match = _MLPERF.search(row.repo_or_page or "")
    return None if match is None else (int(match.group(1)), int(match.group(2)))


def _mlperf_key(row: PublishedRow) -> str:
    match = _KEY.search(row.model or "")
    return match.group(1) if match else ""


def _at_stop(row: PublishedRow) -> float | None:
    """Return the epochs, samples or tokens at the target, in the benchmark's unit."""
    match = _AT_STOP.search(row.note or "")
    least = LEAST_BERT_SAMPLES if _mlperf_key(row) == "bert" else 0.0
    return float(match.group(1)) if match and float(match.group(1)) > least else None


def _mlperf_speed(row: PublishedRow, units: Mapping[str, float]) -> float | None:
    if "division open" in (row.note or "") or _mlperf_key(row) == "minigo":
        return None
    samples, hours = (_at_stop(row) or 0.0) * (_unit(row, units) or 0.0), row.time_to_train_h
    if hours and samples > (row.global_batch or 0):  # fewer: the log counts something else
        return samples / (hours * _SECONDS)
    return row.samples_per_s_total


def _unit(row: PublishedRow, units: Mapping[str, float]) -> float | None:
    """Return the samples per counted unit, from the benchmark's rules or logs."""
    key, when = _mlperf_key(row), _round(row) or (0, 0)
    benchmark = benchmark_of("training", key, when)
    if benchmark is not None and benchmark.per_unit and not benchmark.left_out:
        return benchmark.per_unit
    return units.get(key)


def _logged_units(rows: Sequence[PublishedRow]) -> dict[str, float]:
    """Return samples per counted unit by benchmark, from logs with both speed and count."""
    units: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        stopped, hours = _at_stop(row), row.time_to_train_h
        if _round(row) is not None and stopped and hours and row.samples_per_s_total:
            logged = row.samples_per_s_total * hours * _SECONDS / stopped
            units[_mlperf_key(row)].append(logged)
    return {key: float(np.median(values)) for key, values in units.items()}


LEFT_OUT: Final = "one batch left out between others"
TWICE: Final = "twice the largest"


def device_scaling(rows: Sequence[PublishedRow]) -> list[DescribedAnswer]:
    """Return step times [s] on the larger half of each series' counts, from the smaller half."""
    return [answer for series in series_of(rows) for answer in _of_series(series)]


def _of_series(series: MeasuredSeries) -> Iterator[DescribedAnswer]:
    """Yield the answers of one series."""
    shown, hidden = halves(series.runs)
    try:
        curve = fit_scaling(shown.batch, shown.devices, shown.nodes, shown.step_s)
    except ValueError as problem:  # a table may hold any number
        curve = Refusal(reason=str(problem), measure_next="")
    for batch, devices, nodes, step_s in zip(
        hidden.batch, hidden.devices, hidden.nodes, hidden.step_s, strict=True
    ):
        estimate = curve if isinstance(curve, Refusal) else curve.step_time(batch, devices, nodes)
        name = f"{series.name}, {devices:g} devices"
        yield answer_of((series.source, name), float(step_s), estimate)


def halves(runs: Runs) -> tuple[Runs, Runs]:
    """Return the runs on the smaller and on the larger half of the device counts.

    The middle of an odd number of counts is in the smaller half.
    """
    counts = np.unique(runs.devices)
    is_shown = runs.devices <= counts[-(-counts.size // 2) - 1]
    return runs.only(is_shown), runs.only(~is_shown)


def batch_left_out(rows: Sequence[PublishedRow]) -> list[DescribedAnswer]:
    """Return the speeds at each batch between others, from all others of its curve [samples/s]."""
    return _of_curves(rows, LEFT_OUT)


def batch_twice(rows: Sequence[PublishedRow]) -> list[DescribedAnswer]:
    """Return the speeds at the largest batch from those at most half of it [samples/s]."""
    return _of_curves(rows, TWICE)


def _of_curves(rows: Sequence[PublishedRow], task: str) -> list[DescribedAnswer]:
    answers = []
    for source, curves in batch_curves(rows).items():
        cases = cases_of(curves, TASKS[task])
        if not cases.hidden_batch.size:
            continue
        prediction, answered = corrected_line(cases), may_answer(cases)
        for i, batch in enumerate(cases.hidden_batch.tolist()):
            name = f"{curves[int(cases.hidden_curve[i])].name}, batch {batch:g}"
            truth = batch / float(cases.hidden_value[i])
            if not answered[i]:
                answers.append(
                    DescribedAnswer(source=source, name=name, truth=truth, why=SCATTERED)
                )
                continue
            value, low, high = (
                batch / float(part[i])
                for part in (prediction.value, prediction.high, prediction.low)
            )
            answers.append(
                DescribedAnswer(
                    source=source, name=name, truth=truth, value=value, low=low, high=high
                )
            )
    return answers
