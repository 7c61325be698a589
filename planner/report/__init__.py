"""Answers to hand out: one page that opens and prints anywhere, offline and without scripts.

`capacity_charts` and `capacity_tables` are what the page Capacity and its report both show.
"""

from planner.report import _capacity_charts as capacity_charts
from planner.report import _capacity_tables as capacity_tables
from planner.report._answer import AnswerReport, Chart, Table, answer_page, headed
from planner.report._capacity import capacity_page
from planner.report._comparison import CREDITS, answers, compare_page
from planner.report._letterhead import MOST_NAME, MOST_TEXT, NO_LETTERHEAD, Letterhead
from planner.report._logo import MOST_BYTES as MOST_LOGO_BYTES
from planner.report._logo import logo_uri
from planner.report._public import SETTING, public_url, with_base
