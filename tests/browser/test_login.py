"""Sign in with a real OpenID Connect provider on loopback, in a real browser; roles from claims.

The provider is a process of its own (Django OAuth Toolkit): discovery, password, consent,
authorisation code with PKCE, signed identity tokens. Nothing of the login is replaced.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from planner.store.disk.audit import AuditEntry, audit_folder, entries
from tests.browser.look import PATIENCE_MS, settled
from tests.browser.provider import CLIENT, CLIENT_SECRET, PASSWORD
from tests.browser.server import ROOT, free_port, served
from tests.faults.outcomes import FULL
from tests.store.restricted import SLUG, TEAM, build, leaks

PEOPLE: Final = {
    "mia": {"email": "mia@example.org", "email_verified": True, "groups": [TEAM]},
    "carl": {"email": "carl@example.org", "email_verified": True, "groups": ["lab"]},
    "ada": {"email": "ada@example.org", "email_verified": True, "groups": ["platform"]},
    "eve": {"email": "ada@example.org", "email_verified": False, "groups": ["ada@example.org"]},
}
ROLES: Final = 'admins = ["platform", "ada@example.org"]\ncontributors = ["lab"]\n'
PAGES: Final = (
    ("", "how-long", "compare", "explore", "results", "measure", "add-results")
    if FULL
    else ("results", "how-long", "add-results")
)
_PATIENCE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Site:
    """A server with a login provider; `state` is the folder of its log."""

    url: str
    state: Path


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A provider on a port of its own; its address."""
    port = free_port()
    folder = tmp_path_factory.mktemp("provider")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.browser.provider", str(port), str(folder),
         json.dumps(PEOPLE)],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end and process.poll() is None:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=2).close()
                break
            time.sleep(0.1)
        assert process.poll() is None, "the provider did not start"
        yield url
    finally:
        process.terminate()
        process.wait(timeout=10)


@pytest.fixture(scope="module")
def site(provider: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The app on two sets, one of them restricted, with the provider's secrets."""
    place = tmp_path_factory.mktemp("login")
    build(place / "results")
    secrets, roles = place / "secrets.toml", place / "roles.toml"
    roles.write_text(ROLES)

    def serve(port: int) -> Sequence[str]:
        secrets.write_text(
            f'[auth]\nredirect_uri = "http://127.0.0.1:{port}/oauth2callback"\n'
            'cookie_secret = "a-secret-of-this-test-that-is-long-enough"\n'
            f'client_id = "{CLIENT}"\nclient_secret = "{CLIENT_SECRET}"\n'
            f'server_metadata_url = "{provider}/.well-known/openid-configuration"\n'
            'client_kwargs = { code_challenge_method = "S256" }\n'
        )
        return ["streamlit", "run", "app.py", "--server.port", str(port),
                "--server.address", "127.0.0.1", "--server.headless", "true",
                "--secrets.files", str(secrets)]  # fmt: skip

    empty = place / "shipped"
    empty.mkdir()
    settings = {
        "EPOCHWISE_ROLES": str(roles),
        "EPOCHWISE_SHIPPED_RESULTS": str(empty),
        "AUTHLIB_INSECURE_TRANSPORT": "1",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    with served(place / "results", serve, settings=settings) as url:
        yield Site(url, place / "state")


@pytest.fixture(scope="module")
def own_tab(browser: Browser) -> Iterator[Page]:
    """One tab for all people of this file, so that the scripts of Streamlit are compiled once."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    yield context.new_page()
    context.close()


@pytest.fixture
def tab(own_tab: Page, site: Site) -> Page:
    """A browser without cookies, and without anything else of the app."""
    own_tab.goto(f"{site.url}/_stcore/health")
    own_tab.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
    own_tab.context.clear_cookies()
    return own_tab


def signed_in(page: Page, site: Site, sub: str) -> Page:
    """The start page after a login as one of the people."""
    page.goto(site.url)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Username").fill(sub)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Authorize").click()
    page.wait_for_url(f"{site.url}/**")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    return settled(page)


def seen(page: Page, site: Site, path: str) -> list[str]:
    """What of the restricted set a page shows, opened by a cold deep link."""
    page.goto(f"{site.url}/{path}")
    settled(page)
    assert page.get_by_text("has encountered an error").count() == 0, path
    return leaks(page.content())


def answered(page: Page, site: Site) -> list[str]:
    """What of the restricted set the HTTP interface answers to this browser."""
    return leaks(page.context.request.get(f"{site.url}/api/v1/results").text())


def test_a_visitor_who_has_not_signed_in_reads_what_is_open(tab: Page, site: Site) -> None:
    assert PAGES[-1] == "add-results"
    assert [(path, found) for path in PAGES if (found := seen(tab, site, path))] == []
    assert answered(tab, site) == []
    expect(tab.get_by_text("Sign in first.")).to_be_visible()


def test_a_member_sees_the_set_until_they_sign_out(tab: Page, site: Site) -> None:
    page = signed_in(tab, site, "mia")
    expect(page.get_by_text("mia@example.org · viewer")).to_be_visible()
    assert "quokka" in seen(tab, site, "results")
    assert "quokka" in answered(tab, site)
    page.get_by_role("button", name="Sign out").click()  # in the side bar of every page
    page.wait_for_url("**/logout/**")  # the provider asks whether to end its session too
    assert seen(tab, site, "results") == []
    assert answered(tab, site) == []


ROLE: Final = {
    "ada": ("admin", True, True, True),
    "mia": ("viewer", False, False, True),
    "carl": ("contributor", True, False, False),
    "eve": ("viewer", False, False, False),
}
"""Role of each person, whether they add and measure, and whether they see the restricted set."""


@pytest.mark.skipif(not FULL, reason="in make faults")
@pytest.mark.parametrize("sub", ROLE)
def test_each_role_gets_its_pages(tab: Page, site: Site, sub: str) -> None:
    role, adds, measures, sees = ROLE[sub]
    page = signed_in(tab, site, sub)
    expect(page.get_by_text(f" · {role}")).to_be_visible()
    assert bool(seen(tab, site, "results")) is sees
    assert bool(answered(tab, site)) is sees
    for path, off, may in (
        ("add-results", "Adding results is switched off here.", adds),
        ("measure", "Measuring is switched off here.", measures),
    ):
        page.goto(f"{site.url}/{path}")
        settled(page)
        assert bool(page.get_by_text(off).count()) is not may, path


def test_a_forged_cookie_is_no_login(tab: Page, site: Site) -> None:
    claims = json.dumps({"sub": "ada", "groups": ["platform"], "iat": time.time(),
                         "is_logged_in": True, "origin": site.url})  # fmt: skip
    tab.context.add_cookies([{"name": "_streamlit_user", "value": claims.replace(" ", ""),
                      "url": site.url}])  # fmt: skip
    assert answered(tab, site) == []
    assert seen(tab, site, "results") == []


def test_a_saved_view_of_a_contributor_is_in_the_audit_log(tab: Page, site: Site) -> None:
    page = signed_in(tab, site, "carl")
    page.goto(f"{site.url}/how-long")
    settled(page)
    page.get_by_role("button", name="Save view").click()
    page.get_by_label("Name", exact=True).last.fill("Of Carl")
    page.get_by_label("Name", exact=True).last.press("Tab")
    settled(page)
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_text("Of Carl is saved.")).to_be_visible()
    log = [e for e in entries(audit_folder(site.state)) if isinstance(e, AuditEntry)]
    assert ("carl@example.org", "contributor", "Of Carl", True) in [
        (e.who, e.role, e.about, e.allowed) for e in log
    ]
    assert SLUG not in {e.about for e in log}
