"""The sentences of refused statements.

The process apart answers with a key and a value, and never with a sentence: a template that it made
could hold anything.
"""

from collections.abc import Mapping
from typing import Final

from planner.core import Text
from planner.store.select._child import LONGEST, MOST_BYTES, SECONDS, TABLE

_MOST_LETTERS: Final = 400
_WORDS: Final[Mapping[str, str]] = {
    "TABLE_FUNCTION": Text("A function in FROM"),
    "RECURSIVE_CTE_NODE": "WITH RECURSIVE",
    "SHOW_REF": Text("SHOW, DESCRIBE and SUMMARIZE"),
    "PIVOT": "PIVOT",
    "LAMBDA": Text("A lambda"),
    "PARAMETER": Text("A parameter"),
    "POSITIONAL_REFERENCE": Text("A column by its number"),
    "ARRAY_EXTRACT": Text("A subscript"),
}
"""Parts of a statement by DuckDB's names."""


class RefusedError(Exception):
    """A statement is not run; the message has the reason and the next step."""


def refused(why: object, value: object) -> RefusedError:
    """Return the refusal of a key and a value of the process apart.

    Raises:
        ValueError: the key is unknown.
    """
    text = str(value)[:_MOST_LETTERS]
    if why == "by duckdb":
        return RefusedError(text)
    sentences = {
        "empty": Text("The statement is empty. Begin with SELECT."),
        "no select": Text("Only SELECT is allowed: the runs are read-only."),
        "several": Text("There are {count} statements. Ask one at a time.", count=text),
        "no sql": Text("It is no valid SQL: {message}.", message=text),
        "join": Text("This kind of join is not allowed. Use JOIN ... ON."),
        "table": Text(
            "There is no table {name!r}. The only table is {table}.", name=text, table=TABLE
        ),
        "column": Text(
            "There is no column {name!r}. SELECT * FROM {table} LIMIT 1 shows all.",
            name=text,
            table=TABLE,
        ),
        "at": Text("AT is not allowed. Name the table only."),
        "part": Text(
            "{what} is not allowed. Use the table {table} and its columns.",
            what=_WORDS.get(text, text.replace("_", " ").lower()),
            table=TABLE,
        ),
        "function": Text(
            "The function {name!r} is not allowed. Allowed are the usual functions of numbers, "
            "texts and times, aggregates and windows.",
            name=text,
        ),
        "type": Text("The type {name!r} is not allowed.", name=text),
        "star": Text("COLUMNS(...) is not allowed. Name the columns."),
        "long": Text(
            "The statement is longer than {longest:,} characters. Shorten it.", longest=LONGEST
        ),
        "deep": Text("The statement is nested too deeply. Split it by WITH."),
        "slow": Text(
            "It takes more than {seconds:g} s. Filter the rows or aggregate them first.",
            seconds=SECONDS,
        ),
        "large": Text("It needs too much memory. Filter the rows or aggregate them first."),
        "columns": Text("The result has {count} columns. Name fewer.", count=text),
        "bytes": Text(
            "The result is larger than {megabytes:.0f} MB. Ask for less.",
            megabytes=MOST_BYTES / 1e6,
        ),
    }
    if not isinstance(why, str) or why not in sentences:
        raise ValueError(why)
    return RefusedError(sentences[why])
