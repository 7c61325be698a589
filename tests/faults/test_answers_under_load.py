"""Many at once: a page, the interface and the command line give one answer, whatever else happens.

While a writer commits runs of another workload and others click around, every answer is the one
that a single user got before: the body of the HTTP interface to the byte, the texts of the page to
the letter. The command line's body is the interface's.
"""

from __future__ import annotations

import contextlib
import io
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from planner.__main__ import main
from planner.store import commit_runs
from tests.browser.server import served
from tests.faults.campaign import Child
from tests.faults.hostile import given, query_of
from tests.faults.outcomes import FULL, Outcome, drawn, finish
from tests.faults.sane import body_of
from tests.faults.serving import TABLES, Asking, Names, known_names, names_at
from tests.faults.visitor import visit
from tests.faults.writer import case
from tests.shipped import store
from tests.store.build import a_set

pytestmark = pytest.mark.faults
ANSWERS: Final = 999 if FULL else 3
QUESTIONS: Final = 111 if FULL else 3
"""Different questions; each is asked several times, so that kept answers are asked for too."""
COMMANDS: Final = 60 if FULL else 3
OTHERS: Final = 3 if FULL else 1
"""Sessions that click around beside the one that is compared."""
WRITES_S: Final = 0.5
"""Time between two runs of the writer [s]."""
KINDS: Final = (
    ("how-long", "/api/v1/projection", "how-long"),
    ("compare", "/api/v1/compare", "compare"),
    ("throughput", "/api/v1/curve", "curve"),
)
"""A page, the address of the interface that answers the same, and the command that does."""
_VOLATILE: Final = re.compile(
    r"[0-9a-f]{32,64}|\$\$ID-[^\s]+|/media/\S+"
    r"|[A-Z][a-z]{2} [0-9]{1,2} [A-Z][a-z]{2}[^0-9]{0,3}(?:20[0-9]{2},? )?"
    r"[0-9]{2}\\?:\u2060?[0-9]{2}|20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}"
)
"""What differs between sessions: names of elements and of files to download, and the clock."""
_COUNTED: Final = re.compile(r"[0-9] runs\s+last recorded|^stub \([0-9,]+ runs?\)")
"""What counts the writer's runs, as it should: the line below the menu, and its workload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, and what a single user is answered."""

    page: str
    path: str
    command: str
    query: str
    body: bytes
    sentences: tuple[str, ...]
    words: tuple[str, ...]


def write(say: Callable[[str], None], place: Path, stop: Path) -> None:
    """The work of a child that commits a run now and then until the file `stop` is there."""
    number = 0
    while not stop.exists():
        commit_runs(place, [case("under load", number)])
        number += 1
        time.sleep(WRITES_S)
    say(str(number))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the writer writes into."""
    return tmp_path_factory.mktemp("load") / "results"


@pytest.fixture(scope="module")
def url(place: Path) -> Iterator[str]:
    """The app on the shipped results and that folder."""
    commit_runs(a_set(place, slug="writer"), [case("before", 0)])
    with served(place) as address:
        yield address


def test_every_answer_under_load_is_the_one_of_a_single_user(
    url: str, place: Path, tmp_path: Path
) -> None:
    outcome = Outcome(name="answers under load")
    asked = _questions(url)
    _commands(outcome, asked, place)
    stop = tmp_path / "stop"
    writer = Child(write, place / "writer", stop)
    ended = threading.Event()
    with ThreadPoolExecutor(OTHERS + 1) as pool:
        others = [pool.submit(_clicks, url, n, asked, ended) for n in range(OTHERS)]
        try:
            for number in range(ANSWERS):
                _compared(outcome, url, asked[number % len(asked)], number)
        finally:
            ended.set()
            stop.touch()
        outcome.counts["answers to others"] = sum(other.result() for other in others)
    assert writer.ended() == 0
    outcome.counts["runs written"] = int(writer.said[-1])
    finish(outcome)


def _questions(url: str) -> list[Asked]:
    """Questions that have an answer, with what a single user gets."""
    found: list[Asked] = []
    number = 0
    with Asking(url) as asking:
        known = known_names(store(), asking.get("/api/v1/options").body)
        while len(found) < QUESTIONS:
            page, path, command = KINDS[len(found) % len(KINDS)]
            query = _query(path, number, known)
            number += 1
            answer = asking.get(f"{path}?{query}")
            if answer.status == 200:
                found.append(
                    Asked(page=page, path=path, command=command, query=query, body=answer.body,
                          sentences=_sentences(answer.body), words=_words(url, page, query))
                )  # fmt: skip
    return found


def _query(path: str, number: int, known: Sequence[Names]) -> str:
    draw = drawn(f"answers of {path}", number)
    names = draw.choice(names_at(path, known))
    pairs = [p for p in given(draw, TABLES[path], names) if p[0] not in {"by", "workload"}]
    return query_of([("workload", names["workload"][0]), *pairs])


def _sentences(body: bytes) -> tuple[str, ...]:
    answer = body_of(body)
    return tuple(answer["sentences"]) if "sentences" in answer else (answer["sentence"],)


def _words(url: str, page: str, query: str) -> tuple[str, ...]:
    seen = visit(url, page, query)
    assert seen.exceptions == []
    texts = (t for t in seen.texts if " " in t and not t.startswith("{"))
    return tuple(_VOLATILE.sub("", t) for t in texts if not _COUNTED.search(t))


def _commands(outcome: Outcome, asked: Sequence[Asked], place: Path) -> None:
    """The command line prints the interface's body."""
    for number in range(COMMANDS):
        one = asked[number % len(asked)]
        what = f"{one.command} {one.query[:200]}"
        printed = io.StringIO()
        with outcome.case(what), contextlib.redirect_stdout(printed):
            main([one.command, "--json", "--link", f"x?{one.query}", "--results", str(place)])
        outcome.counts["commands"] += 1
        if body_of(printed.getvalue().encode()) != body_of(one.body):
            outcome.differs(f"{what}: the command prints something else than the interface")


def _compared(outcome: Outcome, url: str, one: Asked, number: int) -> None:
    what = f"answer {number}: {one.path}?{one.query[:200]}"
    with outcome.case(what), Asking(url) as asking:
        answer = asking.get(f"{one.path}?{one.query}")
        if answer.body != one.body:
            outcome.differs(f"{what}: {answer.status}: another body than before")
    with outcome.case(what):
        words = _words(url, one.page, one.query)
        if words != one.words:
            changed = sorted(set(words) ^ set(one.words))[:2]
            outcome.differs(f"{what}: the page says something else: {changed}")
        said = "\n".join(words).replace("\\", "").replace("\u00a0", " ").replace("\u2060", "")
        for sentence in one.sentences:
            if sentence.replace("\u00a0", " ") not in said:
                outcome.differs(f"{what}: the page does not say {sentence!r}")
    outcome.counts["answers"] += 1


def _clicks(url: str, number: int, asked: Sequence[Asked], ended: threading.Event) -> int:
    """Another user, who opens one page after another; how many answers they got."""
    draw, answers = drawn("others", number), 0
    while not ended.is_set():
        one = draw.choice(asked)
        visit(url, draw.choice((one.page, "results", "steps-to-target")), one.query)
        answers += 1
        ended.wait(draw.uniform(0.0, 0.6))
    return answers
