"""A month of jobs on a fleet of machines: cost, waiting times, and the cheapest fleet in time.

`_records` has question and answer. `_queue` simulates runs that arrive, wait and work, `_months`
the months of a plan, `_spend` their cost; `_answer` puts the answer together.
"""

from planner.capacity._answer import plan
from planner.capacity._months import RunTime, Simulation
from planner.capacity._records import (
    COMMON,
    MOST_ACCELERATORS,
    MOST_JOBS,
    MOST_MACHINES,
    MOST_STOCKS,
    PLAN_MONTHS,
    STANDING,
    CapacityAnswer,
    CostLine,
    CostLines,
    FirstAnswer,
    Fleet,
    Horizon,
    JobRow,
    Machine,
    MonthlyJob,
    MonthRow,
    PlanProgress,
    RentOrBuyByUse,
    Stock,
    StockRow,
    Tell,
    Term,
    Waiting,
    silent,
)
