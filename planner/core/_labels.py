"""Names for a list of things, as short as they can be while no two are equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def distinct_labels(parts: Sequence[tuple[str, ...]]) -> list[str]:
    """Return labels joined from the fewest parts that make them unique; equal ones numbered."""
    labels = [p[0] for p in parts]
    for extra in range(1, len(parts[0]) if parts else 0):
        shared = Counter(labels)
        varied = {
            lab
            for lab in shared
            if len({p[extra] for p, x in zip(parts, labels, strict=True) if x == lab}) > 1
        }
        labels = [
            f"{lab} · {p[extra]}" if lab in varied else lab
            for lab, p in zip(labels, parts, strict=True)
        ]
    seen: Counter[str] = Counter()
    final = []
    for label in labels:
        seen[label] += 1
        final.append(label if seen[label] == 1 else f"{label} · run {seen[label]}")
    return final
