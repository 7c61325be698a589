"""The SQL view of Explore: a read-only query over the runs."""

from __future__ import annotations

from typing import Final

from pages.common.link import Link
from planner.store import Store

PARAMETERS: Final[tuple[str, ...]] = ()
"""Parameters of the link that this view reads; other views keep them."""


def show(link: Link, shared: Store) -> None:
    """Draw the view."""
    del shared
    link.write()
    link.warn()
