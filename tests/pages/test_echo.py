"""A page opens every question that the HTTP interface echoes: one grammar, one set of limits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pages.common import hardware
from pages.compare import state
from planner.answers import (
    compare_answered,
    curve_answered,
    how_long_answered,
    parameters,
    results_answered,
)
from planner.answers.comparison import COMPARE, DESCRIBED, DESCRIPTION
from planner.core import NEXT_TO_NOTHING, Parameter, slug, text_of
from planner.core.slugs import slugs
from planner.epochs import MOST_EPOCHS
from planner.store import queries
from planner.suspects import NAMES
from tests.pages.comparing import address_of
from tests.pages.conftest import show
from tests.shipped import store

FULL: Final = os.environ.get("EPOCHWISE_FAULTS") == "full"
MANY: Final = 200 if FULL else 6
Question = dict[str, list[str]]
EXAMPLES = settings(
    max_examples=MANY,
    deadline=None,
    derandomize=not FULL,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much,
                           HealthCheck.too_slow, HealthCheck.large_base_example],
)  # fmt: skip
NAMED: Final = {"workload", "pattern", "optimizer", "options", "own", "by", "country", "currency",
                "rate", "rate_as_of", "goal", "target", "samples", "params", "tokens", "flops",
                "network", "total_tokens", "active_params", "batch", "precision", "name",
                "network_optimizer"}  # fmt: skip
"""Parameters that hang together, drawn by hand."""


def _text(one: Parameter) -> st.SearchStrategy[str]:
    """Any value that a parameter may have, as programs may write it."""
    if one.kind == "whole":
        return st.integers(int(one.least or 0), int(one.most or 0)).map(str)
    if one.kind == "number":
        every = st.floats(one.least, one.most)
        sound = every.filter(lambda v: v == 0.0 or abs(v) > NEXT_TO_NOTHING)
        return st.one_of(sound.map(text_of), sound.map(lambda v: f"{v:.17e}"))
    if one.kind == "flag":
        return st.sampled_from(["on", "off"])
    return st.sampled_from(one.choices)


def _some(table: Sequence[Parameter]) -> st.SearchStrategy[Question]:
    drawn = [p for p in table if p.kind not in ("text", "date")]
    each = {p.name: _text(p).map(lambda text: [text]) for p in drawn}
    return st.fixed_dictionaries({}, optional=each)


@cache
def _workloads() -> dict[str, str]:
    return slugs(queries.workloads(store()))


@cache
def _patterns(workload: str) -> list[str]:
    return list(slugs(queries.patterns(store(), _workloads()[workload])))


@st.composite
def _place(draw: st.DrawFn, *, trained: bool = False) -> Question:
    known = [s for s, n in _workloads().items() if not trained or n in queries.trained(store())]
    if not draw(st.booleans()):
        return {}
    workload = draw(st.sampled_from(known))
    answer = {"workload": [workload]}
    if draw(st.booleans()):
        answer["pattern"] = [draw(st.sampled_from(_patterns(workload)))]
    return answer


def _followed(page: str, query: str) -> None:
    link: dict[str, Any] = parse_qs(query, keep_blank_values=True, strict_parsing=bool(query))
    shown = show(page, **link)
    said = [w.value for w in shown.warning if "could not be" in w.value]
    assert said == [], query


@EXAMPLES
@given(_place(), _some([p for p in parameters.HOW_LONG if p.kind in ("whole", "flag")]), st.data())
def test_how_long(place: Question, more: Question, data: st.DataObject) -> None:
    answer = how_long_answered(store(), place | more)
    assert answer.problems == ()
    assert answer.result is not None
    labels = slugs([a.option.label for a in answer.result.answers])
    chosen = data.draw(st.lists(st.sampled_from(list(labels)), unique=True, max_size=4))
    again = how_long_answered(store(), place | more | {"systems": chosen, "baseline": chosen[:1]})
    assume(not again.problems)
    _followed("how-long", again.query)
    _followed("how-long", again.query)


@EXAMPLES
@given(_place(), _some([p for p in parameters.CURVE if p.kind == "flag"]), st.data())
def test_throughput(place: Question, more: Question, data: st.DataObject) -> None:
    beside = data.draw(st.lists(st.sampled_from(list(_workloads())), unique=True, max_size=4))
    batches = data.draw(st.lists(st.floats(1.0, 1e9).map(text_of), max_size=5))
    given_all = place | more | {"beside": beside, "batch": batches}
    answer = curve_answered(store(), given_all)
    assert answer.problems == ()
    _followed("throughput", answer.query)


@EXAMPLES
@given(_some([p for p in parameters.RESULTS if p.kind == "whole"]), st.data())
def test_results(more: Question, data: st.DataObject) -> None:
    facets = {f: list(slugs(counts)) for f, counts in queries.facets(store(), {}).items()}
    picked: Question = {}
    for facet, options in facets.items():
        if data.draw(st.booleans(), label=facet) and options:
            some = st.lists(st.sampled_from(options), unique=True, max_size=3)
            picked[facet] = data.draw(some)
    flags = data.draw(st.lists(st.sampled_from(["any", "none", *map(slug, NAMES)]), max_size=3))
    answer = results_answered(store(), picked | more | {"suspect": list(dict.fromkeys(flags))})
    assert answer.problems == ()
    _followed("results", answer.query)
    if answer.next_cursor:
        _followed("results", f"{answer.query}&cursor={answer.next_cursor}".lstrip("&"))
    if answer.rows:
        _followed("results", f"run={answer.rows[0]['run_id']}")


@st.composite
def _shown_in(draw: st.DrawFn) -> Question:
    if draw(st.booleans()):
        return {}
    one = next(p for p in COMPARE if p.name == "rate")
    day = draw(st.dates(max_value=state.today()))
    return {"currency": [draw(st.sampled_from(["EUR", "jpy", "Chf"]))],
            "rate": [draw(_text(one))], "rate_as_of": [str(day)]}  # fmt: skip


@st.composite
def _described(draw: st.DrawFn) -> Question:
    known = {p.name: p for p in COMPARE}
    heavy = draw(st.sampled_from([("flops",), ("params", "tokens"), ("flops", "params")]))
    answer = {n: [draw(_text(known[n]))] for n in ("samples", "precision", *heavy)}
    printable = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=80)
    if draw(st.booleans()):
        answer["name"] = [draw(printable)]
    if draw(st.booleans()):
        answer["network_optimizer"] = [draw(st.sampled_from(["SGD", "adam", "LAMB", "AdamW"]))]
    if draw(st.booleans()):
        answer["batch"] = [text_of(draw(st.floats(1.0, min(1e12, float(answer["samples"][0])))))]
    further = draw(_some([p for p in DESCRIPTION if p.name not in NAMED]))
    return answer | further | {"workload": [DESCRIBED]}


@EXAMPLES
@given(
    place=st.one_of(_place(trained=True), _described()),
    more=_some([p for p in COMPARE if p.name not in NAMED and p not in DESCRIPTION]),
    money=_shown_in(),
    data=st.data(),
)
def test_compare(place: Question, more: Question, money: Question, data: st.DataObject) -> None:
    catalog = hardware.catalog().catalog
    question = place | more | money
    if data.draw(st.booleans()):
        tariff = data.draw(st.sampled_from(catalog.tariffs))
        question["country"] = [data.draw(st.sampled_from([tariff.id, tariff.country.upper()]))]
    answer = compare_answered(store(), catalog, question, state.today())
    assume(not answer.problems)
    known = [c.id for c in answer.answered.candidates]
    options = data.draw(st.lists(st.sampled_from(known), unique=True, max_size=4))
    again = compare_answered(store(), catalog, question | {"options": options}, state.today())
    assume(not again.problems)
    _followed("compare", again.query)


@pytest.mark.parametrize("target", ["0.5", "0.9312345678901234", "1e-3"])
@pytest.mark.usefixtures("folders")
def test_any_target_that_programs_may_ask_for_stays_in_the_link(target: str) -> None:
    question: Question = {"workload": ["mlp-64-64-digits-sgd-nesterov-0.9-float32"],
                          "goal": ["target"], "target": [target]}  # fmt: skip
    catalog = hardware.catalog().catalog
    answer = compare_answered(store(), catalog, question, state.today())
    assert answer.problems == ()
    _followed("compare", answer.query)
    shown = show("compare", **question)
    assert float(address_of(shown).get("target", [target])[0]) == float(target)


@pytest.mark.usefixtures("folders")
def test_a_target_below_zero_of_a_metric_above_it_has_no_answer_and_the_page_says_why() -> None:
    question: Question = {"workload": ["mlp-64-64-digits-sgd-nesterov-0.9-float32"],
                          "goal": ["target"], "target": ["-2"]}  # fmt: skip
    answer = compare_answered(store(), hardware.catalog().catalog, question, state.today())
    assert answer.answered.comparison is not None
    assert answer.answered.comparison.answered == ()
    shown = show("compare", **question)
    assert any("target: “\\-2” is no longer an option." in w.value for w in shown.warning)


def test_the_note_s_rate_is_followed(folders: Path) -> None:
    link = {"currency": "JPY", "rate": "0.006711409395973154", "rate_as_of": "2026-11-20"}
    shown = show("compare", **link)
    assert not shown.warning
    assert address_of(shown)["rate"] == ["0.006711409395973154"]
    assert folders


def test_every_whole_number_of_epochs_is_written_as_programs_write_it() -> None:
    for epochs in (1, 999, MOST_EPOCHS):
        assert not show("how-long", epochs=str(epochs)).warning
