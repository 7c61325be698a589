"""The description of the HTTP interface (OpenAPI 3.1), from records and tables of parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from msgspec.json import schema_components

from api.problems import MEDIA_TYPE
from planner.answers import parameters
from planner.answers.comparison import COMPARE
from planner.answers.records import (
    CapacityPlan,
    Curves,
    Explore,
    HardwareComparison,
    Index,
    Options,
    Problem,
    Projection,
    Pushed,
    Results,
    ScalingOut,
    SqlResult,
)
from planner.compare import ASSUMPTION_TEXTS, Assumptions
from planner.core import LONGEST_VALUE, MAX_SET_TEXT, Parameter, Text
from planner.store.pushed import MOST_RUNS, SLUG
from planner.store.sealed.result_set import FIELDS

Schema = dict[str, Any]

RECORDS: Final = (
    Index, Results, Projection, Curves, ScalingOut, HardwareComparison, Options,
    CapacityPlan, Explore, SqlResult, Pushed, Problem,
)  # fmt: skip
"""The answers; their fields are described with them."""


def schemas() -> dict[str, Schema]:
    """Return the JSON schemas of all records, by name."""
    by_name: dict[str, Schema] = schema_components(
        RECORDS, ref_template="#/components/schemas/{name}"
    )[1]
    assumed = by_name[Assumptions.__name__]
    for name, text in ASSUMPTION_TEXTS.items():
        assumed["properties"][name]["description"] = f"{text.words} [{text.unit}]: {text.why}"
    return by_name


ROOT: Final = "/api/v1"
PATH: Final = f"{ROOT}/openapi.json"
PUSH: Final = f"{ROOT}/runs"
VERSION: Final = "1.0.0"


@dataclass(frozen=True, slots=True)
class ApiAddress:
    """An address with its parameters and the schema of its answer."""

    name: str
    summary: str
    about: str
    schema: str
    parameters: tuple[Parameter, ...] = ()

    @property
    def path(self) -> str:
        """The path of the address on the server."""
        return ROOT if self.name == "index" else f"{ROOT}/{self.name}"


ADDRESSES: Final = (
    ApiAddress("index", "Workloads and their input patterns, by slug and name", "Start here.",
        "Index"),
    ApiAddress("results", "Measured and published runs",
        "As on the page Results, a part at a time: repeat with `cursor` set to "
        "`next_cursor` until it is null.",
        "Results", parameters.RESULTS),
    ApiAddress("projection", "N epochs of a workload on each system it ran on",
        "As on the page How long?: total time with its interval, or the reason of a refusal.",
        "Projection", parameters.HOW_LONG),
    ApiAddress("curve", "Samples per second against batch size",
        "As on the page Throughput; `batch` adds answers at your batch sizes.", "Curves",
        parameters.CURVE),
    ApiAddress("scaling-out", "Whether more devices pay",
        "As on the page Scaling out: steps by device count, crossovers, uneven workers.",
        "ScalingOut", parameters.SCALING_OUT),
    ApiAddress("compare", "Hardware, rented, bought or already owned: time, cost and probability",
        "As on the page Compare hardware. Money is in `currency`.", "HardwareComparison", COMPARE),
    ApiAddress("options", "All options of a comparison",
        "Takes the same question; `usual` marks the default options.", "Options", COMPARE),
    ApiAddress("capacity", "Machines for a month of jobs: cost, waiting times, what breaks first",
        "As on the page Capacity. A fleet is found in seconds, so ask once. Money is in USD.",
        "CapacityPlan", parameters.CAPACITY),
    ApiAddress("explore", "Any number of the runs against any other",
        "As on the page Explore: the points of a chart, the cells of a pivot table, or facts "
        "of runs side by side, as `view` says.",
        "Explore", parameters.EXPLORE),
    ApiAddress("sql", "A read-only SELECT statement over the runs",
        "As on the page Explore: one statement over the table `runs`, with limits of time, "
        "memory and rows. `cut` is true where further rows are left out.",
        "SqlResult", parameters.SQL),
)  # fmt: skip


def description() -> dict[str, Any]:
    """Return the OpenAPI document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Epochwise",
            "version": VERSION,
            "summary": "Time and cost of training jobs on other hardware, with intervals",
            "description": "The questions of the pages' links, with the same names and numbers. "
            "Read-only, but for pushed runs. A question that does not fit the data is refused with "
            "all its problems. "
            "Fields ending in `_s` are seconds; `_low` and `_high` are the ends of 90 % "
            "intervals.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "paths": {a.path: {"get": _operation(a)} for a in ADDRESSES} | {PUSH: {"post": _pushing()}},
        "components": {
            "schemas": schemas(),
            "responses": _responses(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(address: ApiAddress) -> dict[str, Any]:
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
            "304": {"description": "The answer with the ETag of If-None-Match is still valid"},
            **{s: {"$ref": f"#/components/responses/{n}"} for s, n in _ERRORS.items()},
        },
    }


def _pushing() -> dict[str, Any]:
    texts = {name: {"type": "string", "maxLength": MAX_SET_TEXT} for name in FIELDS}
    about = {"slug": {"type": "string", "pattern": f"^{SLUG.pattern}$"}, **texts}
    body = {
        "type": "object",
        "required": ["set", "runs"],
        "additionalProperties": False,
        "properties": {
            "set": {"type": "object", "required": ["slug"], "additionalProperties": False,
                    "properties": about},
            "runs": {"type": "array", "minItems": 1, "maxItems": MOST_RUNS,
                     "items": {"type": "object"}},
        },
    }  # fmt: skip
    answer = {"$ref": "#/components/schemas/Pushed"}
    return {
        "operationId": "push",
        "summary": "Add runs that another machine measured",
        "description": "Columns of a run are those of docs/records.md. 200: every run is on disk. "
        "The same request may be sent again: each run is stored once. A new set is unofficial, "
        "unless the token is official; a checked set takes runs from such a token only.",
        "security": [{"token": []}],
        "parameters": [],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {
            "200": {"description": "All runs are stored",
                    "content": {"application/json": {"schema": answer}}},
            **{s: {"$ref": f"#/components/responses/{n}"} for s, n in _PUSH_ERRORS.items()},
        },
    }  # fmt: skip


_PUSH_ERRORS: Final = {"400": "Wrong", "401": "NoToken", "403": "Forbidden", "409": "Contradiction",
                       "413": "TooLong", "429": "TooMany", "503": "Busy"}  # fmt: skip
_ERRORS: Final = {"400": "Wrong", "403": "Forbidden", "404": "NoData", "414": "TooLong",
                  "503": "Busy"}  # fmt: skip
_DESCRIPTIONS: Final = {
    "Wrong": "The question is invalid; `errors` has all problems",
    "Forbidden": "The server does not accept this host name, or the token not this set",
    "NoToken": "The token is missing, unknown, expired or revoked",
    "Contradiction": "A run is there with other numbers, or the set's name is taken",
    "TooMany": "Too many requests of this token; Retry-After has the time to wait",
    "NoData": "There is no run",
    "TooLong": "The query or the body is too long",
    "Busy": "Too many questions at once, or a full disk; Retry-After has the time to wait",
}


def _responses() -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {name: {"description": text, "content": content} for name, text in _DESCRIPTIONS.items()}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    unit = f" [{parameter.unit}]" if parameter.unit else ""
    described: dict[str, Any] = {
        "name": parameter.name,
        "in": "query",
        "required": False,
        "description": f"{parameter.words}{unit}",
        "schema": _schema(parameter),
    }
    return described | ({"style": "form", "explode": True} if parameter.many > 1 else {})


def _schema(parameter: Parameter) -> Schema:
    value = _value(parameter)
    if parameter.many > 1:
        return {"type": "array", "items": value, "maxItems": parameter.many}
    return value | ({} if parameter.default is None else {"default": _default(parameter)})


def _value(parameter: Parameter) -> Schema:
    limits = {
        k: v
        for k, v in (("minimum", parameter.least), ("maximum", parameter.most))
        if v is not None
    }
    kinds: dict[str, Schema] = {
        "whole": {"type": "integer", **limits},
        "number": {"type": "number", **limits},
        "choice": {"type": "string", "enum": list(parameter.choices)},
        "flag": {"type": "string", "enum": ["on", "off"]},
        "date": {"type": "string", "format": "date"},
        "text": {"type": "string", "maxLength": LONGEST_VALUE},
    }
    return kinds[parameter.kind]


def _default(parameter: Parameter) -> str | int | float:
    if isinstance(parameter.default, bool):
        return "on" if parameter.default else "off"
    if isinstance(parameter.default, date):
        return parameter.default.isoformat()
    return (
        parameter.default if isinstance(parameter.default, int | float) else str(parameter.default)
    )


def table_of(parameters: Sequence[Parameter]) -> list[str]:
    """Return a Markdown table with a line per parameter: limits, default, meaning."""
    lines = ["| parameter | kind | values | default | meaning |", "|---|---|---|---|---|"]
    return lines + [_line(p) for p in parameters]


def _line(parameter: Parameter) -> str:
    kind = (
        Text("{kind}, up to {many}", kind=parameter.kind, many=parameter.many)
        if parameter.many > 1
        else parameter.kind
    )
    limits = (
        f"{parameter.least:g} to {parameter.most:g}"
        if parameter.least is not None and parameter.most
        else ""
    )
    values = " / ".join(parameter.choices) or ("on / off" if parameter.kind == "flag" else limits)
    default = "" if parameter.default is None or parameter.many > 1 else f"`{_default(parameter)}`"
    unit = f" [{parameter.unit}]" if parameter.unit else ""
    words = parameter.words.replace("|", "\\|")
    return f"| `{parameter.name}` | {kind} | {values} | {default} | {words}{unit} |"
