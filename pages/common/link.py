"""All state that matters is in the URL, and a link that has gone stale says so.

Streamlit can bind a widget to the URL, but it puts the widget's label there (a label with a
count in it changes with every run), drops a value that no longer exists without a word, and
forgets everything on the way to another page and back (docs/decisions/0006). Here each page owns
a `Link`: ask it for the first value of every widget, draw the widgets, then call `write`.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from pages.common.link_address import (
    LAST,
    MOST,
    Parameters,
    base,
    memory_of,
    offer,
    parameters_now,
    read,
)
from pages.common.link_values import as_text, as_texts, plain
from planner.core import (
    Parameter,
    looked_up,
    not_found,
    number_of,
    number_text,
    shown,
    slug,
    value_of,
)
from planner.core.slugs import slugs

__all__ = ["Link", "Options", "Parameters", "as_text", "page_link", "plain", "slug", "slugs"]
Options = Sequence[str] | Mapping[str, str]
"""Values that a widget offers: as they are, or slugs with the names they stand for."""


def page_link(page: str, target: Path, label: str, icon: str, parameters: Parameters) -> None:
    """Draw a link from `page` to another page of the app, which opens with these parameters."""
    offer(page, parameters)
    st.page_link(target, label=label, icon=icon, query_params=parameters)


class Link:
    """The state of one page, in the URL and in the session."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.problems: list[str] = []
        self._unclear = False
        self._defaults: dict[str, Any] = {}
        self._amounts: set[str] = set()
        self._carried: Parameters = {}
        self._pinned: tuple[str, ...] = ()
        self._stated: tuple[str, ...] = ()
        self._added: Parameters = {}
        memory = memory_of(page)
        self._cut_short = bool(memory.get("drawing"))
        memory["drawing"] = True
        self._told_again: set[str] = set()
        self._before = str(st.session_state.get(LAST, page))
        self._given = read(page)

    @property
    def given(self) -> Parameters:
        """What the page began with: the link's values, or those it was left with."""
        return self._given

    def key(self, name: str) -> str:
        """The widget key of parameter `name`."""
        return f"{self.page}.{name}"

    def held(self, name: str) -> Any:  # noqa: ANN401 - whatever the widget holds
        """Its value, to draw the widget with too.

        The browser draws a widget's own first value, its least number or its first option, until
        it is told what the page holds; and where it is told too late it sends that back as chosen.
        Not for a number that may be left empty: Streamlit takes an empty field for this value.
        """
        return st.session_state[self.key(name)]

    def place(self, name: str, options: Sequence[str]) -> int:
        """Place of its value among the options, for a widget that is drawn with a place."""
        held = self.held(name)
        return list(options).index(held) if held in options else 0

    def one(self, name: str, options: Options, default: str) -> str:
        """First value of a widget with one choice; say so if the link names no such option.

        Options that are slugs come with their names, so that older links find theirs.
        """
        self._defaults[name] = default
        self._twice(name)
        self._begin(name, self._asked(name, options)[:1], default)
        held = str(st.session_state[self.key(name)])
        if held not in options:
            st.session_state[self.key(name)] = (self._still(name, [held], options) or [default])[0]
        return str(st.session_state[self.key(name)])

    def many(
        self, name: str, options: Options, default: Sequence[str], most: int = MOST
    ) -> list[str]:
        """First values of a widget with many choices; options that are gone are named.

        Where all that was chosen is gone (another workload, say) the default is shown.
        """
        self._defaults[name] = list(default)
        asked = self._asked(name, options)
        if len(asked) > most and self.key(name) not in st.session_state:
            self.problems.append(f"{name}: {len(asked)} values; the first {most} are shown.")
        known = name in self._given and (asked or self._given[name] == [""])
        self._begin(name, [asked] if known else [], list(default))
        chosen = st.session_state[self.key(name)]
        kept = self._still(name, chosen, options)[:most]
        if chosen and not kept:
            kept = list(default)
        if kept != chosen:  # a value set here overrides what is being clicked at this moment
            st.session_state[self.key(name)] = kept
        return kept

    def number(self, name: str, low: int, high: int, default: int) -> int:
        """First value of a whole number between `low` and `high`."""
        self._defaults[name] = default
        self._twice(name)
        one = Parameter(name=name, words="", kind="whole", least=low, most=high)
        self._begin(name, self._read(one), default)
        return int(st.session_state[self.key(name)])

    def whole(self, name: str, low: int, high: int) -> int | None:
        """First value of a whole number that may be left empty; None is left empty."""
        self._defaults[name] = None
        self._twice(name)
        one = Parameter(name=name, words="", kind="whole", least=low, most=high, short=True)
        self._begin(name, self._read(one), None)
        value = st.session_state[self.key(name)]
        return None if value is None else int(value)

    def amount(self, name: str, low: float, high: float) -> None:
        """First text of a field for a large number, as 7B; the link has the number itself."""
        self._defaults[name] = ""
        self._amounts.add(name)
        self._twice(name)
        one = Parameter(name=name, words="", kind="number", least=low, most=high, short=True)
        self._begin(name, [number_text(value) for value in self._read(one)], "")

    def decimal(
        self, name: str, low: float, high: float, default: float | None, *, short: bool = False
    ) -> float | None:
        """First value of a number between `low` and `high`, both allowed; None is left empty.

        A `short` one may stand in the link as 4k or 1.5M.
        """
        self._defaults[name] = default
        self._twice(name)
        one = Parameter(name=name, words="", kind="number", least=low, most=high, short=short)
        self._begin(name, self._read(one), default)
        value = st.session_state[self.key(name)]
        return None if value is None else float(value)

    def words(self, name: str, default: str, most: int = 80) -> str:
        """First value of a text somebody types, one line of at most so many characters."""
        self._defaults[name] = default
        self._twice(name)
        one = Parameter(name=name, words="", longest=most)
        self._begin(name, self._read(one), default)
        return plain(str(st.session_state[self.key(name)] or ""))

    def day(self, name: str) -> dt.date | None:
        """First value of a date, written YYYY-MM-DD; None where none is given."""
        self._defaults[name] = None
        self._twice(name)
        self._begin(name, self._read(Parameter(name=name, words="", kind="date")), None)
        value = st.session_state[self.key(name)]
        return value if isinstance(value, dt.date) else None

    def texts(self, name: str, most: int) -> list[str]:
        """Values that no widget holds; change them with `put`."""
        self._defaults[name] = []
        asked = list(dict.fromkeys(self._given.get(name, [])))
        if len(asked) > most and self.key(name) not in st.session_state:
            self.problems.append(f"{name}: {len(asked)} values; the first {most} are used.")
        self._begin(name, [asked[:most]], [])
        return list(st.session_state[self.key(name)])

    def put(self, name: str, value: object) -> None:
        """Set a parameter from a button's callback."""
        st.session_state[self.key(name)] = value

    def flag(self, name: str, *, default: bool) -> bool:
        """First value of a switch, written as on or off."""
        self._defaults[name] = default
        self._twice(name)
        self._begin(name, self._read(Parameter(name=name, words="", kind="flag")), default)
        return bool(st.session_state[self.key(name)])

    def text(self, name: str, pattern: str) -> str | None:
        """A value that no widget holds, as an id in the link; None where it is not given."""
        self._defaults[name] = None
        asked = [t for t in self._given.get(name, [])[:1] if re.fullmatch(pattern, t)]
        if name in self._given and not asked and self.key(name) not in st.session_state:
            given = as_text(self._given[name][0][:80])
            self.problems.append(f"{name}: “{given}” is not of that form.")
        self._begin(name, asked, None)
        value = st.session_state[self.key(name)]
        return None if value is None else str(value)

    def forget(self, *names: str) -> None:
        """Set parameters back to their defaults (from a button's callback)."""
        for name in names:
            st.session_state.pop(self.key(name), None)
        memory_of(self.page)["reset"] = True
        memory_of(self.page)["address"] = parameters_now()

    def forget_now(self, name: str) -> None:
        """Drop one parameter, in the middle of a run or from a callback."""
        st.session_state[self.key(name)] = None

    def adopt(self, parameters: Parameters) -> None:
        """Show another state of the page: from a button's callback, or before any widget."""
        for name in {*memory_of(self.page).get("values", {}), *self._defaults}:
            st.session_state.pop(self.key(name), None)
        kept = {name: list(values) for name, values in parameters.items()}
        self._given = kept
        memory_of(self.page)["adopted"] = kept
        memory_of(self.page)["address"] = parameters_now()

    def translate(self, name: str, write: Callable[[str], str]) -> None:
        """Write a parameter's texts as this page has them, before it is read."""
        if name in self._given:
            self._given = self._given | {name: [write(text) for text in self._given[name]]}

    def drop(self, name: str, void: Callable[[str], bool]) -> None:
        """Let texts of a parameter go that add nothing, without a word."""
        if name in self._given:
            left = [text for text in self._given[name] if not void(text)]
            self._given = {n: v for n, v in self._given.items() if n != name}
            self._given |= {name: left} if left else {}

    def merge(self, name: str, into: str) -> None:
        """Read a parameter under the name that this page has for it."""
        if name in self._given:
            both = [*self._given.get(into, []), *filter(None, self._given[name])]
            self._given = {n: v for n, v in self._given.items() if n != name}
            self._given |= {into: both} if both else {}

    def keep(self, *names: str) -> None:
        """Carry parameters along whose widgets this view does not draw."""
        kept = memory_of(self.page).get("written") or self._given
        self._carried |= {n: kept[n] for n in names if n in kept}

    def pin(self, *names: str) -> None:
        """Write parameters into the link even where they are the default of the day."""
        self._pinned = (*self._pinned, *names)

    def state(self, *names: str, **added: str) -> None:
        """Write parameters into the link to share even where they are the default of the day.

        Defaults follow the runs and prices at hand: elsewhere, or tomorrow, a link without them
        means something else. `added` are texts that only the shared link carries.
        """
        self._stated = names
        self._added = {name: [text] for name, text in added.items() if text}

    def ignore(self, *names: str) -> None:
        """Let parameters go that mean nothing in this view, without a word."""
        self._given = {n: v for n, v in self._given.items() if n not in names}

    def write(self) -> None:
        """Put every value that is not a default into the URL.

        An address that says the same with some defaults written out stays as it is: another one
        would be one more entry of the browser's history, and Back would stay on the page.
        """
        address = {k: st.query_params.get_all(k) for k in st.query_params}
        same = self.parameters(*address) == address
        now = address if same else self.parameters()
        memory = memory_of(self.page)
        memory["written"] = now
        st.session_state[LAST] = self.page
        memory["values"] = {n: st.session_state.get(self.key(n)) for n in self._defaults}
        memory["drawing"] = False
        for name in ("adopted", "reset", "address"):
            memory.pop(name, None)
        if address != now:
            st.query_params.from_dict(now)

    def tell(self) -> None:
        """Name the parts of the link that no longer exist, or never did.

        Parameters of the page one comes from are dropped without a word: after Back they stand in
        the address of this one, though nobody wrote them there.
        """
        others = memory_of(self._before).get("values", {}) if self._before != self.page else {}
        for name in self._given:
            if name not in self._defaults and name not in self._carried and name not in others:
                self.problems.append(f"{as_text(name[:80])}: unknown setting on this page.")
        if self.problems:
            st.warning(
                "Part of this link could not be followed:\n"
                + "\n".join(f"- {p}" for p in self.problems),
                icon=":material/link_off:",
            )
        if self._unclear:  # an answer to another question must not stand below
            st.button("Show what is chosen", key=f"{self.page}.unclear", icon=":material/check:")
            st.stop()

    def parameters(self, *also: str) -> Parameters:
        """The non-default values as they stand in the URL, and those of `also` in any case."""
        found = dict(self._carried)
        held = st.session_state.to_dict()  # one lookup: Streamlit is slow at single values
        for name, default in self._defaults.items():
            value = held.get(self.key(name))
            if value is not None and (value != default or name in {*also, *self._pinned}):
                found[name] = as_texts(_amount(value) if name in self._amounts else value)
        return found

    def shared(self) -> Parameters:
        """The state that a link to share carries: its defaults too, where they are `state`d."""
        stated, chosen = self.parameters(*self._stated), self.parameters()
        kept = {n: v for n, v in stated.items() if n in chosen or any(v)}
        return kept | self._added

    def url(self) -> str:
        """The page's full address with its state, to hand to somebody."""
        return f"{base()}?{urlencode(self.shared(), doseq=True)}".rstrip("?")

    # -- reading -----------------------------------------------------------------------------

    def _asked(self, name: str, options: Options) -> list[str]:
        asked = list(dict.fromkeys(self._given.get(name, [])))
        if self.key(name) in st.session_state:
            return [v for v in asked if v in options]
        meant = [(text, _meant(text, options)) for text in asked]
        for text, found in meant:
            if text and not isinstance(found, str):
                self._gone(name, text, options, found)
        return list(dict.fromkeys(found for _, found in meant if isinstance(found, str)))

    def _still(self, name: str, held: Sequence[str], options: Options) -> list[str]:
        """What is held and still among the options, under the slugs of today."""
        meant = [(v, _meant(v, options)) for v in held]
        for text, found in meant:
            if found and not isinstance(found, str):
                self._gone(name, text, options, found)
        return list(dict.fromkeys(found for _, found in meant if isinstance(found, str)))

    def _gone(self, name: str, text: str, options: Options, alike: tuple[str, ...]) -> None:
        """Say that a text means no option, or several."""
        if alike and isinstance(options, Mapping):
            self._unclear = True
            self.problems.append(f"{name}: {as_text(not_found(name, text[:80], options))}")
            return
        self.problems.append(f"{name}: “{as_text(text[:80])}” is not among the options any more.")

    def _read(self, one: Parameter) -> list[Any]:
        """The value that the link gives, as programs read it too; none where it cannot be read."""
        for text in self._given.get(one.name, [])[:1]:
            value, wrong = value_of(one, text)
            if not wrong:
                return [value]
            if self.key(one.name) not in st.session_state:
                why = as_text(wrong.removeprefix(f"{shown(text)} "))
                self.problems.append(f"{one.name}: “{as_text(text[:80])}” {why}")
        return []

    def _twice(self, name: str) -> None:
        """Say so where a parameter with one value is given several times."""
        values = self._given.get(name, [])
        if len(values) > 1 and self.key(name) not in st.session_state:
            first = as_text(values[0][:80])
            self.problems.append(f"{name}: given {len(values)} times; “{first}” counts.")

    def _begin(self, name: str, asked: Sequence[Any], default: object) -> None:
        key = self.key(name)
        if key not in st.session_state:
            st.session_state[key] = asked[0] if asked else default
        elif self._cut_short and name not in self._told_again:
            # A click ended the last run early. Where the browser was not yet told this value, the
            # widget would come without it and show its least number or its first option.
            self._told_again.add(name)
            st.session_state[key] = st.session_state[key]


def _amount(text: str) -> float | str:
    """The number of a field's text; the text itself where it is none, so that it is reported."""
    value = number_of(text)
    return text if math.isnan(value) else value


def _meant(text: str, options: Options) -> str | tuple[str, ...]:
    """The option that a text means, or all that it may mean."""
    if isinstance(options, Mapping):
        return looked_up(text, options)
    return text if text in options else ()
