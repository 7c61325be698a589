"""Short names and fixed colours of the options, for the charts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import streamlit as st

from planner.compare.records import Candidate
from planner.palette import LIGHT

_LONG: Final = re.compile(r"\b(GeForce|NVIDIA|Instinct) |( SXM\d?| PCIe| NVL)?( \d+GB)$")
_KEY: Final = "compare-colours"


def short_names(every: Sequence[Candidate]) -> dict[str, str]:
    """Id -> name for a chart, with as much behind it as tells it from the others."""
    found = {c.id: _short(c) for c in every}
    for more in (_with_model, _with_all):
        shared = {name for name, n in Counter(found.values()).items() if n > 1}
        found |= {c.id: more(c) for c in every if found[c.id] in shared}
    return found


def _short(one: Candidate) -> str:
    if (
        one.way == "own" and one.run is not None
    ):  # what was measured there is known by the name of its system
        return _LONG.sub("", one.label)
    name = one.hardware.accelerator.name if one.hardware.accelerator else one.hardware.label
    count = f"{one.hardware.count} x " if one.hardware.accelerator else ""
    return f"{one.way.capitalize()} {count}{_LONG.sub('', name)}"


def _with_model(one: Candidate) -> str:
    provider = f" ({one.offer.provider})" if one.offer else ""
    return f"{one.way.capitalize()} {one.hardware.label}{provider}"


def _with_all(one: Candidate) -> str:
    return one.label


def colours(ids: Sequence[str]) -> dict[str, int]:
    """Colour slot of each option: it keeps it as long as it is among the chosen ones."""
    known = kept_colours(st.session_state.get(_KEY, {}), ids)
    st.session_state[_KEY] = known
    return known


def kept_colours(known: Mapping[str, int], ids: Sequence[str]) -> dict[str, int]:
    """Those that had a colour keep it; the others take the least used ones."""
    found = {i: known[i] for i in ids if i in known}
    for one in ids:
        if one not in found:
            used = Counter(found.values())
            found[one] = min(range(len(LIGHT)), key=lambda slot: (used[slot], slot))
    return found
