"""Figures and rows of one question, made once for all sessions."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

from pages.common import kept
from planner.core import Text
from planner.figures.frame import Theme
from planner.store import Store

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Figures and rows of one question, made once for all sessions.

    `of_steps` is the part of the question `key` that step times depend on.
    """

    shared: Store
    key: Hashable
    of_steps: Hashable
    theme: Theme

    def once(self, what: str, make: Callable[[], Made]) -> Made:
        """Return what `make` makes for this question and theme."""
        return self._once(what, self.key, make)

    def steps(self, what: str, make: Callable[[], Made]) -> Made:
        """Return a figure of step times: the same whatever totals and cuts are asked for."""
        return self._once(what, self.of_steps, make)

    def _once(self, what: str, of: Hashable, make: Callable[[], Made]) -> Made:
        return kept.drawn(
            self.shared, Text("scaling-out {what}", what=what), (of, self.theme), make
        )
