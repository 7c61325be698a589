"""The options of a comparison as rows to search, filter and tick.

A row is one option with what people choose by: maker, memory, count, terms, provider and price.
Prices are those of the whole machine and of one accelerator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from planner.compare import may_fit
from planner.cost import DOLLARS, Display, likely, shown
from planner.job import OWN_ENTRY, Candidate, Job

BUY: Final = "Buy"
OWN: Final = "Already owned"
TERMS: Final = ("Rent", "Spot", "Reserved", BUY, OWN)
"""How an option is paid for, in the order of the filter."""
_OFFERED: Final = {
    "on demand": "Rent", "spot": "Spot", "reserved 1 year": "Reserved",
    "reserved 3 years": "Reserved",
}  # fmt: skip
_WORD: Final = re.compile(r"[^\s,;()]+")
_TIMES: Final = re.compile(r"\b(\d+)[x×](?=[a-z\d])")
"""A count written as 8xH100."""
_BEFORE: Final = date(1970, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One option as a row: id, label, hardware, terms and prices.

    `memory_bytes` is that of one accelerator, None where unpublished. `per_hour` and `to_buy` are
    for the whole machine, `per_hour_each` and `to_buy_each` for one accelerator, in the currency
    and with the tax shown; None where there is no such price. `as_of` is the date of the price.
    `fits` is whether the job fits into memory, or its memory is unknown.
    """

    id: str
    label: str
    accelerator: str
    maker: str
    memory_bytes: float | None
    count: int
    terms: str
    provider: str
    region: str
    per_hour: float | None
    per_hour_each: float | None
    to_buy: float | None
    to_buy_each: float | None
    as_of: date | None
    stale: bool
    fits: bool
    words: str

    @property
    def memory_of_all_bytes(self) -> float | None:
        """The memory of all its accelerators [bytes]; None where unpublished."""
        return None if self.memory_bytes is None else self.memory_bytes * self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceFilter:
    """What a row must have; an empty field is no condition.

    `words` must all occur, in any order. `memory_bytes` is the least memory of one accelerator.
    """

    words: str = ""
    makers: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    memory_bytes: float = 0.0
    fits: bool = False


def choices_of(
    candidates: Iterable[Candidate], job: Job, display: Display = DOLLARS
) -> tuple[Choice, ...]:
    """Return all options as rows: own first, then the newest accelerators, small and cheap first.

    Args:
        candidates: all options.
        job: decides what fits into memory.
        display: currency and tax of prices.
    """
    ordered = sorted(candidates, key=_place)
    return tuple(_choice(candidate, job, display) for candidate in ordered)


def narrowed_choices(choices: Sequence[Choice], wanted: ChoiceFilter) -> list[Choice]:
    """Return the rows that meet all conditions, in their order."""
    words = _WORD.findall(_TIMES.sub(r"\1 x ", wanted.words.casefold()))
    return [c for c in choices if _meets(c, wanted) and all(_has(c, word) for word in words)]


def _meets(choice: Choice, wanted: ChoiceFilter) -> bool:
    return (
        (not wanted.makers or choice.maker in wanted.makers)
        and (not wanted.terms or choice.terms in wanted.terms)
        and (not wanted.providers or choice.provider in wanted.providers)
        and (not wanted.counts or choice.count in wanted.counts)
        and (choice.memory_bytes or 0.0) >= wanted.memory_bytes
        and (choice.fits or not wanted.fits)
    )


def _has(choice: Choice, word: str) -> bool:
    """Return whether a word of the search occurs; 8 is neither in 80GB nor in SXM8."""
    if word.isdigit():
        return re.search(rf"(?<![\w.]){word}(?![\d.])", choice.words) is not None
    return word in choice.words


def _place(candidate: Candidate) -> tuple[int, bool, int, str, int, float]:
    """Return the sort key: own options, then accelerators by launch, then count and price."""
    card = candidate.hardware.accelerator
    mine = 0 if candidate.source == OWN_ENTRY or candidate.way == "own" else 1
    launched = (card.launched if card else None) or _BEFORE
    price = _per_hour(candidate) or _to_buy(candidate) or 0.0
    return (
        mine, card is None or card.kind == "cpu", -launched.toordinal(),
        card.name if card else candidate.label, candidate.hardware.count, price,
    )  # fmt: skip


def _choice(candidate: Candidate, job: Job, display: Display) -> Choice:
    hardware, offer = candidate.hardware, candidate.offer
    card, count = hardware.accelerator, hardware.count
    per_hour, to_buy = (
        None if usd is None else shown(usd, display)
        for usd in (_per_hour(candidate), _to_buy(candidate))
    )
    as_of = offer.as_of if offer else None
    if offer is None and card is not None and candidate.way == "buy":
        as_of = card.list_price_as_of if count == 1 else card.server_price_as_of
    terms = terms_of(candidate)
    maker = card.maker if card else ""
    place = (offer.provider, offer.region, offer.instance) if offer else ("", "", "")
    return Choice(
        id=candidate.id,
        label=candidate.label,
        accelerator=card.name if card else hardware.label,
        maker=maker,
        memory_bytes=card.memory_bytes if card else None,
        count=count,
        terms=terms,
        provider=place[0],
        region=place[1],
        per_hour=per_hour,
        per_hour_each=None if per_hour is None else per_hour / count,
        to_buy=to_buy,
        to_buy_each=None if to_buy is None else to_buy / count,
        as_of=None if candidate.source == OWN_ENTRY else as_of,
        stale=candidate.stale,
        fits=may_fit(candidate, job),
        words=" ".join([candidate.label, terms, maker, *place]).casefold(),
    )


def terms_of(candidate: Candidate) -> str:
    """Return how an option is paid for, one of `TERMS`."""
    if candidate.way == "rent":
        return _OFFERED[candidate.offer.terms] if candidate.offer else "Rent"
    return BUY if candidate.way == "buy" else OWN


def _per_hour(candidate: Candidate) -> float | None:
    """Return the rent of an hour of the whole machine [USD]."""
    return float(likely(candidate.rental.price_per_hour)) if candidate.rental else None


def _to_buy(candidate: Candidate) -> float | None:
    """Return the price of the whole machine [USD]."""
    if candidate.way != "buy" or candidate.owned is None:
        return None
    return float(likely(candidate.owned.price_usd))
