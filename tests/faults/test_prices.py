"""Damaged price lists: sound rows are kept, the rest is named, and no link leads anywhere odd."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from random import Random
from typing import Final
from urllib.parse import urlsplit

import pytest

from planner.catalog import TABLE_NAMES, Catalog
from planner.store.catalog import import_csv, read_catalog
from tests.faults.hostile import NUMBERS, TEXTS
from tests.faults.mutants import unsealed
from tests.faults.outcomes import FULL, Outcome, drawn, finish
from tests.shipped import ROOT

pytestmark = pytest.mark.faults
MUTANTS: Final = 1500 if FULL else 30
SHIPPED: Final = ROOT / "data" / "catalog"
TODAY: Final = date(2026, 11, 21)
HEADER_AND_SOME: Final = 25
"""Lines of a shipped table that are damaged at a time."""


def _cells(draw: Random, text: str) -> str:
    """Some cells replaced by what strangers write."""
    rows = [line.split(",") for line in text.splitlines()]
    for _ in range(draw.choice((1, 3, 20))):
        line = draw.choice(rows)
        line[draw.randrange(len(line))] = draw.choice((*TEXTS, *NUMBERS)).replace("\ud7ff", "")
    return "\n".join(",".join(line) for line in rows)


def _lines(draw: Random, text: str) -> str:
    """Lines doubled, dropped, moved or joined."""
    lines = text.splitlines()
    for _ in range(draw.choice((1, 5))):
        at = draw.randrange(len(lines))
        lines[at:at] = draw.choice(([], [lines[at]], [lines[0]], [lines[at] * 3], [","], ['"']))
    return draw.choice(("\n", "\r\n", "\r", "\n\n", ";")).join(lines)


def _bytes(draw: Random, text: str) -> bytes:
    return unsealed(draw, text.encode())[1]


def _coded(draw: Random, text: str) -> bytes:
    return text.encode(draw.choice(("utf-16", "utf-8-sig", "utf-32", "utf-16-le")))


DAMAGES: Final[tuple[Callable[[Random, str], str | bytes], ...]] = (
    _cells, _cells, _lines, _bytes, _coded
)  # fmt: skip


def test_a_damaged_price_list_breaks_nothing(tmp_path: Path) -> None:
    outcome = Outcome(name="damaged price lists")
    shipped = read_catalog(SHIPPED, today=TODAY).catalog
    for number in range(MUTANTS):
        draw = drawn(outcome.name, number)
        table = draw.choice(("prices", "prices", *TABLE_NAMES))
        text = (SHIPPED / f"{table}.csv").read_text(encoding="utf-8")
        lines = text.splitlines()
        some = "\n".join([lines[0], *draw.sample(lines[1:], min(HEADER_AND_SOME, len(lines) - 1))])
        made = draw.choice(DAMAGES)(draw, some)
        data = made if isinstance(made, bytes) else made.encode("utf-8", "surrogatepass")
        what = f"list {number} ({table})"
        (tmp_path / f"{table}.csv").write_bytes(data)
        with outcome.case(what):
            rows, problems = import_csv(table, data, shipped, today=TODAY)
            outcome.counts["with problems" if problems else "sound"] += 1
            _looked_at(outcome, what, rows)
            read = read_catalog(SHIPPED, [tmp_path], today=TODAY)
            _looked_at(outcome, what, read.catalog)
            if len(read.catalog.offers) < len(shipped.offers):
                outcome.differs(f"{what}: shipped offers are gone")
        (tmp_path / f"{table}.csv").unlink()
    finish(outcome)


def _looked_at(outcome: Outcome, what: str, catalog: Catalog) -> None:
    for offer in catalog.offers:
        if offer.source_url and urlsplit(offer.source_url).scheme not in {"http", "https"}:
            outcome.differs(f"{what}: a link to {offer.source_url[:80]}")
        if not 0.0 < offer.price_per_hour < 1e12:
            outcome.differs(f"{what}: a price of {offer.price_per_hour}")
