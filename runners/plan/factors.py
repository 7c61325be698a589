"""Factors that a sweep may set, their allowed values, and checks of a table of factors."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

MOST: Final = 10**12
"""Largest whole number in a sweep."""
_SHOWN: Final = 80
"""Characters of a wrong value that an error repeats."""

Table = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Factor:
    """Allowed values of one factor."""

    types: tuple[type, ...]
    at_least: float | None = None
    automatic: bool = False
    """Whether "auto" is allowed: chosen for this machine."""
    at_most: float = MOST


_WHOLE, _TRUTH, _TEXT = (int,), (bool,), (str,)
FACTORS: Final[Mapping[str, Factor]] = MappingProxyType(
    {
        "workload": Factor(_TEXT),
        "options": Factor((dict,)),
        "dataset": Factor(_TEXT),
        "train_samples": Factor(_WHOLE, 1),
        "steps_per_epoch": Factor(_WHOLE, 1),
        "validation_samples": Factor(_WHOLE, 0),
        "mode": Factor(_TEXT),
        "variant": Factor(_TEXT),
        "backend": Factor(_TEXT, automatic=True),
        "engine": Factor(_TEXT, automatic=True),
        "device": Factor(_TEXT, automatic=True),
        "batch": Factor(_WHOLE, 1, automatic=True),
        "epochs": Factor(_WHOLE, 1),
        "optimizer": Factor(_TEXT),
        "learning_rate": Factor((int, float), 1e-30, at_most=1e30),
        "precision": Factor(_TEXT),
        "validation": Factor(_TRUTH),
        "augmentation": Factor(_TRUTH),
        "storage": Factor(_TEXT),
        "feed": Factor(_TEXT, automatic=True),
        "workers": Factor(_WHOLE, 1, at_most=1024),
        "multiprocessing": Factor(_TRUTH),
        "drop_remainder": Factor(_TRUTH),
        "steps_per_execution": Factor(_WHOLE, 1),
        "jit": Factor(_TRUTH, automatic=True),
        "threads": Factor(_WHOLE, 1, at_most=4096),
        "timing": Factor(_TEXT),
        "seed": Factor(_WHOLE, 0, at_most=2**32 - 1),
        "devices": Factor(_WHOLE, 1),
        "nodes": Factor(_WHOLE, 1),
        "strategy": Factor(_TEXT),
        "pattern": Factor(_TEXT),
    }
)
"""Factors that a sweep may set, by name."""


def factor_problems(where: str, table: Any, patterns: Table) -> list[str]:  # noqa: ANN401
    """Return the problems of a table of factors as sentences; `where` names the table."""
    if not isinstance(table, Mapping):
        return [f"{where}: must be a table."]
    messages = []
    for name, entry in table.items():
        factor = FACTORS.get(name)
        if factor is None:
            messages.append(unknown(name, tuple(FACTORS), f"in {where}"))
            continue
        values = entry if isinstance(entry, list) else [entry]
        if not values:
            messages.append(f"{where}: {name} is an empty list. Leave it out or give values.")
        if name == "options" and isinstance(entry, list):
            messages.append(f"{where}: options must be one table; lists go into it.")
        messages += [
            f"{where}: {text}" for value in values if (text := _value_problem(name, factor, value))
        ]
        if name == "pattern":
            messages += [unknown(v, tuple(patterns), f"in {where} (pattern)")
                      for v in values if isinstance(v, str) and v not in patterns]  # fmt: skip
    return messages


def _value_problem(name: str, factor: Factor, value: Any) -> str | None:  # noqa: ANN401
    if value == "auto" and factor.automatic:
        return None
    sound = isinstance(value, factor.types) and (
        factor.types == _TRUTH or not isinstance(value, bool)
    )
    if not sound:
        kinds = {int: "a whole number", float: "a number", bool: "true or false", str: "text",
                 dict: "a table"}  # fmt: skip
        expected = kinds[factor.types[-1]] + (' or "auto"' if factor.automatic else "")
        return f"{name} is {shown(value)}; it must be {expected}."
    if factor.at_least is not None and not factor.at_least <= value <= factor.at_most:
        return (
            f"{name} is {shown(value)}; it must be at least {factor.at_least:g} "
            f"and at most {factor.at_most:g}."
        )
    return _option_problem(value) if isinstance(value, dict) else None


def _option_problem(options: Table) -> str | None:
    """Return the first problem of a table of options: numbers, texts, booleans or lists."""
    for name, entry in options.items():
        for value in entry if isinstance(entry, list) else [entry]:
            plain = isinstance(value, str | bool) or (
                isinstance(value, int | float) and abs(value) <= MOST
            )
            if not plain:
                return f"options: {name} is {shown(value)}; it must be a number or a text."
        if entry == []:
            return f"options: {name} is an empty list. Leave it out or give values."
    return None


def shown(value: Any) -> str:  # noqa: ANN401 - any value
    """Return a wrong value for an error message, shortened if long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def unknown(name: str, allowed: tuple[str, ...], where: str) -> str:
    """Return an error for an unknown name, with the closest or all allowed names."""
    close = difflib.get_close_matches(name, allowed, 1)
    listed = f"Choose from: {', '.join(allowed)}." if allowed else "None are defined."
    hint = f"Did you mean {close[0]}?" if close else listed
    return f"{name}: is unknown {where}. {hint}"
