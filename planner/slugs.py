"""Why this file exists: names as they stand in links, the same in pages, reports and commands."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable


def slug(text: str) -> str:
    """A name as it stands in a link: lower-case letters and digits joined by hyphens."""
    parts = unicodedata.normalize("NFKD", text.replace("×", "x")).lower()
    plain = "".join(c for c in parts if not unicodedata.combining(c))
    return re.sub(r"[^a-z0-9.]+", "-", plain).strip("-") or "none"


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Slug -> name, numbering the second and later names that share a slug."""
    found: dict[str, str] = {}
    for name in names:
        base = short = slug(name)
        n = 2
        while short in found:
            short, n = f"{base}-{n}", n + 1
        found[short] = name
    return found
