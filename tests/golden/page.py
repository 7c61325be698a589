"""A page as a tree: what it shows, in order, and the files it offers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from tests import harness
from tests.golden.surroundings import ROOT
from tests.golden.tree import Tree, digest, plain, shortened

harness.quicken()
SHELL: Final = ROOT / "pages" / "shell.py"
ADDRESSES: Final = {"curve": "throughput"}
"""Addresses of pages that are called otherwise than their command."""
WITH_FOOTER: Final = ("results",)
"""Pages whose count of all runs is kept: each new result set changes it on every page."""
SEEN: Final = (
    "label", "body", "code_text", "help", "placeholder", "alt", "options", "captions", "default",
    "value", "raw_value", "raw_values", "min", "max", "step", "page", "query_string", "disabled",
)  # fmt: skip
"""What a person sees of an element, by Streamlit's names."""
OF_TODAY: Final = {"date_input": {"max"}}
"""What Streamlit itself takes from the computer's clock: ten years from today."""


def shown(kind: str, link: dict[str, str | list[str]]) -> Tree:
    """Return all that a page shows of a question, as a link opens it in a fresh session."""
    test = AppTest.from_file(str(SHELL), default_timeout=120)
    for name, value in link.items():
        test.query_params[name] = value
    test._page_hash = calc_hash(ADDRESSES.get(kind, kind))
    test.run()
    assert [e.value for e in test.exception] == []
    places = (test.main, test.sidebar) if kind in WITH_FOOTER else (test.main,)
    return [part for place in places for part in _parts(place)]


def _parts(node: Any) -> Iterator[Tree]:  # noqa: ANN401 - blocks and elements have no common type
    """Yield every element below a node that shows something."""
    for one in node:
        proto = getattr(one, "proto", None)
        if proto is None:
            continue
        result = _fields(proto)
        result = result.get(one.type, result) if isinstance(result.get(one.type), dict) else result
        seen = {
            name: result[name]
            for name in SEEN
            if name in result and name not in OF_TODAY.get(one.type, ())
        }
        if one.type == "dataframe":
            seen |= _table(proto)
        elif one.type == "plotly_chart":
            seen["chart"] = _chart(json.loads(proto.spec))
        if seen:
            yield {one.type: shortened(plain(seen))}


def _fields(value: Any) -> Any:  # noqa: ANN401 - messages have no type that is known here
    """Return a message as plain data: the fields that are set, by name."""
    if hasattr(value, "ListFields"):
        return {field.name: _fields(one) for field, one in value.ListFields()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [_fields(one) for one in value]
    return value


def _table(proto: Any) -> dict[str, Tree]:  # noqa: ANN401 - generated, without types
    with pa.ipc.open_stream(proto.arrow_data.data) as stream:
        rows = stream.read_all().to_pylist()
    heads = {n: {k: c[k] for k in ("label", "help", "hidden") if k in c}
             for n, c in json.loads(proto.columns or "{}").items() if c}  # fmt: skip
    return {"heads": heads, "order": list(proto.column_order), "rows": rows}


def _chart(spec: dict[str, Any]) -> Tree:
    """Return what a chart shows; of its template only a digest."""
    layout = dict(spec.get("layout", {}))
    template = digest(layout.pop("template", None))
    return {"data": spec.get("data"), "layout": layout, "template": template}
