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
    """Return chart names by id, as short as uniqueness allows."""
    names = {c.id: _short(c) for c in every}
    for more in (_with_provider, _with_model, _with_terms, _with_all):
        shared = {name for name, n in Counter(names.values()).items() if n > 1}
        names |= {c.id: more(c) for c in every if names[c.id] in shared}
    return names


def _short(candidate: Candidate) -> str:
    if candidate.way == "own" and candidate.run is not None:  # a measured system has its own name
        return _LONG.sub("", candidate.label)
    hardware = candidate.hardware
    name = hardware.accelerator.name if hardware.accelerator else hardware.label
    count = f"{hardware.count} x " if hardware.accelerator else ""
    return f"{candidate.way.capitalize()} {count}{_LONG.sub('', name)}"


def _with_provider(candidate: Candidate) -> str:
    """Return count, accelerator and provider: '8 x H100, Lambda'."""
    if candidate.offer is None or candidate.hardware.accelerator is None:
        return _short(candidate)
    name = _LONG.sub("", candidate.hardware.accelerator.name)
    return f"{candidate.hardware.count} x {name}, {_abbreviated(candidate.offer.provider)}"


def _with_model(candidate: Candidate) -> str:
    """Return count, accelerator with its form factor, and provider: '8 x H100 PCIe, Lambda'."""
    if candidate.offer is None or candidate.hardware.accelerator is None:
        return f"{candidate.way.capitalize()} {candidate.hardware.label}"
    name = _MAKER.sub("", candidate.hardware.accelerator.name)
    return f"{candidate.hardware.count} x {name}, {_abbreviated(candidate.offer.provider)}"


def _with_terms(candidate: Candidate) -> str:
    return (
        f"{_with_model(candidate)} {candidate.offer.terms}" if candidate.offer else candidate.label
    )


def _abbreviated(provider: str) -> str:
    """Return the first word of a provider, at most `_MOST_PROVIDER` letters."""
    word = provider.split(maxsplit=1)[0] if provider.strip() else provider
    return word if len(word) <= _MOST_PROVIDER else f"{word[: _MOST_PROVIDER - 1]}."


def _with_all(candidate: Candidate) -> str:
    return candidate.label


def colours(ids: Sequence[str]) -> dict[str, int]:
    """Return the colour slot of each option; chosen options keep theirs."""
    slots = kept_colours(st.session_state.get(_KEY, {}), ids)
    st.session_state[_KEY] = slots
    return slots


def kept_colours(before: Mapping[str, int], ids: Sequence[str]) -> dict[str, int]:
    """Return colour slots: earlier options keep theirs, new ones take the least used."""
    slots = {i: before[i] for i in ids if i in before}
    for option in ids:
        if option not in slots:
            used = Counter(slots.values())
            slots[option] = min(range(len(LIGHT)), key=lambda slot: (used[slot], slot))
    return slots
