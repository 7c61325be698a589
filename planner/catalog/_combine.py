"""Questions to a catalogue and changes of it: whose row counts, what fits to what, what is old."""

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
from planner.catalog._rows import Parsed, Problem, told_first
from planner.catalog._schema import LIMITS
from planner.core import Refusal

STALE_MONTHS: Final = 12
"""Age after which a price is marked as old [months]."""
_Entry = TypeVar("_Entry", Accelerator, Offer, Tariff)
_QUIET: Final = frozenset({"origin", "id", "peak_flops_per_s"})
SAME: Final = "the same numbers"
_UNCOUNTED: Final = frozenset({"aliases", "as_of", "note", "source_url"})
"""What says nothing about speed or money; it is told where nothing else has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A catalogue with further rows in it; `overridden` says what these replaced, a line a row."""

    catalog: Catalog
    overridden: tuple[str, ...] = ()


def merged(catalog: Catalog, further: Catalog) -> Merged:
    """Further rows added; one with an id that is there replaces the whole row in its place."""
    accelerators, one = _merged(catalog.accelerators, further.accelerators)
    offers, two = _merged(catalog.offers, further.offers)
    tariffs, three = _merged(catalog.tariffs, further.tariffs)
    whole = Catalog(accelerators=accelerators, offers=offers, tariffs=tariffs)
    return Merged(catalog=whole, overridden=(*one, *two, *three))


def _merged(
    first: Sequence[_Entry], further: Sequence[_Entry]
) -> tuple[tuple[_Entry, ...], tuple[str, ...]]:
    whole = {entry.id: entry for entry in first}
    told = [_override(whole[e.id], e) for e in further if e.id in whole and whole[e.id] != e]
    whole |= {entry.id: entry for entry in further}
    return tuple(whole.values()), tuple(told)


def _override(old: _Entry, new: _Entry) -> str:
    before, after = _facts(old), _facts(new)
    changed = [n for n in {**before, **after} if before.get(n) != after.get(n)]
    counted = [n for n in changed if n not in _UNCOUNTED]
    told = [
        f"{_plain(name)} {_said(before.get(name))} -> {_said(after.get(name))}"
        for name in counted or changed
    ]
    return f"{new.id}: {'; '.join(told) or SAME}"


def _facts(entry: Accelerator | Offer | Tariff) -> dict[str, object]:
    """What an entry says, peaks by precision, without what it is called and whose it is."""
    said: dict[str, object] = {
        f.name: getattr(entry, f.name) for f in fields(entry) if f.name not in _QUIET
    }
    return said | (dict(entry.peak_flops_per_s) if isinstance(entry, Accelerator) else {})


def _plain(name: str) -> str:
    """A column's name in words: 'list price USD'."""
    return name.replace("_", " ").replace("usd", "USD").replace("kwh", "kWh")


def _said(value: object) -> str:
    if value is None or value in ("", ()):
        return "not known"
    return f"{value:g}" if isinstance(value, float) else str(value)


def offers_of(catalog: Catalog, accelerator: Accelerator) -> tuple[Offer, ...]:
    """All offers of instances with this accelerator, in the order of the catalogue."""
    return tuple(offer for offer in catalog.offers if offer.accelerator == accelerator.id)


def tariff_of(catalog: Catalog, country: str) -> Tariff | None:
    """The tariff of a country, by code or name in any case; None where there is none."""
    wanted = country.strip().casefold()
    return next((t for t in catalog.tariffs if wanted in (t.id.casefold(), t.country.casefold())),
                None)  # fmt: skip


def is_stale(as_of: date, today: date, months: int = STALE_MONTHS) -> bool:
    """Whether more than `months` calendar months have passed; on the very day, not yet."""
    passed = (today.year - as_of.year) * 12 + today.month - as_of.month
    return passed > months or (passed == months and today.day > as_of.day)


def with_known_accelerators(offers: Parsed, catalog: Catalog) -> Parsed:
    """Offers whose accelerator is the id of a known one, whatever it was called in the file.

    The others are taken out, each with a problem that says what it could be. After
    `LIMITS["problems"]` of them only ids and names met before are looked up; the rest is counted.
    """
    ids = {known.id for known in catalog.accelerators}
    answers: dict[str, Accelerator | Refusal] = {}
    kept: list[tuple[int, Offer]] = []
    problems: list[Problem] = []
    unasked = 0
    for row, offer in _offers(offers):
        text = offer.accelerator
        if len(problems) >= LIMITS["problems"].value and text not in answers and text not in ids:
            unasked += 1  # a file of nothing but riddles: nobody reads more answers
            continue
        answers.setdefault(text, found := answers.get(text) or accelerator_named(catalog, text))
        if isinstance(found, Accelerator):
            kept.append((row, replace(offer, accelerator=found.id)))
        else:
            problems.append(_riddle(offers.file, row, found))
    told = told_first((*offers.problems, *problems), offers.file, unasked)
    return replace(offers, entries=tuple(kept), problems=told)


def _riddle(file: str, row: int, why: Refusal) -> Problem:
    told = f"is not understood: {why.reason}. {why.measure_next}"
    return Problem(file=file, row=row, column="accelerator", message=told)


def _offers(parsed: Parsed) -> Iterable[tuple[int, Offer]]:
    return ((row, entry) for row, entry in parsed.entries if isinstance(entry, Offer))
