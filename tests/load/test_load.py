"""The short form of `make load`: few users, few seconds, and every answer compared."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.browser.server import ROOT
from tests.load.campaign import Campaign, run, wrong


def test_no_rerun_ends_with_a_collection_of_all_objects() -> None:
    """It takes 0.1 s, and while it lasts no other request is answered."""
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["runner"]["postScriptGC"] is False


@pytest.mark.browser
def test_every_answer_is_one_that_a_single_user_gets(tmp_path: Path) -> None:
    outcome = run(tmp_path, Campaign(sessions=4, seconds=6, runs_per_s=4))
    assert not outcome.failed
    assert not [error for answer in outcome.answers for error in answer.page.errors]
    assert len({answer.click.page for answer in outcome.answers}) == 5
    assert outcome.written
    differing = wrong(tmp_path, outcome)
    assert [answer.click for answer in differing] == []
