"""Date and fingerprint of a link's runs and prices, to explain a different answer."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from planner.answers.comparison._snapshot import snapshot_of
from planner.compare.comparison import Comparison
from planner.job import Job

DIGITS: Final = 8
_FORM: Final = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})-([0-9a-f]{{{DIGITS}}})")


def made_text(comparison: Comparison, job: Job, today: date) -> str:
    """Return date and fingerprint of runs and prices, for a link: 2026-11-22-1a2b3c4d."""
    return f"{today:%Y-%m-%d}-{_digits(comparison, job)}"


def made_problem(text: str) -> str:
    """Return what is wrong with such a text; "" where nothing is."""
    match = _FORM.fullmatch(text)
    try:
        if match is not None:
            date.fromisoformat(match[1])
            return ""
    except ValueError:
        pass
    return f"{text[:40]!r} is not a day with {DIGITS} digits: 2026-11-22-1a2b3c4d. Leave it out."


def made_note(text: str, comparison: Comparison, job: Job) -> str:
    """Return a note that the link was made with other runs or prices; "" where with the same."""
    match = _FORM.fullmatch(text)
    if match is None or match[2] == _digits(comparison, job):
        return ""
    return (
        f"This link was made on {match[1]} with other runs or prices, so its answer may have "
        "differed."
    )


def _digits(comparison: Comparison, job: Job) -> str:
    return snapshot_of(comparison, job).fingerprint[:DIGITS]
