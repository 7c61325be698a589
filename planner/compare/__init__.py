"""Which hardware does a job soonest or cheapest: candidates, their times and money, their ranks.

    >>> import planner
    >>> answer = planner.compare("Llama 3 8B", total_tokens="100M", precision="bfloat16")

answers the question of the page Compare hardware: see `help(planner.answers.compare)`.
"""

from planner.compare._assumptions import (
    ASSUMPTION_TEXTS,
    Assumptions,
    Electricity,
    electricity_lines,
    electricity_pages,
    problems_of,
    with_electricity,
    with_tariff_uncertainty,
)
from planner.compare._candidates import (
    MOST_COUNT,
    MOST_PRICE,
    THERE,
    Entry,
    Quote,
    Shop,
    best_runs,
    candidates_of,
    each_notes,
    entry_id,
    entry_of,
    entry_text,
    entry_words,
    left_out,
    part_of,
    wrong_in_form,
)
from planner.compare._influences import Influences, tornado
from planner.compare._sentences import (
    assumed_lines,
    buying,
    cost_bound,
    estimated_prices,
    hours_words,
    limits_words,
    pays_up_front,
    sentence,
    sentences,
    times_better,
)
from planner.compare._shortlist import may_fit, price_of_peak, usual
from planner.compare._summary import ShortAnswer, limits_sentence, short_answer
from planner.compare.comparison import (
    basis_words,
    budget_words,
    limits_phrase,
    limits_title,
    probability_help,
    probability_titles,
    runs_a_month,
    session_note,
)
from planner.compare.evaluation import LIKELY_IN_TIME, better, chance_to_meet, compare
from planner.compare.rent_or_buy import (
    RentOrBuy,
    misses_limits,
    monthly_cost,
    ownership,
    ownership_sentences,
    runs_at,
    utilisation_at,
)
from planner.compare.undecided import narrowing_runs, next_step, step_note, with_step
from planner.job import OWN_ENTRY
