"""A parameter is one entry of its table: name, label, unit, limits, help."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from planner.answers import parameters
from planner.answers.comparison import COMPARE
from planner.core import Parameter
from tests.each import each
from tests.shipped import ROOT

TABLES: Final[Mapping[str, frozenset[str]]] = {
    page: frozenset(p.name for p in table)
    for page, table in {
        "add_results": parameters.ADD_RESULTS.values(),
        "capacity": (*parameters.CAPACITY, *parameters.JOB),
        "compare": COMPARE,
        "explore": (*parameters.EXPLORE, *parameters.SQL),
        "how_long": parameters.HOW_LONG,
        "measure": parameters.MEASURE,
        "results": parameters.RESULTS,
        "scaling_out": parameters.SCALING_OUT,
        "steps_to_target": (*parameters.STEPS_TO_TARGET.values(), *COMPARE),
        "throughput": parameters.CURVE,
    }.items()
}
EVERY: Final = frozenset[str]().union(*TABLES.values())
FILES: Final = sorted((ROOT / "pages").rglob("*.py"))
WIDGETS: Final = frozenset({
    "checkbox", "date_input", "multiselect", "number_input", "pills", "radio", "segmented_control",
    "select_slider", "selectbox", "slider", "text_area", "text_input", "time_input", "toggle",
})  # fmt: skip


def _parameter_of(node: ast.expr | None, keys: Mapping[str, str]) -> str | None:
    """The parameter whose key a widget has: `link.key("x")`, or a variable that holds it."""
    if isinstance(node, ast.Name):
        return keys.get(node.id)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        if called == "key" and node.args:
            name = node.args[0]
            return str(name.value) if isinstance(name, ast.Constant) else ast.unparse(name)
    return None


def _is_literal(node: ast.expr) -> bool:
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return isinstance(node, ast.Constant | ast.JoinedStr) or (
        called and node.func.id in {"Text", "plural"}  # type: ignore[attr-defined]
    )


def literal_labels(source: str, names: frozenset[str]) -> Iterator[str]:
    """The widgets of parameters `names` with a label of their own."""
    nodes = list(ast.walk(ast.parse(source)))
    keys = {
        target.id: name
        for node in nodes
        if isinstance(node, ast.Assign) and (name := _parameter_of(node.value, {}))
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        given = {k.arg: k.value for k in node.keywords}
        name = _parameter_of(given.get("key"), keys)
        labels = [*node.args[:1], *([given["label"]] if "label" in given else [])]
        if node.func.attr == "segments":  # of a link, its name and label
            name, labels = ast.literal_eval(node.args[1]), node.args[2:3]
        if node.func.attr in {*WIDGETS, "segments"} and name in names:
            yield from (f"{node.lineno}: {name}" for label in labels if _is_literal(label))


@each("path", FILES)
def test_a_field_of_a_parameter_has_the_label_of_its_table(path: Path) -> None:
    page = path.relative_to(ROOT / "pages").parts[0]
    names = EVERY if page == "common" else TABLES.get(page, frozenset())
    assert list(literal_labels(path.read_text(encoding="utf-8"), names)) == []


def test_a_label_on_a_page_is_seen() -> None:
    source = (
        'st.number_input("Epochs", key=link.key("epochs"))\n'
        'where = link.key("epochs")\n'
        'st.toggle(Text("All {n}", n=2), key=where)\n'
        'st.toggle("Kind", key=link.key("kind"))\n'
        'fields.segments(link, "epochs", "Epochs", ["1"])\n'
        'st.number_input(BY_NAME["epochs"].title(), key=link.key("epochs"))\n'
    )
    assert list(literal_labels(source, frozenset({"epochs"}))) == [
        "1: epochs",
        "3: epochs",
        "5: epochs",
    ]


def test_a_label_has_its_unit_unless_it_counts() -> None:
    power = Parameter(name="watts", words="power under load", kind="number", unit="W")
    assert (power.title(), power.hint) == ("Watts (W)", "Power under load")
    named = Parameter(name="epochs", words="how many", unit="epochs", help="")
    assert (named.title(), named.hint) == ("Epochs", None)
    money = Parameter(name="limit", words="most", label="Budget", help="All of it")
    assert (money.title("EUR"), money.hint) == ("Budget (EUR)", "All of it")
    assert Parameter(name="time", words="", unit="h").title("") == "Time"


PROGRAM: Final = """
import contextlib
import io
import json
from planner.answers import parameters
from planner.core import Parameter
NEW = Parameter(name="warm_up", words="epochs before the first one that counts", kind="whole",
                unit="epochs", default=3, least=0, most=99, label="Warm-up")
parameters.HOW_LONG = (*parameters.HOW_LONG, NEW)  # the one entry

from api.__main__ import api_page
from api.openapi import description
from planner import __main__ as command
from planner.answers import how_long_answered
from planner.store import Store
from planner.store.disk.folders import folders_from_environment
from streamlit.testing.v1 import AppTest
from tests.shipped import ROOT

shown = AppTest.from_string('''
from pages.common import fields
from pages.common.link import Link
from planner.answers import parameters
link = Link("how-long")
link.number(parameters.HOW_LONG[-1])
fields.number(link, parameters.HOW_LONG[-1])
link.write()
''')
shown.query_params["warm_up"] = "7"
[field] = shown.run(timeout=60).number_input
answer = how_long_answered(Store(folders_from_environment(ROOT, {})), {"warm_up": ["7"]})
with contextlib.redirect_stdout(io.StringIO()) as help_page, contextlib.suppress(SystemExit):
    command.main(["how-long", "--help"])
print(json.dumps({
    "command": "--warm-up" in help_page.getvalue(),
    "openapi": [p for p in description()["paths"]["/api/v1/projection"]["get"]["parameters"]
                if p["name"] == "warm_up"],
    "docs": [line for line in api_page().splitlines() if "warm_up" in line],
    "link": answer.query,
    "field": [field.label, field.value, field.min, field.max, field.help],
}))
"""


def test_adding_a_parameter_is_one_entry() -> None:
    """Command, HTTP interface, docs, link and field have it, with its limits and default."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["command"] is True
    [described] = made["openapi"]
    assert described["schema"] == {"type": "integer", "minimum": 0, "maximum": 99, "default": 3}
    words = "epochs before the first one that counts [epochs]"
    assert described["description"] == words
    assert made["docs"] == [f"| `warm_up` | whole | 0 to 99 | `3` | {words} |"]
    assert "warm_up=7" in made["link"]
    assert made["field"] == [
        "Warm-up (epochs)",
        7,
        0,
        99,
        "Epochs before the first one that counts",
    ]
