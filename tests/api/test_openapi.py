"""The description of the HTTP interface is true: its structure, and what is answered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from api.__main__ import api_page
from api.openapi import ADDRESSES, PATH, PUSH, description
from api.routes import ANSWERS
from planner.answers.comparison import COMPARE
from tests.api.served import app, ask
from tests.shipped import ROOT

APP = app()
DOCUMENT = description()
EXAMPLES = {
    "/api/v1": [""],
    "/api/v1/results": ["", "?suspect=any&limit=5"],
    "/api/v1/projection": ["", "?session=on&epochs=7", "?workload=unnamed-model"],
    "/api/v1/curve": ["?batch=100&batch=1e7", "?workload=unnamed-model"],
    "/api/v1/scaling-out": ["?workload=unnamed-model", "?workload=unnamed-model&slow=20&price=1"],
    "/api/v1/compare": [
        "?deadline=72&budget=100",
        "?currency=JPY&rate=150&rate_as_of=2026-11-01&tax=10&country=Germany",
        "?workload=described&samples=1e6&params=7e9&tokens=2048&precision=bfloat16&epochs=1",
        "?workload=mlp-64-64-digits-sgd-nesterov-0.9-float32&goal=target",
    ],
    "/api/v1/capacity": ["?preset=vision&months=12"],
    "/api/v1/options": [""],
    "/api/v1/explore": ["", "?x=params&y=peak_memory_bytes/params", "?view=pivot&measure=params"],
    "/api/v1/sql": ["?sql=SELECT%201%20AS%20one,%20NULL%20AS%20two,%20recorded_at%20FROM%20runs"],
}


def _refs(reply: object) -> Iterator[str]:
    if isinstance(reply, dict):
        if "$ref" in reply:
            yield reply["$ref"]
        for value in reply.values():
            yield from _refs(value)
    if isinstance(reply, list):
        for value in reply:
            yield from _refs(value)


def test_the_document_has_what_openapi_3_1_asks_for() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    assert {"title", "version"} <= set(DOCUMENT["info"])
    operations = [o for path in DOCUMENT["paths"].values() for o in path.values()]
    assert len({o["operationId"] for o in operations}) == len(operations)
    for operation in operations:
        assert operation["summary"]
        assert {"200", "400"} <= set(operation["responses"])
        names = [p["name"] for p in operation["parameters"]]
        assert len(names) == len(set(names))
        for parameter in operation["parameters"]:
            assert parameter["in"] == "query"
            assert set(parameter) <= {
                "name", "in", "required", "description", "schema", "style", "explode",
            }  # fmt: skip
            Draft202012Validator.check_schema(parameter["schema"])


def test_every_reference_leads_somewhere_and_every_schema_is_one() -> None:
    for ref in _refs(DOCUMENT):
        place: Any = DOCUMENT
        for part in ref.removeprefix("#/").split("/"):
            place = place[part]
        assert place
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_it_describes_exactly_what_is_answered_and_is_served() -> None:
    asked = {path for path, methods in DOCUMENT["paths"].items() if set(methods) == {"get"}}
    assert asked == set(ANSWERS) == set(EXAMPLES)
    assert set(DOCUMENT["paths"]) - asked == {PUSH}
    assert ask(APP, PATH).json == DOCUMENT


def test_defaults_are_values_that_the_parameter_takes() -> None:
    for address in ADDRESSES:
        for reply in DOCUMENT["paths"][address.path]["get"]["parameters"]:
            if "default" in reply["schema"]:
                Draft202012Validator(reply["schema"]).validate(reply["schema"]["default"])


@pytest.mark.parametrize("path", sorted(EXAMPLES))
def test_every_answer_is_as_described(path: str) -> None:
    schema = DOCUMENT["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
    whole = {**schema["schema"], "components": DOCUMENT["components"]}
    for query in EXAMPLES[path]:
        reply = ask(APP, f"{path}{query}")
        assert reply.status == 200, reply.body
        Draft202012Validator(whole).validate(reply.json)


def test_every_problem_is_as_described() -> None:
    problem = {"$ref": "#/components/schemas/Problem", "components": DOCUMENT["components"]}
    for target in ("/api/v1/compare?epochs=0&x=1", "/api/v1/nope", "/api/v1/results?cursor=1"):
        Draft202012Validator(problem).validate(ask(APP, target).json)


def test_the_page_of_the_documentation_is_made_from_it() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert text == api_page(), "run `python -m api > docs/api.md`"
    assert all(f"| `{p.name}` |" in text for p in COMPARE)


def test_every_example_of_the_page_is_answered() -> None:
    targets = re.findall(r"curl 'http://127\.0\.0\.1:8501(/[^']+)'", api_page())
    assert len(targets) == 4
    assert [ask(APP, t).status for t in targets] == [200] * 4
