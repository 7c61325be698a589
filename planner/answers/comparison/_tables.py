"""The comparison as rows: for the page's table, CSV, parquet, report, command and API alike."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from planner.compare import THERE, basis_words, chance_to_keep
from planner.compare.reckon import Comparison, Row
from planner.core import Basis, Estimate, Record, Refusal, hms
from planner.cost import DOLLARS, Display, likely, shown
from planner.job import Job, gigabytes


def option_rows(
    told: Comparison, display: Display = DOLLARS, begins: datetime | None = None
) -> list[Record]:
    """One row per option, best first: every number with its interval, basis and source.

    Args:
        told: the comparison.
        display: currency and tax of the money columns, named by `currency`.
        begins: when the work starts, with its zone, which `finishes` is stated in (ISO 8601:
            2026-11-22T07:43Z, 2026-11-22T08:43+01:00); None leaves it out.
    """
    return [_row(row, told, display, begins) for row in told.rows]


def _row(row: Row, told: Comparison, display: Display, begins: datetime | None) -> Record:
    one, fit, time = row.candidate, row.timed.fit, row.time
    refused = time if isinstance(time, Refusal) else None
    unpriced = row.cost if isinstance(row.cost, Refusal) and refused is None else None
    why = refused or unpriced
    return {
        "option_id": one.id,
        "option": one.label,
        "way": one.way,
        "system": one.hardware.label,
        "accelerator": one.hardware.accelerator.name if one.hardware.accelerator else None,
        "accelerators": one.hardware.count,
        "machines": row.machines,
        "rank": row.rank,
        "tied": row.tied,
        "workload": told.question.job.workload,
        "goal": told.question.goal.words,
        "global_batch_size": row.timed.batch,
        **_cells("time_s", time),
        "time_hms": None if isinstance(time, Refusal) else hms(float(time.value)),
        "finishes": _finish(time, begins),
        **_cells("samples_per_s", None if refused else samples_per_s_of(row)),
        "startup_s": None if refused else _finite(startup_s_of(row, told.question.job)),
        "currency": display.currency,
        **_money_cells("cost_per_run", row.cost, display),
        **_money_cells("to_pay", row.to_pay, display),
        **_money_cells("cost_per_month", row.cost_per_month, display),
        **_cells("energy_kwh", row.energy_kwh),
        "co2_kg": _number(row.co2_kg),
        "probability_cheapest": _share(row.cheapest),
        "probability_fastest": _share(row.fastest),
        "probability_in_time": _share(_probability(row, told, "time")),
        "probability_in_budget": _share(_probability(row, told, "money")),
        "probability_meets_limits": _share(row.in_time),
        "on_frontier": row.on_frontier,
        "memory": fit.sentence,
        "memory_headroom": _share(fit.headroom),
        "memory_needed": None if fit.need_bytes is None else gigabytes(fit.need_bytes),
        "way_out": fit.way_out or None,
        "basis": None if refused else basis_words(row, told.question.goal),
        "notes": None if isinstance(time, Refusal) else " ".join(time.reasons) or None,
        "price": one.price,
        "price_is_stale": one.stale,
        "refused": why.reason if why else None,
        "measure_next": why.measure_next if why else row.timed.measure_next or None,
        "run_id": one.run.run.run_id if one.run else None,
        "price_source": one.source or None,
    }


def _probability(row: Row, comparison: Comparison, of: Literal["time", "money"]) -> float | None:
    """Share of the draws that meet the deadline, or budget and cost limit; None without one."""
    limits = comparison.question.wanted
    if of == "time":
        limits = replace(limits, budget_usd=None, cost_limit_usd=None)
    else:
        limits = replace(limits, deadline_s=None)
    return chance_to_keep(row, limits)


def samples_per_s_of(row: Row) -> Estimate | None:
    """Return the speed of an option while it trains [samples/s]; None where it is not known.

    Of a measured system it is that of the run, without an interval of its own.
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
    """Return what passes before the first step [s]: the machine's start and the program's."""
    run = None if row.candidate.run is None else row.candidate.run.run
    program = job.pre_train_s if run is None or run.pre_train_s is None else run.pre_train_s
    rental = row.candidate.rental
    return float(program + (0.0 if rental is None else likely(rental.startup_s)))


def end_of(time: Estimate | Refusal, begins: datetime | None) -> datetime | None:
    """When work ends that begins then, on the same clock; None where it is unknown.

    Time passes in UTC: where clocks are changed meanwhile, the end is stated in the new time.
    """
    if begins is None or isinstance(time, Refusal):
        return None
    try:
        return (begins.astimezone(UTC) + timedelta(seconds=float(time.value))).astimezone(
            begins.tzinfo
        )
    except (OverflowError, ValueError):  # beyond the calendar, or never
        return None


def source_rows(told: Comparison) -> list[Record]:
    """Where times, prices and data sheets of the options are from, with their dates."""
    return [_source(row) for row in told.rows]


def _source(row: Row) -> Record:
    one = row.candidate
    sheet, run = one.hardware.accelerator, one.run.run if one.run else None
    return {
        "Option": one.label,
        "Time from": _time_from(row),
        "Run": run.source or run.result_set if run else None,
        "Licence": run.licence if run else None,
        "Price": one.price,
        "Price from": None if one.source in ("", THERE) else one.source,
        "Price as of": f"{one.offer.as_of:%Y-%m-%d}" if one.offer else None,
        "Data sheet": sheet.source_url if sheet else None,
        "Data sheet as of": f"{sheet.as_of:%Y-%m-%d}" if sheet else None,
    }


def _time_from(row: Row) -> str:
    if row.candidate.run is not None:
        basis = row.candidate.run.run.basis
        return "a published figure of that system" if basis == "published" else f"{basis} there"
    return "not known" if isinstance(row.time, Refusal) else row.time.basis


def _cells(name: str, told: Estimate | Refusal | None) -> Mapping[str, float | None]:
    if told is None or isinstance(told, Refusal):
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    ends = {name: told.value, f"{name}_low": told.low, f"{name}_high": told.high}
    return {key: _finite(float(end)) for key, end in ends.items()}


def _money_cells(
    name: str, told: Estimate | Refusal | None, display: Display
) -> Mapping[str, float | None]:
    """Money in the currency shown, its tax in it."""
    cells = _cells(name, told)
    return {key: None if x is None else _finite(shown(x, display)) for key, x in cells.items()}


def _finish(time: Estimate | Refusal, begins: datetime | None) -> str | None:
    end = end_of(time, begins)
    return None if end is None else end.isoformat(timespec="minutes").replace("+00:00", "Z")


def _number(told: Estimate | None) -> float | None:
    return None if told is None else _finite(float(told.value))


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _finite(value: float) -> float | None:
    """Six digits: what follows is the draws', not the world's."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
