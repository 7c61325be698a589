"""Why this file exists: options and accelerators are named as people do, no two options alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from planner.catalog import Catalog
from planner.compare.comparison import Comparison, Row
from planner.compare.records import Candidate
from planner.estimate import Estimate, Refusal


def told_by_price(every: Sequence[Candidate]) -> list[Candidate]:
    """The same options; of those that would be called alike each label tells its price."""
    shared = {label for label, n in Counter(c.label for c in every).items() if n > 1}
    return [_with_price(c) if c.label in shared else c for c in every]


def _with_price(one: Candidate) -> Candidate:
    """'Rent 8 x H100 (own entry, 20.00 USD/h)'."""
    price = one.price.removesuffix(f", {one.source}")
    label = one.label
    within = f"{label[:-1]}, {price})" if label.endswith(")") else f"{label} ({price})"
    return replace(one, label=within)


def with_names(told: Comparison, catalog: Catalog) -> Comparison:
    """The same comparison; ids of accelerators in its remarks are their names."""
    named = _namer(catalog)
    rows = tuple(_row(row, named) for row in told.rows)
    return replace(told, rows=rows)


def _namer(catalog: Catalog) -> Callable[[str], str]:
    names = {a.id: a.name for a in catalog.accelerators}
    longest = sorted(names, key=len, reverse=True)
    if not longest:
        return str
    every = re.compile(rf"(?<![\w/.-])({'|'.join(map(re.escape, longest))})(?![\w/-])")
    return lambda text: every.sub(lambda found: names[found[1]], text)


def _row(row: Row, named: Callable[[str], str]) -> Row:
    time = _told(row.time, named)
    cost = time if row.cost is row.time else _told(row.cost, named)
    next_run = named(row.timed.measure_next)
    return replace(row, time=time, cost=cost, timed=replace(row.timed, measure_next=next_run))


def _told(answer: Estimate | Refusal, named: Callable[[str], str]) -> Estimate | Refusal:
    if isinstance(answer, Refusal):
        return Refusal(reason=named(answer.reason), measure_next=named(answer.measure_next))
    return replace(answer, reasons=tuple(map(named, answer.reasons)))
