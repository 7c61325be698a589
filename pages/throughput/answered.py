"""The answer of one question, with its charts and sentences, made once for all sessions."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

from pages.common import kept
from pages.common.curve_lines import lines
from planner import figures
from planner.answers import answer_sentences
from planner.store import Store
from planner.throughput import SystemCurve

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenCurves:
    """The chosen curves of one question."""

    shared: Store
    key: Hashable
    chosen: list[SystemCurve]

    def once(self, what: str, make: Callable[[], Made], *more: Hashable) -> Made:
        """Return what `make` makes of this question and `more`, kept for all sessions."""
        return kept.drawn(self.shared, f"throughput {what}", (self.key, more), make)

    @property
    def lines(self) -> list[figures.ThroughputLine]:
        """The curves as the charts draw them."""
        suspect = kept.suspects(self.shared).names
        return self.once("lines", lambda: lines(self.chosen, suspect))

    @property
    def sentences(self) -> list[str]:
        """The answer in words."""
        return self.once("sentences", lambda: answer_sentences(self.chosen))
