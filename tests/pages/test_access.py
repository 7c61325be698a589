"""Every page by a cold deep link as every role: what is drawn, and what a click may change."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.datastructures import Headers
from streamlit.testing.v1 import AppTest

from pages.add_results import sets
from pages.common import saving
from pages.compare import catalog, saved
from pages.measure import measuring
from pages.measure.measuring import NotDoneError
from pages.visitor import identity, permission
from pages.visitor.permission import NEEDED, Action
from planner.answers import ANOTHER_ACCOUNT
from planner.people import ADMIN, RANK, Person
from planner.store import Store
from planner.store.disk import layers, views
from planner.store.disk.access import EVERYONE, OWNER, Viewer
from planner.store.disk.audit import AuditEntry, audit_folder, entries
from planner.store.disk.secrets import SHARES
from planner.store.disk.views import View
from tests.faults.outcomes import FULL
from tests.pages.conftest import show
from tests.store.build import folder
from tests.store.restricted import SLUG, TEAM, build, leaks
from tests.store.sweeping import result
from tests.titles import PAGES

NOW = time.time()
CLAIMS: Mapping[str, dict[str, Any] | None] = {
    "anonymous": None,
    "viewer": {"sub": "v", "email": "v@example.org", "groups": ["sales"], "iat": NOW},
    "member": {"sub": "m", "email": "m@example.org", "groups": [TEAM], "iat": NOW},
    "contributor": {"sub": "c", "email": "c@example.org", "groups": ["lab"], "iat": NOW},
    "admin": {"sub": "a", "email": "a@example.org", "groups": ["platform"], "iat": NOW},
}
"""The claims of a login of each kind of visitor."""
ROLES = 'admins = ["platform"]\ncontributors = ["lab"]\nblocked = ["eve@example.org"]\n'
LINKS = {
    "how-long": {"workload": "quokkanet-cifar-10"},
    "compare": {"workload": "quokkanet-cifar-10"},
    "throughput": {"workload": "quokkanet-cifar-10"},
    "results": {"workload": "quokkanet-cifar-10"},
}
"""Links that name what only the group sees, by page."""


@pytest.fixture
def server(alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A server with a login provider, roles, an open set and a restricted one."""
    build(alone)
    for name in ("state", "saved", "catalog"):
        monkeypatch.setenv(f"EPOCHWISE_{name.upper()}", str(tmp_path / name))
    (tmp_path / "roles.toml").write_text(ROLES)
    monkeypatch.setenv("EPOCHWISE_ROLES", str(tmp_path / "roles.toml"))
    return tmp_path


def signed_in(monkeypatch: pytest.MonkeyPatch, kind: str, **claims: object) -> Person:
    """Make the sessions that follow those of a kind of visitor."""
    given = CLAIMS[kind]
    whole = None if given is None else {**given, **claims}
    monkeypatch.setattr(identity, "claims", lambda: whole)
    monkeypatch.setattr("pages.visitor.identity.draw_account", lambda: None)
    return identity.person()


def everything(shown: AppTest) -> str:
    """All that a page sends to the browser."""
    found: list[str] = []

    def walk(node: Any) -> None:  # noqa: ANN401 - blocks and elements
        found.append(str(getattr(node, "proto", "")))
        for child in getattr(node, "children", {}).values():
            walk(child)

    walk(shown._tree)
    tables = (str(frame.value) for frame in shown.dataframe)
    return "\n".join([*found, *tables, str(shown.query_params)])


@pytest.mark.parametrize("kind", ["anonymous", "viewer", "contributor"] if FULL else ["viewer"])
def test_no_page_shows_anything_of_a_hidden_set(
    server: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    signed_in(monkeypatch, kind)
    shown = {page: leaks(everything(show(page))) for page in PAGES}
    assert shown == {page: [] for page in PAGES}


@pytest.mark.parametrize("page", LINKS)
def test_a_link_that_names_a_hidden_workload_answers_as_for_a_name_that_does_not_exist(
    server: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    signed_in(monkeypatch, "anonymous")
    hidden = everything(show(page, **LINKS[page])).replace("quokkanet", "nonesuchx")
    other = {n: text.replace("quokkanet", "nonesuchx") for n, text in LINKS[page].items()}
    assert [line for line in hidden.split("\n") if leaks(line)] == []
    assert _settled(hidden) == _settled(everything(show(page, **other)))


def _settled(text: str) -> list[str]:
    """Lines without ids of elements, which hold a hash of their place and words."""
    return [line for line in text.split("\n") if "id:" not in line and "hash" not in line]


@pytest.mark.parametrize("kind", ["member", "admin"])
def test_pages_show_the_set_to_those_who_may_see_it(
    server: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    signed_in(monkeypatch, kind)
    assert leaks(everything(show("results")))[:2] == ["quokka", "zanzibarchip"]
    assert "quokka" in leaks(everything(show("how-long", workload="quokkanet-cifar-10")))


def test_a_share_link_shows_its_set_until_it_is_revoked_and_leaves_the_address(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in(monkeypatch, "anonymous")
    place = SHARES.folder(server / "state")
    secret = SHARES.create(place, slug=SLUG)
    shown = show("results", share=secret)
    assert "quokka" in leaks(everything(shown))
    assert secret not in str(shown.query_params)
    assert SHARES.revoke(place, next(s.id for s in SHARES.all(place)))
    assert leaks(everything(shown.run())) == []


@pytest.mark.parametrize(("kind", "action"), list(itertools.product(CLAIMS, Action)))
def test_a_role_may_do_what_the_table_says_and_every_try_is_logged(
    server: Path, monkeypatch: pytest.MonkeyPatch, kind: str, action: Action
) -> None:
    who = signed_in(monkeypatch, kind)
    may = who.signed_in and RANK[who.role] >= RANK[NEEDED[action]]
    monkeypatch.setattr(permission, "is_own_page", lambda _: True)
    assert permission.allow(action, "it").allowed is may
    [entry] = entries(audit_folder(server / "state"))
    assert isinstance(entry, AuditEntry)
    assert (entry.allowed, entry.what, entry.about) == (may, action.value, "it")
    assert entry.who == (who.name or "not signed in")


def test_each_function_that_writes_asks_first(
    server: Path, monkeypatch: pytest.MonkeyPatch, alone: Path
) -> None:
    signed_in(monkeypatch, "viewer")
    before = _files(server)
    sets._act("open-set", lambda: pytest.fail("withdrawn"), "x")
    saving.act(lambda: pytest.fail("saved"), "x")
    catalog._remove()
    saved._remove(None, "x")  # type: ignore[arg-type] # refused before the link is used
    for act in (lambda: measuring.stop("x"), lambda: measuring.forget("x"),
                lambda: measuring.repeat("x"), lambda: measuring.resume("x")):  # fmt: skip
        with pytest.raises(measuring.NotDoneError, match="needs the role admin"):
            act()
    assert _files(server) == before
    tries = [e for e in entries(audit_folder(server / "state")) if isinstance(e, AuditEntry)]
    assert len(tries) == 8
    assert not any(e.allowed for e in tries)


def _files(place: Path) -> list[Path]:
    audit = place / "state" / "audit"
    return sorted(p for p in place.rglob("*") if p.is_file() and audit not in p.parents)


def test_nothing_is_done_that_cannot_be_logged(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in(monkeypatch, "admin")
    (server / "state").mkdir(exist_ok=True)
    (server / "state" / "audit").write_text("a file in place of the folder")
    refused = permission.allow(Action.ADD, "it")
    assert not refused.allowed
    assert "audit log" in refused.why


def test_a_changed_table_of_roles_counts_at_the_next_click(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in(monkeypatch, "contributor")
    assert permission.permission(Action.ADD).allowed
    (server / "roles.toml").write_text('contributors = ["lab"]\nblocked = ["lab"]\n')
    assert "blocked" in permission.permission(Action.ADD).why
    (server / "roles.toml").write_text("contributors = lab")
    assert not permission.permission(Action.ADD).allowed
    (server / "roles.toml").unlink()
    assert not permission.permission(Action.ADD).allowed


def test_an_old_login_counts_no_longer(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    who = signed_in(monkeypatch, "admin", iat=NOW - 13 * 3600)
    assert not who.signed_in
    assert who.role != ADMIN
    assert "expired" in permission.permission(Action.ADD).why


def test_a_view_saved_with_a_restricted_set_in_sight_is_for_those_who_see_it(
    server: Path, monkeypatch: pytest.MonkeyPatch, alone: Path
) -> None:
    view = View(
        name="Quokka offer", page="how-long", parameters={"workload": ["quokkanet-cifar-10"]},
        saved_at="2026-11-26T00:00:00Z",
    )  # fmt: skip
    base = server / "saved"
    views.save(layers.prepare(base, [SLUG]) / "views", view)
    signed_in(monkeypatch, "anonymous")
    assert leaks(everything(show("explore", view="saved"))) == []
    assert leaks(everything(show(""))) == []
    signed_in(monkeypatch, "member")
    assert "quokka" in leaks(everything(show("")))
    (alone / SLUG / "access.json").unlink()
    signed_in(monkeypatch, "anonymous")
    assert "quokka" in leaks(everything(show("")))


def test_the_owner_of_a_machine_without_a_provider_sees_and_changes_all(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EPOCHWISE_ROLES")
    assert not identity.login_is_on()
    local = {"Host": "localhost:8501"}
    monkeypatch.setattr("pages.visitor.address.listening", lambda: ["127.0.0.1"])
    assert identity._is_owner(Headers(local))
    assert not identity._is_owner(Headers({**local, "X-Forwarded-For": "10.0.0.7"}))
    assert not identity._is_owner(Headers({**local, ANOTHER_ACCOUNT: "yes"}))
    assert not identity._is_owner(Headers({"Host": "plan.example.org"}))
    monkeypatch.setenv("EPOCHWISE_MEASURE", "off")
    assert not identity._is_owner(Headers(local))


@pytest.mark.parametrize("mark", [str.lower, str.title, str.upper])
def test_a_page_of_another_account_sees_open_sets_however_the_mark_is_written(
    server: Path, monkeypatch: pytest.MonkeyPatch, mark: Callable[[str], str]
) -> None:
    """Streamlit writes the names of headers in its own way."""
    monkeypatch.delenv("EPOCHWISE_ROLES")
    monkeypatch.setattr("pages.visitor.address.listening", lambda: ["127.0.0.1"])
    monkeypatch.setattr(identity, "get_script_run_ctx", object)
    local = {"Host": "localhost:8501"}
    for headers, sees in ((local, OWNER), ({**local, mark(ANOTHER_ACCOUNT): "yes"}, EVERYONE)):
        monkeypatch.setattr("streamlit.context", SimpleNamespace(headers=headers))
        assert identity.session()() == sees


@pytest.mark.parametrize("viewer", [OWNER, EVERYONE])
def test_a_sweep_into_a_hidden_set_is_neither_listed_nor_stopped(
    alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, viewer: Viewer
) -> None:
    monkeypatch.setenv("EPOCHWISE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("EPOCHWISE_MEASURE", "on")
    build(alone)
    seen = Store([folder(alone)], viewer=viewer)
    seen.refresh()
    assert seen.hides(SLUG) is (viewer is EVERYONE)
    assert not seen.hides("open-set")
    behind = "waits for 'private' (1 of 4 runs done)"
    result(tmp_path / "state", ticket="private", result_set=SLUG)
    result(tmp_path / "state", ticket="open", phase="waiting", message=behind)
    listed = {s.ticket: s.message for s, _ in measuring.shown(seen)}
    assert listed == {"open": None} if viewer is EVERYONE else {"open": behind, "private": None}
    monkeypatch.setattr(measuring, "store", lambda: seen)
    with pytest.raises(NotDoneError, match="no longer" if viewer is EVERYONE else "running"):
        measuring.forget("private")
