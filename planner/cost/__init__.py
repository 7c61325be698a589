"""Cost of a run, rented or owned, and the use from which owning pays off.

Records state costs (`Rental`, `Owned`, uncertain quantities as a `Range`). Each formula over
numbers or arrays is in one module, with units, limits and source:

    quantity                                       function                    module
    billed time, cost of a run or a month          rent_per_run, ..per_month   _costs
    cost of an hour or a run of an own machine     cost_per_busy_hour, ...     _own
    electricity and carbon dioxide                 energy_kwh, co2_kg          _own
    per epoch, per hour of work                    per_epoch, ...              break_even
    utilisation above which owning is cheaper      break_even                  break_even
    months until it has paid for itself            payback                     payback
    draws of times and prices                      draw_time, draw_record      _costs, _draws
    cheapest, fastest, in time                     probability_..., quantiles  _draws
    effect of each input                           sensitivity                 sensitivity
    currency, tax, words                           Display, money, price       _display

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
    amount_text,
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
from planner.cost.break_even import break_even, break_even_utilisation, per_epoch, per_hour_of_work
from planner.cost.payback import NoSavings, in_months, machines_for, payback
from planner.cost.sensitivity import Influence, rank_correlation, sensitivity
