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

from planner.core import Text
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
    """Return the free text as paragraphs; "" without one."""
    parts = paragraphs(text[:MOST_TEXT].replace("\r\n", "\n").split("\n\n"))
    return f'<div class="text">{parts}</div>' if parts else ""


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
<style>{_STYLE}</style></head>
<body><header>{head}</header><main>{body}</main><div class="end">{last}
<footer>{foot}</footer></div></body></html>
"""


_STYLE: Final = """
:root{color-scheme:light}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,"Source Sans 3","Noto Sans","DejaVu Sans",sans-serif;margin:0 auto;
padding:2rem 1.25rem;max-width:64rem;background:#fff;color:#14212b;overflow-wrap:anywhere}
header{display:flex;gap:1rem;align-items:center;justify-content:space-between;
border-bottom:2px solid #0072b2;padding-bottom:.75rem;margin-bottom:1.5rem}
.who{display:flex;gap:.9rem;align-items:center;min-width:0}
header img{max-height:4rem;max-width:14rem}
.from{font-weight:600;font-size:1.1rem}.note,footer{color:#51606b}
.facts{margin:0;font-size:.875rem}.facts div{display:flex;gap:.6rem;justify-content:flex-end}
.facts dt{color:#51606b}.facts dd{margin:0;text-align:right;max-width:24rem}
.text{border:1px solid #dde3e8;border-radius:.5rem;padding:.1rem .9rem;margin:1rem 0}
.text p{margin:.5rem 0}.epochwise-answer{margin:1rem 0;-webkit-print-color-adjust:exact;
print-color-adjust:exact}
.appendix{margin-top:3rem}.part{font-size:1.35rem;border-bottom:1px solid #9fb0bc}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .75rem}
h2{font-size:1.15rem;margin:2rem 0 .5rem}
.answer{font-size:1.25rem;font-weight:600;border-left:4px solid #0072b2;padding-left:.9rem}
figure{margin:1.25rem 0}figcaption,.caption{font-size:.85rem;text-align:left;color:#51606b}
.caption{margin:0 0 .3rem}
svg{width:100%;height:auto;display:block}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.875rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.35rem .5rem;border-bottom:1px solid #dde3e8;vertical-align:top;
overflow-wrap:break-word}
.name{overflow-wrap:anywhere;display:block;min-width:9em}
.option{margin:.6rem 0;font-size:.9rem}
ol,ul{padding-left:1.4rem;font-size:.875rem}
th{border-bottom:2px solid #9fb0bc}
small{color:#51606b;display:block}.line{white-space:nowrap}
footer{margin-top:2.5rem;border-top:1px solid #dde3e8;padding-top:.75rem;font-size:.85rem}
a{color:#005a8f}
@media screen and (max-width:45rem){
.chart{overflow-x:auto}.chart svg{min-width:42rem}
.stacked,.stacked tbody,.stacked tr,.stacked td{display:block}
.stacked thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
.stacked tr{padding:.5rem 0;border-bottom:1px solid #9fb0bc}
.stacked td{position:relative;border:0;padding:.15rem 0 .15rem 8.5rem;min-height:1.5em}
.stacked td:empty{display:none}
.stacked td::before{content:attr(data-head);position:absolute;left:0;width:8rem;color:#51606b}
}
@page{size:A4;margin:16mm 14mm 18mm;
@bottom-right{content:counter(page) " / " counter(pages);font:8pt sans-serif;color:#51606b}}
@media print{
body{padding:0;max-width:none;font-size:9.5pt;line-height:1.4}
h1{font-size:16pt}h2{font-size:12pt;margin:1.1rem 0 .35rem;break-after:avoid-page}
h2+p{break-after:avoid-page}.answer{font-size:12pt}
.wide{overflow:visible}
table{font-size:8pt;break-inside:auto}thead{display:table-header-group}
th,td{padding:.2rem .4rem}tr,figure,.answer,.option,li,.whole,footer,.end{break-inside:avoid}
thead,thead tr,.caption{break-inside:avoid;break-after:avoid-page}
tbody tr:nth-child(-n+2):not(:last-child){break-after:avoid-page}
tbody tr:nth-last-child(2){break-after:avoid-page}
footer{break-before:avoid-page;margin-top:.5rem;font-size:8pt}
footer p{display:inline;margin-right:1rem}p,li{orphans:3;widows:3}
.summary svg{max-height:50mm}.summary h2{margin:.7rem 0 .2rem}
.summary .epochwise-answer{margin:.4rem 0}
.appendix{break-before:page;margin-top:0}.part{font-size:14pt;margin-top:0}
.facts{font-size:9pt}section>figure{margin:.4rem 0}
.option,ol,ul{font-size:8.5pt}figcaption,.caption{font-size:8pt}svg{max-height:82mm}
a{color:inherit;text-decoration:none}
}
"""


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
