"""Write values into a link, and escape names for Markdown."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from planner.core import text_of

_JOIN: Final = "\u2060"
"""Word joiner of zero width: between two characters it stops them from forming markup."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs"})
"""Categories of invisible characters: controls, direction marks, surrogates."""
_LATE: Final = re.compile(
    r"(?<=:)(?=\S)|(?<=www)(?=\.)|(?<=@)|(?<=[-<>=~])(?=[-<>=~])", re.IGNORECASE
)
"""Where Streamlit makes links, icons and arrows after backslashes have been taken away."""


def as_text(text: str) -> str:
    """Return `text` on one line, escaped so that Markdown shows it as it is."""
    joined = _LATE.sub(_JOIN, plain(text))
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|$:~^=&])", r"\\\1", joined)


def plain(text: str) -> str:
    """Return `text` on one line, without invisible characters."""
    return "".join(c for c in " ".join(text.split()) if unicodedata.category(c) not in _UNSEEN)


def as_texts(value: object) -> list[str]:
    """Return a widget's value as texts of a link."""
    if isinstance(value, list):
        return [text_of(v) for v in value] or [""]
    return [text_of(value)]
