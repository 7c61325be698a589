"""Runs in a summary file are those of memory: after kills, damage, and beside other servers."""

from __future__ import annotations

import gc
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pytest

from planner.answers.runs import suspects_of, with_priors
from planner.epochs.epoch_size import epoch_size
from planner.store import LimitError, Store, queries, reader, sql
from planner.store import _runs_file as runs_file
from planner.store.disk.access import EVERYONE, Access, set_access
from planner.store.export import export_duckdb
from planner.store.sealed import accept
from planner.throughput import (
    curves_of,
    systems_of,
    systems_with_curves,
    usual_systems,
    with_step_times,
)
from tests.faults.campaign import Child
from tests.faults.outcomes import FULL
from tests.store.build import a_set, folder, ids, row, rows, together

KILLS: Final = 200 if FULL else 2
MORE_SETS: Final = 30 if FULL else 6
DAMAGES: Final = 200 if FULL else 2
PAGE: Final = 13
"""Rows of a page: the runs of `results` take three of them."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this test's summary files."""
    place = tmp_path / "cache"
    monkeypatch.setenv("EPOCHWISE_CACHE", str(place))
    return place


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Measured, published and failed runs, trials, a copy and a contradiction, in five sets."""
    root = tmp_path_factory.mktemp("made") / "results"
    for n, model in enumerate(("ResNet-50", "BERT", "Net")):
        many = [
            row(repeat=i, model=model, dataset="D", system_name=f"Card {i % 3}", step_s=0.1 + i,
                accelerator_model_name=f"Card {i % 3}", accelerators_per_node=1 + i % 2,
                global_batch_size=2**i, epochs_measured=5, later_epoch_mean_s=10.0 + i,
                later_epoch_sd_s=0.1, first_epoch_s=12.0, basis=("measured", "published")[i % 2],
                status="oom" if i == 7 else "ok", status_reason="memory" if i == 7 else None)
            for i in range(8)
        ]  # fmt: skip
        together(a_set(root, slug=f"set{n}"), [{**r, "result_set": f"set{n}"} for r in many])
    trials = rows(4, evaluation_metric="error", target_value=0.25, steps_to_target=10,
                  result_set="trials")  # fmt: skip
    a_set(root, trials, slug="trials")
    a_set(root, [{**trials[0], "steps_to_target": 11}, trials[1]], slug="copies")
    return root


@pytest.fixture
def results(made: Path) -> Iterator[Path]:
    """A copy for one test, in the same place for all: answers name the place."""
    place = made.parent / "copy" / "results"
    shutil.copytree(made, place)
    yield place
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def expected(made: Path) -> dict[str, Any]:
    """All answers from memory for `results` as they are made."""
    place = made.parent / "copy" / "results"
    shutil.copytree(made, place)
    whole = answers(in_memory(place))
    shutil.rmtree(place)
    return whole


def in_file(root: Path, **more: Any) -> Store:  # noqa: ANN401 - whatever a store takes
    """A refreshed store that keeps at most 10 runs in memory."""
    store = Store([folder(root)], most_in_memory=10, **more)
    store.refresh()
    return store


def in_memory(root: Path, **more: Any) -> Store:  # noqa: ANN401
    """A refreshed store in memory."""
    store = Store([folder(root)], most_in_memory=float("inf"), **more)
    store.refresh()
    return store


def _pages(ask: Callable[[int, int], pa.Table]) -> list[list[dict[str, Any]]]:
    """The rows of every page, and of none behind the last."""
    pages: list[list[dict[str, Any]]] = []
    while not pages or pages[-1]:
        pages.append(ask(PAGE, PAGE * len(pages)).to_pylist())
    return pages


def answers(store: Store) -> dict[str, Any]:
    """Everything that is asked of all runs, in order."""
    names = list(queries.workloads(store))
    facets = [queries.facets(store, f) for f in ({}, {"workload": names[:1]}, {"status": ["ok"]})]
    runs = [
        r
        for name in names
        for pattern in queries.patterns(store, name)
        for r in with_priors(store, queries.runs_of(store, name, pattern))
    ]
    return {
        "ids": ids(store),
        "totals": queries.totals(store),
        "sets": queries.recent_sets(store, 9),
        "workloads": list(queries.workloads(store).items()),
        "about": list(queries.about_workloads(store).items()),
        "trained": queries.trained(store),
        "trials": queries.trial_sets(store),
        "timed": queries.timed_workloads(store),
        "scaled": list(queries.scaled_workloads(store).items()),
        "checked": list(queries.checked_workloads(store).items()),
        "library": [queries.library_rows(store, name) for name in names],
        "facets": [[(f, list(o.items())) for f, o in found.items()] for found in facets],
        "table": _pages(lambda *page: queries.table(store, {}, *page)),
        "listed": _pages(lambda *page: queries.listed(store, {}, *page)),
        "explored": queries.sampled_runs(store, {}).to_pylist(),
        "work": queries.work(store, {}),
        "suspects": suspects_of(store),
        "runs": runs,
        "refused": store.refused,
    }


def _untouched(root: Path) -> list[tuple[str, int, int]]:
    return sorted((str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in root.rglob("*"))


def _let_go(store: Store) -> None:
    """End a store as its process would."""
    store.__dict__.clear()
    gc.collect()


def test_every_answer_is_that_of_memory_and_results_are_not_touched(
    results: Path, expected: dict[str, Any]
) -> None:
    before = _untouched(results)
    store = in_file(results)
    assert store.in_file
    assert answers(store) == expected
    assert _untouched(results) == before


def test_a_small_store_stays_in_memory_and_writes_nothing(results: Path, cache: Path) -> None:
    store = Store([folder(results)])
    store.refresh()
    assert not store.in_file
    assert not cache.exists()


def _reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are verified from now on."""
    seen: list[str] = []
    real = accept.accepted

    def accepted(path: str) -> Any:  # noqa: ANN401
        seen.append(path)
        return real(path)

    monkeypatch.setattr("planner.store.reader.accepted", accepted)
    return seen


def test_a_restart_reads_no_result_file_again(
    results: Path, monkeypatch: pytest.MonkeyPatch, expected: dict[str, Any]
) -> None:
    _let_go(in_file(results))
    read = _reads(monkeypatch)
    store = in_file(results)
    assert read == []
    assert answers(store) == expected


def test_a_server_beside_another_copies_its_file(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = in_file(results)
    read = _reads(monkeypatch)
    second = in_file(results)
    assert read == []
    assert first._place is not None
    assert second._place is not None
    assert first._place.folder != second._place.folder
    assert answers(second) == answers(first)


def _add(root: Path) -> None:
    a_set(root, [row(model="New", dataset="D", step_s=0.5, result_set="new")], slug="new")


def _remove(root: Path) -> None:
    shutil.rmtree(root / "set1")


def _remove_the_shown_copy(root: Path) -> None:
    shutil.rmtree(root / "trials")


def _replace(root: Path) -> None:
    """Other bytes of the same length, under the same name, size, time and inode."""
    [path] = (root / "set0").glob("*.parquet")
    before = path.stat()
    shutil.rmtree(root / "other", ignore_errors=True)
    data = path.read_bytes()
    at = data.rindex(b'"sha256":"') + 10
    path.write_bytes(data[:at] + b"0" * 64 + data[at + 64 :])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: Final = [
    *((change, True) for change in (_add, _remove_the_shown_copy)),
    *((change, False) for change in (_remove, _replace)),
    *([(_remove, True), (_add, False), (_remove_the_shown_copy, False)] if FULL else []),
]
"""What changes, and whether the store runs on: a running one trusts name, size, time and inode."""


@pytest.mark.parametrize(("change", "running"), CHANGES)
def test_changes_are_seen_by_a_running_store_and_by_the_next(
    results: Path, change: Callable[[Path], None], *, running: bool
) -> None:
    store = in_file(results)
    if not running:
        _let_go(store)
    change(results)
    store = store if running else in_file(results)
    store.refresh()
    assert answers(store) == answers(in_memory(results))


def test_totals_of_many_workloads_are_those_of_each(
    results: Path, monkeypatch: pytest.MonkeyPatch, expected: dict[str, Any]
) -> None:
    monkeypatch.setattr(reader, "_MOST_RENEWED", 0)  # the other tests renew each
    assert answers(in_file(results)) == expected


def test_a_load_in_many_parts_ends_with_the_same_totals(
    results: Path, monkeypatch: pytest.MonkeyPatch, expected: dict[str, Any]
) -> None:
    monkeypatch.setattr(reader, "CHUNK", 1)
    assert answers(in_file(results)) == expected


def _loads(say: Callable[[str], None], results: Path, cache: Path) -> None:
    """What a child does until it is killed: it makes the file, and opens it again."""
    os.environ["EPOCHWISE_CACHE"] = str(cache)
    reader.CHUNK = 5  # type: ignore[misc]
    _let_go(in_file(results))
    say("made")
    _let_go(in_file(results))


def test_a_file_killed_at_any_moment_gives_right_answers(results: Path, cache: Path) -> None:
    for n in range(MORE_SETS):
        a_set(results, [row(model=f"M{n % 4}", repeat=n, step_s=1.0 + n)], slug=f"more{n}")
    expected, draw = answers(in_memory(results)), random.Random(20260301)
    whole = Child(_loads, results, cache)
    began = time.perf_counter()
    assert whole.ended() == 0
    took = time.perf_counter() - began
    killed = 0
    for n in range(KILLS):
        if n % 3 < 2:
            shutil.rmtree(cache, ignore_errors=True)
        killed += Child(_loads, results, cache).kill(draw.uniform(0.05, 1.0) * took)
        store = in_file(results)
        assert answers(store) == expected
        _let_go(store)
    assert killed > 0


def _damages(file: Path) -> Iterator[Callable[[], object]]:
    """Ways to spoil a file: other bytes anywhere, a cut, nothing, something else."""
    draw, size = random.Random(7), file.stat().st_size

    def other_bytes(at: int) -> None:
        data = bytearray(file.read_bytes())
        data[at : at + 64] = bytes(255 - b for b in data[at : at + 64])
        file.write_bytes(data)

    yield lambda: file.write_bytes(b"")
    yield lambda: file.write_bytes(b"not a database" * 1_000)
    yield lambda: os.truncate(file, size // 2)
    for _ in range(DAMAGES):
        at = draw.randrange(size)
        yield lambda at=at: other_bytes(at)  # type: ignore[misc]


def test_a_damaged_file_is_made_anew(results: Path, cache: Path, expected: dict[str, Any]) -> None:
    _let_go(in_file(results))
    [file] = cache.rglob(f"*{runs_file.SUFFIX}")
    whole = file.read_bytes()
    for damage in _damages(file):
        file.write_bytes(whole)
        file.with_name(f"{file.name}.wal").unlink(missing_ok=True)
        damage()
        store = in_file(results)
        assert answers(store) == expected
        _let_go(store)
        for other in cache.rglob(f"*{runs_file.SUFFIX}"):
            other.rename(file)


def test_a_broken_instance_leaves_the_file(
    results: Path, monkeypatch: pytest.MonkeyPatch, expected: dict[str, Any]
) -> None:
    """A bad result file invalidates DuckDB's instance, not what it holds."""
    store = in_file(results)
    read = _reads(monkeypatch)
    store._recover(duckdb.FatalException("database has been invalidated"))
    store.refresh(wait=True)
    assert store.in_file
    assert answers(store) == expected
    assert read == []


def test_a_folder_of_another_program_is_never_read(
    results: Path, monkeypatch: pytest.MonkeyPatch, expected: dict[str, Any]
) -> None:
    _let_go(in_file(results))
    monkeypatch.setattr(runs_file, "_program", lambda _: "another")
    read = _reads(monkeypatch)
    store = in_file(results)
    assert read != []
    assert answers(store) == expected


def test_a_viewer_never_gets_the_file_of_another(results: Path) -> None:
    set_access(results / "set2", Access(groups=frozenset({"team"})))
    owner = in_file(results)
    everyone = in_file(results, viewer=EVERYONE)
    assert answers(everyone) == answers(in_memory(results, viewer=EVERYONE))
    assert queries.totals(everyone).runs == queries.totals(owner).runs - 8


def test_viewers_who_see_every_set_copy_each_others_file(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, read = in_file(results), _reads(monkeypatch)
    everyone = in_file(results, viewer=EVERYONE)
    assert read == []
    assert everyone.in_file
    assert answers(everyone) == answers(owner)


def test_a_set_that_became_private_is_in_no_copy(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = in_file(results)
    set_access(results / "set2", Access(groups=frozenset({"team"})))
    read = _reads(monkeypatch)
    everyone = in_file(results, viewer=EVERYONE)
    assert read != []
    assert not set(everyone.workloads) - set(in_memory(results, viewer=EVERYONE).workloads)
    assert set(owner.workloads) - set(everyone.workloads)
    assert answers(everyone) == answers(in_memory(results, viewer=EVERYONE))


def _flags(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where the flags of a store of many runs come from."""
    made: list[str] = []
    real = queries.checked_runs

    def checked(*of: Any, **more: Any) -> Any:  # noqa: ANN401
        made.append("computed")
        return real(*of, **more)

    with monkeypatch.context() as patch:
        patch.setattr(queries, "MOST_CHECKED", 10)
        patch.setattr(queries, "checked_runs", checked)
        assert suspects_of(store).cut_short
        assert suspects_of(store) == suspects_of(store)
    return made


def test_flags_of_all_runs_are_kept_for_the_next_start(
    results: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = in_file(results)
    assert _flags(store, monkeypatch) == ["computed"]
    flags = suspects_of(store)
    _let_go(store)
    store = in_file(results)
    assert _flags(store, monkeypatch) == []
    assert suspects_of(store) == flags
    _let_go(store)
    [kept] = (cache / "runs" / runs_file.ANSWERS).iterdir()
    kept.write_text(kept.read_text("utf-8").replace("suspect", "suspicious") + " ", "utf-8")
    store = in_file(results)
    assert _flags(store, monkeypatch) == ["computed"]
    assert suspects_of(store) == flags


def test_kept_flags_are_of_these_runs(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _flags(in_file(results), monkeypatch)
    store = in_file(results)
    assert _flags(store, monkeypatch) == []
    _add(results)
    store.refresh()
    assert _flags(store, monkeypatch) == ["computed"]


def test_the_first_runs_of_each_kind_stand_for_all(results: Path) -> None:
    first, every = in_file(results), in_memory(results)
    for workload in queries.workloads(every):
        patterns = list(queries.patterns(every, workload))
        few, many = (queries.kinds_of_runs(s, workload, patterns) for s in (first, every))
        stated = queries.stated_samples(every, workload)
        size = epoch_size(many, None, stated)
        assert epoch_size(few, None, stated) == size
        assert epoch_size(few, None, ()) == epoch_size(many, None, ())
        timed_few, timed_many = (with_step_times(runs, size).runs for runs in (few, many))
        assert systems_of(timed_few) == systems_of(timed_many)
        assert usual_systems(timed_few) == usual_systems(timed_many)
        fitted = list(dict.fromkeys(curve.runs[0].system for curve in curves_of(timed_many)))
        assert systems_with_curves(timed_few) == systems_with_curves(timed_many) == fitted
        assert len(few) <= len(many)
        assert queries.longest(first, workload) == max(
            len(queries.runs_of(every, workload, pattern)) for pattern in patterns
        )


def test_without_a_place_on_disk_runs_stay_in_memory(
    results: Path, monkeypatch: pytest.MonkeyPatch, expected: dict[str, Any]
) -> None:
    monkeypatch.setenv("EPOCHWISE_CACHE", "/dev/null")
    store = in_file(results)
    assert not store.in_file
    assert answers(store) == expected


def test_a_disk_without_room_leaves_files_waiting_and_says_so(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = [10**12]
    monkeypatch.setattr(runs_file.HeldFolder, "free_bytes", lambda _: free[0])
    store = in_file(results)
    whole = answers(store)
    free[0] = 0
    _add(results)
    store.refresh()
    assert ids(store) == whole["ids"]
    [waits] = [r for r in store.refused if r.path.endswith("/new")]
    assert "1 of its files are not loaded: the disk of EPOCHWISE_CACHE has less" in waits.reason
    free[0] = 10**12
    _remove(results)  # waiting files are tried again once something changes
    store.refresh()
    assert answers(store) == answers(in_memory(results))


_MANY: Final = (
    "SELECT list(a.run_id || b.run_id || c.run_id) FROM runs a, runs b, runs c, runs d, runs e"
)


def test_a_question_beyond_the_memory_says_so_and_the_next_is_answered(
    results: Path, expected: dict[str, Any]
) -> None:
    store = in_file(results, memory_bytes=100_000_000)
    with pytest.raises(LimitError, match=r"more than the 0\.1 GB .* raise EPOCHWISE_MEMORY_GB"):
        store.rows(_MANY)
    assert answers(store) == expected


def test_a_full_disk_during_a_question_says_so(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = in_file(results)

    def fails(_: object) -> object:
        raise duckdb.IOException('Could not write to file "x": No space left on device')

    with pytest.raises(LimitError, match="disk of EPOCHWISE_CACHE is full"):
        store._answer(fails)
    assert queries.totals(store).runs == len(ids(store))
    del monkeypatch


def test_an_export_has_every_run(results: Path, tmp_path: Path) -> None:
    store = in_file(results)
    assert export_duckdb(store, tmp_path / "out.duckdb") == queries.totals(store).runs


def test_paths_of_this_machine_are_refused_to_sql_of_the_file(results: Path) -> None:
    """The instance in a file has the walls of that in memory."""
    store = in_file(results)
    assert store._place is not None
    for statement in (
        "SELECT * FROM read_text('/etc/passwd')",
        f"COPY runs TO '{store._place.folder.parent}/out.csv'",
        f"ATTACH '{store._place.folder.parent}/other.duckdb'",
        "SET enable_external_access = true",
    ):
        with pytest.raises(duckdb.Error):
            store._base.execute(statement)
    assert store.rows(sql.COUNT_ALL)[0][0] == len(ids(store))


def test_a_set_that_is_marked_or_checked_changes_the_file_in_use_and_between_starts(
    results: Path, expected: dict[str, Any]
) -> None:
    about = results / "set0" / "set.toml"
    checked = about.read_text(encoding="utf-8")
    store = in_file(results)
    about.write_text(f'{checked}standing = "unofficial"\n', encoding="utf-8")
    store.refresh()
    marked = answers(in_memory(results))
    assert answers(store) == marked != expected
    del store
    gc.collect()
    store = in_file(results)
    assert store.in_file
    assert answers(store) == marked
    del store
    gc.collect()
    about.write_text(checked, encoding="utf-8")
    assert answers(in_file(results)) == expected
