"""Short names and fixed colours of the options, for the charts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import streamlit as st

from planner.figures.palette import LIGHT
from planner.job import Candidate

_LONG: Final = re.compile(r"\b(GeForce|NVIDIA|Instinct) |( SXM\d?| PCIe| NVL)?( \d+GB)$")
_MAKER: Final = re.compile(r"\b(GeForce|NVIDIA|Instinct) | \d+GB$")
_MOST_PROVIDER: Final = 7
_KEY: Final = "compare-colours"


def short_names(every: Sequence[Candidate]) -> dict[str, str]:
    """Id -> name for a chart, with as much behind it as makes it unique."""
    found = {c.id: _short(c) for c in every}
    for more in (_with_provider, _with_model, _with_terms, _with_all):
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


def _with_provider(one: Candidate) -> str:
    """'8 x H100, Lambda': where it is rented goes without saying, so that the name is not cut."""
    if one.offer is None or one.hardware.accelerator is None:
        return _short(one)
    name = _LONG.sub("", one.hardware.accelerator.name)
    return f"{one.hardware.count} x {name}, {_abbreviated(one.offer.provider)}"


def _with_model(one: Candidate) -> str:
    """As `_with_provider`, with the form of the card: '8 x H100 PCIe, Lambda'."""
    if one.offer is None or one.hardware.accelerator is None:
        return f"{one.way.capitalize()} {one.hardware.label}"
    name = _MAKER.sub("", one.hardware.accelerator.name)
    return f"{one.hardware.count} x {name}, {_abbreviated(one.offer.provider)}"


def _with_terms(one: Candidate) -> str:
    return f"{_with_model(one)} {one.offer.terms}" if one.offer else one.label


def _abbreviated(provider: str) -> str:
    """The first word of a provider, at most so many letters."""
    word = provider.split(maxsplit=1)[0] if provider.strip() else provider
    return word if len(word) <= _MOST_PROVIDER else f"{word[: _MOST_PROVIDER - 1]}."


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
