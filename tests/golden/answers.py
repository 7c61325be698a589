"""The recorded answers: one file a question, a line for each part of an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.golden.tree import Tree

FOLDER: Final = Path(__file__).parent / "answers"
AS_COMMAND: Final = "as the command says"
"""In place of the body of the HTTP interface where it is the JSON of the command."""
_DEPTH: Final = 3
"""Levels of a tree that begin a line for each of their parts."""


def read(name: str) -> dict[str, Tree]:
    """Return the recorded answer of each edge."""
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    answers: dict[str, Tree] = json.loads(text)
    result = answers.get("interface")
    if result and result["body"] == AS_COMMAND:
        result["body"] = answers["command"]["json"]["said"]
    return answers


def write(name: str, answers: Mapping[str, Tree]) -> None:
    """Write the answers of a question by edge."""
    FOLDER.mkdir(exist_ok=True)
    kept = dict(answers)
    said = kept.get("command", {}).get("json", {}).get("said")
    if said and "interface" in kept and kept["interface"]["body"] == said:
        kept["interface"] = {**kept["interface"], "body": AS_COMMAND}
    (FOLDER / f"{name}.json").write_text(_text(kept) + "\n", encoding="utf-8")


def _text(tree: Tree, level: int = 0) -> str:
    """Return a tree as JSON, the parts of its first levels on lines of their own."""
    if level > _DEPTH or not tree or not isinstance(tree, dict | list):
        return json.dumps(tree, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if isinstance(tree, dict):
        parts = [f"{json.dumps(name)}: {_text(value, level + 1)}" for name, value in tree.items()]
    else:
        parts = [_text(value, level + 1) for value in tree]
    begin, end = "{}" if isinstance(tree, dict) else "[]"
    return "\n".join([begin, ",\n".join(parts), end])
