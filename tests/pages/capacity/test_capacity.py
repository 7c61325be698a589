"""The page Capacity: its question in the link, its tables, and what is said of wrong ones."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from pages.capacity.fleet import edited_lines
from pages.capacity.jobs import edited_rows
from planner.answers.capacity_jobs import line_of, line_text
from tests.pages.conftest import as_tables, figure, show, sound, texts, unfold

JOB = (
    "name=Baselines; network=resnet-50; epochs=90; samples=1281167; precision=bfloat16; runs=10; "
    "within=48"
)
ENTERED: dict[str, str | list[str]] = {
    "jobs": [JOB],
    "find": "off",
    "fleet": ["3 x rent|h100-sxm|8|20"],
    "months": "12",
}


def _code(shown: AppTest) -> str:
    """The answer to paste."""
    return str(shown.code[0].value)


def _given(shown: AppTest, name: str) -> list[str]:
    """The values of a parameter of the address."""
    values = shown.query_params[name]
    return [values] if isinstance(values, str) else list(values)


def test_it_opens_with_a_fleet_that_is_found() -> None:
    shown = show("capacity", preset="vision", months="12")
    assert not shown.warning
    assert "a month" in _code(shown)
    assert len(shown.get("plotly_chart")) == 3
    assert "lines" in str(figure(shown)["data"][0].get("mode"))


def test_the_link_holds_the_whole_question() -> None:
    shown = show("capacity", **ENTERED, probability="90", variation="5", years="5")
    assert not shown.warning
    assert _code(shown).startswith("Rent up to")
    for name, value in (("find", "off"), ("months", "12"), ("probability", "90"), ("years", "5")):
        assert _given(shown, name) == [value]
    address = str(shown.code[1].value)
    for part in ("jobs=name%3DBaselines", "fleet=3%20x%20rent%7Ch100-sxm%7C8%7C20", "variation=5"):
        assert part in address


@pytest.mark.parametrize("chart", ["plan", "machine", "use", "matters"])
def test_every_view_of_the_cost_is_drawn(chart: str) -> None:
    fleet = ["1 x buy|h100-sxm|8|260000 total", "3 x rent|h100-sxm|8|20"]
    shown = show("capacity", **{**ENTERED, "fleet": fleet}, chart=chart)
    assert not shown.warning
    assert len(shown.get("plotly_chart")) == 3


@pytest.mark.parametrize(
    ("chart", "key", "head"),
    [("plan", "costs", "Month"), ("use", "use", "Utilisation"), ("matters", "matters", "Input")],
)
def test_every_chart_of_the_cost_is_also_a_table(chart: str, key: str, head: str) -> None:
    fleet = ["1 x buy|h100-sxm|8|260000 total", "3 x rent|h100-sxm|8|20"]
    shown = show("capacity", **{**ENTERED, "fleet": fleet}, chart=chart)
    as_tables(shown, key)
    assert len(shown.get("plotly_chart")) == 2
    [table] = [t.value for t in shown.dataframe if t.value.columns[0] == head]
    assert len(table) > 1
    assert len(table.columns) > 1
    assert table.notna().all(axis=None)


def test_one_machine_of_each_kind_is_also_a_table_with_its_break_evens() -> None:
    fleet = ["1 x buy|h100-sxm|8|260000 total", "3 x rent|h100-sxm|8|20"]
    shown = show("capacity", **{**ENTERED, "fleet": fleet}, chart="machine")
    heads = {t.value.columns[0] for t in shown.dataframe}
    assert not {"Way", "Bought"} & heads
    as_tables(shown, "machine")
    assert len(shown.get("plotly_chart")) == 2
    assert {"Way", "Bought"} <= {t.value.columns[0] for t in shown.dataframe}


def test_the_text_of_the_table_is_that_of_edited_cells() -> None:
    shown = show("capacity", **ENTERED)
    begun = shown.session_state["capacity.memory"]["jobs"]
    number, edited = begun["number"], JOB.replace("runs=10", "runs=77")
    begun["texts"] = [edited]  # as the table's callback does
    shown.session_state["capacity.jobs"] = [edited]
    sound(shown.run())
    assert shown.session_state["capacity.memory"]["jobs"]["number"] == number
    [text] = [str(e.proto.body) for e in shown.get("html") if "edited in place" in e.proto.body]
    assert "<td>77</td>" in text
    assert "<td>10</td>" not in text


def test_an_unfinished_row_is_left_out_and_said() -> None:
    shown = show("capacity", **{**ENTERED, "jobs": [JOB, "name=Second; runs=5"]})
    assert "Row 2, column network: Nothing says what is trained." in texts(shown)
    assert "Rent up to" in _code(shown)


def test_a_pasted_table_replaces_the_jobs() -> None:
    shown = unfold(show("capacity", **ENTERED), "capacity.paste-box")
    shown.text_area(key="capacity.paste").set_value(
        "name\tnetwork\tepochs\tsamples\truns\twithin\n"
        "One\tresnet-50\t90\t1281167\t5\t48\nTwo\tvit-b-16\t30\t1281167\t2\t"
    )
    sound(shown.button(key="capacity.paste.use").click().run())
    assert [text.split(";")[0] for text in _given(shown, "jobs")] == ["name=One", "name=Two"]


def test_all_problems_of_a_pasted_table_are_said_and_the_jobs_stay() -> None:
    shown = unfold(show("capacity", **ENTERED), "capacity.paste-box")
    shown.text_area(key="capacity.paste").set_value(
        "name,network,epochs,samples,runs,color\nOne,resnet-50,90,1281167,many,red\n,vit-b-16,1,1,1,\n"
    )
    sound(shown.button(key="capacity.paste.use").click().run())
    assert _given(shown, "jobs") == [JOB]
    rows = shown.dataframe[0].value.to_dict("records")
    assert [(r["Row"], r["Column"]) for r in rows[1:]] == [(1, "runs"), (2, "name")]
    assert rows[0]["Column"] == "color"


@pytest.mark.parametrize("box", ["machines", "assumed", "origin", "presets", "csv-box", "handout"])
def test_every_box_opens(box: str) -> None:
    shown = unfold(show("capacity", **ENTERED), f"capacity.{box}")
    assert "Rent up to" in _code(shown)


def test_a_seed_and_a_tariff_are_part_of_the_question() -> None:
    shown = unfold(show("capacity", **ENTERED), "capacity.assumed")
    shown.number_input(key="capacity.seed").set_value(7.0)
    sound(shown.number_input(key="capacity.tariff_usd_per_kwh").set_value(0.3).run())
    assert _given(shown, "seed") == ["7"]
    assert _given(shown, "tariff_usd_per_kwh") == ["0.3"]
    assert "seed 7" in texts(shown)


def test_a_fleet_without_a_price_says_what_to_do() -> None:
    shown = show("capacity", **{**ENTERED, "fleet": ["1 x buy|mi250x|8"]})
    assert "list price" in texts(shown)


def test_a_ready_server_of_the_catalogue_has_price_date_and_source_and_joins_the_fleet() -> None:
    shown = unfold(show("capacity", **ENTERED), "capacity.machines")
    tables = [t.value.to_dict("records") for t in shown.dataframe]
    servers = next(rows for rows in tables if "Server" in rows[0])
    h100 = next(row for row in servers if row["Server"] == "8 x H100 SXM5 80GB")
    assert h100["Price (USD)"] == "317,000"
    assert h100["Kind"] == "price"
    assert next(row for row in servers if row["Server"] == "8 x MI300X")["Kind"] == "estimate"
    assert h100["Price of"] == "Aug 2024"
    assert h100["Source"].startswith("https://")
    sound(shown.button(key="capacity.server.h100-sxm").click().run())
    assert _given(shown, "fleet")[-1] == "1 x buy|h100-sxm|8"
    assert "Buy 1 machine with 8 x H100 SXM5 80GB" in _code(shown)


def test_on_a_telephone_the_question_is_one_line_and_tables_are_cards() -> None:
    shown = show("capacity", **ENTERED)
    said = texts(shown)
    assert "1 job · 10 runs a month · 12 months · fleet of 3" in said
    html = " ".join(str(h.proto.body) for h in shown.get("html"))
    assert html.count("epochwise-cards") == 1
    assert "8 x H100 SXM5 80GB" in html[html.index("epochwise-cards") :]


def test_edits_of_the_jobs_change_texts() -> None:
    rows = [{"name": "A", "runs": "5", "interruptible": "on"}, {"name": "B"}]
    edits = {
        "edited_rows": {0: {"runs": 7, "interruptible": False, "within": 4.5}},
        "added_rows": [{"name": "C", "network": "resnet-50"}, {}],
        "deleted_rows": [1],
    }
    assert edited_rows(rows, edits) == [
        {"name": "A", "runs": "7", "within": "4.5"}, {"name": "C", "network": "resnet-50"}, {},
    ]  # fmt: skip
    assert rows[0]["runs"] == "5"


LINES = (
    "2 x buy|h100-sxm|8|260000 total from 7",
    "3 x spot|h100-sxm|8|11.5",
    "1 x reserved-1|h100-sxm|8|15",
    "own:2 x a100-sxm-80gb|8",
    "4 x rent-lambda-any-8x-b200-sxm6-on-demand",
)


@pytest.mark.parametrize("text", LINES)
def test_a_line_of_a_fleet_survives_its_table(text: str) -> None:
    assert line_text(line_of(text).cells()) == text


def test_edits_of_the_fleet_keep_untouched_lines() -> None:
    quoted = "1 x buy|h100-sxm|8|240000 total|EUR|0.86"
    edits = {"edited_rows": {1: {"machines": 5}}, "added_rows": [{"accelerator": "h200"}, {}]}
    assert edited_lines([quoted, LINES[1]], edits) == [
        quoted, "5 x spot|h100-sxm|8|11.5", "1 x buy|h200|8",
    ]  # fmt: skip
