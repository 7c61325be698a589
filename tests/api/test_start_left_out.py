"""Runs with and without a start-up time: page, command, HTTP interface and report say one thing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette

from api.routes import Rules, routes
from pages.common import hardware, widgets
from pages.common import kept as state
from planner.__main__ import main
from planner.core import csv_text
from tests.api.served import ask
from tests.pages.conftest import alone, own, show, texts
from tests.store.build import a_set, row

__all__ = ["alone", "own"]
TIMES = {"later_epoch_sd_s": 0.1, "epochs_measured": 5, "basis": "measured"}
SLOW = row(
    system_name="T4", pre_train_s=600.0, first_epoch_s=22.0, later_epoch_mean_s=20.0, **TIMES
)
FAST = row(system_name="A100", first_epoch_s=12.0, later_epoch_mean_s=10.0, **TIMES)
SAID = "Start-up time is left out for all options: A100 · batch 64 does not state it."


def test_how_long_answers_alike_and_says_it_once(
    alone: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    a_set(alone, [SLOW, FAST])
    files: dict[str, Callable[[], bytes | str]] = {}

    def download(
        label: str, make: Callable[[], bytes | str], name: str, *, key: str, **more: object
    ) -> None:
        files[key] = make

    monkeypatch.setattr(widgets, "download", download)
    question = {"epochs": "10", "baseline": "t4-batch-64"}
    shown = show("how-long", tab="table", **question)
    assert texts(shown).count(SAID) == 1
    assert "1.98x faster" in texts(shown)
    rules = Rules(store=lambda _: state.store(), catalogs=(hardware.SHIPPED, hardware.folder()))
    reply = ask(Starlette(routes=routes(rules)), f"/api/v1/projection?{urlencode(question)}").json
    assert reply["start_up"] == SAID
    assert files["how-long.csv"]() == csv_text(reply["rows"])
    assert SAID in str(files["how-long.report"]())
    link = f"http://127.0.0.1:8501/how-long?{urlencode(question)}&workload=resnet-50"
    main(["how-long", "--json", "--results", str(alone), "--link", link])
    command = json.loads(capsys.readouterr().out)
    assert command["start_up"] == SAID
    assert [r["total_s"] for r in command["rows"]] == [r["total_s"] for r in reply["rows"]]
    main(["how-long", "--results", str(alone), "--link", link])
    assert SAID in capsys.readouterr().out
