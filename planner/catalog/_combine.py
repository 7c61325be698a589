"""Queries and changes of a catalogue: priority of rows, matching names, age of prices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import Final, TypeVar

from planner.catalog._names import accelerator_named
from planner.catalog._records import (
    Accelerator,
    Catalog,
    Offer,
    Tariff,
)
from planner.catalog._rows import Parsed, Problem, first_problems
from planner.catalog._schema import LIMITS
from planner.core import Refusal

STALE_MONTHS: Final = 12
"""Age above which a price is marked as old [months]."""
_Entry = TypeVar("_Entry", Accelerator, Offer, Tariff)
_QUIET: Final = frozenset({"origin", "id", "peak_flops_per_s"})
SAME: Final = "the same numbers"
_UNCOUNTED: Final = frozenset({"aliases", "as_of", "note", "source_url"})
"""Fields unrelated to speed and money; reported only if nothing else has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A catalogue with further rows; `overridden` describes replaced rows, one line each."""

    catalog: Catalog
    overridden: tuple[str, ...] = ()


def merged(catalog: Catalog, further: Catalog) -> Merged:
    """Return the rows with further ones; an existing id replaces the whole row in its place."""
    accelerators, replaced_accelerators = _merged(catalog.accelerators, further.accelerators)
    offers, two = _merged(catalog.offers, further.offers)
    tariffs, three = _merged(catalog.tariffs, further.tariffs)
    whole = Catalog(accelerators=accelerators, offers=offers, tariffs=tariffs)
    return Merged(catalog=whole, overridden=(*replaced_accelerators, *two, *three))


def _merged(
    first: Sequence[_Entry], further: Sequence[_Entry]
) -> tuple[tuple[_Entry, ...], tuple[str, ...]]:
    whole = {entry.id: entry for entry in first}
    overrides = [_override(whole[e.id], e) for e in further if e.id in whole and whole[e.id] != e]
    whole |= {entry.id: entry for entry in further}
    return tuple(whole.values()), tuple(overrides)


def _override(old: _Entry, new: _Entry) -> str:
    before, after = _facts(old), _facts(new)
    changed = [n for n in {**before, **after} if before.get(n) != after.get(n)]
    counted = [n for n in changed if n not in _UNCOUNTED]
    changes = [
        f"{_plain(name)} {_plain_value(before.get(name))} -> {_plain_value(after.get(name))}"
        for name in counted or changed
    ]
    return f"{new.id}: {'; '.join(changes) or SAME}"


def _facts(entry: Accelerator | Offer | Tariff) -> dict[str, object]:
    """Return the facts of an entry, peaks by precision, without names and origin."""
    facts: dict[str, object] = {
        f.name: getattr(entry, f.name) for f in fields(entry) if f.name not in _QUIET
    }
    return facts | (dict(entry.peak_flops_per_s) if isinstance(entry, Accelerator) else {})


def _plain(name: str) -> str:
    """Return a column's name in words: 'list price USD'."""
    return name.replace("_", " ").replace("usd", "USD").replace("kwh", "kWh")


def _plain_value(value: object) -> str:
    if value is None or value in ("", ()):
        return "not known"
    return f"{value:g}" if isinstance(value, float) else str(value)


def offers_of(catalog: Catalog, accelerator: Accelerator) -> tuple[Offer, ...]:
    """Return all offers of instances with this accelerator, in the order of the catalogue."""
    return tuple(offer for offer in catalog.offers if offer.accelerator == accelerator.id)


def tariff_of(catalog: Catalog, country: str) -> Tariff | None:
    """Return the tariff of a country, by code or name in any case; None where there is none."""
    name = country.strip().casefold()
    return next((t for t in catalog.tariffs if name in (t.id.casefold(), t.country.casefold())),
                None)  # fmt: skip


def is_stale(as_of: date, today: date, months: int = STALE_MONTHS) -> bool:
    """Return whether more than `months` calendar months have passed; on the very day, not yet."""
    passed = (today.year - as_of.year) * 12 + today.month - as_of.month
    return passed > months or (passed == months and today.day > as_of.day)


def with_known_accelerators(offers: Parsed, catalog: Catalog) -> Parsed:
    """Return offers with the ids of their accelerators in place of the names in the file.

    Offers of unknown accelerators are removed, each with a problem and suggestions. After
    `LIMITS["problems"]` of them only ids and earlier names are looked up; the rest is counted.
    """
    ids = {accelerator.id for accelerator in catalog.accelerators}
    answers: dict[str, Accelerator | Refusal] = {}
    kept: list[tuple[int, Offer]] = []
    problems: list[Problem] = []
    unasked = 0
    for row, offer in _offers(offers):
        text = offer.accelerator
        if len(problems) >= LIMITS["problems"].value and text not in answers and text not in ids:
            unasked += 1  # more suggestions would not be read
            continue
        answers.setdefault(text, match := answers.get(text) or accelerator_named(catalog, text))
        if isinstance(match, Accelerator):
            kept.append((row, replace(offer, accelerator=match.id)))
        else:
            problems.append(_unclear(offers.file, row, match))
    shown_problems = first_problems((*offers.problems, *problems), offers.file, unasked)
    return replace(offers, entries=tuple(kept), problems=shown_problems)


def _unclear(file: str, row: int, why: Refusal) -> Problem:
    message = f"is not understood: {why.reason}. {why.measure_next}"
    return Problem(file=file, row=row, column="accelerator", message=message)


def _offers(parsed: Parsed) -> Iterable[tuple[int, Offer]]:
    return ((row, entry) for row, entry in parsed.entries if isinstance(entry, Offer))
