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
    electricity_lines,
    electricity_pages,
    with_electricity,
    with_tariff_uncertainty,
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
from planner.compare._limits import budget_words, limits_sentence
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
    limits_phrase,
    probability_help,
    probability_titles,
    runs_a_month,
    session_note,
    with_names,
)
from planner.compare.evaluation import (
    LIKELY_IN_TIME,
    compare,
)
from planner.compare.ranking import (
    better,
    chance_to_meet,
)
from planner.compare.rent_or_buy import (
    RentOrBuy,
    misses_limits,
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
    "chance_to_meet",
    "compare",
    "cost_bound",
    "electricity_lines",
    "electricity_pages",
    "entry_id",
    "entry_of",
    "entry_text",
    "entry_words",
    "left_out",
    "limits_phrase",
    "limits_sentence",
    "misses_limits",
    "monthly_cost",
    "next_step",
    "pays_up_front",
    "probability_help",
    "probability_titles",
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
    "with_tariff_uncertainty",
    "wrong_in_form",
]
