"""The columns of the run table: for the Arrow schema, the checks and the docs.

One run is one row: one measured training (or inference) of a workload on a system at one batch
size under one input pattern. Epochs, evaluations and steps are lists of structs inside the row,
so a run is kept whole or not at all. A missing value is NULL, never 0. System columns carry the
names of MLPerf's `system_desc` where it has one.
"""

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

import pyarrow as pa

from planner.core import limits, shipped_rows, texts_in

SCHEMA_VERSION: Final = 3
"""Version of the table below; a file with a newer one is refused, an older one is read."""

Group = Literal[
    "identity", "workload", "system", "software", "factors", "summary", "nested", "other"
]
Rule = Literal["positive", "not negative", "any"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: its type, meaning, unit and allowed values."""

    name: str
    group: Group
    type: pa.DataType
    meaning: str
    unit: str = ""
    rule: Rule = "any"
    choices: tuple[str, ...] = ()
    required: bool = False
    identity: bool = False
    """Whether it is part of the identity: the run_id is the hash of these columns."""

    since: int = 1
    """Schema version that added it: older files have NULL."""

    @property
    def span(self) -> limits.Span:
        """Sizes that a number of this column may have, beside 0 where its rule allows that."""
        return limits.COLUMNS.get(self.name) or limits.UNITS[self.unit]


TEXT, WHOLE, REAL, FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
TIME: Final = pa.timestamp("us", tz="UTC")

EPOCH: Final = pa.struct(
    [
        pa.field("epoch", WHOLE),
        pa.field("epoch_s", REAL),
        pa.field("validation_s", REAL),
        pa.field("samples", WHOLE),
        pa.field("loss", REAL),
        pa.field("metric", REAL),
    ]
)
EVALUATION: Final = pa.struct(
    [
        pa.field("step", WHOLE),
        pa.field("samples", WHOLE),
        pa.field("elapsed_s", REAL),
        pa.field("value", REAL),
        pa.field("loss", REAL),
    ]
)
STEP: Final = pa.struct([pa.field("step", WHOLE), pa.field("step_s", REAL)])


_TYPES: Final = {
    "text": TEXT, "whole": WHOLE, "real": REAL, "flag": FLAG, "time": TIME,
    "epochs": pa.list_(EPOCH), "evaluations": pa.list_(EVALUATION), "steps": pa.list_(STEP),
}  # fmt: skip
COLUMNS: Final = tuple(
    Column(**row)
    for row in shipped_rows(
        __package__, "columns.csv", type=_TYPES.__getitem__, choices=texts_in, required=json.loads,
        identity=json.loads, since=int,
    )
)  # fmt: skip
"""The columns of `columns.csv`, which is beside this module."""
BY_NAME: Final = MappingProxyType({c.name: c for c in COLUMNS})
STATUSES: Final = BY_NAME["status"].choices
NESTED: Final = tuple(c.name for c in COLUMNS if c.group == "nested")
SUMMARY: Final = tuple(c.name for c in COLUMNS if c.group != "nested")
IDENTITY: Final = tuple(c.name for c in COLUMNS if c.identity)

ARROW_SCHEMA: Final = pa.schema(
    [pa.field(c.name, c.type, nullable=not c.required) for c in COLUMNS]
)


def as_current(table: pa.Table, version: int) -> pa.Table | None:
    """Return a table of a schema version with NULL in the columns added since, in today's order.

    None where its columns are not those of a run. Of other kinds, as DuckDB gives them, they are
    converted: ArrowInvalid where that cannot be.
    """
    later = {c.name for c in COLUMNS if c.since > version}
    names = set(table.column_names)
    if not set(BY_NAME) - later <= names <= set(BY_NAME) or len(names) != table.num_columns:
        return None
    columns = [
        table[c.name] if c.name in names else pa.nulls(table.num_rows, c.type) for c in COLUMNS
    ]
    return pa.table(columns, names=[c.name for c in COLUMNS]).cast(ARROW_SCHEMA)


def has_kinds(table: pa.Table) -> bool:
    """Return whether the columns of a table have the types of a run's."""
    return all(f.name in BY_NAME and f.type == BY_NAME[f.name].type for f in table.schema)
