"""Answers and charts of Capacity, kept until a run or a price changes.

A fleet is found in a thread of its own: a changed question interrupts the page that waits for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, Final, TypeVar

import streamlit as st

from pages.common import hardware, tiles
from planner.answers import (
    CapacityQuestion,
    capacity_answered,
    capacity_prepared,
    capacity_question,
)
from planner.capacity import CapacityAnswer, FirstAnswer, PlanProgress, Tell
from planner.core import Text
from planner.report import capacity as charts
from planner.store import Store
from planner.store.kept import MISSING, Kept

Made = TypeVar("Made")
_ANSWERS: Final = Kept(24)
_DRAWN: Final = Kept(96)
_WORK: Final = ThreadPoolExecutor(1, thread_name_prefix="capacity")
"""One at a time: a fleet that is found keeps one core busy."""
_AHEAD: Final = ThreadPoolExecutor(1, thread_name_prefix="capacity-ahead")
_PREPARED: Final = Kept(24)
_LOOK_S: Final = 0.1
_SOON_LOOK_S: Final = 0.02
_SOON_S: Final = 0.3
"""An answer that comes sooner needs no progress line."""
_DRAWING_S: Final = 0.1
"""Longest pause of the search until a page has drawn a fleet."""
_SENDING_S: Final = 0.03
"""Pause while the server sends it: threads that compute hold up those that send."""
_LOCK: Final = threading.Lock()
_RUNNING: Final[dict[Hashable, _Running]] = {}


@dataclass(slots=True)
class _Running:
    """An answer that is being worked out, and what is done at present."""

    began: float
    now: PlanProgress | None = None
    shown: FirstAnswer | None = None
    is_chosen: bool = False
    answer: Future[CapacityAnswer] | None = None
    drawn: threading.Event = field(default_factory=threading.Event)

    def tell(self, progress: PlanProgress) -> None:
        """Keep the latest progress; at a fleet, pause until a page shows it."""
        self.now, fleet = progress, progress.chosen or progress.first
        if fleet is None:
            return
        self.drawn.clear()
        self.is_chosen = progress.chosen is not None  # before `shown`, which a page looks at
        self.shown = fleet
        if self.drawn.wait(_DRAWING_S):
            time.sleep(_SENDING_S)

    def words(self) -> str:
        """Return what is done at present, and for how long the answer takes already."""
        waited = time.monotonic() - self.began
        if self.now is None:
            return Text("Another answer is worked out first: {waited:.0f} s", waited=waited)
        return Text("{words} ({waited:.0f} s)", words=self.now.words, waited=waited)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReply:
    """An answer, its question, and the key under which its charts are kept."""

    answer: CapacityAnswer
    question: CapacityQuestion
    key: Hashable


def question_of(texts: Mapping[str, Sequence[str]]) -> CapacityQuestion:
    """Return the parsed question of the page's parameters."""
    return capacity_question(texts, _today())


def reply(
    shared: Store, texts: Mapping[str, Sequence[str]], question: CapacityQuestion
) -> PlanReply:
    """Return the answer; a progress line is drawn while a fleet is looked for."""
    key = (
        shared.serial, shared.generation, hardware.stamps(), _today(),
        tuple(sorted((name, tuple(values)) for name, values in texts.items())),
    )  # fmt: skip
    catalog = hardware.catalog().catalog

    def answered(tell: Tell) -> CapacityAnswer:
        return capacity_answered(shared, catalog, texts, _today(), tell)

    answer = _ANSWERS.peek(key)
    if answer is MISSING:
        answer = _waited(key, answered)
    return PlanReply(answer=answer, question=question, key=key)


def _waited(key: Hashable, work: Callable[[Tell], CapacityAnswer]) -> CapacityAnswer:
    """Return the answer of a thread, while a line says what it does."""
    with _LOCK:  # all who ask the same question wait for one answer
        running = _RUNNING.get(key)
        if running is None:
            running = _RUNNING[key] = _Running(time.monotonic())
            running.answer = _WORK.submit(_kept, key, running, work)
            running.answer.add_done_callback(lambda _: _RUNNING.pop(key, None))
    began, bar, card = time.monotonic(), st.empty(), st.empty()
    answer, drawn = running.answer, None
    while answer is not None and not answer.done():
        waited = time.monotonic() - began
        if running.shown is not drawn and running.shown is not None:
            drawn = running.shown
            with card.container(border=True):
                _draw_fleet(drawn, is_chosen=running.is_chosen)
            running.drawn.set()
        if waited > _SOON_S or drawn is not None:
            share = 0.0 if running.now is None else running.now.share
            bar.progress(share, running.words())
        wait([answer], _LOOK_S if drawn is not None else _SOON_LOOK_S)
    bar.empty()
    card.empty()
    if answer is None:
        raise RuntimeError("No thread works on this answer. Load the page again.")
    return answer.result()


def _draw_fleet(of: FirstAnswer, *, is_chosen: bool) -> None:
    """Draw a fleet, while others are compared with it or the rest of the answer is worked out."""
    if is_chosen:
        tiles.draw(of.fleet, charts.tiles(of))
        return
    line = (
        "Cheaper fleets are being compared with it."
        if of.keeps
        else "Some runs are late; fleets that are in time are being compared with it."
    )
    tiles.draw(of.fleet, charts.tiles(of), badge="first estimate", line=line, tied=False)


def prepare(shared: Store, texts: Sequence[Mapping[str, Sequence[str]]]) -> None:
    """Estimate the times of some questions in a thread: someone may ask one of them next."""
    catalog = hardware.catalog().catalog
    key = ("prepared", shared.serial, shared.generation, hardware.stamps(), _today(), repr(texts))

    def work() -> None:
        for question in texts:
            capacity_prepared(shared, catalog, question, _today())

    if _PREPARED.peek(key) is MISSING:
        _PREPARED.once(key, lambda: _AHEAD.submit(work))


def _kept(
    key: Hashable, running: _Running, work: Callable[[Tell], CapacityAnswer]
) -> CapacityAnswer:
    answer: CapacityAnswer = _ANSWERS.once(key, lambda: work(running.tell))
    return answer


def drawn(of: PlanReply, name: Hashable, draw: Callable[[], Made]) -> Made:
    """Return a chart, rows or cards of an answer, drawn once."""
    return _DRAWN.once((of.key, name), draw)


def session() -> dict[str, Any]:
    """Return what this session remembers of the page between its runs."""
    memory: dict[str, Any] = st.session_state.setdefault("capacity.memory", {})
    return memory


def clear() -> None:
    """Forget all answers; for tests."""
    for kept in (_ANSWERS, _DRAWN, _PREPARED):
        kept.clear()


def _today() -> date:
    return datetime.now(UTC).date()
