"""What a sweep of steps to a target keeps, widens, and takes up again; nothing is trained here."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from planner.store.sealed.result_set import read_set
from runners.converge.measure import converge
from runners.plan.spec import SpecError
from runners.process.events import Event
from runners.process.supervise import ROOT, Stopped
from tests.runners import converge_stand_in as stand_in

KILLED = """
import os, signal, sys
from pathlib import Path
from runners.converge.measure import converge
from tests.runners import converge_stand_in as stand_in

calls = []
def child(request):
    calls.append(request)
    if len(calls) > int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    return stand_in.child(request)

converge(Path(sys.argv[1]), Path(sys.argv[2]), stand_in.FACTS, stand_in.each(child), print)
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.toml"
    path.write_text(stand_in.TOML.format(sgd=0.25))
    return path


class Child:
    """Counts what it is asked for; fails or stops where told to."""

    def __init__(self, *, stop_after: int = 99, fails: dict[str, Any] | None = None) -> None:
        self.asked: list[dict[str, Any]] = []
        self._stop_after, self._fails = stop_after, fails

    def __call__(self, request: dict[str, Any]) -> list[Event]:
        """What a child tells of a request."""
        if len(self.asked) >= self._stop_after:
            raise Stopped
        self.asked.append(request)
        return [{"event": "failed", **self._fails}] if self._fails else stand_in.child(request)


def _run(spec: Path, child: Any, said: list[str] | None = None) -> int:  # noqa: ANN401
    say = (said if said is not None else []).append
    return converge(spec, spec.parent / "results", stand_in.FACTS, stand_in.each(child), say)


def _folder(spec: Path) -> Path:
    return spec.parent / "results" / "sweep-2-core-test-machine"


def _rows(spec: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(_folder(spec).glob("*.parquet")):
        yield from pq.ParquetFile(path).read().to_pylist()


def _extras(spec: Path) -> list[dict[str, Any]]:
    return [json.loads(row["extra"]) for row in _rows(spec)]


def test_every_trial_is_a_row_and_every_group_a_file(spec: Path) -> None:
    child = Child()
    assert _run(spec, child) == 0
    rows = list(_rows(spec))
    assert len(rows) == 2 * 2 * 3 * 3
    assert len(list(_folder(spec).glob("*.parquet"))) == len(child.asked) == 4
    assert {r["optimizer"] for r in rows} == {"SGD", "Adam"}
    assert {r["engine"] for r in rows} == {"trials"}
    assert {r["evaluation_metric"] for r in rows} == {"validation error"}
    assert all(r["later_epoch_mean_s"] is None and r["total_s"] is None for r in rows)
    assert all(e["trials_in_group"] == 9 for e in _extras(spec))


def test_the_best_rate_is_reported_in_its_rows_and_to_the_person(spec: Path) -> None:
    said: list[str] = []
    _run(spec, Child(), said)
    best = {r["learning_rate"] for r, e in zip(_rows(spec), _extras(spec), strict=True)
            if e["best_rate_so_far"]}  # fmt: skip
    assert best == {0.5}
    assert "sgd, batch 8: 90 steps (median of 3 seeds) at rate 0.5" in said
    assert said[-2].split() == ["sgd", "90", "20"]


def test_a_set_says_what_it_is(spec: Path) -> None:
    _run(spec, Child())
    read, problem = read_set(_folder(spec), "yours")
    assert problem is None
    assert "2-core test machine" in read.title


def test_a_grid_that_misses_the_best_rate_is_widened_on_that_side(spec: Path) -> None:
    spec.write_text(stand_in.TOML.format(sgd=0.0625))  # 0.0625, 0.125, 0.25: the best is 0.5
    child = Child()
    assert _run(spec, child) == 0
    asked = [r["rates"] for r in child.asked if r["optimizer"] == "sgd" and r["batch"] == 8]
    assert asked == [[0.0625, 0.125, 0.25], [0.5, 1.0]]
    assert {e["grid_part"] for e in _extras(spec)} == {0, 1}
    assert {e.get("best_rate_at_edge") for e in _extras(spec)} == {"high", None}


def test_widening_ends_after_as_many_times_as_the_sweep_allows(spec: Path) -> None:
    spec.write_text(stand_in.TOML.format(sgd=0.0001))
    child, said = Child(), list[str]()
    assert _run(spec, child, said) == 0
    assert len([r for r in child.asked if r["optimizer"] == "sgd" and r["batch"] == 8]) == 3
    assert any("was not reached" in s and "at the high edge" in s for s in said)


def test_what_is_done_is_not_measured_again(spec: Path) -> None:
    spec.write_text(stand_in.TOML.format(sgd=0.0625))
    _run(spec, Child())
    before, again = list(_rows(spec)), Child()
    assert _run(spec, again) == 0
    assert again.asked == []
    assert list(_rows(spec)) == before


def test_a_stop_keeps_finished_groups_and_the_rest_follows_later(spec: Path) -> None:
    with pytest.raises(Stopped):
        _run(spec, Child(stop_after=3))
    assert len(list(_rows(spec))) == 3 * 9
    rest = Child()
    assert _run(spec, rest) == 0
    assert len(rest.asked) == 1


@pytest.mark.parametrize("groups", [0, 1, 4])
def test_a_kill_between_groups_loses_and_doubles_nothing(spec: Path, groups: int) -> None:
    spec.write_text(stand_in.TOML.format(sgd=0.0625))  # widened: six groups
    command = [sys.executable, "-c", KILLED, str(spec), str(spec.parent / "results"), str(groups)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True)
    assert ended.returncode == -signal.SIGKILL
    rest = Child()
    assert _run(spec, rest) == 0
    assert len(rest.asked) == 6 - groups
    ids = Counter(row["run_id"] for row in _rows(spec))
    assert set(ids.values()) == {1}
    assert len(ids) == 2 * (9 + 6) + 2 * 9


def test_a_group_without_memory_is_kept_as_what_it_is_and_not_tried_again(spec: Path) -> None:
    end = {"status": "oom", "reason": "watchdog: 2 GB resident"}
    assert _run(spec, Child(fails=end)) == 1
    rows = list(_rows(spec))
    assert {r["status"] for r in rows} == {"oom"}
    assert {r["status_reason"] for r in rows} == {end["reason"]}
    again = Child()
    assert _run(spec, again) == 1
    assert again.asked == []


def test_a_group_whose_child_was_killed_is_tried_again_under_a_new_number(spec: Path) -> None:
    assert _run(spec, Child(fails={"status": "killed", "reason": "SIGKILL"})) == 1
    assert _run(spec, Child()) == 0
    by_attempt = Counter((row["attempt"], row["status"]) for row in _rows(spec))
    assert by_attempt == {(0, "killed"): 36, (1, "ok"): 36}


def test_a_child_that_says_nothing_has_crashed(spec: Path) -> None:
    assert _run(spec, lambda _: []) == 1
    assert {r["status_reason"] for r in _rows(spec)} == {"the child reported no rows"}


def test_trials_of_other_settings_are_not_mixed_into_one_set(spec: Path) -> None:
    _run(spec, Child())
    spec.write_text(stand_in.TOML.format(sgd=0.25).replace("0.05", "0.04"))
    with pytest.raises(SpecError, match="under other settings"):
        _run(spec, Child())


def test_the_side_that_plans_and_keeps_imports_no_framework() -> None:
    program = (
        "import sys, runners.converge.measure, runners.converge.measure\n"
        "print({'tensorflow', 'keras', 'jax', 'duckdb'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"


def test_a_sweep_of_two_networks_is_one_set_that_resumes(spec: Path) -> None:
    text = stand_in.TOML.format(sgd=0.25).replace('workload = "mlp"\n', "")
    spec.write_text(f'{text}\n[[networks]]\nworkload = "mlp"\n[[networks]]\nworkload = "vgg5"\n')
    with pytest.raises(Stopped):
        _run(spec, Child(stop_after=5))
    rest, said = Child(), list[str]()
    assert _run(spec, rest, said) == 0
    assert [(r["workload"], r["optimizer"]) for r in rest.asked] == [
        ("mlp", "adam"), ("vgg5", "adam"), ("vgg5", "adam"),
    ]  # fmt: skip
    assert {r["model"] for r in _rows(spec)} == {"MLP 512-512", "VGG-5 width 8"}
    assert "VGG-5 width 8: sgd, batch 8: 90 steps (median of 3 seeds) at rate 0.5" in said
