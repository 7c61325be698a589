"""The sentences of the program, as its source has them: `python -m tests.sentences` counts them.

A sentence is a text of two words or more beside its values. Templates are those of `Text` and
`plural` (planner/core/_text.py); an f-string with such words is a sentence that no other language
can have yet. SQL, addresses, formulas and markup are no sentences.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Formatter
from typing import BinaryIO, Final

from tests.shipped import ROOT
from tests.trees import nodes

EVERY: Final = ("planner", "pages", "api", "runners", "backtest")
KEYWORDS: Final = {"Text": (0,), "plural": (1, 2)}
"""Functions with templates, and which arguments those are; `make messages` has the same."""
_WORD: Final = re.compile(r"[A-Za-z]{2,}")
_PHRASE: Final = re.compile(r"[A-Za-z]{2,}[,;:.]? [A-Za-z(]|[A-Za-z]{2,}[,:]? \0|\0 [A-Za-z]{2,}")
_NOT_A_SENTENCE: Final = re.compile(
    r"</?[a-zA-Z]+|/>|style=|https?://|\\frac|\\text|&[a-z]+;|%\{|class=|fill=|stroke|\A\s*\|"
    r"|\b(SELECT|FROM|WHERE|CASE|WHEN|NULL|AND|INSERT INTO|CREATE|ORDER BY|AS|IN|NOT)\b"
    r"|\bisfinite\(|\ASET |\A:material/"
)
_PIECE: Final = re.compile(r"\A[\s,;.)]|[ ]\Z|\A\{?\w+\}?\Z")


@dataclass(frozen=True, kw_only=True)
class Template:
    """A template with its place: `texts` are its literals, one, or one for 1 and one for more."""

    place: str
    function: str
    texts: tuple[str, ...] | None
    parameters: tuple[str, ...]

    @property
    def places(self) -> set[str]:
        """The names of the places in its texts."""
        parsed = (part for text in self.texts or () for part in Formatter().parse(text))
        return {name for _, name, _, _ in parsed if name is not None}

    @property
    def piece(self) -> bool:
        """Whether it is a part of a sentence: it begins with a blank or a mark, or ends in one."""
        return any(_PIECE.match(text) for text in self.texts or ())


def sources(rooms: Sequence[str] = EVERY) -> Iterator[Path]:
    """Return the source files of the rooms whose sentences a user sees."""
    for room in rooms:
        yield from sorted((ROOT / room).rglob("*.py"))


@lru_cache(maxsize=1)
def templates() -> tuple[Template, ...]:
    """Return the templates of all rooms."""
    return tuple(t for path in sources() if path.name != "_text.py" for t in _templates(path))


@lru_cache
def f_strings() -> tuple[str, ...]:
    """Return the sentences that are f-strings, with their places."""
    return tuple(t for path in sources() if path.name != "_text.py" for t in _f_strings(path))


def _templates(path: Path) -> Iterator[Template]:
    for node in nodes(path):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        if node.func.id in KEYWORDS:
            at = [node.args[n] for n in KEYWORDS[node.func.id] if n < len(node.args)]
            whole = len(at) == len(KEYWORDS[node.func.id]) and len(node.args) == 1 + max(
                KEYWORDS[node.func.id]
            )
            yield Template(
                place=f"{path.relative_to(ROOT)}:{node.lineno}",
                function=node.func.id,
                texts=_literals(at) if whole else None,
                parameters=tuple(k.arg or "**" for k in node.keywords),
            )


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of the sentences without values that are no `Text`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    apart: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):  # a docstring
            apart.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            apart |= {id(v) for v in node.values}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in KEYWORDS:
            apart |= {id(a) for a in node.args}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in apart else None
        if isinstance(text, str) and is_sentence(text):
            yield getattr(node, "lineno", 0), text


def extract(
    file: BinaryIO, keywords: object, comment_tags: object, options: object
) -> Iterator[tuple[int, str, object, list[str]]]:
    """Yield all templates and sentences of a source file, for Babel (tests/babel.cfg)."""
    from babel.messages.extract import extract_python

    yield from extract_python(file, keywords, comment_tags, options)
    for line, text in literals(Path(file.name)):
        yield line, "Text", text, []


def _literals(nodes: Sequence[ast.expr]) -> tuple[str, ...] | None:
    texts = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return tuple(texts) if len(texts) == len(nodes) else None


def _f_strings(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.JoinedStr):
            parts = [str(v.value) if isinstance(v, ast.Constant) else "\0" for v in node.values]
            text = "".join(parts)
            if is_sentence(text) and "\0" in parts:
                shown = text.replace("\0", "{}").replace("\n", " ")
                yield f"{path.relative_to(ROOT)}:{node.lineno}: {shown}"


def is_sentence(text: str) -> bool:
    r"""Return whether a text with its values as "\0" has two words or more, one beside another."""
    words = _WORD.findall(text)
    return len(words) > 1 and bool(_PHRASE.search(text)) and not _NOT_A_SENTENCE.search(text)


def main() -> None:
    """Print the counts; with `--list` also every f-string and every piece."""
    pieces = [t for t in templates() if t.piece]
    if "--list" in sys.argv:
        print(*f_strings(), *(f"{t.place}: {t.texts}" for t in pieces), sep="\n")
    print(f"templates {len(templates())}")
    print(f"  of a plural {sum(t.function == 'plural' for t in templates())}")
    print(f"  pieces of a sentence {len(pieces)}")
    print(f"f-strings {len(f_strings())}")
    print(f"sentences without values {sum(1 for path in sources() for _ in literals(path))}")


if __name__ == "__main__":
    main()
