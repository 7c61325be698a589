"""Numbers in text without exponents, and ratios in words that name the side ahead.

    plain(3621.4, 3)            3,620
    plain(1e-05)                0.00001
    large(7e10)                 70 billion
    with_range(3621, 3489, 3704)  3,620 (3,490 to 3,700)
    counted(2000)               2000: no separator below 10,000
    counted(1e6)                1,000,000
    percent(0.4)                40 %
    times(24.28)                24.3x
    ahead(24.28)                24.3x faster
    ahead(0.0614)               16.3x slower
    ahead(1.001)                equally fast
    ahead(1e-21)                more than a million times slower
    ahead_between(0.98, 1.04)   1.02x slower to 1.04x faster

A ratio is the other side over this one, so above 1 this side is ahead.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Final, Literal

from planner.core._estimate import Estimate
from planner.core._text import Text, plural

if TYPE_CHECKING:
    from planner.core.points import Floats

GIGA: Final = 1e9
GROUPED_FROM: Final = 10_000
"""From here on the digits of a count are set apart by thousands."""
_LARGE: Final = ((1e12, "trillion"), (1e9, "billion"))
_MILLION: Final = (1e6, "million")


def plain(value: float, digits: int = 10) -> str:
    """Return a number rounded to `digits`: 3,620, 0.00001; `nan` and `inf` unchanged."""
    number = f"{value:.{digits}g}"
    if not math.isfinite(value) or (abs(value) < 999.0 and "e" not in number):
        return number
    return f"{Decimal(number):,f}"


def percent(share: float | Floats, decimals: int = 0) -> str:
    """Return a share [1] in per cent: '40 %', '1,250 %', with one decimal '2.5 %'."""
    return f"{100.0 * float(share):,.{decimals}f} %"


def percent_of(estimate: Estimate) -> str:
    """Return a share with its interval: '40 % (30 % to 52 %)'."""
    low, high = percent(estimate.low), percent(estimate.high)
    return f"{percent(estimate.value)} ({low} to {high})"


LEAST_DIGITS: Final = 2
"""Of any estimate, however wide its interval."""
_SIGNS: Final = 8
"""Most signs of a fraction's text beside its digits, and one more digit: a longer one is no tie."""
MOST_DIGITS: Final = 8
"""Digits of a narrow interval; beyond them there is only rounding noise."""


def digits_of(value: float, low: float, high: float, most: int = 5) -> int:
    """Return the digits of a value that its interval allows, from `LEAST_DIGITS` to `most`.

    The last digit is at most worth the interval's half-width. An interval without width allows all.
    """
    if not all(map(math.isfinite, (value, low, high))) or value == 0.0:
        return LEAST_DIGITS
    half = 0.5 * abs(high - low)
    if half == 0.0:
        return most
    places = math.floor(math.log10(abs(value)) + 1e-12) + 1
    return min(max(places - math.floor(math.log10(half) + 1e-12), LEAST_DIGITS), most)


def rounded(value: float, digits: int) -> float:
    """Return a number rounded half up to `digits`."""
    if value == 0.0 or not math.isfinite(value):
        return value
    text = repr(value)
    if len(text) > digits + _SIGNS and not text.endswith(".0"):
        return float(f"{value:.{digits - 1}e}")
    step = Decimal(1).scaleb(math.floor(math.log10(abs(value)) + 1e-12) - digits + 1)
    return float((Decimal(text) / step).quantize(Decimal(1), ROUND_HALF_UP) * step)


def rounded_ends(
    value: float, low: float, high: float, most: int = 5
) -> tuple[float, float, float]:
    """Return a value and both ends of its interval, rounded to its precision.

    2.93 (0.89 to 11.2) becomes 2.9 (0.9 to 11): no end has more decimals than the value, and no end
    above 0 becomes 0. An end below twice the value has as many: 9.8 (9.3 to 10.3).
    """
    digits = digits_of(value, low, high, most)
    middle = rounded(value, digits)
    if middle == 0.0 or not math.isfinite(middle):
        return middle, rounded(low, digits), rounded(high, digits)
    finest = 10.0 ** (math.floor(math.log10(abs(middle)) + 1e-12) - digits + 1)
    near = 2.0 * abs(middle)
    first, last = (_end(end, digits, finest, near) for end in (low, high))
    return middle, first, last


def written_ends(value: float, low: float, high: float, most: int = 5) -> tuple[str, str, str]:
    """Return `rounded_ends` as text, with the zeros that they are rounded to: 25.4, 24.7, 26.0."""
    ends = rounded_ends(value, low, high, most)
    middle = abs(ends[0])
    if middle == 0.0 or low == high or not all(map(math.isfinite, ends)):
        return plain(ends[0]), plain(ends[1]), plain(ends[2])
    places = math.floor(math.log10(middle) + 1e-12) + 1
    decimals = max(digits_of(value, low, high, most) - places, 0)
    first, second, third = (
        _with_zeros(end, decimals) if 0.1**decimals <= abs(end) < 2.0 * middle else plain(end)
        for end in ends
    )
    return first, second, third


def _with_zeros(number: float, decimals: int) -> str:
    """Return `plain` of a number with at least so many decimals."""
    text = plain(number)
    return text if len(text.partition(".")[2]) >= decimals else f"{number:,.{decimals}f}"


def _end(end: float, digits: int, finest: float, near: float) -> float:
    """Return an end of an interval, in steps not finer than the value's; in these below `near`."""
    rounded_end = rounded(end, digits)
    if (
        rounded_end == 0.0
        or not math.isfinite(rounded_end)
        or 10.0 ** math.floor(math.log10(abs(rounded_end))) < finest
    ):
        return rounded(end, 1)
    places = (
        math.floor(math.log10(abs(rounded_end)) + 1e-12)
        - math.floor(math.log10(finest) + 1e-12)
        + 1
    )
    return rounded_end if places >= digits and abs(end) >= near else rounded(end, places)


def with_range(
    value: float, low: float, high: float, most: int = 4, unknown: str = "no limit"
) -> str:
    """Return a number with its interval, rounded to it: '3,600 (3,500 to 3,700)'.

    Without an interval (NaN, or equal ends) only the number. An infinite end is `unknown`.
    """
    if not math.isfinite(value):
        return unknown
    if math.isnan(low) or math.isnan(high) or low == high:
        return plain(value, most)
    if not math.isfinite(high):
        return f"{plain(value, LEAST_DIGITS)} ({plain(low, LEAST_DIGITS)} to {unknown})"
    for digits in range(most, MOST_DIGITS + 1):
        first, second, third = written_ends(value, low, high, digits)
        if second != third:
            break
    return f"{first} ({second} to {third})"


def large(value: float, digits: int = 4, *, millions: bool = False) -> str:
    """Return a number with a word for billions and more, optionally millions; else `plain`."""
    for size, word in (*_LARGE, *((_MILLION,) if millions else ())):
        if value >= size:
            return f"{plain(value / size, digits)} {word}"
    return plain(value, digits)


def counted(count: int) -> str:
    """Return a whole number inside a sentence: '2000', '1,000,000'."""
    return f"{count:,}" if abs(count) >= GROUPED_FROM else str(count)


Thing = Literal[
    "card", "device", "epoch", "line", "measured case", "offer", "pair", "problem", "published run",
    "result set", "row", "run", "trial", "valid row", "workload",
]  # fmt: skip
_SEVERAL: Final[Mapping[Thing, Callable[[int], Text]]] = {
    "card": lambda n: plural(n, "{count:,} card", "{count:,} cards"),
    "device": lambda n: plural(n, "{count:,} device", "{count:,} devices"),
    "epoch": lambda n: plural(n, "{count:,} epoch", "{count:,} epochs"),
    "line": lambda n: plural(n, "{count:,} line", "{count:,} lines"),
    "measured case": lambda n: plural(n, "{count:,} measured case", "{count:,} measured cases"),
    "offer": lambda n: plural(n, "{count:,} offer", "{count:,} offers"),
    "pair": lambda n: plural(n, "{count:,} pair", "{count:,} pairs"),
    "problem": lambda n: plural(n, "{count:,} problem", "{count:,} problems"),
    "published run": lambda n: plural(n, "{count:,} published run", "{count:,} published runs"),
    "result set": lambda n: plural(n, "{count:,} result set", "{count:,} result sets"),
    "row": lambda n: plural(n, "{count:,} row", "{count:,} rows"),
    "run": lambda n: plural(n, "{count:,} run", "{count:,} runs"),
    "trial": lambda n: plural(n, "{count:,} trial", "{count:,} trials"),
    "valid row": lambda n: plural(n, "{count:,} valid row", "{count:,} valid rows"),
    "workload": lambda n: plural(n, "{count:,} workload", "{count:,} workloads"),
}


def several(count: int, what: Thing) -> Text:
    """Return a count of things: '1 run', '1,200 runs'."""
    return _SEVERAL[what](count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words of one quantity: better, worse and level."""

    better: str
    worse: str
    level: str


SPEED: Final = Words(better="faster", worse="slower", level="equally fast")
COST: Final = Words(better="cheaper", worse="more expensive", level="equally expensive")
UNKNOWN: Final = "–"
MOST: Final = 1e6
"""A larger ratio means that the two are not comparable."""


def times(ratio: float) -> str:
    """Return a ratio as people write it: 24.3x, 1.04x, 120x; above a million only that."""
    if ratio > MOST:
        return "more than a million times"
    for digits, below in ((2, 10.0), (1, 100.0)):
        if round(ratio, digits) < below:
            return f"{ratio:.{digits}f}x"
    return f"{ratio:,.0f}x"


def ahead(ratio: float, words: Words = SPEED) -> str:
    """Return the ratio in words; a dash where it is not above 0."""
    return " ".join(_ahead(ratio, words)) if 0.0 < ratio < math.inf else UNKNOWN


def ahead_than(ratio: float, other: str) -> Text:
    """Return a ratio of speeds against another option: '24.3x faster than A', 'as fast as A'."""
    factor = times(max(ratio, 1.0 / ratio))
    if factor == times(1.0):
        return Text("as fast as {other}", other=other)
    if ratio > 1.0:
        return Text("{factor} faster than {other}", factor=factor, other=other)
    return Text("{factor} slower than {other}", factor=factor, other=other)


def _ahead(ratio: float, words: Words) -> tuple[str, ...]:
    """Return the factor and its side, or the word for level."""
    factor = times(max(ratio, 1.0 / ratio))
    if factor == times(1.0):
        return (words.level,)
    return factor, words.better if ratio > 1.0 else words.worse


def ahead_between(low: float, high: float) -> str:
    """Return an interval of ratios in words, from the worse end."""
    if not 0.0 < low <= high < math.inf:
        return "not known"
    first, last = _ahead(low, SPEED), _ahead(high, SPEED)
    if first == last:
        return " ".join(first)
    begins = first[:1] if first[1:] == last[1:] else first
    return f"{' '.join(begins)} to {' '.join(last)}"


def ahead_of(estimate: Estimate | None, words: Words = SPEED) -> str:
    """Return `ahead` of a ratio's value; a dash where there is none."""
    return UNKNOWN if estimate is None else ahead(float(estimate.value), words)


def distinct_labels(parts: Sequence[tuple[str, ...]]) -> list[str]:
    """Return labels joined from the fewest parts that make them unique; equal ones numbered."""
    labels = [p[0] for p in parts]
    for extra in range(1, len(parts[0]) if parts else 0):
        values: dict[str, set[str]] = {}
        for label, part in zip(labels, parts, strict=True):
            values.setdefault(label, set()).add(part[extra])
        varied = {label for label, own in values.items() if len(own) > 1}
        labels = [
            f"{lab} · {p[extra]}" if lab in varied else lab
            for lab, p in zip(labels, parts, strict=True)
        ]
    seen: Counter[str] = Counter()
    final = []
    for label in labels:
        seen[label] += 1
        final.append(label if seen[label] == 1 else f"{label} · run {seen[label]}")
    return final


LABEL_LETTERS: Final = 48
"""Letters of a label beside a chart, where it has two lines."""


def short_labels(labels: Sequence[str]) -> list[str]:
    """Return labels cut for a chart: at the end, or in the middle where two ends are alike."""
    cut = [n if len(n) <= LABEL_LETTERS else f"{n[: LABEL_LETTERS - 1]}…" for n in labels]
    half = LABEL_LETTERS // 2
    return [
        short if cut.count(short) == 1 or short == name else f"{name[: half - 1]}…{name[-half:]}"
        for name, short in zip(labels, cut, strict=True)
    ]
