"""Role and groups of a login: claims are untrusted until every part of them is checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner.people import ADMIN, CONTRIBUTOR, VIEWER, RoleTable, person_of, read_rules
from tests.each import each

NOW = 1_000_000.0
RULES = RoleTable(
    admins=frozenset({"platform", "ada@example.org"}), contributors=frozenset({"lab"}),
    blocked=frozenset({"eve@example.org", "sub:bad"}),
)  # fmt: skip


def claims(**changes: object) -> dict[str, Any]:
    return {"sub": "s", "iat": NOW - 60, "groups": []} | changes


@each(
    ("changes", "role"),
    [
        ({}, VIEWER),
        ({"groups": ["platform"]}, ADMIN),
        ({"groups": "platform"}, ADMIN),
        ({"groups": ["lab"]}, CONTRIBUTOR),
        ({"groups": ["lab", "platform"]}, ADMIN),
        ({"groups": {"platform": True}}, VIEWER),
        ({"groups": [["platform"]]}, VIEWER),
        ({"email": "Ada@example.org", "email_verified": True}, ADMIN),
        ({"email": "ada@example.org", "email_verified": "true"}, VIEWER),
        ({"email": "ada@example.org"}, VIEWER),
        ({"groups": ["ada@example.org"]}, VIEWER),
        ({"role": "admin", "roles": ["admin"]}, VIEWER),
    ],
)
def test_the_role_follows_from_groups_and_verified_addresses(
    changes: dict[str, Any], role: str
) -> None:
    who = person_of(claims(**changes), RULES, NOW)
    assert (who.signed_in, who.role) == (True, role)


@each("changes", [
        {"sub": ""}, {"sub": 7}, {"sub": None}, {"iat": None}, {"iat": "now"}, {"iat": True},
        {"iat": float("nan")}, {"iat": NOW - 12 * 3600}, {"iat": NOW + 600}, {"sub": "bad"},
        {"email": "eve@example.org", "email_verified": True},
    ])  # fmt: skip
def test_a_login_that_is_old_blocked_or_without_a_name_is_none(changes: dict[str, Any]) -> None:
    who = person_of(claims(groups=["platform"]) | changes, RULES, NOW)
    assert not who.signed_in
    assert who.role == VIEWER
    assert who.groups == frozenset()
    assert who.why


def test_a_table_is_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "roles.toml"
    path.write_text('groups_claim = "g"\nadmins = ["A@x.org"]\nlogin_hours = 1\n')
    rules = read_rules(path)
    assert (rules.groups_claim, rules.admins, rules.login_hours) == (
        "g",
        frozenset({"a@x.org"}),
        1.0,
    )
    assert rules.problem == ""
    assert read_rules(None) == RoleTable()


@pytest.mark.parametrize(
    "text", ["admins = 1", "admins = [1]", "login_hours = 0", "login_hours = nan", "x = 1",
             "groups_claim = ''", "admins = [", "login_hours = true"]
)  # fmt: skip
def test_a_damaged_table_gives_no_role_and_no_group(tmp_path: Path, text: str) -> None:
    path = tmp_path / "roles.toml"
    path.write_text(text)
    who = person_of(claims(groups=["platform"]), read_rules(path), NOW)
    assert (who.role, who.groups) == (VIEWER, frozenset())
    assert "roles.toml" in who.why
    missing = person_of(claims(groups=["platform"]), read_rules(tmp_path / "no.toml"), NOW)
    assert "no.toml" in missing.why
