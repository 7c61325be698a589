"""Labels made from identifiers and names of data."""

from __future__ import annotations


def sentence_case(name: str) -> str:
    """Return a name with a capital at its beginning, for a label; the rest is unchanged."""
    return name[:1].upper() + name[1:]
