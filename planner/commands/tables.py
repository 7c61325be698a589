"""Tables in a terminal (with `rich`), or plain lines where the output is piped."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

Line = Sequence[str]


def print_answer(sentences: Sequence[str]) -> None:
    """Print sentences."""
    for text in sentences:
        sys.stdout.write(f"{text}\n")


def print_table(head: Sequence[str], rows: Sequence[Line], right: Sequence[str] = ()) -> None:
    """Print a table; columns named in `right` are aligned right."""
    if not rows:
        return
    sys.stdout.write("\n")
    if sys.stdout.isatty():
        _rich(head, rows, right)
    else:
        _plain(head, rows, right)


def _rich(head: Sequence[str], rows: Sequence[Line], right: Sequence[str]) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in head:
        table.add_column(Text(name), justify="right" if name in right else "left")
    for row in rows:
        table.add_row(*(Text(_seen(c)) for c in row))  # Text: names are never markup
    Console(file=sys.stdout).print(table)


def _plain(head: Sequence[str], rows: Sequence[Line], right: Sequence[str]) -> None:
    lines = [list(head), *([_seen(c) for c in row] for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    for line in lines:
        cells = (
            c.rjust(w) if name in right else c.ljust(w)
            for c, w, name in zip(line, widths, head, strict=True)
        )
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def _seen(text: str) -> str:
    """Return text on one line, without control characters."""
    return "".join(c if c.isprintable() else " " for c in text)
