"""What sweeps tell of themselves, what can be seen of them, and how they are started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from planner.store.disk import sweeps
from planner.store.disk.sweeps import (
    STALLED_S,
    STATE,
    NodeStatus,
    SweepStatus,
    Turn,
    alive,
    ask_to_stop,
    condition,
    launch,
    log_tail,
    new_ticket,
    read_status,
    read_statuses,
    remove_status,
    state_folder,
    ticket_folder,
    write_status,
)
from tests.store.sweeping import dead, result

BAD_TICKETS = ["", ".", "..", "../etc", "a/b", "/etc", ".hidden", "a\n", "a b", "x" * 101]
SLEEPS = [sys.executable, "-c", "import time; time.sleep(600)"]


def _until(true: Callable[[], bool]) -> None:
    """Wait for another process, far longer than it ever takes."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


# -- facts of a status -------------------------------------------------------------------------


def test_time_and_cost_run_until_the_end_of_a_sweep(tmp_path: Path) -> None:
    running = result(tmp_path, started_at=1_000.0, cost_per_hour=36.0, planned=4, finished=1)
    assert (running.left, running.share) == (3, 0.25)
    assert running.measured_s(now=1_100.0) == 100.0
    assert running.spent(now=1_100.0) == pytest.approx(1.0)
    ended = replace(running, phase="stopped", ended_at=1_050.0)
    assert ended.measured_s(now=9_999.0) == 50.0
    assert replace(ended, phase="running").measured_s(now=1_100.0) == 100.0  # resumed
    assert replace(running, started_at=None).spent(now=1_100.0) is None
    assert replace(running, cost_per_hour=None).spent(now=1_100.0) is None
    assert replace(running, planned=0).share == 0.0


# -- on disk -----------------------------------------------------------------------------------


def test_the_state_lies_where_it_is_reported_else_where_states_lie() -> None:
    home = Path("~").expanduser()
    assert state_folder({STATE: "/somewhere"}) == Path("/somewhere")
    assert state_folder({"XDG_STATE_HOME": "/states"}) == Path("/states/epochwise")
    assert state_folder({}) == home / ".local" / "state" / "epochwise"


def test_a_status_is_read_as_it_was_written(tmp_path: Path) -> None:
    status = result(tmp_path, current="ResNet-50, batch 32", left_s=12.5)
    assert read_statuses(tmp_path) == [status]
    assert read_status(tmp_path, status.ticket) == status


def test_nodes_of_a_cluster_are_read_as_they_were_written(tmp_path: Path) -> None:
    nodes = (
        NodeStatus(name="a", accelerators="8 x v100", system="V100", runs=("one", "two"),
                   finished=3, state="running", stored_by="node in app"),
        NodeStatus(name="b", accelerators="", system="", state="unusable", message="no Keras"),
    )  # fmt: skip
    status = result(tmp_path, nodes=nodes)
    assert read_status(tmp_path, status.ticket) == status


@pytest.mark.parametrize(
    "nodes",
    [
        5, "abc", [5], [None], [{}], [{"name": "a"}],
        [{"name": 1, "accelerators": "", "system": ""}],
        [{"name": "a", "accelerators": "", "system": "", "runs": 3}],
        [{"name": "a", "accelerators": "", "system": "", "runs": [3]}],
        [{"name": "a", "accelerators": "", "system": "", "state": "asleep"}],
        [{"name": "a", "accelerators": "", "system": "", "stored_by": ["start"]}],
        [{"name": "a", "accelerators": "", "system": "", "finished": -1}],
        [{"name": "a", "accelerators": "", "system": "", "finished": "many"}],
    ],
)  # fmt: skip
def test_a_status_with_invalid_nodes_is_left_out(tmp_path: Path, nodes: object) -> None:
    status = result(tmp_path)
    path = ticket_folder(tmp_path, status.ticket) / "status.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "nodes": nodes}))
    assert read_statuses(tmp_path) == []


def test_runs_of_a_cluster_share_a_machine_that_a_sweep_has_alone(tmp_path: Path) -> None:
    first, second, alone = Turn(tmp_path), Turn(tmp_path), Turn(tmp_path)
    assert first.share()
    assert second.share()
    assert not alone.take("other")
    first.give_back()
    assert not alone.take("other")
    second.give_back()
    assert alone.take("other")
    assert not first.share()
    alone.give_back()
    assert first.share()
    first.give_back()


def test_sweeps_are_reported_the_newest_first(tmp_path: Path) -> None:
    for n in (2, 1, 3):
        result(tmp_path, ticket=f"t-{n}", asked_at=float(n))
    assert [s.ticket for s in read_statuses(tmp_path)] == ["t-3", "t-2", "t-1"]


def test_where_there_is_no_state_there_is_no_sweep(tmp_path: Path) -> None:
    assert read_statuses(tmp_path / "absent") == []
    assert read_status(tmp_path / "absent", "t-1") is None


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '"x"', "{}", '{"ticket": "small-1"}', "\x00"],
)
def test_what_is_no_status_is_left_out(tmp_path: Path, text: str) -> None:
    result(tmp_path, ticket="good")
    result(tmp_path)
    (tmp_path / "small-1" / "status.json").write_text(text, encoding="utf-8")
    assert [s.ticket for s in read_statuses(tmp_path)] == ["good"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("pid", "1"), ("pid", None), ("planned", 1.5), ("heartbeat_at", "now"), ("phase", "asleep"),
     ("phase", None), ("current", 5), ("left_s", "5"), ("ticket", "another")],
)  # fmt: skip
def test_a_status_with_a_field_of_another_kind_is_left_out(
    tmp_path: Path, field: str, value: object
) -> None:
    result(tmp_path)
    path = tmp_path / "small-1" / "status.json"
    body = json.loads(path.read_text(encoding="utf-8")) | {field: value}
    path.write_text(json.dumps(body), encoding="utf-8")
    assert read_statuses(tmp_path) == []


def test_a_later_version_may_tell_more_and_an_earlier_one_less(tmp_path: Path) -> None:
    status = result(tmp_path)
    path = tmp_path / "small-1" / "status.json"
    body = json.loads(path.read_text(encoding="utf-8")) | {"colour": "red"}
    del body["host"], body["message"]
    path.write_text(json.dumps(body), encoding="utf-8")
    assert read_statuses(tmp_path) == [status]


@pytest.mark.parametrize("ticket", BAD_TICKETS)
def test_what_is_no_ticket_leads_nowhere(tmp_path: Path, ticket: str) -> None:
    state = tmp_path / "state"
    keep = tmp_path / "keep"
    result(state)
    keep.touch()
    for ask in (ticket_folder, read_status, remove_status, log_tail):
        with pytest.raises(ValueError, match="no ticket"):
            ask(state, ticket)
    assert keep.exists()
    assert len(read_statuses(state)) == 1


@pytest.mark.parametrize("sweep", ["quick", "../..", "", "Größe 2 / α", "x" * 200])
def test_every_new_ticket_is_one_and_new(tmp_path: Path, sweep: str) -> None:
    first, second = new_ticket(sweep), new_ticket(sweep)
    assert first != second
    assert ticket_folder(tmp_path, first).parent == tmp_path


def test_what_is_forgotten_is_gone_with_all_it_left(tmp_path: Path) -> None:
    result(tmp_path)
    for name in ("log.txt", "launch.json", "quick.toml", ".status.json.1.ab.tmp"):
        (tmp_path / "small-1" / name).touch()
    remove_status(tmp_path, "small-1")
    assert list(tmp_path.iterdir()) == []
    remove_status(tmp_path, "small-1")


def test_the_log_is_reported_from_its_end(tmp_path: Path) -> None:
    result(tmp_path)
    assert log_tail(tmp_path, "small-1") == ""
    (tmp_path / "small-1" / "log.txt").write_text("x\n" * 5_000 + "the end\n", encoding="utf-8")
    said = log_tail(tmp_path, "small-1")
    assert said.endswith("the end")
    assert len(said) <= 4_000


# -- what can be seen --------------------------------------------------------------------------


def test_a_living_sweep_is_what_it_says(tmp_path: Path) -> None:
    status = result(tmp_path)
    assert alive(status)
    assert condition(status) == "running"
    assert condition(replace(status, phase="waiting")) == "waiting"


def test_without_a_heartbeat_it_is_stalled(tmp_path: Path) -> None:
    status = result(tmp_path)
    assert condition(status, status.heartbeat_at + STALLED_S) == "running"
    assert condition(status, status.heartbeat_at + STALLED_S + 1) == "stalled"


def test_a_clock_set_back_stalls_nothing(tmp_path: Path) -> None:
    status = result(tmp_path)
    assert condition(status, status.heartbeat_at - 9_999) == "running"


def test_without_its_process_it_is_interrupted(tmp_path: Path) -> None:
    assert condition(result(tmp_path, **dead())) == "interrupted"


def test_a_number_that_was_given_to_another_process_is_not_the_sweep(tmp_path: Path) -> None:
    status = result(tmp_path)
    reused = replace(status, pid_started=status.pid_started - 60)
    assert condition(reused) == "interrupted"
    assert not ask_to_stop(reused)


@pytest.mark.parametrize("pid", [-1, 2**31 - 1, 2**70])
def test_a_number_no_process_has_is_no_process(tmp_path: Path, pid: int) -> None:
    assert not alive(result(tmp_path, pid=pid))


@pytest.mark.parametrize("phase", ["stopped", "finished", "failed"])
def test_what_has_ended_stays_as_it_ended(tmp_path: Path, phase: str) -> None:
    assert condition(result(tmp_path, phase=phase, heartbeat_at=0.0, **dead())) == phase


def test_a_process_without_a_wait_is_dead(tmp_path: Path) -> None:
    child = psutil.Popen([sys.executable, "-c", ""])
    status = result(tmp_path, pid=child.pid, pid_started=child.create_time())
    _until(lambda: bool(child.status() == psutil.STATUS_ZOMBIE))
    assert condition(status) == "interrupted"
    child.wait()


def test_of_another_machine_only_the_heartbeat_is_believed(tmp_path: Path) -> None:
    status = result(tmp_path, host="elsewhere", **dead())
    assert condition(status) == "running"
    assert condition(status, status.heartbeat_at + STALLED_S + 1) == "stalled"
    assert not ask_to_stop(status)


# -- starting and stopping ---------------------------------------------------------------------


def _launched(state: Path, command: list[str]) -> SweepStatus:
    asked = replace(result(state), ticket="new-1", pid=0, pid_started=0.0)
    return launch(state, asked, command, Path.cwd(), os.environ)


def _ended(status: SweepStatus) -> None:
    ask_to_stop(status)
    _until(lambda: not alive(status))


def test_what_is_launched_is_reported_before_it_speaks(tmp_path: Path) -> None:
    begun = _launched(tmp_path, SLEEPS)
    assert read_status(tmp_path, "new-1") == begun
    assert (begun.phase, begun.message, condition(begun)) == ("waiting", "starting", "waiting")
    _ended(begun)
    assert condition(begun) == "interrupted"


def test_it_leads_a_session_of_its_own_and_hears_no_signal_meant_for_us(tmp_path: Path) -> None:
    begun = _launched(tmp_path, SLEEPS)
    assert os.getsid(begun.pid) == begun.pid
    _ended(begun)


def test_it_outlives_whoever_started_it(tmp_path: Path) -> None:
    result(tmp_path)
    program = f"""
import os, sys
from dataclasses import replace
from pathlib import Path
from planner.store.disk import sweeps
state = Path({str(tmp_path)!r})
asked = replace(sweeps.read_status(state, "small-1"), ticket="new-1")
sweeps.launch(state, asked, {SLEEPS!r}, Path.cwd(), os.environ)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    [begun] = [s for s in read_statuses(tmp_path) if s.ticket == "new-1"]
    assert alive(begun)
    _ended(begun)


def test_once_it_speaks_for_itself_that_counts(tmp_path: Path) -> None:
    begun = _launched(tmp_path, SLEEPS)
    spoken = replace(begun, phase="running", message=None, heartbeat_at=time.time())
    write_status(tmp_path, spoken)
    assert read_status(tmp_path, "new-1") == spoken
    _ended(begun)


def test_a_resumed_sweep_is_no_longer_what_it_was(tmp_path: Path) -> None:
    old = result(tmp_path, phase="stopped", finished=3, ended_at=1.0, **dead())
    begun = launch(tmp_path, old, SLEEPS, Path.cwd(), os.environ)
    now = read_status(tmp_path, old.ticket)
    assert now == begun
    assert (now.phase, now.finished, now.ended_at) == ("waiting", 3, None)
    _ended(begun)


def test_what_it_prints_is_kept_and_where_the_state_is_it_knows(tmp_path: Path) -> None:
    says = f"import os; print(os.environ[{STATE!r}])"
    begun = _launched(tmp_path, [sys.executable, "-c", says])
    _until(lambda: not alive(begun))
    assert log_tail(tmp_path, "new-1") == str(tmp_path)


def test_a_program_that_is_not_there_is_an_error_and_no_sweep(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        _launched(tmp_path, ["no-such-program"])
    assert read_status(tmp_path, "new-1") is None


def test_asked_to_stop_it_gets_the_signal_it_obeys(tmp_path: Path) -> None:
    begun = _launched(tmp_path, SLEEPS)
    process = psutil.Process(begun.pid)
    assert ask_to_stop(begun)
    assert process.wait() in {-signal.SIGTERM, None}
    assert not ask_to_stop(begun)


def test_a_status_that_names_this_very_process_stops_nothing(tmp_path: Path) -> None:
    assert not ask_to_stop(result(tmp_path))


def test_the_heartbeat_is_much_shorter_than_what_counts_as_stalled() -> None:
    assert sweeps.HEARTBEAT_S * 3 < STALLED_S
