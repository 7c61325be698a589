"""TOML from strangers: refused before it is parsed where parsing could take seconds or gigabytes.

Python's parser needs time and memory in proportion to the square of the dots of a key: a line of
40,000 bytes took 3 s and 1.7 GB.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

from planner.core import MAX_SET_BYTES, MAX_SET_DEPTH, MAX_SET_KEYS, MAX_SET_LINE

_OPENER: Final = re.compile(r"\"\"\"|'''|[\"'#\n]")
_REST: Final = {
    '"""': re.compile(r'(?:\\.|[^\\])*?"""(?!")', re.DOTALL),
    "'''": re.compile(r".*?'''(?!')", re.DOTALL),
    '"': re.compile(r'(?:\\.|[^"\\\n])*"'),
    "'": re.compile(r"[^'\n]*'"),
    "#": re.compile(r"[^\n]*"),
    "\n": re.compile(""),
}
"""What follows each opener up to the end of the text or comment that it opens."""


def bounded_toml(data: bytes) -> dict[str, Any]:
    """The table in `data`.

    Raises:
        ValueError: it is no TOML, or beyond the limits of a set.toml; it says which.
        RecursionError: it is nested deeper than Python goes.
    """
    if len(data) > MAX_SET_BYTES:
        raise ValueError(f"it is longer than {MAX_SET_BYTES:,} bytes")
    text = data.decode().replace("\r\n", "\n")
    if any(len(line) > MAX_SET_LINE for line in text.split("\n")):
        raise ValueError(f"a line is longer than {MAX_SET_LINE:,} characters")
    bare = _bare(text)
    if any(sum(line.count(c) for c in ".[{") > MAX_SET_DEPTH for line in bare.split("\n")):
        raise ValueError(f"a line has more than {MAX_SET_DEPTH} dots and brackets outside texts")
    if bare.count("=") + bare.count("[") > MAX_SET_KEYS:
        raise ValueError(f"it has more than {MAX_SET_KEYS} keys")
    return tomllib.loads(text)


def _bare(text: str) -> str:
    """The lines of a TOML text, without comments and with `_` for every text in quotes."""
    parts, at = [], 0
    while opened := _OPENER.search(text, at):
        rest = _REST[opened.group()].match(text, opened.end())
        if rest is None:
            raise ValueError("a text in quotes has no end")
        parts += [text[at : opened.start()], "\n" if opened.group() == "\n" else "_"]
        at = rest.end()
    return "".join([*parts, text[at:]])
