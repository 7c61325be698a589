"""The sentences of the pages are short and in the field's words (docs/words.md)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.each import each
from tests.sentences import literals, sources, templates
from tests.shipped import ROOT

MOST_WORDS: Final = 20
OWN_WORDS: Final = ("compare", "results")
"""Folders of pages that are worded elsewhere, in planner/compare and planner/store."""
FILES: Final = [
    p
    for p in sorted((ROOT / "pages").rglob("*.py"))
    if p.relative_to(ROOT / "pages").parts[0] not in OWN_WORDS
]
NOT_OF_THE_FIELD: Final = re.compile(
    r"\b(doubts?|doubted|told|tells?|asked|keeps to|reckon\w*|nobody|suffices?|mend\w*|surely|"
    r"hardly ever|odds|wanted|there already|what comes before)\b",
    re.IGNORECASE,
)
_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z{`*“])|\n+|; ")


def texts(source: str) -> Iterator[str]:
    """Every text of three words or more; a value that is filled in counts as one word.

    Docstrings, formulas and names are no sentences of a page.
    """
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    apart = {id(n.value) for n in nodes if isinstance(n, ast.Expr)}
    for joined in (n for n in nodes if isinstance(n, ast.JoinedStr)):
        apart |= {id(v) for v in joined.values}
        yield "".join(str(v.value) if isinstance(v, ast.Constant) else "{x}" for v in joined.values)
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart:
            yield node.value


def sentences(path: Path) -> list[str]:
    """The sentences of a page's source."""
    found = [t for t in texts(path.read_text(encoding="utf-8")) if "\\frac" not in t]
    return [s for t in found for s in _END.split(t) if len(s.split()) > 2]


def test_a_sentence_is_found_with_its_values_as_words() -> None:
    assert list(texts('"""Doc."""\nx = f"It takes {a} of {b}."\ny = "A b c"')) == [
        "It takes {x} of {x}.",
        "A b c",
    ]


MARKS: Final = re.compile(
    r"\b(dash(es|ed)?|dotted|bands?|markers?|grey|blue|orange|whiskers?|stars?)\b", re.IGNORECASE
)
"""Words about the marks of a chart: they are in its legend, on the page as in a report."""
WITH_CHARTS: Final = [
    p for room in ("pages", "planner/report") for p in sorted((ROOT / room).rglob("*.py"))
]


def captions(source: str) -> Iterator[str]:
    """Every text of a caption: of a call with that name, or an argument with it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            inside = [k.value for k in node.keywords if k.arg == "caption"]
            if isinstance(node.func, ast.Attribute) and node.func.attr == "caption":
                inside += node.args
            for part in (p for value in inside for p in ast.walk(value)):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def test_a_caption_is_found_in_a_call_and_in_an_argument() -> None:
    source = 'st.caption(Text("A {b}", b="c"))\nChart(title="No", caption="Yes")'
    assert list(captions(source)) == ["A {b}", "c", "Yes"]


@each("path", WITH_CHARTS)
def test_no_caption_explains_the_marks_of_a_chart(path: Path) -> None:
    found = list(captions(path.read_text(encoding="utf-8")))
    assert [text for text in found if MARKS.search(text)] == []


@each("path", FILES)
def test_no_sentence_of_a_page_is_long_or_in_words_that_are_not_of_the_field(path: Path) -> None:
    assert [s for s in sentences(path) if len(s.split()) > MOST_WORDS] == []
    assert [s for s in sentences(path) if NOT_OF_THE_FIELD.search(s)] == []


MOST_LONG: Final = 15
"""Sentences of over 22 words, those of pages included. It only goes down."""


def test_ever_fewer_sentences_are_long() -> None:
    written = [(t.place, text) for t in templates() for text in t.texts or ()]
    rooms = ("planner", "pages", "api", "runners")
    written += [
        (f"{path.relative_to(ROOT)}:{line}", text)
        for path in sources(rooms)
        for line, text in literals(path)
        if "SELECT" not in text and "\n    " not in text
    ]
    long = {
        sentence: place
        for place, text in written
        if place.startswith(rooms)
        for sentence in _END.split(text)
        if len(sentence.split()) > 22
    }
    assert len(long) <= MOST_LONG, "\n".join(f"{place}: {text}" for text, place in long.items())


NOT_PLAIN: Final = re.compile(r"\b(nobody|surely|hardly ever|in vain)\b", re.IGNORECASE)
"""Words that need a second reading, or fail as soon as a sentence is translated."""
ROOMS: Final = ("planner", "pages", "api", "runners", "backtest", "docs")
USER_NAMES: Final = "environment.py"
"""The file that knows `nobody` as the name of a user."""


@each("room", ROOMS)
def test_no_file_of_the_program_or_its_docs_has_a_word_to_read_twice(room: str) -> None:
    files = [p for p in sorted((ROOT / room).rglob("*")) if p.suffix in {".py", ".md", ".toml"}]
    assert files
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in files
        if path.name != USER_NAMES
        for match in NOT_PLAIN.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


NOT_NOUNS: Final = frozenset({"told", "asked", "known", "found", "wanted"})
"""Words that say nothing of what a name holds; the same is true of `one` as a whole name."""
OF_FILES: Final = frozenset({"asked_at"})
"""Names that files of earlier versions have: the status of a sweep."""


def names_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The names that code gives, with their lines: arguments, variables, fields, functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield node.lineno, node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.lineno, node.asname


def is_a_noun(name: str) -> bool:
    """Whether none of a name's words is one that says nothing."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().strip("_").split("_")
    return words != ["one"] and NOT_NOUNS.isdisjoint(words)


def test_every_name_says_what_it_holds() -> None:
    names = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for room in ("api", "backtest", "data", "epochwise", "pages", "planner", "runners")
        for path in sorted((ROOT / room).rglob("*.py"))
        for line, name in names_of(ast.parse(path.read_text(encoding="utf-8")))
        if name not in OF_FILES and not is_a_noun(name)
    ]
    assert names == []


def test_a_name_that_says_nothing_is_seen() -> None:
    source = "class Known:\n    asked: int\ndef f(told, one, phone): self._known = not_found = 1"
    named = [name for _, name in names_of(ast.parse(source)) if not is_a_noun(name)]
    assert sorted(named) == ["Known", "_known", "asked", "not_found", "one", "told"]


DOCUMENTS: Final = [
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
    *(
        ROOT / "docs" / f"{name}.md"
        for name in (
            "architecture",
            "capacity",
            "deploy",
            "evidence",
            "facts",
            "figures",
            "import",
            "measure",
            "reliability",
            "results",
            "results-in-s3",
            "settings",
            "words",
        )
    ),
]
_BEGINS: Final = re.compile(r"(?:[-*]|\d+\.) ")
_ENDS: Final = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`\[(\d\"])|(?<=[;:])\s+")


def prose_of(text: str) -> Iterator[str]:
    """The sentences of a Markdown page, without tables, headings and code; a value is one word."""
    paragraph: list[str] = []
    for line in [*re.sub(r"```.*?```", "", text, flags=re.DOTALL).splitlines(), ""]:
        if line.startswith(("|", "#", "    ", "<")) or not line.strip():
            whole, paragraph = paragraph, []
        elif _BEGINS.match(line.strip()):
            whole, paragraph = paragraph, [_BEGINS.sub("", line.strip(), count=1)]
        else:
            paragraph.append(line.strip())
            continue
        joined = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(whole).replace("*", ""))
        yield from _ENDS.split(re.sub(r"`[^`]*`", "X", joined))


def test_prose_has_no_tables_and_a_value_is_one_word() -> None:
    page = "# A b\n\nIt takes `a b`\nof [this](x.md).\n\n| a | b |\n\n- One `x`\n- **Two.** Three"
    assert [s for s in prose_of(page) if s] == [
        "It takes X of this.",
        "One X",
        "Two.",
        "Three",
    ]


@each("path", DOCUMENTS)
def test_no_sentence_of_a_decision_or_its_evidence_is_long(path: Path) -> None:
    sentences = prose_of(path.read_text(encoding="utf-8"))
    words = re.compile(r"\S*[A-Za-z]\S*")
    assert [s for s in sentences if len(words.findall(s)) > MOST_WORDS] == []
