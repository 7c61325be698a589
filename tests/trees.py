"""Syntax trees of the program, parsed once for all tests of its source."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file; the first one is the module."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))))


def tree(path: Path) -> ast.Module:
    """Return the file as a whole."""
    first = nodes(path)[0]
    assert isinstance(first, ast.Module)
    return first


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Yield every call with the last part of what is called; empty where that has no name."""
    for node in nodes(path):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            yield name, node
