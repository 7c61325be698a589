"""A sweep of the stand-in child over a cluster: `python -m ... ADDRESS TMP MARK N HOW`.

Measures N cases into TMP/results/stub; HOW is how all of them end, or a JSON object {seed: how}.
Exits with 0, or 130 where it was stopped.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from planner.runs import Row
from planner.store.disk.sweeps import SweepStatus
from planner.store.disk.witness import Witness, witness
from runners.cluster.connection import Cluster, connected
from runners.cluster.dispatch import Listener, Roster, Sweep, run
from runners.cluster.nodes import SweepTerms
from runners.cluster.storing import Storage
from runners.commands.cli import Stopper
from runners.plan.cases import Case
from runners.process.supervise import Stopped
from runners.sweep.rows import SetFolder, done_in
from tests.runners.stubs import HANG_S, book, case

CHILD: Final = str(Path(__file__).parents[1] / "stub_child.py")
"""By its path: the nodes get a copy of the program without its tests."""
UNSEEN: Final = Witness("/nowhere/stub/.seen.tmp", "other bytes")
"""Of a folder that no node has."""


def terms(
    tmp: Path, ends: dict[int, str], mark: str = "stub", storage: Storage | None = None
) -> SweepTerms:
    """Terms of a sweep whose children are stand-ins that end by their seed."""
    ways = json.dumps({str(seed): how for seed, how in ends.items()})
    return SweepTerms(
        result_set="stub", licence="own", session_started_at="2026-03-01T12:00:00.123Z",
        git_describe="v1", pythons={}, timeout_s=HANG_S, memory_share=0.8,
        child=("-S", CHILD, mark, ways, str(tmp / "starts")),
        storage=storage or Storage(witness=UNSEEN),
    )  # fmt: skip


def sweep(
    cluster: Cluster,
    tmp: Path,
    cases: list[Case],
    ends: dict[int, str] | None = None,
    mark: str = "stub",
    *,
    listener: Listener | None = None,
    storage: Storage | None = None,
    **changes: Any,  # noqa: ANN401 - fields of a sweep
) -> tuple[list[Row], list[SweepStatus]]:
    """Run a sweep once; return its new rows and all its statuses."""
    seen: list[SweepStatus] = []
    journal = book(tmp, planned=len(cases))
    journal.on_update = seen.append
    place = tmp / "results" / "stub"
    roster = Roster(cluster=cluster, pythons={})
    listener = listener or Listener()
    roster.first_reports(lambda _: None, listener.stop)
    with witness(place) as proof:
        known: dict[str, Any] = {
            "cases": cases, "done": done_in(place), "destination": SetFolder(place),
            "terms": terms(tmp, ends or {}, mark, storage or Storage(witness=proof)),
        }  # fmt: skip
        rows = run(Sweep(**known | changes), roster, journal, listener)
    return rows, seen


def main() -> int:
    """Run the sweep once, from wherever it is."""
    address, tmp, mark, count, how = sys.argv[1:6]
    ends = {int(s): h for s, h in json.loads(how).items()} if how.startswith("{") else {}
    ends = ends or dict.fromkeys(range(int(count)), how)
    stopper = Stopper()
    try:
        with connected(address) as cluster:
            cases = [case(s) for s in range(int(count))]
            sweep(cluster, Path(tmp), cases, ends, mark, listener=Listener(stop=stopper.requested))
    except Stopped:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
