"""Answers to hand out: one page that opens and prints anywhere, offline and without scripts."""

from planner.report._answer import AnswerReport, Chart, Table, answer_page, headed
from planner.report._comparison import CREDITS, answers, compare_page
from planner.report._letterhead import MOST_NAME, MOST_TEXT, NO_LETTERHEAD, Letterhead
from planner.report._logo import MOST_BYTES as MOST_LOGO_BYTES
from planner.report._logo import logo_uri
from planner.report._public import SETTING, public_url, with_base

__all__ = [
    "CREDITS",
    "MOST_LOGO_BYTES",
    "MOST_NAME",
    "MOST_TEXT",
    "NO_LETTERHEAD",
    "SETTING",
    "AnswerReport",
    "Chart",
    "Letterhead",
    "Table",
    "answer_page",
    "answers",
    "compare_page",
    "headed",
    "logo_uri",
    "public_url",
    "with_base",
]
