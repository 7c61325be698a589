"""Who a visitor is and what they may change: roles and groups from the claims of a login."""

from planner.people._roles import (
    ADMIN,
    ANONYMOUS,
    CONTRIBUTOR,
    RANK,
    SETTING,
    VIEWER,
    Person,
    Role,
    RoleTable,
    person_of,
    read_rules,
)
