"""Formulas over columns: `peak_memory_bytes / params`, checked before anything is computed.

A formula has numbers, names of columns, + - * / ** with brackets, and `FUNCTIONS`. An exponent is a
plain number. Nothing else is read: no attribute, no call of another name, no text. Every problem is
a sentence with the next step. Values that are not finite become NaN.
"""

import ast
import difflib
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from planner.core import Floats, Text, shown

LONGEST: Final = 200
"""Letters of a formula."""
MOST_BRACKETS: Final = 20
"""Brackets that are open at the same time."""
MOST_PARTS: Final = 60
"""Numbers, names and operations of a formula."""
LARGEST_EXPONENT: Final = 10.0
LARGEST: Final = 1e100
"""Largest number that can be written."""
_OPERATIONS: Final[Mapping[type[ast.AST], Callable[[Any, Any], Any]]] = MappingProxyType(
    {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide,
     ast.Pow: np.power}
)  # fmt: skip
FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {"log": np.log, "log10": np.log10, "sqrt": np.sqrt, "abs": np.abs, "min": np.minimum,
     "max": np.maximum}
)  # fmt: skip
"""Functions of a formula; `log` is the natural logarithm, `min` and `max` take two values."""
_OF_TWO: Final = frozenset({"min", "max"})
_USE: Final = "Use column names, numbers, + - * / ** and brackets."


class FormulaError(ValueError):
    """The problem of a formula, and what to do next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A checked formula: its text, and the columns it needs in order of appearance."""

    text: str
    columns: tuple[str, ...]
    tree: ast.expr

    def values(self, numbers: Mapping[str, Floats]) -> Floats:
        """Return the value of each run, shape (runs,); NaN where it is not finite.

        Args:
            numbers: each of `columns` in its stored unit, shape (runs,).
        """
        with np.errstate(all="ignore"):
            computed = np.asarray(_computed(self.tree, numbers), dtype=np.float64)
        return np.where(np.isfinite(computed), computed, np.nan)


def formula_of(text: str, names: Collection[str]) -> Expression:
    """Return a text as a formula over the columns `names`.

    Raises:
        FormulaError: what is wrong with it, and what to do.
    """
    text = text.strip()
    _check_letters(text)
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError(
            Text("{text} is not a complete formula. {use}", text=shown(text), use=_USE)
        ) from None
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.expr)]
    if len(nodes) > MOST_PARTS:
        raise FormulaError(
            Text(
                "{nodes} parts are too many. Write {most_parts} at most.",
                nodes=len(nodes),
                most_parts=MOST_PARTS,
            )
        )
    _check(tree, names)
    columns = tuple(dict.fromkeys(_names(tree)))
    if not columns:
        raise FormulaError(
            Text("{text} names no column. Add one, such as params.", text=shown(text))
        )
    return Expression(text=text, columns=columns, tree=tree)


def _check_letters(text: str) -> None:
    if not text:
        raise FormulaError("The formula is empty. Write one, such as peak_memory_bytes / params.")
    if len(text) > LONGEST:
        raise FormulaError(
            Text(
                "{text:,} letters are too many. Write {longest} at most.",
                text=len(text),
                longest=LONGEST,
            )
        )
    if not text.isascii() or not text.isprintable():
        raise FormulaError(
            Text("{text} has other letters than a to z. {use}", text=shown(text), use=_USE)
        )
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth > MOST_BRACKETS:
            raise FormulaError(
                Text(
                    "More than {most_brackets} brackets are open at once. Remove some of them.",
                    most_brackets=MOST_BRACKETS,
                )
            )


def _check(node: ast.expr, names: Collection[str]) -> None:
    """Raise for the first part that a formula may not have."""
    if isinstance(node, ast.Constant):
        _check_number(node.value)
    elif isinstance(node, ast.Name):
        if node.id not in names:
            raise FormulaError(_no_column(node.id, names))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        _check(node.operand, names)
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        if isinstance(node.op, ast.Pow):
            _check_exponent(node.right)
        _check(node.left, names)
        _check(node.right, names)
    elif isinstance(node, ast.Call):
        _check_call(node)
        for argument in node.args:
            _check(argument, names)
    else:
        raise FormulaError(
            Text(
                "{unparse} is not allowed in a formula. {use}",
                unparse=shown(ast.unparse(node)),
                use=_USE,
            )
        )


def _check_number(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormulaError(
            Text("{value} is not a number. {use}", value=shown(repr(value)), use=_USE)
        )
    if not abs(value) <= LARGEST:
        raise FormulaError(
            Text("A number is larger than {largest:g}. Write a smaller one.", largest=LARGEST)
        )


def _check_exponent(node: ast.expr) -> None:
    sign = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd)
    number = node.operand if isinstance(node, ast.UnaryOp) and sign else node
    value = number.value if isinstance(number, ast.Constant) else None
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not plain or abs(float(str(value)[:40])) > LARGEST_EXPONENT:
        raise FormulaError(
            Text(
                "An exponent must be a plain number from -{largest_exponent:g} to "
                "{largest_exponent:g}. Write it as in params ** 0.5.",
                largest_exponent=LARGEST_EXPONENT,
            )
        )


def _check_call(node: ast.Call) -> None:
    name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
    if not isinstance(node.func, ast.Name) or name not in FUNCTIONS:
        names = ", ".join(FUNCTIONS)
        raise FormulaError(
            Text(
                "There is no function {name}. Choose one of {stated}.",
                name=shown(name),
                stated=names,
            )
        )
    needed = 2 if name in _OF_TWO else 1
    if (
        node.keywords
        or len(node.args) != needed
        or any(isinstance(a, ast.Starred) for a in node.args)
    ):
        values = "two values" if needed == 2 else "one value"
        example = f"{name}(step_s, 1)" if needed == 2 else f"{name}(params)"
        raise FormulaError(
            Text(
                "{name} takes {values}. Write it as in {example}.",
                name=name,
                values=values,
                example=example,
            )
        )


def _no_column(name: str, names: Collection[str]) -> str:
    if name in FUNCTIONS:
        return Text(
            "{name} is a function. Write it with brackets, as in {name}(params).", name=name
        )
    near = difflib.get_close_matches(name[:80], list(names), n=1, cutoff=0.5)
    hint = Text("Perhaps {near}?", near=near[0]) if near else "Choose one of the listed columns."
    return Text("There is no column {name}. {hint}", name=shown(name), hint=hint)


def _names(node: ast.expr) -> Iterator[str]:
    """Yield the names of columns, in order of appearance."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Call):
        for argument in node.args:
            yield from _names(argument)
    else:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from _names(child)


def _computed(node: ast.expr, numbers: Mapping[str, Floats]) -> Any:  # noqa: ANN401 - an array or a number
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.Name):
        return numbers[node.id]
    if isinstance(node, ast.UnaryOp):
        value = _computed(node.operand, numbers)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        left, right = _computed(node.left, numbers), _computed(node.right, numbers)
        return _OPERATIONS[type(node.op)](left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return FUNCTIONS[node.func.id](*(_computed(a, numbers) for a in node.args))
    return math.nan
