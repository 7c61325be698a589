"""The short form of `make load`: few users, few seconds, and every answer compared."""

from __future__ import annotations

import gzip
import json
import re
import tomllib
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest

from planner.store import commit_runs
from planner.store.disk.secrets import TOKENS
from runners.sweep.push import Server, push
from tests.browser.server import ROOT, served
from tests.faults.outcomes import FULL
from tests.load.campaign import HASTY_S, Campaign, run, wrong
from tests.load.proxy import ABSENT, executable, proxied, served_by
from tests.store.build import ABOUT, row


def test_no_rerun_ends_with_a_collection_of_all_objects() -> None:
    """It takes 0.1 s, and while it lasts no other request is answered."""
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["runner"]["postScriptGC"] is False


@pytest.mark.browser
@pytest.mark.skipif(not FULL, reason="tests/faults/test_answers_under_load.py compares answers")
def test_every_answer_is_one_that_a_single_user_gets(tmp_path: Path) -> None:
    _right(tmp_path, Campaign(sessions=4, seconds=6, runs_per_s=4, reading_s=HASTY_S, fresh=False))


@pytest.mark.browser
@pytest.mark.skipif(not FULL, reason="runs pushed through the proxy are shown by every server")
def test_several_servers_behind_the_proxy_answer_as_one(tmp_path: Path) -> None:
    if executable() is None:
        pytest.skip(ABSENT)
    _right(
        tmp_path,
        Campaign(
            sessions=4, answers=5, runs_per_s=2, servers=2, reading_s=HASTY_S, late_s=5, fresh=False
        ),
    )
    by_browser = served_by(tmp_path / "proxy")
    assert len(set().union(*by_browser.values())) == 2, "both servers were asked"
    stayed = [servers for servers in by_browser.values() if len(servers) == 1]
    assert len(stayed) == len(by_browser)


@pytest.mark.browser
def test_runs_pushed_through_the_proxy_are_stored_once_and_shown_by_every_server(
    tmp_path: Path,
) -> None:
    if executable() is None:
        pytest.skip(ABSENT)
    token = TOKENS.create(tmp_path / "state" / "tokens", name="runner", sets=["*"])
    mine = tmp_path / "client" / "machine-1"
    mine.mkdir(parents=True)
    (mine / "set.toml").write_text(ABOUT)
    with ExitStack() as stack:
        urls = [stack.enter_context(served(tmp_path / "results")) for _ in range(2)]
        url = stack.enter_context(proxied(tmp_path / "proxy", urls))
        for number in range(12):  # a request each, as a sweep sends them
            commit_runs(mine, [row(result_set="machine-1", repeat=number)])
            sent = push(mine, Server(url=url, token=token), tmp_path / "client" / "state",
                        stop=lambda: False, say=lambda _: None)  # fmt: skip
            assert (sent.stored, sent.already) == (1, 0)
        again = push(mine, Server(url=url, token=token), tmp_path / "client" / "forgot",
                     stop=lambda: False, say=lambda _: None)  # fmt: skip
        assert (again.stored, again.already) == (0, 12)
        answers = [json.loads(_got(f"{each}/api/v1/results?result_set=machine-1", "identity")[0])
                   for each in urls]  # fmt: skip
    assert [answer["total"] for answer in answers] == [12, 12]
    pushed = served_by(tmp_path / "proxy")
    assert len(set().union(*pushed.values())) == 2, "both servers took runs"


@pytest.mark.browser
def test_the_proxy_compresses_the_scripts(tmp_path: Path) -> None:
    if executable() is None:
        pytest.skip(ABSENT)
    with served(tmp_path / "results") as server, proxied(tmp_path / "proxy", [server]) as url:
        page, _ = _got(url, "identity")
        script = re.findall(rb'src="\./(static/js/[^"]+)"', page)[0].decode()
        plain, _ = _got(f"{server}/{script}", "gzip")
        packed, encoding = _got(f"{url}/{script}", "gzip")
    assert encoding == "gzip"
    assert gzip.decompress(packed) == plain
    assert len(packed) < len(plain) / 2


def _got(url: str, encoding: str) -> tuple[bytes, str]:
    """What an address answers, and how it is packed."""
    asked = urllib.request.Request(url, headers={"Accept-Encoding": encoding})  # noqa: S310
    with urllib.request.urlopen(asked) as reply:  # noqa: S310 - a server of this test
        return reply.read(), reply.headers.get("Content-Encoding", "")


def _right(place: Path, campaign: Campaign) -> None:
    """Every answer is one that a single user gets, on all pages, while runs are written."""
    outcome = run(place, campaign)
    assert not outcome.failed
    assert not [error for answer in outcome.answers for error in answer.page.errors]
    assert len({answer.click.page for answer in outcome.answers}) == 5
    assert outcome.written
    assert [answer.click for answer in wrong(place, outcome, fresh=False)] == []
