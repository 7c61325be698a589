"""Answers as plain data: what `--json` prints and the HTTP interface sends.

The rows are those of the pages' CSV files, so that a number is the same wherever it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from planner.answers._curve_answers import answer_sentences, batch_rows
from planner.answers._curve_answers import source_rows as curve_sources
from planner.answers.comparison import moment_words, option_rows, source_rows
from planner.answers.how_long_tables import answer_rows
from planner.answers.how_long_tables import source_rows as run_sources
from planner.compare import (
    Electricity,
    RentOrBuy,
    assumed_lines,
    buying,
    keeping_sentence,
    next_step,
    sentence,
    tornado,
)
from planner.compare.reckon import Comparison
from planner.compare.rent_or_buy import rent_or_buy
from planner.compare.undecided import undecided
from planner.core import Estimate, Refusal
from planner.cost import BreakEven, Display, shown
from planner.epochs import HowLong
from planner.store.sealed.result_set import ResultSet
from planner.throughput import SystemCurve, cell, curve_rows, point_rows

Body = dict[str, Any]
"""What JSON can hold: texts, numbers, lists and more of these; never NaN."""


def projection_body(
    result: HowLong, suspect: Mapping[str, str], sets: Sequence[ResultSet], query: str
) -> Body:
    """N epochs of a workload on each system: the answer of How long?."""
    return {
        "query": query,
        "epochs": result.epochs,
        "samples_per_epoch": result.epoch_size.samples,
        "epoch_size": result.epoch_size.sentence,
        "start_up": result.start_sentence or None,
        "baseline": result.baseline.label,
        "sentence": result.sentence,
        "undecided": result.undecided or None,
        "rows": answer_rows(result, suspect),
        "sources": run_sources([a.option for a in result.answers], sets),
    }


def curve_body(
    chosen: Sequence[SystemCurve],
    batches: Sequence[float],
    sets: Sequence[ResultSet],
    query: str,
    notes: Sequence[str] = (),
) -> Body:
    """Throughput curves, their points, and what they say at the batches asked for."""
    return {
        "query": query,
        "sentences": answer_sentences(chosen),
        "notes": list(notes),
        "curves": curve_rows(chosen),
        "at_batch": batch_rows(chosen, batches),
        "points": point_rows(chosen),
        "sources": curve_sources(chosen, sets),
    }


def compare_body(
    told: Comparison, display: Display, query: str, by: datetime | None = None
) -> Body:
    """Which hardware: the answer of Compare hardware.

    `by` is the deadline where it was asked for as a date. Money is in the currency of `display`,
    its tax in it; assumptions are in USD.
    """
    until = moment_words(by) if by else ""
    bought, (open_question, measure) = rent_or_buy(told, display), undecided(told)
    goal = told.question.goal
    return {
        "query": query,
        "workload": told.question.job.workload,
        "goal": goal.words,
        "samples_per_epoch": told.question.job.samples_per_epoch,
        "sentence": sentence(told, display),
        "undecided": open_question or None,
        "measure_next": measure or None,
        "timed_step": next_step(told) or None,
        "money": display.note,
        "rows": option_rows(told, display),
        "rent_or_buy": None if bought is None else _bought(bought),
        "matters_most": _matters(told, display),
        "keeps": keeping_sentence(told, until, display) or None,
        "assumptions": asdict(told.question.assumed),
        "electricity": _electricity(told.question.electricity),
        "assumed": assumed_lines(told),
        "sources": source_rows(told),
    }


def _bought(found: RentOrBuy) -> Body:
    use = found.use.utilisation if isinstance(found.use, BreakEven) else found.use
    return {
        "sentence": buying(found),
        "rent": found.rent.candidate.id,
        "buy": found.buy.candidate.id,
        **_ends("utilisation", use),
        **_ends("runs_per_month", found.runs_per_month),
    }


def _electricity(used: Electricity | None) -> Body | None:
    """Whose electricity: country, who pays that price, dates and addresses of both numbers."""
    if used is None:
        return None
    row, priced, carbon = used.tariff, used.priced, used.carbon
    return {
        "country": row.country,
        "customer": row.customer if priced else None,
        "price_as_of": f"{row.price_as_of:%Y-%m-%d}" if priced and row.price_as_of else None,
        "price_source": row.price_source_url or None if priced else None,
        "price_is_stale": used.stale,
        "carbon_as_of": f"{row.carbon_as_of:%Y-%m-%d}" if carbon and row.carbon_as_of else None,
        "carbon_source": row.carbon_source_url or None if carbon else None,
        "note": row.note or None if priced else None,
    }


def _matters(told: Comparison, display: Display) -> Body | None:
    found = tornado(told)
    if found is None:
        return None
    bars = [
        {"input": i.name, "low": cell(shown(i.low, display)), "high": cell(shown(i.high, display))}
        for i in found.influences
    ]
    base = cell(shown(found.base, display))
    return {"title": found.title, "unit": display.currency, "base": base, "inputs": bars}


def _ends(name: str, told: Estimate | Refusal) -> Body:
    if isinstance(told, Refusal):
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    ends = {name: told.value, f"{name}_low": told.low, f"{name}_high": told.high}
    return {key: cell(end) for key, end in ends.items()}
