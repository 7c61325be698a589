"""A page, the command and the HTTP interface tell the same numbers, to the last digit."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette

from api.routes import Rules, routes
from pages.common import handout, hardware, widgets
from pages.common import kept as state
from pages.compare import inputs
from planner.__main__ import main
from planner.commands import words
from planner.core import csv_text
from planner.core.slugs import slugs
from planner.epochs import MOST_CHOSEN, START_NOT_INCLUDED, options_of
from planner.runs import Run
from planner.store import queries
from planner.store.disk.folders import OWN
from tests import shipped
from tests.api.served import ask
from tests.faults.outcomes import FULL
from tests.pages.conftest import show

Files = dict[str, Callable[[], bytes | str]]
WORKLOAD = "wideresnet-103m-cifar-100-adam-float32"
LLM = {"workload": "described", "samples": "1e6", "params": "7e9", "tokens": "2048",
       "precision": "bfloat16", "epochs": "1", "network_optimizer": "AdamW"}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Without rows or runs of a user; one store for all tests of this file."""
    yield tmp_path_factory.mktemp("empty")
    state._store.cache_clear()


@pytest.fixture(autouse=True)
def without_own_files(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    """Open a page on its tables: their downloads exist where they are drawn."""
    assert not show(name, tab="table", **question).warning


def _api(name: str, question: dict[str, str] | list[tuple[str, str]]) -> dict[str, Any]:
    rules = Rules(store=lambda _: state.store(), catalogs=(hardware.SHIPPED, hardware.folder()))
    reply = ask(Starlette(routes=routes(rules)), f"/api/v1/{name}?{urlencode(question)}")
    assert reply.status == 200, reply.body
    body: dict[str, Any] = reply.json
    return body


def _command(name: str, question: dict[str, str], capsys: pytest.CaptureFixture[str]) -> object:
    return _command_told(name, question, capsys, (words.ANSWERED,))


def _command_told(
    name: str,
    question: dict[str, str] | list[tuple[str, str]],
    capsys: pytest.CaptureFixture[str],
    ends: tuple[int, ...] = (words.ANSWERED, words.REFUSED),
) -> object:
    """What the command prints, which may be that all of it is refused."""
    link = f"http://127.0.0.1:8501/{name}?{urlencode(question)}"
    capsys.readouterr()
    assert main([name, "--json", "--link", link]) in ends
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
    reply = _api("projection", question)
    assert files["how-long.csv"]() == csv_text(reply["rows"])
    assert _command("how-long", question, capsys) == reply


@pytest.mark.parametrize(
    "question",
    [
        {"workload": "mlp-64-64-digits-sgd-nesterov-0.9-float32", "without_suspects": "on"},
        {"beside": "unnamed-model", "systems": "gpu"},
    ],
)
def test_curves(question: dict[str, str], files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    _page("throughput", question)
    reply = _api("curve", question)
    assert files["throughput.csv"]() == csv_text(reply["curves"])
    assert files["throughput.points"]() == csv_text(reply["points"])
    assert _command("curve", question, capsys) == reply


@pytest.mark.parametrize(
    "question",
    [
        {"deadline": "72", "budget": "120", "country": "DE", "runs_per_month": "9.5"},
        {"workload": "mlp-64-64-digits-sgd-nesterov-0.9-float32", "goal": "target"},
        LLM,
        *([
            {"order": "time", "currency": "JPY", "rate": "151.5", "rate_as_of": "2026-11-01",
             "tax": "10", "own": "rent|h100-sxm|1|2.49"},
            {"deadline": "72", "budget": "120", "currency": "EUR", "rate": "0.86",
             "rate_as_of": "2026-11-01", "tax": "20", "country": "DE",
             "tariff_usd_per_kwh": "0.15", "own": "rent|h100-sxm|1|2.49|EUR|0.86"},
            {"assumed_mfu": "40"}, {"network": "DLRM", "samples": "4.2e9"},
        ] if FULL else []),
    ],
)  # fmt: skip
def test_comparisons(
    question: dict[str, str], files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    _page("compare", question)
    reply = _api("compare", question)
    page = _without_finish(files["compare.csv"]())
    assert page == _without_finish(csv_text(reply["rows"]))
    assert _command("compare", question, capsys) == reply
    report = _text(files["compare.report"]())
    keeps = (reply["keeps"] or "").split(": ", 1)[-1]  # hours are a date where one knows the time
    for text in (reply["sentence"], keeps, reply["undecided"] or "", reply["money"][1:]):
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
    monkeypatch.setattr(inputs, "now", lambda: NOW)
    monkeypatch.setattr(words, "now", lambda: NOW)
    monkeypatch.setattr(handout, "now", lambda: f"{NOW:%Y-%m-%d %H:%M} UTC")
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


def _cases() -> Iterator[tuple[str, str, str]]:
    """Every shipped workload with good training runs, under each of its input patterns.

    And the samples of an epoch, where its runs state samples/s and no epoch.
    """
    known = slugs(queries.workloads(shipped.store()))
    asked = set(shipped.every(known.values())[:: 1 if FULL else 8])
    for workload, name in known.items():
        if name not in asked:
            continue
        for pattern, its_name in slugs(queries.patterns(shipped.store(), name)).items():
            good = [
                r
                for r in queries.runs_of(shipped.store(), name, its_name)
                if r.mode == "training" and r.status == "ok"
            ]
            if any(r.later_epoch_mean_s for r in good):
                yield workload, pattern, ""
            elif any(r.samples_per_s for r in good):
                yield workload, pattern, "100000"


def test_every_shipped_workload_has_one_answer_wherever_it_is_asked(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = list(_cases())
    assert len(cases) > 4
    for workload, pattern, samples in cases:
        _has_one_answer(workload, pattern, samples, files, capsys)


def _has_one_answer(
    workload: str, pattern: str, samples: str, files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    place = {"workload": workload, "pattern": pattern, "epochs": "137"}
    if samples:
        place["samples_per_epoch"] = samples
    _page("compare", place)
    reply = _api("compare", place)
    assert _command_told("compare", place, capsys) == reply
    assert _without_finish(files["compare.csv"]()) == _without_finish(csv_text(reply["rows"]))
    report, csv_rows = _text(files["compare.report"]()), reply["rows"]
    assert " ".join(reply["sentence"].split()) in report
    assert len(_start_ups(csv_rows)) <= 1
    unstated = {r.run_id for r in _runs(workload, pattern) if r.global_batch_size is None}
    for row in csv_rows:
        if row["global_batch_size"]:
            assert f"batch {row['global_batch_size']:,.0f}" in report
        else:  # every option shows its batch, where its run states one
            assert row["run_id"] in unstated or (unstated and not row["run_id"])
        if row["run_id"] and row["way"] == "own":  # a rented machine takes its start as well
            _agrees_with_how_long(row, place, files, capsys)
    leader = csv_rows[0]
    if leader["global_batch_size"] and leader["rank"]:
        assert f"at batch {leader['global_batch_size']:,.0f}" in reply["sentence"]


def _start_ups(rows: list[dict[str, Any]]) -> set[bool]:
    """Whether the totals that are ranked leave start-up out: all of them, or none."""
    return {START_NOT_INCLUDED in str(r["notes"]) for r in rows if not r["refused"]}


def _runs(workload: str, pattern: str) -> Sequence[Run]:
    name = slugs(queries.workloads(state.store()))[workload]
    return queries.runs_of(
        state.store(), name, slugs(queries.patterns(state.store(), name))[pattern]
    )


def _agrees_with_how_long(
    row: dict[str, Any], place: dict[str, str], files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    """One option of Compare is the fastest run of its system on How long?, to the digit shown."""
    options = options_of(_runs(place["workload"], place["pattern"]))
    names = slugs([o.label for o in options])
    same = [s for s, o in zip(names, options, strict=True)
            if o.run.system == row["system"] or o.run.run_id == row["run_id"]]  # fmt: skip
    here = next(s for s, o in zip(names, options, strict=True) if o.run.run_id == row["run_id"])
    ask = [*place.items(), ("session", "on"), ("baseline", here)]
    ask += [("systems", s) for s in same[:MOST_CHOSEN]]
    link: dict[str, str | list[str]] = {**place, "session": "on", "baseline": here}
    assert not show("how-long", tab="table", **link, systems=same[:MOST_CHOSEN]).warning
    reply = _api("projection", ask)
    assert files["how-long.csv"]() == csv_text(reply["rows"])
    assert _command_told("how-long", ask, capsys) == reply
    assert len(_start_ups(reply["rows"])) <= 1
    totals = {r["run_id"]: r for r in reply["rows"]}
    own = totals[row["run_id"]]
    assert own["total_hms"] == row["time_hms"]
    if row["time_s"] is None:
        assert own["refused"] == row["refused"]
    if row["time_s"] is not None:
        ends = [own["low_s"], own["high_s"]]
        assert [row["time_s_low"], row["time_s_high"]] == pytest.approx(ends, rel=1e-4, abs=1e-3)
        assert row["basis"] == own["basis"]
    if own["total_s"] is not None:
        fastest = min(r["total_s"] for r in totals.values() if r["total_s"] is not None)
        assert own["total_s"] == fastest
