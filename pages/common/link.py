"""Page state in the URL, with warnings for stale links.

Streamlit can bind a widget to the URL, but it writes the widget's label (a label with a count
changes with every run), drops a value that no longer exists silently, and loses everything on the
way to another page and back (docs/decisions/0006). Here each page owns a `Link`: read the initial
value of every widget from it, draw the widgets, then call `write`.
"""

import datetime as dt
import os
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import streamlit as st

from planner.core import (
    LONGEST_VALUE,
    Parameter,
    ParameterProblem,
    Text,
    encoded,
    looked_up,
    no_match,
    number_text,
    parsed,
    text_of,
    value_of,
    with_current_names,
)
from planner.report import public_url, with_base

Parameters = dict[str, list[str]]
MOST: Final = 60
"""Most values of one parameter that are read from a link."""
LAST: Final = "link-last-page"
"""Session key of the page that was drawn last."""


def read(page: str) -> Parameters:
    """Return the page's first parameters.

    A URL that differs from the one we wrote, without a change by hand, comes from a link or from
    Back, so the URL wins. With an empty URL on the way from another page, the page is as it was
    left. The same holds for the parameters of a link to another page: Streamlit writes them into
    the address of the page that is left, where Back finds them.
    """
    memory, address = memory_of(page), parameters_now()
    written, values = memory.get("written"), memory.get("values", {})
    if address in memory.get("offered", ()) and address != written:
        address = written or {}
    if address and address != memory.get("address", address):  # a link was followed since
        for name in ("adopted", "reset", "address"):
            memory.pop(name, None)
        return _anew(page, address)
    adopted: Parameters | None = memory.get("adopted")
    if adopted is not None:
        return adopted
    if memory.get("reset", False):
        return {}
    if not address and st.session_state.get(LAST) != page:
        _cleared(page)  # `hold` leaves an older value behind, which would win
        return written or {}
    if address != (written or {}) and not _is_touched(page, values):
        return _anew(page, address)
    return written or address


def _is_touched(page: str, values: Mapping[str, Any]) -> bool:
    """Return whether a field holds another value than the page wrote last."""
    live = {n: st.session_state.get(f"{page}.{n}") for n in values}
    return any(v is not None and v != values[n] for n, v in live.items())


def offer(page: str, parameters: Parameters) -> None:
    """Remember the parameters of a link that `page` draws to another page."""
    offered: list[Parameters] = memory_of(page).setdefault("offered", [])
    if parameters not in offered:
        offered.append(parameters)
        del offered[:-MOST]


def _anew(page: str, parameters: Parameters) -> Parameters:
    """Return the address's parameters after clearing what the page held."""
    _cleared(page)
    memory_of(page).pop("aside", None)
    return parameters


def _cleared(page: str) -> None:
    for name in memory_of(page).get("values", {}):
        st.session_state.pop(f"{page}.{name}", None)


def parameters_now() -> Parameters:
    """Return the parameters in the current address."""
    now = {k: st.query_params.get_all(k)[:MOST] for k in st.query_params}
    return with_current_names(now)


def memory_of(page: str) -> dict[str, Any]:
    """Return the session's memory of a page between its runs."""
    memory: dict[str, Any] = st.session_state.setdefault(f"link:{page}", {})
    return memory


def base() -> str:
    """Return the page's address without its state; "" where unknown.

    It lies below the public address of the app where that is set: others open it.
    """
    url = st.context.url
    if not url:
        return ""
    try:
        public = public_url(os.environ)
    except ValueError:  # reported where reports are made
        public = ""
    return with_base(urlsplit(url)._replace(query="", fragment="").geturl(), public)


def is_local() -> bool:
    """Return whether the page was opened under an address that only this machine has."""
    host = urlsplit(st.context.url or "").hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


_JOIN: Final = "\u2060"
"""Word joiner of zero width: between two characters it stops them from forming markup."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs"})
"""Categories of invisible characters: controls, direction marks, surrogates."""
_LATE: Final = re.compile(
    r"(?<=:)(?=\S)|(?<=www)(?=\.)|(?<=@)|(?<=[-<>=~])(?=[-<>=~])", re.IGNORECASE
)
"""Where Streamlit makes links, icons and arrows after backslashes have been taken away."""


@lru_cache(maxsize=8192)
def as_text(text: str) -> str:
    """Return `text` on one line, escaped so that Markdown shows it as it is."""
    joined = _LATE.sub(_JOIN, plain(text))
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|$:~^=&])", r"\\\1", joined)


@lru_cache(maxsize=8192)
def plain(text: str) -> str:
    """Return `text` on one line, without invisible characters."""
    return "".join(c for c in " ".join(text.split()) if unicodedata.category(c) not in _UNSEEN)


def as_texts(value: object) -> list[str]:
    """Return a widget's value as texts of a link."""
    if isinstance(value, list):
        return [text_of(v) for v in value] or [""]
    return [text_of(value)]


Options = Sequence[str] | Mapping[str, str]
"""Values that a widget offers: plain, or slugs with their names."""


def page_link(page: str, target: Path, label: str, icon: str, parameters: Parameters) -> None:
    """Draw a link from `page` to another page of the app, with these parameters."""
    offer(page, parameters)
    st.page_link(target, label=label, icon=icon, query_params=parameters)


class Link:
    """The state of one page, in the URL and in the session."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.problems: list[str] = []
        self._unclear = False
        self._defaults: dict[str, Any] = {}
        self._amounts: dict[str, Parameter] = {}
        self._carried: Parameters = {}
        self._pinned: tuple[str, ...] = ()
        self._stated: tuple[str, ...] = ()
        self._added: Parameters = {}
        self._now: dict[str, Any] | None = None
        self._is_written = False
        memory = memory_of(page)
        self._cut_short = bool(memory.get("drawing"))
        memory["drawing"] = True
        self._resent: set[str] = set()
        self._before = str(st.session_state.get(LAST, page))
        self._initial = read(page)

    @property
    def initial(self) -> Parameters:
        """The page's first parameters: those of the link, or of the last visit."""
        return self._initial

    def key(self, name: str) -> str:
        """Return the widget key of parameter `name`."""
        return f"{self.page}.{name}"

    def held(self, name: str) -> Any:  # noqa: ANN401 - whatever the widget holds
        """Return the value of a parameter, to draw the widget with.

        Until the browser receives the page's value it shows the widget's smallest number or first
        option, and may send that back as chosen. Not for a number that may be left empty: Streamlit
        replaces an empty field with this value.
        """
        return st.session_state[self.key(name)]

    def held_or_none(self, name: str) -> Any:  # noqa: ANN401 - as `held`
        """Return the value of a parameter; None where this view has no such one."""
        return self.held(name) if name in self._defaults else None

    def place(self, name: str, options: Sequence[str]) -> int:
        """Return the index of the parameter's value among the options."""
        held = self.held(name)
        return list(options).index(held) if held in options else 0

    def choice(self, name: str, options: Options, default: str) -> str:
        """Return the initial value of a widget with one choice; note a value that is no option.

        Give slugs with their names, so that older links still match.
        """
        self._defaults[name] = default
        self._twice(name)
        self._begin(name, self._requested(name, options)[:1], default)
        held = str(st.session_state[self.key(name)])
        if held not in options:
            st.session_state[self.key(name)] = (self._still(name, [held], options) or [default])[0]
        return str(st.session_state[self.key(name)])

    def choices(
        self, name: str, options: Options, default: Sequence[str], most: int = MOST
    ) -> list[str]:
        """Return the initial values of a widget with many choices; note those that are no options.

        If no chosen value is an option (after a change of workload, say), return the default.
        """
        self._defaults[name] = list(default)
        requested = self._requested(name, options)
        self._note_many(name, len(requested), most)
        stated = name in self._initial and (requested or self._initial[name] == [""])
        self._begin(name, [requested] if stated else [], list(default))
        chosen = st.session_state[self.key(name)]
        kept = self._still(name, chosen, options)[:most]
        if chosen and not kept:
            kept = list(default)
        if kept != chosen:  # a value set here overrides what is being clicked at this moment
            st.session_state[self.key(name)] = kept
        return kept

    def _note_many(self, name: str, requested: int, most: int) -> None:
        if requested > most and self.key(name) not in st.session_state:
            self.problems.append(
                Text(
                    "{name}: {requested} values; the first {most} are used.",
                    name=name,
                    requested=requested,
                    most=most,
                )
            )

    def number(self, parameter: Parameter, default: int | None = None) -> int:
        """Return the initial value of a whole number; without `default` that of the table."""
        value = self._declared(parameter, parameter.default if default is None else default)
        return int(value)

    def whole(self, parameter: Parameter) -> int | None:
        """Return the initial value of a whole number; None is an empty field."""
        value = self._declared(parameter, None)
        return None if value is None else int(value)

    def decimal(self, parameter: Parameter, default: float | None = None) -> float | None:
        """Return the initial value of a number; None is an empty field."""
        value = self._declared(parameter, default)
        return None if value is None else float(value)

    def _declared(self, parameter: Parameter, default: object) -> Any:  # noqa: ANN401 - of its kind
        """Return the initial value of a field, within the limits of its parameter."""
        name = parameter.name
        self._defaults[name] = default
        self._twice(name)
        self._begin(name, self._read(parameter), default)
        return st.session_state[self.key(name)]

    def amount(self, parameter: Parameter) -> None:
        """Set the initial text of a field for a number as a person writes it: 7B, or 36 h.

        The link holds the number; a text that is none stays, so that the answer reports it.
        """
        name = parameter.name
        self._defaults[name] = ""
        self._amounts[name] = parameter
        self._twice(name)
        unit = "" if parameter.short else f" {parameter.unit}"
        write = number_text if parameter.short else text_of
        self._begin(name, [f"{write(value)}{unit}" for value in self._read(parameter)], "")

    def words(self, parameter: Parameter, most: int = LONGEST_VALUE) -> str:
        """Return the initial value of a text field: one line of at most `most` characters."""
        shorter = replace(parameter, longest=min(parameter.longest, most))
        return plain(self.lines(shorter, str(parameter.default or "")))

    def lines(self, parameter: Parameter, default: str) -> str:
        """Return the initial value of a text area, which may have several lines."""
        return str(self._declared(parameter, default) or "")

    def day(self, parameter: Parameter) -> dt.date | None:
        """Return the initial value of a date, written YYYY-MM-DD; None without one."""
        value = self._declared(parameter, None)
        return value if isinstance(value, dt.date) else None

    def texts(self, name: str, most: int) -> list[str]:
        """Return values without a widget; change them with `put`."""
        self._defaults[name] = []
        requested = list(dict.fromkeys(self._initial.get(name, [])))
        self._note_many(name, len(requested), most)
        self._begin(name, [requested[:most]], [])
        return list(st.session_state[self.key(name)])

    def numbers(self, parameter: Parameter) -> tuple[list[float], list[str]]:
        """Return the numbers of a list whose widget holds texts, and what is wrong with others."""
        name, key = parameter.name, self.key(parameter.name)
        self._defaults[name] = []
        requested = list(dict.fromkeys(self._initial.get(name, [])))[: parameter.many]
        if key not in st.session_state:
            errors = (value_of(parameter, text)[1] for text in requested)
            self.problems += [as_text(f"{name}: {error}") for error in errors if error]
        self._begin(name, [[t for t in requested if not value_of(parameter, t)[1]]], [])
        read = [value_of(parameter, text) for text in st.session_state[key]]
        return [value for value, error in read if not error], [error for _, error in read if error]

    def put(self, name: str, value: object) -> None:
        """Set a parameter from a button's callback."""
        self._now = None
        st.session_state[self.key(name)] = value

    def hold(self, *names: str) -> None:
        """Keep the values of fields in a closed box.

        Streamlit forgets the value of a field with the first run that does not draw it.
        """
        for name in names:
            st.session_state[self.key(name)] = st.session_state[self.key(name)]

    def flag(self, parameter: Parameter) -> bool:
        """Return the initial value of a switch, written as on or off."""
        return bool(self._declared(parameter, bool(parameter.default)))

    def text(self, name: str, pattern: str) -> str | None:
        """Return a value without a widget, such as an id; None where the link has none."""
        self._defaults[name] = None
        requested = [t for t in self._initial.get(name, [])[:1] if re.fullmatch(pattern, t)]
        if name in self._initial and not requested and self.key(name) not in st.session_state:
            text = as_text(self._initial[name][0][:80])
            self.problems.append(Text("{name}: “{text}” is malformed.", name=name, text=text))
        self._begin(name, requested, None)
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
        self._now = None
        st.session_state[self.key(name)] = None

    def adopt(self, parameters: Parameters) -> None:
        """Replace the page's state: from a button's callback, or before any widget."""
        self._now = None
        for name in {*memory_of(self.page).get("values", {}), *self._defaults}:
            st.session_state.pop(self.key(name), None)
        kept = {name: list(values) for name, values in parameters.items()}
        self._initial = kept
        memory = memory_of(self.page)
        memory["adopted"] = kept
        memory["address"] = parameters_now()
        memory.pop("aside", None)

    def translate(self, name: str, write: Callable[[str], str]) -> None:
        """Convert a parameter's texts to this page's form, before it is read."""
        if name in self._initial:
            self._initial = self._initial | {name: [write(text) for text in self._initial[name]]}

    def drop(self, name: str, void: Callable[[str], bool]) -> None:
        """Drop redundant texts of a parameter silently."""
        if name in self._initial:
            left = [text for text in self._initial[name] if not void(text)]
            self._initial = {n: v for n, v in self._initial.items() if n != name}
            self._initial |= {name: left} if left else {}

    def merge(self, name: str, into: str) -> None:
        """Read a parameter under this page's name for it."""
        if name in self._initial:
            both = [*self._initial.get(into, []), *filter(None, self._initial[name])]
            self._initial = {n: v for n, v in self._initial.items() if n != name}
            self._initial |= {into: both} if both else {}

    def keep(self, *names: str) -> None:
        """Keep parameters in the link whose widgets this view does not draw."""
        kept = memory_of(self.page).get("written") or self._initial
        self._carried |= {n: kept[n] for n in names if n in kept}

    def set_aside(self, *names: str) -> None:
        """Drop parameters that this view does not use; `take_back` restores them."""
        aside = {n: v for n, v in self._initial.items() if n in names}
        memory_of(self.page).setdefault("aside", {}).update(aside)
        self.ignore(*names)

    def take_back(self, *names: str) -> None:
        """Restore parameters that an earlier view has set aside, unless they are given."""
        aside = memory_of(self.page).get("aside", {})
        self._initial = {n: aside.pop(n) for n in names if n in aside} | self._initial

    def refuse(self, problems: Sequence[ParameterProblem]) -> None:
        """Drop parameters of the link that do not fit its other values, and note why."""
        self.problems += [as_text(str(problem)) for problem in problems]
        self.ignore(*(problem.parameter for problem in problems))

    def pin(self, *names: str) -> None:
        """Write parameters into the link even at their current defaults."""
        self._pinned = (*self._pinned, *names)

    def state(self, *names: str, **added: str) -> None:
        """Write parameters into the link to share even at their current defaults.

        Defaults depend on the runs and prices at hand, so elsewhere or later a link without them
        differs. `added` are texts of the shared link only.
        """
        self._stated = names
        self._added = {name: [text] for name, text in added.items() if text}

    def ignore(self, *names: str) -> None:
        """Drop parameters that this view does not use, silently."""
        self._initial = {n: v for n, v in self._initial.items() if n not in names}

    def write(self) -> None:
        """Write every value that is not a default into the URL.

        The values that are written are those of links and questions until another is declared.

        An equivalent address with some defaults written out is left as it is. Another address would
        add an entry to the browser's history, and Back would stay on the page.
        """
        address = {k: st.query_params.get_all(k) for k in st.query_params}
        held = self._held()
        same = self._parameters(held, address) == address
        now = address if same else self._parameters(held, ())
        memory = memory_of(self.page)
        memory["written"] = now
        st.session_state[LAST] = self.page
        memory["values"] = self._now = held
        self._is_written = True
        memory["drawing"] = False
        for name in ("adopted", "reset", "address"):
            memory.pop(name, None)
        if address != now:
            st.query_params.from_dict(now)

    def warn(self) -> None:
        """Draw a warning with the parts of the link that do not exist.

        Parameters of the previous page are dropped silently: after Back the browser shows them in
        this page's address.
        """
        others = memory_of(self._before).get("values", {}) if self._before != self.page else {}
        for name in self._initial:
            if name not in self._defaults and name not in self._carried and name not in others:
                self.problems.append(
                    Text("{name}: unknown setting on this page.", name=as_text(name[:80]))
                )
        if self.problems:
            st.warning(
                "Part of this link could not be followed:\n"
                + "\n".join(f"- {p}" for p in self.problems),
                icon=":material/link_off:",
            )
        if self._unclear:  # an answer to another question must not follow
            st.button("Continue", key=f"{self.page}.unclear", icon=":material/check:")
            st.stop()

    def parameters(self, *also: str) -> Parameters:
        """Return the non-default values as in the URL, and those of `also` in any case."""
        return self._parameters(self._values(), also)

    def question(self, *view: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the non-default values as a key of the answer, without those of the view alone."""
        now = self.parameters()
        return tuple(
            sorted((name, tuple(texts)) for name, texts in now.items() if name not in view)
        )

    def parameters_of(self, names: Collection[str]) -> Parameters:
        """Return the non-default values of some parameters, as in the URL."""
        held = {n: st.session_state.get(self.key(n)) for n in names if n in self._defaults}
        carried = {n: v for n, v in self._carried.items() if n in names}
        return carried | self._written(held, ())

    def _held(self) -> dict[str, Any]:
        """Return the value of each parameter, in one lookup: Streamlit is slow at single values."""
        held = st.session_state.to_dict()
        return {name: held.get(self.key(name)) for name in self._defaults}

    def _values(self) -> Mapping[str, Any]:
        if self._now is not None:
            return self._now
        held = self._held()
        if self._is_written:  # a parameter was declared since; no field is drawn any more
            self._now = held
        return held

    def _parameters(self, held: Mapping[str, Any], also: Collection[str]) -> Parameters:
        return self._carried | self._written(held, also)

    def _written(self, held: Mapping[str, Any], also: Collection[str]) -> Parameters:
        values, always = {}, {*also, *self._pinned}
        for name, value in held.items():
            default = self._defaults[name]
            if value is not None and (value != default or name in always):
                amount = self._amounts.get(name)
                values[name] = as_texts(value if amount is None else _amount(amount, value))
        return values

    def shared(self) -> Parameters:
        """Return the state of a link to share, with the defaults named in `state`."""
        held = self._values()
        stated, chosen = self._parameters(held, self._stated), self._parameters(held, ())
        kept = {n: v for n, v in stated.items() if n in chosen or any(v)}
        return kept | self._added

    def url(self) -> str:
        """Return the page's full address with its state, to share."""
        return f"{base()}?{encoded(self.shared())}".rstrip("?")

    def address(self, name: str, value: str) -> str:
        """Return the address of this page, relative to it, with one setting of another value."""
        return f"?{encoded(self.shared() | {name: [value]})}"

    # -- reading -----------------------------------------------------------------------------

    def _requested(self, name: str, options: Options) -> list[str]:
        requested = list(dict.fromkeys(self._initial.get(name, [])))
        if self.key(name) in st.session_state:
            return [v for v in requested if v in options]
        meant = [(text, _meant(text, options)) for text in requested]
        for text, option in meant:
            if text and not isinstance(option, str):
                self._gone(name, text, options, option)
        return list(dict.fromkeys(option for _, option in meant if isinstance(option, str)))

    def _still(self, name: str, held: Sequence[str], options: Options) -> list[str]:
        """Return the held values that are still options, as their current slugs."""
        meant = [(v, _meant(v, options)) for v in held]
        for text, option in meant:
            if option and not isinstance(option, str):
                self._gone(name, text, options, option)
        return list(dict.fromkeys(option for _, option in meant if isinstance(option, str)))

    def _gone(self, name: str, text: str, options: Options, alike: tuple[str, ...]) -> None:
        """Note that a text matches no option, or several."""
        if alike and isinstance(options, Mapping):
            self._unclear = True
            self.problems.append(f"{name}: {as_text(no_match(name, text[:80], options))}")
            return
        self.problems.append(
            Text("{name}: “{text}” is no longer an option.", name=name, text=as_text(text[:80]))
        )

    def _read(self, parameter: Parameter) -> list[Any]:
        """Return the link's value in a list, as programs read it; [] where it is invalid."""
        for text in self._initial.get(parameter.name, [])[:1]:
            value, wrong = parsed(parameter, text)
            if not wrong:
                return [value]
            if self.key(parameter.name) not in st.session_state:
                self.problems.append(f"{parameter.name}: “{as_text(text[:80])}” {as_text(wrong)}")
        return []

    def _twice(self, name: str) -> None:
        """Note a parameter with one value that is given several times."""
        values = self._initial.get(name, [])
        if len(values) > 1 and self.key(name) not in st.session_state:
            first = as_text(values[0][:80])
            self.problems.append(
                Text(
                    "{name}: given {values} times; “{first}” is used.",
                    name=name,
                    values=len(values),
                    first=first,
                )
            )

    def _begin(self, name: str, requested: Sequence[Any], default: object) -> None:
        key, self._now = self.key(name), None
        if key not in st.session_state:
            st.session_state[key] = requested[0] if requested else default
        elif self._cut_short and name not in self._resent:
            # A click ended the last run early. If the browser has not yet received this value, the
            # widget would show its smallest number or first option.
            self._resent.add(name)
            st.session_state[key] = st.session_state[key]


def _amount(parameter: Parameter, text: str) -> float | str:
    """Return the number of a field's text; the text itself where invalid, to report it."""
    value, wrong = parsed(parameter, text)
    return text if wrong else float(value)


def _meant(text: str, options: Options) -> str | tuple[str, ...]:
    if isinstance(options, Mapping):
        return looked_up(text, options)
    return text if text in options else ()
