"""Which hardware does a job soonest or cheapest: candidates, their times and money, their ranks."""

from planner.compare._assumptions import ASSUMPTION_TEXTS, Assumptions, problems_of
from planner.compare._candidates import (
    OWN_ENTRY,
    THERE,
    Shop,
    best_runs,
    candidates_of,
    left_out,
    usual,
)
from planner.compare._electricity import (
    Electricity,
    doubted,
    electricity_lines,
    electricity_pages,
    with_electricity,
)
from planner.compare._entries import (
    MOST_COUNT,
    MOST_PRICE,
    Entry,
    Quote,
    entry_id,
    entry_of,
    entry_text,
    entry_words,
    wrong_in_form,
)
from planner.compare._influences import Tornado, tornado
from planner.compare._limits import budget_words, keeping_sentence
from planner.compare._sentences import (
    assumed_lines,
    buying,
    cost_bound,
    pays_up_front,
    sentence,
    sentences,
    times_better,
)
from planner.compare._timed_step import next_step, with_step
from planner.compare._words import (
    basis_words,
    kept_to,
    odds_heads,
    odds_words,
    runs_a_month,
    session_note,
    with_names,
)
from planner.compare.ranking import (
    better,
    chance_to_keep,
)
from planner.compare.reckon import (
    LIKELY_IN_TIME,
    compare,
)
from planner.compare.rent_or_buy import (
    RentOrBuy,
    keeps_too_seldom,
    monthly_cost,
)

__all__ = [
    "ASSUMPTION_TEXTS",
    "LIKELY_IN_TIME",
    "MOST_COUNT",
    "MOST_PRICE",
    "OWN_ENTRY",
    "THERE",
    "Assumptions",
    "Electricity",
    "Entry",
    "Quote",
    "RentOrBuy",
    "Shop",
    "Tornado",
    "assumed_lines",
    "basis_words",
    "best_runs",
    "better",
    "budget_words",
    "buying",
    "candidates_of",
    "chance_to_keep",
    "compare",
    "cost_bound",
    "doubted",
    "electricity_lines",
    "electricity_pages",
    "entry_id",
    "entry_of",
    "entry_text",
    "entry_words",
    "keeping_sentence",
    "keeps_too_seldom",
    "kept_to",
    "left_out",
    "monthly_cost",
    "next_step",
    "odds_heads",
    "odds_words",
    "pays_up_front",
    "problems_of",
    "runs_a_month",
    "sentence",
    "sentences",
    "session_note",
    "times_better",
    "tornado",
    "usual",
    "with_electricity",
    "with_names",
    "with_step",
    "wrong_in_form",
]
