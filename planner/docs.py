"""Pages of the documentation that are tables of the code: made from it, never typed twice."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from planner.catalog.page import catalog_page
from planner.refusals import RULES
from planner.schema import COLUMNS, EPOCH, EVALUATION, SCHEMA_VERSION, STEP, Column

_GROUPS: Final = {
    "identity": "Identity and provenance",
    "workload": "Workload",
    "system": "System (names of MLPerf system_desc where it has one)",
    "software": "Software",
    "factors": "Factors",
    "summary": "Summary numbers",
    "nested": "Nested: one list per run",
    "other": "Other",
}


_INTRODUCTION: Final = (
    f"Schema version {SCHEMA_VERSION}. Made from `planner/schema.py` by `make docs`; one run is "
    "one row. A missing value is NULL, never 0. Columns marked **id** make the run's id: the "
    "first 32 hex digits of the sha256 of those that are not NULL, as JSON with sorted keys."
)


def records_page() -> str:
    """docs/records.md: every column of a run with type, unit, rule and meaning."""
    parts = [
        "# The run record",
        "",
        _INTRODUCTION,
    ]
    for group, title in _GROUPS.items():
        parts += ["", f"## {title}", "", "| column | type | unit | values | meaning |"]
        parts += ["|---|---|---|---|---|"]
        parts += [_column_line(c) for c in COLUMNS if c.group == group]
    parts += ["", "## Inside the lists", ""]
    for name, item in (("epochs", EPOCH), ("evaluations", EVALUATION), ("steps", STEP)):
        fields = ", ".join(f"`{f.name}` {f.type}" for f in item)
        parts.append(f"- **{name}**: {fields}")
    return "\n".join(parts) + "\n"


def refusals_page() -> str:
    """docs/refusals.md: what is refused or warned of, why, and what to measure next."""
    parts = [
        "# What is refused, and why",
        "",
        "Made from `planner/refusals.py` by `make docs`; the Method page shows the same table.",
        "",
        "| when | then | why | measure next |",
        "|---|---|---|---|",
    ]
    parts += [f"| {r.when} | {r.then} | {r.why} | {r.measure_next} |" for r in RULES]
    return "\n".join(parts) + "\n"


PAGES: Final = MappingProxyType[str, Callable[[], str]](
    {"catalog": catalog_page, "records": records_page, "refusals": refusals_page}
)
"""Page name (docs/NAME.md) -> its text."""


def _column_line(column: Column) -> str:
    limits = {"positive": "> 0", "not negative": ">= 0"}
    number = column.group != "nested" and not column.choices
    values = " / ".join(column.choices) or (limits.get(column.rule, "") if number else "")
    mark = " **id**" if column.identity else ""
    needed = " required" if column.required else ""
    kind = "list of records" if column.group == "nested" else str(column.type)
    name = f"`{column.name}`{mark}{needed}"
    return f"| {name} | {kind} | {column.unit} | {values} | {column.meaning} |"
