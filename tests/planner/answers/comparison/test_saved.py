"""Saved comparisons: kept whole, opened again, and nothing a folder holds can hurt."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planner.answers import saved
from planner.answers.comparison import Saved, compare_parameters
from planner.answers.comparison._snapshot import KEPT, Snapshot
from planner.answers.comparison.saved import (
    MOST_BYTES,
    MOST_FILES,
    SavedError,
    read,
    read_all,
    save,
)

ROW = dict.fromkeys(KEPT) | {
    "option_id": "rent-x", "option": "Rent X", "rank": 1, "tied": False, "time_s": 3600.0,
    "cost_per_run": 2.5, "price": "2.50 USD/h, Sep 2026",
}  # fmt: skip
ONE = Saved(
    name="Offer for Tanaka, autumn",
    saved_at="2026-11-21T09:00:00Z",
    parameters={"workload": ["net"], "options": ["rent-x", "buy-y"], "deadline": ["72"]},
    snapshot=Snapshot(rows=(ROW,), runs=("a" * 32, "b" * 32)),
)


def _path(folder: Path) -> Path:
    return folder / f"{ONE.id}.json"


def _changed(folder: Path, changes: dict[str, Any]) -> str:
    """What is said of a file in which these parts are different."""
    save(folder, ONE)
    body = json.loads(_path(folder).read_text())
    _path(folder).write_text(json.dumps(body | changes))
    found = read(folder, ONE.id)
    assert isinstance(found, str)
    return found


def test_what_is_saved_is_read_again_to_the_letter(tmp_path: Path) -> None:
    save(tmp_path / "new", ONE)
    kept = replace(ONE, file=ONE.id)
    assert read(tmp_path / "new", ONE.id) == kept
    assert read_all(tmp_path / "new") == ([kept], [])
    assert [p.name for p in (tmp_path / "new").iterdir()] == [f"{ONE.id}.json"]
    assert ONE.id.startswith("offer-for-tanaka-autumn~")


def test_a_file_of_an_earlier_version_keeps_its_id(tmp_path: Path) -> None:
    save(tmp_path, ONE)
    (tmp_path / f"{ONE.id}.json").rename(tmp_path / "offer-for-tanaka-autumn.json")
    [found], problems = read_all(tmp_path)
    assert (found.id, found.name, problems) == ("offer-for-tanaka-autumn", ONE.name, [])
    assert saved.id_for(tmp_path, ONE.name) == "offer-for-tanaka-autumn"
    assert saved.id_for(tmp_path, "Offer for Tanaka autumn") != "offer-for-tanaka-autumn"


@pytest.mark.parametrize("name", [".NET", "日本 提案", "\ufdfa" * 60, "../../etc/passwd", "x" * 60])
def test_any_name_becomes_a_file_in_the_folder_that_is_read_again(
    tmp_path: Path, name: str
) -> None:
    save(tmp_path / "in", replace(ONE, name=name))
    [found], problems = read_all(tmp_path / "in")
    assert (found.name, problems) == (name, [])
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


def test_the_file_holds_the_fingerprint_of_runs_and_prices(tmp_path: Path) -> None:
    save(tmp_path, ONE)
    assert json.loads(_path(tmp_path).read_text())["fingerprint"] == ONE.snapshot.fingerprint


def test_the_same_name_replaces_and_the_newest_stands_first(tmp_path: Path) -> None:
    save(tmp_path, ONE)
    save(tmp_path, replace(ONE, saved_at="2026-11-22T09:00:00Z"))
    save(tmp_path, replace(ONE, name="older", saved_at="2026-01-01T09:00:00Z"))
    assert [s.name for s in read_all(tmp_path)[0]] == ["Offer for Tanaka, autumn", "older"]


def test_one_is_removed_by_its_id_and_none_by_a_path(tmp_path: Path) -> None:
    save(tmp_path / "in", ONE)
    (tmp_path / "secret.json").write_text("{}")
    assert not saved.remove(tmp_path / "in", "../secret")
    assert (tmp_path / "secret.json").exists()
    assert saved.remove(tmp_path / "in", ONE.id)
    assert not saved.remove(tmp_path / "in", ONE.id)


def test_what_is_not_there_is_reported(tmp_path: Path) -> None:
    assert read(tmp_path / "none", "x") == "No comparison is saved as 'x'."
    assert read(tmp_path, "../../etc/passwd") == "No comparison is saved as '../../etc/passwd'."
    assert read_all(tmp_path / "none") == ([], [])


def _of_form_1(folder: Path, parameters: dict[str, list[str]]) -> dict[str, list[str]]:
    """The question of a file that was written before budgets were asked as they are shown."""
    save(folder, replace(ONE, parameters=parameters))
    text = _path(folder).read_text()
    _path(folder).write_text(text.replace(saved.FORM, saved.FORM_1))
    found = read(folder, ONE.id)
    assert isinstance(found, Saved)
    return dict(found.parameters)


def test_a_budget_of_the_first_form_keeps_what_it_asked(tmp_path: Path) -> None:
    euro = {"currency": ["EUR"], "rate": ["0.5"], "rate_as_of": ["2026-11-20"], "tax": ["20"]}
    result = _of_form_1(tmp_path, {"budget": ["500"], **euro})
    assert result == {"budget": ["300"], **euro}
    asking, problems = compare_parameters(result)
    assert problems == ()
    assert asking.request.limits.budget_usd == pytest.approx(500.0)
    assert _of_form_1(tmp_path, {"budget": ["500"]}) == {"budget": ["500"]}
    assert _of_form_1(tmp_path, {"tax": ["20"]}) == {"tax": ["20"]}


def test_a_budget_of_this_form_is_read_as_it_was_written(tmp_path: Path) -> None:
    save(tmp_path, replace(ONE, parameters={"budget": ["500"], "tax": ["20"]}))
    assert json.loads(_path(tmp_path).read_text())["form"] == "epochwise comparison 2"
    found = read(tmp_path, ONE.id)
    assert isinstance(found, Saved)
    assert found.parameters == {"budget": ["500"], "tax": ["20"]}


BROKEN = {
    "cut short": (b'{"form": "epochwise', "cannot be read"),
    "no text": (b"\xff\xfe\x00", "cannot be read"),
    "empty": (b"", "cannot be read"),
    "a list": (b"[1, 2]", "has another format"),
    "deep": (b"[" * 100_000, "cannot be read"),
    "endless": (
        b'{"form": "epochwise comparison 1", "name": Infinity}',
        "contains invalid numbers",
    ),
    "large": (b" " * (MOST_BYTES + 1), "is larger than 1 MB"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_damaged_file_is_reported_and_the_others_are_read(tmp_path: Path, kind: str) -> None:
    content, result = BROKEN[kind]
    save(tmp_path, ONE)
    (tmp_path / "bad.json").write_bytes(content)
    good, problems = read_all(tmp_path)
    assert good == [replace(ONE, file=ONE.id)]
    assert problems == [p for p in problems if p.startswith("The saved comparison 'bad.json' ")]
    assert result in problems[0]


UNFIT: dict[str, dict[str, Any]] = {
    "form": {"form": "else"},
    "name": {"name": 7},
    "another name": {"name": "else"},
    "long name": {"name": "x" * 100},
    "date": {"saved_at": None},
    "question": {"parameters": []},
    "values": {"parameters": {"workload": "net"}},
    "numbers in it": {"parameters": {"workload": [1]}},
    "too many": {"parameters": {f"p{n}": ["x"] for n in range(100)}},
    "rows": {"rows": {}},
    "row": {"rows": ["x"]},
    "row without id": {"rows": [{"option": "x"}]},
    "many rows": {"rows": [{"option_id": "x"}] * 101},
    "runs": {"runs": "abc"},
    "run": {"runs": [None]},
}


@pytest.mark.parametrize("kind", UNFIT)
def test_a_file_of_another_form_is_reported(tmp_path: Path, kind: str) -> None:
    assert _changed(tmp_path, UNFIT[kind]).startswith("The saved comparison 'offer-for-")


def test_a_cell_that_is_no_plain_value_is_not_taken_over(tmp_path: Path) -> None:
    save(tmp_path, ONE)
    body = json.loads(_path(tmp_path).read_text())
    body["rows"][0] |= {"price": {"a": 1}, "basis": "x" * 9000, "stranger": 1}
    _path(tmp_path).write_text(json.dumps(body))
    found = read(tmp_path, ONE.id)
    assert isinstance(found, Saved)
    (row,) = found.snapshot.rows
    assert row["price"] is None
    assert len(str(row["basis"])) == 400
    assert set(row) == set(KEPT)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    assert read_all(tmp_path)[1] == ["The saved comparison 'pipe.json' is not a regular file."]


def test_a_folder_that_cannot_be_written_is_reported_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SavedError, match="Make room or set EPOCHWISE_SAVED"):
        save(tmp_path / "file", ONE)


def test_more_than_enough_are_refused(tmp_path: Path) -> None:
    for n in range(MOST_FILES):
        (tmp_path / f"{n}.json").write_text("{}")
    with pytest.raises(SavedError, match="Remove one first"):
        save(tmp_path, ONE)
