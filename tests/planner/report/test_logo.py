"""Logos: told by their bytes, small, and nothing but a picture."""

from __future__ import annotations

import base64

import pytest

from planner.report import MOST_LOGO_BYTES, logo_uri
from tests.each import each

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


H, E = "xmlns:h='http://www.w3.org/1999/xhtml'", "https://evil.example/x"
HOSTILE = [
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
    f"<style>.a{{background:image-set('{E}' 1x)}}</style>",
    f"<style>.a{{background:-webkit-image-set('{E}' 1x)}}</style>",
    f"<rect style=\"background:image-set('{E}')\"/>", f"<rect fill=\"image('{E}')\"/>",
    f"<style>.a{{background:cross-fade('{E}', red)}}</style>",
    f"<style>.a{{fill:src('{E}')}}</style>", "<style>.a{fill:var(--a)}</style>",
    f"<style>@font-face{{font-family:a;src:url({E})}}</style>",
    f"<style>@namespace '{E}';</style>", "<style>@im<!-- -->port 'https://evil/x';</style>",
    f"<style>.a{{fill:ur<!-- -->l({E})}}</style>", f"<style>.a{{fill:url(/**/{E})}}</style>",
    f"<style>a{{b:'/*';fill:image-set('{E}');c:'*/'}}</style>",
    f"<style><![CDATA[.a{{fill:url({E})}}]]></style>", "<style>.a{fill:&#117;rl(https://e/x)}</style>",
    "<style><b xmlns=''/></style>", f"<h:meta {H} http-equiv='refresh' content='0;url={E}'/>",
    f"<h:img {H} srcset='{E} 1x'/>", f"<h:source {H} srcset='{E}'/>",
    f"<h:body {H} background='{E}'/>",
    f"<h:link {H} rel='stylesheet' href='{E}'/>", f"<h:script {H} src='{E}'/>", "<rect xmlns=''/>",
    f"<rect {H} h:style='fill:red'/>", f"<rect srcset='{E}'/>", f"<rect src='{E}'/>",
    f"<rect background='{E}'/>", "<discard/>", "<animateTransform attributeName='x'/>",
    "<handler xmlns='http://www.w3.org/2001/xml-events'/>",
    f"<filter><feImage href='{E}'/></filter>",
    f"<mpath href='{E}'/>", f"<cursor href='{E}'/>", f"<linearGradient href='{E}#g'/>",
    "<use xlink:href='data:image/svg+xml,x'/>", "<use href=' javascript:x'/>", "<use href=''/>",
    f"<a href='{E}' ping='{E}'/>", "<switch><foreignObject/></switch>",
    f"<rect mask='url({E}#m)'/>",
    f"<rect clip-path='path(url({E}))'/>", "<svg><script/></svg>", "<metadata><a/></metadata>",
    "<rect style='behavior:url(x.htc)'/>", "<rect style='-moz-binding:url(x)'/>",
    "<rect style='width:expression(x)'/>", "<rect autofocus='' onfocus='x'/>",
]  # fmt: skip


@each("inside", HOSTILE)
def test_an_svg_that_runs_or_refers_to_anything_outside_is_refused(inside: str) -> None:
    with pytest.raises(ValueError, match="more than a drawing"):
        logo_uri(_svg(inside))


def _doubled(link: str) -> str:
    parts = "".join(
        f"<g id='a{n}'><use {link}='#a{n - 1}'/><use {link}='#a{n - 1}'/></g>" for n in range(1, 25)
    )
    return f"<defs><rect id='a0'/>{parts}</defs><use {link}='#a24'/>"


@each("inside", [
        _doubled("href"), _doubled("xlink:href"), "<g id='a'><use href='#a'/></g>",
        "<g id='a'><use href='#b'/></g><g id='b'><use href='#a'/></g>",
        "<pattern id='p'><rect fill='url(#p)'/></pattern>", "<g>" * 100 + "</g>" * 100,
    ])  # fmt: skip
def test_a_drawing_that_draws_itself_over_and_over_is_refused(inside: str) -> None:
    with pytest.raises(ValueError, match="Save it simpler"):
        logo_uri(_svg(inside))


@each(
    "inside",
    [
        "<g transform='translate(1,2) rotate(30) matrix(1 0 0 1 0 0)'><path d='M0 0L9 9z'/></g>",
        "<style>/* made by hand */ .st0{fill:#FF0000;stroke:rgb(1,2,3)}</style><rect class='st0'/>",
        "<clipPath id='c'><rect/></clipPath><g clip-path='url(#c)'><circle r='3'/></g>",
        "<mask id='m'><rect fill='url( &quot;#g&quot; )'/></mask><rect mask=\"url('#m')\"/>",
        "<text x='1'>Tanaka (Tokyo) @ work <tspan>a/*b</tspan></text>",
        "<symbol id='s' viewBox='0 0 9 9'><path/></symbol><use href='#s'/><use href='#s'/>",
        "<title>Logo (2026)</title><rect xml:space='preserve' data-name='Layer 1'/>",
    ],
)
def test_a_plain_drawing_is_taken(inside: str) -> None:
    assert logo_uri(_svg(inside)).startswith("data:image/svg+xml;base64,")


@each(
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


@each("picture", [b"", b"GIF89a....", b"<html>", b"\x89PNG", b"\xff\xd8\xff cut", b"%PDF-1.7"])
def test_anything_else_is_no_picture(picture: bytes) -> None:
    with pytest.raises(ValueError, match="Save it as one of these"):
        logo_uri(picture)


def test_what_is_too_large_is_refused_unread() -> None:
    with pytest.raises(ValueError, match="at most"):
        logo_uri(b"\x89PNG\r\n\x1a\n" + b"\0" * MOST_LOGO_BYTES)
    with pytest.raises(ValueError, match="parts"):
        logo_uri(_svg("<g/>" * 6000))
