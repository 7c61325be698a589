"""When a link was made and with which runs and prices, so that another answer can say why."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from planner.answers.comparison._snapshot import snapshot_of
from planner.compare.comparison import Comparison
from planner.job import Job

DIGITS: Final = 8
_FORM: Final = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})-([0-9a-f]{{{DIGITS}}})")


def made_text(told: Comparison, job: Job, today: date) -> str:
    """As it stands in a link: the day, and digits of the runs and prices: 2026-11-22-1a2b3c4d."""
    return f"{today:%Y-%m-%d}-{_digits(told, job)}"


def made_problem(text: str) -> str:
    """What is wrong with such a text; "" where nothing is."""
    found = _FORM.fullmatch(text)
    try:
        if found is not None:
            date.fromisoformat(found[1])
            return ""
    except ValueError:
        pass
    return f"{text[:40]!r} is not a day with {DIGITS} digits: 2026-11-22-1a2b3c4d. Leave it out."


def made_note(text: str, told: Comparison, job: Job) -> str:
    """That the link was made with other runs or prices, as a sentence; "" where with the same."""
    found = _FORM.fullmatch(text)
    if found is None or found[2] == _digits(told, job):
        return ""
    return (
        f"This link was made on {found[1]} with other runs or prices: its answer may have been "
        "another one."
    )


def _digits(told: Comparison, job: Job) -> str:
    return snapshot_of(told, job).fingerprint[:DIGITS]
