"""What a file may cost: little time, little memory, and no other file's runs."""

from __future__ import annotations

import os
import threading
import tracemalloc
from pathlib import Path
from typing import Final

import pytest

from planner.core import limits
from planner.runs import run_id, table_from_rows
from planner.store import (
    Store,
    commit_runs,
    queries,
    reader,
)
from planner.store.disk.files import bounded_toml
from planner.store.kept import LEAST_BYTES, USUAL_BYTES, memory_limit_bytes
from planner.store.sealed import accept, result_set, seal
from planner.store.sealed.result_set import read_set, set_text
from planner.store.sealed.seal import blank_seal
from tests.each import each
from tests.faults.outcomes import FULL
from tests.store.build import (
    ABOUT,
    EPOCHS,
    EVALUATIONS,
    a_set,
    folder,
    ids,
    opened,
    reasons,
    row,
    rows,
    sealed_table,
    together,
)

# -- set.toml ------------------------------------------------------------------------------------

_DOTS: Final = ".".join("a" * 20_000)
BOMBS: Final = {
    "dotted key": f"{_DOTS} = 1",
    "dotted key after a text": f'title = "x"\n{_DOTS} = 1',
    "header": f"[{_DOTS}]",
    "inline table": f"x = {{ {_DOTS} = 1 }}",
    "quoted keys": '."b"' .join(['"a"'] * 2_000) + " = 1",
    "many lines of dots": "\n".join(f"k{n}.{'.'.join('a' * 1_900)} = 1" for n in range(16)),
    "many keys": "\n".join(f"k{n} = 1" for n in range(6_000)),
    "many tables": "\n".join(f"[k{n}]" for n in range(6_000)),
    "brackets": "a = " + "[" * 60_000,
    "brackets on lines": "a = [\n" + "[\n" * 30_000,
    "braces": "a = " + "{a=" * 20_000,
    "long file": "#" + "x" * 10_000_000,
    "long text": f'source = "{"x" * 10_000_000}"',
    "open texts": 'a = """' + '\\"""' * 15_000,
    "open quotes": '"' * 60_001,
    "dots hidden behind quotes": f'a = """x"""" #"  \'\'\'\n{_DOTS} = 1\n\'\'\'',
    "dots hidden behind a comment": f"# '''\n{_DOTS[:9_000]} = 1\n# '''",
    "dots hidden behind an escape": f'a = "\\\\" # "\n{_DOTS[:9_000]} = 1',
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_set_toml_made_to_be_slow_is_refused_before_it_is_parsed(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = a_set(tmp_path, rows(2))
    (place / "set.toml").write_text(BOMBS[name])
    tracemalloc.start()
    result, problem = read_set(place, "yours")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert problem is not None
    assert peak < 20_000_000
    assert (result.title, len(problem) < 1_000) == ("mine", True)
    assert len(ids(opened(tmp_path))) == 2


@each(
    "text",
    [
        'title = "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s"',
        'about = """\n' + "A sentence. Another = one [see] {there}. " * 40 + '\n"""\ntitle = \'x\'',
        "title = '''it's \"\"\" a . b = c'''  # 1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19",
        'title = "a \\" # b . . . . . . . . . . . . . . . . . . . . ."',
        'title = """x"""""\nabout = """"y""""',
        'title = ""\r\nabout = "windows"\r\n',
    ],
)
def test_an_ordinary_set_toml_is_read_as_the_standard_library_reads_it(text: str) -> None:
    import tomllib

    assert bounded_toml(text.encode()) == tomllib.loads(text)


def test_a_long_text_is_cut_and_unknown_fields_are_listed_up_to_five(tmp_path: Path) -> None:
    place = a_set(tmp_path)
    long = f'about = "{"x" * 9_000}"\n'
    (place / "set.toml").write_text(ABOUT + long + "".join(f"odd{n} = 1\n" for n in range(40)))
    result, problem = read_set(place, "yours")
    assert len(result.about) == limits.MAX_SET_TEXT
    assert problem is not None
    assert "odd0, odd1, odd2, odd3, odd4 and 35 more." in problem


def test_what_is_written_can_be_read_however_long(tmp_path: Path) -> None:
    for text in ('"' * 50_000, "\\" * 50_000, "x" * 1_000_000):
        (tmp_path / "set.toml").write_text(set_text({"title": text, "licence": "a", "source": "b"}))
        result, problem = read_set(tmp_path, "yours")
        assert problem is None
        assert text.startswith(result.title[:100])


def test_a_set_toml_is_read_again_only_when_it_changed_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = result_set.read_set

    def counted(path: Path, of: str) -> tuple[result_set.ResultSet, str | None]:
        read.append(path.name)
        return real(path, of)

    monkeypatch.setattr(result_set, "read_set", counted)
    one, _ = a_set(tmp_path, [row()]), a_set(tmp_path, slug="other")
    store = opened(tmp_path)
    assert sorted(read) == ["mine", "other"]
    commit_runs(one, [row(seed=1)])
    store.refresh()
    assert len(read) == 2
    (one / "set.toml").write_text(ABOUT.replace("A set", "Renamed"))
    store.refresh()
    assert read[2:] == ["mine"]
    assert {s.title for s in store.sets} == {"A set", "Renamed"}


# -- time ----------------------------------------------------------------------------------------


def test_while_one_page_verifies_a_slow_file_the_others_show_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = a_set(tmp_path, rows(3))
    store = opened(tmp_path)
    before, begun, go_on = store.generation, threading.Event(), threading.Event()
    real = accept.accepted

    def slow(path: str) -> object:
        begun.set()
        assert go_on.wait(60)
        return real(path)

    monkeypatch.setattr(reader, "accepted", slow)
    commit_runs(place, [row(seed=9)])
    first = threading.Thread(target=store.refresh)
    first.start()
    assert begun.wait(60)
    assert store.refresh() == before  # while the other thread is in the middle of the file
    assert (len(ids(store)), queries.totals(store).runs) == (3, 3)
    go_on.set()
    first.join()
    assert len(ids(store)) == 4


# -- memory --------------------------------------------------------------------------------------


def test_the_memory_for_runs_is_a_setting() -> None:
    usual = memory_limit_bytes({})
    assert LEAST_BYTES <= usual <= USUAL_BYTES
    assert memory_limit_bytes({"EPOCHWISE_MEMORY_GB": "12.5"}) == 12_500_000_000
    assert memory_limit_bytes({"EPOCHWISE_MEMORY_GB": "0.000001"}) == LEAST_BYTES
    for wrong in ("", "much", "-3", "0", "nan", "inf", "1e400"):
        assert memory_limit_bytes({"EPOCHWISE_MEMORY_GB": wrong}) == usual


RUNS: Final = 1_000 if FULL else 500


def _sets_of(root: Path, count: int, runs: int) -> None:
    """Sets of runs with long notes: of fewer runs, the notes are longer."""
    for n in range(count):
        many = rows(runs, seed=n, note=f"{n} " * (1_500_000 // runs))
        together(a_set(root, slug=f"set{n:02}"), many)


def test_when_memory_for_runs_is_full_what_is_loaded_is_shown_and_the_rest_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "CHUNK", RUNS)
    monkeypatch.setenv("EPOCHWISE_CACHE", "/dev/null")  # no folder, so no file for runs
    _sets_of(tmp_path, 12, RUNS)
    store = Store([folder(tmp_path)], memory_bytes=LEAST_BYTES)
    store.refresh()
    shown = len(ids(store))
    assert RUNS <= shown < 12 * RUNS
    assert queries.totals(store).runs == shown
    result = [r for r in store.refused if "memory for runs is full (0.1 GB)" in r.reason]
    assert len(result) == 12 - shown // RUNS
    assert all("EPOCHWISE_MEMORY_GB" in r.reason for r in result)
    assert all("EPOCHWISE_CACHE name a folder with room" in r.reason for r in result)
    looked: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(reader, "accepted", looked.append)
        before = store.generation
        assert store.refresh() == before
    assert looked == []  # nothing is tried again while nothing changes
    for n in range(8):
        for path in (tmp_path / f"set{n:02}").glob("*.parquet"):
            path.unlink()
    store.refresh()
    assert len(ids(store)) >= RUNS  # there is room again
    assert {Path(r.path).name for r in store.refused} & {f"set{n:02}" for n in range(8)} == set()


# -- broken bodies -------------------------------------------------------------------------------


def _forged(seal_of: dict[str, object], body_of: dict[str, object]) -> bytes:
    """A file of one run whose seal is that of another row than its body."""
    [kept] = table_from_rows([seal_of]).to_pylist()
    return sealed_table(table_from_rows([body_of]), blank_seal([kept]))


BODIES: Final = {
    "another run": lambda: _forged(row(epochs=EPOCHS), row(seed=5)),
    "no columns": lambda: sealed_table(
        table_from_rows([row()]).select(["model"]), blank_seal(table_from_rows([row()]).to_pylist())
    ),
    "many rows": lambda: sealed_table(
        table_from_rows(rows(50)), blank_seal(table_from_rows([row()]).to_pylist())
    ),
}


@pytest.mark.parametrize("kind", BODIES)
def test_a_run_whose_body_is_broken_is_refused_when_it_is_opened_and_no_other(
    tmp_path: Path, kind: str
) -> None:
    place = a_set(tmp_path, rows(2, epochs=EPOCHS))
    (place / "odd.parquet").write_bytes(BODIES[kind]())
    store = opened(tmp_path)
    [odd] = set(ids(store)) - set(ids(opened(a_set(tmp_path / "b", rows(2, epochs=EPOCHS)).parent)))
    assert queries.nested(store, odd, "epochs") == []
    assert odd not in ids(store)
    assert "odd.parquet" in reasons(store)
    assert queries.run_file(store, odd) == b""
    assert [queries.nested(store, r, "epochs") for r in ids(store)] == [EPOCHS, EPOCHS]
    store.refresh()
    assert "odd.parquet" in reasons(store)
    (place / "odd.parquet").unlink()
    commit_runs(place, [row()])
    store.refresh()
    assert (len(ids(store)), reasons(store)) == (3, {})


@pytest.mark.parametrize(
    "epochs",
    [[{"epoch": 1, "epoch_s": -1.0}], [{"epoch": 2, "epoch_s": 1.0}, {"epoch": 1, "epoch_s": 1.0}],
     [{"epoch": 1, "epoch_s": 5e-324}], [{"epoch": 1, "epoch_s": None}]],
)  # fmt: skip
def test_epochs_that_break_the_rules_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epochs: list[dict[str, float]]
) -> None:
    monkeypatch.setattr("planner.runs._records.check_rows", lambda _rows: [])
    a_set(tmp_path, [row(epochs=epochs)])
    monkeypatch.undo()
    store = opened(tmp_path)
    [odd] = ids(store)
    assert queries.nested(store, odd, "epochs") == []
    assert ids(store) == []
    assert len(reasons(store)) == 1


def test_another_copy_of_a_run_is_read_where_the_first_is_broken(tmp_path: Path) -> None:
    place = a_set(tmp_path / "a")
    (place / "odd.parquet").write_bytes(_forged(row(epochs=EPOCHS), row(seed=5)))
    a_set(tmp_path / "b", [row(epochs=EPOCHS)])
    store = opened(tmp_path / "a", tmp_path / "b")
    assert queries.nested(store, run_id(row()), "epochs") == EPOCHS
    assert "odd.parquet" in reasons(store)


def _trial(**changes: object) -> dict[str, object]:
    return row(
        dataset="CIFAR-10", optimizer="SGD", learning_rate=0.1, evaluation_metric="error",
        evaluation_higher_is_better=False, target_value=0.5, evaluations=EVALUATIONS,
    ) | changes  # fmt: skip


@pytest.mark.parametrize("fault", ["steps fall", "another run", "torn"])
def test_one_broken_trial_costs_its_set_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    place = a_set(tmp_path, [_trial(repeat=n, global_batch_size=32 * (n + 1)) for n in range(4)])
    odd = _trial(repeat=9)
    monkeypatch.setattr("planner.runs._records.check_rows", lambda _rows: [])
    falling = odd | {"evaluations": EVALUATIONS[::-1]}
    made = {
        "steps fall": lambda: _forged(odd, falling),
        "another run": lambda: _forged(odd, odd | {"repeat": 77}),
        "torn": lambda: sealed_table(
            table_from_rows([odd]).drop_columns(["evaluations"]),
            blank_seal(table_from_rows([odd]).to_pylist()),
        ),
    }[fault]()
    monkeypatch.undo()
    (place / "odd.parquet").write_bytes(made)
    store = opened(tmp_path)
    [of] = queries.trial_sets(store)
    assert sorted(queries.trials(store, of).batch) == [32, 64, 96, 128]
    if fault != "another run":
        assert "odd.parquet" in reasons(store)
        assert len(ids(store)) == 4


# -- the same run --------------------------------------------------------------------------------


def test_the_same_run_with_other_numbers_is_listed_with_both_places(tmp_path: Path) -> None:
    a_set(tmp_path / "a", [row(total_s=100.0), row(seed=1)])
    a_set(tmp_path / "b", [row(total_s=7.0), row(seed=1)])
    store = opened(tmp_path / "a", tmp_path / "b")
    assert len(ids(store)) == 2
    [result] = store.refused
    assert result.path.startswith(str(tmp_path / "b"))
    assert result.folder == "b"
    assert "same run, other numbers, in a: mine/" in result.reason
    assert run_id(row()) in result.reason
    (tmp_path / "b" / "mine" / f"{run_id(row())}.parquet").unlink()
    store.refresh()
    assert store.refused == ()


def test_copies_that_differ_only_in_who_said_it_are_silent(tmp_path: Path) -> None:
    a_set(tmp_path / "a", [row(total_s=1.0, note="mine")])
    a_set(tmp_path / "b", [row(total_s=1.0, note="yours", licence="CC0-1.0")])
    assert opened(tmp_path / "a", tmp_path / "b").refused == ()


@pytest.mark.parametrize("late", [False, True], ids=["at once", "shipped comes later"])
def test_no_file_elsewhere_replaces_shipped_numbers(tmp_path: Path, *, late: bool) -> None:
    shipped, other = tmp_path / "z-shipped", tmp_path / "a-other"
    together(a_set(other), rows(3, total_s=0.5))
    store = Store([folder(shipped, "shipped"), folder(other, "other")])
    if late:
        store.refresh()
        assert queries.table(store, {})["total_s"].to_pylist() == [0.5] * 3
    a_set(shipped, rows(3, total_s=1108.4))
    store.refresh()
    shown = queries.table(store, {})
    assert shown["total_s"].to_pylist() == [1108.4] * 3
    assert set(shown["folder"].to_pylist()) == {"shipped"}
    [result] = store.refused
    assert (result.folder, "3 runs" in result.reason) == ("other", True)
    for path in (shipped / "mine").glob("*.parquet"):
        path.unlink()
    store.refresh()
    assert queries.table(store, {})["total_s"].to_pylist() == [0.5] * 3
    assert store.refused == ()


def test_a_file_that_lists_but_never_opens_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = a_set(tmp_path, rows(2))
    (place / "ghost.parquet").write_bytes(b"x")
    real = seal.open_plain

    def ghost(path: Path) -> object:
        if path.name == "ghost.parquet":
            raise FileNotFoundError(2, os.strerror(2), str(path))
        return real(path)

    monkeypatch.setattr(accept, "open_plain", ghost)
    store = opened(tmp_path)
    assert len(ids(store)) == 2
    assert "the disk lists it only" in reasons(store)["ghost.parquet"]
