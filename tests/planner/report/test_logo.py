"""Logos: told by their bytes, small, and nothing but a picture."""

from __future__ import annotations

import base64

import pytest

from planner.report import MOST_LOGO_BYTES, logo_uri

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
PLAIN = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    f"<!-- made by hand -->{HEAD}<defs><linearGradient id='g'><stop offset='0'/></linearGradient>"
    "<style>.a{fill:url(#g)}</style></defs><use xlink:href='#g'/>"
    "<rect class='a' width='9' height='9' style='fill:url(#g)'/><text>Co &amp; Co</text></svg>"
)


def _svg(inside: str) -> bytes:
    return f"{HEAD}{inside}</svg>".encode()


@pytest.mark.parametrize(
    ("picture", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 9, "image/png"),
        (b"\xff\xd8\xff\xe0" + b"\0" * 20 + b"\xff\xd9", "image/jpeg"),
        (PLAIN.encode(), "image/svg+xml"),
    ],
)
def test_a_picture_becomes_a_data_uri_of_its_kind(picture: bytes, kind: str) -> None:
    uri = logo_uri(picture)
    assert uri.startswith(f"data:{kind};base64,")
    assert base64.b64decode(uri.split(",", 1)[1]) == picture


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>", "<SCRIPT/>", "<svg:script xmlns:svg='x'/>",
        "<rect onload='alert(1)'/>", "<rect ONCLICK='x'/>", "<a href='javascript:x'/>",
        "<a xlink:href='https://evil/x'><rect/></a>", "<use href='other.svg#x'/>",
        "<image href='https://evil/x.png'/>", "<foreignObject><div/></foreignObject>",
        "<style>@import 'https://evil/x.css';</style>",
        "<style>.a{background:url(https://evil/x)}</style>",
        "<style>.a{background:url( 'data:x')}</style>", "<rect style='fill:url(//evil/x)'/>",
        "<rect fill='url(https://evil/#g)'/>", "<animate attributeName='href' to='x'/>",
        "<set attributeName='onload' to='x'/>", "<feImage href='x'/>",
        "<style>.a{back\\67round:x}</style>", "<rect xml:base='https://evil/'/>",
    ],
)  # fmt: skip
def test_an_svg_that_runs_or_refers_to_anything_outside_is_refused(inside: str) -> None:
    with pytest.raises(ValueError, match="more than a drawing"):
        logo_uri(_svg(inside))


@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE svg [<!ENTITY a 'aaaa'>]><svg>&a;</svg>",
        "<!DOCTYPE svg SYSTEM 'file:///etc/passwd'><svg/>",
        "<!DOCTYPE l [<!ENTITY a 'x'><!ENTITY b '&a;&a;&a;'>]><svg>&b;</svg>",
        "<?xml-stylesheet href='https://evil/x.css'?><svg/>",
        "<html><svg></svg></html>",
        "<svg><rect></svg>",
        "<svg",
    ],
)
def test_an_svg_with_entities_instructions_or_faults_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="SVG"):
        logo_uri(text.encode())


@pytest.mark.parametrize(
    "picture", [b"", b"GIF89a....", b"<html>", b"\x89PNG", b"\xff\xd8\xff cut", b"%PDF-1.7"]
)
def test_anything_else_is_no_picture(picture: bytes) -> None:
    with pytest.raises(ValueError, match="Save it as one of these"):
        logo_uri(picture)


def test_what_is_too_large_is_refused_unread() -> None:
    with pytest.raises(ValueError, match="at most"):
        logo_uri(b"\x89PNG\r\n\x1a\n" + b"\0" * MOST_LOGO_BYTES)
    with pytest.raises(ValueError, match="parts"):
        logo_uri(_svg("<g/>" * 6000))
