"""A page, the command and the HTTP interface tell the same numbers, to the last digit."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette

from api.routes import Rules, routes
from pages.parts import compare_state, state, widgets
from planner.__main__ import main
from planner.commands import words
from planner.export import csv_text
from planner.store.folders import OWN
from tests.api.served import ask
from tests.pages.conftest import show

Files = dict[str, Callable[[], bytes | str]]
WORKLOAD = "wideresnet-103m-cifar-100-adam-float32"
LLM = {"workload": "described", "samples": "1e6", "params": "7e9", "tokens": "2048",
       "precision": "bfloat16", "epochs": "1", "network_optimizer": "AdamW"}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where nobody has rows or runs of their own; one store for all tests of this file."""
    yield tmp_path_factory.mktemp("nobody")
    state._store.clear()


@pytest.fixture(autouse=True)
def nobody_s_own(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OWN, str(place / "results"))
    monkeypatch.setenv("EPOCHWISE_CATALOG", str(place / "catalog"))
    monkeypatch.setattr(words, "open_store", lambda _: state.store())


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Files:
    """What every download button of the page would hand out."""
    kept: Files = {}

    def download(
        label: str, make: Callable[[], bytes | str], name: str, *, key: str, **more: object
    ) -> None:
        kept[key] = make

    monkeypatch.setattr(widgets, "download", download)
    return kept


def _page(name: str, question: dict[str, str]) -> None:
    assert not show(name, **question).warning


def _api(name: str, question: dict[str, str]) -> dict[str, Any]:
    rules = Rules(store=state.store, catalogs=(compare_state.SHIPPED, compare_state.folder()))
    told = ask(Starlette(routes=routes(rules)), f"/api/v1/{name}?{urlencode(question)}")
    assert told.status == 200, told.body
    body: dict[str, Any] = told.json
    return body


def _command(name: str, question: dict[str, str], capsys: pytest.CaptureFixture[str]) -> object:
    link = f"http://127.0.0.1:8501/{name}?{urlencode(question)}"
    capsys.readouterr()
    assert main([name, "--json", "--link", link]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "question",
    [
        {"epochs": "137", "session": "on", "without_suspects": "on", "scale": "linear"},
        {"workload": "mlp-64-64-digits-sgd-float32", "epochs": "3"},
    ],
)
def test_totals(question: dict[str, str], files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    _page("how-long", question)
    told = _api("projection", question)
    assert files["how-long.csv"]() == csv_text(told["rows"])
    assert _command("how-long", question, capsys) == told


@pytest.mark.parametrize(
    "question",
    [
        {"workload": "mlp-64-64-digits-sgd-nesterov-0.9-float32", "without_suspects": "on"},
        {"beside": "unnamed-model", "systems": "gpu"},
    ],
)
def test_curves(question: dict[str, str], files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    _page("throughput", question)
    told = _api("curve", question)
    assert files["throughput.csv"]() == csv_text(told["curves"])
    assert files["throughput.points"]() == csv_text(told["points"])
    assert _command("curve", question, capsys) == told


@pytest.mark.parametrize(
    "question",
    [
        {"deadline": "72", "budget": "120", "country": "DE", "runs_per_month": "9.5"},
        {"order": "time", "currency": "JPY", "rate": "151.5", "rate_as_of": "2026-11-01",
         "tax": "10", "own": "rent|h100-sxm|1|2.49"},
        {"workload": "mlp-64-64-digits-sgd-nesterov-0.9-float32", "goal": "target"},
        LLM,
    ],
)  # fmt: skip
def test_comparisons(
    question: dict[str, str], files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    _page("compare", question)
    told = _api("compare", question)
    page = _without_finish(files["compare.csv"]())
    assert page == _without_finish(csv_text(told["rows"]))
    assert _command("compare", question, capsys) == told


def _without_finish(text: bytes | str) -> list[dict[str, str]]:
    """Rows of a CSV file; when work would be done depends on when one asks."""
    told = text.decode() if isinstance(text, bytes) else text
    rows = list(csv.DictReader(io.StringIO(told)))
    assert rows
    return [{n: v for n, v in r.items() if n != "finishes"} for r in rows]
