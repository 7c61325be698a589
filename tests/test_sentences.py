"""Sentences are data: whole templates that gettext tools collect, and no code reads them back."""

from __future__ import annotations

import ast
import gettext
import re
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Final

import pytest

from planner.convergence import fit_convergence
from planner.core import Refusal, Text
from planner.core.parameters import Parameter, read
from tests import sentences
from tests.faults.outcomes import FULL
from tests.shipped import ROOT
from tests.trees import nodes

PIECES: Final = 0
"""Templates that are a part of a sentence. It only goes down."""
SENTENCES: Final = frozenset(
    {"reason", "measure_next", "sentence", "message", "way_out", "fix", "note"}
)
"""Names of fields and variables with sentences."""
TEXTS: Final = frozenset({"text", "words", "why", "remarks"})
"""Names of variables that may hold one: no words are searched in them."""
CUTS: Final = frozenset(
    [
        "replace",
        "split",
        "rsplit",
        "partition",
        "rpartition",
        "removesuffix",
        "removeprefix",
        "startswith",
        "endswith",
        "lower",
        "upper",
        "capitalize",
        "casefold",
        "title",
        "strip",
        "rstrip",
        "lstrip",
        "find",
        "index",
    ]
)
READS: Final = {
    "backtest/published/page.py": "a document counts refusals of a kind, without their numbers",
    "pages/results/page.py": "folders' paths in reasons become labels, so that visitors see none",
    "planner/published": "notes of published tables are data",
    "planner/importers": "notes of other programs' files are data",
    "planner/job/_job.py": "names of networks are data",
    "planner/store/reader.py": "errors of DuckDB",
    "planner/store/select/_child.py": "errors of DuckDB",
    "planner/suspects/_checks.py": "the reason is a column of the published run",
}
"""Where a field of such a name may be cut, and why."""


def test_every_template_is_a_literal() -> None:
    assert [t.place for t in sentences.templates() if t.texts is None] == []
    assert len(sentences.templates()) > 1_400


def test_every_place_of_a_template_has_its_parameter_and_every_parameter_its_place() -> None:
    wrong = [
        f"{t.place}: {sorted(t.places ^ given)}"
        for t in sentences.templates()
        if (given := {*t.parameters, *({"count"} & t.places if t.function == "plural" else ())})
        and t.places != given
    ]
    assert wrong == []


def test_places_are_named() -> None:
    odd = [t.place for t in sentences.templates() if any(not p.isidentifier() for p in t.places)]
    assert odd == []


def test_a_place_is_named_for_what_it_holds_and_not_for_its_turn() -> None:
    turns = re.compile(r".*_[2-9]")
    assert [t.place for t in sentences.templates() if any(map(turns.fullmatch, t.places))] == []


def test_no_sentence_is_an_f_string() -> None:
    assert sentences.f_strings() == ()


def test_ever_fewer_templates_are_pieces_of_a_sentence() -> None:
    pieces = [f"{t.place}: {t.texts}" for t in sentences.templates() if t.piece]
    assert len(pieces) <= PIECES, "\n".join(pieces)


def cuts(path: Path) -> Iterator[int]:
    """The lines on which a field with a sentence is cut, searched or turned into another case."""
    for node in nodes(path):
        of: ast.expr | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value if node.func.attr in CUTS else None
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            of = node.value
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            left, of = node.left, node.comparators[0]
            if not (isinstance(left, ast.Constant) and isinstance(left.value, str)):
                of = of if isinstance(left, ast.Attribute) and left.attr in SENTENCES else None
            elif re.search("[a-z]{3}", left.value) and getattr(of, "id", "") in TEXTS:
                yield left.lineno
        if of is not None and getattr(of, "attr", getattr(of, "id", "")) in SENTENCES:
            yield of.lineno


def test_a_cut_sentence_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        'a.reason.rstrip(".")\n"x" in a.sentence\na.message[1:]\na.reason\n'
        '", converted" in words\na.fix in note\nmessage.split()\n"|" in text\n',
        encoding="utf-8",
    )
    assert list(cuts(tmp_path / "a.py")) == [1, 2, 3, 5, 6, 7]


def test_no_code_cuts_searches_or_inflects_a_sentence() -> None:
    found = [
        f"{name}:{line}"
        for path in sentences.sources()
        for name in [path.relative_to(ROOT).as_posix()]
        if not name.startswith(tuple(READS))
        for line in cuts(path)
    ]
    assert found == []


def test_a_sentence_without_values_is_a_literal_that_is_no_docstring(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        '"""Two words."""\na = "Choose a system."\nb = Text("Not this one.")\nc = f"{a} or that"\n',
        encoding="utf-8",
    )
    assert list(sentences.literals(tmp_path / "a.py")) == [(2, "Choose a system.")]


@pytest.mark.slow
def test_gettext_tools_collect_every_sentence(tmp_path: Path) -> None:
    pytest.importorskip("babel", reason="requirements/dev.txt has Babel")
    from babel.messages.pofile import read_po

    out, rooms = tmp_path / "epochwise.pot", sentences.EVERY if FULL else SAMPLE
    subprocess.run(
        [sys.executable, "-m", "babel.messages.frontend", *OPTIONS, *rooms, "-o", str(out)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    collected = read_po(BytesIO(out.read_bytes()))
    ids = {m.id if isinstance(m.id, tuple) else (m.id,) for m in collected if m.id}
    templates = {t.texts for t in sentences.templates() if t.place.startswith(rooms)}
    assert len(templates) > (1_000 if FULL else 100)
    assert templates - ids == set()
    literals = {
        (text,)
        for path in sentences.sources()
        if path.relative_to(ROOT).as_posix().startswith(rooms)
        for _, text in sentences.literals(path)
    }
    assert len(literals) > (2_000 if FULL else 200)
    assert literals - ids == set()


SAMPLE: Final = ("api", "planner/answers", "runners/plan")
"""Folders that `make test` collects: the tools take some 10 s for all, in `make faults`."""
OPTIONS: Final = (
    "extract", "--mapping", "tests/babel.cfg", "--keyword", "Text", "--keyword", "plural:2,3",
    "--no-wrap", "--sort-by-file",
)  # fmt: skip
ARGUMENTS: Final = (*OPTIONS, *sentences.EVERY)
"""Those of `make messages`."""


def test_make_messages_collects_the_same() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert " ".join(ARGUMENTS) in recipe


class Marked(gettext.NullTranslations):
    """A language that marks whatever it has translated."""

    def gettext(self, message: str) -> str:
        """Return the template with marks."""
        return f"«{message}»"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """Return the template for a count, with marks."""
        return f"«{msgid1 if n == 1 else msgid2}»"


def test_a_refusal_and_a_problem_can_be_said_in_another_language() -> None:
    refused = fit_convergence([32.0], [100.0])
    assert isinstance(refused, Refusal)
    problem = read([Parameter(name="n", words="n", kind="whole")], {"n": ["x"]}).problems[0]
    for said in (refused.reason, problem.message):
        assert isinstance(said, Text)
        assert said.render(Marked()).startswith("«")
        assert said.render(gettext.NullTranslations()) == said
