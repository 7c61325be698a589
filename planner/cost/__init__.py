"""Cost of a run, rented or owned, and the use from which owning pays off.

Records state costs (`Rental`, `Owned`, uncertain quantities as a `Range`). Each formula is in one
module with units, limits and source: `_costs` of rented runs, `_own` of own machines with their
energy, `break_even` and `payback` of the use from which owning is cheaper, `_draws` of
probabilities, `sensitivity` of the effect of each input, `_display` of currency, tax and words.
Formulas take a range at its likely value; functions that end in an `Estimate` draw it.
"""

from planner.cost._costs import (
    Uncertainty,
    billed_s,
    draw_time,
    lost_share,
    rent_per_month,
    rent_per_run,
    wall_s,
)
from planner.cost._display import (
    DIGITS,
    DOLLARS,
    SOURCE,
    Display,
    amount_texts,
    currency_problem,
    in_usd,
    money,
    money_about,
    money_ends,
    money_with_interval,
    price,
    reference_rates,
    shown,
)
from planner.cost._draws import (
    DRAWS,
    draw_amount,
    draw_range,
    draw_record,
    expected,
    probability_cheaper,
    probability_least,
    quantiles,
)
from planner.cost._own import (
    busy_energy_per_hour,
    capex,
    capital_recovery,
    co2_kg,
    cost_per_busy_hour,
    energy_kwh,
    energy_only_per_run,
    energy_per_busy_hour,
    fixed_per_year,
    idle_energy_per_hour,
    own_per_run,
    refuse_owned,
    utilisation_of,
)
from planner.cost._records import (
    HOURS_PER_MONTH,
    HOURS_PER_YEAR,
    Amount,
    Owned,
    Range,
    Rental,
    likely,
    ranges_of,
)
from planner.cost.break_even import break_even, break_even_utilisation, per_hour_of_work
from planner.cost.payback import NoSavings, in_months, machines_for, payback
from planner.cost.sensitivity import Influence, sensitivity
