"""A sweep measures what is missing, keeps every end as a row, and tells where it is."""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from planner.runs import Row
from planner.store import CommitError
from planner.store._verify import verify_folder
from planner.store.disk.files import write_whole
from planner.store.disk.sweeps import SweepStatus, read_status, read_statuses
from planner.store.sealed.compact import compact_set
from planner.store.summaries import summaries
from runners.plan.cases import Case
from runners.process.supervise import Stopped
from runners.sweep import sweep
from runners.sweep.measure import Bench, Hooks, measure
from runners.sweep.rows import Done, case_id_of, done_in
from runners.sweep.sweep import Journal
from tests.faults.campaign import small_disk
from tests.runners.stubs import bench, book, case, orphans, starts
from tests.store.build import a_set, folder


def run(
    tmp: Path, cases: Sequence[Case], used: Bench, journal: Journal | None = None, attempts: int = 3
) -> list[Row]:
    """One go at a sweep with the stand-in child; its result set is tmp/results/stub."""

    def measured(case: Case, hooks: Hooks) -> Row:
        return measure(case, used, "stub", hooks)

    place = a_set(tmp / "results", slug="stub")
    return sweep.run(cases, place, measured, journal or book(tmp), attempts=attempts)


def kept(tmp: Path) -> list[Row]:
    return list(summaries(tmp / "results" / "stub"))


def ends(tmp: Path) -> dict[int, list[str]]:
    """Statuses by seed, in the order of attempts."""
    found: dict[int, list[str]] = {}
    for row in sorted(kept(tmp), key=lambda r: int(r["attempt"])):
        found.setdefault(row["seed"], []).append(row["status"])
    return found


def checked(tmp: Path) -> None:
    """Every row on the disk is whole, in every byte and every cell."""
    assert verify_folder(folder(tmp / "results")).problems == ()


# -- every end is a row --------------------------------------------------------------------------


def test_every_end_is_a_row_and_only_failures_of_the_machine_are_tried_three_times(
    tmp_path: Path,
) -> None:
    ways = {
        0: "ok", 1: "oom", 2: "nan", 3: "crashed", 4: "kill", 5: "segmentation fault",
        6: "bad_alloc", 7: "half a line", 8: "terminate",
    }  # fmt: skip
    run(tmp_path, [case(s) for s in ways], bench(tmp_path, ways))
    assert ends(tmp_path) == {
        0: ["ok"], 1: ["oom"], 2: ["nan"], 3: ["crashed"], 4: ["killed"] * 3,
        5: ["crashed"] * 3, 6: ["oom"], 7: ["killed"] * 3, 8: ["killed"] * 3,
    }  # fmt: skip
    assert all(r["status_reason"] for r in kept(tmp_path) if r["status"] != "ok")
    checked(tmp_path)


def test_time_and_memory_above_their_limits_are_rows_and_tried_once(tmp_path: Path) -> None:
    run(tmp_path, [case(1)], bench(tmp_path, {1: "sleeps"}, timeout_s=6.0))
    run(tmp_path, [case(2)], bench(tmp_path, {2: "grows"}, memory_bytes=200_000_000))
    assert ends(tmp_path) == {1: ["timeout"], 2: ["oom"]}
    [late] = [r for r in kept(tmp_path) if r["status"] == "timeout"]
    assert (late["epochs_measured"], late["first_epoch_s"]) == (1, 0.25)
    checked(tmp_path)


def test_epochs_measured_before_a_failure_are_in_its_row(tmp_path: Path) -> None:
    run(tmp_path, [case(7)], bench(tmp_path, {7: "half a line"}), attempts=1)
    [row] = kept(tmp_path)
    [path] = (tmp_path / "results" / "stub").glob("*.parquet")
    [whole] = pq.read_table(path).to_pylist()
    assert (row["status"], row["epochs_measured"], row["later_epoch_mean_s"]) == ("killed", 2, 0.25)
    assert [e["loss"] for e in whole["epochs"]] == [1.0, 0.5]


@pytest.mark.parametrize("how", ["negative parameters", "unknown column", "text for a number"])
def test_numbers_that_make_no_row_are_crashes_with_that_as_their_reason(
    tmp_path: Path, how: str
) -> None:
    run(tmp_path, [case(1)], bench(tmp_path, {1: how}))
    assert ends(tmp_path) == {1: ["crashed"] * 3}
    assert all("its values are invalid" in r["status_reason"] for r in kept(tmp_path))
    checked(tmp_path)


def test_a_child_cannot_say_which_run_it_is_or_how_it_ended(tmp_path: Path) -> None:
    run(tmp_path, [case(1)], bench(tmp_path, {1: "names itself"}))
    [row] = kept(tmp_path)
    assert (row["result_set"], row["attempt"], case_id_of(row)) == ("stub", 0, case(1).case_id)
    checked(tmp_path)


# -- going on ------------------------------------------------------------------------------------


def test_what_is_done_is_not_measured_again(tmp_path: Path) -> None:
    cases, used = [case(s) for s in range(3)], bench(tmp_path, {1: "oom", 2: "kill"})
    run(tmp_path, cases, used)
    before = starts(tmp_path)
    assert before == ["0 0", "1 0", "2 0", "2 1", "2 2"]
    assert run(tmp_path, cases, used) == []
    assert starts(tmp_path) == before


def test_a_case_killed_once_is_tried_again_and_counts_as_well_ended(tmp_path: Path) -> None:
    run(tmp_path, [case(1)], bench(tmp_path, {1: "kill"}), attempts=1)
    journal = book(tmp_path)
    run(tmp_path, [case(1)], bench(tmp_path, {}), journal)
    assert ends(tmp_path) == {1: ["killed", "ok"]}
    again = book(tmp_path)
    assert run(tmp_path, [case(1)], bench(tmp_path, {}), again) == []
    assert (journal.status.finished, journal.status.failed) == (1, 0)
    assert (again.status.finished, again.status.failed) == (1, 0)


def test_a_compaction_changes_nothing_about_what_is_done(tmp_path: Path) -> None:
    cases, used = [case(s) for s in range(4)], bench(tmp_path, {1: "oom", 2: "kill"})
    run(tmp_path, cases[:3], used)
    before = starts(tmp_path)
    assert compact_set(tmp_path / "results" / "stub").runs == 5
    run(tmp_path, cases, used)
    assert starts(tmp_path) == [*before, "3 0"]
    assert ends(tmp_path) == {0: ["ok"], 1: ["oom"], 2: ["killed"] * 3, 3: ["ok"]}
    checked(tmp_path)


def _damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(bytes(data))


def test_a_run_whose_file_is_damaged_is_measured_again_beside_it(tmp_path: Path) -> None:
    cases, used = [case(s) for s in range(3)], bench(tmp_path)
    run(tmp_path, cases, used)
    [bad] = [
        p for p in (tmp_path / "results" / "stub").glob("*.parquet")
        if p.stem in {r["run_id"] for r in kept(tmp_path) if r["seed"] == 1}
    ]  # fmt: skip
    _damage(bad)
    [again] = run(tmp_path, cases, used)
    assert (again["seed"], again["status"], again["attempt"]) == (1, "ok", 1)
    assert ends(tmp_path) == {0: ["ok"], 1: ["ok"], 2: ["ok"]}
    assert run(tmp_path, cases, used) == []
    report = verify_folder(folder(tmp_path / "results"))
    assert [p.path for p in report.problems] == [str(bad)]  # and a person is told which


@pytest.mark.parametrize("lost", [0, 1])
def test_a_damaged_file_among_failed_attempts_neither_ends_nor_lengthens_the_sweep(
    tmp_path: Path, lost: int
) -> None:
    """After attempts 0 and 1, one of them damaged, two rows may follow, not three and not none."""
    run(tmp_path, [case(1)], bench(tmp_path, {1: "kill"}), attempts=2)
    place = tmp_path / "results" / "stub"
    [bad] = [r["run_id"] for r in kept(tmp_path) if r["attempt"] == lost]
    _damage(place / f"{bad}.parquet")
    run(tmp_path, [case(1)], bench(tmp_path, {1: "kill"}))
    assert ends(tmp_path) == {1: ["killed"] * 3}
    assert run(tmp_path, [case(1)], bench(tmp_path, {1: "kill"})) == []


@pytest.mark.parametrize(
    "changes", [{"train_samples": 96}, {"validation_samples": 10}, {"train_samples": 90}]
)
def test_cases_that_differ_in_what_is_no_identity_of_a_run_are_both_kept(
    tmp_path: Path, changes: dict[str, int]
) -> None:
    cases, used = [case(1), case(1, **changes)], bench(tmp_path)
    run(tmp_path, cases, used)
    assert {case_id_of(r) for r in kept(tmp_path)} == {c.case_id for c in cases}
    assert run(tmp_path, cases, used) == []
    assert len(starts(tmp_path)) == 2


def test_rows_that_no_sweep_made_are_passed_over(tmp_path: Path) -> None:
    from planner.store import commit_runs
    from tests.store.build import row

    place = tmp_path / "results" / "stub"
    commit_runs(place, [row(), row(repeat=1, extra="{}"), row(repeat=2, extra='{"case_id": 5}')])
    assert done_in(place).rows.keys() <= {5}
    run(tmp_path, [case(1)], bench(tmp_path))
    assert Counter(r["status"] for r in kept(tmp_path)) == {"ok": 4}


# -- stopping, and what is told ------------------------------------------------------------------


def test_a_stop_saves_what_is_finished_and_no_row_of_what_is_not(tmp_path: Path) -> None:
    used = bench(tmp_path, {1: "workers and sleeps"}, mark="stub-to-stop")
    place = tmp_path / "results" / "stub"

    def measured(case: Case, hooks: Hooks) -> Row:
        return measure(case, used, "stub", hooks)

    journal = book(tmp_path)
    with pytest.raises(Stopped):
        sweep.run([case(0), case(1), case(2)], place, measured, journal,
                  stop=lambda: "1 0" in starts(tmp_path))  # fmt: skip
    assert ends(tmp_path) == {0: ["ok"]}
    assert (journal.status.finished, journal.status.planned) == (1, 3)
    assert orphans("stub-to-stop") == []
    run(tmp_path, [case(0), case(1), case(2)], bench(tmp_path))
    assert ends(tmp_path) == {0: ["ok"], 1: ["ok"], 2: ["ok"]}
    assert starts(tmp_path) == ["0 0", "1 0", "1 0", "2 0"]


def test_the_status_counts_runs_and_names_the_time_left(tmp_path: Path) -> None:
    seen: list[SweepStatus] = []
    journal = book(tmp_path, planned=3)
    journal.on_update = seen.append
    run(tmp_path, [case(s) for s in range(3)], bench(tmp_path, {1: "oom"}), journal)
    assert [s.finished for s in seen] == sorted(s.finished for s in seen)
    assert (seen[-1].finished, seen[-1].failed, seen[-1].planned) == (3, 1, 3)
    assert seen[0].left_s is None  # not known is not 0
    assert seen[-1].left_s == 0.0
    result = read_status(tmp_path / "state", "stub-1")
    assert result is not None
    assert (result.finished, result.current) == (3, None)


def test_many_epochs_in_a_moment_cost_few_writes_of_the_status(tmp_path: Path) -> None:
    journal = book(tmp_path)
    journal.update()
    written: list[SweepStatus] = []
    journal.on_update = written.append
    for number in range(1_000):
        journal.epoch(number)
    assert journal.status.current_epoch == 999
    assert len(written) < 100


# -- disks ---------------------------------------------------------------------------------------


def test_a_status_that_cannot_be_written_does_not_end_a_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("runners.sweep.sweep.write_status", full)
    run(tmp_path, [case(0), case(1)], bench(tmp_path))
    assert ends(tmp_path) == {0: ["ok"], 1: ["ok"]}


def test_a_result_set_that_is_a_file_is_refused_with_a_sentence(tmp_path: Path) -> None:
    place, used = tmp_path / "stub", bench(tmp_path)
    place.write_text("in the way")
    with pytest.raises(CommitError, match="0 of 1 runs are saved, nothing is half-written"):
        sweep.run(
            [case(0)], place, lambda case, hooks: measure(case, used, "stub", hooks), book(tmp_path)
        )


def test_a_disk_that_fills_up_is_reported_with_what_is_saved_and_gone_on_with(
    tmp_path: Path,
) -> None:
    with small_disk(tmp_path / "results", kilobytes=256) as disk:
        if disk is None:
            pytest.skip("no small disk may be mounted here")
        cases, used = [case(s) for s in range(6)], bench(tmp_path)
        run(tmp_path, cases[:2], used)
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        (disk / "filler").write_bytes(bytes(free - 30_000))  # room for one run or two
        journal = book(tmp_path)
        with pytest.raises(CommitError) as caught:
            run(tmp_path, cases, used, journal)
        saved = len(kept(tmp_path))
        assert 2 <= saved < 6
        assert f"disk full at {disk / 'stub'}: {saved} of 6 runs are saved" in str(caught.value)
        assert caught.value.errno == errno.ENOSPC
        assert list((disk / "stub").glob(".*.tmp")) == []
        (disk / "filler").unlink()
        run(tmp_path, cases, used)
        assert ends(tmp_path) == {s: ["ok"] for s in range(6)}
        checked(tmp_path)


# -- status files --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"ticket": "bad"}', "\x00", "[" * 100_000, '{"phase": 7}']
)
def test_an_unreadable_status_is_left_out(tmp_path: Path, text: str) -> None:
    state = tmp_path / "state"
    book(tmp_path, ticket="good").update()
    write_whole(state / "bad" / "status.json", text)
    assert [s.ticket for s in read_statuses(state)] == ["good"]


def test_the_case_of_a_row_is_that_of_its_plan_whatever_a_child_adds(tmp_path: Path) -> None:
    run(tmp_path, [case(1)], bench(tmp_path))
    [row] = kept(tmp_path)
    result = json.loads(row["extra"])
    assert result["case_id"] == case(1).case_id
    assert result["dataset_sha256"] == "0" * 64


def test_a_run_that_a_smaller_memory_limit_ended_is_worth_another_try() -> None:
    ended = {"status": "oom", "extra": json.dumps({"memory_limit_bytes": 1_000})}
    for memory_bytes, settled in ((None, True), (1_000, True), (1_200, True), (2_000, False)):
        done = Done(rows={case().case_id: (ended,)}, memory_bytes=memory_bytes)
        assert done.settled(case(), 3) is settled
    result = {"status": "oom", "extra": json.dumps({})}  # the framework said so: no limit of ours
    assert Done(rows={case().case_id: (result,)}, memory_bytes=9e99).settled(case(), 3)
