"""When an imported run was recorded: zone and unit are stated, the future is refused."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.__main__ import main
from planner.importers import SourceError, SourceFiles, Stated, commit, fact, header, read
from planner.importers.formats.times import AHEAD, FIRST, moment, way_problem
from planner.store.summaries import summaries

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def table(cell: str) -> bytes:
    return f"model,system_name,recorded_at\nB,C,{cell}\n".encode()


def parquet(**columns: Any) -> bytes:  # noqa: ANN401 - cells of any type
    sink = io.BytesIO()
    pq.write_table(pa.table({"model": ["B"], "system_name": ["C"], **columns}), sink)
    return sink.getvalue()


def read_one(data: bytes, name: str = "a.csv", **options: str) -> dict[str, Any]:
    """The run of a file, read in the process apart."""
    stated = Stated(facts={"device_kind": "gpu"}, options=options)
    [row] = read("template", SourceFiles(name=name, data={name: data}), stated, "mine")
    return row


def why(data: bytes, name: str = "a.csv", **options: str) -> str:
    """Why a file is not taken."""
    with pytest.raises(SourceError) as caught:
        read_one(data, name, **options)
    return " ".join(caught.value.problems)


@pytest.mark.parametrize(
    ("cell", "way"),
    [("2026-03-01T12:00Z", ""), ("2026-03-01T21:00:00+09:00", ""), ("2026-03-01 12:00", "UTC"),
     ("2026-03-01 21:00", "+09:00"), ("2026-03-01 08:30", "-03:30"), ("1772366400", "s"),
     ("1772366400000", "ms"), ("1772366400000000", "us"), ("2026-03-01T12:00Z", "+09:00")],
)  # fmt: skip
def test_a_column_of_a_table_has_a_zone_or_a_unit(cell: str, way: str) -> None:
    options = {"recorded_at": way} if way else {}
    assert read_one(table(cell), **options)["recorded_at"] == NOON


@pytest.mark.parametrize(
    ("cell", "way", "rule"),
    [("2026-03-01 12:00", "", "without a time zone"), ("2026-03-01", "UTC", "a day"),
     ("20260301", "UTC", "a day"), ("1772366400", "", "State its unit"),
     ("1772366400", "UTC", "State its unit"), ("2999-01-01T00:00Z", "", "in the future"),
     ("1970-01-01T00:00Z", "", "before 2000"), ("1772366400", "ms", "before 2000"),
     ("1772366400", "us", "before 2000"), ("1772366400000", "s", "beyond every calendar"),
     ("9" * 25, "s", "beyond every calendar"), ("yesterday", "", "must be a time"),
     ("03/01/2026 12:00", "UTC", "must be a time"), ("2026-02-30T12:00Z", "", "must be a time"),
     ("0001-01-01T00:00+14:00", "", "must be a time"), ("-5", "s", "must be a number"),
     ("1e9", "s", "must be a number"), ("2026-03-01T12:00Z", "s", "must be a number")],
)  # fmt: skip
def test_nonsense_is_refused_with_its_line_and_column(cell: str, way: str, rule: str) -> None:
    options = {"recorded_at": way} if way else {}
    text = why(table(cell), **options)
    assert text.startswith("line 2, recorded_at: is ")
    assert rule in text


@pytest.mark.parametrize("way", ["JST", "+9", "+15:00", "Z", "ns", "seconds", "Asia/Tokyo"])
def test_a_zone_that_is_no_offset_is_refused(way: str) -> None:
    assert "it must be UTC, an offset such as +09:00" in str(way_problem(way))
    assert "option recorded_at: is " in why(table("2026-03-01T12:00Z"), recorded_at=way)


def test_a_zone_without_a_column_of_times_is_refused() -> None:
    text = why(b"model,system_name\nB,C\n", recorded_at="UTC")
    assert text == "option recorded_at: no column of the file has times."


def test_the_future_begins_a_little_after_now_and_the_past_in_2000() -> None:
    ahead, late = NOON + AHEAD, NOON + AHEAD + timedelta(seconds=1)
    assert moment(ahead.isoformat(), now=lambda: NOON) == (ahead.isoformat(), None)
    assert "in the future" in str(moment(late.isoformat(), now=lambda: NOON)[1])
    assert moment(FIRST.isoformat()) == (FIRST.isoformat(), None)
    assert "before 2000" in str(moment((FIRST - timedelta(seconds=1)).isoformat())[1])


def test_times_of_parquet_keep_their_zone_and_others_need_one() -> None:
    naive = pa.array([datetime(2026, 3, 1, 12)], pa.timestamp("ns"))  # noqa: DTZ001
    tokyo = naive.cast(pa.timestamp("ms", "Asia/Tokyo"))
    assert read_one(parquet(recorded_at=tokyo), "a.parquet")["recorded_at"] == NOON
    assert "without a time zone" in why(parquet(recorded_at=naive), "a.parquet")
    row = read_one(parquet(recorded_at=naive), "a.parquet", recorded_at="-09:00")
    assert row["recorded_at"] == NOON + timedelta(hours=9)
    day = parquet(recorded_at=pa.array([date(2026, 3, 1)]))
    assert "a day" in why(day, "a.parquet", recorded_at="UTC")
    beyond = parquet(recorded_at=pa.array([2**62], pa.int64()).cast(pa.timestamp("ms")))
    assert "cannot be read as parquet" in why(beyond, "a.parquet", recorded_at="UTC")


def test_the_time_of_a_file_is_kept_as_the_time_of_its_runs(tmp_path: Path) -> None:
    row = read_one(table("2026-03-01T21:00+09:00"))
    commit(tmp_path / "mine", [row], {"title": "Mine"})
    [kept] = summaries(tmp_path / "mine")
    assert kept["recorded_at"] == NOON


def test_a_fact_states_the_time_of_all_runs_of_any_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.csv"
    log.write_text("epoch,loss,time\n0,2.0,61\n1,1.5,50\n2,1.2,52\n")
    words = ["import", "keras-history", str(log), "--set", "Mine", "--licence", "CC0",
             "--results", str(tmp_path / "results"), "--option", "time=time:s", "--fact",
             "model=B", "--fact", "system_name=C", "--fact", "device_kind=gpu", "--fact",
             "samples_per_epoch=100", "--fact", "global_batch_size=10", "--fact"]  # fmt: skip
    assert main([*words, "recorded_at=2999-01-01T00:00Z"]) == 2
    assert "--fact recorded_at: is 2999-01-01 00:00 UTC, in the future" in capsys.readouterr().err
    assert main([*words, "recorded_at=2026-03-01T12:00"]) == 2
    assert "without a time zone" in capsys.readouterr().err
    assert main([*words, "recorded_at=2026-03-01T12:00Z"]) == 0
    [kept] = summaries(tmp_path / "results" / "mine")
    assert kept["recorded_at"] == NOON


def test_a_fact_that_contradicts_the_column_is_refused() -> None:
    given = SourceFiles(name="a.csv", data={"a.csv": table("2026-03-01T12:00Z")})
    same, other = (
        fact("recorded_at", text)[0] for text in ("2026-03-01T21:00+09:00", "2026-03-02T00:00Z")
    )
    stated = {"device_kind": "gpu", "recorded_at": same}
    assert read("template", given, Stated(facts=stated), "mine")[0]["recorded_at"] == NOON
    with pytest.raises(SourceError, match="the file says"):
        read("template", given, Stated(facts=stated | {"recorded_at": other}), "mine")


def test_the_empty_template_has_the_column() -> None:
    assert "recorded_at" in header().strip().split(",")


# -- columns that were dropped or changed without a word ------------------------------------------


def test_columns_of_lists_and_bytes_are_refused_until_they_are_left_out() -> None:
    data = parquet(epochs=[[1.0, 2.0]], note=[b"x"], step_s=pa.array([timedelta(seconds=1)]))
    text = why(data, "a.parquet")
    assert all(f"column {name}: has " in text for name in ("epochs", "note", "step_s"))
    assert read_one(data, "a.parquet", columns="epochs:,note:,step_s:")["model"] == "B"


@pytest.mark.parametrize("character", ["\0", "\x1b", "\x7f", "\x9b", "\u202e", "\u200b"])
def test_control_characters_are_refused(character: str) -> None:
    text = why(f"model,system_name\nB{character}[31m,C\n".encode())
    code = f"U+{ord(character):04X}"
    assert text == f"run 1, model: has the control character {code}. Remove it."


# -- formats whose files state when a run took place ----------------------------------------------

_MLLOG = ("init_start", "run_start", "run_stop")


def mllog(begin_s: float) -> bytes:
    """A run of MLPerf that begins then [s since 1970]."""

    def event(at_s: float, key: str, value: object = None, **about: object) -> str:
        body = {"time_ms": round(1000.0 * at_s), "event_type": "POINT_IN_TIME", "key": key,
                "value": value, "metadata": about}  # fmt: skip
        return f":::MLLOG {json.dumps(body)}\n"

    lines = [event(begin_s + 60.0 * at, key) for at, key in enumerate(_MLLOG)]
    lines[-1] = event(begin_s + 120.0, "run_stop", status="success")
    return "".join([event(begin_s, "global_batch_size", 64), *lines]).encode()


def milabench(begin_s: float) -> bytes:
    """An observation of that time."""
    entry = f"{{batch_size: 8, perf: 40.0, time: {begin_s:.0f}}}"
    return f"resnet50:\n  observations:\n  - {entry}\n".encode()


def dawnbench(day: str) -> dict[str, bytes]:
    """An entry of that day."""
    body = {"model": "ResNet-50", "hardware": "8 x V100", "timestamp": day}
    table = "epoch\thours\ttop5Accuracy\n1\t0.5\t40\n2\t1.0\t93\n"
    return {"a.json": json.dumps(body).encode(), "a.tsv": table.encode()}


COUNTS = {"accelerators_per_node": 8, "number_of_nodes": 1}
KIND = {"model": "B", "system_name": "C", "device_kind": "gpu"}


def dated(source: str, data: dict[str, bytes], **options: str) -> datetime | None:
    """When a run took place by its file; None where it states none."""
    facts = KIND | (COUNTS if source == "mlperf" else {})
    known = {"mlperf": {}, "milabench": {"model"}, "dawnbench": {"model", "system_name"}}[source]
    facts = {name: value for name, value in facts.items() if name not in known}
    given = SourceFiles(name=next(iter(data)), data=data)
    [row] = read(source, given, Stated(facts=facts, options=options), "mine")
    when = row.get("recorded_at")
    return datetime.fromisoformat(when) if isinstance(when, str) else when


@pytest.mark.parametrize(
    ("begin_s", "when"),
    [(NOON.timestamp(), NOON), (0.0, None), (86_400.0, None), (32_472_144_000.0, None)],
    ids=["a date", "a clock that counts from 0", "one of 1970", "the future"],
)
def test_logs_and_scaling_tables_are_dated_by_their_clocks(
    begin_s: float, when: datetime | None
) -> None:
    assert dated("mlperf", {"result_0.txt": mllog(begin_s)}) == when
    assert dated("milabench", {"a.yaml": milabench(begin_s)}, items="samples") == when


def test_an_entry_of_dawnbench_is_dated_by_its_day() -> None:
    assert dated("dawnbench", dawnbench("2018-04-07")) == datetime(2018, 4, 7, tzinfo=UTC)
    assert dated("dawnbench", dawnbench("spring of 2018")) is None


def test_a_time_of_milabench_that_is_no_number_is_refused() -> None:
    wrong = milabench(0.0).replace(b"time: 0", b"time: noon")
    with pytest.raises(SourceError, match="must be s since 1970"):
        dated("milabench", {"a.yaml": wrong}, items="samples")
