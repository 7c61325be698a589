"""The query of an answer states the whole question: elsewhere, or tomorrow, it means the same."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

import pytest

from pages.common import hardware
from pages.compare import state
from planner.answers import (
    compare_answered,
    curve_answered,
    curves,
    hardware_comparison,
    how_long_answered,
    plain,
    projection,
)
from tests.pages.common.test_shared_links import shared
from tests.pages.comparing import address_of
from tests.pages.conftest import show
from tests.shipped import store

Question = dict[str, list[str]]
DIGITS = "mlp-64-64-digits-sgd-nesterov-0.9-float32"
pytestmark = pytest.mark.usefixtures("folders")


def _link(query: str) -> Question:
    return parse_qs(query, keep_blank_values=True, strict_parsing=True)


def _how_long(given: Question) -> dict[str, Any]:
    answer = how_long_answered(store(), given)
    assert answer.problems == ()
    assert answer.result is not None
    return plain(projection(answer.result, answer.suspect, store().sets, answer.query))


def _curve(given: Question) -> dict[str, Any]:
    answer = curve_answered(store(), given)
    assert answer.problems == ()
    return plain(curves(answer.chosen, answer.batches, store().sets, answer.query, answer.notes))


def _compare(given: Question) -> dict[str, Any]:
    day = state.today()
    answer = compare_answered(store(), hardware.catalog().catalog, given, day)
    assert answer.problems == ()
    assert answer.answered.comparison is not None
    return plain(hardware_comparison(answer.answered.comparison, answer.display, answer.query))


ASKED: list[tuple[str, Any, Question]] = [
    ("how-long", _how_long, {}),
    ("how-long", _how_long, {"workload": [DIGITS], "epochs": ["7"], "session": ["on"]}),
    ("throughput", _curve, {}),
    ("throughput", _curve, {"workload": [DIGITS], "without_suspects": ["on"]}),
    ("compare", _compare, {}),
    ("compare", _compare, {"epochs": ["2000"], "deadline": ["72"], "order": ["time"]}),
    ("compare", _compare, {"workload": [DIGITS], "goal": ["target"]}),
    ("compare", _compare, {"own": ["rent|h100-sxm|1|1.99"], "country": ["DE"]}),
    ("compare", _compare, {"workload": ["described"], "samples": ["1e6"], "flops": ["1e12"]}),
]  # fmt: skip


@pytest.mark.parametrize(("page", "ask", "given"), ASKED)
def test_it_states_what_the_page_s_shared_link_states_and_asks_the_same(
    page: str, ask: Any,  # noqa: ANN401 - one of the three above
    given: Question,
) -> None:  # fmt: skip
    answer = ask(given)
    link = _link(answer["query"])
    assert ask(link) == answer
    first = show(page, **{n: v if len(v) > 1 else v[0] for n, v in given.items()})
    assert shared(first) == link
    opened = show(page, **{n: v if len(v) > 1 else v[0] for n, v in link.items()})
    assert not opened.warning
    assert shared(opened) == link
    assert [m.value for m in opened.markdown if m.value.startswith("##")] == [
        m.value for m in first.markdown if m.value.startswith("##")
    ]
    assert "made" not in address_of(first)
