"""Method & accuracy: the answer first, methods side by side, formulas to move, empty states."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from backtest.accuracy import verdicts as figures_of
from backtest.accuracy.page import Timing
from backtest.accuracy.public_data import read_accuracy, write_accuracy, write_seconds
from backtest.accuracy.verdicts import Accuracy, accuracy_of
from backtest.choose.constants import CONSTANTS
from backtest.published.what_if import MODELS
from backtest.questions import regret
from backtest.questions.figure import MEAN, FigureRow
from backtest.questions.source_table import PUBLIC_DATA
from pages.method import accuracy
from pages.method.formulas import FORMULAS, SLIDERS
from planner.answers import RULES_BY_SUBJECT
from planner.core import slug
from tests.pages.conftest import figure, legend, show, sound, texts
from tests.pages.test_stores import HOSTILE, timed
from tests.store.build import a_set

PAGE = "method"
SHIPPED = accuracy.PLACE


@pytest.fixture(scope="module")
def known() -> Accuracy:
    return accuracy_of(read_accuracy(SHIPPED))


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the page looks for the figures: nothing is there yet."""
    place = tmp_path / "accuracy.parquet"
    monkeypatch.setattr(accuracy, "PLACE", place)
    yield place
    accuracy._kept.clear()


def _question(known: Accuracy, place: int = 0) -> tuple[str, str]:
    question = list(figures_of.titles(known.rows))[place]
    return question, figures_of.tasks_of(known.rows, question)[0]


def _rows(known: Accuracy, place: int, data_sets: list[str] | None = None) -> list[FigureRow]:
    question, task = _question(known, place)
    sets = data_sets or figures_of.data_sets_of(known.rows, question, task)
    shown = data_sets or (sets[:1] if MEAN in sets else sets)
    return figures_of.shown_rows(known.rows, question, task, shown, "all")


# -- the answer ----------------------------------------------------------------------------------


def test_the_first_screen_says_how_wrong_we_were_in_the_planners_words(known: Accuracy) -> None:
    said = texts(show(PAGE))
    assert said.splitlines()[1] == known.sentences[0]
    assert all(sentence in said for sentence in known.sentences)


def test_a_section_opens_from_its_link_under_the_first_sentence_alone(known: Accuracy) -> None:
    shown = show(PAGE, section="refusals")
    assert shown.code[0].value.replace("\u00a0", " ") == "\n".join(known.sentences)  # to share
    assert known.sentences[1] not in texts(shown)
    assert not shown.warning
    assert shown.segmented_control(key=f"{PAGE}.section").value == "refusals"


def test_the_what_if_models_have_formula_source_and_error() -> None:
    shown = show(PAGE, section="what-if")
    table = next(d.value for d in shown.dataframe if "Formula" in d.value.columns)
    errors = dict(zip(table["Model"], table["Median error"], strict=True))
    assert len(errors) == len(MODELS)
    for model in ("updates to a target", "parameter server", "synchronous step"):
        assert errors[model].endswith("%"), model
    assert "best published one" in texts(shown)


def test_a_section_that_is_not_known_is_named_and_the_first_is_shown() -> None:
    shown = show(PAGE, section="gossip")
    assert "section: “gossip”" in shown.warning[0].value.replace("\\", "")
    assert shown.selectbox(key=f"{PAGE}.question").value


# -- accuracy ------------------------------------------------------------------------------------


def test_the_table_holds_the_rows_of_the_first_question(known: Accuracy) -> None:
    table = show(PAGE, tab="table").dataframe[0].value
    rows = _rows(known, 0)
    assert list(table["Method"]) == [accuracy.method_name(r.method) for r in rows]
    assert list(table["Median error (%)"]) == [float(f"{100 * r.median_error:.3g}") for r in rows]


def test_the_errors_are_one_card_with_a_chart_and_a_table_as_tabs() -> None:
    shown = show(PAGE)
    assert {"median", "to the 90th percentile"} <= legend(shown)
    assert not shown.dataframe
    table = show(PAGE, tab="table")
    assert len(table.dataframe) == 1
    assert not table.get("plotly_chart")
    assert "Errors of every method" not in texts(table)


@pytest.mark.parametrize("place", range(7))
def test_every_question_is_drawn_with_ours_and_others(known: Accuracy, place: int) -> None:
    question, _ = _question(known, place)
    shown = show(PAGE, question=slug(question))
    names = [t.get("name", "") for t in figure(shown)["data"]]
    rows = _rows(known, place)
    assert {accuracy.method_name(r.method) for r in rows} <= {
        n.replace("&amp;", "&") for n in names
    }
    assert any(figures_of.is_ours(r) for r in rows)
    table = show(PAGE, question=slug(question), tab="table")
    assert len(table.dataframe[0].value) == len(rows)


def test_filters_come_from_the_link_and_a_filter_recolours_no_method(known: Accuracy) -> None:
    question, task = _question(known)
    sets = figures_of.data_sets_of(known.rows, question, task)[:2]
    picked = [slug(s) for s in sets]
    shown = show(PAGE, data=picked, methods="others")
    table = show(PAGE, data=picked, methods="others", tab="table").dataframe[0].value
    expected = figures_of.shown_rows(known.rows, question, task, sets, "others")
    assert list(table["Method"]) == [accuracy.method_name(r.method) for r in expected]
    assert list(table["Data set"]) == [r.data_set for r in expected]

    def colours(page: AppTest) -> dict[str, str]:
        return {t["name"]: t["marker"]["color"] for t in figure(page)["data"] if "marker" in t}

    both, all_of = colours(shown), colours(show(PAGE))
    assert both
    assert {n: c for n, c in all_of.items() if n in both} == both


def test_a_regret_is_called_a_regret(known: Accuracy) -> None:
    question = regret.QUESTION
    task = next(t for t in figures_of.tasks_of(known.rows, question) if t.startswith("regret"))
    shown = show(PAGE, question=slug(question), task=slug(task), tab="table")
    assert "Regret (%)" in shown.dataframe[0].value
    assert "Median error (%)" not in shown.dataframe[0].value
    assert "**Regret:** the extra time of a choice of devices and batch" in texts(shown)
    drawn = figure(show(PAGE, question=slug(question), task=slug(task)))
    assert drawn["layout"]["xaxis"]["title"]["text"].startswith("regret")


def test_another_question_takes_its_own_task_and_data_sets(known: Accuracy) -> None:
    shown = show(PAGE, task="twice-the-largest", data="colab-tpu", tab="table")
    question, task = _question(known, 1)
    shown.selectbox(key=f"{PAGE}.question").set_value(slug(question)).run()
    assert sound(shown).selectbox(key=f"{PAGE}.task").value == slug(task)
    assert len(shown.dataframe[0].value) == len(_rows(known, 1))


def test_without_a_data_set_there_is_one_button_back(known: Accuracy) -> None:
    shown = show(PAGE, data="", tab="table")
    assert "No rows to show." in texts(shown)
    shown.button(key=f"{PAGE}.back").click().run()
    assert len(sound(shown).dataframe[0].value) == len(_rows(known, 0))


# -- wanted --------------------------------------------------------------------------------------


def test_what_is_missed_is_listed_first_with_its_reason(known: Accuracy) -> None:
    said = texts(show(PAGE, section="wanted"))
    listed = [line for line in said.splitlines() if line.startswith("- **")]
    assert len(listed) == len(known.missed)
    for line, verdict in zip(listed, known.missed, strict=True):
        assert verdict.what[1:] in line
        assert f"target {verdict.target}" in line
        assert verdict.why[1:] in line


@pytest.mark.parametrize("verdict", ["reached", "all"])
def test_what_is_reached_is_one_choice_away(known: Accuracy, verdict: str) -> None:
    table = show(PAGE, section="wanted", verdict=verdict).table[0].value
    wanted = [v for v in known.verdicts if verdict == "all" or v.reached]
    assert len(table) == len(wanted)
    assert ("Verdict" in table) == (verdict == "all")


# -- formulas ------------------------------------------------------------------------------------


@pytest.mark.parametrize("formula", FORMULAS)
def test_every_formula_is_reported_with_units_limits_source_error_and_one_picture(
    known: Accuracy, formula: str
) -> None:
    shown = show(PAGE, section="formulas", formula=formula)
    said = texts(shown)
    assert all(f"**{word}.**" in said for word in ("Units", "Limits", "Source"))
    assert len(shown.latex) == len(FORMULAS[formula].laws)
    assert len(shown.get("plotly_chart")) == 1
    assert [s.label for s in shown.select_slider] == [s.label for s in FORMULAS[formula].sliders]
    if evidence := FORMULAS[formula].evidence:
        row = figures_of.ours(known.rows, *evidence)
        assert row is not None
        assert f"**How wrong.** {row.task[:1].upper()}{row.task[1:]} ({row.data_set}): " in said
        assert f"median error {figures_of.per_cent(row.median_error)}" in said


def test_a_slider_moves_the_picture_and_its_sentence() -> None:
    shown = show(PAGE, section="formulas", v0="1024", t="0.3")
    assert "Half of v0 is reached at batch 307, 90 % of it at batch 2,765." in texts(shown)
    shown.select_slider(key=f"{PAGE}.t").set_value("0.1").run()
    assert "Half of v0 is reached at batch 102, 90 % of it at batch 922." in texts(sound(shown))


def test_sliders_of_other_formulas_keep_their_values() -> None:
    shown = show(PAGE, section="formulas", formula="best-batch", v0="1024", smin="30")
    assert not shown.warning
    shown.selectbox(key=f"{PAGE}.formula").set_value("epochs").run()
    assert not sound(shown).warning
    shown.selectbox(key=f"{PAGE}.formula").set_value("steps").run()
    assert sound(shown).select_slider(key=f"{PAGE}.smin").value == "30"


def test_a_slider_value_that_is_not_offered_is_named() -> None:
    shown = show(PAGE, section="formulas", v0="-1")
    assert "v0" in shown.warning[0].value
    assert shown.select_slider(key=f"{PAGE}.v0").value == f"{SLIDERS['v0'].default:g}"


def test_where_the_planner_refuses_its_reason_stands_instead_of_a_picture() -> None:
    shown = show(PAGE, section="formulas", formula="cards", benchmarks="0", cards="0")
    assert not shown.get("plotly_chart")
    assert "measured on no card" in texts(shown)
    assert "the planner refuses" in texts(shown)


# -- tables --------------------------------------------------------------------------------------


def test_every_rule_is_listed() -> None:
    tables = [t.value for t in show(PAGE, section="refusals").table]
    shown = [when for table in tables for when in table["When"]]
    assert shown == [r.when for rules in RULES_BY_SUBJECT.values() for r in rules]


@pytest.mark.parametrize(("section", "word"), [("refusals", "again"), ("constants", "described")])
def test_a_search_leaves_the_rows_with_all_of_its_words(section: str, word: str) -> None:
    shown = show(PAGE, section=section, search=f"Batch {word}")
    tables = [t.value for t in (shown.table if section == "refusals" else shown.dataframe)]
    rows = [" ".join(map(str, row)).lower() for t in tables for row in t.to_numpy()]
    assert 0 < len(rows) < 40
    assert all("batch" in row and word in row for row in rows)
    assert "rows." in texts(shown)
    assert not show(PAGE, section=section, search="no such word").dataframe


def test_every_constant_has_the_value_of_the_code() -> None:
    table = show(PAGE, section="constants").dataframe[0].value
    assert list(table["Value"]) == [f"{c.value:.4g}" for c in CONSTANTS]
    assert all(table[name].astype(bool).all() for name in ("Unit", "Meaning", "Data"))


def test_sources_name_the_package_and_the_catalogue_with_their_credits() -> None:
    said = texts(show(PAGE, section="sources"))
    plain = said.replace("\\", "")
    assert "mlperf-logging 4" in plain
    assert "Apache" in plain
    for credit in ("Epoch AI", "CC BY 4.0", "Ember", "Eurostat", "SOURCES.md"):
        assert credit in plain
    assert "no page shows them" not in plain


def test_seconds_stand_beside_the_errors_where_they_were_kept(
    known: Accuracy, elsewhere: Path
) -> None:
    elsewhere.write_bytes(SHIPPED.read_bytes())
    assert "Seconds" not in show(PAGE, tab="table").dataframe[0].value
    row = next(r for r in _rows(known, 0) if figures_of.is_ours(r))
    one = Timing(question=row.question, task=row.task, method=row.method, data_set="Colab TPU",
                 points=500, seconds=2.0)  # fmt: skip
    write_seconds(elsewhere.with_name("accuracy-seconds.parquet"), [one])
    table = show(PAGE, tab="table").dataframe[0].value
    seconds = dict(zip(table["Method"], table["Seconds"], strict=True))
    assert seconds[accuracy.method_name(row.method)] == 4.0
    assert all(math.isnan(v) for m, v in seconds.items() if m != accuracy.method_name(row.method))


def test_where_nothing_is_answered_the_page_says_so_and_draws_nothing(
    known: Accuracy, elsewhere: Path
) -> None:
    place = "devices", "9 to 16 devices from at most 4", "ElasticFlow A100"
    write_accuracy(elsewhere, [
        replace(r, points=0, answered=0.0) if (r.question, r.task, r.data_set) == place else r
        for r in known.rows
        if (r.question, r.task, r.data_set) != place or figures_of.is_ours(r)
    ])  # fmt: skip
    link = {"question": "devices", "task": "9-to-16-devices-from-at-most-4",
            "data": "elasticflow-a100"}  # fmt: skip
    shown = show(PAGE, **link)
    assert "none of 9 points is answered" in texts(shown)
    assert not shown.get("plotly_chart")
    assert list(show(PAGE, **link, tab="table").dataframe[0].value["Points"]) == [0]


def test_sources_name_result_sets_and_public_data_with_licences() -> None:
    shown = show(PAGE, section="sources")
    assert "Licence" in shown.dataframe[0].value
    said = texts(shown)
    for one in PUBLIC_DATA:
        assert f"**{one.title}.** Licence: {one.licence}." in said
        assert one.origin in said


def test_a_set_with_hostile_names_is_listed_as_it_is_written(alone: Path) -> None:
    a_set(alone, [timed(model=HOSTILE)])
    shown = show(PAGE, section="sources")
    for part in [*shown.markdown, *shown.caption]:
        assert not re.search(r"<img|\[l\]\(", str(part.value))
    assert len(shown.dataframe[0].value) == 1


# -- no figures ----------------------------------------------------------------------------------


def test_without_the_file_the_page_names_the_command(elsewhere: Path) -> None:
    shown = show(PAGE)
    assert "The accuracy is unknown here." in texts(shown)
    assert "python -m planner backtest DIR" in texts(shown)
    assert not shown.get("plotly_chart")


def test_a_torn_file_says_that_it_cannot_be_read(elsewhere: Path, known: Accuracy) -> None:
    whole = SHIPPED.read_bytes()
    elsewhere.write_bytes(whole[:-50])
    shown = show(PAGE)
    assert "accuracy.parquet cannot be read" in texts(shown)
    elsewhere.write_bytes(whole)
    shown.button(key=f"{PAGE}.again").click().run()
    assert known.sentences[0] in texts(sound(shown))


@pytest.mark.parametrize("section", ["wanted", "formulas", "sources"])
def test_without_figures_the_other_sections_open(elsewhere: Path, section: str) -> None:
    shown = show(PAGE, section=section, question="devices", data="dlperf-v100")
    assert not shown.warning
    assert len(shown.get("plotly_chart")) == (section == "formulas")


def test_figures_written_anew_are_shown_at_the_next_click(elsewhere: Path, known: Accuracy) -> None:
    from backtest.accuracy.public_data import write_accuracy

    write_accuracy(elsewhere, known.rows)
    shown = show(PAGE)
    some = [r for r in known.rows if r.question == known.rows[0].question]
    write_accuracy(elsewhere, some)
    shown.run()
    assert accuracy_of(some).sentences[0] in texts(sound(shown))
