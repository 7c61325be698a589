"""A month of jobs on a fleet: 1,000 simulated months, and the cheapest fleet of each preset.

Targets of the design (two cores): 1,000 months 2 s, a fleet within two seconds or so.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import planner.answers._capacity as asked
from planner.answers import capacity_answered
from planner.answers.capacity_jobs import presets
from planner.capacity import Case, Fleet, Horizon, Stock, plan
from planner.capacity._months import simulate
from planner.cost import DOLLARS
from planner.store import Store, folders_from_environment
from planner.store.catalog import read_catalog
from planner.store.disk.folders import OWN
from tests.bench.figures import best_s, figure, heading

ROOT: Final = Path(__file__).parent.parent.parent


def cases() -> dict[str, tuple[Case, Fleet, Horizon]]:
    """Each preset as a case with its fleet and its horizon."""
    found: dict[str, tuple[Case, Fleet, Horizon]] = {}
    with TemporaryDirectory() as box:
        store = Store(folders_from_environment(ROOT, {OWN: str(Path(box) / "results")}))
        store.refresh()
        catalog = read_catalog(ROOT / "data" / "catalog", []).catalog
        usual = asked.plan
        for name in presets():

            def noted(
                case: Case, fleet: Fleet, horizon: Horizon, _: object = DOLLARS, name: str = name
            ) -> object:
                found[name] = case, fleet, horizon
                return usual(case, Fleet(find=False), horizon)

            asked.plan = noted  # type: ignore[assignment]
            try:
                capacity_answered(store, catalog, {"preset": [name]}, datetime.now(UTC).date())
            finally:
                asked.plan = usual
    return found


def main() -> None:
    """Print the figures."""
    heading("Capacity: machines for a month of jobs")
    for name, (case, fleet, horizon) in cases().items():
        answer = plan(case, fleet, horizon)
        stocks = [Stock(machine=s.machine.id, count=s.count, from_month=s.from_month)
                  for s in answer.stocks]  # fmt: skip
        months = len(case.at) * case.scenarios
        months_s = best_s(lambda case=case, stocks=stocks: simulate(case, stocks), 3)
        figure(f"{name}: {months:,} simulated months, best of 3", months_s, "s", 2)
        began = time.process_time()
        plan(case, fleet, horizon)
        figure(f"{name}: cheapest fleet with its answer, time of the processor",
               time.process_time() - began, "s")  # fmt: skip


if __name__ == "__main__":
    main()
