"""Questions to a real server: whatever is asked, it answers soon, and with possible numbers."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from planner.core import LONGEST_QUERY
from tests.browser.server import served
from tests.faults.hostile import Pairs, given, query_of
from tests.faults.outcomes import FULL, HANG_S, Outcome, drawn, finish
from tests.faults.sane import body_of, impossible
from tests.faults.serving import TABLES, Asking, Names, Response, known_names, names_at
from tests.shipped import store

pytestmark = pytest.mark.faults
COUNTS: Final = {
    "/api/v1": 100 if FULL else 3,
    "/api/v1/results": 1000 if FULL else 8,
    "/api/v1/projection": 1300 if FULL else 8,
    "/api/v1/curve": 1300 if FULL else 8,
    "/api/v1/compare": 1500 if FULL else 8,
    "/api/v1/options": 400 if FULL else 6,
}
"""Questions at each address: 5,600 in full."""
AT_ONCE: Final = 2
BASES: Final[Sequence[Pairs]] = (
    [],
    [],
    [("currency", "EUR"), ("rate", "0.86"), ("rate_as_of", "2026-11-01")],
    [("workload", "described"), ("samples", "1000000"), ("flops", "1e9"), ("epochs", "10")],
    [("workload", "described"), ("samples", "1e6"), ("params", "7e9"), ("tokens", "2048"),
     ("precision", "bfloat16"), ("epochs", "1")],
    [("workload", "mlp-64-64-digits-sgd-nesterov-0.9-float32"), ("goal", "target")],
)  # fmt: skip
"""What a drawn question about hardware begins with, so that more of them are answered."""
STATUSES: Final = {200, 400, 404, 414}
LONGEST_HEAD: Final = 64 * 1024
"""Bytes of a request's head at which every server of HTTP closes the connection unread."""
UNREAD: Final = b"Invalid HTTP request received."
"""What it sends before it closes the connection; a client may see a reset instead."""
CLOSED: Final = Response(status=414, body=b"{}", took_s=0.0)
_HOOKS: Final = Path(__file__).with_name("schemathesis_hooks.py")
ROW: Final = ("run_id", "option", "system", "way", "accelerator", "accelerators", "input_pattern")
"""What tells rows apart, whatever their numbers are."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on the shipped results."""
    with served(tmp_path_factory.mktemp("questions") / "results") as address:
        yield address


@pytest.fixture(scope="module")
def known(url: str) -> Sequence[Names]:
    """What exists to be asked for."""
    with Asking(url) as asking:
        return known_names(store(), asking.get("/api/v1/options").body)


@pytest.mark.parametrize("path", sorted(COUNTS))
def test_no_question_breaks_the_interface(url: str, known: Sequence[Names], path: str) -> None:
    outcome = Outcome(name=f"questions to {path}")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        parts = [range(n, COUNTS[path], AT_ONCE) for n in range(AT_ONCE)]
        for asked in pool.map(lambda part: _asked(url, known, path, part), parts):
            for what, result in asked:
                _judged(outcome, what, result)
    finish(outcome)


def _asked(
    url: str, known: Sequence[Names], path: str, numbers: range
) -> list[tuple[str, Response | Exception]]:
    found: list[tuple[str, Response | Exception]] = []
    with Asking(url) as asking:
        for number in numbers:
            target = f"{path}?{query_of(question(path, number, known))}"
            result: Response | Exception
            try:
                result = asking.get(target)
            except OSError as error:
                result = error
            reset = result.body == UNREAD if isinstance(result, Response) else (
                isinstance(result, ConnectionResetError))  # fmt: skip
            closed = reset and len(target) > LONGEST_HEAD
            found.append((f"{number} {target[:300]}", CLOSED if closed else result))
    return found


def question(path: str, number: int, known: Sequence[Names]) -> Pairs:
    """Question `number` of an address."""
    draw = drawn(f"questions to {path}", number)
    bases = BASES if path in {"/api/v1/compare", "/api/v1/options"} else ([],)
    asked = given(draw, TABLES[path], draw.choice(names_at(path, known)))
    base = draw.choice(bases)
    if "workload" in dict(base):  # the rest of the base is about that workload
        asked = [pair for pair in asked if pair[0] != "workload"]
    named = {name for name, _ in asked}
    return [pair for pair in base if pair[0] not in named] + asked


def _judged(outcome: Outcome, what: str, result: Response | Exception) -> None:
    if isinstance(result, Exception):
        outcome.cases += 1
        outcome.broken(f"{what}: {type(result).__name__}: {result}")
        return
    outcome.took(what, result.took_s)
    outcome.counts[str(result.status)] += 1
    if result.status not in STATUSES:
        outcome.broken(f"{what}: {result.status} {result.body[:300]!r}")
        return
    try:
        faults = list(impossible(body_of(result.body)))
    except ValueError as error:
        faults = [str(error)]
    for fault in faults:
        outcome.differs(f"{what}: {fault}")


# -- by the description of the interface -----------------------------------------------------------


def test_the_interface_is_as_its_description_says(url: str, tmp_path: Path) -> None:
    """Schemathesis draws from the served OpenAPI document and compares every answer with it.

    Names of workloads, patterns and options are data, which no schema holds: a question with a
    name that does not exist is valid by the schema and refused with 400. So the check that valid
    questions are accepted is left out; `EXAMPLES` of tests/api/test_openapi.py hold it instead.
    """
    command = [
        sys.executable, "-m", "schemathesis.cli",
        "--config-file", str(Path(__file__).with_name("schemathesis.toml")),
        "run", f"{url}/api/v1/openapi.json", "--seed", "20260301", "--continue-on-failure",
        "--phases", "coverage,fuzzing" if FULL else "fuzzing",
        "--max-examples", "300" if FULL else "2",
        "--max-response-time", f"{HANG_S if FULL else 120:g}",  # `make test` may share its machine
        "--exclude-checks", "positive_data_acceptance", "--no-color", "--workers", "2",
        "--report", "json", "--report-json-path", str(tmp_path / "report.json"),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True,
                          env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1",
                                            "SCHEMATHESIS_HOOKS": str(_HOOKS)})  # fmt: skip
    outcome = Outcome(name="schemathesis")
    count = re.search(r"([0-9,]+) generated", done.stdout)
    outcome.cases = int(count[1].replace(",", "")) if count else 0
    for line in re.findall(r"❌ (\S+ [^:\n]+): ([0-9]+)", done.stdout):
        outcome.broken(f"{line[1]} x {line[0]}")
    if done.returncode:
        outcome.broken(f"exit {done.returncode}: {(done.stdout + done.stderr)[-8000:]}")
    assert outcome.cases > 0, done.stdout[-2000:] + done.stderr[-2000:]
    finish(outcome)


# -- more is never less --------------------------------------------------------------------------


def test_more_epochs_never_take_less_time(url: str, known: Sequence[Names]) -> None:
    outcome = Outcome(name="more epochs, never less time")
    with Asking(url) as asking:
        for number in range(300 if FULL else 4):
            draw = drawn(outcome.name, number)
            place = f"workload={draw.choice(known)['workload'][0]}&epochs="
            epochs = sorted(draw.sample([1, 2, 3, 5, 10, 90, 100, 300, 2000, 10**5, 10**6], 3))
            bodies = [_answered(outcome, asking, f"/api/v1/projection?{place}{n}") for n in epochs]
            _never_less(outcome, f"{place}{epochs}", [_by_row(b, "total_s") for b in bodies])
    finish(outcome)


def test_a_higher_price_is_never_cheaper(url: str) -> None:
    outcome = Outcome(name="higher price, never cheaper")
    with Asking(url) as asking:
        for number in range(120 if FULL else 2):
            draw = drawn(outcome.name, number)
            base, own = _priced(draw)
            prices = sorted(10 ** draw.uniform(-2, 5) for _ in range(3))
            bodies = [
                _answered(outcome, asking, f"/api/v1/compare?{query_of([*base, own(p)])}")
                for p in prices
            ]
            _never_less(outcome, f"{base} {prices}", [_by_row(b, "cost_per_run") for b in bodies])
    finish(outcome)


def _priced(draw: random.Random) -> tuple[Pairs, Any]:
    """A question, and an option of one's own as a function of its price [USD]."""
    way = draw.choice(("rent", "buy"))
    card, count = draw.choice(("h100-sxm", "rtx-4090", "a100-sxm-80gb")), draw.choice((1, 8))
    base = [*draw.choice(BASES[3:5]), ("order", draw.choice(("cost", "time")))]
    return base, lambda price: ("own", f"{way}|{card}|{count}|{price:.6g}")


def _answered(outcome: Outcome, asking: Asking, target: str) -> Any:  # noqa: ANN401 - plain data
    result = asking.get(target)
    _judged(outcome, target, result)
    return body_of(result.body) if result.status == 200 else {"rows": []}


def _by_row(body: Any, name: str) -> dict[str, float]:  # noqa: ANN401 - plain data
    """A number of each row, by what the row is of."""
    found = {}
    for row in body["rows"]:
        of = json.dumps([row.get(name) for name in ROW])
        if row.get(name) is not None:
            found[of] = float(row[name])
    return found


def _never_less(outcome: Outcome, what: str, rows: list[dict[str, float]]) -> None:
    for less, more in pairwise(rows):
        for of in less.keys() & more.keys():
            outcome.counts["pairs"] += 1
            if more[of] < less[of] * (1 - 1e-9):
                outcome.differs(f"{what}: {of}: {less[of]} and then {more[of]}")


def test_a_question_has_the_length_that_its_limit_names() -> None:
    """The campaign draws questions on both sides of the limit of a query."""
    values: list[Names] = [{"workload": ["x"]}]
    lengths = [len(query_of(question("/api/v1/results", n, values))) for n in range(400)]
    assert min(lengths) < LONGEST_QUERY < max(lengths)
