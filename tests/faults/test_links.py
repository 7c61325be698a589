"""Links to every page of a real server: no error box, no path of the machine, no hang.

The server holds hostile files beside the shipped results, and the visitor is a stranger: somebody
who may not measure, to whom no page tells where anything lies.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

from pages.visitor.sending import MOST_LINK
from planner.answers import parameters
from planner.answers.comparison import COMPARE
from planner.answers.comparison._parameters import VIEW_ONLY
from planner.core import Parameter
from tests import titles
from tests.browser.server import ROOT, served
from tests.faults.hostile import TEXTS, Pairs, given, query_of
from tests.faults.mutants import good_runs, merged_file, resealed, single_file
from tests.faults.outcomes import FULL, Outcome, drawn, finish
from tests.faults.serving import Asking, Names, known_names, names_at
from tests.faults.visitor import Visit, visit
from tests.shipped import store
from tests.store.build import a_set, opened

pytestmark = pytest.mark.faults
EACH: Final = 158 if FULL else 1
"""Links to each address: 1,896 in full."""
BROKEN: Final = 60 if FULL else 3
AT_ONCE: Final = 2
QUERIES: Final = (
    "workload=bad-net-cifar-10",
    *(("", "workload=bad-net", "workload=good-net-cifar-10") if FULL else ()),
)
"""What is asked of pages about runs with broken bodies and those beside them."""


def _texts_of(*names: str) -> tuple[Parameter, ...]:
    return tuple(Parameter(name=name, words="") for name in names)


PAGES: Final[Mapping[str, tuple[Parameter, ...]]] = MappingProxyType(
    {
        "": (*parameters.HOW_LONG, *_texts_of("scale")),
        "how-long": (*parameters.HOW_LONG, *_texts_of("scale")),
        "compare": (*COMPARE, *_texts_of(*sorted(VIEW_ONLY))),
        "throughput": (
            *parameters.CURVE,
            *_texts_of("scale", "factor", "times", "system", "devices"),
        ),
        "capacity": parameters.CAPACITY,
        "scaling-out": parameters.SCALING_OUT,
        "explore": (*parameters.EXPLORE, *parameters.SQL),
        "add-results": _texts_of("set", "source"),
        "steps-to-target": _texts_of("workload", "optimizers", "target", "round", "scale", "at"),
        "results": parameters.RESULTS,
        "measure": _texts_of("sweep", "ticket", "section"),
        "method": _texts_of("section", "question", "task", "data", "methods", "verdict", "formula"),
    }
)
"""What a link to each page may hold."""
ADDRESSES: Final = MappingProxyType(
    {"": "/api/v1/projection", "how-long": "/api/v1/projection", "compare": "/api/v1/compare"}
)
"""Addresses of the HTTP interface that take the same names."""
LEAKS: Final = re.compile(
    "|".join(
        [re.escape(str(ROOT)), "site-packages", r"Traceback \(most recent", r"\.py\", line",
         "root:x:0", "IOException", r"\[Errno"]
    )
)  # fmt: skip
"""What no stranger is shown: where the program lies, and what went wrong inside it."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results with hostile files in it."""
    return tmp_path_factory.mktemp("links") / "results"


@pytest.fixture(scope="module")
def hostile(place: Path) -> list[str]:
    """Files that are re-sealed with damage inside; ids of the runs that are shown of them."""
    good_runs(place)
    bad = a_set(place, slug="bad")
    for number in range(BROKEN):
        whole = merged_file(bad, 1000 * number) if number % 4 == 0 else single_file(bad, number)
        _, data = resealed(drawn("files beside links", number), whole)
        name = str(number) if number % 4 else f"compact-{number}"
        (bad / f"{name}.parquet").write_bytes(data)
    found = opened(place).rows("SELECT run_id FROM runs WHERE model <> 'Good net' ORDER BY run_id")
    return [str(r[0]) for r in found]


@pytest.fixture(scope="module")
def url(place: Path, hostile: list[str]) -> Iterator[str]:
    """The app as a stranger reaches it, on the shipped results and the hostile folder."""
    with served(place, settings={"EPOCHWISE_MEASURE": "off"}) as address:
        yield address


@pytest.fixture(scope="module")
def known(url: str) -> Sequence[Names]:
    """What exists to be asked for."""
    with Asking(url) as asking:
        return known_names(store(), asking.get("/api/v1/options").body)


def test_no_link_breaks_a_page(url: str, known: Sequence[Names], place: Path) -> None:
    assert PAGES.keys() == titles.PAGES.keys()
    outcome = Outcome(name="links to all pages")
    links = [
        (page, query_of(link(page, n, known))[:MOST_LINK]) for n in range(EACH) for page in PAGES
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for (page, query), seen in zip(
            links, pool.map(lambda a: _seen(url, *a), links), strict=True
        ):
            _judged(outcome, f"/{page}?{query[:300]}", seen, place)
    finish(outcome)


def test_a_run_whose_body_is_broken_breaks_no_page(
    url: str, hostile: list[str], place: Path
) -> None:
    """Such a run is shown by its seal; its page says what cannot be read of it."""
    outcome = Outcome(name="pages of runs with broken bodies")
    assert hostile
    for number, run_id in enumerate(hostile):
        seen = _seen(url, "results", f"run={run_id}")
        _judged(outcome, f"/results?run={run_id} ({number})", seen, place)
    for page in ("", "steps-to-target", "throughput", "compare", "method"):
        for query in QUERIES:
            _judged(outcome, f"/{page}?{query}", _seen(url, page, query), place)
    finish(outcome)


def link(page: str, number: int, known: Sequence[Names]) -> Pairs:
    """Link `number` to a page: its own names, now and then those of another page or of none."""
    draw = drawn(f"links to /{page}", number)
    names = draw.choice(names_at(ADDRESSES.get(page, ""), known))
    table = PAGES[draw.choice(tuple(PAGES))] if draw.random() < 0.15 else PAGES[page]
    pairs = given(draw, table, names)
    return [(name, _spoilt(draw, value)) for name, value in pairs]


def _spoilt(draw: random.Random, value: str) -> str:
    return draw.choice(TEXTS) if draw.random() < 0.1 else value


def _seen(url: str, page: str, query: str) -> Visit | Exception:
    try:
        return visit(url, page, query)
    except (OSError, TimeoutError) as error:
        return error


def _judged(outcome: Outcome, what: str, seen: Visit | Exception, place: Path) -> None:
    if isinstance(seen, Exception):
        outcome.cases += 1
        outcome.broken(f"{what}: {type(seen).__name__}: {seen}")
        return
    if what.startswith("/capacity"):  # a fleet takes seconds of a processor: `make bench` has them
        outcome.cases += 1
    else:
        outcome.took(what, seen.took_s)
    outcome.counts[seen.ended.replace("_", " ").lower()] += 1
    for error in seen.exceptions:
        outcome.broken(f"{what}: {error}")
    leaks = {m[0] for m in LEAKS.finditer(seen.words)}
    leaks |= {str(place.parent)} if str(place.parent) in seen.words else set()
    for leak in sorted(leaks):
        outcome.counts["leaks"] += 1
        outcome.differs(f"{what}: tells {leak}")
