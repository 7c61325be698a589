"""Every page and every address of the HTTP interface as every role, by a cold deep link.

A server as `make app` starts it, with a login provider in its secrets. Each visit is a session of
its own over the websocket, with the signed cookie of a login; nothing is replaced.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from streamlit.web.server.starlette.starlette_app_utils import (
    create_signed_value,
    generate_xsrf_token_string,
)

from api.openapi import PATH as DESCRIPTION
from api.push import PATH as PUSH
from api.routes import ANSWERS
from planner.store.disk.secrets import SHARES, TOKENS
from tests.api.test_access import QUESTIONS
from tests.browser.server import served
from tests.faults.outcomes import FULL
from tests.faults.visitor import visit
from tests.pages.test_access import ROLES
from tests.store.restricted import SLUG, TEAM, build, leaks
from tests.titles import PAGES

SIGNED_WITH: Final = "the-cookies-of-this-test-are-signed-with-it"
GROUPS: Final[Mapping[str, Sequence[str] | None]] = {
    "anonymous": None, "viewer": ["sales"], "member": [TEAM], "contributor": ["lab"],
    "admin": ["platform"],
}  # fmt: skip
"""The groups in the login of each kind of visitor."""
SEES: Final = {"member", "admin"}
ADDS: Final = {"contributor", "admin"}
MEASURES: Final = {"admin"}
WHOLE: Final = {"anonymous", "member"}
"""One role that sees the restricted set and one that does not: `make test` opens all pages."""
DIFFER: Final = ("", "results", "add-results", "measure")
"""Pages that differ by role; `make faults` opens all as every role."""


@dataclass(frozen=True, slots=True)
class Site:
    """A server, and the folder of its tokens and links."""

    url: str
    state: Path

    def cookie(self, kind: str, **claims: object) -> tuple[str, str]:
        """The cookie header of a login of that kind, and its token against forged requests."""
        groups = GROUPS[kind]
        if groups is None:
            return "", ""
        body = {
            "sub": kind, "email": f"{kind}@example.org", "email_verified": True, "groups": groups,
            "iat": time.time(), "is_logged_in": True, "origin": self.url, **claims,
        }  # fmt: skip
        signed = create_signed_value(SIGNED_WITH, "_streamlit_user", json.dumps(body)).decode()
        xsrf = generate_xsrf_token_string()
        return f"_streamlit_user={signed}; _streamlit_xsrf={xsrf}", xsrf

    def ask(
        self, path: str, method: str = "GET", cookie: str = "", bearer: str = ""
    ) -> tuple[int, str]:
        """The status and the text that an address answers."""
        headers = {"Cookie": cookie} if cookie else {}
        headers |= {"Authorization": f"Bearer {bearer}"} if bearer else {}
        asked = urllib.request.Request(  # noqa: S310 - a server of this test
            f"{self.url}{path}", method=method, headers=headers
        )
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310
                return int(answer.status), answer.read().decode()
        except urllib.error.HTTPError as error:
            return int(error.code), error.read().decode()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The app on two sets, one of them restricted."""
    place = tmp_path_factory.mktemp("routes")
    build(place / "results")
    secrets, roles, empty = place / "secrets.toml", place / "roles.toml", place / "shipped"
    roles.write_text(ROLES)
    empty.mkdir()

    def serve(port: int) -> Sequence[str]:
        secrets.write_text(
            f'[auth]\nredirect_uri = "http://127.0.0.1:{port}/oauth2callback"\n'
            f'cookie_secret = "{SIGNED_WITH}"\nclient_id = "epochwise"\nclient_secret = "x"\n'
            'server_metadata_url = "http://127.0.0.1:9/.well-known/openid-configuration"\n'
        )
        return ["streamlit", "run", "app.py", "--server.port", str(port),
                "--server.address", "127.0.0.1", "--server.headless", "true",
                "--secrets.files", str(secrets)]  # fmt: skip

    settings = {"EPOCHWISE_ROLES": str(roles), "EPOCHWISE_SHIPPED_RESULTS": str(empty)}
    with served(place / "results", serve, settings=settings) as url:
        yield Site(url, place / "state")


@pytest.mark.parametrize("kind", GROUPS)
def test_every_page_is_drawn_for_a_role_with_what_it_may_see(site: Site, kind: str) -> None:
    cookie, xsrf = site.cookie(kind)
    drawn: dict[str, str] = {}
    for path in PAGES if FULL or kind in WHOLE else DIFFER:
        seen = visit(site.url, path, "", cookie, xsrf)
        assert (seen.ended, seen.exceptions) == ("FINISHED_SUCCESSFULLY", []), path
        assert "page not found" not in seen.texts, path
        assert PAGES[path] in seen.words, path
        drawn[path] = seen.words
    found = {path for path, words in drawn.items() if leaks(words)}
    shown = {"results", "how-long", "compare", "throughput"} & set(drawn)
    assert shown <= found if kind in SEES else not found
    if kind != "anonymous":
        role = kind if kind in {"contributor", "admin"} else "viewer"
        assert f"{kind}@example.org · {role}" in drawn[""]
    assert ("Adding results is switched off here." in drawn["add-results"]) is (kind not in ADDS)
    assert ("Who sees each set" in drawn["add-results"]) is (kind == "admin")
    assert ("Measuring is switched off here." in drawn["measure"]) is (kind not in MEASURES)


@pytest.mark.parametrize("kind", GROUPS)
def test_every_address_answers_a_role_with_what_it_may_see(site: Site, kind: str) -> None:
    cookie, _ = site.cookie(kind)
    found = set()
    for path in (*ANSWERS, DESCRIPTION):
        status, text = site.ask(path, cookie=cookie)
        assert status in {200, 400, 404}, path  # 404: no run of that kind is there
        assert "There is no such address" not in text, path
        found |= {path} if leaks(text) else set()
        assert site.ask(path, "DELETE", cookie)[0] == 405
    assert ({"/api/v1", "/api/v1/results"} <= found) if kind in SEES else not found
    for path, questions in QUESTIONS.items():
        for question in (q for q in questions if "quokka" in q or SLUG in q):
            _, text = site.ask(f"{path}{question}", cookie=cookie)
            named = leaks(text.replace("quokkanet-cifar-10", "").replace("quokkanet", ""))
            assert kind in SEES or not set(named) - {"quokka"}, (path, question)


@pytest.mark.parametrize("kind", GROUPS)
def test_no_login_pushes_runs_without_a_token(site: Site, kind: str) -> None:
    cookie, _ = site.cookie(kind)
    assert site.ask(PUSH, "POST", cookie)[0] == 401


def _bad_cookies(site: Site) -> Mapping[str, str]:
    right, _ = site.cookie("admin")
    name, _, rest = right.partition("=")
    value = rest.partition(";")[0]
    other = create_signed_value("another-secret", name, '{"sub": "admin"}').decode()
    old, _ = site.cookie("admin", iat=time.time() - 13 * 3600)
    return {
        "signed by somebody else": f"{name}={other}",
        "changed": right.replace(value[:8], value[:7] + ("A" if value[7] != "A" else "B")),
        "of 13 hours ago": old,
        "of a login that has ended": site.cookie("admin", is_logged_in=False)[0],
    }  # fmt: skip


def test_a_cookie_that_is_forged_old_or_signed_out_is_nobody(site: Site) -> None:
    for what, cookie in _bad_cookies(site).items():
        _, text = site.ask("/api/v1/results", cookie=cookie)
        assert leaks(text) == [], what
        seen = visit(site.url, "add-results", "", cookie, cookie.rpartition("=")[2])
        assert "Adding results is switched off here." in seen.words, what


@pytest.mark.parametrize(
    ("bearer", "sees"),
    [("token", True), ("other token", False), ("link", True), ("nothing", False)],
)
def test_a_secret_reads_what_it_is_for(site: Site, bearer: str, *, sees: bool) -> None:
    made: Mapping[str, Any] = {
        "token": lambda: TOKENS.create(TOKENS.folder(site.state), name="a", groups=[TEAM]),
        "other token": lambda: TOKENS.create(TOKENS.folder(site.state), name="b", sets=["*"]),
        "link": lambda: SHARES.create(SHARES.folder(site.state), slug=SLUG),
        "nothing": lambda: "ew_00000000_" + "a" * 43,
    }
    text = made[bearer]()
    for path in ("/api/v1", "/api/v1/results"):
        status, answer = site.ask(path, bearer=text)
        assert (status, bool(leaks(answer))) == (200, sees)
    if bearer == "link":
        seen = visit(site.url, "results", f"share={text}")
        assert leaks(seen.words)
        assert text not in seen.words
