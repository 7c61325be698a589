"""Labels made from identifiers and names of data."""

from __future__ import annotations

import os


def sentence_case(name: str) -> str:
    """Return a name with a capital at its beginning, for a label; the rest is unchanged."""
    return name[:1].upper() + name[1:]


def program(module: str) -> str:
    """Return how a user starts a module's commands: `epochwise` where the program is installed."""
    return os.environ.get("EPOCHWISE_PROGRAM") or f"python -m {module}"
