"""Answer tiles as HTML: a large value, its range bar, and the same in words for screen readers.

    card("Rent 8 x MI300X", [
        time_tile("Time of a run", time, limit_s=3600.0),       # 27 min, bar 15 to 47, limit 1 h
        number_tile("Cost of a run", cost, "USD", limit=25.0),
        share_tile("On time and in budget", 0.99),
    ], theme, badge="57 % likely the cheapest")

Pages and reports use the same piece: it needs no script, style sheet or image. Bars have a
logarithmic scale where all values are positive; they show where the limit is, not its distance.
Colours are those of the theme, with a contrast of at least 4.5 for text.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Final, NewType

from planner.core import (
    Estimate,
    Refusal,
    between,
    in_one_unit,
    plain,
    rounded_ends,
    shipped_text,
    split_unit,
    with_ends,
    written_ends,
)
from planner.figures.frame import DARK_THEME, Theme

Markup = NewType("Markup", str)
"""HTML whose texts are escaped."""
DIGITS: Final = 3
"""Digits of a number in a tile at most."""
_REACH: Final = 3.0
"""A bar reaches at least this factor to either side of the value."""
_ROOM: Final = 0.06
"""Free share of the bar beyond its outermost mark."""
_LETTER, _APART = 6.4, 12.0
"""Width of a letter of an end, and room between both [px]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalBar:
    """A 90 % interval: value and ends on one scale, the ends as text, and a limit if any."""

    value: float
    low: float
    high: float
    low_text: str
    high_text: str
    limit: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One answer: what it is, its value with unit, and how certain it is.

    `share` [1] draws a filled bar instead of a range. `words` is the range for screen readers,
    `ends` what it is, `limit_text` the limit in words, `note` a line below the bar.
    """

    label: str
    value: str
    unit: str = ""
    range: IntervalBar | None = None
    share: float | None = None
    limit_text: str = ""
    words: str = ""
    ends: str = "90 % interval"
    note: str = ""


def time_tile(
    label: str,
    time: Estimate | Refusal,
    *,
    limit_s: float | None = None,
    note: str = "",
    ends_are: str = "90 % interval",
    most: int = 4,
) -> Tile:
    """Return the tile of a duration [s] with its interval; `limit_s` is a deadline.

    Without an interval it has at most `most` digits.
    """
    if isinstance(time, Refusal):
        return refused_tile(label, time)
    value, low, high = ends = _ends_of(time)
    exact = not _finite(ends) or value == low == high
    texts = (in_one_unit(value, most),) * 3 if exact else with_ends(value, low, high)
    number, unit = split_unit(texts[0])
    limit = "" if limit_s is None else f"limit {in_one_unit(limit_s, 3)}"
    note = note or _half_open(low, high, in_one_unit)
    tile = _ranged(label, (number, unit), ends, _short_ends(texts, unit),
                   (limit_s, limit, between(texts[1], texts[2]), note))  # fmt: skip
    return replace(tile, ends=ends_are)


def number_tile(
    label: str,
    number: Estimate | Refusal,
    unit: str = "",
    *,
    limit: float | None = None,
    factor: float = 1.0,
    limit_word: str = "limit",
    write: Callable[[float, float, float], Sequence[str]] | None = None,
    most: int = DIGITS,
) -> Tile:
    """Return the tile of a number with its interval, multiplied by `factor`; `limit` is a bound.

    `write` returns value and ends as texts; without it they have the digits of the interval, at
    most `most`.
    """
    if isinstance(number, Refusal):
        return refused_tile(label, number)
    value, low, high = ends = _ends_of(number, factor)
    span = (value, low, high) if _finite(ends) else (value, value, value)
    texts = write(*rounded_ends(*span, most)) if write else written_ends(*span, most)
    bound = "" if limit is None else f"{limit_word} {plain(limit, 4)}"
    words = f"{texts[1]} to {texts[2]} {unit}".rstrip()
    note = _half_open(low, high, lambda end: plain(end, 2))
    return _ranged(label, (texts[0], unit), ends, (texts[1], texts[2]),
                   (limit, bound, words, note))  # fmt: skip


def _ends_of(estimate: Estimate, factor: float = 1.0) -> tuple[float, float, float]:
    """Return value and ends; an estimate without an interval has its value as both ends."""
    value, low, high = (end * factor for end in estimate.ends)
    return (value, value, value) if math.isnan(low) or math.isnan(high) else (value, low, high)


def _finite(ends: tuple[float, float, float]) -> bool:
    return all(map(math.isfinite, ends))


def _half_open(low: float, high: float, words: Callable[[float], str]) -> str:
    """Return the lower end of an interval without an upper one as a note; "" otherwise."""
    return f"above {words(low)} (90 %)" if math.isfinite(low) and math.isinf(high) else ""


def share_tile(label: str, share: float) -> Tile:
    """Return the tile of a probability or another share [1]."""
    return Tile(label=label, value=share_text(share), unit="%", share=share)


def refused_tile(label: str, refusal: Refusal) -> Tile:
    """Return the tile of a refused answer: a dash and the reason."""
    return Tile(label=label, value="–", note=refusal.reason)


def share_text(share: float) -> str:
    """Return a probability in per cent, without false certainty: '57', '> 99', '< 1'."""
    if share > 0.99:
        return "> 99" if share < 1.0 else "100"
    return "< 1" if 0.0 < share < 0.01 else f"{100.0 * share:.0f}"


def card(title: str, tiles: Sequence[Tile], theme: Theme, *, badge: str = "") -> Markup:
    """Return a heading with its badge, and tiles side by side that wrap on a narrow page."""
    chip = (
        f'<span style="background:{theme.accent_soft};color:{theme.accent};padding:2px 8px;'
        f'border-radius:6px;font-size:0.875rem">{escaped(badge)}</span>'
        if badge
        else ""
    )
    head = (
        '<div style="display:flex;flex-wrap:wrap;gap:6px 10px;align-items:center;'
        'margin:0 0 10px"><h2 style="font-size:1.375rem;line-height:1.3;font-weight:600;'
        f'margin:0;padding:0;color:{theme.text}">{escaped(title)}</h2>{chip}</div>'
        if title
        else ""
    )
    boxes = "".join(_box(tile, theme) for tile in tiles)
    return Markup(
        f'<div class="epochwise-answer" style="color:{theme.text}">{head}'
        '<div style="display:flex;flex-wrap:wrap;gap:12px">'
        f"{boxes}</div></div>"
    )


def _ranged(
    label: str,
    shown: tuple[str, str],
    ends: tuple[float, float, float],
    texts: tuple[str, str],
    more: tuple[float | None, str, str, str],
) -> Tile:
    """Return a tile with a range bar; without an interval it has none."""
    limit, limit_text, words, note = more
    value, low, high = ends
    exact = low == high or not _finite(ends)
    bar = None
    if not (exact and limit is None) and _finite(ends):
        bar = IntervalBar(value=value, low=low, high=high, low_text="" if exact else texts[0],
                          high_text="" if exact else texts[1], limit=limit)  # fmt: skip
    return Tile(label=label, value=shown[0], unit=shown[1], range=bar, limit_text=limit_text,
                words="" if exact else words, note=note)  # fmt: skip


def _short_ends(texts: tuple[str, str, str], unit: str) -> tuple[str, str]:
    """Return the ends of an interval without the unit where it is the value's."""
    low, high = (
        number if end == unit else text for text in texts[1:] for number, end in (split_unit(text),)
    )
    return low, high


def _box(tile: Tile, theme: Theme) -> str:
    limit = (
        f'<span style="color:{theme.warning};white-space:nowrap">{escaped(tile.limit_text)}</span>'
        if tile.limit_text
        else ""
    )
    unit = (
        f' <span style="font-size:1.0625rem;color:{theme.quiet}">{escaped(tile.unit)}</span>'
        if tile.unit
        else ""
    )
    size = "1.875rem" if len(tile.value) <= 9 else "1.375rem"
    return (
        f'<div role="group" aria-label="{escaped(tile.label)}" '
        f'style="border:1px solid {theme.grid};border-radius:8px;padding:10px 14px 12px;'
        'flex:1 1 148px;min-width:0">'
        '<div style="display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 8px;'
        f'font-size:0.875rem;color:{theme.quiet}"><span>{escaped(tile.label)}</span>{limit}</div>'
        f'<div style="font-size:{size};line-height:1.4;font-weight:600;overflow-wrap:anywhere">'
        f"{escaped(tile.value)}{unit}</div>{_bar(tile, theme)}{_words(tile)}"
        f"{_note(tile, theme)}</div>"
    )


def _words(tile: Tile) -> str:
    """Return the interval in words, for screen readers only: the bar shows it."""
    if not tile.words:
        return ""
    return (
        '<span style="position:absolute;width:1px;height:1px;overflow:hidden;'
        f'clip-path:inset(50%);white-space:nowrap">{escaped(tile.ends)}: '
        f"{escaped(tile.words)}</span>"
    )


def _note(tile: Tile, theme: Theme) -> str:
    if not tile.note:
        return ""
    return (
        f'<div style="font-size:0.8125rem;line-height:1.35;color:{theme.quiet};margin-top:4px">'
        f"{escaped(tile.note)}</div>"
    )


def _bar(tile: Tile, theme: Theme) -> str:
    """Return the range bar of a tile, or the filled bar of a share; hidden from screen readers."""
    if tile.share is not None:
        filled = min(max(tile.share, 0.0), 1.0)
        ends = '<span style="float:right">100</span><span>0</span>'
        return _track(_piece(0.0, filled, theme.accent), theme, _texts_row(ends, theme))
    bar = tile.range
    if bar is None:
        return ""
    at = _scale(bar)
    low, high, value = at(bar.low), at(bar.high), at(bar.value)
    pieces = [_piece(low, high, theme.accent_band), _mark(value, theme.accent)]
    if bar.limit is not None:
        pieces.append(_mark(at(bar.limit), theme.warning, width=2, height=18))
    ends = _interval_row(bar, low, high, theme) if bar.low_text else ""
    return _track("".join(pieces), theme, ends)


def _interval_row(bar: IntervalBar, low: float, high: float, theme: Theme) -> str:
    """Return both ends of an interval below its ends, moved apart and inside where room is short.

    The browser places them: only it knows the width of the bar.
    """
    first, last = _LETTER * len(bar.low_text), _LETTER * len(bar.high_text)
    least = f"{(first + last + _APART) / 2.0:.0f}px"
    wide = " + ".join((f"{50.0 * (high - low):.1f}%", f"{(first + last) / 4.0:.0f}px"))
    half = f"min(50%,max({least},{wide}))"
    texts = "".join(f"<span>{escaped(text)}</span>" for text in (bar.low_text, bar.high_text))
    return _texts_row(
        '<div style="position:absolute;display:flex;justify-content:space-between;'
        f"white-space:nowrap;width:calc(2 * {half});transform:translateX(-50%);"
        f'left:clamp({half}, {50.0 * (low + high):.1f}%, 100% - {half})">{texts}</div>',
        theme,
    )


def _scale(bar: IntervalBar) -> "_Scale":
    values = [v for v in (bar.value, bar.low, bar.high, bar.limit) if v is not None]
    log = min(values) > 0.0
    shown = [math.log(v) for v in values] if log else values
    middle = shown[0]
    reach = math.log(_REACH) if log else max(abs(bar.value), bar.high - bar.low)
    first, last = min(*shown, middle - reach), max(*shown, middle + reach)
    room = _ROOM * (last - first)
    return _Scale(first=first - room, last=last + room, log=log)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """The place of a value on a bar, from 0 to 1."""

    first: float
    last: float
    log: bool

    def __call__(self, value: float) -> float:
        shown = math.log(value) if self.log else value
        return (shown - self.first) / max(self.last - self.first, 1e-12)


def _track(inside: str, theme: Theme, ends: str) -> str:
    return (
        f'<div aria-hidden="true"><div style="position:relative;height:6px;margin:8px 0 6px;'
        f'border-radius:3px;background:{theme.grid}">{inside}</div>{ends}</div>'
    )


def _piece(low: float, high: float, colour: str) -> str:
    wide = max(100.0 * (high - low), 0.8)
    return (
        f'<div style="position:absolute;left:{100.0 * low:.1f}%;width:{wide:.1f}%;top:0px;'
        f'height:6px;border-radius:3px;background:{colour}"></div>'
    )


def _mark(at: float, colour: str, width: int = 4, height: int = 14) -> str:
    return (
        f'<div style="position:absolute;left:calc({100.0 * at:.1f}% - {width / 2:g}px);'
        f"top:{3 - height / 2:g}px;width:{width}px;height:{height}px;border-radius:2px;"
        f'background:{colour}"></div>'
    )


def _texts_row(texts: str, theme: Theme) -> str:
    """Return the row below a bar with its texts."""
    return (
        '<div style="position:relative;height:1.2em;font-size:0.8125rem;line-height:1.2;'
        f'color:{theme.quiet}">{texts}</div>'
    )


def escaped(text: str) -> str:
    """Return a text without markup; a number and its % sign stay on one line."""
    return escape(text).replace(" %", "\u00a0%")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One row: `title` with a dot in the colour of its `slot`, and `end` at the right of it.

    `values` are a value with its unit, and words beside it, such as its interval; `facts` are
    names with long texts, each on lines of its own; `note` is one quiet line below them. `link` is
    the address that the title opens, `sources` are words with the web address that each opens.
    """

    title: str
    values: Sequence[tuple[str, str]]
    end: str = ""
    note: str = ""
    slot: int | None = None
    link: str = ""
    sources: Sequence[tuple[str, str]] = ()
    facts: Sequence[tuple[str, str]] = ()


def cards(rows: Sequence[Card], theme: Theme) -> Markup:
    """Return the rows as a list, one below another."""
    items = "".join(_card(row, theme) for row in rows)
    return Markup(
        '<div role="list" class="epochwise-cards" '
        f'style="color:{theme.text};border-bottom:1px solid {theme.grid}">{items}</div>'
    )


def _card(row: Card, theme: Theme) -> str:
    dot = (
        ""
        if row.slot is None
        else '<span aria-hidden="true" style="flex:none;width:10px;height:10px;border-radius:5px;'
        f'background:{theme.colour(row.slot)}"></span>'
    )
    values = "".join(
        f'<span><span style="font-weight:600">{escaped(value)}</span> '
        f'<span style="color:{theme.quiet};font-size:0.875rem">{escaped(words)}</span></span>'
        for value, words in row.values
        if value
    )
    title = escaped(row.title)
    if row.link:
        title = f'<a href="{escaped(row.link)}" target="_self" style="color:inherit">{title}</a>'
    sources = " · ".join(
        f'<a href="{escaped(address)}" target="_blank" rel="noopener noreferrer" '
        f'style="color:{theme.text}">{escaped(words)}</a>'
        for words, address in row.sources
    )
    lines = [
        f'{escaped(name)}: <span style="color:{theme.text}">{escaped(text)}</span>'
        for name, text in row.facts
    ]
    notes = "".join(
        f'<div style="font-size:0.875rem;color:{theme.quiet};margin-top:2px;'
        f'overflow-wrap:anywhere">{note}</div>'
        for note in (*lines, escaped(row.note), sources)
        if note
    )
    return (
        f'<div role="listitem" style="border-top:1px solid {theme.grid};padding:10px 2px">'
        '<div style="display:flex;align-items:center;gap:8px">'
        f'{dot}<span style="font-weight:600;flex:1;min-width:0;overflow-wrap:anywhere">'
        f'{title}</span><span style="color:{theme.quiet}">{escaped(row.end)}</span>'
        '</div><div style="display:flex;flex-wrap:wrap;gap:2px 18px;margin-top:4px">'
        f"{values}</div>{notes}</div>"
    )


def style_sheet(theme: Theme) -> Markup:
    """Return the style sheet for a theme."""
    dark = theme is DARK_THEME
    on_primary = theme.background if dark else "#FFFFFF"
    colours = (
        f":root{{--epochwise-quiet:{theme.quiet};--epochwise-on-primary:{on_primary};"
        f"--epochwise-ring:{theme.colours[0]}}}"
    )
    return Markup(f"<style>{colours}\n{_RULES}</style>")


_RULES: Final = shipped_text(__package__, "rules.css")
