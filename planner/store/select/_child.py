"""The process that answers SELECT statements about the runs; nothing else is in it.

It is started as `python -I _child.py`, with an empty environment. Each message is a length and
bytes. `runs` gives it the table, as an Arrow stream; `ask` a statement, which is answered by a JSON
head and an Arrow stream. Four guards, each enough for most attacks (docs/decisions/0051):

- a statement is parsed, and every node, function, table and type of its tree is on a list here;
- DuckDB has no access to files or the network, no extensions, and a locked configuration;
- a timer interrupts the statement, and DuckDB counts its memory;
- the operating system limits memory and processor time and refuses every file of more than 0 bytes.

The parent ends a process that still does not answer.
"""

import contextlib
import json
import re
import resource
import select
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

TABLE: Final = "runs"
SECONDS: Final = 2.0
"""Longest work on one statement [s]."""
MOST_ROWS: Final = 10_000
MOST_COLUMNS: Final = 200
MOST_BYTES: Final = 20_000_000
"""Largest result, as Arrow [bytes]."""
LONGEST_CELL: Final = 1_000
"""Characters of one text of a result."""
LONGEST: Final = 4_000
"""Characters of a statement."""
DEEPEST: Final = 60
"""Brackets within brackets: the parser needs stack for each."""
WORK_MB: Final = 256
"""Memory for one statement, beside the table [MB]."""
ROOM_BYTES: Final = 1_500_000_000
"""Address space beyond that of the loaded table [bytes]."""
_IDLE_S: Final = 600.0
_MOST_LETTERS: Final = 400
_LOAD_S: Final = 60.0

_EXPRESSIONS: Final = frozenset(
    {"COLUMN_REF", "CONSTANT", "FUNCTION", "COMPARISON", "CONJUNCTION", "OPERATOR", "CASE", "CAST",
     "TYPE", "BETWEEN", "SUBQUERY", "WINDOW", "STAR"}
)  # fmt: skip
_NODES: Final = frozenset(
    {"SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE", "BASE_TABLE", "JOIN", "SUBQUERY", "EMPTY",
     "EXPRESSION_LIST", "ORDER_MODIFIER", "LIMIT_MODIFIER", "DISTINCT_MODIFIER", "ORDER_DEFAULT",
     "ASCENDING", "DESCENDING", "ORDER_ASCENDING", "ORDER_DESCENDING", "INNER", "LEFT", "RIGHT",
     "OUTER", "FULL", "SEMI", "ANTI"}
)  # fmt: skip
_OPERATORS: Final = frozenset(
    {"COMPARE_IN", "COMPARE_NOT_IN", "OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL",
     "OPERATOR_COALESCE", "OPERATOR_NULLIF", "GROUPING_FUNCTION", "OPERATOR_TRY"}
)  # fmt: skip
_TYPES: Final = frozenset(
    {"boolean", "bool", "tinyint", "smallint", "integer", "int", "bigint", "hugeint", "float",
     "real", "double", "decimal", "numeric", "varchar", "text", "string", "date", "timestamp",
     "time", "interval"}
)  # fmt: skip
FUNCTIONS: Final = frozenset(
    {
        # operators
        "+", "-", "*", "/", "//", "%", "^", "**", "~~", "!~~", "~~*", "!~~*", "||",
        # numbers
        "abs", "sign", "round", "trunc", "floor", "ceil", "ceiling", "sqrt", "cbrt", "exp", "ln",
        "log", "log2", "log10", "pow", "power", "greatest", "least", "mod", "isnan", "isfinite",
        "isinf", "if", "ifnull", "nullif", "coalesce",
        # texts
        "lower", "upper", "length", "substring", "substr", "left", "right", "trim", "ltrim",
        "rtrim", "replace", "concat", "concat_ws", "contains", "starts_with", "prefix", "suffix",
        "ends_with", "split_part", "regexp_matches", "regexp_full_match", "regexp_extract",
        "like_escape", "not_like_escape", "ilike_escape", "not_ilike_escape",
        # times
        "date_part", "datepart", "date_trunc", "datetrunc", "date_diff", "datediff", "strftime",
        "year", "month", "day", "quarter", "week", "hour", "minute", "epoch", "to_days",
        "to_months", "to_years", "to_hours", "to_minutes", "to_seconds",
        # aggregates
        "count", "count_star", "count_if", "countif", "sum", "avg", "mean", "min", "max", "median",
        "mode", "quantile", "quantile_cont", "quantile_disc", "stddev", "stddev_samp",
        "stddev_pop", "variance", "var_samp", "var_pop", "mad", "skewness", "kurtosis", "corr",
        "covar_samp", "covar_pop", "regr_slope", "regr_intercept", "regr_r2", "regr_count",
        "arg_min", "arg_max", "min_by", "max_by", "first", "last", "any_value", "bool_and",
        "bool_or", "product", "geomean", "geometric_mean", "string_agg", "approx_count_distinct",
        # windows
        "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead",
        "first_value", "last_value", "nth_value",
    }
)  # fmt: skip
"""Functions that neither read anything outside the table nor make many rows or long lists."""


class NotRunError(Exception):
    """A statement is not run: the key of a sentence in `_refusals`, and the value in it."""

    def __init__(self, why: str, value: object = "") -> None:
        super().__init__(why, value)
        self.why, self.value = why, str(value)[:_MOST_LETTERS]


def check(text: str, tree: Mapping[str, Any]) -> None:
    """Refuse a statement by its tree, as `json_serialize_sql` gives it.

    Whatever is not on a list of this module is refused, so a new kind of node is as well.

    Raises:
        NotRunError: names the part that is not allowed.
    """
    statements = tree.get("statements", [])
    if tree.get("error") or not statements:
        raise _unparsed(text, str(tree.get("error_message", "")))
    if len(statements) != 1:
        raise NotRunError("several", len(statements))
    statement = statements[0]
    names = {TABLE, *(name.lower() for name in _named(statement))}
    for node in _nodes(statement):
        _check_node(node, names)


def _unparsed(text: str, message: str) -> NotRunError:
    if not text.strip(" \n\t;"):
        return NotRunError("empty")
    if message.startswith("Only SELECT"):
        return NotRunError("no select")
    return NotRunError("no sql", _first_line(message).removeprefix("Parser Error: "))


_NO_COLUMN: Final = re.compile(r'^Binder Error: Referenced column "(.+)" not found')


def _first_line(message: str) -> str:
    return message.partition("\n")[0]


def _nodes(part: object) -> Iterator[dict[str, Any]]:
    """Yield every object of a tree, without recursion: trees may be deep."""
    left = [part]
    while left:
        now = left.pop()
        if isinstance(now, dict):
            yield now
            left += now.values()
        elif isinstance(now, list):
            left += now


def _named(statement: object) -> Iterator[str]:
    for node in _nodes(statement):
        if isinstance(entries := node.get("map"), list):
            yield from (str(e["key"]) for e in entries if isinstance(e, dict) and "key" in e)
        if node.get("type") == "CTE_NODE":
            yield str(node.get("cte_name", ""))


def _check_node(node: dict[str, Any], names: set[str]) -> None:
    kind, of = node.get("type"), node.get("class")
    if of is not None:
        _check_expression(node, str(of), str(kind))
    elif isinstance(kind, str) and kind not in _NODES:
        raise NotRunError("part", kind)
    if kind == "BASE_TABLE":
        _check_table(node, names)
    if kind == "JOIN" and node.get("ref_type") not in {"REGULAR", "CROSS", "NATURAL", "ASOF"}:
        raise NotRunError("join")


def _check_table(node: dict[str, Any], names: set[str]) -> None:
    where = [p for p in (node.get("catalog_name"), node.get("schema_name")) if p]
    name = str(node.get("table_name", ""))
    if where or name.lower() not in names:
        raise NotRunError("table", ".".join([*map(str, where), name])[:80])
    if node.get("at_clause") is not None:
        raise NotRunError("at")


def _check_expression(node: dict[str, Any], of: str, kind: str) -> None:
    if of not in _EXPRESSIONS or (of == "OPERATOR" and kind not in _OPERATORS):
        raise NotRunError("part", (kind if of == "OPERATOR" else of)[:80])
    if of in {"FUNCTION", "WINDOW"}:
        name = str(node.get("function_name", "")).lower()
        if name not in FUNCTIONS or node.get("schema") or node.get("catalog"):
            raise NotRunError("function", name[:80])
    if of == "TYPE" and (str(node.get("type_name", "")).lower() not in _TYPES or node["schema"]):
        raise NotRunError("type", str(node.get("type_name"))[:80])
    if of == "STAR" and (node.get("columns") or node.get("expr") is not None):
        raise NotRunError("star")


def too_deep(text: str) -> bool:
    """Return whether a text nests brackets or CASE deeper than the parser should follow."""
    depth = deepest = 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        deepest = max(deepest, depth)
    words = re.findall(r"\b(?:case|not|select)\b|[-+~!]", text, re.IGNORECASE)
    return deepest > DEEPEST or len(words) > 10 * DEEPEST


class Desk:
    """The locked DuckDB with the table `runs`."""

    def __init__(self) -> None:
        self._base = _locked(pa.table({"run_id": pa.array([], pa.string())}))

    def take(self, table: pa.Table) -> None:
        """Replace the runs."""
        self._base = _locked(table)

    def answer(self, text: str) -> pa.Table:
        """Return at most `MOST_ROWS` + 1 rows of a statement.

        Raises:
            NotRunError: the statement is not allowed, wrong, too slow or too large.
        """
        if len(text) > LONGEST:
            raise NotRunError("long")
        if too_deep(text):
            raise NotRunError("deep")
        timer = threading.Timer(SECONDS, self._base.interrupt)
        timer.daemon = True
        timer.start()
        try:
            return self._answer(text)
        except duckdb.InterruptException:
            raise NotRunError("slow") from None
        except (MemoryError, duckdb.OutOfMemoryException, pa.ArrowMemoryError):
            raise NotRunError("large") from None
        except duckdb.Error as error:
            message = _first_line(str(error))
            if "Maximum execution time" in message or "max_execution_time" in message:
                raise NotRunError("slow") from None
            if unknown := _NO_COLUMN.search(message):
                raise NotRunError("column", unknown[1]) from None
            raise NotRunError("by duckdb", message) from None
        finally:
            timer.cancel()

    def _answer(self, text: str) -> pa.Table:
        trees = self._base.execute(_TREE, [text]).fetchall()
        check(text, json.loads(trees[0][0]))
        for statement in self._base.extract_statements(text):
            if statement.type != duckdb.StatementType.SELECT:
                raise NotRunError("no select")
        rows = self._base.sql(text).limit(MOST_ROWS + 1)
        if len(rows.columns) > MOST_COLUMNS:
            raise NotRunError("columns", len(rows.columns))
        table = plain(rows.to_arrow_table())
        if table.nbytes > MOST_BYTES:
            raise NotRunError("bytes")
        return table


_TREE: Final = "SELECT json_serialize_sql(?)"
_FILL: Final = f"CREATE TABLE {TABLE} AS SELECT * FROM given"  # noqa: S608 - constants
_LOCKS: Final = (
    "SET TimeZone = 'UTC'",
    f"SET max_execution_time = {int(SECONDS * 1000)}",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
"""Settings, the last of which forbids to change any."""


def _locked(table: pa.Table) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB that holds this table, may do nothing else, and cannot be changed."""
    size = int(table.nbytes / 1e6)
    base = duckdb.connect(
        ":memory:",
        config={
            "threads": 1,
            "temp_directory": "",
            "memory_limit": f"{3 * size + WORK_MB}MB",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
        },
    )
    base.register("given", table)
    base.execute(_FILL)
    base.unregister("given")
    for statement in _LOCKS:
        base.execute(statement)
    return base


def plain(table: pa.Table) -> pa.Table:
    """Return the table with other names for repeated columns, and numbers, texts and times only."""
    names: list[str] = []
    for name in table.column_names:
        short = name[:80] or "column"
        further = (f"{short} {n}" for n in range(2, len(names) + 3))
        names.append(short if short not in names else next(f for f in further if f not in names))
    columns = [_plain(column) for column in table.columns]
    return pa.table(columns, names=names)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        return column.cast(pa.float64())
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return column.cast(pa.int64())
    if pa.types.is_boolean(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return column
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pc.utf8_slice_codeunits(column.cast(pa.string()), 0, LONGEST_CELL)
    texts = [None if v is None else str(v)[:LONGEST_CELL] for v in column.to_pylist()]
    return pa.array(texts, pa.string())


# -- the process -----------------------------------------------------------------------------------


def _limit(seconds: float) -> None:
    """Allow this much more processor time, from now."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))


def _wall() -> None:
    """Limit memory to that of the table and some room, and files to 0 bytes."""
    with contextlib.suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + ROOM_BYTES
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _table_of(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(data) as stream:
        return stream.read_all()


def bytes_of(table: pa.Table) -> bytes:
    """Return a table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def main() -> None:
    """Answer messages until the parent has gone, or until ten minutes pass without one."""
    sys.path.append(str(Path(__file__).resolve().parents[3]))
    from planner.apart import read, write

    source, target = sys.stdin.buffer, sys.stdout.buffer
    desk = Desk()
    while select.select([source], [], [], _IDLE_S)[0]:
        try:
            what = read(source)
        except EOFError:
            return
        _limit(_LOAD_S if what == b"runs" else 2.0 * SECONDS)
        if what == b"runs":
            desk.take(_table_of(read(source)))
            _wall()
            write(target, b"{}")
            continue
        try:
            table = desk.answer(read(source).decode())
        except NotRunError as error:
            write(target, json.dumps({"refused": error.why, "value": error.value}).encode())
        else:
            write(target, b"{}")
            write(target, bytes_of(table))


if __name__ == "__main__":
    main()
