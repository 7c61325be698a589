"""The mark of unofficial runs: on each page, download, answer and command that rests on them.

With the same set as an official one, none of them has it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from api.routes import ANSWERS
from planner.__main__ import run
from planner.answers import compare_answered, curve_answered, how_long_answered
from planner.answers.comparison import option_rows
from planner.core.slugs import UNOFFICIAL
from planner.epochs import Option
from planner.store import Store
from planner.store.catalog import read_catalog
from planner.store.sealed.result_set import NAME
from planner.throughput import curve_rows
from tests.api.served import CATALOG, TODAY, app, ask
from tests.pages.conftest import show
from tests.pages.test_access import everything
from tests.pages.test_leaks import _texts as texts_of_file
from tests.pages.test_leaks import made
from tests.store.build import opened
from tests.store.standing import SYSTEM, WORKLOAD, build
from tests.titles import PAGES

__all__ = ["made"]
JOB: Final = f"name=Train; workload={WORKLOAD}; epochs=20"
LINKS: Final = {
    "how-long": {"workload": WORKLOAD},
    "compare": {"workload": WORKLOAD},
    "capacity": {"jobs": JOB},
    "throughput": {"workload": WORKLOAD},
    "scaling-out": {"workload": WORKLOAD},
    "explore": {"x": "global_batch_size", "y": "samples_per_s"},
}
"""Links of pages that would ask about something else."""
WITHOUT_RUNS: Final = ("measure", "method")
"""Pages that show no run of a set: sweeps of this machine, and tests on shipped results."""
ROUTES: Final = {
    "/api/v1": "",
    "/api/v1/results": "",
    "/api/v1/projection": f"workload={WORKLOAD}",
    "/api/v1/curve": f"workload={WORKLOAD}",
    "/api/v1/scaling-out": f"workload={WORKLOAD}",
    "/api/v1/compare": f"workload={WORKLOAD}",
    "/api/v1/options": f"workload={WORKLOAD}",
    "/api/v1/capacity": f"jobs={JOB.replace(' ', '%20').replace('=', '%3D').replace(';', '%3B')}",
    "/api/v1/explore": "x=global_batch_size&y=samples_per_s",
    "/api/v1/sql": "sql=SELECT%20run_id%2C%20standing%20FROM%20runs",
}
COMMANDS: Final = {
    "how-long": ["--workload", WORKLOAD],
    "how-long --list": ["workloads"],
    "curve": ["--workload", WORKLOAD],
    "compare": ["--workload", WORKLOAD],
    "compare --goal target": ["--workload", WORKLOAD],
    "compare --list": ["options", "--workload", WORKLOAD],
    "scaling-out": ["--workload", WORKLOAD],
    "capacity": ["--jobs", JOB],
    "explore": ["--workload", WORKLOAD, "--x", "global_batch_size", "--y", "samples_per_s"],
    "sql": ["SELECT system FROM runs WHERE system LIKE '%Zanzibar%'"],
}
_EXPORTED: Final = "brought"
_WITHOUT_TIMES: Final = frozenset({"epochwise-jobs.csv", "epochwise-template.csv"})
"""Files of the user's own entries, and for them."""
_BETWEEN: Final = r"(?: |-|\\+u003cbr\\+u003e|</text><text[^>]*>)"
_BARE: Final = re.compile(rf"{SYSTEM}(?!{_BETWEEN}\\*\(?{UNOFFICIAL})", re.IGNORECASE)
"""The name of the system without its mark, which a chart writes on a line of its own."""


@pytest.fixture(params=[UNOFFICIAL, ""], ids=["unofficial", "official"])
def standing(request: pytest.FixtureRequest, alone: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The standing of the only set."""
    monkeypatch.setenv("EPOCHWISE_MEASURE", "on")
    build(alone, request.param)
    return str(request.param)


def _said(text: str, standing: str) -> None:
    """Fail where the mark is missing, or where the runs are official and have one."""
    if standing:
        assert UNOFFICIAL in text
        assert [text[max(m.start() - 80, 0) : m.end() + 40] for m in _BARE.finditer(text)] == []
    else:
        assert UNOFFICIAL not in text


@pytest.mark.parametrize("page", [page for page in PAGES if page not in WITHOUT_RUNS])
def test_a_page_and_its_files_say_that_their_runs_are_unofficial(
    standing: str, made: dict[str, bytes], page: str
) -> None:
    shown = show(page, **LINKS.get(page, {}))
    assert not shown.exception
    if page == "add-results" and not standing:
        assert "Brought numbers" not in everything(shown)  # it lists unofficial sets only
        return
    _said(everything(shown), standing)
    if page == "results":
        shown.selectbox(key="results.export").set_value(f"yours/{_EXPORTED}")
        shown.run()
    for name, data in made.items():
        said = "\n".join(texts_of_file(name, data))
        print("FILE", name)
        if name.startswith(
            f"epochwise-{_EXPORTED}"
        ):  # runs as they were measured, beside the words of their set
            assert (UNOFFICIAL in said) is bool(standing), name
        elif name not in _WITHOUT_TIMES:
            _said(said, standing)


@pytest.mark.parametrize("page", ["how-long", "compare", "throughput", "scaling-out"])
def test_the_first_tiles_of_a_page_say_it(standing: str, page: str) -> None:
    tiles = next(
        str(block.proto.body) for block in show(page, **LINKS[page]).get("html")
        if "epochwise-answer" in block.proto.body
    )  # fmt: skip
    assert (UNOFFICIAL in tiles) is bool(standing)


def test_every_address_that_shows_results_says_it(standing: str, alone: Path) -> None:
    assert set(ROUTES) == set(ANSWERS)
    served = app(opened(alone))
    for path, query in ROUTES.items():
        answer = ask(served, f"{path}?{query}")
        assert answer.status == 200, (path, answer.json)
        standings = _values(answer.json, "standing")
        assert standings, path
        assert set(standings) == {standing or None}, path
        _said(answer.body.decode() if path != "/api/v1/sql" else str(standings), standing)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_shows_results_says_it(
    standing: str, alone: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    code = run([*command.split(), *COMMANDS[command], "--results", str(alone)])
    said = capsys.readouterr()
    assert code == 0, said.err
    _said(said.out, standing)


@pytest.mark.parametrize("command", ["capacity", "report"])
def test_a_report_of_a_command_says_it(
    standing: str, alone: Path, tmp_path: Path, command: str
) -> None:
    out = tmp_path / "report.html"
    options = (
        ["--report", str(out)] if command == "capacity" else ["--out", str(out), "--with-data"]
    )
    asked = COMMANDS["capacity" if command == "capacity" else "compare"]
    assert run([command, *asked, *options, "--results", str(alone)]) == 0
    for file in tmp_path.glob("report.*"):
        _said("\n".join(texts_of_file(file.name, file.read_bytes())), standing)


def test_a_set_that_is_checked_loses_its_mark_at_the_next_look(alone: Path) -> None:
    place = build(alone, UNOFFICIAL)
    store = opened(alone)
    before = [option.label for option in _options(store)]
    (place / NAME).write_text((place / NAME).read_text().replace(UNOFFICIAL, "checked"))
    store.refresh()
    after = [option.label for option in _options(store)]
    assert before == [name.replace(SYSTEM, f"{SYSTEM} ({UNOFFICIAL})") for name in after]
    link = {"workload": [WORKLOAD], "systems": [f"4-x-{SYSTEM.lower()}-unofficial-batch-512"]}
    assert how_long_answered(store, link).problems == ()


def test_an_unofficial_set_moves_no_answer_of_a_checked_one(alone: Path, tmp_path: Path) -> None:
    build(tmp_path / "bare", "")
    build(alone, "")
    build(alone, UNOFFICIAL, slug="other", faster=3.0)
    bare, both = opened(tmp_path / "bare"), opened(alone)
    assert _curves(both, official=True) == _curves(bare, official=True)
    options = [_compared(store) for store in (bare, both)]
    shared = options[0].keys() & options[1].keys()
    assert {k: options[0][k] for k in shared} == {k: options[1][k] for k in shared}
    assert shared


def _values(tree: object, name: str) -> list[object]:
    """Every value of that name in JSON data; of a table that of its columns too."""
    if isinstance(tree, dict):
        if "columns" in tree and name in (names := [c["name"] for c in tree["columns"]]):
            return [row[names.index(name)] for row in tree["rows"]]
        own = [tree[name]] if name in tree else []
        return own + [v for value in tree.values() for v in _values(value, name)]
    return [v for value in tree for v in _values(value, name)] if isinstance(tree, list) else []


def _options(store: Store) -> tuple[Option, ...]:
    result = how_long_answered(store, {"workload": [WORKLOAD]}).result
    assert result is not None
    return tuple(answer.option for answer in result.answers)


def _curves(store: Store, *, official: bool) -> dict[str, object]:
    chosen = curve_answered(store, {"workload": [WORKLOAD]}).chosen
    rows = curve_rows(chosen)
    return {str(r["curve"]): r for r in rows if (r["standing"] is None) is official}


def _compared(store: Store) -> dict[str, object]:
    answer = compare_answered(
        store, read_catalog(CATALOG).catalog, {"workload": [WORKLOAD]}, TODAY
    ).answered.comparison
    assert answer is not None
    return {
        str(row["option_id"]): (row["time_s"], row["standing"])
        for row in option_rows(answer)
        if row["standing"] is None
    }
