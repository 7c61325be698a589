"""The frame of a report: one HTML file without scripts, for print on A4. Its letterhead too.

Everything is in the file, including charts, so that it opens offline. Its content security policy
forbids scripts and requests, whatever a name or a logo contains. In print, table heads repeat, rows
and charts are not cut, and pages are numbered where the browser supports page margin boxes
(Chromium since 131).
"""

import html
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from planner.core import Text, shipped_text
from planner.report._logo import logo_uri

MOST_NAME: Final = 120
"""Most letters of a name or a reference."""
MOST_TEXT: Final = 2000
"""Most letters of the free text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Letterhead:
    """What stands above a report, all optional.

    Args:
        company: who hands it out.
        customer: for whom.
        reference: number of the offer.
        text: free text below the answer; an empty line begins a new paragraph.
        logo: PNG, JPEG or plain SVG.
    """

    company: str = ""
    customer: str = ""
    reference: str = ""
    text: str = ""
    logo: bytes | None = None


NO_LETTERHEAD: Final = Letterhead()


def head(of: Letterhead, made: str) -> str:
    """Return the head of a report: logo, company, customer, reference, date.

    Raises:
        ValueError: the logo is invalid or unsafe; the message has the next step.
    """
    name = escaped(of.company[:MOST_NAME])
    picture = logo_uri(of.logo) if of.logo is not None else ""
    logo = f'<img src="{picture}" alt="{name or "logo"}">' if picture else ""
    who = f'<span class="from">{name}</span>' if name else ""
    facts = (("For", of.customer), ("Reference", of.reference), ("Date", made))
    lines = "".join(
        f"<div><dt>{words}</dt><dd>{escaped(text[:MOST_NAME])}</dd></div>"
        for words, text in facts
        if text.strip()
    )
    return f'<div class="who">{logo}{who}</div><dl class="facts">{lines}</dl>'


def free_text(text: str) -> str:
    """Return the free text as paragraphs with their lines; "" without one."""
    whole = text[:MOST_TEXT].replace("\r\n", "\n").split("\n\n")
    parts = ["<br>".join(escaped(line) for line in p.strip().split("\n")) for p in whole]
    shown = "".join(f"<p>{part}</p>" for part in parts if part)
    return f'<div class="text">{shown}</div>' if shown else ""


POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'"
MOST_LETTERS: Final = 4000
"""Most letters of one text."""
WHOLE_ROWS: Final = 8
"""Most rows of a table that is not cut in print."""
NARROW_COLUMNS: Final = 2
MOST_ADDRESS: Final = 44
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs"})


def escaped(text: str) -> str:
    """Return escaped text without direction marks and invisible characters."""
    joined = " ".join(text[:MOST_LETTERS].split())
    return html.escape("".join(c for c in joined if unicodedata.category(c) not in _UNSEEN))


def linked(address: str, text: str = "") -> str:
    """Return a web address as a link, shown as `text` or shortened; other text is escaped."""
    whole = escaped(address)
    if not address.startswith(("https://", "http://")):
        return whole
    plain = address.split("://", 1)[1].rstrip("/")
    short = plain if len(plain) <= MOST_ADDRESS else f"{plain[: MOST_ADDRESS - 1]}…"
    return f'<a href="{whole}" rel="noopener noreferrer">{escaped(text or short)}</a>'


def linked_text(text: str, addresses: Iterable[str]) -> str:
    """Return a text with these addresses as links in full length, to copy."""
    shown = escaped(text)
    for address in addresses:
        if address:
            shown = shown.replace(escaped(address), linked(address, address))
    return shown


def paragraphs(texts: Iterable[str]) -> str:
    """Return a paragraph per non-empty text."""
    return "".join(f"<p>{escaped(t)}</p>" for t in texts if t)


def items(texts: Sequence[str]) -> str:
    """Return a list; "" without items."""
    lines = "".join(f"<li>{escaped(t)}</li>" for t in texts if t)
    return f"<ul>{lines}</ul>" if lines else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """Return a table of HTML cells; its head repeats on every printed page.

    On a narrow screen, a table with more than `NARROW_COLUMNS` columns stacks its cells, each
    beside its head.
    """
    names = "".join(f'<th scope="col" role="columnheader">{escaped(h)}</th>' for h in head)
    lines = [_line(head, row) for row in rows]
    kinds = ["whole"] * (len(lines) <= WHOLE_ROWS) + ["stacked"] * (len(head) > NARROW_COLUMNS)
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    return (
        f'<p class="caption">{escaped(caption)}</p><div class="wide"><table{kind} role="table">'
        f'<thead role="rowgroup"><tr role="row">{names}</tr></thead>'
        f'<tbody role="rowgroup">{"".join(lines)}</tbody></table></div>'
    )


def _line(head: Sequence[str], row: Sequence[str]) -> str:
    """Return a table row with explicit roles: browsers drop them in a stacked table."""
    cells = "".join(
        f'<td role="cell" data-head="{escaped(name)}">{cell}</td>'
        for name, cell in zip(head, row, strict=True)
    )
    return f'<tr role="row">{cells}</tr>'


def section(title: str, *parts: str) -> str:
    """Return a headed part of the page; "" where empty."""
    body = "".join(parts)
    return f"<section><h2>{escaped(title)}</h2>{body}</section>" if body else ""


def document(title: str, head: str, body: str, foot: str, last: str = "") -> str:
    """Return the whole file; in print, `last` and the foot stay on one page."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="Epochwise">
<title>{escaped(title)}</title>
<style>
{_STYLE}</style></head>
<body><header>{head}</header><main>{body}</main><div class="end">{last}
<footer>{foot}</footer></div></body></html>
"""


_STYLE: Final = shipped_text(__package__, "style.css")


SETTING: Final = "EPOCHWISE_PUBLIC_URL"
_MOST: Final = 300
_NEXT: Final = "Give an address such as https://plan.example.org."


def public_url(environment: Mapping[str, str]) -> str:
    """Return the address of the setting without a slash at its end; "" where it is unset.

    Raises:
        ValueError: it is no web address, or has more than scheme, host, port and path.
    """
    text = environment.get(SETTING, "").strip()
    if not text:
        return ""
    fault = _fault(text)
    if fault:
        raise ValueError(
            Text("{setting} {fault}. {next}", setting=SETTING, fault=fault, next=_NEXT)
        )
    return text.rstrip("/")


def with_base(address: str, base: str) -> str:
    """Return the address of a page, with its question, below another base; unchanged without one.

    The page is the last part of its path: the app may lie below a path of its own.
    """
    if not base:
        return address
    parts = urlsplit(address)
    page = parts.path.rsplit("/", 1)[-1]
    query = f"?{parts.query}" if parts.query else ""
    return f"{base}/{page}{query}"


def _fault(text: str) -> str:
    """Return what is wrong with an address; "" where nothing is."""
    if len(text) > _MOST or not text.isascii() or not text.isprintable() or " " in text:
        return "has letters that no web address has, or is too long"
    try:
        parts = urlsplit(text)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        return "is not a web address"
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_valid:
        return "is not a web address"
    if parts.query or parts.fragment or "?" in text or "#" in text:
        return "has a question or a fragment"
    return "has a user or a password" if parts.username is not None or "@" in parts.netloc else ""
