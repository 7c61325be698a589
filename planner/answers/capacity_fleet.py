"""Lines of a fleet as cells of a table, and back.

A line is the text of a link: `2 x own|a100-sxm-80gb|8`, `1 x buy|h100-sxm|8|260000 total from 7`,
or a count of an option of Compare hardware. Owned machines begin with `own:` in place of `own|`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from planner.answers._capacity import stock_of

OWN: Final = "own:"
OFFER: Final = "offer"
"""The way of a line that names an option of Compare hardware."""
_TOTAL: Final = " total"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a fleet.

    way: own, buy, rent, spot, reserved-1, reserved-3, or `offer`.
    accelerator: its id; of an offer the id of the option.
    each: accelerators of one machine.
    price: of the whole machine in USD, of a rented one per hour; None is the list price.
    """

    way: str
    accelerator: str
    each: int = 8
    machines: int = 1
    price: float | None = None
    from_month: int = 1

    def cells(self) -> dict[str, Any]:
        """Return the cells of its row."""
        return {
            "way": self.way, "accelerator": self.accelerator, "each": self.each,
            "machines": self.machines, "price": self.price, "from_month": self.from_month,
        }  # fmt: skip


def line_of(text: str) -> Line:
    """Return the line of a text; owned machines begin with `own:`."""
    owned = text.startswith(OWN)
    stock = stock_of(text.removeprefix(OWN))
    common: dict[str, Any] = {"machines": stock.count, "from_month": stock.from_month}
    parts = stock.machine.split("|")
    if owned:
        parts = ["own", *parts]
    if len(parts) == 1:
        return Line(way=OFFER, accelerator=stock.machine, each=1, **common)
    way, accelerator, each, *rest = (*parts, "1") if len(parts) == 2 else parts
    price = rest[0].removesuffix(_TOTAL).strip() if rest else ""
    return Line(way=way, accelerator=accelerator, each=_whole(each, 1),
                price=_amount(price), **common)  # fmt: skip


def line_text(cells: Mapping[str, Any]) -> str:
    """Return the text of a row of the table; "" where it names no accelerator."""
    way, accelerator = str(cells.get("way") or "buy"), str(cells.get("accelerator") or "")
    if not accelerator:
        return ""
    machines = cells.get("machines")
    count = 1 if machines is None else int(machines)
    begin = int(cells.get("from_month") or 1)
    start = "" if begin == 1 else f" from {begin}"
    if way == OFFER:
        return f"{count} x {accelerator}{start}"
    each = int(cells.get("each") or 8)
    if way == "own":
        return f"{OWN}{count} x {accelerator}|{each}"
    price = cells.get("price")
    words = "" if price is None else f"|{float(price):.12g}"
    total = _TOTAL if words and way == "buy" else ""
    return f"{count} x {way}|{accelerator}|{each}{words}{total}{start}"


def _whole(text: str, default: int) -> int:
    return int(text) if text.strip().isdecimal() else default


def _amount(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
