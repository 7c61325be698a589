"""Time each method from outside, as the back-test itself reads no clock.

Figures are the same on every machine, seconds are not, so they are separate. A watch gets the
method and its questions before each start; `backtest.accuracy.seconds_file` has one with a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from backtest.data.source import Read
from backtest.questions.figure import Prediction, Row

Place = tuple[str, str, str]
"""Question, task and data set, as in a row."""


class Watch(Protocol):
    """Context manager around a method that fits and predicts `asked` points."""

    def __call__(self, place: Place, method: str, points: int) -> AbstractContextManager[None]:
        """Return the context for the fit and the predictions."""
        ...


def unwatched(place: Place, method: str, points: int) -> AbstractContextManager[None]:  # noqa: ARG001
    """Return a context that does nothing."""
    return nullcontext()


class Question(Protocol):
    """Makes the rows of one question from measurements."""

    def __call__(self, read: Read, watch: Watch = unwatched) -> list[Row]:
        """Return a row for every task, method and data set; none without data."""
        ...


def predictions_of(
    methods: Mapping[str, Callable[[], Prediction]], place: Place, points: int, watch: Watch
) -> dict[str, Prediction]:
    """Return the predictions of every method, each one timed by the watch."""
    predictions = {}
    for method, answer in methods.items():
        with watch(place, method, points):
            predictions[method] = answer()
    return predictions
