"""The description of the HTTP interface (OpenAPI 3.1), made from the tables of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from api.problems import MEDIA_TYPE
from api.schemas import Schema, schemas
from planner.answers import asked
from planner.answers.comparison import COMPARE
from planner.core import LONGEST_VALUE, Parameter

PATH: Final = "/api/v1/openapi.json"
VERSION: Final = "1.0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One address: what it answers, what may be asked, and the schema of the answer."""

    path: str
    name: str
    summary: str
    about: str
    schema: str
    parameters: tuple[Parameter, ...] = ()


ADDRESSES: Final = (
    Address(
        path="/api/v1",
        name="index",
        summary="Workloads and their input patterns, by the names that questions use",
        about="Start here.",
        schema="Index",
    ),
    Address(
        path="/api/v1/results",
        name="results",
        summary="Measured and published runs",
        about="As the page Results lists them, a part at a time: ask again with `cursor` set to "
        "`next_cursor` until that is null.",
        schema="Results",
        parameters=asked.RESULTS,
    ),
    Address(
        path="/api/v1/projection",
        name="projection",
        summary="N epochs of a workload on each system it ran on",
        about="As the page How long? answers: total time with its interval, or why it is refused.",
        schema="Projection",
        parameters=asked.HOW_LONG,
    ),
    Address(
        path="/api/v1/curve",
        name="curve",
        summary="Samples per second against batch size",
        about="As the page Throughput answers; `batch` asks the curves at batch sizes of yours.",
        schema="Curves",
        parameters=asked.CURVE,
    ),
    Address(
        path="/api/v1/compare",
        name="compare",
        summary="Which hardware, rented, bought or there already: time, money and how sure",
        about="As the page Compare hardware answers. Money is in `currency`.",
        schema="Comparison",
        parameters=COMPARE,
    ),
    Address(
        path="/api/v1/options",
        name="options",
        summary="Every option that a comparison may name",
        about="Takes the same question; `usual` are those compared where none is named.",
        schema="Options",
        parameters=COMPARE,
    ),
)


def description() -> dict[str, Any]:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Epochwise",
            "version": VERSION,
            "summary": "What training jobs take and cost on other hardware, with honest error bars",
            "description": "The same questions by the same names as in the pages' links, and the "
            "same numbers. Read-only. A question that does not fit the data is refused with all "
            "that is wrong with it. Fields ending in `_s` are seconds; `_low` and `_high` are the "
            "ends of 90 % intervals.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "paths": {a.path: {"get": _operation(a)} for a in ADDRESSES},
        "components": {"schemas": schemas(), "responses": _responses()},
    }


def _operation(address: Address) -> dict[str, Any]:
    answer = {"$ref": f"#/components/schemas/{address.schema}"}
    return {
        "operationId": address.name,
        "summary": address.summary,
        "description": address.about,
        "parameters": [_parameter(p) for p in address.parameters],
        "responses": {
            "200": {
                "description": "The answer",
                "headers": {"ETag": {"schema": {"type": "string"}}},
                "content": {"application/json": {"schema": answer}},
            },
            "304": {"description": "The answer whose ETag If-None-Match names still holds"},
            **{s: {"$ref": f"#/components/responses/{n}"} for s, n in _ERRORS.items()},
        },
    }


_ERRORS: Final = {"400": "Wrong", "403": "Forbidden", "404": "NoData", "414": "TooLong",
                  "503": "Busy"}  # fmt: skip
_TOLD: Final = {
    "Wrong": "The question cannot be answered as it stands; `errors` holds everything",
    "Forbidden": "The server does not answer under this name",
    "NoData": "There is no run to answer from",
    "TooLong": "The query is too long",
    "Busy": "Too many questions at once; Retry-After says when to ask again",
}


def _responses() -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {name: {"description": told, "content": content} for name, told in _TOLD.items()}


def _parameter(one: Parameter) -> dict[str, Any]:
    unit = f" [{one.unit}]" if one.unit else ""
    told: dict[str, Any] = {
        "name": one.name,
        "in": "query",
        "required": False,
        "description": f"{one.words}{unit}",
        "schema": _schema(one),
    }
    return told | ({"style": "form", "explode": True} if one.many > 1 else {})


def _schema(one: Parameter) -> Schema:
    value = _value(one)
    if one.many > 1:
        return {"type": "array", "items": value, "maxItems": one.many}
    return value | ({} if one.default is None else {"default": _default(one)})


def _value(one: Parameter) -> Schema:
    limits = {k: v for k, v in (("minimum", one.least), ("maximum", one.most)) if v is not None}
    kinds: dict[str, Schema] = {
        "whole": {"type": "integer", **limits},
        "number": {"type": "number", **limits},
        "choice": {"type": "string", "enum": list(one.choices)},
        "flag": {"type": "string", "enum": ["on", "off"]},
        "date": {"type": "string", "format": "date"},
        "text": {"type": "string", "maxLength": LONGEST_VALUE},
    }
    return kinds[one.kind]


def _default(one: Parameter) -> str | int | float:
    if isinstance(one.default, bool):
        return "on" if one.default else "off"
    if isinstance(one.default, date):
        return one.default.isoformat()
    return one.default if isinstance(one.default, int | float) else str(one.default)


def table_of(parameters: Sequence[Parameter]) -> list[str]:
    """Lines of Markdown: one for each parameter, with its limits and its default."""
    lines = ["| parameter | kind | values | default | meaning |", "|---|---|---|---|---|"]
    return lines + [_line(p) for p in parameters]


def _line(one: Parameter) -> str:
    kind = f"{one.kind}, up to {one.many}" if one.many > 1 else one.kind
    limits = f"{one.least:g} to {one.most:g}" if one.least is not None and one.most else ""
    values = " / ".join(one.choices) or ("on / off" if one.kind == "flag" else limits)
    default = "" if one.default is None or one.many > 1 else f"`{_default(one)}`"
    unit = f" [{one.unit}]" if one.unit else ""
    words = one.words.replace("|", "\\|")
    return f"| `{one.name}` | {kind} | {values} | {default} | {words}{unit} |"
