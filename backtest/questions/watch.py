"""Time each method from outside, since the back-test itself reads no clock.

Figures are the same on every machine, seconds are not, so they are kept apart. A watch is told
which method begins on which questions; `backtest.accuracy.seconds_file` has one with a clock.
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
    """Is asked before a method fits and answers `asked` points, and left after it."""

    def __call__(self, place: Place, method: str, asked: int) -> AbstractContextManager[None]:
        """What stands around the fit and the answers."""
        ...


def unwatched(place: Place, method: str, asked: int) -> AbstractContextManager[None]:  # noqa: ARG001
    """Nobody looks."""
    return nullcontext()


class Question(Protocol):
    """Makes the rows of one question from what was measured."""

    def __call__(self, read: Read, watch: Watch = unwatched) -> list[Row]:
        """A row for every task, method and data set; none where the data are missing."""
        ...


def told_by(
    methods: Mapping[str, Callable[[], Prediction]], place: Place, asked: int, watch: Watch
) -> dict[str, Prediction]:
    """What every method says, each of them watched."""
    told = {}
    for method, answer in methods.items():
        with watch(place, method, asked):
            told[method] = answer()
    return told
