"""Answer a question by each edge of the program: command, HTTP interface, page, report."""

from __future__ import annotations

import csv
import functools
import io
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode

from starlette.applications import Starlette

from api.routes import Rules, routes
from planner.__main__ import main
from planner.store import Store, folders_from_environment
from tests.api.served import ask
from tests.golden.page import shown
from tests.golden.questions import Asked, Question
from tests.golden.surroundings import OWN_CATALOG, ROOT, surroundings
from tests.golden.tree import Tree, digest, plain

API: Final = {"how-long": "projection"}
"""Addresses of the HTTP interface that are called otherwise than the command."""
MADE: Final = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC")
"""When a report was made: the one moment that a page's report takes from the computer's clock."""
REPORT: Final = "offer.html"
QUICK: Final = ("how-long", "curve", "compare", "scaling-out", "steps-to-target")
"""Pages whose files are made in no time; those of the others hold thousands of rows."""
_NO_TEXT: Final = frozenset({"style", "script"})
_BREAKS: Final = frozenset(
    {"p", "h1", "h2", "h3", "h4", "li", "tr", "td", "th", "div", "text", "dt", "dd", "title"}
)
"""Tags that begin a text of its own."""


def by_command(question: Question) -> Tree:
    """Return what `python -m planner KIND` prints, as JSON and in a terminal."""
    if question.kind == "options":
        return {"terminal": _ran(["compare", "--list", "options", *_options(question.asked)])}
    words = [question.kind, *_options(question.asked)]
    return {"json": _ran([*words, "--json"]), "terminal": _ran(words)}


def by_interface(question: Question) -> Tree:
    """Return what the address answers, with its status."""
    path = API.get(question.kind, question.kind)
    result = ask(_interface(), f"/api/v1/{path}?{urlencode(question.asked, doseq=True)}")
    return {"status": result.status, "body": plain(result.json)}


def by_page(question: Question) -> Tree:
    """Return what the page shows and the tables it offers as files."""
    return {"shown": _drawn(question)[0], "files": _drawn(question)[1]}


def by_report(question: Question) -> Tree:
    """Return the report: the command's of a comparison, else the page's."""
    return _handed_out(question.asked) if question.kind == "compare" else _drawn(question)[2]


@functools.cache
def _drawn(question: Question) -> tuple[Tree, Tree, Tree]:
    """Return what a page shows, the files it offers, and its reports."""
    with surroundings() as files:
        seen = shown(question.kind, dict(question.asked))
        tables, reports = [], []
        for name, make in files:
            if name.endswith(".csv") and question.kind in QUICK:
                tables.append({"name": name, **_table(_text(make()))})
            else:
                tables.append({"name": name})
            if name.endswith(".html") and question.kind != "compare":
                reports.append(_report(_text(make())))
    return plain(seen), plain(tables), plain(reports)


EDGES: Final[Mapping[str, Callable[[Question], Tree]]] = MappingProxyType(
    {"command": by_command, "interface": by_interface, "page": by_page, "report": by_report}
)


def edges(question: Question) -> tuple[str, ...]:
    """Return the edges that answer such a question."""
    return {
        "steps-to-target": ("page", "report"),
        "results": ("interface", "page"),
        "method": ("page", "report"),
        "options": ("command", "interface"),
    }.get(question.kind, tuple(EDGES))


def recorded(question: Question, edge: str) -> Tree:
    """Return the answer of one edge as plain data."""
    with surroundings():
        return plain(EDGES[edge](question))


def _ran(words: list[str]) -> Tree:
    """Run a command in this process."""
    out, beside = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(beside):
        code = main(words)
    text = out.getvalue()
    said = json.loads(text) if text.startswith("{") else text.splitlines()
    return {"code": code, "said": said, "beside": beside.getvalue().splitlines()}


def _options(asked: Asked) -> list[str]:
    """Return a question as options of a command."""
    return [
        f"--{name.replace('_', '-')}={one}"
        for name, value in asked.items()
        for one in ([value] if isinstance(value, str) else value)
    ]


@functools.cache
def _interface() -> Starlette:
    store = Store(folders_from_environment(ROOT, os.environ))

    def fresh() -> Store:
        store.refresh()
        return store

    catalogs = (ROOT / "data" / "catalog", Path(os.environ[OWN_CATALOG]))
    return Starlette(routes=routes(Rules(store=lambda _: fresh(), catalogs=catalogs)))


def _handed_out(asked: Asked) -> Tree:
    """Return the report and the table that the command writes."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / REPORT
        result = _ran(["report", "--out", str(out), "--with-data", *_options(asked)])
        result["beside"] = [line.replace(f"{place}/", "") for line in result["beside"]]
        if out.exists():
            result["page"] = _report(out.read_text(encoding="utf-8"))
            result["table"] = _table(out.with_suffix(".csv").read_bytes().decode())
    return result


def _text(made: bytes | str) -> str:
    return made.decode() if isinstance(made, bytes) else made


def _table(text: str) -> Tree:
    """Return the rows of a CSV file, its numbers as numbers."""
    head, *rows = [[_cell(c) for c in row] for row in csv.reader(io.StringIO(text))] or [[]]
    return {"head": head, "entries": len(rows), "first": rows[:1], "sha256": digest(rows)}


def _cell(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _report(page: str) -> Tree:
    """Return the texts of a report and a digest of each of its still charts."""
    reader = _Reader()
    reader.feed(MADE.sub("MADE", page))
    reader.close()
    charts = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    return {"texts": reader.texts(), "charts": [digest(c) for c in charts]}


class _Reader(HTMLParser):
    """Collects what a page says, a text for each of its blocks."""

    def __init__(self) -> None:
        super().__init__()
        self._hidden = 0
        self._said = [""]

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - as it is called
        self._hidden += tag in _NO_TEXT
        if tag in _BREAKS:
            self._said.append("")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in _NO_TEXT
        if tag in _BREAKS:
            self._said.append("")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._said[-1] += data

    def texts(self) -> list[str]:
        """Return the texts in their order."""
        return [text for said in self._said if (text := " ".join(said.split()))]
