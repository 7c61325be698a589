"""Answers to hand out: one page that opens and prints anywhere, offline and without scripts.

`capacity` has the tables and charts that the page Capacity and its report both show,
`comparison_charts` those of Compare hardware.
"""

from planner.report import _capacity as capacity
from planner.report import _charts as comparison_charts
from planner.report._answer import AnswerReport, Chart, Table, answer_page
from planner.report._capacity import capacity_page
from planner.report._comparison import CREDITS, answers, compare_page
from planner.report._logo import MOST_BYTES as MOST_LOGO_BYTES
from planner.report._logo import logo_uri
from planner.report._page import (
    MOST_NAME,
    MOST_TEXT,
    NO_LETTERHEAD,
    SETTING,
    Letterhead,
    public_url,
    with_base,
)
