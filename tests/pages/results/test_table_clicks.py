"""A click on a row of Results opens its run; arrow keys only read."""

from __future__ import annotations

import time

import pytest
import streamlit as st

from pages.results import table
from pages.results.table import is_click


def test_a_first_click_opens_but_the_keyboard_enters_in_the_first_column() -> None:
    assert is_click(None, (3, "workload"), 9.0)
    assert not is_click(None, (0, table.FLAG), 9.0)
    assert not is_click(None, (1, table.FLAG), 9.0), "it may be a row further when reported"


@pytest.mark.parametrize("cell", [(1, table.FLAG), (0, "system")])
def test_a_move_along_a_row_or_a_column_only_reads(cell: tuple[int, str]) -> None:
    assert not is_click((0, table.FLAG), cell, 9.0)


def test_moves_that_waited_for_the_page_only_read_and_a_later_click_opens() -> None:
    assert not is_click((0, table.FLAG), (2, "workload"), 0.0)
    assert is_click((0, table.FLAG), (2, "workload"), 1.5)


def test_the_pause_begins_where_the_run_of_the_page_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where that run was slow, or was interrupted."""
    session: dict[str, table._Memory] = {}
    monkeypatch.setattr(st, "session_state", session)
    before = time.monotonic()
    with pytest.raises(InterruptedError), table.watched():
        raise InterruptedError
    assert session[table._MEMORY].ended_s >= before
    table.left()
    assert not session
