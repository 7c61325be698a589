"""All state that matters is in the URL, and a link that has gone stale says so.

Streamlit can bind a widget to the URL, but it puts the widget's label there (a label with a
count in it changes with every run), drops a value that no longer exists without a word, and
forgets everything on the way to another page and back (docs/decisions/0006). Here each page owns
a `Link`: ask it for the first value of every widget, draw the widgets, then call `write`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import streamlit as st

Parameters = dict[str, list[str]]
_MOST: Final = 60
"""Values of one parameter that are read from a link; more are an accident or an attack."""
_LAST: Final = "link-last-page"
_JOIN: Final = "\u2060"
"""Takes no room and joins words: between two signs it stops them from meaning more than one."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs"})
"""Controls, direction marks and half characters: nothing one could see."""
_LATE: Final = re.compile(
    r"(?<=:)(?=\S)|(?<=www)(?=\.)|(?<=@)|(?<=[-<>=~])(?=[-<>=~])", re.IGNORECASE
)
"""Where Streamlit makes links, icons and arrows after backslashes have been taken away."""


def slug(text: str) -> str:
    """A name as it stands in a link: lower-case letters and digits joined by hyphens."""
    parts = unicodedata.normalize("NFKD", text.replace("×", "x")).lower()
    plain = "".join(c for c in parts if not unicodedata.combining(c))
    return re.sub(r"[^a-z0-9.]+", "-", plain).strip("-") or "none"


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Slug -> name, numbering the second and later names that share a slug."""
    found: dict[str, str] = {}
    for name in names:
        base = short = slug(name)
        n = 2
        while short in found:
            short, n = f"{base}-{n}", n + 1
        found[short] = name
    return found


class Link:
    """The state of one page, in the URL and in the session."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.problems: list[str] = []
        self._defaults: dict[str, Any] = {}
        self._carried: Parameters = {}
        self._given = self._read()

    def key(self, name: str) -> str:
        """The widget key of parameter `name`."""
        return f"{self.page}.{name}"

    def one(self, name: str, options: Sequence[str], default: str) -> str:
        """First value of a widget with one choice; say so if the link names no such option."""
        self._defaults[name] = default
        self._twice(name)
        self._begin(name, self._asked(name, options)[:1], default)
        if st.session_state[self.key(name)] not in options:
            st.session_state[self.key(name)] = default
        return str(st.session_state[self.key(name)])

    def many(
        self, name: str, options: Sequence[str], default: Sequence[str], most: int = _MOST
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
        kept = [v for v in chosen if v in options][:most]
        if chosen and not kept:
            kept = list(default)
        if kept != chosen:  # a value set here overrides what is being clicked at this moment
            st.session_state[self.key(name)] = kept
        return kept

    def number(self, name: str, low: int, high: int, default: int) -> int:
        """First value of a whole number between `low` and `high`."""
        self._defaults[name] = default
        self._twice(name)
        asked = []
        for text in self._given.get(name, [])[:1]:
            if re.fullmatch(r"[0-9]{1,18}", text) and low <= int(text) <= high:
                asked = [int(text)]
            else:
                self._problem(name, text, f"a whole number from {low:,} to {high:,}")
        self._begin(name, asked, default)
        return int(st.session_state[self.key(name)])

    def flag(self, name: str, *, default: bool) -> bool:
        """First value of a switch, written as on or off."""
        self._defaults[name] = default
        self._twice(name)
        asked = []
        for text in self._given.get(name, [])[:1]:
            if text in {"on", "off"}:
                asked = [text == "on"]
            else:
                self._problem(name, text, "on or off")
        self._begin(name, asked, default)
        return bool(st.session_state[self.key(name)])

    def text(self, name: str, pattern: str) -> str | None:
        """A value that no widget holds, as an id in the link; None where it is not given."""
        self._defaults[name] = None
        asked = [t for t in self._given.get(name, [])[:1] if re.fullmatch(pattern, t)]
        if name in self._given and not asked:
            self._problem(name, self._given[name][0], "of that form")
        self._begin(name, asked, None)
        value = st.session_state[self.key(name)]
        return None if value is None else str(value)

    def forget(self, *names: str) -> None:
        """Set parameters back to their defaults (from a button's callback)."""
        for name in names:
            st.session_state.pop(self.key(name), None)
        _memory(self.page)["reset"] = True

    def forget_now(self, name: str) -> None:
        """Drop one parameter, in the middle of a run or from a callback."""
        st.session_state[self.key(name)] = None

    def keep(self, *names: str) -> None:
        """Carry parameters along whose widgets this view does not draw."""
        kept = _memory(self.page).get("written") or self._given
        self._carried = {n: kept[n] for n in names if n in kept}

    def write(self) -> None:
        """Put every value that is not a default into the URL, and say what the link got wrong."""
        now = self.parameters()
        memory = _memory(self.page)
        memory["written"] = now
        st.session_state[_LAST] = self.page
        memory["values"] = {n: st.session_state.get(self.key(n)) for n in self._defaults}
        if {k: st.query_params.get_all(k) for k in st.query_params} != now:
            st.query_params.from_dict(now)

    def tell(self) -> None:
        """Name the parts of the link that no longer exist, or never did."""
        for name in self._given:
            if name not in self._defaults and name not in self._carried:
                self.problems.append(f"{as_text(name[:80])}: this page knows no such setting.")
        if self.problems:
            st.warning(
                "Part of this link no longer fits the data, so the page shows its default there:\n"
                + "\n".join(f"- {p}" for p in self.problems),
                icon=":material/link_off:",
            )

    def parameters(self) -> Parameters:
        """The non-default values as they stand in the URL."""
        found = dict(self._carried)
        for name, default in self._defaults.items():
            value = st.session_state.get(self.key(name))
            if value is not None and value != default:
                found[name] = _as_texts(value)
        return found

    def url(self) -> str:
        """The page's full address with its state, to hand to somebody."""
        return f"{_base()}?{urlencode(self.parameters(), doseq=True)}".rstrip("?")

    # -- reading -----------------------------------------------------------------------------

    def _read(self) -> Parameters:
        """The parameters to begin with.

        Nothing changed by hand and a URL that is not the one we wrote: somebody followed a link
        or went back, so the URL wins. An empty URL on the way from another page: the page is as
        it was left.
        """
        memory = _memory(self.page)
        given = {k: st.query_params.get_all(k)[:_MOST] for k in st.query_params}
        written, values = memory.get("written"), memory.get("values", {})
        if memory.pop("reset", False):
            return {}
        if not given and st.session_state.get(_LAST) != self.page:
            return written or {}
        live = {n: st.session_state.get(self.key(n)) for n in values}
        touched = any(v is not None and v != values[n] for n, v in live.items())
        if given != (written or {}) and not touched:
            for name in values:
                st.session_state.pop(self.key(name), None)
            return given
        return written or given

    def _asked(self, name: str, options: Sequence[str]) -> list[str]:
        asked = list(dict.fromkeys(self._given.get(name, [])))
        if self.key(name) not in st.session_state:
            for text in asked:
                if text not in options and text:
                    self._problem(name, text, None)
        return [v for v in asked if v in options]

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

    def _problem(self, name: str, text: str, wanted: str | None) -> None:
        if self.key(name) in st.session_state:
            return
        shown = as_text(text[:80])
        ask = f"is not {wanted}" if wanted else "is not among the options any more"
        self.problems.append(f"{name}: “{shown}” {ask}.")


def as_text(text: str) -> str:
    """`text` on one line, so that Markdown shows it as it is: names from data are never markup."""
    seen = "".join(c for c in " ".join(text.split()) if unicodedata.category(c) not in _UNSEEN)
    joined = _LATE.sub(_JOIN, seen)
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|$:~^=&])", r"\\\1", joined)


def page_url(path: str, parameters: Mapping[str, str]) -> str:
    """The address of another page with these parameters."""
    return f"{_root()}/{path}?{urlencode(parameters)}".rstrip("?")


def _memory(page: str) -> dict[str, Any]:
    memory: dict[str, Any] = st.session_state.setdefault(f"link:{page}", {})
    return memory


def _as_texts(value: object) -> list[str]:
    if isinstance(value, bool):
        return ["on" if value else "off"]
    if isinstance(value, list):
        return [str(v) for v in value] or [""]
    return [str(value)]


def _base() -> str:
    url = st.context.url
    return urlsplit(url)._replace(query="", fragment="").geturl() if url else ""


def _root() -> str:
    url = urlsplit(st.context.url or "")
    return f"{url.scheme}://{url.netloc}" if url.netloc else ""
