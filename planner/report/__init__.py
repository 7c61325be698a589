"""Answers to hand out: one page that opens and prints anywhere, offline and without scripts."""

from planner.report._comparison import (
    CREDITS,
    MOST_NAME,
    answers,
    compare_page,
)
from planner.report._logo import MOST_BYTES as MOST_LOGO_BYTES
from planner.report._logo import logo_uri

__all__ = [
    "CREDITS",
    "MOST_LOGO_BYTES",
    "MOST_NAME",
    "answers",
    "compare_page",
    "logo_uri",
]
