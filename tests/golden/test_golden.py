"""The answers of the program are those that were recorded: no move of code changes one."""

from __future__ import annotations

import math

import pytest

from tests.golden import answers
from tests.golden.questions import QUESTIONS
from tests.golden.record import edges, recorded
from tests.golden.tree import differences, plain, shortened

MOST_SHOWN = 20
RENEW = "Where the change is meant, run `python -m tests.golden` and look at the difference."
LONG = ("page", "report")
"""Both render the record that the command and the interface print."""
CASES = [
    pytest.param(name, edge, id=f"{name}-{edge}", marks=[pytest.mark.long] * (edge in LONG))
    for name, question in QUESTIONS.items()
    for edge in edges(question)
]


@pytest.mark.parametrize(("name", "edge"), CASES)
def test_the_answer_is_the_recorded_one(name: str, edge: str) -> None:
    found = list(differences(answers.read(name)[edge], recorded(QUESTIONS[name], edge)))
    more = f"and {len(found) - MOST_SHOWN} more" if len(found) > MOST_SHOWN else ""
    assert not found, "\n".join([f"{name}, {edge}:", *found[:MOST_SHOWN], more, RENEW])


def test_every_question_has_its_file_and_every_file_its_question() -> None:
    assert {path.stem for path in answers.FOLDER.iterdir()} == set(QUESTIONS)
    assert len(QUESTIONS) == 44


def test_a_number_differs_from_its_thirteenth_digit_on_without_a_word() -> None:
    kept = plain({"time_s": [math.pi, 2.0]})
    assert list(differences(kept, plain({"time_s": [math.pi + 1e-13, 2.0]}))) == []
    assert list(differences(kept, plain({"time_s": [math.pi + 1e-10, 2.0]}))) == [
        "/time_s/0: recorded 3.14159265359, now 3.14159265369"
    ]


def test_a_part_that_comes_goes_or_changes_its_kind_is_a_difference() -> None:
    assert list(differences({"a": 1, "b": [1, 2]}, {"b": [1], "c": None})) == [
        "/a: recorded 1, now 'absent'",
        "/b (entries): recorded 2, now 1",
        "/c: recorded 'absent', now None",
    ]
    assert list(differences(True, 1)) == [": recorded True, now 1"]


def test_a_long_list_is_as_long_and_has_the_same_numbers() -> None:
    numbers = [float(n) for n in range(50)]
    kept = shortened(plain({"x": numbers}))
    assert list(differences(kept, shortened(plain({"x": numbers})))) == []
    numbers[25] += 1e-6
    changed = list(differences(kept, shortened(plain({"x": numbers}))))
    assert [line.split(":")[0] for line in changed] == ["/x/sha256"]
