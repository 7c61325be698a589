"""SQL over the runs: the same rows for page, command and HTTP interface."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.__main__ import main
from planner.answers import (
    RUN_COLUMNS,
    explore_answered,
    explore_runs,
    explored,
    plain,
    results_answered,
    sql_answered,
    sql_records,
    sql_result,
)
from planner.commands import words as command_words
from planner.core import Record, csv_text
from planner.store import Store
from planner.store.catalog import read_catalog
from planner.store.select import MOST_ROWS
from tests import shipped
from tests.api.served import app, ask
from tests.store.build import a_set, opened, row

CATALOG = read_catalog(shipped.ROOT / "data" / "catalog").catalog


def _ran(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str
) -> tuple[int, str, str]:
    """The exit code of a command on this store, and what it prints."""
    monkeypatch.setattr(command_words, "open_store", lambda _: store)
    capsys.readouterr()
    code = main(list(words))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture(scope="module")
def store() -> Store:
    return shipped.store()


def _records(store: Store, statement: str) -> list[Record]:
    answer = sql_answered(store, CATALOG, {"sql": [statement]})
    assert answer.problems == ()
    return sql_records(answer)


def test_every_documented_column_can_be_selected_and_no_other(store: Store) -> None:
    names = ", ".join(c.name for c in RUN_COLUMNS)
    [first] = _records(store, f"SELECT {names} FROM runs LIMIT 1")  # noqa: S608
    [every] = _records(store, "FROM runs LIMIT 1")
    assert set(first) == set(every)


def test_no_column_has_a_path_of_this_machine(tmp_path: Path) -> None:
    a_set(tmp_path, [row()])
    [record] = _records(opened(tmp_path), "FROM runs")
    assert str(tmp_path) not in str(record)


def test_counts_are_those_of_the_store(store: Store) -> None:
    [(runs,)] = store.rows("SELECT count(*) FROM runs")
    assert _records(store, "SELECT count(*) AS runs FROM runs") == [{"runs": runs}]


def test_suspect_runs_are_marked(store: Store) -> None:
    from planner.answers.runs import suspects_of

    flags = _records(store, "SELECT run_id, suspect FROM runs WHERE suspect IS NOT NULL")
    assert {f["run_id"]: f["suspect"] for f in flags} == dict(suspects_of(store).names)


def test_columns_that_keep_their_name_keep_their_unit(store: Store) -> None:
    answer = sql_answered(
        store, CATALOG, {"sql": ["SELECT step_s, step_s * 2 AS x, model FROM runs"]}
    )
    assert [(c.name, c.unit, c.kind) for c in answer.columns] == [
        ("step_s", "s", "number"), ("x", None, "number"), ("model", None, "text")
    ]  # fmt: skip


def test_a_new_run_is_in_the_next_answer(tmp_path: Path) -> None:
    a_set(tmp_path, [row()])
    growing = opened(tmp_path)
    count = "SELECT count(*) AS n FROM runs"
    assert _records(growing, count) == [{"n": 1}]
    a_set(tmp_path, [row(repeat=1)])
    growing.refresh()
    assert _records(growing, count) == [{"n": 2}]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({}, "missing"),
        ({"sql": [" \n"]}, "missing"),
        ({"sql": ["SELECT 1", "SELECT 2"]}, "2 times"),
        ({"sql": ["DROP TABLE runs"]}, "Only SELECT"),
        ({"sql": ["SELECT nothing FROM runs"]}, "nothing"),
        ({"query": ["SELECT 1"]}, "query"),
        ({"sql": ["SELECT '" + "x" * 5000 + "'"]}, "4000"),
    ],
)
def test_a_problem_is_said(store: Store, question: dict[str, list[str]], said: str) -> None:
    answer = sql_answered(store, CATALOG, question)
    assert answer.rows is None
    assert said in " ".join(map(str, answer.problems))


def test_a_statement_may_have_several_lines(store: Store) -> None:
    assert _records(store, "SELECT 1 AS a, -- one\n\t2 AS b") == [{"a": 1, "b": 2}]


def test_a_file_cannot_run_a_formula_in_a_spreadsheet(store: Store) -> None:
    records = _records(store, "SELECT '=1+1' AS \"=a\", -1 AS b")
    assert csv_text(records) == "'=a,b\r\n'=1+1,-1\r\n"


def test_the_command_and_the_http_interface_give_the_same_rows(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = "SELECT model, count(*) AS n FROM runs GROUP BY model ORDER BY n DESC, model"
    record = json.loads(
        json.dumps(plain(sql_result(sql_answered(store, CATALOG, {"sql": [statement]}))))
    )
    served = ask(app(store), f"/api/v1/sql?{record['query']}")
    assert (served.status, served.json) == (200, record)
    code, out, _ = _ran(store, capsys, monkeypatch, "sql", statement, "--json")
    assert (code, json.loads(out)) == (0, record)


def test_the_http_interface_refuses_what_the_page_refuses(store: Store) -> None:
    served = ask(app(store), "/api/v1/sql?sql=SELECT%20*%20FROM%20read_text('/etc/passwd')")
    assert served.status == 400
    assert "not allowed" in served.json["detail"] + str(served.json.get("errors"))


def test_the_command_says_what_it_left_out(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "SELECT a.run_id FROM runs a JOIN runs b ON a.mode = b.mode"
    assert sql_answered(store, CATALOG, {"sql": [text]}).rows is not None
    code, out, err = _ran(store, capsys, monkeypatch, "sql", text, "--csv")
    assert (code, len(out.splitlines())) == (0, MOST_ROWS + 1)
    assert "first 10,000 rows" in err


def test_a_link_of_explore_with_what_only_the_page_shows_is_answered(store: Store) -> None:
    asked = {"view": ["pivot"], "tab": ["table"], "only_differences": ["on"]}
    assert explore_answered(store, CATALOG, asked).problems == ()


def test_the_command_reads_a_link_of_explore(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    link = "http://h/explore?view=sql&sql=SELECT+1+AS+one&sql_x=one"
    code, out, _ = _ran(store, capsys, monkeypatch, "sql", "--link", link)
    assert (code, out.split()) == (0, ["one", "1"])
    assert _ran(store, capsys, monkeypatch, "sql", "--link", link, "SELECT 2")[0] == 2


def test_a_run_of_an_unofficial_set_says_so_in_every_answer(tmp_path: Path) -> None:
    place = a_set(tmp_path, [row()])
    a_set(tmp_path, [row(repeat=1, result_set="checked")], slug="checked")
    about = (place / "set.toml").read_text(encoding="utf-8")
    (place / "set.toml").write_text(f'{about}\nstanding = "unofficial"\n', encoding="utf-8")
    store, catalog = opened(tmp_path), CATALOG
    by_set = {"mine": "unofficial", "checked": None}
    listed = results_answered(store, {}).rows
    assert {r["result_set"]: r["standing"] for r in listed} == by_set
    explored_runs = explore_runs(store, catalog)
    both = (explored_runs[name].to_pylist() for name in ("result_set", "standing"))
    assert dict(zip(*both, strict=True)) == by_set
    rows = _records(store, "SELECT result_set, standing FROM runs")
    assert {r["result_set"]: r["standing"] for r in rows} == by_set
    drawn = explore_answered(
        store, catalog, {"x": ["global_batch_size"], "y": ["global_batch_size * 2"]}
    )
    points = explored(drawn).points
    assert sorted(str(p.standing) for p in points) == ["None", "unofficial"]
