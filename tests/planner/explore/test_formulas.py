"""Formulas over columns: what is computed, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from planner.explore import NUMBERS, FormulaError, formula_of
from tests.each import each


def test_a_formula_is_computed_for_each_run_and_is_nan_where_it_is_not_finite() -> None:
    formula = formula_of("peak_memory_bytes / params", NUMBERS)
    values = formula.values(
        {"peak_memory_bytes": np.array([8.0, 6.0, 1.0]), "params": np.array([4.0, 3.0, 0.0])}
    )
    np.testing.assert_array_equal(values, [2.0, 2.0, np.nan])


@each(
    ("text", "words"),
    [
        ("__import__('os').system('x')", "There is no function"),
        ("params.real", "is not allowed"),
        ("9**9**9", "exponent must be a plain number"),
        ("(" * 10_000 + "params" + ")" * 10_000, "letters are too many"),
        ("(" * 30 + "params" + ")" * 30, "brackets are open"),
        ("[p for p in params]", "is not allowed"),
        ("parms", "Perhaps params?"),
        ("params[0]", "is not allowed"),
        ("lambda: 1", "is not allowed"),
        ("min(params)", "takes two values"),
        ("params **", "not a complete formula"),
        ("1 + 1", "names no column"),
        ("'a' * params", "is not a number"),
        ("1e999 * params", "larger than"),
        ("", "is empty"),
    ],
)
def test_hostile_or_wrong_text_is_refused_with_what_to_do(text: str, words: str) -> None:
    with pytest.raises(FormulaError, match=words.replace("?", r"\?")):
        formula_of(text, NUMBERS)
