"""What visitors see changes while the app runs: an embargo ends, a share link is revoked.

A server as `make app` starts it, asked over HTTP and the websocket, in sessions that stay open. No
clock is moved: the embargo is of seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final
from urllib.parse import quote

import pytest
from websockets.sync.client import ClientConnection

from planner.store.disk import layers, views
from planner.store.disk.access import Access, set_access
from planner.store.disk.secrets import SHARES
from planner.store.disk.views import View
from tests.api.test_every_route import Site, site
from tests.faults.visitor import Visit, connected, download, run
from tests.store.restricted import SLUG, TEAM, leaks

__all__ = ["site"]
EMBARGO_S: Final = 8
"""Of an embargo that ends in a test; a busy machine that needs longer to look gets a longer one."""
_SQL: Final = "SELECT result_set, system FROM runs"
PAGES: Final = {
    "start": ("", ""),
    "results": ("results", ""),
    "how long": ("how-long", "workload=quokkanet-cifar-10"),
    "SQL": ("explore", f"view=sql&sql={quote(_SQL)}"),
    "saved views": ("explore", "view=saved"),
}
"""Pages and links by what they show of the set."""
API: Final = {
    "API": "/api/v1/results",
    "API, SQL": f"/api/v1/sql?sql={quote(_SQL)}",
    "API, runs of the set": f"/api/v1/results?result_set={SLUG}",
}
FILES: Final = {"CSV": ("results", ""), "Report": ("how-long", "workload=quokkanet-cifar-10")}
"""Files that are made at a click, and the pages that offer them."""
ALL: Final = {*PAGES, *API, *FILES}


class Session:
    """A visitor who is not signed in and stays: the words of a link hold the workload's name."""

    def __init__(self, site: Site, session: ClientConnection) -> None:
        self.site, self.session = site, session

    def open(self, page: str, query: str) -> Visit:
        """Follow a link."""
        seen = run(self.session, page, query)
        assert (seen.ended, seen.exceptions) == ("FINISHED_SUCCESSFULLY", []), page
        return seen

    def file(self, name: str) -> bool:
        """Whether the file of a button holds the set, which is opened and clicked now."""
        return self.clicked(self.open(*FILES[name]), name)

    def clicked(self, seen: Visit, name: str) -> bool:
        """Whether the file of a button of an open page holds the set."""
        content = download(self.site.url, self.session, seen, name)
        return content is not None and bool(_marks(content.decode()))

    def shown(self) -> set[str]:
        """Where the set is seen."""
        pages = {n for n, link in PAGES.items() if _marks(self.open(*link).words)}
        files = {name for name in FILES if self.file(name)}
        return pages | files | {n for n, path in API.items() if _marks(self.site.ask(path)[1])}


def _marks(text: str) -> list[str]:
    """What of the set a text holds, without the names that the links and questions have."""
    for name in ("quokkanet-cifar-10", SLUG):
        text = text.replace(f"workload={name}", "").replace(f"result_set={name}", "")
    found = leaks(text)
    return found if set(found) - {"quokka"} or "Quokka offer" in text else []


@contextmanager
def _sessions(site: Site, count: int = 1) -> Iterator[list[Session]]:
    with ExitStack() as stack:
        yield [Session(site, stack.enter_context(connected(site.url))) for _ in range(count)]


def _private(site: Site, access: Access | None = None) -> None:
    set_access(site.state.parent / "results" / SLUG, access or Access(groups=frozenset({TEAM})))


def test_an_embargo_that_ends_while_the_app_runs_shows_the_set_everywhere(site: Site) -> None:
    view = View(
        name="Quokka offer", page="how-long", parameters={"workload": ["quokkanet-cifar-10"]},
        saved_at="2026-11-26T00:00:00Z",
    )  # fmt: skip
    views.save(layers.prepare(site.state.parent / "saved", [SLUG]) / "views", view)
    _private(site)
    with _sessions(site, 2) as (early, late):
        assert early.shown() == set()  # everything has been drawn once
        for longer in (1, 3, 9):
            until = time.time() + longer * EMBARGO_S
            _private(site, Access(groups=frozenset({TEAM}), until=float(int(until) + 1)))
            before = early.shown()
            if time.time() < until:  # the whole look was before the end
                break
        else:
            pytest.fail("the machine is too busy for an embargo of a minute")
        assert before == set()
        time.sleep(max(0.0, until + 1.5 - time.time()))
        assert early.shown() == late.shown() == ALL
    _private(site)


def test_a_share_link_that_is_revoked_shows_nothing_in_a_session_that_stays(site: Site) -> None:
    _private(site)
    place = SHARES.folder(site.state)
    text = SHARES.create(place, slug=SLUG)
    with _sessions(site, 2) as (holder, stranger):
        assert _marks(holder.open("results", f"share={text}").words)
        assert _marks(holder.open(*PAGES["how long"]).words)
        drawn = holder.open(*FILES["CSV"])
        assert holder.clicked(drawn, "CSV")
        assert _marks(site.ask("/api/v1/results", bearer=text)[1])
        assert stranger.shown() == set()
        [share] = [s for s in SHARES.all(place) if s.id in text]
        assert SHARES.revoke(place, share.id)
        assert not holder.clicked(drawn, "CSV")  # the page is still that of before
        assert holder.shown() == set()
        assert _marks(holder.open("results", f"share={text}").words) == []
        assert _marks(site.ask("/api/v1/results", bearer=text)[1]) == []


def test_a_role_that_is_withdrawn_counts_for_the_page_that_is_open(site: Site) -> None:
    _private(site)
    roles = site.state.parent / "roles.toml"
    cookie, xsrf = site.cookie("admin")
    given = roles.read_text()
    with ExitStack() as stack:
        session = Session(site, stack.enter_context(connected(site.url, cookie, xsrf)))
        drawn = session.open(*FILES["CSV"])
        assert session.clicked(drawn, "CSV")
        try:
            roles.write_text(f'{given}\nblocked = ["admin@example.org"]\n')
            assert not session.clicked(drawn, "CSV")
            assert _marks(session.open("results", "").words) == []
        finally:
            roles.write_text(given)
        assert _marks(session.open("results", "").words)
