"""Answers of Capacity are worked out once, whoever asks, and those who wait read what is done."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pages.capacity import state
from planner.capacity import CapacityAnswer, PlanProgress, Tell
from planner.store import Store

TEXTS = {"jobs": ["name=A; network=resnet-50; epochs=1; samples=1000"], "months": ["12"]}


def test_equal_questions_of_two_visitors_are_one_answer(
    monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    asked: list[Any] = []
    both, said = threading.Barrier(3, timeout=20.0), threading.Event()

    def answered(*question: object) -> CapacityAnswer:
        asked.append(question)
        tell: Tell = question[-1]  # type: ignore[assignment]
        tell(PlanProgress(words="Compared 9 fleets", share=0.5))
        said.wait(20.0)
        return CapacityAnswer(sentence="Buy", keeps=True)

    monkeypatch.setattr(state, "capacity_answered", answered)
    state.clear()

    def visit() -> CapacityAnswer:
        both.wait()
        return state.reply(store, TEXTS, state.question_of(TEXTS)).answer

    with ThreadPoolExecutor(2) as visitors:
        replies = [visitors.submit(visit) for _ in range(2)]
        both.wait()
        while not state._RUNNING or next(iter(state._RUNNING.values())).now is None:
            assert not any(r.done() for r in replies)
        assert "Compared 9 fleets" in next(iter(state._RUNNING.values())).words()
        said.set()
        answers = [r.result(20.0) for r in replies]
    assert answers[0] is answers[1]
    assert len(asked) == 1
    assert not state._RUNNING
    assert state.reply(store, TEXTS, state.question_of(TEXTS)).answer is answers[0]
    state.clear()


def test_presets_are_estimated_ahead_once(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(state, "capacity_prepared", lambda *question: asked.append(question[2]))
    state.clear()
    for _ in range(3):
        state.prepare(store, [TEXTS, {**TEXTS, "months": ["24"]}])
    state._AHEAD.submit(lambda: None).result(20.0)
    assert asked == [TEXTS, {**TEXTS, "months": ["24"]}]
    state.clear()
