"""Shares of a step: moments are counted once, and computing comes before what runs beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.runners.networks import answer

PROGRAM = """
import json
from runners.child.engines.shares import shares_of
cases = json.loads({cases!r})
print(json.dumps([shares_of(*case) for case in cases]))
"""


def _answers(*cases: Any) -> Any:  # noqa: ANN401 - any JSON
    return answer(PROGRAM.format(cases=json.dumps(cases)), "tensorflow")


def test_a_moment_counts_once_and_compute_comes_first() -> None:
    alone = ([[0, 4], [2, 6]], [[6, 8]], [[8, 9]])
    beside = ([[0, 4]], [[2, 8]], [[3, 10]])
    waiting: tuple[list[Any], ...] = ([[0, 1], [9, 10]], [], [])
    nothing: tuple[list[Any], ...] = ([], [], [])
    first, second, third, fourth = _answers(alone, beside, waiting, nothing)
    names = ("compute_share", "communication_share", "input_share")
    assert [first[n] for n in names] == pytest.approx([6 / 9, 2 / 9, 1 / 9], abs=1e-4)
    assert [second[n] for n in names] == pytest.approx([0.4, 0.4, 0.2])
    assert [third[n] for n in names] == pytest.approx([0.2, 0.0, 0.0])
    assert fourth == {}
