"""A customer's logo, checked for a page that others open.

The bytes decide the type, never the name. A picture in `<img>` runs no script and fetches nothing,
and the page's policy forbids both. An SVG with anything but plain drawing is refused as well, so
that the file is safe outside the page too.
"""

import base64
import re
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from planner.core import Text

MOST_BYTES: Final = 1024 * 1024
MOST_PARTS: Final = 5000
"""Most drawn elements of an SVG; elements drawn by reference count each time."""
MOST_DEEP: Final = 60
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG: Final = b"\xff\xd8\xff"
_SVG: Final = "http://www.w3.org/2000/svg"
_XLINK: Final = "http://www.w3.org/1999/xlink"
_XML: Final = "http://www.w3.org/XML/1998/namespace"
_ELEMENTS_IN_WORDS: Final = (
    "svg g defs symbol use title desc style path rect circle ellipse line polyline polygon text "
    "tspan textPath linearGradient radialGradient stop clipPath mask pattern marker"
)
ELEMENTS: Final = frozenset(_ELEMENTS_IN_WORDS.split())
"""Allowed elements: none runs, moves, or loads another file."""
_ATTRIBUTES_IN_WORDS: Final = (
    "id class style version viewBox preserveAspectRatio x y x1 y1 x2 y2 cx cy r rx ry fx fy fr dx "
    "dy d points width height transform pathLength rotate textLength lengthAdjust startOffset "
    "method spacing side offset gradientUnits gradientTransform spreadMethod patternUnits "
    "patternContentUnits patternTransform clipPathUnits maskUnits maskContentUnits markerUnits "
    "markerWidth markerHeight refX refY orient role aria-label aria-labelledby aria-hidden "
    "focusable type media lang baseProfile enable-background fill fill-opacity fill-rule stroke "
    "stroke-width stroke-linecap stroke-linejoin stroke-miterlimit stroke-dasharray "
    "stroke-dashoffset stroke-opacity opacity color color-interpolation color-rendering "
    "paint-order vector-effect stop-color stop-opacity clip-path clip-rule mask mask-type marker "
    "marker-start marker-mid marker-end display visibility overflow shape-rendering "
    "text-rendering image-rendering isolation mix-blend-mode transform-origin transform-box "
    "font font-family font-size font-size-adjust font-stretch font-style font-variant font-weight "
    "text-anchor text-decoration text-transform dominant-baseline alignment-baseline "
    "baseline-shift letter-spacing word-spacing writing-mode direction unicode-bidi"
)
ATTRIBUTES: Final = frozenset(_ATTRIBUTES_IN_WORDS.split())
_CALLS_IN_WORDS: Final = (
    "rgb rgba hsl hsla translate translatex translatey scale scalex scaley rotate skewx skewy "
    "matrix calc"
)
_CALLS: Final = frozenset(_CALLS_IN_WORDS.split())
"""Functions that a style or an attribute may call, in addition to `url(#...)`."""
_CALL: Final = re.compile(r"([\w-]*)\s*\(")
_OWN_URL: Final = re.compile(r"""url\(\s*(['"]?)#([\w.:-]+)\1\s*\)""", re.IGNORECASE)
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_FRAGMENT: Final = re.compile(r"\s*#([\w.:-]+)\s*")


@dataclass(slots=True)
class _Drawing:
    """State while an SVG is read: parents and references of elements, and faults."""

    faults: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    refers: list[list[str]] = field(default_factory=list)
    named: dict[str, int] = field(default_factory=dict)
    open: list[tuple[int, str]] = field(default_factory=list)
    style: list[str] = field(default_factory=list)


def logo_uri(picture: bytes) -> str:
    """Return the picture as a data URI, for `<img src>`.

    Raises:
        ValueError: too large, no PNG, JPEG or SVG, or an SVG that runs or fetches something.
    """
    if len(picture) > MOST_BYTES:
        raise ValueError(
            Text(
                "The logo has {picture:,} bytes. Use one of at most {most_bytes:,}.",
                picture=len(picture),
                most_bytes=MOST_BYTES,
            )
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
    raise ValueError("The logo is not a PNG, JPEG or SVG picture. Save it as one of these.")


def _check_svg(picture: bytes) -> None:
    """Refuse an SVG that is no plain drawing; the parser expands no entity and opens no file."""
    drawing = _Drawing()

    def begins(name: str, attributes: dict[str, str]) -> None:
        _begin(drawing, name, attributes)

    def ends(_: str) -> None:
        if drawing.open.pop()[1] == "style":
            _check_css(drawing, "".join(drawing.style))
            drawing.style.clear()

    def text(words: str) -> None:
        if drawing.open and drawing.open[-1][1] == "style":
            drawing.style.append(words)

    def forbidden(*_: object) -> int:
        drawing.faults.append("a document type or an instruction")
        return 0

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = begins
    parser.EndElementHandler = ends
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = forbidden
    parser.EntityDeclHandler = forbidden
    parser.ProcessingInstructionHandler = forbidden
    try:
        parser.Parse(picture, True)
    except expat.ExpatError as error:
        raise ValueError(
            Text("The logo is not a valid SVG ({error}). Save it again.", error=error)
        ) from None
    if drawing.faults:
        faults = ", ".join(drawing.faults[:3])
        raise ValueError(
            Text(
                "The SVG contains more than a drawing: {faults}. Save it as plain SVG or as PNG.",
                faults=faults,
            )
        )
    if _drawn(drawing) > MOST_PARTS:
        raise ValueError(
            Text(
                "The SVG draws more than {most_parts:,} parts. Save it simpler.",
                most_parts=MOST_PARTS,
            )
        )


def _begin(drawing: _Drawing, name: str, attributes: dict[str, str]) -> None:
    place, (space, local) = len(drawing.parents), _of(name)
    if place >= MOST_PARTS or len(drawing.open) >= MOST_DEEP:
        limit = Text(
            "{most_parts:,} parts, or is nested more than {most_deep} deep",
            most_parts=MOST_PARTS,
            most_deep=MOST_DEEP,
        )
        raise ValueError(Text("The SVG has more than {limit}. Save it simpler.", limit=limit))
    allowed = space == _SVG and local in ELEMENTS
    if not allowed or (local == "svg") != (place == 0) or _within_style(drawing):
        drawing.faults.append(f"<{local[:40]}>")
    drawing.parents.append(drawing.open[-1][0] if drawing.open else -1)
    drawing.refers.append([])
    drawing.open.append((place, local))
    for full, value in attributes.items():
        _attribute(drawing, full, value)


def _within_style(drawing: _Drawing) -> bool:
    return bool(drawing.open) and drawing.open[-1][1] == "style"


def _attribute(drawing: _Drawing, full: str, value: str) -> None:
    """Record the id and references of an attribute; add a fault if it is not allowed."""
    space, name = _of(full)
    if name == "href" and space in ("", _XLINK):
        own = _FRAGMENT.fullmatch(value)
        if own is None:
            drawing.faults.append(f"{name}={value[:40]!r}")
        else:
            drawing.refers[-1].append(own[1])
        return
    if space == _XML and name in ("space", "lang"):
        return
    if space or not (name in ATTRIBUTES or name.startswith("data-")):
        drawing.faults.append(f"{name[:40]}={value[:40]!r}")
        return
    if name == "id":
        drawing.named.setdefault(value, len(drawing.parents) - 1)
    _check_css(drawing, value)


def _check_css(drawing: _Drawing, text: str) -> None:
    """Add a fault if a style could load anything; it may refer to parts of the file."""
    drawing.refers[-1] += [match[2] for match in _OWN_URL.finditer(text)]
    for read in (text, _COMMENT.sub(" ", text)):  # as written, and as a browser reads it
        calls = {call.lower() for call in _CALL.findall(_OWN_URL.sub(" ", read))} - _CALLS - {""}
        if calls or any(sign in read for sign in ("\\", "@", "<")):
            drawing.faults.append(f"{text.strip()[:40]!r}")
            return


def _drawn(drawing: _Drawing) -> int:
    """Return the number of drawn elements, counting references; above the limit for a cycle.

    References can nest: twenty of them can draw a million elements.
    """
    inside: list[list[int]] = [[] for _ in drawing.parents]
    for place, parent in enumerate(drawing.parents):
        if parent >= 0:
            inside[parent].append(place)
    counts: dict[int, int] = {}
    begun: set[int] = set()
    left = [0] if drawing.parents else []
    while left:  # iterative: references nest deeper than the call stack
        place = left[-1]
        named = [drawing.named[n] for n in drawing.refers[place] if n in drawing.named]
        needed = [*inside[place], *named]
        if place not in begun:
            begun.add(place)
            if any(part in begun and part not in counts for part in needed):
                return MOST_PARTS + 1
            left += [part for part in needed if part not in counts]
        else:
            left.pop()
            if place not in counts:
                counts[place] = 1 + sum(counts.get(part, MOST_PARTS) for part in needed)
    return counts.get(0, 0)


def _of(name: str) -> tuple[str, str]:
    """Return namespace and local name of the parser's name."""
    space, _, local = name.rpartition(" ")
    return space, local
