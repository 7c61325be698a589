"""The description of the HTTP interface (OpenAPI 3.1), made from the tables of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from typing import Any, Final

from api.problems import MEDIA_TYPE
from planner.answers import parameters
from planner.answers.comparison import COMPARE
from planner.compare import ASSUMPTION_TEXTS, Assumptions
from planner.core import LONGEST_VALUE, Parameter

Schema = dict[str, Any]

_WITH_ENDS: Final = ("", "_low", "_high")


def _ends(*names: str) -> dict[str, str]:
    return {f"{n}{end}": "number?" for n in names for end in _WITH_ENDS}


_PROJECTION: Final = {
    "option": "string", "workload": "string", "input_pattern": "string", "system": "string",
    "global_batch_size": "integer?", "epochs": "integer", "samples_per_epoch": "number?",
    "timed_samples_per_epoch": "number?", "total_s": "number?",
    "total_hms": "string?", "low_s": "number?", "high_s": "number?", "level": "number?",
    "baseline": "string", "speed_ratio_to_baseline": "number?", "speed_ratio_low": "number?",
    "speed_ratio_high": "number?", "another_session": "boolean", "rest_like_last": "boolean",
    "suspect": "string?", "left_out": "boolean", "basis": "string", "refused": "string?",
    "measure_next": "string?", "notes": "string?", "result_set": "string", "run_id": "string",
    "source": "string?", "licence": "string?",
}  # fmt: skip
_CURVE: Final = {
    "curve": "string", "points": "integer", "left_out": "integer", "scatter_percent": "number?",
    "basis": "string", "notes": "string?", "refused": "string?", "measure_next": "string?",
    **_ends("asymptotic_throughput", "overhead_s", "batch_50", "batch_90"),
}  # fmt: skip
_POINT: Final = {
    "curve": "string", "global_batch_size": "integer", "step_s": "number",
    "samples_per_s": "number", "fitted_step_s": "number?",
    "measured_against_fit_percent": "number?", "in_fit": "boolean", "run_id": "string",
}  # fmt: skip
_AT_BATCH: Final = {
    "curve": "string", "global_batch_size": "number", **_ends("samples_per_s", "step_s"),
    "basis": "string?", "notes": "string?", "refused": "string?", "measure_next": "string?",
}  # fmt: skip
_OPTION: Final = {
    "option_id": "string", "option": "string", "way": "string", "system": "string",
    "accelerator": "string?", "accelerators": "integer", "machines": "integer",
    "rank": "integer?", "tied": "boolean", "workload": "string", "goal": "string",
    "global_batch_size": "number?", **_ends("time_s"), "time_hms": "string?",
    "finishes": "string?", **_ends("samples_per_s"), "startup_s": "number?",
    "currency": "string",
    **_ends("cost_per_run", "to_pay", "cost_per_month"),
    **_ends("energy_kwh"), "co2_kg": "number?", "probability_cheapest": "number?",
    "probability_fastest": "number?", "probability_in_time": "number?",
    "probability_in_budget": "number?", "probability_meets_limits": "number?",
    "on_frontier": "boolean",
    "memory": "string", "memory_headroom": "number?", "memory_needed": "string?",
    "way_out": "string?", "basis": "string?", "notes": "string?", "price": "string",
    "price_is_stale": "boolean", "refused": "string?", "measure_next": "string?",
    "run_id": "string?", "price_source": "string?",
}  # fmt: skip
_RUN: Final = {
    "run_id": "string", "workload": "string", "system": "string", "global_batch_size": "integer?",
    "pattern": "string", "software": "string", "status": "string", "basis": "string",
    "epochs_measured": "integer?", "samples_per_epoch": "integer?",
    "first_epoch_s": "number?", "later_epoch_mean_s": "number?",
    "later_epoch_sd_s": "number?", "samples_per_s": "number?", "total_s": "number?",
    "result_set": "string", "folder": "string", "recorded_at": "string?", "suspect": "string?",
    "published_on": "string?", "source_url": "string?", "licence": "string?",
}  # fmt: skip
_CHOICE: Final = {
    "option_id": "string", "option": "string", "way": "string", "price": "string",
    "price_is_stale": "boolean", "usual": "boolean",
}  # fmt: skip
_ROWS: Final = {
    "ProjectionRow": _PROJECTION, "CurveRow": _CURVE, "PointRow": _POINT, "BatchRow": _AT_BATCH,
    "OptionRow": _OPTION, "RunRow": _RUN, "Choice": _CHOICE,
}  # fmt: skip
_WORDS: Final = {
    "finishes": "The end if work begins now, ISO 8601 with its zone: 2026-11-22T07:43Z. In files "
    "only; null here, as answers have no time of request.",
}
"""Descriptions of fields whose format is not obvious."""
_OPTIONAL: Final = {"CurveRow": {"points", "left_out", "curve"}}
"""Required fields of rows with optional ones: a refused curve has no parameters."""


def schemas() -> dict[str, Schema]:
    """Return all schemas by name."""
    rows = {name: _row(columns, _OPTIONAL.get(name)) for name, columns in _ROWS.items()}
    source: Schema = {"type": "object", "additionalProperties": _type("any?")}
    return rows | {
        "Source": source | {"description": "Where numbers come from, with licence and date."},
        "Index": _object({"openapi": _type("string"), "workloads": _list(_workload())}),
        "Results": _object({"query": _type("string"), "total": _type("integer"),
                            "next_cursor": _type("string?"), "rows": _rows("RunRow")}),
        "Projection": _object({"query": _type("string"), "epochs": _type("integer"),
                               "samples_per_epoch": _type("number?"),
                               "epoch_size": _type("string"),
                               "start_up": _type("string?"),
                               "baseline": _type("string"), "sentence": _type("string"),
                               "undecided": _type("string?"), "rows": _rows("ProjectionRow"),
                               "sources": _rows("Source")}),
        "Curves": _object({"query": _type("string"), "sentences": _list(_type("string")),
                           "notes": _list(_type("string")),
                           "curves": _rows("CurveRow"), "at_batch": _rows("BatchRow"),
                           "points": _rows("PointRow"), "sources": _rows("Source")}),
        "Comparison": _comparison(),
        "Options": _object({"query": _type("string"), "rows": _rows("Choice")}),
        "Problem": _problem(),
    }  # fmt: skip


def _comparison() -> Schema:
    assumed = {f.name: _assumption(f.name) for f in fields(Assumptions)}
    bought = _object(
        {
            "sentence": _type("string"),
            "rent": _type("string"),
            "buy": _type("string"),
            **_plain(_ends("utilisation", "runs_per_month")),
        }
    )
    bar = _object({"input": _type("string"), "low": _type("number?"), "high": _type("number?")})
    matters = _object(
        {
            "title": _type("string"),
            "unit": _type("string"),
            "base": _type("number?"),
            "inputs": _list(bar),
        }
    )
    return _object({
        "query": _type("string"), "workload": _type("string"), "goal": _type("string"),
        "samples_per_epoch": _type("number?"),
        "sentence": _type("string"), "undecided": _type("string?"),
        "measure_next": _type("string?"), "timed_step": _type("string?"),
        "money": _type("string"), "rows": _rows("OptionRow"),
        "rent_or_buy": _or_null(bought), "matters_most": _or_null(matters),
        "keeps": _type("string?"), "assumptions": _object(assumed),
        "electricity": _or_null(_electricity()), "assumed": _list(_type("string")),
        "sources": _rows("Source"),
    })  # fmt: skip


def _electricity() -> Schema:
    names = ("customer", "price_as_of", "price_source", "carbon_as_of", "carbon_source", "note")
    return _object({"country": _type("string"), "price_is_stale": _type("boolean"),
                    **{name: _type("string?") for name in names}})  # fmt: skip


def _assumption(name: str) -> Schema:
    text = ASSUMPTION_TEXTS[name]
    return _type("number?") | {"description": f"{text.words} [{text.unit}]: {text.why}"}


def _workload() -> Schema:
    pattern = _object({"pattern": _type("string"), "name": _type("string")})
    return _object({"workload": _type("string"), "name": _type("string"),
                    "patterns": _list(pattern)})  # fmt: skip


def _problem() -> Schema:
    error = {"type": "object", "required": ["detail"],
             "properties": {"parameter": _type("string"), "detail": _type("string")}}  # fmt: skip
    return {
        "type": "object",
        "description": "RFC 9457; `errors` names every parameter that is wrong.",
        "required": ["type", "title", "status", "detail"],
        "properties": {"type": _type("string"), "title": _type("string"),
                       "status": _type("integer"), "detail": _type("string"),
                       "errors": _list(error)},
    }  # fmt: skip


def _row(columns: Mapping[str, str], needed: set[str] | None) -> Schema:
    made = _object(_plain(columns))
    return made if needed is None else made | {"required": sorted(needed)}


def _plain(columns: Mapping[str, str]) -> dict[str, Schema]:
    return {name: _described(name, _type(kind)) for name, kind in columns.items()}


def _described(name: str, schema: Schema) -> Schema:
    return schema | {"description": _WORDS[name]} if name in _WORDS else schema


def _object(properties: Mapping[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _type(kind: str) -> Schema:
    if kind == "any?":
        return {"type": ["string", "number", "boolean", "null"]}
    return {"type": [kind[:-1], "null"]} if kind.endswith("?") else {"type": kind}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _rows(name: str) -> Schema:
    return _list({"$ref": f"#/components/schemas/{name}"})


def _or_null(of: Schema) -> Schema:
    return {"anyOf": [of, {"type": "null"}]}


PATH: Final = "/api/v1/openapi.json"
VERSION: Final = "1.0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """An address with its parameters and the schema of its answer."""

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
        summary="Workloads and their input patterns, by slug and name",
        about="Start here.",
        schema="Index",
    ),
    Address(
        path="/api/v1/results",
        name="results",
        summary="Measured and published runs",
        about="As on the page Results, a part at a time: repeat with `cursor` set to "
        "`next_cursor` until it is null.",
        schema="Results",
        parameters=parameters.RESULTS,
    ),
    Address(
        path="/api/v1/projection",
        name="projection",
        summary="N epochs of a workload on each system it ran on",
        about="As on the page How long?: total time with its interval, or the reason of a refusal.",
        schema="Projection",
        parameters=parameters.HOW_LONG,
    ),
    Address(
        path="/api/v1/curve",
        name="curve",
        summary="Samples per second against batch size",
        about="As on the page Throughput; `batch` adds answers at your batch sizes.",
        schema="Curves",
        parameters=parameters.CURVE,
    ),
    Address(
        path="/api/v1/compare",
        name="compare",
        summary="Hardware, rented, bought or already owned: time, cost and probability",
        about="As on the page Compare hardware. Money is in `currency`.",
        schema="Comparison",
        parameters=COMPARE,
    ),
    Address(
        path="/api/v1/options",
        name="options",
        summary="All options of a comparison",
        about="Takes the same question; `usual` marks the default options.",
        schema="Options",
        parameters=COMPARE,
    ),
)


def description() -> dict[str, Any]:
    """Return the OpenAPI document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Epochwise",
            "version": VERSION,
            "summary": "Time and cost of training jobs on other hardware, with intervals",
            "description": "The questions of the pages' links, with the same names and numbers. "
            "Read-only. A question that does not fit the data is refused with all its problems. "
            "Fields ending in `_s` are seconds; `_low` and `_high` are the ends of 90 % "
            "intervals.",
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
            "304": {"description": "The answer with the ETag of If-None-Match is still valid"},
            **{s: {"$ref": f"#/components/responses/{n}"} for s, n in _ERRORS.items()},
        },
    }


_ERRORS: Final = {"400": "Wrong", "403": "Forbidden", "404": "NoData", "414": "TooLong",
                  "503": "Busy"}  # fmt: skip
_DESCRIPTIONS: Final = {
    "Wrong": "The question is invalid; `errors` has all problems",
    "Forbidden": "The server does not accept this host name",
    "NoData": "There is no run",
    "TooLong": "The query is too long",
    "Busy": "Too many questions at once; Retry-After has the time to wait",
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
    kind = f"{parameter.kind}, up to {parameter.many}" if parameter.many > 1 else parameter.kind
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
