"""A supervisor of the stand-in child: `python -m tests.runners.stub_sweep TMP TICKET MARK N HOW`.

Queues, runs N cases into TMP/results/stub and exits like the command line does: 0, 1, or 130
where it was stopped. HOW is how all of them end, or a JSON object {seed: how}.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from planner.runs import Row
from planner.store.disk.sweeps import Turn
from planner.store.sealed.commit import CommitError
from runners.commands.cli import Stopper
from runners.plan.cases import Case
from runners.process.supervise import Stopped
from runners.sweep import sweep
from runners.sweep.measure import Hooks, measure
from tests.runners.stubs import bench, book
from tests.runners.stubs import case as stub_case


def main() -> int:
    """Run the sweep once, from wherever it is."""
    tmp, ticket, mark, count, how = sys.argv[1:6]
    place = Path(tmp)
    ways = json.loads(how) if how.startswith("{") else dict.fromkeys(range(int(count)), how)
    stopper, journal = Stopper(), book(place, ticket, int(count))
    used, turn = bench(place, ways, mark), Turn(place / "state")

    def measured(case: Case, hooks: Hooks) -> Row:
        return measure(case, used, "stub", hooks)

    try:
        sweep.wait_for_turn(turn, journal, stopper.requested)
        sweep.run([stub_case(s) for s in range(int(count))], place / "results" / "stub", measured,
                  journal, stop=stopper.requested)  # fmt: skip
        journal.update(phase="finished", ended_at=time.time())
    except Stopped:
        journal.update(phase="stopped", ended_at=time.time())
        return 130
    except CommitError as error:
        journal.update(phase="failed", ended_at=time.time(), message=str(error.strerror))
        sys.stderr.write(f"{error.strerror}\n")
        return 2
    finally:
        turn.give_back()
    return 1 if journal.status.failed else 0


if __name__ == "__main__":
    sys.exit(main())
