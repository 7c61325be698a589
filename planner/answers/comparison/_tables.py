"""The comparison as rows, for the page's table, CSV, parquet, report, command and API."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from planner.compare import THERE, basis_words, chance_to_meet
from planner.compare.evaluation import Comparison, Row
from planner.core import Basis, Estimate, Record, Refusal, Text, hms
from planner.cost import DOLLARS, Display, likely, shown
from planner.job import Job, gigabytes, runs_words


def option_rows(
    comparison: Comparison, display: Display = DOLLARS, begins: datetime | None = None
) -> list[Record]:
    """Return a row per option, best first: every number with its interval, basis and source.

    Args:
        comparison: the ranked options.
        display: currency and tax of the money columns; `currency` names it.
        begins: start of the work, with the zone of `finishes` (ISO 8601: 2026-11-22T07:43Z,
            2026-11-22T08:43+01:00); None leaves it out.
    """
    return [_row(row, comparison, display, begins) for row in comparison.rows]


def _row(row: Row, comparison: Comparison, display: Display, begins: datetime | None) -> Record:
    option, fit, time = row.candidate, row.timed.fit, row.time
    refused = time if isinstance(time, Refusal) else None
    unpriced = row.cost if isinstance(row.cost, Refusal) and refused is None else None
    why = refused or unpriced
    return {
        "option_id": option.id,
        "option": option.label,
        "way": option.way,
        "system": option.hardware.label,
        "accelerator": option.hardware.accelerator.name if option.hardware.accelerator else None,
        "accelerators": option.hardware.count,
        "machines": row.machines,
        "rank": row.rank,
        "tied": row.tied,
        "workload": comparison.question.job.workload,
        "goal": comparison.question.goal.words,
        "global_batch_size": row.timed.batch,
        **_cells("time_s", time),
        "time_hms": None if isinstance(time, Refusal) else hms(float(time.value)),
        "finishes": _finish(time, begins),
        **_cells("samples_per_s", None if refused else samples_per_s_of(row)),
        "startup_s": None if refused else _finite(startup_s_of(row, comparison.question.job)),
        "currency": display.currency,
        **_money_cells("cost_per_run", row.cost, display),
        **_money_cells("to_pay", row.to_pay, display),
        **_money_cells("cost_per_month", row.cost_per_month, display),
        **_cells("energy_kwh", row.energy_kwh),
        "co2_kg": _number(row.co2_kg),
        "probability_cheapest": _share(row.cheapest),
        "probability_fastest": _share(row.fastest),
        "probability_in_time": _share(_probability(row, comparison, "time")),
        "probability_in_budget": _share(_probability(row, comparison, "money")),
        "probability_meets_limits": _share(row.in_time),
        "on_frontier": row.on_frontier,
        "memory": fit.sentence,
        "memory_headroom": _share(fit.headroom),
        "memory_needed": None if fit.need_bytes is None else gigabytes(fit.need_bytes),
        "way_out": fit.way_out or None,
        "basis": None if refused else basis_words(row, comparison.question.goal),
        "notes": None if isinstance(time, Refusal) else " ".join(time.reasons) or None,
        "price": option.price,
        "price_is_stale": option.stale,
        "refused": why.reason if why else None,
        "measure_next": why.measure_next if why else row.timed.measure_next or None,
        "run_id": option.run.run.run_id if option.run else None,
        "price_source": option.source or None,
    }


def _probability(row: Row, comparison: Comparison, of: Literal["time", "money"]) -> float | None:
    """Return the share of draws that meet the deadline, or the money limits; None without."""
    limits = comparison.question.limits
    if of == "time":
        limits = replace(limits, budget_usd=None, cost_limit_usd=None)
    else:
        limits = replace(limits, deadline_s=None)
    return chance_to_meet(row, limits)


def samples_per_s_of(row: Row) -> Estimate | None:
    """Return the training throughput of an option [samples/s]; None where unknown.

    For a measured system it is that of the run, without an interval.
    """
    if row.timed.rate is not None:
        return row.timed.rate
    run = None if row.candidate.run is None else row.candidate.run.run
    if run is None or not run.samples_per_s or isinstance(row.time, Refusal):
        return None
    speed = float(run.samples_per_s)
    basis: Basis = "published" if run.basis == "published" else "measured"
    return Estimate(value=speed, low=speed, high=speed, basis=basis)


def startup_s_of(row: Row, job: Job) -> float:
    """Return the start-up time [s]: of the machine and of the program."""
    run = None if row.candidate.run is None else row.candidate.run.run
    program = job.pre_train_s if run is None or run.pre_train_s is None else run.pre_train_s
    rental = row.candidate.rental
    return float(program + (0.0 if rental is None else likely(rental.startup_s)))


def end_of(time: Estimate | Refusal, begins: datetime | None) -> datetime | None:
    """Return the end of work that starts at `begins`, in its zone; None where unknown.

    Computed in UTC: after a change of clocks the end is in the new time.
    """
    if begins is None or isinstance(time, Refusal):
        return None
    try:
        return (begins.astimezone(UTC) + timedelta(seconds=float(time.value))).astimezone(
            begins.tzinfo
        )
    except (OverflowError, ValueError):  # beyond the calendar, or never
        return None


def source_rows(comparison: Comparison) -> list[Record]:
    """Return the sources of times, prices and data sheets of the options, with dates."""
    return [_source(row) for row in comparison.rows]


def _source(row: Row) -> Record:
    option = row.candidate
    sheet, run = option.hardware.accelerator, option.run.run if option.run else None
    return {
        "Option": option.label,
        "Time from": _time_from(row),
        "Run": run.source or run.result_set if run else None,
        "Licence": run.licence if run else None,
        "Price": option.price,
        "Price from": None if option.source in ("", THERE) else option.source,
        "Price as of": f"{option.offer.as_of:%Y-%m-%d}" if option.offer else None,
        "Data sheet": sheet.source_url if sheet else None,
        "Data sheet as of": f"{sheet.as_of:%Y-%m-%d}" if sheet else None,
    }


def _time_from(row: Row) -> str:
    if (runs := row.timed.stated_runs) and not isinstance(row.time, Refusal):
        where = "" if row.timed.scaling is None else " on another count"
        return Text(
            "times to the target stated by {runs_words}{where}",
            runs_words=runs_words(runs),
            where=where,
        )
    if row.candidate.run is not None:
        basis = row.candidate.run.run.basis
        return "a published figure of that system" if basis == "published" else f"{basis} there"
    return "unknown" if isinstance(row.time, Refusal) else row.time.basis


def _cells(name: str, estimate: Estimate | Refusal | None) -> Mapping[str, float | None]:
    if estimate is None or isinstance(estimate, Refusal):
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    ends = {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return {key: _finite(float(end)) for key, end in ends.items()}


def _money_cells(
    name: str, answer: Estimate | Refusal | None, display: Display
) -> Mapping[str, float | None]:
    """Return money in the currency shown, with its tax."""
    cells = _cells(name, answer)
    return {key: None if x is None else _finite(shown(x, display)) for key, x in cells.items()}


def _finish(time: Estimate | Refusal, begins: datetime | None) -> str | None:
    end = end_of(time, begins)
    return None if end is None else end.isoformat(timespec="minutes").replace("+00:00", "Z")


def _number(estimate: Estimate | None) -> float | None:
    return None if estimate is None else _finite(float(estimate.value))


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _finite(value: float) -> float | None:
    """Return a value with six digits, None if infinite; more would be noise of the draws."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
