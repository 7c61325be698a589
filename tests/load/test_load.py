"""The short form of `make load`: few users, few seconds, and every answer compared."""

from __future__ import annotations

import gzip
import re
import tomllib
import urllib.request
from pathlib import Path

import pytest

from tests.browser.server import ROOT, served
from tests.load.campaign import Campaign, run, wrong
from tests.load.proxy import ABSENT, executable, proxied, served_by


def test_no_rerun_ends_with_a_collection_of_all_objects() -> None:
    """It takes 0.1 s, and while it lasts no other request is answered."""
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["runner"]["postScriptGC"] is False


@pytest.mark.browser
def test_every_answer_is_one_that_a_single_user_gets(tmp_path: Path) -> None:
    _right(tmp_path, Campaign(sessions=4, seconds=6, runs_per_s=4))


@pytest.mark.browser
def test_several_servers_behind_the_proxy_answer_as_one(tmp_path: Path) -> None:
    if executable() is None:
        pytest.skip(ABSENT)
    _right(tmp_path, Campaign(sessions=6, answers=6, runs_per_s=2, servers=2, late_s=5))
    by_browser = served_by(tmp_path / "proxy")
    assert len(set().union(*by_browser.values())) == 2, "both servers were asked"
    stayed = [servers for servers in by_browser.values() if len(servers) == 1]
    assert len(stayed) == len(by_browser)


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
    assert [answer.click for answer in wrong(place, outcome)] == []
