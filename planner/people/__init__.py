"""Who a visitor is and what they may change: roles and groups from the claims of a login."""

from planner.people.roles import (
    ADMIN,
    CONTRIBUTOR,
    NOBODY,
    RANK,
    SETTING,
    VIEWER,
    Person,
    Role,
    Rules,
    person_of,
    read_rules,
)

__all__ = [
    "ADMIN",
    "CONTRIBUTOR",
    "NOBODY",
    "RANK",
    "SETTING",
    "VIEWER",
    "Person",
    "Role",
    "Rules",
    "person_of",
    "read_rules",
]
