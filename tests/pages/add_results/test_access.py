"""Who sees each set: changed on the page by an administrator, and shown to nobody else."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.visitor import permission
from planner.store.disk.access import Access, set_access
from planner.store.disk.audit import AuditEntry, audit_folder, entries, record
from planner.store.disk.secrets import SHARES, TOKENS
from planner.store.visibility import access_of
from tests.pages.conftest import show, sound
from tests.pages.test_access import everything, server, signed_in
from tests.store.restricted import SLUG, TEAM, leaks

__all__ = ["server"]
BOX = "add_results.access"


@pytest.fixture(autouse=True)
def _at_its_own_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permission, "is_own_page", lambda _: True)


def opened(part: str = "Sets") -> AppTest:
    """Add results with the box open at one of its parts."""
    shown = show("add-results")
    shown.session_state[BOX] = True
    shown.session_state[f"{BOX}.part"] = part
    return sound(shown.run())


def chosen(shown: AppTest, slug: str) -> AppTest:
    """The page with the fields of a set."""
    return sound(shown.selectbox(key=f"{BOX}.set").set_value(slug).run())


def pressed(shown: AppTest, name: str) -> AppTest:
    """The page after a click."""
    return sound(shown.button(key=f"{BOX}.{name}").click().run())


def log(place: Path) -> list[tuple[str, str, bool]]:
    """What the audit log says: who, about what, and whether it was allowed."""
    found = entries(audit_folder(place / "state"))
    return [(e.who, e.about, e.allowed) for e in found if isinstance(e, AuditEntry)]


def test_an_administrator_restricts_a_set_and_strangers_see_it_no_longer(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in(monkeypatch, "admin")
    shown = opened()
    table = shown.dataframe[-1].value
    assert dict(zip(table["Set"], table["Seen by"], strict=True)) == {
        "open-set": "everyone", SLUG: TEAM,
    }  # fmt: skip
    shown = chosen(shown, "open-set")
    shown = sound(shown.radio(key=f"{BOX}.open-set.seen").set_value("groups").run())
    [field] = [t for t in shown.text_input if t.label.startswith("Groups")]
    shown = pressed(sound(field.set_value("sales, Ana@Example.org").run()), "save")
    result = shown.success[0].value.replace("\\", "").replace("\u2060", "")
    assert result == "open-set: seen by ana@example.org, sales."
    groups = frozenset({"sales", "ana@example.org"})
    assert access_of(server / "results" / "open-set") == Access(groups=groups)
    assert log(server)[-1] == ("a@example.org", "open-set: ana@example.org, sales", True)
    signed_in(monkeypatch, "anonymous")
    assert "OpenNet" not in everything(show("results"))
    signed_in(monkeypatch, "viewer")  # of the group sales
    assert "OpenNet" in everything(show("results"))


def test_an_embargo_needs_a_day_and_ends_on_it(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in(monkeypatch, "admin")
    shown = chosen(opened(), SLUG)
    assert shown.radio(key=f"{BOX}.{SLUG}.seen").value == "groups"
    shown = sound(shown.radio(key=f"{BOX}.{SLUG}.seen").set_value("embargo").run())
    shown = pressed(shown, "save")
    assert "Choose the day" in shown.warning[0].value
    assert access_of(server / "results" / SLUG) == Access(groups=frozenset({TEAM}))
    shown = sound(shown.date_input[0].set_value(date(2020, 1, 31)).run())
    shown = pressed(shown, "save")
    assert "is past, so everyone would see the set" in shown.warning[0].value
    assert access_of(server / "results" / SLUG) == Access(groups=frozenset({TEAM}))
    later = datetime.now(UTC).date() + timedelta(days=100)
    shown = sound(shown.date_input[0].set_value(later).run())
    shown = pressed(shown, "save")
    assert f"everyone from {later}" in shown.success[0].value.replace("\\", "")
    signed_in(monkeypatch, "anonymous")
    assert not leaks(everything(show("results")))
    set_access(server / "results" / SLUG, Access(groups=frozenset({TEAM}), until=1.0))
    assert leaks(everything(show("results")))


def test_a_link_is_made_shown_once_and_revoked(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHWISE_PUBLIC_URL", "https://plan.example.org/")
    signed_in(monkeypatch, "admin")
    shown = opened("Share links")
    assert list(shown.selectbox(key=f"{BOX}.share").options) == [SLUG]
    shown = sound(shown.selectbox(key=f"{BOX}.share").set_value(SLUG).run())
    shown = pressed(shown, "make")
    [address] = [c.value for c in shown.code if "share=" in c.value]
    assert address.startswith("https://plan.example.org/results?share=es_")
    secret = address.partition("share=")[2]
    place = SHARES.folder(server / "state")
    assert (share := SHARES.checked(place, secret)) is not None
    assert share.slug == SLUG
    shown = sound(shown.run())
    assert secret not in everything(shown)
    [link] = SHARES.all(place)
    assert link.expires_at is not None
    shown = sound(shown.selectbox(key=f"{BOX}.link").set_value(link.id).run())
    shown = pressed(shown, "revoke")
    assert SHARES.checked(place, secret) is None
    assert [about for _, about, _ in log(server)] == [
        f"share link of {SLUG}", f"revoke share link {link.id}",
    ]  # fmt: skip


def test_tokens_and_the_log_are_listed_without_secrets(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = TOKENS.create(
        TOKENS.folder(server / "state"), name="lab-1", sets=["*"], groups=[TEAM],
        owner="ana@example.org",
    )  # fmt: skip
    folder = audit_folder(server / "state")
    for about in ("=1+1", "![p](http://evil.example/p.png)"):
        record(folder, who="ana", role="admin", via="page", what="add results", about=about)
    [first, _] = sorted(folder.glob("*/*.json"))
    first.write_bytes(first.read_bytes().replace(b"ana", b"bob"))
    signed_in(monkeypatch, "admin")
    shown = opened("Tokens")
    [row] = shown.dataframe[-1].value.to_dict("records")
    assert (row["Name"], row["Owner"], row["Adds to"], row["Reads groups"], row["State"]) == (
        "lab-1", "ana@example.org", "any set", TEAM, "valid",
    )  # fmt: skip
    assert secret.rpartition("_")[2] not in everything(shown)
    shown = opened("Audit log")
    assert len(shown.dataframe[-1].value) == 1
    assert "Changed after they were written" in shown.warning[0].value


@pytest.mark.parametrize("kind", ["anonymous", "viewer", "member", "contributor"])
def test_nobody_else_gets_the_box(server: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    signed_in(monkeypatch, kind)
    shown = opened()
    assert "Who sees each set" not in everything(shown)


def test_where_every_visitor_may_write_none_of_them_changes_who_sees_a_set(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EPOCHWISE_ROLES")
    monkeypatch.setenv("EPOCHWISE_MEASURE", "on")
    monkeypatch.setattr("pages.visitor.identity.is_local", lambda _: False)
    shown = opened()
    assert "Files" in [u.label for u in shown.file_uploader]
    assert "Who sees each set" not in everything(shown)
    monkeypatch.setattr("pages.visitor.identity.is_local", lambda _: True)
    assert "Who sees each set" in everything(opened())


def test_a_damaged_access_file_is_shown_as_for_administrators_only(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (server / "results" / SLUG / "access.json").write_text("{")
    signed_in(monkeypatch, "admin")
    table = opened().dataframe[-1].value
    assert dict(zip(table["Set"], table["Seen by"], strict=True))[SLUG] == "administrators only"
