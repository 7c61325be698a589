"""What strangers put into links and questions: values for every kind of parameter, and others."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final
from urllib.parse import quote, urlencode

from planner.core import Parameter, text_of

Pairs = list[tuple[str, str]]

TEXTS: Final = (
    "", " ", "\0", "\n", "none", "none-2", "null", "undefined", "NaN", "true", "[object Object]",
    "' OR 1=1 --", "'; DROP TABLE runs; --", '" UNION SELECT file FROM runs --', "%' OR '%'='",
    "../../../../etc/passwd", "..\\..\\windows\\win.ini", "/etc/passwd", "file:///etc/passwd",
    "%2e%2e%2f", "C:\\", "\\\\host\\share", "http://127.0.0.1:1/", "a" * 5000, "é" * 900,
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "![p](http://127.0.0.1:1/x.png)",
    "[l](javascript:alert(1))", "**b**", "`c`", "$x^2$", "{{7*7}}", "${7*7}", "%s%s%n", "{0}",
    "=1+1", "@x", "+x", "-x", "\u202eevil\u202c", "\u200b", "\ufeff", "\ud7ff", "\U0010ffff",
    "猫分類", "日本 提案", "ß", "İ", "ﬀ", "e\u0301", "👩‍👩‍👧", "*", "?", "[a-z]", "(a+)+$", "|",
    "a|b|c|d",
    "rent|h100-sxm|8|30", "buy|h100-sxm|0|-1", "rent|h100-sxm|1e9|nan", "mine-0", "own-none",
    "-1", "0", "9" * 400, "0x10", "1e400", "1_000", "１２", "１", "١",
)  # fmt: skip
"""Texts that have broken programs."""
NUMBERS: Final = (
    "nan", "inf", "-inf", "Infinity", "1e999", "-1e999", "1e308", "5e-324", "1e-400", "-0", "-0.0",
    "0", "0.0", "-1", "1", "1.5", ".5", "5.", "1e", "e1", "+1", "++1", "1,5", "1.000.000", "1 000",
    "0x1p3", "1e+2", "1E2", "1d2", "9007199254740993", "1" * 30, "1" * 300, "0.1" + "0" * 60 + "1",
    "2147483648", "4294967296", "9223372036854775808", "18446744073709551616",
)  # fmt: skip
"""Texts for a number, sound and unsound."""
DATES: Final = (
    "2026-11-21", "2026-02-29", "2024-02-29", "2026-13-01", "0000-01-01", "0001-01-01",
    "9999-12-31", "10000-01-01", "2026-1-1", "21.11.2026", "2026-11-21T09:00+09:00",
    "2036-11-27T09:00+09:00", "9999-12-31T23:59+00:00", "0001-01-01T00:00+23:59",
    "9999-12-31T23:59-23:59", "2026-11-27T09:00Z", "2026-11-27T25:00Z", "now", "1969-12-31",
)  # fmt: skip


def given(
    draw: random.Random, table: Sequence[Parameter], known: Mapping[str, Sequence[str]]
) -> Pairs:
    """Names and values of one question: most often sound ones, some of them hostile.

    Args:
        draw: what all is drawn from.
        table: what may be asked.
        known: values that exist, by the name of their parameter.
    """
    bad = draw.random() < 0.45
    usable = [p for p in table if bad or p.kind != "text" or p.name in known]
    named = [p for p in usable if p.name == "workload" and draw.random() < 0.95]
    count = min(len(usable), draw.choice((0, 1, 1, 2, 3, 4, 8)))
    chosen = {p.name: p for p in [*named, *draw.sample(usable, count)]}
    pairs: Pairs = []
    for one in chosen.values():
        times = draw.choice((1, 2, 5)) if one.many > 1 else 1
        hostile = bad and draw.random() < 0.4
        make = hostile_text if hostile else sound_text
        pairs += [(one.name, make(draw, one, known)) for _ in range(times)]
    if draw.random() < 0.05:
        pairs.append((draw.choice(TEXTS)[:50], draw.choice(TEXTS)))
    if bad and draw.random() < 0.1:
        pairs += pairs[:1] * draw.choice((1, 70, 250))
    return pairs


def query_of(pairs: Pairs) -> str:
    """The pairs as the part of an address behind its question mark."""
    return urlencode(pairs, quote_via=quote, errors="surrogatepass")


def sound_text(draw: random.Random, one: Parameter, known: Mapping[str, Sequence[str]]) -> str:
    """A value that the table allows; names are those that exist."""
    return str(_SOUND[one.kind](draw, one, known))


def hostile_text(draw: random.Random, one: Parameter, known: Mapping[str, Sequence[str]]) -> str:
    """A value on a bound, beyond it, of another kind, or of none."""
    listed = list(known.get(one.name, ()))
    near = [draw.choice(listed) + draw.choice(("", "x", "-2", " "))] if listed else []
    edges = [text_of(e) for e in (one.least, one.most) if e is not None]
    beyond = [text_of(_beyond(e, draw)) for e in (one.least, one.most) if e is not None]
    kinds: dict[str, tuple[str, ...]] = {"number": NUMBERS, "whole": NUMBERS, "date": DATES}
    own = kinds.get(one.kind, TEXTS)
    by = DATES if one.name == "by" else ()
    return str(draw.choice([*edges, *beyond, *near, *by, draw.choice(own), draw.choice(TEXTS)]))


def _beyond(edge: float, draw: random.Random) -> float:
    return draw.choice((edge - 1, edge + 1, edge * (1 + 2**-52), edge * 10, -edge))


def _number(draw: random.Random, one: Parameter, _: Mapping[str, Sequence[str]]) -> str:
    """Drawn evenly over the orders of magnitude, bounds included."""
    least, most = one.least if one.least is not None else -1e9, one.most or 1e9
    if draw.random() < 0.1:
        return text_of(draw.choice((float(least), float(most))))
    if least < 0.0:
        return text_of(draw.uniform(least, most))
    low = max(least, 1e-9)
    value = min(most, max(least, low * (most / low) ** draw.random()))
    return text_of(float(f"{value:.6g}")) if draw.random() < 0.5 else text_of(value)


def _whole(draw: random.Random, one: Parameter, known: Mapping[str, Sequence[str]]) -> str:
    least, most = int(one.least or 0), int(one.most or 10**9)
    return str(min(most, max(least, int(float(_number(draw, one, known))))))


def _listed(draw: random.Random, one: Parameter, known: Mapping[str, Sequence[str]]) -> str:
    listed = known.get(one.name, ())
    return draw.choice(listed) if listed else str(one.default or "x")


_SOUND: Final[
    Mapping[str, Callable[[random.Random, Parameter, Mapping[str, Sequence[str]]], str]]
] = MappingProxyType(
    {
        "number": _number,
        "whole": _whole,
        "choice": lambda draw, one, known: draw.choice(tuple(known.get(one.name, one.choices))),
        "flag": lambda draw, _one, _: draw.choice(("on", "off")),
        "date": lambda draw, _one, _: f"20{draw.randrange(20, 27)}-0{draw.randrange(1, 10)}-15",
        "text": _listed,
    }
)
