"""Answers as records, for `--json` and the HTTP interface.

The rows are those of the pages' CSV files, so that numbers are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from planner.answers.comparison import moment_words, option_rows, source_rows
from planner.answers.records import (
    Bar,
    BatchRow,
    BuyOrRent,
    CurveRow,
    Curves,
    ElectricityRow,
    HardwareComparison,
    OptionRow,
    PointRow,
    Projection,
    ProjectionRow,
    Tornado,
    rows_of,
)
from planner.answers.tables import (
    answer_rows,
    answer_sentences,
    batch_rows,
    curve_sources,
    run_sources,
)
from planner.compare import (
    Electricity,
    RentOrBuy,
    assumed_lines,
    buying,
    limits_sentence,
    next_step,
    sentence,
    tornado,
)
from planner.compare.comparison import Comparison
from planner.compare.rent_or_buy import rent_or_buy
from planner.compare.undecided import undecided
from planner.core import Estimate, Refusal
from planner.cost import BreakEven, Display, shown
from planner.epochs import HowLong
from planner.store.sealed.result_set import ResultSet
from planner.throughput import SystemCurve, cell, curve_rows, point_rows


def projection(
    result: HowLong,
    suspect: Mapping[str, str],
    sets: Sequence[ResultSet],
    query: str,
    *,
    note: str = "",
) -> Projection:
    """Return the answer of How long?: times of N epochs on each system."""
    return Projection(
        query=query,
        epochs=result.epochs,
        samples_per_epoch=result.epoch_size.samples,
        epoch_size=result.epoch_size.sentence,
        start_up=result.start_sentence or None,
        baseline=result.baseline.label,
        sentence=result.sentence,
        undecided=result.undecided or None,
        note=note or None,
        rows=rows_of(ProjectionRow, answer_rows(result, suspect)),
        sources=tuple(run_sources([a.option for a in result.answers], sets)),
    )


def curves(
    chosen: Sequence[SystemCurve],
    batches: Sequence[float],
    sets: Sequence[ResultSet],
    query: str,
    notes: Sequence[str] = (),
) -> Curves:
    """Return throughput curves, their points, and their values at the requested batches."""
    return Curves(
        query=query,
        sentences=tuple(answer_sentences(chosen)),
        notes=tuple(notes),
        curves=rows_of(CurveRow, curve_rows(chosen)),
        at_batch=rows_of(BatchRow, batch_rows(chosen, batches)),
        points=rows_of(PointRow, point_rows(chosen)),
        sources=tuple(curve_sources(chosen, sets)),
    )


def hardware_comparison(
    comparison: Comparison, display: Display, query: str, by: datetime | None = None
) -> HardwareComparison:
    """Return the answer of Compare hardware.

    `by` is the deadline where it is a date. Money is in the currency of `display` with its tax;
    assumptions are in USD.
    """
    until = moment_words(by) if by else ""
    bought, (open_question, measure) = rent_or_buy(comparison, display), undecided(comparison)
    return HardwareComparison(
        query=query,
        workload=comparison.question.job.workload,
        goal=comparison.question.goal.words,
        samples_per_epoch=comparison.question.job.samples_per_epoch,
        sentence=sentence(comparison, display),
        undecided=open_question or None,
        measure_next=measure or None,
        timed_step=next_step(comparison) or None,
        money=display.note,
        rows=rows_of(OptionRow, option_rows(comparison, display)),
        rent_or_buy=None if bought is None else _bought(bought),
        matters_most=_matters(comparison, display),
        keeps=limits_sentence(comparison, until, display) or None,
        assumptions=comparison.question.assumed,
        electricity=_electricity(comparison.question.electricity),
        assumed=tuple(assumed_lines(comparison)),
        sources=tuple(source_rows(comparison)),
    )


def _bought(pair: RentOrBuy) -> BuyOrRent:
    use = pair.use.utilisation if isinstance(pair.use, BreakEven) else pair.use
    return BuyOrRent(
        sentence=buying(pair),
        rent=pair.rent.candidate.id,
        buy=pair.buy.candidate.id,
        **_ends("utilisation", use),
        **_ends("runs_per_month", pair.runs_per_month),
    )


def _electricity(used: Electricity | None) -> ElectricityRow | None:
    """Return the electricity: country, customer, dates and sources of price and carbon."""
    if used is None:
        return None
    row, priced, carbon = used.tariff, used.priced, used.carbon
    return ElectricityRow(
        country=row.country,
        customer=row.customer if priced else None,
        price_as_of=f"{row.price_as_of:%Y-%m-%d}" if priced and row.price_as_of else None,
        price_source=row.price_source_url or None if priced else None,
        price_is_stale=used.stale,
        carbon_as_of=f"{row.carbon_as_of:%Y-%m-%d}" if carbon and row.carbon_as_of else None,
        carbon_source=row.carbon_source_url or None if carbon else None,
        note=row.note or None if priced else None,
    )


def _matters(comparison: Comparison, display: Display) -> Tornado | None:
    influence = tornado(comparison)
    if influence is None:
        return None
    bars = tuple(
        Bar(input=i.name, low=cell(shown(i.low, display)), high=cell(shown(i.high, display)))
        for i in influence.influences
    )
    base = cell(shown(influence.base, display))
    return Tornado(title=influence.title, unit=display.currency, base=base, inputs=bars)


def _ends(name: str, answer: Estimate | Refusal) -> dict[str, Any]:
    if isinstance(answer, Refusal):
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    ends = {name: answer.value, f"{name}_low": answer.low, f"{name}_high": answer.high}
    return {key: cell(end) for key, end in ends.items()}
