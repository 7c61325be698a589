"""The table of the campaigns: one row each, replaced alone, and a fault fails the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import outcomes
from tests.faults.outcomes import BEGIN, END, Outcome, drawn, write_figures


def test_a_case_is_drawn_again_by_its_number() -> None:
    assert drawn("a", 1).random() == drawn("a", 1).random()
    assert drawn("a", 1).random() != drawn("a", 2).random()


def test_an_exception_in_a_case_is_a_page_down_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "FINISHED", [])
    outcome = Outcome(name="x")
    with outcome.case("one"):
        (tmp_path / "none").read_bytes()
    with pytest.raises(AssertionError, match="one: FileNotFoundError"):
        outcomes.finish(outcome)
    assert outcome.line.startswith("x: 1 cases (); 1 pages down, 0 wrong numbers")


def test_a_partial_run_replaces_its_own_rows_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "figures.md"
    page.write_text(f"before\n{BEGIN}\n{END}\nafter\n", encoding="utf-8")
    write_figures([Outcome(name="a", cases=1), Outcome(name="b", cases=2)], page)
    write_figures([Outcome(name="b", cases=30)], page)
    lines = page.read_text(encoding="utf-8").splitlines()
    rows = [line.split(" | ")[:2] for line in lines if line.startswith("| ")][1:]
    assert rows == [["| a", "1"], ["| b", "30"]]
    assert (lines[0], lines[-1]) == ("before", "after")


def test_where_no_answer_is_timed_neither_hangs_nor_a_time_are_stated() -> None:
    untimed, timed = Outcome(name="kills", cases=34), Outcome(name="links")
    timed.took("one", 0.004)
    assert untimed.row == "| kills | 34 |  | 0 | 0 |  |  |"
    assert "hangs" not in untimed.line
    assert timed.row == "| links | 1 |  | 0 | 0 | 0 | 0.00 |"


def test_a_page_without_the_section_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "figures.md"
    page.write_text("nothing\n", encoding="utf-8")
    with pytest.raises(ValueError, match="Restore them"):
        write_figures([Outcome(name="a")], page)


def test_every_file_of_campaigns_ends_them_with_a_row_of_the_table() -> None:
    files = Path(outcomes.__file__).parent.glob("test_*.py")
    counting = [f for f in files if " if FULL else " in f.read_text(encoding="utf-8")]
    assert len(counting) > 10
    assert [f.name for f in counting if "finish(" not in f.read_text(encoding="utf-8")] == []
