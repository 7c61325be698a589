"""How values are written in a link and read from one, and how names are kept from being markup."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from planner.core import text_of

_JOIN: Final = "\u2060"
"""Takes no room and joins words: between two signs it stops them from meaning more than one."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs"})
"""Controls, direction marks and half characters: nothing one could see."""
_LATE: Final = re.compile(
    r"(?<=:)(?=\S)|(?<=www)(?=\.)|(?<=@)|(?<=[-<>=~])(?=[-<>=~])", re.IGNORECASE
)
"""Where Streamlit makes links, icons and arrows after backslashes have been taken away."""


def as_text(text: str) -> str:
    """`text` on one line, so that Markdown shows it as it is: names from data are never markup."""
    joined = _LATE.sub(_JOIN, plain(text))
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|$:~^=&])", r"\\\1", joined)


def plain(text: str) -> str:
    """`text` on one line, without what nobody can see."""
    return "".join(c for c in " ".join(text.split()) if unicodedata.category(c) not in _UNSEEN)


def as_texts(value: object) -> list[str]:
    """A widget's value as it stands in a link."""
    if isinstance(value, list):
        return [text_of(v) for v in value] or [""]
    return [text_of(value)]
