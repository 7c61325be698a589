"""A SELECT over the runs: what is answered, and what is refused in words, fast and for good."""

from __future__ import annotations

import ast
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest

from planner.store.select import MOST_ROWS, RefusedError, Rows, Worker
from planner.store.select import _child as child
from planner.store.select import _worker as worker_module
from planner.store.select._refusals import refused
from tests.faults.outcomes import FULL
from tests.planner.store.test_walls import PROBES as WALLS

# ruff: noqa: S608 - statements of a test
RUNS: Final = pa.table(
    {
        "run_id": [f"r{n}" for n in range(200)],
        "model": ["a", "b"] * 100,
        "step_s": [0.01 * n for n in range(200)],
        "global_batch_size": [64, 128, 256, 512] * 50,
        "extra": ["x" * 1000] * 200,
    }
)
PROBES: Final = WALLS | {
    "two statements": "SELECT 1; DROP TABLE runs",
    "a statement in a comment's wake": "SELECT 1 --\n; DROP TABLE runs",
    "drop the runs": "DROP TABLE runs",
    "delete the runs": "DELETE FROM runs",
    "change the runs": "UPDATE runs SET step_s = 0",
    "add a run": "INSERT INTO runs SELECT * FROM runs",
    "make a table": "CREATE TABLE t AS SELECT 1",
    "make a view": "CREATE VIEW v AS SELECT 1",
    "define a macro": "CREATE MACRO f(x) AS x",
    "copy a result out": "COPY (SELECT 1) TO '/dev/stdout'",
    "name a file as a table": "SELECT * FROM '/etc/passwd'",
    "name a parquet file": "SELECT * FROM 'data/results/x.parquet'",
    "name a file in a subquery": "SELECT (SELECT count(*) FROM '/etc/passwd')",
    "name a file in WITH": "WITH a AS (SELECT * FROM '/etc/passwd') SELECT * FROM a",
    "name a file in a union": "SELECT 1 UNION SELECT * FROM '/etc/passwd'",
    "read json": "SELECT * FROM read_json('/etc/passwd')",
    "read parquet facts": "SELECT * FROM parquet_metadata('/x')",
    "read a secret": "SELECT * FROM duckdb_secrets()",
    "list settings": "SELECT * FROM duckdb_settings()",
    "list tables": "SELECT * FROM information_schema.tables",
    "list a catalogue": "SELECT * FROM pg_catalog.pg_class",
    "list memory": "SELECT * FROM duckdb_memory()",
    "show": "SHOW TABLES",
    "describe": "DESCRIBE runs",
    "summarize": "SUMMARIZE runs",
    "explain": "EXPLAIN ANALYZE SELECT 1",
    "pragma": "PRAGMA database_size",
    "call": "CALL pragma_version()",
    "use": "USE memory",
    "checkpoint": "CHECKPOINT",
    "begin": "BEGIN",
    "prepare": "PREPARE p AS SELECT 1",
    "vacuum": "VACUUM",
    "environment": "SELECT getenv('HOME')",
    "setting": "SELECT current_setting('memory_limit')",
    "variable": "SELECT getvariable('x')",
    "query in a text": "SELECT * FROM query('SELECT 1')",
    "table in a text": "SELECT * FROM query_table('runs')",
    "sleep": "SELECT sleep_ms(10000)",
    "parse json sql": "SELECT json_execute_serialized_sql('{}')",
    "a huge list": "SELECT list_sum(range(1000000000))",
    "a huge series": "SELECT count(*) FROM range(10000000000)",
    "a huge series by unnest": "SELECT unnest(generate_series(1, 1000000000))",
    "a huge text": "SELECT repeat('x', 1000000000)",
    "a huge padded text": "SELECT rpad('x', 1000000000, 'y')",
    "a huge printed text": "SELECT printf('%1000000000d', 1)",
    "an endless recursion": "WITH RECURSIVE t AS (SELECT 1 x UNION ALL SELECT x FROM t) "
    "SELECT count(*) FROM t",
    "a lambda": "SELECT list_transform([1], x -> x + 1)",
    "columns by a pattern": "SELECT COLUMNS('.*') FROM runs",
    "a parameter": "SELECT $1",
    "a subscript": "SELECT run_id[1] FROM runs",
    "pivot": "PIVOT runs ON model USING sum(step_s)",
    "a positional join": "SELECT * FROM runs a POSITIONAL JOIN runs b",
    "time travel": "SELECT * FROM runs AT (VERSION => 1)",
    "another schema": "SELECT * FROM main.runs",
    "a function of a schema": "SELECT main.abs(1)",
    "an unknown type": "SELECT 'x'::blob",
    "nothing": "",
    "only a comment": "-- nothing",
    "not SQL": "tell me the fastest",
    "a deep nest": "SELECT " + "(" * 1500 + "1" + ")" * 1500,
    "a deep chain of NOT": "SELECT " + "NOT " * 900 + "true",
    "a long statement": "SELECT '" + "x" * 5_000 + "'",
    "a NUL": "SELECT '\x00' FROM nothing\x00",
    "a lone surrogate": "SELECT '\ud800' FROM nothing",
}


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    asked = Worker()
    yield asked
    asked.end()


def _ask(worker: Worker, statement: str) -> Rows:
    return worker.ask(statement, 1, lambda: RUNS)


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES.keys())
def test_a_statement_is_refused_that(tmp_path: Path, worker: Worker, probe: str) -> None:
    text = probe.replace("{inside}", str(tmp_path)).replace("{outside}", str(tmp_path))
    with pytest.raises(RefusedError) as error:
        _ask(worker, text)
    assert 10 < len(str(error.value)) < 500
    assert list(tmp_path.iterdir()) == []
    assert _ask(worker, "SELECT count(*) FROM runs").table.to_pylist() == [{"count_star()": 200}]


@pytest.mark.parametrize("key", ["", "{value.__class__}", 3, ["empty"], None])
def test_a_strange_key_of_the_process_apart_is_no_sentence(key: object) -> None:
    with pytest.raises(ValueError, match=r".*"):
        refused(key, "x")


def test_every_key_of_the_process_apart_has_a_sentence() -> None:
    tree = ast.parse(Path(child.__file__).read_text(encoding="utf-8"))
    keys = {
        str(node.args[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "NotRunError"
        and isinstance(node.args[0], ast.Constant)
    }
    assert len(keys) > 10
    assert all("{" not in str(refused(key, "x")) for key in keys)


def test_an_unknown_column_is_named_with_the_way_to_the_others(worker: Worker) -> None:
    with pytest.raises(RefusedError, match=r"no column 'accelerator'\. SELECT \* FROM"):
        _ask(worker, "SELECT accelerator FROM runs")


SLOW: Final = {
    "a cross join": "SELECT count(*) FROM runs a, runs b, runs c, runs d, runs e",
    "a large hash": "SELECT count(DISTINCT a.run_id || b.run_id || c.run_id) "
    "FROM runs a, runs b, runs c",
    "a large text": "SELECT length(string_agg(a.extra || b.extra || c.extra)) "
    "FROM runs a, runs b, runs c",
    "a text that grows": "WITH a AS (SELECT max(extra) AS t FROM runs), "
    "b AS (SELECT replace(t, 'x', t) AS t FROM a), c AS (SELECT replace(t, 'x', t) AS t FROM b) "
    "SELECT length(t) FROM c",
    "a large sort": "SELECT a.extra || b.extra AS t FROM runs a, runs b, runs c "
    "ORDER BY t, a.run_id",
    "a large result": "SELECT " + ", ".join(["a.extra || 'y' AS a"] * 60) + " FROM runs a, runs b",
}


STOPPED: Final = SLOW if FULL else {k: SLOW[k] for k in ("a cross join", "a text that grows")}
"""One that takes too long and one that takes too much memory; `make faults` asks all."""


@pytest.mark.parametrize("statement", STOPPED.values(), ids=STOPPED.keys())
def test_a_statement_that_takes_too_much_is_stopped(worker: Worker, statement: str) -> None:
    with pytest.raises(RefusedError, match=r"too much|more than|larger"):
        _ask(worker, statement)
    assert _ask(worker, "SELECT 1 AS one").table.to_pylist() == [{"one": 1}]


GOOD: Final = {
    "SELECT model, count(*) AS n, avg(step_s) AS s FROM runs GROUP BY model ORDER BY model": 2,
    "FROM runs": 200,
    "TABLE runs": 200,
    "VALUES (1), (2)": 2,
    "(SELECT 1)": 1,
    "SELECT 1;": 1,
    "SELECT 1 -- one": 1,
    "WITH a AS (SELECT * FROM runs WHERE step_s > 1) SELECT max(step_s) FROM a": 1,
    "SELECT * FROM (SELECT model FROM runs) t LIMIT 3": 3,
    "SELECT model FROM runs UNION SELECT 'c'": 3,
    "SELECT a.run_id FROM runs a JOIN runs b USING (run_id) LIMIT 5": 5,
    "SELECT run_id, rank() OVER (PARTITION BY model ORDER BY step_s) AS place FROM runs "
    "QUALIFY place = 1": 2,
    "SELECT CASE WHEN step_s > 1 THEN 'slow' ELSE 'fast' END AS c, quantile_cont(step_s, 0.9), "
    "corr(step_s, global_batch_size) FROM runs GROUP BY c": 2,
    "SELECT * EXCLUDE (extra) FROM runs WHERE run_id IN ('r1', 'r2') AND model LIKE 'a%' "
    "OR step_s BETWEEN 0 AND 0.001": 2,
    "SELECT DISTINCT ON (model) model FROM runs": 2,
    "SELECT model, sum(step_s) FROM runs GROUP BY ROLLUP (model)": 3,
    "SELECT count(*) FILTER (WHERE step_s > 1), coalesce(NULL, 1), 1 / 3::DOUBLE, "
    "date '2026-01-01' + INTERVAL 3 DAY, extract(year FROM date '2026-01-01') FROM runs": 1,
    'SELECT "run_id" FROM RUNS LIMIT 1': 1,
    "SELECT exists(SELECT 1 FROM runs), (SELECT max(step_s) FROM runs)": 1,
    "SELECT run_id FROM runs WHERE step_s > ALL (SELECT step_s FROM runs WHERE model = 'b')": 0,
}


@pytest.mark.parametrize("statement", GOOD)
def test_a_usual_statement_is_answered(worker: Worker, statement: str) -> None:
    assert _ask(worker, statement).table.num_rows == GOOD[statement]


def test_rows_beyond_the_limit_are_left_out_and_said(worker: Worker) -> None:
    rows = _ask(worker, "SELECT a.run_id FROM runs a, runs b ORDER BY a.run_id")
    assert (rows.table.num_rows, rows.cut) == (MOST_ROWS, True)
    assert rows.table["run_id"].to_pylist() == sorted(rows.table["run_id"].to_pylist())


def test_a_result_has_plain_values_under_different_names(worker: Worker) -> None:
    text = "SELECT 1 AS a, 2.5 AS a, INTERVAL 3 DAY AS b, 170141183460469231731687::HUGEINT AS c"
    [row] = _ask(worker, text).table.to_pylist()
    assert list(row) == ["a", "a_1", "b", "c"] or len(set(row)) == 4
    assert all(isinstance(v, int | float | str) for v in row.values())


def test_other_runs_are_loaded_when_the_version_changes(worker: Worker) -> None:
    assert worker.ask("FROM runs", 2, lambda: RUNS.slice(0, 3)).table.num_rows == 3
    assert worker.ask("FROM runs", 2, lambda: pytest.fail("loaded twice")).table.num_rows == 3
    assert worker.ask("FROM runs", 1, lambda: RUNS).table.num_rows == 200


def test_a_killed_process_is_replaced(worker: Worker) -> None:
    _ask(worker, "SELECT 1")
    process = worker._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert _ask(worker, "FROM runs").table.num_rows == 200


def test_a_process_that_hangs_is_ended_and_the_next_statement_answered(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    _ask(worker, "SELECT 1")
    process = worker._process
    assert process is not None
    monkeypatch.setattr(worker_module, "GRACE_S", -1.9)
    os.kill(process.pid, signal.SIGSTOP)
    began_s = time.monotonic()
    with pytest.raises(RefusedError, match="stopped"):
        _ask(worker, "SELECT 2")
    assert time.monotonic() - began_s < 30
    assert process.returncode == -signal.SIGKILL
    monkeypatch.undo()
    assert _ask(worker, "FROM runs").table.num_rows == 200


def test_many_people_get_their_own_rows(worker: Worker) -> None:
    def ask(n: int) -> object:
        return (
            _ask(worker, f"SELECT run_id FROM runs WHERE run_id = 'r{n}'")
            .table["run_id"]
            .to_pylist()
        )

    with ThreadPoolExecutor(8) as people:
        assert list(people.map(ask, range(200))) == [[f"r{n}"] for n in range(200)]


def test_the_process_sees_no_environment_and_may_write_no_file(worker: Worker) -> None:
    _ask(worker, "SELECT 1")
    process = worker._process
    assert process is not None
    place = Path("/proc") / str(process.pid)
    assert (place / "environ").read_bytes().split(b"\0")[:-1] == [b"OPENBLAS_NUM_THREADS=1"]
    limits = (place / "limits").read_text(encoding="ascii")
    [size] = [line for line in limits.splitlines() if line.startswith("Max file size")]
    assert size.split()[3:5] == ["0", "0"]
    [memory] = [line for line in limits.splitlines() if line.startswith("Max address space")]
    assert memory.split()[3].isdecimal()


def test_the_process_ends_with_its_parent() -> None:
    asked = Worker()
    _ask(asked, "SELECT 1")
    process = asked._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()  # what the system does with a parent that has gone
    assert process.wait(10) == 0
    asked.end()
