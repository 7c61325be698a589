"""The style sheet of the app: what Streamlit's own theme leaves below WCAG 2.2 AA.

Every rule names the criterion that it meets. Selectors are Streamlit's test ids and roles, which
are its public names for parts of a page.
"""

from __future__ import annotations

from typing import Final

from planner.figures.frame import DARK_THEME, Theme
from planner.figures.tiles import Markup


def style_sheet(theme: Theme) -> Markup:
    """Return the style sheet for a theme."""
    dark = theme is DARK_THEME
    on_primary = theme.background if dark else "#FFFFFF"
    colours = (
        f":root{{--epochwise-quiet:{theme.quiet};--epochwise-on-primary:{on_primary};"
        f"--epochwise-ring:{theme.colours[0]}}}"
    )
    return Markup(f"<style>{colours}{_RULES}</style>")


_RULES: Final = """
/* 1.4.3: small print is grey with 60 % opacity, below 4.5:1 on white and in the side bar. */
:root [data-testid="stCaptionContainer"]{color:var(--epochwise-quiet);opacity:1}
/* 1.4.3: chips and primary buttons are white on the primary colour, 2.3:1 in the dark theme. */
:root [data-tag],:root [data-tag] *,
:root [data-testid^="stBaseButton-primary"]:not(:disabled),
:root [data-testid^="stBaseButton-primary"]:not(:disabled) *{color:var(--epochwise-on-primary)}
/* 2.5.8: beside chips the search field shrinks to 12 px. */
:root [data-testid="stMultiSelect"] input{min-width:24px}
/* 2.5.8: the tools of a chart are 22 px high. */
:root .modebar-group .modebar-btn{min-height:24px;min-width:24px}
/* 2.4.7, 2.4.13: what has the focus of the keyboard has a ring. */
:root :is(a,button,summary,[data-tag],[role="button"],[role="tab"],[role="radio"],
[role="switch"],[role="checkbox"]):focus-visible,
:root [data-testid="stMain"]:focus-visible{
outline:2px solid var(--epochwise-ring);outline-offset:2px}
:root [data-testid="stMain"]:focus-visible{outline-offset:-2px}
/* 1.3.1, 2.4.6: titles of cards are headings of the second level, the answer a larger one. */
:root [data-testid="stHeading"] h2{font-size:1rem;font-weight:600;line-height:1.6;letter-spacing:0;
padding:0;margin:0}
:root [data-testid="stMarkdown"] h2{font-size:1.5rem;font-weight:600;line-height:1.2;
letter-spacing:0;padding:.5rem 0 1rem;margin:0}
/* 2.4.3: a link to each heading would be one more stop of the Tab key. */
:root [data-testid="stHeaderActionElements"]{display:none}
/* 1.1.1: charts and tables as text, for screen readers; out of sight and without room. */
.epochwise-text,:root [data-testid="stElementContainer"]:has(>* .epochwise-text){
position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
"""
