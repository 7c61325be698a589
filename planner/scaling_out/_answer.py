"""Do more devices pay? Steps, speed-ups, crossovers, totals and uneven workers of a series.

    speed-up        v(n)/v(m) of throughputs, m the smallest measured device count
    efficiency      speed-up x m/n; a sample costs 1/efficiency times as much. Refused where it is
                    above 1 and one of the steps was not measured at that batch
    total [s]       start-up + epochs x (samples/B) x step
    idle [hours]    n x (start-up + training x (1 - efficiency))/3600: device-hours without work.
                    That is n x (start-up + training) - m x training on m devices, with the interval
                    of this difference

A step is that of `Series.step`: at a count with a line of its own this is weighed with the common
law. So is the crossover, and the parts are those of the lines where one device has one too.

With the global batch held (strong scaling) B is the same at every count, with the batch per device
held (weak scaling) it is n times that. Totals hold the epochs: whether a larger batch needs more of
them is the question of Steps to target. Where a step was measured, it is the answer: the median,
with the interval of one new measurement.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from math import isclose
from statistics import median
from typing import Final, Literal

import numpy as np

from planner.core import HOUR_S, LEVEL, Estimate, Refusal, Text, plain, plural, t_quantile
from planner.fits import SD0, ratio
from planner.scaling import (
    DOF,
    Asynchronous,
    StepParts,
    Workers,
    asynchronous,
    crossover,
    server_limit,
    step_parts,
    synchronous_step_s,
    time_ratio,
    workers,
)
from planner.scaling_out._series import DeviceSeries, Law

LawAt = Callable[[int], Law | Refusal]
"""The law of a series at a device count, made once for an answer (`Series.at`)."""
Hold = Literal["global", "device"]
"""Which batch is the same at every device count: strong or weak scaling."""
USUAL_BATCH: Final = 256
"""Batch of a series that states none [samples]."""
MOST_BATCHES: Final = 4
"""Most batches that are shown without a choice."""
_GRID: Final = 33
_AROUND: Final = 16.0
"""A change of the faster count is looked for at `_GRID` batches, up to this factor around one."""
BYTES: Final = 4.0
"""Bytes of a weight and of its gradient on the way to a parameter server: float32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesQuestion:
    """What is asked of a series; None takes the default.

    `batches` [samples] are global, or per device with `hold` "device". `devices` are further device
    counts. `startup_s` replaces the measured start-up. `deadline_s`, `budget_usd` and
    `price_usd_per_hour` (of one device) choose a count. `slow` is the share of the time that one
    worker is stopped, `spread` the relative sd of a worker's step. `servers` have a link of
    `server_bytes_per_s` each and share `params` weights. `critical_batch` is Bcrit [samples].
    """

    batches: tuple[float, ...] = ()
    hold: Hold | None = None
    devices: tuple[int, ...] = ()
    epochs: int = 1
    samples_per_epoch: float | None = None
    startup_s: float | None = None
    deadline_s: float | None = None
    budget_usd: float | None = None
    price_usd_per_hour: float | None = None
    slow: float = 0.0
    spread: float = 0.0
    servers: int = 1
    server_bytes_per_s: float | None = None
    params: float | None = None
    critical_batch: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """The training at a device count: start-up and total [s], device-hours, idle ones, and cost.

    The start-up has the extra time of the first epoch, and the shortest and the longest of the
    series. Idle device-hours are None where the efficiency is unknown.
    """

    startup: Estimate
    total: Estimate
    device_hours: float
    idle_hours: Estimate | None
    cost_usd: float | None
    idle_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountAnswer:
    """The step at a device count and global `batch` [samples], against the smallest count.

    `held` is the batch that all counts share: global, or per device. `measured_s` are measured
    steps there [s]. `speed` is in samples/s. `parts` is None where the runs do not separate them
    or the step is refused, `total` where the epoch's samples are unknown.
    """

    devices: int
    nodes: int
    batch: float
    held: float
    measured_s: tuple[float, ...]
    step: Estimate | Refusal
    speed: Estimate | Refusal
    speed_up: Estimate | Refusal
    efficiency: Estimate | Refusal
    parts: StepParts | None
    total: Total | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """The global batch [samples] from which `devices` beat `other_devices` of `other`.

    `slower_at` is the largest batch at which measured runs of both show the `devices` slower,
    `faster_at` the smallest above it at which they are faster; None without such runs.
    """

    devices: int
    other: str
    other_devices: int
    is_driver: bool
    batch: Estimate | Refusal
    slower_at: float | None = None
    faster_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """A measured step [s] outside the interval of its fit."""

    row: CountAnswer
    seen_s: float
    fit: Estimate

    @property
    def factor(self) -> float:
        """How far the run and the fit are apart, above 1."""
        ratio = self.seen_s / float(self.fit.value)
        return max(ratio, 1.0 / ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnevenAnswer:
    """Workers with one slow: synchronous and asynchronous training at a device count.

    `slow` and `spread` are those of the question. `is_asynchronous` says how the runs trained.
    `even_step_s` and `step_s` are synchronous steps without and with scatter and the slow worker
    [s]. `least_ratio` and `most_ratio` are the time to a target of asynchronous over synchronous
    training; None without Bcrit.
    """

    devices: int
    batch: float
    even_step_s: float
    step_s: float
    synchronous_samples_per_s: float
    free: Asynchronous
    least_ratio: float | None
    most_ratio: float | None
    slow: float = 0.0
    spread: float = 0.0
    is_asynchronous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesAnswer:
    """The answer about a series; `batches` are the used ones, the last is that of the headline.

    `driver` is another series on fewer processes, with `driver_devices` devices. `best_in_time`
    and `best_in_budget` are the device counts for the deadline and the budget; None where not asked
    or no count meets it.
    """

    series: DeviceSeries
    question: SeriesQuestion
    hold: Hold
    batches: tuple[float, ...]
    rows: tuple[CountAnswer, ...]
    crossings: tuple[Crossing, ...]
    uneven: tuple[UnevenAnswer, ...]
    driver: DeviceSeries | None
    driver_devices: int
    best_in_time: CountAnswer | None
    best_in_budget: CountAnswer | None

    @property
    def standing(self) -> str | None:
        """The standing of the runs: "unofficial" where those of one of both series are."""
        both = (self.series, *([self.driver] if self.driver else []))
        return next((s for x in both if (s := x.runs[0].standing)), None)

    @property
    def shown(self) -> tuple[CountAnswer, ...]:
        """The rows of the headline's batch, fewest devices first."""
        return self.at(self.batches[-1])

    def at(self, batch: float) -> tuple[CountAnswer, ...]:
        """Return the rows of one of the batches, fewest devices first."""
        return tuple(r for r in self.rows if r.held == batch)


def answer_of(
    series: DeviceSeries,
    question: SeriesQuestion,
    driver: DeviceSeries | None = None,
    *,
    is_asynchronous: bool = False,
) -> SeriesAnswer:
    """Return the answer about a series.

    Args:
        series: runs on several device counts.
        question: batches, counts, epochs, limits and workers.
        driver: compared with every device count of the series.
        is_asynchronous: whether workers of these runs do not wait for each other.
    """
    hold = question.hold or ("global" if series.is_published or _common(series) else "device")
    batches = question.batches or _batches(series, hold)
    further = set() if series.is_published else {2 * series.counts[-1]}
    counts = tuple(sorted({*series.counts, *further, *question.devices}))
    law_at: LawAt = cache(series.at)
    rows = tuple(
        row
        for batch in batches
        for row in _rows(series, question, counts, law_at, batch=batch, hold=hold)
    )
    last = [r for r in rows if r.held == batches[-1]]
    tried = [r for r in last if r.devices in (*series.counts, *question.devices)]
    driver_devices = 0 if driver is None else driver.counts[-1]
    return SeriesAnswer(
        series=series,
        question=question,
        hold=hold,
        batches=batches,
        rows=rows,
        crossings=tuple(_crossings(series, driver, counts, law_at)),
        uneven=tuple(
            slow_answer(r, question, is_asynchronous=is_asynchronous)
            for r in last
            if r.devices > 1 and isinstance(r.step, Estimate)
        ),
        driver=driver,
        driver_devices=driver_devices,
        best_in_time=_in_time(tried, question.deadline_s),
        best_in_budget=_in_budget(tried, question.budget_usd),
    )


def _common(series: DeviceSeries) -> list[float]:
    """Return global batches measured at the smallest and at the largest count, rising."""
    first = {p.batch for p in series.points if p.devices == series.counts[0]}
    last = {p.batch for p in series.points if p.devices == series.counts[-1]}
    return sorted(float(b) for b in first & last)


def _batches(series: DeviceSeries, hold: Hold) -> tuple[float, ...]:
    """Return the default batches, rising: at most `MOST_BATCHES`, the largest ones.

    Batches per device are those that were measured on most device counts.
    """
    if series.is_published:
        return (float(USUAL_BATCH),)
    if hold == "global":
        common = _common(series) or [float(series.points[-1].batch)]
        return tuple(common[-MOST_BATCHES:])
    counts: dict[float, set[int]] = {}
    for point in series.points:
        counts.setdefault(point.batch / point.devices, set()).add(point.devices)
    most = max(len(devices) for devices in counts.values())
    return tuple(sorted(b for b, devices in counts.items() if len(devices) == most)[-MOST_BATCHES:])


def _rows(
    series: DeviceSeries,
    question: SeriesQuestion,
    counts: tuple[int, ...],
    law_at: LawAt,
    *,
    batch: float,
    hold: Hold,
) -> list[CountAnswer]:
    rows: list[CountAnswer] = []
    first = _together(batch, series.base, hold)
    alone = _step(series, first, series.base)
    base = _speed(alone, first)
    seen = bool(_measured_steps(series, first, series.base)) or series.is_published
    contradiction = _contradiction(series, batch, hold)
    for devices in counts:
        together = _together(batch, devices, hold)
        measured_s = _measured_steps(series, together, devices)
        step = _step(series, together, devices)
        if devices > series.counts[-1] and devices not in question.devices:
            step = contradiction or _turned(series, step, together, batch=batch, hold=hold)
        speed = _speed(step, together)
        up = _speed_up(speed, base, same=devices == series.base)
        if not (seen and measured_s) and _beyond_perfect(up, devices / series.base):
            missing, there = (devices, together) if seen else (series.base, first)
            up = _more_than_perfect(missing, there / missing)
        row = CountAnswer(
            devices=devices,
            nodes=series.nodes_for(devices),
            batch=together,
            held=batch,
            measured_s=measured_s,
            step=step,
            speed=speed,
            speed_up=up,
            efficiency=up if isinstance(up, Refusal) else up.scaled(series.base / devices),
            parts=None if isinstance(step, Refusal) else _parts(series, law_at, together, devices),
            total=None,
        )
        rows.append(replace(row, total=_total(series, question, row, alone, first)))
    return rows


def _together(batch: float, devices: int, hold: Hold) -> float:
    """Return the global batch at a device count [samples]."""
    return batch if hold == "global" else batch * devices


def _measured_steps(series: DeviceSeries, together: float, devices: int) -> tuple[float, ...]:
    """Return the measured steps at a device count and global batch [s]."""
    return tuple(
        p.step_s
        for p in series.points
        if p.devices == devices and isclose(p.batch, together)  # 10/3 x 3 is not always 10
    )


def _step(series: DeviceSeries, together: float, devices: int) -> Estimate | Refusal:
    """Return the measured step [s] where there is one, else the fitted one."""
    measured_s = _measured_steps(series, together, devices)
    return _measured(measured_s) if measured_s else series.step(together, devices)


def _contradiction(series: DeviceSeries, batch: float, hold: Hold) -> Refusal | None:
    """Return why the common law does not reach above the counts: it misses the largest of them.

    None where the measured step is within the interval of that law, or where there is none.
    """
    most = series.counts[-1]
    together = _together(batch, most, hold)
    measured_s = _measured_steps(series, together, most)
    fit = _missed_by(series.common_step(together, most), measured_s) if measured_s else None
    if fit is None:
        return None
    seen = median(measured_s)
    return Refusal(
        reason=Text(
            "The law of all counts contradicts the run on {most:,} devices: {fit} s, "
            "measured {seen} s.",
            most=most,
            fit=plain(float(fit.value), 3),
            seen=plain(seen, 3),
        ),
        measure_next="Measure more devices.",
    )


def _turned(
    series: DeviceSeries, step: Estimate | Refusal, together: float, *, batch: float, hold: Hold
) -> Estimate | Refusal:
    """Return a step beyond the counts; why there is none where a sample takes ever longer there.

    A law from the largest count alone does not know that the last devices added did not pay.
    """
    if len(series.counts) < 2 or isinstance(step, Refusal) or step.basis != "similar workload":
        return step
    before, most = series.counts[-2:]
    shared = {n: _together(batch, n, hold) for n in (most, before)}
    seen, earlier = ([s / of for s in _measured_steps(series, of, n)] for n, of in shared.items())
    if not (seen and earlier) or median(seen) <= median(earlier):
        return step
    if float(step.value) / together >= median(seen):
        return step
    return Refusal(
        reason=Text(
            "A sample takes longer on {most:,} devices than on {before:,}, which the law of more "
            "devices does not describe.",
            most=most,
            before=before,
        ),
        measure_next="Measure more devices.",
    )


def _missed_by(fit: Estimate | Refusal, measured_s: tuple[float, ...]) -> Estimate | None:
    """Return the fitted step [s] whose interval the median of measured ones is outside of."""
    if not isinstance(fit, Estimate) or not np.isfinite([float(fit.low), float(fit.high)]).all():
        return None
    return None if float(fit.low) <= median(measured_s) <= float(fit.high) else fit


def outside(answer: SeriesAnswer) -> tuple[Outside, ...]:
    """Return the measured steps that their fit misses, the farthest first."""
    missed = [
        Outside(row=row, seen_s=median(row.measured_s), fit=fit)
        for row in answer.rows
        if row.measured_s
        and (fit := _missed_by(answer.series.step(row.batch, row.devices), row.measured_s))
    ]
    return tuple(sorted(missed, key=lambda o: -o.factor))


def _measured(steps_s: tuple[float, ...]) -> Estimate:
    """Return the median of measured steps [s], with the interval of one new measurement."""
    value, q = median(steps_s), float(t_quantile(LEVEL, DOF) * SD0)
    return Estimate(
        value=value, low=value * np.exp(-q), high=value * np.exp(q), level=LEVEL, basis="measured"
    )


def _speed(step: Estimate | Refusal, batch: float) -> Estimate | Refusal:
    if isinstance(step, Refusal):
        return step
    value, low, high = step.ends
    return replace(step, value=batch / value, low=batch / high, high=batch / low)


def _speed_up(
    speed: Estimate | Refusal, base: Estimate | Refusal, *, same: bool
) -> Estimate | Refusal:
    """Return v(n)/v(m); exactly 1 for the smallest count itself."""
    if isinstance(speed, Refusal):
        return speed
    if isinstance(base, Refusal):
        return base
    if same:
        return replace(speed, value=1.0, low=1.0, high=1.0, reasons=())
    if not np.isfinite(float(speed.low)) or not np.isfinite(float(base.low)):
        by = float(speed.value) / float(base.value)
        return replace(speed, value=by, low=np.nan, high=np.nan)
    return replace(ratio(speed, base), reasons=speed.reasons)


def _beyond_perfect(up: Estimate | Refusal, perfect: float) -> bool:
    """Return whether a speed-up is above a perfect one by more than two measurements differ."""
    apart = np.exp(t_quantile(LEVEL, DOF) * np.sqrt(2.0) * SD0)
    return isinstance(up, Estimate) and bool(float(up.value) > perfect * apart)


def _more_than_perfect(devices: int, batch: float) -> Refusal:
    """Return why there is no speed-up: one of its steps is an estimate that cannot be right."""
    return Refusal(
        reason=plural(
            devices,
            "{count:,} device was not measured at batch {batch} per device, and with its estimated "
            "step the speed-up is more than perfect.",
            "{count:,} devices were not measured at batch {batch} per device, and with their "
            "estimated step the speed-up is more than perfect.",
            batch=plain(batch),
        ),
        measure_next=Text("Measure batch {batch} per device there.", batch=plain(batch)),
    )


def _parts(series: DeviceSeries, law_at: LawAt, batch: float, devices: int) -> StepParts | None:
    """Return the parts of a fitted step, by lines of their own where one device has one too."""

    def line_at(count: int) -> Law | Refusal:
        own = series.own(count) if series.own(1) is not None else None
        return law_at(count) if own is None else own

    law = line_at(devices)
    if isinstance(law, Refusal):
        return None
    alone = line_at(1) if 1 in series.counts and devices > 1 else None
    own = np.nan
    if alone is not None and not isinstance(alone, Refusal):
        first = step_parts(alone, batch)
        own = np.nan if first is None else first.overhead_s
    parts, step = step_parts(law, batch, own), series.step(batch, devices)
    return parts if parts is None or isinstance(step, Refusal) else parts.of(float(step.value))


def _total(
    series: DeviceSeries,
    question: SeriesQuestion,
    row: CountAnswer,
    alone: Estimate | Refusal,
    first: float,
) -> Total | None:
    """Return the training of a row; `alone` is the step of the smallest count at batch `first`."""
    samples = question.samples_per_epoch
    if samples is None or isinstance(row.step, Refusal):
        return None
    start = _start(series, question, row.devices)
    work = question.epochs * samples
    training = row.step.scaled(work / row.batch)
    hours = row.devices * (float(training.value) + start[0]) / HOUR_S
    idle = None
    if isinstance(row.efficiency, Estimate) and isinstance(alone, Estimate):
        waits = idle_device_s((row.devices, training), (series.base, alone.scaled(work / first)))
        shared = tuple(row.devices * s for s in start)
        idle = later(waits, *shared).scaled(1.0 / HOUR_S)
    price = question.price_usd_per_hour
    return Total(
        startup=Estimate(value=start[0], low=start[1], high=start[2]),
        total=later(training, *start),
        device_hours=hours,
        idle_hours=idle,
        cost_usd=None if price is None else hours * price,
        idle_usd=None if price is None or idle is None else float(idle.value) * price,
    )


def _start(
    series: DeviceSeries, question: SeriesQuestion, devices: int
) -> tuple[float, float, float]:
    """Return the start-up of a count and its ends [s]; without uncertainty where it is given."""
    if question.startup_s is not None:
        return (question.startup_s,) * 3
    return series.startup(devices) or (0.0, 0.0, 0.0)


def later(time: Estimate, start_s: float, least_s: float, most_s: float) -> Estimate:
    """Return a time [s] after a start-up between two ends."""
    value, low, high = time.ends
    return replace(time, value=value + start_s, low=low + least_s, high=high + most_s)


def idle_device_s(many: tuple[int, Estimate], few: tuple[int, Estimate]) -> Estimate:
    """Return the device-seconds that `many` devices take more than `few`, at least 0.

    Each is a count and its time [s] for the same work; their uncertainties are independent.
    """
    (n, (value, low, high)), (m, (least, shortest, longest)) = (
        (count, time.ends) for count, time in (many, few)
    )
    if n == m:
        return replace(many[1], value=0.0, low=0.0, high=0.0)
    more = n * value - m * least
    below = np.hypot(n * (value - low), m * (longest - least))
    above = np.hypot(n * (high - value), m * (least - shortest))
    ends = [max(float(x), 0.0) for x in (more, more - below, more + above)]
    return replace(many[1], value=ends[0], low=ends[1], high=ends[2])


def _in_time(rows: list[CountAnswer], deadline_s: float | None) -> CountAnswer | None:
    """Return the fewest devices whose total is within the deadline, upper end included.

    A published law has no interval: there the total itself is compared.
    """
    if deadline_s is None:
        return None
    return next((r for r in rows if r.total and _latest(r.total.total) <= deadline_s), None)


def _latest(total: Estimate) -> float:
    """Return the upper end of a total [s], the total itself where it has no interval."""
    return float(total.high) if np.isfinite(float(total.high)) else float(total.value)


def _in_budget(rows: list[CountAnswer], budget_usd: float | None) -> CountAnswer | None:
    """Return the fastest count whose cost is within the budget."""
    if budget_usd is None:
        return None
    paid = [r for r in rows if r.total and r.total.cost_usd is not None
            and r.total.cost_usd <= budget_usd]  # fmt: skip
    return min(paid, key=lambda r: float(r.total.total.value) if r.total else np.inf, default=None)


def _crossings(
    series: DeviceSeries, driver: DeviceSeries | None, counts: tuple[int, ...], law_at: LawAt
) -> list[Crossing]:
    """Return the crossover of every larger count with the smallest, then with the driver."""
    base = series.base
    crossings = [
        _crossing(series, series, n, base, (law_at(n), law_at(base))) for n in counts if n > base
    ]
    if driver is not None:
        most = driver.counts[-1]
        theirs = driver.at(most)
        crossings += [_crossing(series, driver, n, most, (law_at(n), theirs)) for n in counts]
    return crossings


def _crossing(
    series: DeviceSeries,
    other: DeviceSeries,
    devices: int,
    other_devices: int,
    laws: tuple[Law | Refusal, Law | Refusal],
) -> Crossing:
    law, first = laws
    batch: Estimate | Refusal
    if isinstance(law, Refusal):
        batch = law
    else:
        batch = first if isinstance(first, Refusal) else crossover(first, law)
    batch = _weighed_crossing(batch, (series, devices), (other, other_devices))
    if isinstance(batch, Estimate):
        batch = _not_below(batch, _least_batch(series, devices))
    slower_at, faster_at = _bracket(series, devices, other, other_devices)
    return Crossing(
        devices=devices,
        other=other.label,
        other_devices=other_devices,
        is_driver=other is not series,
        batch=batch,
        slower_at=slower_at,
        faster_at=faster_at,
    )


def _least_batch(series: DeviceSeries, devices: int) -> float:
    """Return the smallest global batch of a count [samples]: one sample each, or a measured one.

    Devices that share a sample, as cuts of a network do, were measured below one sample each.
    """
    return float(min([devices, *(p.batch for p in series.points if p.devices == devices)]))


def _not_below(batch: Estimate, least: float) -> Estimate:
    """Return a crossover within the batches that its devices can have [samples]."""
    value, low, high = (max(end, least) for end in batch.ends)
    return replace(batch, value=value, low=low, high=high)


def _weighed_crossing(
    common: Estimate | Refusal, many: tuple[DeviceSeries, int], few: tuple[DeviceSeries, int]
) -> Estimate | Refusal:
    """Return where the answered steps cross: counts with lines of their own have weighed steps.

    The interval is that of the own lines where they cross inside their batches, else the common
    one.
    """
    workers, driver = (series.own(count) for series, count in (many, few))
    if workers is None and driver is None:
        return common
    own = common if workers is None or driver is None else crossover(driver, workers)
    chosen = own if isinstance(own, Estimate) and own.basis != "extrapolated" else common
    if isinstance(chosen, Refusal):
        return chosen
    around = float(chosen.value)
    batch = np.geomspace(around / _AROUND, around * _AROUND, _GRID)
    steps = [series.step(batch, count) for series, count in (many, few)]
    if isinstance(steps[0], Refusal) or isinstance(steps[1], Refusal):
        return chosen
    slower = np.log(np.asarray(steps[0].value) / np.asarray(steps[1].value))
    change = np.flatnonzero((slower[:-1] > 0.0) & (slower[1:] <= 0.0))
    if not change.size:
        return chosen
    part = slower[change] / (slower[change] - slower[change + 1])
    crossed = batch[change] * (batch[change + 1] / batch[change]) ** part
    nearest = crossed[np.argmin(np.abs(np.log(crossed / around)))]
    return chosen.scaled(float(nearest) / around)


def _bracket(
    series: DeviceSeries, devices: int, other: DeviceSeries, other_devices: int
) -> tuple[float | None, float | None]:
    """Return the largest measured batch at which `devices` lose, and the next at which they win."""
    ours, theirs = _measured_at(series, devices), _measured_at(other, other_devices)
    lost = [b for b in ours if b in theirs and ours[b] >= theirs[b]]
    slower_at = max(lost, default=None)
    won = [b for b in ours if b in theirs and ours[b] < theirs[b] and b > (slower_at or 0.0)]
    return slower_at, min(won, default=None)


def _measured_at(series: DeviceSeries, devices: int) -> dict[float, float]:
    """Return the median step by global batch at a device count [s]."""
    steps: dict[float, list[float]] = {}
    for point in series.points:
        if point.devices == devices:
            steps.setdefault(float(point.batch), []).append(point.step_s)
    return {batch: median(times) for batch, times in steps.items()}


def slow_answer(
    row: CountAnswer, question: SeriesQuestion, *, is_asynchronous: bool = False
) -> UnevenAnswer:
    """Return synchronous and asynchronous training of a row's devices as workers.

    Raises:
        ValueError: the row has no step time.
    """
    if isinstance(row.step, Refusal):
        raise ValueError("A row without a step time has no workers.")  # noqa: TRY004 - not a type
    each, even_s = row.batch / row.devices, float(row.step.value)
    slow = workers(
        row.devices,
        batch=each,
        step_s=even_s,
        slow=question.slow,
        spread=question.spread,
        open_share=1.0 if row.parts is None else row.parts.open_share,
    )
    step_s = synchronous_step_s(slow)
    free = asynchronous(slow, _limit(question))
    least, most = _ratios(slow, question.critical_batch, free, step_s)
    return UnevenAnswer(
        devices=row.devices,
        batch=row.batch,
        even_step_s=even_s,
        step_s=step_s,
        synchronous_samples_per_s=row.batch / step_s,
        free=free,
        least_ratio=least,
        most_ratio=most,
        slow=question.slow,
        spread=question.spread,
        is_asynchronous=is_asynchronous,
    )


def _ratios(
    of: Workers, critical: float | None, free: Asynchronous, step_s: float
) -> tuple[float | None, float | None]:
    return (None, None) if critical is None else time_ratio(of, critical, free, step_s)


def _limit(question: SeriesQuestion) -> float:
    """Return the most updates/s of the parameter servers; infinite where they are not described."""
    if question.params is None or question.server_bytes_per_s is None:
        return np.inf
    return server_limit(BYTES * question.params, question.servers, question.server_bytes_per_s)
