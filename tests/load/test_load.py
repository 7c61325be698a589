"""The short form of `make load`: few users, few seconds, and every answer compared."""

from __future__ import annotations

import tomllib

from tests.browser.server import ROOT


def test_no_rerun_ends_with_a_collection_of_all_objects() -> None:
    """It takes 0.1 s, and while it lasts nobody else is answered."""
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["runner"]["postScriptGC"] is False
