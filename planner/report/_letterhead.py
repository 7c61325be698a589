"""Who hands a report out, to whom, under which reference; and a text of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from planner.report._logo import logo_uri
from planner.report._page import escaped, paragraphs

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
