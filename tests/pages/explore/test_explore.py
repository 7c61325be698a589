"""The page Explore: its views, and what its link holds."""

from __future__ import annotations

import pytest

from pages.explore.page import VIEWS
from tests.pages.conftest import show


@pytest.mark.parametrize("view", list(VIEWS))
def test_each_view_opens_from_its_link(view: str) -> None:
    shown = show("explore", view=[view])
    assert shown.title[0].value == "Explore"
    assert list(shown.query_params) == ["view"]
    assert not shown.warning
