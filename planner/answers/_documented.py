"""Documentation pages that are generated from tables of the code."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from planner.answers._refused import RULES
from planner.catalog import catalog_page
from planner.core import FILES, limits
from planner.runs import COLUMNS, EPOCH, EVALUATION, REAL, SCHEMA_VERSION, STEP, WHOLE, Column

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
    f"Schema version {SCHEMA_VERSION}. Made from `planner/runs/_schema.py` by `make docs`; one run "
    "is one row. A missing value is NULL, never 0. Columns marked **id** make the run's id: the "
    "first 32 hex digits of the sha256 of those that are not NULL, as JSON with sorted keys."
)


_LIMITS: Final = (
    "A file beyond one of these is refused with the reason, before it is loaded; a longer text of "
    "a set.toml is cut. Numbers have the sizes given above with their columns."
)


def records_page() -> str:
    """Return docs/records.md: every column of a run with type, unit, rule and meaning."""
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
    parts += ["", "## Limits of files and texts", "", _LIMITS, ""]
    parts += ["| limit | value | of what |", "|---|---|---|"]
    parts += [f"| `{name}` | {getattr(limits, name):,} | {what} |" for name, what in FILES.items()]
    return "\n".join(parts) + "\n"


def refusals_page() -> str:
    """Return docs/refusals.md: refusals and warnings, with reason and next measurement."""
    parts = [
        "# What is refused, and why",
        "",
        "Made from `planner/answers/_refused.py` by `make docs`; the Method page shows the same "
        "table.",
        "",
        "| when | then | why | measure next |",
        "|---|---|---|---|",
    ]
    parts += [f"| {r.when} | {r.then} | {r.why} | {r.measure_next} |" for r in RULES]
    return "\n".join(parts) + "\n"


PAGES: Final = MappingProxyType[str, Callable[[], str]](
    {"catalog": catalog_page, "records": records_page, "refusals": refusals_page}
)
"""Functions that return a page's text, by name (docs/NAME.md)."""


def _range(column: Column) -> str:
    """Return the range of a column's numbers; "" for texts, flags and lists."""
    if column.type not in (REAL, WHOLE):
        return ""
    least = max(1.0, column.span.least) if column.type == WHOLE else column.span.least
    sizes = f"{least:g} to {column.span.most:g}"
    return {"positive": sizes, "not negative": f"0, {sizes}", "any": f"0, ± {sizes}"}[column.rule]


def _column_line(column: Column) -> str:
    values = " / ".join(column.choices) or _range(column)
    mark = " **id**" if column.identity else ""
    needed = " required" if column.required else ""
    needed += f" since version {column.since}" if column.since > 1 else ""
    kind = "list of records" if column.group == "nested" else str(column.type)
    name = f"`{column.name}`{mark}{needed}"
    return f"| {name} | {kind} | {column.unit} | {values} | {column.meaning} |"
