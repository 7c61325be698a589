"""The real server, started in both ways: the interface answers beside the app."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from planner.__main__ import main
from tests.browser.server import served, streamlit, uvicorn
from tests.shipped import runs

Answer = tuple[int, dict[str, str], bytes]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Started as `make app` does, by an operator who names the hosts it answers to."""
    way = streamlit("--server.allowedHosts", "127.0.0.1")
    with served(tmp_path_factory.mktemp("api") / "results", way) as address:
        yield address


def _get(
    url: str, target: str, method: str = "GET", headers: dict[str, str] | None = None
) -> Answer:
    asked = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)
    try:
        asked.request(method, target, headers=headers or {})
        reply = asked.getresponse()
        return reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read()
    finally:
        asked.close()


def test_the_interface_and_the_app_answer_side_by_side(url: str) -> None:
    status, headers, body = _get(url, "/api/v1/projection?epochs=10")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(body)["epochs"] == 10
    assert json.loads(_get(url, "/api/v1/results?limit=1")[2])["total"] == runs()
    page = _get(url, "/compare")
    assert page[0] == 200
    assert b"<html" in page[2]
    assert _get(url, "/_stcore/health")[2] == b"ok"


def test_problems_head_and_etag_go_through_the_server(url: str) -> None:
    status, headers, body = _get(url, "/api/v1/compare?epochs=x")
    assert (status, headers["content-type"]) == (400, "application/problem+json")
    assert json.loads(body)["errors"][0]["parameter"] == "epochs"
    assert _get(url, "/api/nope")[0] == 404
    assert _get(url, "/api/v1/compare", "DELETE")[0] == 405
    status, headers, body = _get(url, "/api/v1/curve", "HEAD")
    assert (status, body) == (200, b"")
    again = _get(url, "/api/v1/curve", headers={"If-None-Match": headers["etag"]})
    assert (again[0], again[2]) == (304, b"")
    for path in ("/api/v1/..%2f..%2fapp.py", "/api/v1/%2e%2e/app.py", "/api/%00"):
        assert _get(url, path)[0] in (400, 404)


def test_several_at_once_get_their_own_answers(url: str) -> None:
    reply: dict[int, int] = {}

    def ask(epochs: int) -> None:
        reply[epochs] = json.loads(_get(url, f"/api/v1/projection?epochs={epochs}")[2])["epochs"]

    # As many as work and wait at once; more are sent away (tests/api/test_busy.py).
    threads = [threading.Thread(target=ask, args=(n,)) for n in range(10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reply == {n: n for n in range(10, 20)}


def test_it_answers_what_the_command_prints(
    url: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHWISE_RESULTS", str(tmp_path / "none"))
    capsys.readouterr()
    assert main(["compare", "--json", "--deadline", "72"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert json.loads(_get(url, "/api/v1/compare?deadline=72")[2]) == printed


def test_only_allowed_hosts_are_answered_where_the_operator_names_them(url: str) -> None:
    assert _get(url, "/api/v1")[0] == 200
    status, headers, _ = _get(url, "/api/v1", headers={"Host": "evil.example"})
    assert (status, headers["content-type"]) == (403, "application/problem+json")


def test_uvicorn_serves_it_too(tmp_path: Path) -> None:
    with served(tmp_path / "results", uvicorn()) as url:
        assert json.loads(_get(url, "/api/v1/projection?epochs=10")[2])["epochs"] == 10
        assert _get(url, "/compare")[0] == 200


def test_importing_the_interface_loads_no_app() -> None:
    program = "import sys, api.routes; print('streamlit' in sys.modules, 'plotly' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=True, env=os.environ | {"PYTHONPATH": "."},
                          cwd=Path(__file__).parents[2])  # fmt: skip
    assert done.stdout.split() == ["False", "False"]
