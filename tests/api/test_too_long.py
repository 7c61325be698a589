"""An absurd size is refused alike by pages, commands and the HTTP interface."""

from __future__ import annotations

import json

import pytest
from starlette.applications import Starlette

from api.routes import Rules, routes
from pages.common import hardware
from pages.common import kept as state
from planner.__main__ import main
from planner.commands import words
from tests.api.served import ask
from tests.pages.conftest import show, texts

LIMIT = "beyond the limit of 1e+12 s"
HUGE = {
    "samples_per_epoch": "samples_per_epoch=1000000000000000&epochs=2000",
    "described samples": "workload=described&samples=9e17&flops=1e12&epochs=1000",
    "described operations": "workload=described&samples=1e6&flops=1e30&epochs=1",
}


@pytest.mark.parametrize("query", HUGE.values(), ids=list(HUGE))
def test_compare(query: str, capsys: pytest.CaptureFixture[str]) -> None:
    rules = Rules(store=lambda _: state.store(), catalogs=(hardware.SHIPPED,))
    reply = ask(Starlette(routes=routes(rules)), f"/api/v1/compare?{query}").json
    assert LIMIT in reply["sentence"]
    assert "Buying" not in json.dumps(reply)
    rows = reply["rows"]
    assert all(r["time_s"] is None and LIMIT in r["refused"] for r in rows)
    assert main(["compare", "--json", "--link", f"x?{query}"]) == words.REFUSED
    assert json.loads(capsys.readouterr().out)["sentence"] == reply["sentence"]
    given = dict(pair.split("=") for pair in query.split("&"))
    shown = show("compare", **given)
    assert not shown.exception
    assert LIMIT in texts(shown)


def test_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    rules = Rules(store=lambda _: state.store(), catalogs=(hardware.SHIPPED,))
    query = HUGE["samples_per_epoch"]
    reply = ask(Starlette(routes=routes(rules)), f"/api/v1/projection?{query}").json
    assert LIMIT in reply["sentence"]
    assert all(r["total_s"] is None for r in reply["rows"])
    assert main(["how-long", "--json", "--link", f"x?{query}"]) == words.REFUSED
    assert json.loads(capsys.readouterr().out)["rows"] == reply["rows"]
    shown = show("", samples_per_epoch="1000000000000000")
    assert not shown.exception
    assert LIMIT in texts(shown)
