"""The command line: exit codes, limits that ask, one JSON object, and no secret anywhere."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.runs import Row
from planner.store._verify import verify_folder
from planner.store.disk.sweeps import kept_spec, read_statuses
from planner.store.summaries import summaries
from runners.commands import cli, sweeps
from runners.plan.cases import Case
from runners.process.supervise import ROOT
from runners.sweep.context import Context
from runners.sweep.measure import Bench, Hooks, measure
from tests.faults.campaign import small_disk
from tests.faults.outcomes import FULL
from tests.fork_server import executable
from tests.runners.stubs import HANG_S, bench, new_mark, orphans, starts
from tests.store.build import folder

pytestmark = pytest.mark.usefixtures("signals_as_they_were")

SPEC = """
title = "A stub sweep"
epochs = 3
[cost]
price_per_hour = 2.0
[[runs]]
workload = "mlp"
dataset = "digits"
train_samples = 64
batch = 32
seed = [0, 1, 2]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with mine.toml, and a state of its own."""
    (tmp_path / "mine.toml").write_text(SPEC, encoding="utf-8")
    monkeypatch.setenv("EPOCHWISE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("EPOCHWISE_RESULTS", str(tmp_path / "results"))
    return tmp_path


Stub = Callable[[Bench], None]


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Measure with the stand-in child of a bench."""

    def put(used: Bench) -> None:
        def measurer(known: Context) -> Callable[[Case, Hooks], Row]:
            return lambda case, hooks: measure(case, used, known.folder.name, hooks)

        monkeypatch.setattr(sweeps, "measurer", measurer)

    return put


def asked(here: Path, command: str, *more: str) -> int:
    """The exit code of a command on mine.toml."""
    try:
        return cli.main([command, str(here / "mine.toml"), "--name", "mine", *more])
    except SystemExit as end:
        return int(str(end.code))


def rows(here: Path) -> list[Row]:
    return list(summaries(here / "results" / "mine"))


# -- exit codes ----------------------------------------------------------------------------------


def test_all_measured_is_0_and_measured_again_nothing_is_started(
    here: Path, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    stub(bench(here))
    assert asked(here, "run", "--yes") == 0
    assert asked(here, "run") == 0
    assert asked(here, "resume") == 0
    assert len(starts(here)) == len(rows(here)) == 3
    assert "nothing to do" in capsys.readouterr().out
    assert verify_folder(folder(here / "results")).problems == ()
    [status] = read_statuses(here / "state")
    assert (status.phase, status.finished, status.planned) == ("finished", 3, 3)


def test_what_was_asked_for_is_kept_beside_the_status(here: Path, stub: Stub) -> None:
    stub(bench(here))
    asked(here, "run", "--yes")
    [status] = read_statuses(here / "state")
    kept = kept_spec(here / "state", status)
    assert kept is not None
    assert kept.read_text(encoding="utf-8") == SPEC


def test_something_failed_is_1(here: Path, stub: Stub, capsys: pytest.CaptureFixture[str]) -> None:
    stub(bench(here, {1: "oom"}))
    assert asked(here, "run", "--yes") == 1
    assert "3 of 3 runs are in" in capsys.readouterr().out
    assert asked(here, "status") == 0
    assert "oom, framework: ResourceExhaustedError" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("run", ("--max-hours", "often")),
        ("run", ("--max-hours", "nan")),
        ("run", ("--max-cost", "inf")),
        ("run", ("--memory-limit", "-1")),
        ("run", ("--backend", "theano")),
        ("resume", ()),
        ("run", ("--python", "jax")),
        ("dance", ()),
    ],
)
def test_what_cannot_be_carried_out_is_2_with_a_sentence(
    here: Path, command: str, more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(here, command, *more) == 2
    said = capsys.readouterr()
    assert said.err.strip()
    assert "Traceback" not in said.err + said.out


def test_a_sweep_that_cannot_be_planned_is_2_and_json_for_programs(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "mine.toml").write_text('title = "t"\n[[runs]]\nworkload = "mpl"\n', encoding="utf-8")
    assert asked(here, "plan", "--json") == 2
    result = json.loads(capsys.readouterr().out)
    assert any("workload 'mpl' is unknown" in text for text in result["problems"])


def test_a_folder_that_cannot_be_written_is_2_with_a_sentence(
    here: Path, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    stub(bench(here))
    (here / "results").write_text("a file", encoding="utf-8")
    assert asked(here, "run", "--yes") == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_full_disk_is_reported_with_what_is_saved_and_resumed(
    here: Path, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    with small_disk(here / "results", kilobytes=256) as disk:
        if disk is None:
            pytest.skip("no small disk may be mounted here")
        stub(bench(here))
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        (disk / "filler").write_bytes(bytes(free - 30_000))
        assert asked(here, "run", "--yes") != 0
        saved = len(rows(here))
        assert saved < 3
        assert f"disk full at {disk / 'mine'}: {saved} of 3 runs are saved" in (
            capsys.readouterr().err)  # fmt: skip
        assert [s.phase for s in read_statuses(here / "state")] == ["failed"]
        (disk / "filler").unlink()
        assert asked(here, "resume", "--yes") == 0
        assert len(rows(here)) == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, *([signal.SIGINT] if FULL else [])])
def test_stopped_is_130_with_what_is_saved_and_how_to_go_on(
    here: Path, number: signal.Signals, tmp_path: Path
) -> None:
    """A real child, so that the whole command line is what is stopped."""
    command = ["-m", "runners", "run", str(here / "mine.toml"), "--yes", "--name", "mine"]
    process = subprocess.Popen([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    end = time.monotonic() + HANG_S
    while time.monotonic() < end and not any(
        s.phase == "running" for s in read_statuses(here / "state")
    ):
        time.sleep(0.05)
    process.send_signal(number)
    out, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, err) == (130, "")
    assert "of 3 runs are saved whole. Continue with: python -m runners resume" in out
    [status] = read_statuses(here / "state")
    assert (status.phase, status.current) == ("stopped", None)


# -- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [("--max-hours", "1"), ("--max-cost", "1")])
def test_a_plan_of_unknown_time_is_not_started_without_a_yes(
    here: Path, stub: Stub, limit: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    stub(bench(here))
    assert asked(here, "run", *limit) == 2
    assert "Cannot predict the" in capsys.readouterr().out
    assert starts(here) == []
    assert asked(here, "run", *limit, "--yes") == 0


def test_a_plan_above_a_limit_is_refused_and_one_below_is_run(
    here: Path, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    stub(bench(here))
    assert asked(here, "run", "--yes") == 0  # from now on its times are known
    text = SPEC.replace("seed = [0, 1, 2]", "seed = [3, 4]")
    (here / "mine.toml").write_text(text, encoding="utf-8")
    assert asked(here, "run", "--max-hours", "0.00001") == 2
    assert "exceed the limit of 1e-05" in capsys.readouterr().out
    assert asked(here, "run", "--max-cost", "0.00001") == 2
    assert len(starts(here)) == 3
    assert asked(here, "run", "--max-hours", "1", "--max-cost", "100") == 0
    assert len(starts(here)) == 5


def test_a_sweep_whose_batches_are_still_to_be_found_is_not_called_short(
    here: Path, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    stub(bench(here))
    text = SPEC.replace("batch = 32", 'batch = "auto"')
    (here / "mine.toml").write_text(text, encoding="utf-8")
    assert asked(here, "run", "--max-cost", "100") == 2
    assert "this sweep searches its batch sizes first" in capsys.readouterr().out
    assert asked(here, "run", "--max-hours", "1e-7") == 130  # the clock ends it
    assert rows(here) == []
    assert asked(here, "plan") == 0
    assert "a search finds the largest batch" in capsys.readouterr().out


@pytest.mark.parametrize("limit", [("--max-hours", "1e-7"), ("--max-cost", "1e-7")])
def test_a_limit_stops_an_unwatched_sweep_and_resume_measures_the_rest(
    here: Path, stub: Stub, limit: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    stub(bench(here))
    assert asked(here, "run", *limit, "--yes") == 130
    assert "Stopped at the limit of" in capsys.readouterr().out
    [status] = read_statuses(here / "state")
    assert (status.phase, status.limits) == ("stopped", (status.limit_reached,))
    assert asked(here, "resume", "--yes") == 0
    assert len(rows(here)) == 3


def test_a_cost_limit_without_a_price_is_refused(
    here: Path, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    stub(bench(here))
    text = SPEC.replace("price_per_hour", "# price_per_hour")
    (here / "mine.toml").write_text(text, encoding="utf-8")
    assert asked(here, "run", "--max-cost", "5", "--yes") == 2
    assert (
        "A cost limit needs a price of this machine, or of a node of the cluster."
        in capsys.readouterr().err
    )
    assert asked(here, "run", "--max-cost", "5", "--price-per-hour", "2", "--yes") == 0


def test_a_shipped_sweep_that_was_never_measured_here_has_the_time_of_its_shipped_runs(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["plan", "families", "--json", "--results", str(here / "results")]) == 0
    body = json.loads(capsys.readouterr().out)
    assert 0.0 < body["hours_low"] < body["hours"] < body["hours_high"]
    assert body["hours_basis"].startswith("the shipped runs of this sweep on 2-core AMD EPYC")
    assert all(run["seconds"] > 0.0 for run in body["runs"])


# -- what was asked for by name ------------------------------------------------------------------


def test_a_backend_that_is_not_here_is_refused_and_none_is_taken_in_its_place(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked(here, "plan", "--backend", "torch") == 2
    assert "backend torch" in capsys.readouterr().err
    assert asked(here, "plan", "--python", "jax=/nonexistent") == 2
    assert "this does not start jax" in capsys.readouterr().err
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    assert asked(here, "run", "--yes") == 2
    assert rows(here) == []


def test_problems_of_the_sweep_the_backend_and_the_launcher_are_reported_together(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "mine.toml").write_text(SPEC.replace('"mlp"', '"nlp"'), encoding="utf-8")
    options = ["--launcher", "command", "--python", "torch", "--max-hours", "1"]
    assert cli.main(["run", str(here / "mine.toml"), *options]) == 2
    text = capsys.readouterr().err
    assert "--python: 'torch' is not BACKEND=PATH." in text
    assert "launch.hosts: is missing." in text
    assert "workload 'nlp' is unknown" in text
    (here / "mine.toml").write_text(SPEC.replace("epochs = 3", "epochs = 0"), encoding="utf-8")
    assert cli.main(["run", str(here / "mine.toml"), *options]) == 2
    text = capsys.readouterr().err
    assert "epochs: is 0; it must be a whole number from 1 to 1e12." in text
    assert "--python: 'torch' is not BACKEND=PATH." in text


def test_a_wrong_value_in_one_block_does_not_hide_a_wrong_combination_in_another(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = """
[[runs]]
workload = "mlp"
batch = 16
seed = "three"
[[runs]]
workload = "mlp"
batch = 16
devices = 3
"""
    (here / "mine.toml").write_text(f'title = ""\n{blocks}', encoding="utf-8")
    assert cli.main(["run", str(here / "mine.toml"), "--yes"]) == 2
    text = capsys.readouterr().err
    assert "title: is ''; it must be a line that describes the sweep." in text
    assert "[[runs]] block 1: seed is 'three'; it must be a whole number from 0 to" in text
    assert '[[runs]] block 2: devices = 3 needs a strategy. Set strategy = "mirrored".' in text
    assert "block 1: workload" not in text


def test_a_probe_of_two_real_steps_reports_the_hours(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan(here, capsys)["hours"] is None
    result = plan(here, capsys, "--probe", "--python", f"tensorflow={executable('tensorflow')}")
    assert result["hours"] > 0
    assert result["cost"] == pytest.approx(2.0 * result["hours"])
    assert rows(here) == []  # a probe is no result


def test_what_did_not_end_well_is_reported_again_and_tried_again_where_asked_to(
    here: Path, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    stub(bench(here, {1: "nan"}))
    assert asked(here, "run", "--yes") == 1
    assert asked(here, "run", "--yes") == 1
    assert "--retry-failed" in capsys.readouterr().out
    assert len(starts(here)) == 3
    stub(bench(here))
    assert asked(here, "run", "--yes", "--retry-failed") == 0
    assert len(starts(here)) == 4
    assert asked(here, "resume", "--retry-failed") == 0
    assert sorted(r["status"] for r in rows(here)) == ["nan", "ok", "ok", "ok"]


def test_a_sweep_of_steps_to_a_target_has_a_plan_and_a_status(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command, text in (("plan", "1,485 trials of 27 pairs"), ("status", "0 of 27 pairs")):
        assert cli.main([command, "digits-steps-to-target", "--name", "none"]) == 0
        assert text in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["converge", "digits-steps-quick", "--device", "gpu"])


def test_a_reader_that_has_seen_enough_is_no_error(here: Path) -> None:
    program = f"{sys.executable} -m runners plan article-002 | head -1"
    done = subprocess.run(program, shell=True, cwd=ROOT, capture_output=True, text=True)  # noqa: S602
    assert done.stderr == ""
    assert done.stdout.startswith("Article 002")


# -- plans ---------------------------------------------------------------------------------------


def plan(here: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    """`plan --json`, which must be one JSON object without numbers JSON does not know."""
    capsys.readouterr()
    assert asked(here, "plan", "--json", *more) == 0
    out = capsys.readouterr().out
    result = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert out.count("\n") == 1
    assert isinstance(result, dict)
    return result


def test_a_plan_without_results_knows_its_runs_and_nothing_of_their_time(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = plan(here, capsys)
    assert (result["planned"], result["finished"], result["left"]) == (3, 0, 3)
    unknown = ("hours", "hours_low", "hours_high", "hours_basis", "memory_bytes", "energy_kwh",
               "cost")  # fmt: skip
    assert {n: result[n] for n in unknown} == dict.fromkeys(unknown)
    assert [r["seconds"] for r in result["runs"]] == [None] * 3
    assert not (here / "results").exists()  # planning writes nothing


def test_a_plan_reports_what_is_left_from_the_rows_that_are_there(
    here: Path, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    stub(bench(here))
    asked(here, "run", "--yes")
    text = SPEC.replace("seed = [0, 1, 2]", "seed = [0, 1, 2, 3]")
    (here / "mine.toml").write_text(text, encoding="utf-8")
    result = plan(here, capsys)
    assert (result["planned"], result["finished"], result["left"]) == (4, 3, 1)
    walls = [json.loads(r["extra"])["wall_s"] - 3 * 0.25 for r in rows(here)]
    start_s = sum(max(w, 0.0) for w in walls) / 3  # the stand-in says 0.25 s an epoch
    assert math.isclose(result["hours"], (start_s + 3 * 2 * 0.125) / 3600, rel_tol=1e-3)
    assert math.isclose(result["cost"], result["hours"] * 2.0)
    assert math.isclose(plan(here, capsys, "--price-per-hour", "8")["cost"], result["hours"] * 8)
    assert [r["done"] for r in result["runs"]] == [True] * 3 + [False]


# -- the largest batch ---------------------------------------------------------------------------

GROWS = """
title = "A network that grows"
[limits]
max_batch = 65536
timeout_s = 600
[[runs]]
workload = "transformer"
options = { layers = 1, width = 16, heads = 2 }
batch = 8
steps_per_epoch = 2
"""
"""Megabytes of logits a sample, hardly a weight: memory is a line, and few probes find its end."""


@pytest.mark.faults
@pytest.mark.skipif(not FULL, reason="ten children of TensorFlow, 1 GB each: `make faults` runs it")
def test_the_largest_batch_of_a_real_network_under_a_limit_is_found(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "mine.toml").write_text(GROWS, encoding="utf-8")
    assert asked(here, "max-batch", "--memory-limit", "1.2") == 0
    said = capsys.readouterr().out
    print(said)
    assert " fits, " in said
    largest = int(said.split(" fits, ")[0].rsplit(" ", 1)[1])
    fitted = {r["global_batch_size"]: r["status"] for r in rows(here)}
    assert fitted[largest] == "ok"
    assert {"ok", "oom"} == set(fitted.values())
    assert min(b for b, s in fitted.items() if s == "oom") - largest <= max(1, largest // 16)
    assert len(fitted) < 14


# -- secrets -------------------------------------------------------------------------------------

SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMIxK7MDENGxPLANTEDKEYx0",
    "DATABASE_URL": "postgres://anna:pw-planted@db.planted.example/runs",
    "HOME": "/home/anna.planted",
}
PLANTED = ("wJalrXUtnFEMI", "PLANTEDKEY", "pw-planted", "db.planted.example", "anna.planted",
           "10.20.30.40", "fe80::1ff:fe23", "planted@mail", "/home/")  # fmt: skip
ERROR = (
    "cannot read /home/anna.planted/data/train.bin from 10.20.30.40 [fe80::1ff:fe23:4567:890a] "
    f"as planted@mail.example with {SECRETS['AWS_SECRET_ACCESS_KEY']} "
    f"(AWS_SECRET_ACCESS_KEY={SECRETS['AWS_SECRET_ACCESS_KEY']}, {SECRETS['DATABASE_URL']})"
)


@pytest.mark.parametrize("how", ["leaks", "leaks by dying"])
def test_a_planted_secret_is_in_no_file_and_on_no_terminal(
    here: Path, stub: Stub, how: str, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    mark = new_mark()
    used = bench(here, {0: how, 1: how, 2: how}, mark)
    stub(Bench(**{n: getattr(used, n) for n in used.__slots__ if n != "child"},
               child=(*used.child, ERROR)))  # fmt: skip
    assert asked(here, "run", "--yes") == 1
    asked(here, "status")
    asked(here, "status", "--json")
    out, err = capfd.readouterr()
    kept = [p for place in ("results", "state") for p in (here / place).rglob("*") if p.is_file()]
    assert len(kept) > 4
    for text in (out.encode(), err.encode(), *(p.read_bytes() for p in kept)):
        assert [secret for secret in PLANTED if secret.encode() in text] == []
    reasons = [str(r["status_reason"]) for r in rows(here)]
    assert all("train.bin" in r for r in reasons)  # what helps is still there
    assert orphans(mark) == []
