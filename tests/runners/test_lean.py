from __future__ import annotations

import sys

import pytest

from runners.child.engines.lean import hidden
from tests.runners.networks import answer

MODULES = """
import json, sys
from runners.child.samples import datasets
from runners.child.engines import lean
before = [n for n in lean.WRAPPED if n in sys.modules]
digits = datasets.load("digits", 16, 0, 0)
print(json.dumps([before, keras.config.backend(), len(digits.train_x), "sklearn" in sys.modules]))
"""


def test_what_is_hidden_is_found_again_and_what_was_imported_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with hidden(("colorsys", "sys")), pytest.raises(ModuleNotFoundError):
        import colorsys
    import colorsys

    assert colorsys.__name__ == "colorsys"
    assert sys.modules["sys"] is sys


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_keras_comes_without_what_it_wraps_and_the_digits_come_after_it(backend: str) -> None:
    before, result, samples, after = answer(f"import keras\n{MODULES}", backend)
    assert (before, result, samples, after) == ([], backend, 16, True)
