"""A page, the command and the HTTP interface tell the same numbers, to the last digit."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette

from api.routes import Rules, routes
from pages.parts import compare_deadline, compare_state, state, widgets
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
        {"deadline": "72", "budget": "120", "currency": "EUR", "rate": "0.86",
         "rate_as_of": "2026-11-01", "tax": "20", "country": "DE", "tariff_usd_per_kwh": "0.15",
         "own": "rent|h100-sxm|1|2.49|EUR|0.86"},
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
    report = _text(files["compare.report"]())
    keeps = (told["keeps"] or "").split(": ", 1)[-1]  # hours are a date where one knows the time
    for text in (told["sentence"], keeps, told["undecided"] or "", told["money"][1:]):
        assert " ".join(text.split()) in report


NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "question",
    [
        {"by": "2026-11-27T09:00+09:00", "budget": "120", "currency": "EUR", "rate": "0.86",
         "rate_as_of": "2026-11-01", "tax": "20"},
        LLM | {"deadline": "72"},
    ],
)  # fmt: skip
def test_the_report_of_the_page_is_that_of_the_command(
    question: dict[str, str], files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare_deadline, "now", lambda: NOW)
    monkeypatch.setattr(words, "now", lambda: NOW)
    _page("compare", question)
    out = tmp_path / "offer.html"
    link = f"http://127.0.0.1:8501/compare?{urlencode(question)}"
    assert main(["report", "--out", str(out), "--with-data", "--link", link]) == 0
    page, command = _text(files["compare.report"]()), _text(out.read_text())
    assert page == command
    assert "ends 2" in page
    rows = _text_of(files["compare.csv"]())
    assert out.with_suffix(".csv").read_bytes().decode() == rows
    with_date = "by Fri 27 Nov 2026, 09:00 UTC+09:00 (111 h) for at most 120 EUR with tax"
    assert (with_date if "by" in question else "within 72 h, cheapest?") in page


def _text_of(file: bytes | str) -> str:
    return file.decode() if isinstance(file, bytes) else file


def _text(page: bytes | str) -> str:
    """What a report says, without its style and its link to the live view."""
    seen = r"<style>.*?</style>|<p>This question, live:.*?</p>"
    body = re.sub(seen, "", _text_of(page), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def _without_finish(text: bytes | str) -> list[dict[str, str]]:
    """Rows of a CSV file; when work would be done depends on when one asks."""
    rows = list(csv.DictReader(io.StringIO(_text_of(text))))
    assert rows
    return [{n: v for n, v in r.items() if n != "finishes"} for r in rows]
