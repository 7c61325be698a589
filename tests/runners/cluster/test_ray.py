"""Sweeps over a real cluster of two nodes: what goes where, and what a lost node loses."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from planner.runs import Row
from planner.store._verify import verify_folder
from planner.store.disk.ledger import acknowledged, ledger
from planner.store.disk.secrets import TOKENS
from planner.store.disk.sweeps import STATE, read_statuses
from planner.store.disk.witness import Witness
from planner.store.summaries import summaries
from runners.cluster.connection import Cluster, connected
from runners.cluster.dispatch import Listener, NoNodeError, Roster
from runners.cluster.nodes import measured
from runners.cluster.storing import Storage, Stored
from runners.commands import cli
from runners.commands.cluster import measure_on
from runners.plan.expand import Expanded
from runners.plan.host import Python, placed
from runners.plan.spec import SpecError
from runners.process.supervise import ROOT, Stopped
from runners.sweep import measure as measuring
from runners.sweep.measure import Bench, measure
from runners.sweep.rows import case_id_of
from tests.faults.outcomes import FULL
from tests.faults.pushed_server import Restarted
from tests.fork_server import executable
from tests.runners.cluster.stub_driver import UNSEEN, sweep, terms
from tests.runners.launch.test_ray import CASE as LAUNCHED
from tests.runners.launch.test_ray import RAY, SETTINGS, ended_by, environ
from tests.runners.networks import python
from tests.runners.stubs import HANG_S, case, new_mark, orphans, starts
from tests.store.build import ABOUT, a_set, folder

pytest.importorskip("ray", reason="Ray is not installed here; requirements/ray.txt has it")

RUNS: Final = 100
SEEDS: Final = 8 if FULL else 2
STOPS: Final = [(signal.SIGINT, 130), (signal.SIGTERM, 130)]
SIGNALS: Final = [(signal.SIGKILL, -9), *STOPS]
full = pytest.mark.skipif(not FULL, reason="`make faults` runs it")
SPEC: Final = """
title = "Runs on two nodes"
epochs = 2
[defaults]
workload = "mlp"
dataset = "digits"
train_samples = 96
options = { units = 16 }
batch = 32
[[runs]]
accelerator = ["V100", "rtx-4090"]
[[runs]]
batch = 48
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two nodes of one CPU each, with accelerators that they declare."""
    from ray._raylet import AuthenticationTokenLoader, Config
    from ray.cluster_utils import Cluster as Nodes

    with pytest.MonkeyPatch.context() as patch:
        for name, setting in SETTINGS.items():
            patch.setenv(name, setting)
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        Config.initialize("")  # Ray keeps the settings of its import, which was earlier
        AuthenticationTokenLoader.instance().reset_cache()
        patch.setenv(STATE, str(tmp_path_factory.mktemp("state")))
        nodes = Nodes(
            initialize_head=True,
            head_node_args={
                "num_cpus": 1, "resources": {"accelerator:v100": 1}, "node_name": "first",
                "include_dashboard": False,
                "_system_config": {"health_check_period_ms": 1000},
            },
        )  # fmt: skip
        try:
            nodes.add_node(num_cpus=1, resources={"accelerator:RTX-4090": 1}, node_name="second")
            yield nodes
        finally:
            nodes.shutdown()


@pytest.fixture(scope="module")
def cluster(two: Any) -> Iterator[Cluster]:  # noqa: ANN401 - of Ray
    """A connection to the two nodes, for the sweeps of this process."""
    with connected(two.address) as connection:
        yield connection


@pytest.fixture
def tmp(tmp_path: Path) -> Path:
    a_set(tmp_path / "results", slug="stub")
    return tmp_path


def kept(tmp: Path) -> list[Row]:
    return list(summaries(tmp / "results" / "stub"))


def checked(tmp: Path) -> None:
    assert verify_folder(folder(tmp / "results")).problems == ()


# -- all is measured once ------------------------------------------------------------------------


def test_many_runs_on_two_nodes_are_all_there_once(cluster: Cluster, tmp: Path) -> None:
    cases = [case(s) for s in range(RUNS)]
    rows, seen = sweep(cluster, tmp, cases)
    assert Counter(case_id_of(r) for r in kept(tmp)) == {c.case_id: 1 for c in cases}
    assert {r["status"] for r in kept(tmp)} == {"ok"}
    assert len(rows) == len(starts(tmp)) == RUNS
    last = seen[-1]
    assert (last.finished, last.failed, last.planned) == (RUNS, 0, RUNS)
    assert [n.name for n in last.nodes] == ["first", "second"]
    assert sum(n.finished for n in last.nodes) == RUNS
    assert all(n.finished > RUNS / 10 for n in last.nodes)
    assert {n.stored_by for n in last.nodes} == {"node in folder"}
    assert [p.name for p in (tmp / "results" / "stub").iterdir() if p.name[0] == "."] == []
    checked(tmp)
    assert sweep(cluster, tmp, cases)[0] == []
    assert len(starts(tmp)) == RUNS


@full
def test_a_cpu_run_has_its_node_alone(cluster: Cluster, tmp: Path) -> None:
    _, seen = sweep(cluster, tmp, [case(s) for s in range(10)], dict.fromkeys(range(10), "slowly"))
    assert {len(n.runs) for s in seen for n in s.nodes} == {0, 1}
    assert max(sum(len(n.runs) for n in s.nodes) for s in seen) == 2


@full
def test_epochs_of_a_run_are_reported_while_it_is_measured(cluster: Cluster, tmp: Path) -> None:
    def gate() -> bool:
        nodes = [n for s in read_statuses(tmp / "state") for n in s.nodes]
        if any("epoch 1 of" in run for n in nodes for run in n.runs):
            (tmp / "starts.go").touch()
        return time.monotonic() > end_s

    end_s = time.monotonic() + HANG_S
    ends = dict.fromkeys(range(2), "waits after an epoch")
    rows, seen = sweep(cluster, tmp, [case(s) for s in range(2)], ends,
                       listener=Listener(stop=gate))  # fmt: skip
    assert {r["status"] for r in rows} == {"ok"}
    assert all(not n.runs for n in seen[-1].nodes)


def test_rows_have_the_columns_of_a_local_run_and_the_terms_of_the_sweep(
    cluster: Cluster, tmp: Path
) -> None:
    sweep(cluster, tmp, [case(1)])
    [row] = kept(tmp)
    result = {n: row[n] for n in ("licence", "session_started_at", "git_describe", "result_set")}
    assert result == {"licence": "own", "session_started_at": "2026-03-01T12:00:00.123Z",
                      "git_describe": "v1", "result_set": "stub"}  # fmt: skip
    assert len(row["machine_id"]) == 16
    assert row["host_processor_core_count"] == len(os.sched_getaffinity(0))
    assert row["first_epoch_s"] == 0.25
    niceness = json.loads(row["extra"]).get("niceness", 0)
    assert niceness == (0 if os.geteuid() == 0 else 15)


def test_accelerator_types_go_where_they_belong(cluster: Cluster, tmp: Path) -> None:
    places: list[tuple[str | None, str]] = []
    listener = Listener(on_row=lambda _, case, node: places.append((case.accelerator, node)))
    cases = [
        case(s, accelerator=name) for s in range(SEEDS) for name in ("v100", "rtx-4090")
    ]  # fmt: skip
    sweep(cluster, tmp, cases, listener=listener)
    assert Counter(places) == {("v100", "first"): SEEDS, ("rtx-4090", "second"): SEEDS}
    assert {case_id_of(r) for r in kept(tmp)} == {c.case_id for c in cases}
    checked(tmp)


# -- who stores ----------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [None, "the same path on another disk"])
def test_a_node_without_the_folder_returns_its_rows_and_the_starting_process_stores_them(
    cluster: Cluster, tmp: Path, content: str | None
) -> None:
    place = tmp / "elsewhere" / "stub"
    place.mkdir(parents=True)
    other = Witness(str(place / ".seen.tmp"), "0" * 64)
    if content is not None:
        Path(other.path).write_text(content, encoding="ascii")
    cases = [case(s) for s in range(SEEDS)]
    _, seen = sweep(cluster, tmp, cases, storage=Storage(witness=other))
    assert {case_id_of(r) for r in kept(tmp)} == {c.case_id for c in cases}
    assert {n.stored_by for n in seen[-1].nodes} <= {"start", ""}
    assert list(place.glob("*.parquet")) == []
    checked(tmp)


@pytest.mark.parametrize("how", ["in time", "by token", "by a closed port", "by a checked set"])
def test_a_node_without_the_folder_pushes_its_runs_to_the_app(
    two: Any,  # noqa: ANN401 - of Ray
    cluster: Cluster,
    tmp: Path,
    how: str,
) -> None:
    app = Restarted(tmp / "app")
    token = TOKENS.create(app.place / "tokens", name="m", sets=["stub"])
    told: list[Row] = []
    if how == "by a closed port":
        app.end()
    place = app.place / "results" / UNSEEN.folder.name
    if how == "by a checked set":  # that the server itself measures into
        place.mkdir(parents=True)
        (place / "set.toml").write_text('title = "Lab"\n')
    given = token if how != "by token" else token[:-8] + "wrong-it"
    storage = Storage(
        witness=UNSEEN, about=ABOUT, reference="stub", url=f"http://127.0.0.1:{app.port}",
        token=cluster.secret(given), push_s=1.0,
    )  # fmt: skip
    cases = [case(s) for s in range(SEEDS)]
    try:
        _, seen = sweep(cluster, tmp, cases, storage=storage, acknowledged=told.append)
    finally:
        app.end()
    there = list(summaries(place))
    taken = {c.case_id for c in cases} if how == "in time" else set()
    assert {case_id_of(r) for r in there} == {case_id_of(r) for r in told} == taken
    stored_by = {n.stored_by for n in seen[-1].nodes} - {""}
    assert stored_by == ({"node in app"} if how == "in time" else {"start"})
    assert {case_id_of(r) for r in kept(tmp)} == {c.case_id for c in cases}
    checked(tmp)
    assert given not in _written_by_ray(two.head_node)


def _written_by_ray(head: Any) -> str:  # noqa: ANN401 - of Ray
    """All logs and settings of a cluster, and all command lines of this machine."""
    folder = Path(head.get_session_dir_path())
    texts = [path.read_text(errors="replace") for path in folder.rglob("*")
             if path.is_file() and path.stat().st_size < 10**8]  # fmt: skip
    assert texts
    lines = [" ".join(p.info["cmdline"] or ()) for p in psutil.process_iter(["cmdline"])]
    return "\n".join([*texts, *lines])


# -- failures ------------------------------------------------------------------------------------


@full
def test_failures_are_rows_and_only_kills_are_tried_again(cluster: Cluster, tmp: Path) -> None:
    ends = {0: "ok", 1: "oom", 2: "nan", 3: "crashed", 4: "kill"}
    _, seen = sweep(cluster, tmp, [case(s) for s in ends], ends)
    found: dict[int, list[str]] = {}
    for row in kept(tmp):
        found.setdefault(row["seed"], []).append(row["status"])
    assert found == {0: ["ok"], 1: ["oom"], 2: ["nan"], 3: ["crashed"], 4: ["killed"] * 3}
    assert (seen[-1].finished, seen[-1].failed) == (5, 4)
    checked(tmp)


@full
def test_a_run_that_is_lost_in_every_attempt_is_a_row_with_its_reason(
    cluster: Cluster, tmp: Path
) -> None:
    mark = new_mark()
    cases = [case(0), case(1)]
    sweep(cluster, tmp, cases, {1: "kills its supervisor"}, mark)
    [good, bad] = sorted(kept(tmp), key=lambda r: int(r["seed"]))
    assert good["status"] == "ok"
    assert bad["status"] == "killed"
    assert "lost with its node or worker in each of 3 attempts" in bad["status_reason"]
    assert Counter(starts(tmp)) == {"0 0": 1, "1 0": 3}
    assert orphans(mark) == []
    assert sweep(cluster, tmp, cases)[0] == []  # `--retry-failed` measures it again
    checked(tmp)


KILLED_IN: Final = 20 if FULL else 6
"""Runs of the sweep whose node is killed."""


def test_a_node_killed_in_a_run_loses_nothing(two: Any, cluster: Cluster, tmp: Path) -> None:  # noqa: ANN401 - of Ray
    doomed = two.add_node(num_cpus=1, resources={"accelerator:doomed": 1}, node_name="doomed")
    mark, notes, living = new_mark(), list[str](), [doomed]
    cases = [case(s) for s in range(KILLED_IN)]

    def stop() -> bool:
        """Kill the node once three runs wait; once its run is lost, let all go on."""
        if living and len(starts(tmp)) == 3:
            two.remove_node(living.pop(), allow_graceful=False)
        if any("on doomed was lost" in text for text in notes):
            (tmp / "starts.go").touch()
        return False

    listener = Listener(stop=stop, on_node=notes.append)
    _, seen = sweep(
        cluster, tmp, cases, dict.fromkeys(range(KILLED_IN), "waits"), mark, listener=listener
    )
    assert not living
    assert Counter(r["seed"] for r in kept(tmp)) == dict.fromkeys(range(KILLED_IN), 1)
    assert {r["status"] for r in kept(tmp)} == {"ok"}
    assert len(starts(tmp)) == KILLED_IN + 1
    assert {n.name: n.state for n in seen[-1].nodes}["doomed"] == "lost"
    assert any("on doomed was lost" in text for text in notes)
    assert orphans(mark) == []
    checked(tmp)


def test_a_late_run_of_a_lost_attempt_and_its_retry_are_one_stored_run(
    two: Any,  # noqa: ANN401 - of Ray
    cluster: Cluster,
    tmp: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The worker of the killed node ends before the retry, and once more after it."""
    doomed = two.add_node(num_cpus=1, resources={"accelerator:old": 1}, node_name="outlived")
    living, heirs, notes, late = [doomed], list[Any](), list[str](), list[Stored]()
    lost = case(0, accelerator="old")
    place = tmp / "results" / "stub"

    def ends(system: str) -> Stored:
        """Store as the worker of the doomed node does, on a system of its own."""
        [seen] = place.glob(".*.seen.tmp")
        proof = Witness(str(seen), seen.read_text(encoding="ascii"))
        monkeypatch.setattr(measuring, "_facts", lambda *_: {"system_name": system,
                                                             "device_kind": "cpu"})  # fmt: skip
        return measured(lost, terms(tmp, {}, storage=Storage(witness=proof)))

    def stop() -> bool:
        """Kill the node in its run, start another of its kind, and let the killed one end first."""
        if living and len(starts(tmp)) == 1:
            two.remove_node(living.pop(), allow_graceful=False)
            heirs.append(two.add_node(num_cpus=1, resources={"accelerator:old": 1}))
        if not living and len(starts(tmp)) == 2 and not late:
            late.append(ends("late"))
            (tmp / "starts.go").touch()
        return False

    listener = Listener(stop=stop, on_node=notes.append,
                        on_row=lambda *_: late.append(ends("later")))  # fmt: skip
    rows, seen = sweep(cluster, tmp, [lost], {0: "waits"}, listener=listener)
    two.remove_node(heirs.pop())
    assert any("on outlived was lost" in text for text in notes)
    assert [r["system_name"] for r in kept(tmp)] == ["late"]
    assert [r["system_name"] for r in rows] == ["late"]
    assert [(s.row["system_name"], s.by) for s in late] == [("late", "node in folder")] * 2
    assert (seen[-1].finished, seen[-1].failed) == (1, 0)
    checked(tmp)


@full
def test_without_a_node_for_the_rest_the_sweep_ends_and_says_what_it_needs(
    two: Any,  # noqa: ANN401 - of Ray
    cluster: Cluster,
    tmp: Path,
) -> None:
    living = [two.add_node(num_cpus=1, resources={"accelerator:rare": 1}, node_name="rare")]

    def stop() -> bool:
        if living and starts(tmp):
            two.remove_node(living.pop(), allow_graceful=False)
        return False

    cases = [case(s, accelerator="rare") for s in range(2)]
    with pytest.raises(NoNodeError, match="2 runs on 1 CPU of type rare with tensorflow"):
        sweep(cluster, tmp, cases, dict.fromkeys(range(2), "waits"), listener=Listener(stop=stop),
              join_s=0.5)  # fmt: skip
    assert kept(tmp) == []


# -- an interrupted driver -----------------------------------------------------------------------


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + HANG_S
    while not true():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


@full
def test_the_runs_of_a_stopped_sweep_end_and_a_second_one_goes_on(
    cluster: Cluster, tmp: Path
) -> None:
    mark, cases = new_mark(), [case(s) for s in range(4)]
    ends = {0: "ok", 1: "sleeps", 2: "sleeps", 3: "ok"}
    listener = Listener(stop=lambda: len(starts(tmp)) == 3 and len(kept(tmp)) == 1)
    with pytest.raises(Stopped):
        sweep(cluster, tmp, cases, ends, mark, listener=listener)
    _goes_on(cluster, tmp, mark)


@full
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_the_runs_of_an_interrupted_driver_end_and_a_second_one_goes_on(
    two: Any,  # noqa: ANN401 - of Ray
    cluster: Cluster,
    tmp: Path,
    number: signal.Signals,
    code: int,
) -> None:
    mark = new_mark()
    words = [sys.executable, "-m", "tests.runners.cluster.stub_driver", two.address, str(tmp), mark]
    first = subprocess.Popen(
        [*words, "4", '{"0": "ok", "1": "sleeps", "2": "sleeps", "3": "ok"}'], cwd=ROOT
    )
    _until(lambda: len(starts(tmp)) == 3 and len(kept(tmp)) == 1)
    first.send_signal(number)
    assert first.wait(HANG_S) == code
    _goes_on(cluster, tmp, mark)


def test_runs_that_end_while_the_starting_process_is_dying_are_stored(
    two: Any,  # noqa: ANN401 - of Ray
    cluster: Cluster,
    tmp: Path,
) -> None:
    words = [sys.executable, "-m", "tests.runners.cluster.stub_driver", two.address, str(tmp)]
    first = subprocess.Popen([*words, new_mark(), "3", "waits"], cwd=ROOT)
    _until(lambda: len(starts(tmp)) == 2)
    first.send_signal(signal.SIGSTOP)
    (tmp / "starts.go").touch()
    _until(lambda: len(kept(tmp)) == 2)
    first.send_signal(signal.SIGKILL)
    assert first.wait(HANG_S) == -9
    sweep(cluster, tmp, [case(s) for s in range(3)])
    assert sorted(starts(tmp)) == ["0 0", "1 0", "2 0"]
    assert Counter(r["seed"] for r in kept(tmp)) == {0: 1, 1: 1, 2: 1}
    checked(tmp)


def _goes_on(cluster: Cluster, tmp: Path, mark: str) -> None:
    """Nothing is left of a sweep of four with one row, and a second one measures the rest."""
    assert orphans(mark) == []
    assert [r["seed"] for r in kept(tmp)] == [0]
    sweep(cluster, tmp, [case(s) for s in range(4)], mark=mark)
    assert Counter(r["seed"] for r in kept(tmp)) == dict.fromkeys(range(4), 1)
    assert Counter(starts(tmp)) == {"0 0": 1, "1 0": 2, "2 0": 2, "3 0": 1}
    checked(tmp)


# -- the command line, TensorFlow and all --------------------------------------------------------


def _runners(tmp: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [executable("planner"), "-m", "runners", words[0], str(tmp / "mine.toml"), "--results",
         str(tmp / "results"), *words[1:]],
        cwd=ROOT, env={**os.environ, STATE: str(tmp / "state")},
        capture_output=True, text=True, timeout=5 * HANG_S,
    )  # fmt: skip


def _measured_on(cluster: Cluster, tmp: Path, spec: str, *more: str) -> int:
    """The exit code of `run --engine ray` over the connection of this process."""
    (tmp / "mine.toml").write_text(spec, encoding="utf-8")
    words = ["run", str(tmp / "mine.toml"), "--engine", "ray", "--results", str(tmp / "results"),
             *more]  # fmt: skip
    roster = Roster(cluster=cluster, pythons={})
    nodes = list(roster.first_reports(lambda _: None, lambda: False).values())
    args = cli._parser().parse_args(words)
    return measure_on(args, roster, nodes, lambda: False, resumed=False)


@full
def test_a_sweep_on_tensorflow_is_measured_on_its_nodes(
    two: Any,  # noqa: ANN401 - of Ray
    cluster: Cluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "mine.toml").write_text(SPEC, encoding="utf-8")
    warm = f"tensorflow={python('tensorflow')}"
    over = ("--engine", "ray", "--address", two.address, "--python", warm)
    done = _runners(tmp_path, "run", *over, "--yes")
    assert done.returncode == 0, done.stderr
    assert "batch 32, v100, on first: " in done.stdout
    assert "batch 32, rtx-4090, on second: " in done.stdout
    rows = list(summaries(tmp_path / "results" / "mine-cluster"))
    assert [r["status"] for r in rows] == ["ok"] * 3
    assert {r["framework"] for r in rows} == {"TensorFlow"}
    assert verify_folder(folder(tmp_path / "results")).problems == ()
    [status] = read_statuses(tmp_path / "state")
    assert (status.phase, status.finished) == ("finished", 3)
    assert {n.accelerators for n in status.nodes} == {"1 x v100", "1 x rtx-4090"}
    assert _measured_on(cluster, tmp_path, SPEC) == 0
    assert "All 3 runs are in mine-cluster already" in capsys.readouterr().out
    assert "3 of 3 runs are done" in _runners(tmp_path, "status").stdout
    nowhere = ("--address", "127.0.0.1:9")  # what is finished needs no cluster
    assert "nothing to do" in _runners(tmp_path, "resume", *nowhere).stdout


@full
def test_runs_that_nodes_have_pushed_are_not_pushed_again(
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextlib.contextmanager
    def unseen(folder: Path) -> Iterator[Witness]:
        yield Witness(f"/nowhere/{folder.name}/.seen.tmp", "0" * 64)

    app = Restarted(tmp_path / "app")
    state = tmp_path / "state"
    monkeypatch.setenv(STATE, str(state))
    monkeypatch.setattr("runners.commands.cluster.witness", unseen)
    (tmp_path / "token").write_text(TOKENS.create(app.place / "tokens", name="m", sets=["*"]))
    push = ("--push", f"http://127.0.0.1:{app.port}", "--token-file", str(tmp_path / "token"))
    warm = f"tensorflow={python('tensorflow')}"
    try:
        assert _measured_on(cluster, tmp_path, SPEC, *push, "--python", warm) == 0
    finally:
        app.end()
    here, there = (list(summaries(place / "results" / "mine-cluster"))
                   for place in (tmp_path, app.place))  # fmt: skip
    assert {r["run_id"] for r in here} == {r["run_id"] for r in there}
    assert len(there) == 3
    [status] = read_statuses(state)
    assert {n.stored_by for n in status.nodes} == {"node in app"}
    done = acknowledged(ledger(state, f"{push[1]}/api/v1/runs", "mine-cluster"))
    assert done == {r["run_id"] for r in here}


def test_a_cost_limit_stops_a_sweep_over_a_cluster(
    cluster: Cluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(STATE, str(tmp_path / "state"))
    assert _measured_on(cluster, tmp_path, SPEC, "--max-cost", "0.001") == 2
    assert "a price of this machine, or of a node of the cluster" in capsys.readouterr().err
    limit = ("--max-cost", "0.001", "--price-per-hour", "36")  # two nodes: 0.02 USD a second
    assert _measured_on(cluster, tmp_path, SPEC, *limit) == 130
    assert "Stopped at the limit of 0.001 USD: 0 of 3 runs" in capsys.readouterr().out
    [status] = read_statuses(tmp_path / "state")
    assert (status.limits, status.limit_reached) == (("0.001 USD",), "0.001 USD")
    assert status.cost_per_hour == pytest.approx(72.0)


@pytest.mark.parametrize(
    ("given", "other", "problem"),
    [
        ('"V100"', '"h100"', "no node has the accelerator 'h100'. The nodes have: rtx-4090, v100"),
        ("batch = 48", 'batch = "auto"',
         'mlp has batch = "auto", which is searched on one machine. Find its largest batch'),
    ],
)  # fmt: skip
def test_what_no_node_can_measure_is_refused_with_what_to_do(
    cluster: Cluster, tmp_path: Path, given: str, other: str, problem: str
) -> None:
    with pytest.raises(SpecError, match=problem):
        _measured_on(cluster, tmp_path, SPEC.replace(given, other))
    assert not (tmp_path / "results").exists()


# -- the launcher of several processes -----------------------------------------------------------


@full
def test_a_launched_run_on_two_nodes_is_a_row(two: Any, tmp_path: Path) -> None:  # noqa: ANN401 - of Ray
    here = Python(path=python("tensorflow"), python_version="3.11", versions={})
    bench = Bench(
        pythons={"tensorflow": here}, environ=environ(two.address), cache=tmp_path,
        memory_share=0.8, timeout_s=10 * HANG_S, launcher=RAY,
    )  # fmt: skip
    [launched] = placed("x", Expanded(cases=(LAUNCHED,)), RAY).cases
    row = measure(launched, bench, "strategies")
    assert (row["status"], row.get("status_reason")) == ("ok", None)
    # Both nodes have the address of this machine, so they are one.
    assert (row["launch"], row["number_of_nodes"], row["accelerators_per_node"]) == ("ray", 1, 2)
    assert 0.0 < json.loads(row["extra"])["cluster_start_s"] < 10 * HANG_S
    alone = measure(replace(LAUNCHED, strategy="none", devices=1), bench, "strategies")
    losses = [[epoch["loss"] for epoch in one["epochs"]] for one in (row, alone)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


@full  # `make test` has workers behind a command prefix
@pytest.mark.parametrize(
    ("how", "status", "reason"),
    [
        ("killed", "peer_lost", "worker 1 of 2 ended: SIGKILL"),
        ("wrong", "crashed", "ValueError: no such layer"),
    ],
)
def test_a_launched_worker_that_ends_early_ends_the_run_with_the_reason(
    two: Any,  # noqa: ANN401 - of Ray
    how: str,
    status: str,
    reason: str,
) -> None:
    mark = new_mark()
    ended = ended_by(how, mark, two.address)
    assert (ended.status, ended.reason) == (status, reason)
    assert orphans(mark) == []
