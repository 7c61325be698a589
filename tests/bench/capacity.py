"""A month of jobs on a fleet: 1,000 simulated months, and the cheapest fleet of each preset.

Targets of the design (two cores): 1,000 months 2 s, a fleet within two seconds or so.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from planner.answers import capacity_answered
from planner.answers._capacity import case_of
from planner.answers.capacity_jobs import presets
from planner.capacity import PlanProgress, Simulation, Stock
from planner.capacity._months import simulate
from planner.capacity._records import CapacityTile
from planner.catalog import Catalog
from planner.store import Store, folders_from_environment
from planner.store.catalog import read_catalog
from planner.store.disk.folders import OWN
from tests.bench.figures import figure, heading

ROOT: Final = Path(__file__).parent.parent.parent


CHANGED: Final[tuple[Mapping[str, Sequence[str]], ...]] = (
    {}, {"probability": ["99"]}, {"months": ["12"]}, {"rent_most": ["0"]},
    {"owned": ["1 x h100-sxm|8"]}, {"variation": ["20"]},
)  # fmt: skip
"""What the questions change of each preset whose first estimates are compared."""


def store_and_catalog(box: str) -> tuple[Store, Catalog]:
    """The shipped results and prices."""
    store = Store(folders_from_environment(ROOT, {OWN: str(Path(box) / "results")}))
    store.refresh()
    return store, read_catalog(ROOT / "data" / "catalog", []).catalog


def _months_s(case: Simulation, stocks: list[Stock]) -> float:
    """Least time of the processor of three simulations: others may share this machine [s]."""
    took = []
    for _ in range(3):
        began = time.process_time()
        simulate(case, stocks)
        took.append(time.process_time() - began)
    return min(took)


def main() -> None:
    """Print the figures."""
    heading("Capacity: machines for a month of jobs")
    with TemporaryDirectory() as box:
        store, catalog = store_and_catalog(box)
        for name, jobs in presets().items():
            today = datetime.now(UTC).date()
            began = time.process_time()
            after_s: dict[str, float] = {}

            def tell(
                of: PlanProgress, began: float = began, after_s: dict[str, float] = after_s
            ) -> None:
                for part, here in (("first estimate", of.first), ("fleet", of.chosen)):
                    if here is not None:
                        after_s[part] = time.process_time() - began

            answer = capacity_answered(store, catalog, {"preset": [name]}, today, tell)
            took_s = time.process_time() - began
            stocks = [Stock(machine=s.machine.id, count=s.count, from_month=s.from_month)
                      for s in answer.stocks]  # fmt: skip
            case = case_of(store, catalog, jobs, stocks, today)
            figure(f"{name}: simulated months", len(case.at) * case.scenarios, "months")
            figure(f"{name}: simulated months, processor", _months_s(case, stocks), "s", 2)
            figure(f"{name}: fleets compared", answer.compared, "fleets")
            for part, part_s in after_s.items():
                figure(f"{name}: {part}, processor", part_s, "s")
            figure(f"{name}: fleet and answer, processor", took_s, "s")
        off = [abs(_first_error(store, catalog, {"preset": [name], **changed}))
               for name in presets() for changed in CHANGED]  # fmt: skip
        figure("first estimate: error of its cost, median", 100.0 * statistics.median(off), "%")
        figure("first estimate: error of its cost, largest", 100.0 * max(off), "%")
        figure("first estimate: questions", len(off), "questions")


def _first_error(store: Store, catalog: Catalog, question: Mapping[str, Sequence[str]]) -> float:
    """Relative error of the cost that is shown at first, against the answer's."""
    costs: list[float] = []

    def tell(of: PlanProgress) -> None:
        if of.first is not None:
            costs.append(_cost(of.first.tiles))

    answer = capacity_answered(store, catalog, question, datetime.now(UTC).date(), tell)
    return costs[0] / _cost(answer.tiles) - 1.0


def _cost(of: Sequence[CapacityTile]) -> float:
    return next(t.value for t in of if t.title == "Cost a month" and t.value is not None)


if __name__ == "__main__":
    main()
