"""Two machines of one kind measure two runs, and nothing of either machine is recorded."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from planner.runs import run_id
from planner.store import commit_runs
from runners.machine.identity import identity, machine_id, session_started_at
from tests.store.build import a_set, ids, opened, row


def test_the_number_of_a_machine_stays_and_differs_from_every_other(tmp_path: Path) -> None:
    one, other = machine_id(tmp_path / "a"), machine_id(tmp_path / "b")
    machine_id.cache_clear()
    assert machine_id(tmp_path / "a") == one != other
    assert re.fullmatch("[0-9a-f]{16}", one)


def test_machines_that_share_a_state_folder_have_two_numbers(tmp_path: Path) -> None:
    systems = []
    for name in ("first", "second"):
        (tmp_path / name).write_text(f"{name * 4}\n")
        systems.append(machine_id(tmp_path / "state", (tmp_path / name,)))
    assert len(set(systems)) == 2


def test_neither_number_it_is_made_of_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "system").write_text("0123456789abcdef0123456789abcdef\n")
    found = machine_id(tmp_path / "state", (tmp_path / "system",))
    assert found not in "0123456789abcdef0123456789abcdef"
    assert found not in (tmp_path / "state" / "machine").read_text()


def test_without_a_state_folder_that_can_be_written_there_is_still_a_number(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert re.fullmatch("[0-9a-f]{16}", machine_id(tmp_path / "file" / "state"))


def test_every_process_has_its_own_start() -> None:
    ask = "from runners.machine.identity import session_started_at as s; print(s())"
    said = [
        subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    result = {one.stdout.strip() for one in said} | {session_started_at()}
    assert len(result) == 3
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", t) for t in result)


def test_the_same_sweep_on_two_machines_of_a_kind_is_shown_twice(tmp_path: Path) -> None:
    for name in ("a", "b"):
        result = identity(tmp_path / f"state {name}")
        commit_runs(
            a_set(tmp_path / name),
            [row(sweep="quick", repeat=n, total_s=float(n + 1), **result) for n in range(5)],
        )
    store = opened(tmp_path / "a", tmp_path / "b")
    assert (len(ids(store)), store.refused) == (10, ())


def test_runs_without_the_new_columns_keep_their_ids() -> None:
    assert run_id(row()) == run_id(row(machine_id=None, session_started_at=None))
    assert run_id(row(machine_id="a")) != run_id(row(machine_id="b"))
    assert run_id(row(session_started_at="a")) != run_id(row(session_started_at="b"))
