"""Compare hardware where options do not fit into memory: said once, and where one looks."""

from __future__ import annotations

import json
from typing import Final

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.comparing import table
from tests.pages.conftest import on_tab, show, texts, unfold

pytestmark = pytest.mark.usefixtures("folders")
LARGE: Final[dict[str, str | list[str]]] = {
    "workload": "described", "samples": "1e8", "params": "70e9", "tokens": "4096", "epochs": "1",
    "own": ["rent|t4|1|1", "own|rtx-2080-ti|4", "own|rtx-4090|1", "rent|t4|2|2",
            "rent|h100-sxm|64|200"],
    "options": ["mine-rent-t4-1-1", "mine-own-rtx-2080-ti-4", "mine-own-rtx-4090-1",
                "mine-rent-t4-2-2", "mine-rent-h100-sxm-64-200"],
}  # fmt: skip
OUT: Final = "Take "


@pytest.fixture
def large() -> AppTest:
    return show("compare", **LARGE)


def test_the_answer_names_options_that_do_not_fit_with_the_way_out(large: AppTest) -> None:
    said = texts(large)
    assert "Rent 1 x T4 (own entry): Does not fit" in said
    assert "the T4 has 16 GB (15.0 GB of it for the job)." in said
    assert "shard over them (FSDP, ZeRO)" in said
    assert said.count("Does not fit") == 3
    assert "One more does not fit as described. The table shows what to do." in said


def test_an_option_that_fits_under_a_condition_is_ranked_and_the_answer_states_it() -> None:
    shown = show("compare", **LARGE | {"params": "8e9", "own": "rent|h100-sxm|1|2",
                                       "options": "mine-rent-h100-sxm-1-2"})  # fmt: skip
    said = texts(shown)
    assert "Rent 1 x H100 SXM5 80GB (own entry): Fits only with 8-bit moments" in said
    [row] = table(shown)
    assert str(row["rank"]) == "1"
    assert "AdamW 8-bit" in str(row["why"])


def test_an_option_that_does_not_fit_has_no_free_memory_in_the_table(large: AppTest) -> None:
    rows = table(large)
    assert len(rows) == 5
    refused = [r for r in rows if r["why"] and str(r["why"]).startswith("Does not fit")]
    assert len(refused) == 4
    for row in rows:
        assert (row["memory"] != row["memory"] or row["memory"] is None) == (row in refused)
        assert row in refused or 0.0 <= row["memory"] <= 100.0


def test_why_options_do_not_fit_is_reported_once_among_how_sure_each_is(large: AppTest) -> None:
    before = texts(large).count("Does not fit")
    assert texts(unfold(large, "compare.sure")).count("Does not fit") == before + 4


def test_intervals_of_time_and_money_have_room_in_their_columns(large: AppTest) -> None:
    columns = json.loads(on_tab(large).dataframe[0].proto.columns)
    for name in ("time", "cost_range"):
        longest = max(len(str(r[name])) for r in table(large))
        assert columns[name]["width"] >= min(6.0 * longest + 19, 280)
        assert not [r for r in table(large) if "e+" in str(r[name])]
