"""Fields of parameters: label, unit, limits and help are those of their table.

The link holds the value: declare it there first. Settings are Streamlit's, such as `on_change`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.common.link import Link, Options
from planner.core import Parameter
from planner.core.parameters import bounds, limits

_LONGEST_AMOUNT = 30


def number(
    link: Link,
    parameter: Parameter,
    place: DeltaGenerator | None = None,
    *,
    empty: str | None = None,
    unit: str | None = None,
    **settings: Any,  # noqa: ANN401 - Streamlit's
) -> None:
    """Draw the field of a number.

    `empty` is what an empty field stands for; without it the field always has a value. `unit` is
    that of the label where it depends on the question.
    """
    whole = parameter.kind == "whole"
    own = {"format": "%d" if whole else "%g", "help": parameter.hint, "placeholder": empty}
    _at(place).number_input(
        parameter.title(unit),
        *(bounds(parameter) if whole else limits(parameter)),
        link.held(parameter.name) if empty is None else None,
        key=link.key(parameter.name),
        **(own | settings),
    )


def choice(
    link: Link,
    parameter: Parameter,
    options: Options,
    place: DeltaGenerator | None = None,
    **settings: Any,  # noqa: ANN401 - Streamlit's
) -> None:
    """Draw the box for one of some values; of a mapping the names are shown."""
    names = list(options)
    _at(place).selectbox(
        parameter.title(),
        names,
        link.place(parameter.name, names),
        key=link.key(parameter.name),
        **({"format_func": _shown(options), "help": parameter.hint} | settings),
    )


def segments(
    link: Link,
    name: str,
    label: str,
    options: Sequence[Any] | Mapping[Any, str],
    place: DeltaGenerator | None = None,
    **settings: Any,  # noqa: ANN401 - Streamlit's
) -> None:
    """Draw the switch between some values of a link; its label is for screen readers alone."""
    own = {"default": link.held(name), "required": True, "format_func": _shown(options),
           "label_visibility": "collapsed"}  # fmt: skip
    _at(place).segmented_control(label, list(options), key=link.key(name), **(own | settings))


def several(
    link: Link,
    parameter: Parameter,
    options: Options,
    place: DeltaGenerator | None = None,
    **settings: Any,  # noqa: ANN401 - Streamlit's
) -> list[str]:
    """Draw the box for several of some values; of a mapping the names are shown."""
    own = {"format_func": _shown(options), "help": parameter.hint,
           "max_selections": parameter.many}  # fmt: skip
    chosen: list[str] = _at(place).multiselect(
        parameter.title(), list(options), key=link.key(parameter.name), **(own | settings)
    )
    return chosen


def text(
    link: Link,
    parameter: Parameter,
    place: DeltaGenerator | None = None,
    **settings: Any,  # noqa: ANN401 - Streamlit's
) -> None:
    """Draw the field of a text, or of an amount as a person writes it: 7B, or 36 h."""
    longest = parameter.longest if parameter.kind == "text" else _LONGEST_AMOUNT
    own = {"max_chars": longest, "help": parameter.hint}
    _at(place).text_input(parameter.title(""), key=link.key(parameter.name), **(own | settings))


def flag(
    link: Link,
    parameter: Parameter,
    place: DeltaGenerator | None = None,
    *,
    unit: str | None = None,
) -> None:
    """Draw a switch; `unit` is a note in brackets behind its label."""
    key = link.key(parameter.name)
    _at(place).toggle(parameter.title(unit), key=key, help=parameter.hint)


def _shown(options: object) -> Any:  # noqa: ANN401 - a function of a value
    return options.__getitem__ if isinstance(options, Mapping) else str


def _at(place: DeltaGenerator | None) -> Any:  # noqa: ANN401 - the page, or a part of it
    return st if place is None else place
