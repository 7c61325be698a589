"""On a telephone tables are cards, and each chart without a table of its own has one."""

from __future__ import annotations

import itertools

import pytest
from streamlit.testing.v1 import AppTest

from pages.common.narrow import MOST_CARDS, cards_of
from pages.common.widgets import CHART_OR_TABLE
from pages.explore import state
from planner.figures import cards
from planner.figures.frame import LIGHT_THEME
from planner.store import Store, queries
from tests.pages.conftest import as_tables, show, sound, texts, unfold


def _cards(shown: AppTest) -> list[int]:
    """How many cards each list of cards of the page has."""
    bodies = [html.proto.body for html in shown.get("html")]
    return [body.count('role="listitem"') for body in bodies if "epochwise-cards" in body]


def _run(store: Store, place: int = 0) -> str:
    """The id of a run with single epochs."""
    ids = (str(run) for run in state.runs_of(store)["run_id"].to_pylist())
    timed = (run for run in ids if len(queries.nested(store, run, "epochs")) > 2)
    return next(itertools.islice(timed, place, None))


def test_a_row_is_a_card_with_its_first_cell_as_title() -> None:
    [one, other] = cards_of([
        {"Method": "ours", "Error (%)": 3.25, "Meaning": "x" * 60, "Bias": None},
        {"Method": "theirs", "Error (%)": 4.0, "Meaning": "short", "Bias": 1},
    ])  # fmt: skip
    assert (one.title, one.values, one.facts) == (
        "ours", [("3.25", "Error (%)")], [("Meaning", "x" * 60)]
    )  # fmt: skip
    assert other.values == [("4", "Error (%)"), ("short", "Meaning"), ("1", "Bias")]
    [fact] = cards_of([{"": "Licence", "Value": "y" * 60}])
    assert (fact.title, fact.values, fact.facts) == ("Licence", [("y" * 60, "")], [])
    assert cards_of([]) == []


def test_a_number_that_is_the_title_of_a_card_has_the_name_of_its_column() -> None:
    rows: list[dict[str, object]] = [
        {"Devices": 2, "Step (s)": 0.1}, {"Devices": "40 %"}, {"Devices": "2 x H100"},
    ]  # fmt: skip
    assert [card.title for card in cards_of(rows)] == ["Devices: 2", "Devices: 40 %", "2 x H100"]


def test_a_web_address_on_a_card_is_a_link_with_the_name_of_its_column() -> None:
    rows = [{"Option": "a", "Data sheet": "https://e.example/a?b=1&c", "Note": "javascript:x"}]
    [card] = cards_of(rows)
    assert card.sources == [("Data sheet", "https://e.example/a?b=1&c")]
    assert (card.values, card.facts) == ([("javascript:x", "Note")], [])
    drawn = str(cards([card], LIGHT_THEME))
    assert drawn.count("<a ") == 1
    assert 'href="https://e.example/a?b=1&amp;c"' in drawn


def test_the_facts_of_a_run_are_cards(store: Store) -> None:
    shown = show("results", run=_run(store))
    provenance, columns = _cards(shown)[-2:]
    assert provenance > 5
    assert columns == len(shown.dataframe[-1].value)


def test_rows_of_a_query_are_cards_up_to_a_number() -> None:
    shown = show("explore", view="sql", sql="SELECT system, params FROM runs LIMIT 30")
    assert _cards(shown) == [MOST_CARDS]
    assert f"The first {MOST_CARDS} of 30 rows." in texts(shown)
    shown.button("explore.sql.table.more_cards").click()
    sound(shown.run())
    assert _cards(shown) == [30]
    assert "of 30 rows" not in texts(shown)
    assert "explore.sql.table.more_cards" not in {button.key for button in shown.button}


@pytest.mark.parametrize("address", ["results", "explore"])
def test_further_runs_of_a_list_are_cards_after_a_click(address: str) -> None:
    axes = {"x": "global_batch_size", "y": "samples_per_s", "tab": "table"}
    shown = show(address, **(axes if address == "explore" else {}))
    assert MOST_CARDS in _cards(shown)
    shown.button(f"{address}.cards.more_cards").click()
    sound(shown.run())
    assert 5 * MOST_CARDS in _cards(shown)
    shown.button(f"{address}.cards.more_cards").click()
    sound(shown.run())
    assert len(shown.dataframe[0].value) in _cards(shown)


@pytest.mark.parametrize(
    ("address", "box"),
    [("compare", "compare.origin"), ("throughput", "throughput.origin"),
     ("throughput", "throughput.every"), ("how-long", "how-long.origin"),
     ("scaling-out", "scaling-out.formulas"), ("capacity", "capacity.origin"),
     ("steps-to-target", "steps-to-target.origin")],
)  # fmt: skip
def test_the_table_of_a_folded_box_is_cards(address: str, box: str) -> None:
    shown = show(address)
    before, tables = len(_cards(shown)), len(shown.dataframe)
    unfold(shown, box)
    assert len(shown.dataframe) - tables == len(_cards(shown)) - before == 1


def test_runs_side_by_side_are_cards_of_facts(store: Store) -> None:
    shown = show("explore", view="side", run=[_run(store, 0), _run(store, 1)])
    facts, provenance = _cards(shown)
    assert facts == 1 + len(shown.table[0].value)
    assert provenance


def test_the_months_of_a_plan_are_cards() -> None:
    shown = show("capacity", months="12", tab="table")
    assert 12 in _cards(shown)


@pytest.mark.parametrize(
    "section", ["accuracy", "wanted", "known", "what-if", "refusals", "constants", "sources"]
)
def test_tables_of_the_method_are_cards(section: str) -> None:
    shown = show("method", section=section)
    assert len(_cards(shown)) == len(shown.dataframe) + len(shown.table)


@pytest.mark.parametrize(
    ("address", "link", "key", "column"),
    [
        ("scaling-out", {}, "scaling-out.shares", "Devices"),
        ("steps-to-target", {"times": "own"}, "steps-to-target.time", "Time to target"),
        ("results", {"run": ""}, "results.epochs", "Epoch"),
        ("method", {"section": "formulas"}, "method.picture", "batch size (samples)"),
    ],
)
def test_a_chart_is_also_a_table(
    address: str, link: dict[str, str], key: str, column: str, store: Store
) -> None:
    if "run" in link:
        link = {"run": _run(store)}
    shown = show(address, **link)
    drawn = len(shown.get("plotly_chart"))
    if f"{address}.tables" in shown.session_state:
        as_tables(shown, key.rpartition(".")[2])
    else:  # a card that no link knows
        shown.session_state[f"{key}-tabs"] = CHART_OR_TABLE["table"]
        sound(shown.run())
    assert len(shown.get("plotly_chart")) == drawn - 1
    [table] = [t.value for t in shown.dataframe if column in t.value.columns]
    assert len(table) > 1
