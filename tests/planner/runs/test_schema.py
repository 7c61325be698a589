"""One table makes the Arrow schema and the checks."""

from __future__ import annotations

from typing import get_args

import pyarrow as pa
import pytest

from planner.catalog import TABLES
from planner.catalog._schema import CellKind
from planner.runs import (
    ARROW_SCHEMA,
    BY_NAME,
    COLUMNS,
    IDENTITY,
    NESTED,
    SUMMARY,
    Column,
    RecordError,
    Run,
    table_from_rows,
)
from planner.runs._schema import Group, Rule
from planner.store import sql
from planner.time_to_target._reference import BENCHMARKS, Unit
from tests.each import each
from tests.store.build import full_row, row

CHOSEN = [c for c in COLUMNS if c.choices]
REQUIRED = [c for c in COLUMNS if c.required and c.name not in {"run_id", "schema_version"}]
ABOVE_ZERO = [c for c in COLUMNS if c.rule == "positive" and c.name != "schema_version"]
NOT_BELOW_ZERO = [c for c in COLUMNS if c.rule == "not negative"]


def _name(column: Column) -> str:
    return column.name


def _told(**changes: object) -> dict[str, str]:
    with pytest.raises(RecordError) as caught:
        table_from_rows([row(**changes)])
    return {p.column: p.message for p in caught.value.problems}


def test_the_arrow_schema_is_the_table() -> None:
    assert ARROW_SCHEMA.names == [c.name for c in COLUMNS]
    assert [f.type for f in ARROW_SCHEMA] == [c.type for c in COLUMNS]
    assert [f.nullable for f in ARROW_SCHEMA] == [not c.required for c in COLUMNS]


def test_every_column_has_one_name_and_says_what_it_means() -> None:
    assert len(BY_NAME) == len(COLUMNS)
    assert all(c.meaning and c.name == c.name.lower() for c in COLUMNS)


def test_words_of_the_csv_tables_are_those_that_the_code_knows() -> None:
    """No type checker reads the files; a slip in a rule would switch off a limit."""
    assert {c.group for c in COLUMNS} == set(get_args(Group))
    assert {c.rule for c in COLUMNS} == set(get_args(Rule))
    assert {c.kind for columns in TABLES.values() for c in columns} == set(get_args(CellKind))
    assert {b.unit for b in BENCHMARKS} <= set(get_args(Unit))


def test_seconds_carry_their_unit_in_their_name() -> None:
    assert all((c.unit == "s") == c.name.endswith("_s") for c in COLUMNS if c.unit == "s")


def test_columns_are_summary_or_nested() -> None:
    assert set(SUMMARY) | set(NESTED) == set(BY_NAME)
    assert not set(SUMMARY) & set(NESTED)


def test_results_of_a_run_are_not_part_of_its_identity() -> None:
    measured = {c.name for c in COLUMNS if c.group in {"summary", "nested", "other"}}
    assert measured & set(IDENTITY) == {"evaluation_metric"}


def test_every_column_can_hold_a_value() -> None:
    [kept] = table_from_rows([full_row()]).to_pylist()
    assert [name for name, value in kept.items() if value is None] == []


@each("column", REQUIRED)
def test_a_required_column_may_not_be_missing(column: Column) -> None:
    assert _told(**{column.name: None})[column.name] == "is missing. Every run needs it."


@each("column", CHOSEN)
def test_a_choice_outside_the_list_is_reported_the_list(column: Column) -> None:
    message = _told(**{column.name: "something else"})[column.name]
    assert message == f"is 'something else'; it must be one of {', '.join(column.choices)}."


@each("column", ABOVE_ZERO)
def test_zero_is_refused_where_a_number_must_be_above_it(column: Column) -> None:
    assert "It must be above 0" in _told(**{column.name: 0})[column.name]


@each("column", NOT_BELOW_ZERO)
def test_below_zero_is_refused_where_zero_is_the_least(column: Column) -> None:
    assert "It must not be negative" in _told(**{column.name: -1})[column.name]


def test_every_shown_column_of_a_run_is_asked_for_by_its_name(tmp_path: object) -> None:
    made_of_other_runs = {"epoch_prior"}
    assert set(sql.RUN_COLUMNS) == set(Run.__dataclass_fields__) - made_of_other_runs


def test_the_nested_types_name_their_entries() -> None:
    assert [BY_NAME[n].type.value_type.field(0).name for n in NESTED] == ["epoch", "step", "step"]
    assert all(pa.types.is_list(BY_NAME[n].type) for n in NESTED)
