"""Answers as plain trees: numbers to 12 digits, long lists as a digest, and what differs."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

DIGITS: Final = 12
"""Significant digits that are kept of a number."""
HASHED_DIGITS: Final = 9
"""Those of a number in a digest, where one unit of the last kept digit would change everything."""
LONGEST: Final = 12
"""Entries of a list that is kept whole where lists are shortened."""
_CLOSE: Final = 1.01 * 10.0 ** (1 - DIGITS)
"""Relative difference of two numbers that are one unit of the last kept digit apart."""
Tree = Any
"""Whatever JSON holds."""


def plain(value: Any, digits: int = DIGITS) -> Tree:  # noqa: ANN401 - whatever is recorded
    """Return a value as JSON can hold it, its numbers rounded and its typed arrays as lists."""
    if isinstance(value, Mapping):
        if value.keys() >= {"dtype", "bdata"}:
            return plain(_numbers(value), digits)
        return {str(name): plain(v, digits) for name, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v, digits) for v in value]
    if isinstance(value, float):
        return rounded(value, digits) if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def rounded(value: float, digits: int = DIGITS) -> float:
    """Return a number with so many significant digits."""
    return float(f"{value:.{digits - 1}e}")


def shortened(tree: Tree) -> Tree:
    """Return a tree in which the ends and a digest stand for the middle of each long list."""
    if isinstance(tree, dict):
        return {name: shortened(value) for name, value in tree.items()}
    if not isinstance(tree, list):
        return tree
    if len(tree) <= LONGEST:
        return [shortened(value) for value in tree]
    return {"entries": len(tree), "first": shortened(tree[0]), "last": shortened(tree[-1]),
            "sha256": digest(tree)}  # fmt: skip


def digest(tree: Tree) -> str:
    """Return the start of the hash of a tree; its numbers have 9 digits there."""
    text = json.dumps(plain(tree, HASHED_DIGITS), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def differences(kept: Tree, now: Tree, path: str = "") -> Iterator[str]:
    """Yield a line for each place where two trees differ: its path and both values."""
    if isinstance(kept, dict) and isinstance(now, dict):
        for name in {**kept, **now}:
            if name in kept and name in now:
                yield from differences(kept[name], now[name], f"{path}/{name}")
            else:
                yield _line(f"{path}/{name}", kept.get(name, "absent"), now.get(name, "absent"))
    elif isinstance(kept, list) and isinstance(now, list):
        for place, (one, other) in enumerate(zip(kept, now, strict=False)):
            yield from differences(one, other, f"{path}/{place}")
        if len(kept) != len(now):
            yield _line(f"{path} (entries)", len(kept), len(now))
    elif not _same(kept, now):
        yield _line(path, kept, now)


def _same(kept: Tree, now: Tree) -> bool:
    if isinstance(kept, float) and isinstance(now, float):
        return math.isclose(kept, now, rel_tol=_CLOSE)
    return type(kept) is type(now) and bool(kept == now)


def _line(path: str, kept: Tree, now: Tree) -> str:
    return f"{path}: recorded {kept!r}, now {now!r}"


def _numbers(array: Mapping[str, Any]) -> Tree:
    """Return the numbers of one of plotly's typed arrays."""
    found = np.frombuffer(base64.b64decode(array["bdata"]), dtype=np.dtype(array["dtype"]))
    shape = [int(n) for n in str(array.get("shape") or found.size).split(",")]
    return found.reshape(shape).tolist()
