"""Why this file exists: somebody else's picture becomes part of a page that others will open.

What it is is told by its bytes, never by its name. A picture in `<img>` runs no script and fetches
nothing in any browser, and the page's own policy forbids both again; an SVG that holds either is
refused all the same, so that the file can be taken out of the page without harm.
"""

from __future__ import annotations

import base64
import re
from typing import Final
from xml.parsers import expat

MOST_BYTES: Final = 512 * 1024
MOST_PARTS: Final = 5000
"""Elements of an SVG."""
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG: Final = b"\xff\xd8\xff"
_RUNS: Final = frozenset({"script", "foreignobject", "iframe", "embed", "object", "handler",
                          "listener", "animate", "set", "animatemotion", "animatetransform",
                          "audio", "video", "image", "feimage"})  # fmt: skip
_REFERS: Final = frozenset({"href", "src", "xml:base", "base", "action", "formaction", "data"})
_OUTSIDE: Final = re.compile(
    r"url\s*\(\s*['\"]?\s*(?!#)|@import|expression\s*\(|javascript:|\\|//", re.IGNORECASE
)


def logo_uri(picture: bytes) -> str:
    """The picture as a data URI, for `<img src>`.

    Raises:
        ValueError: too large, no PNG, JPEG or SVG, or an SVG that runs or fetches something.
    """
    if len(picture) > MOST_BYTES:
        raise ValueError(
            f"The logo has {len(picture):,} bytes. Take a smaller one, {MOST_BYTES:,} at most."
        )
    return f"data:{_kind(picture)};base64,{base64.b64encode(picture).decode('ascii')}"


def _kind(picture: bytes) -> str:
    if picture.startswith(_PNG) and picture[12:16] == b"IHDR":
        return "image/png"
    if picture.startswith(_JPEG) and picture.rstrip(b"\0\r\n")[-2:] == b"\xff\xd9":
        return "image/jpeg"
    if b"<svg" in picture[:4096].lower():
        _check_svg(picture)
        return "image/svg+xml"
    raise ValueError("The logo is no PNG, JPEG or SVG picture. Save it as one of these.")


def _check_svg(picture: bytes) -> None:
    """Refuse what is not plain drawing, by a parser that expands no entity and opens no file."""
    found: list[str] = []
    count = 0

    def begins(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MOST_PARTS:
            raise ValueError(f"The SVG has more than {MOST_PARTS:,} parts. Save it simpler.")
        if count == 1 and _local(name) != "svg":
            found.append(f"<{name[:40]}> in place of <svg>")
        if _local(name) in _RUNS:
            found.append(f"<{name[:40]}>")
        found.extend(f"{n[:40]}={v[:40]!r}" for n, v in attributes.items() if _harmful(n, v))

    def text(words: str) -> None:
        if _OUTSIDE.search(words.replace("http://www.w3.org/", "")):
            found.append(f"{words.strip()[:40]!r}")

    def forbidden(*_: object) -> int:
        found.append("a document type or an instruction")
        return 0

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = begins
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = forbidden
    parser.EntityDeclHandler = forbidden
    parser.ProcessingInstructionHandler = forbidden
    try:
        parser.Parse(picture, True)
    except expat.ExpatError as error:
        raise ValueError(f"The logo is no sound SVG ({error}). Save it again.") from None
    if found:
        told = ", ".join(found[:3])
        raise ValueError(
            f"The SVG holds more than a drawing: {told}. Save it as plain SVG or as PNG."
        )


def _harmful(name: str, value: str) -> bool:
    """Whether an attribute runs something or points out of the file."""
    local = _local(name)
    if name.lower().startswith("xmlns"):
        return False
    if local.startswith("on"):
        return True
    if local in _REFERS or name.lower() in _REFERS:
        return not value.strip().startswith("#")
    return bool(_OUTSIDE.search(value))


def _local(name: str) -> str:
    return name.rsplit(":", 1)[-1].lower()
