"""The SQL view of Explore: rows, chart, downloads, link; what is refused is said in words."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from pages.common.kept import with_mfu
from pages.explore.sql import EXAMPLES, PARAMETERS
from planner.answers import RUN_COLUMNS, explore_runs, sql_answered, sql_records
from planner.store import Store, queries
from planner.store.catalog import read_catalog
from tests import shipped
from tests.pages.conftest import figure, legend, show, sound, texts, unfold

CATALOG = read_catalog(shipped.ROOT / "data" / "catalog").catalog
PROBES = (
    "SELECT * FROM read_text('/etc/passwd')",
    "COPY runs TO '/tmp/stolen.csv'",
    "DROP TABLE runs",
    "SELECT list_sum(range(1000000000))",
    "<script>alert(1)</script>",
    "SELECT 1; SELECT 2",
)


def _open(**link: str | list[str]) -> AppTest:
    return show("explore", view="sql", **link)


def _rows(shown: AppTest) -> object:
    return shown.dataframe[0].value.to_dict("records")


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def test_it_opens_with_an_answer(store: Store) -> None:
    shown = _open()
    assert shown.text_area[0].value == next(iter(EXAMPLES.values()))
    assert _rows(shown)
    assert not shown.warning


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("form", ["table", "points", "lines", "bars"])
def test_every_example_is_answered_in_every_form(name: str, form: str, library_pages: None) -> None:
    shown = _open(sql=EXAMPLES[name], sql_form=form)
    assert not shown.warning
    assert "row" in texts(shown)
    assert (len(shown.dataframe), len(shown.get("plotly_chart"))) == (
        (1, 0) if form == "table" else (0, 1)
    )


def test_a_click_on_an_example_asks_it() -> None:
    shown = _open(sql="SELECT 1 AS one")
    assert _rows(shown) == [{"one": 1}]
    sound(shown.button("explore.sql.Runs by source").click().run())
    assert shown.text_area[0].value == EXAMPLES["Runs by source"]
    assert "result_set" in shown.dataframe[0].value.columns


@pytest.mark.parametrize("statement", PROBES)
def test_a_break_out_is_refused_in_words(statement: str) -> None:
    shown = _open(sql=statement)
    [said] = shown.warning
    assert len(said.value) > 10
    assert "<script>" not in said.value
    assert not shown.dataframe


def test_a_refusal_names_what_to_do_and_keeps_the_statement() -> None:
    shown = _open(sql="SELECT speed FROM runs")
    assert "speed" in shown.warning[0].value
    assert shown.text_area[0].value == "SELECT speed FROM runs"


def test_the_link_holds_the_statement_and_its_chart() -> None:
    statement = "SELECT global_batch_size AS b, -- batch\nstep_s AS s, model FROM runs LIMIT 50"
    shown = _open(sql=statement, sql_form="lines", sql_x="b", sql_y="s", sql_scale="log")
    assert _listed(shown.query_params["sql"]) == [statement]
    assert set(shown.query_params) - {"view"} <= set(PARAMETERS)
    sound(shown.segmented_control[1].set_value("bars").run())
    assert _listed(shown.query_params["sql_form"]) == ["bars"]
    assert _listed(shown.query_params["sql"]) == [statement]


def test_a_chart_has_a_line_for_each_value_of_its_colour() -> None:
    shown = _open(
        sql="SELECT global_batch_size, count(*) AS n, mode FROM runs GROUP BY ALL ORDER BY 1",
        sql_form="points", sql_colour="mode",
    )  # fmt: skip
    assert {t["name"] for t in figure(shown)["data"]} == {"training", "inference"}
    assert legend(shown) == {"training", "inference"}


def test_bars_of_one_colour_have_no_legend() -> None:
    shown = _open(sql="SELECT mode, count(*) AS n FROM runs GROUP BY ALL", sql_form="bars")
    assert figure(shown)["layout"]["showlegend"] is False


def test_a_new_statement_forgets_the_columns_of_the_last() -> None:
    shown = _open(sql="SELECT 1 AS a, 2 AS b", sql_form="points", sql_x="b", sql_y="a")
    sound(shown.text_area[0].set_value("SELECT 3 AS c, 4 AS d").run())
    assert not shown.warning
    assert figure(shown)["layout"]["xaxis"]["title"]["text"] == "c"


def test_a_result_without_numbers_or_rows_says_so() -> None:
    assert "needs a column of numbers" in texts(_open(sql="SELECT 'x' AS a", sql_form="points"))
    assert "No run matches" in texts(_open(sql="SELECT model FROM runs WHERE false"))


def test_names_of_results_are_never_markup() -> None:
    shown = _open(sql='SELECT \'**b**\' AS "![x](http://h/x.png)", 1 AS "<b>"', sql_form="points")
    assert "<b>" not in str(figure(shown)["layout"])


def test_every_column_is_listed_with_its_unit_and_meaning() -> None:
    shown = unfold(_open(), "explore.sql.columns")
    listed = shown.dataframe[0].value
    assert list(listed["column"]) == [c.name for c in RUN_COLUMNS]
    assert dict(zip(listed["column"], listed["unit"], strict=True))["energy_kwh"] == "kWh"
    assert all(listed["meaning"])


def test_rows_beyond_the_limit_are_said(library_pages: None) -> None:
    shown = _open(sql="SELECT run_id, model FROM runs", sql_form="table")
    assert "first 10,000 rows" in texts(shown)


def test_mfu_and_prices_are_those_of_explore_and_results() -> None:
    """One computation: `planner.job.shares`, as the source states it, else by the data sheet."""
    store = shipped.library()
    explored = explore_runs(store, CATALOG)
    listed = with_mfu(queries.listed(store, {}, most=100_000), CATALOG)
    by_id = dict(zip(listed["run_id"].to_pylist(), listed["mfu"].to_pylist(), strict=True))
    names = ("run_id", "mfu", "usd_per_hour", "memory_share")
    asked = {"sql": [f"SELECT {', '.join(names)} FROM runs WHERE mfu > 0 ORDER BY run_id"]}  # noqa: S608
    mine = sql_records(sql_answered(store, CATALOG, asked))
    every = sorted(explored.select(names).to_pylist(), key=lambda row: str(row["run_id"]))
    rows = [row for row in every if row["mfu"]]
    assert mine == rows
    assert [row["mfu"] for row in every] == [by_id[row["run_id"]] for row in every]
    assert len(rows) > 1_000
    assert {c.name: c.unit for c in RUN_COLUMNS}["mfu"] == "share"
