"""The accelerator of a text: drivers, frameworks, clouds and users name it differently.

A text is split into words ("NVIDIA A100-SXM4-80GB (400W TDP)" -> a100 sxm 80gb). It matches the
accelerator with a name of exactly these words, else the one with the same words except memory and
form. Several matches are refused.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from planner.catalog._records import Accelerator, Catalog
from planner.core import Refusal

Words = frozenset[str]
MAKERS: Final = frozenset(
    {"nvidia", "amd", "intel", "google", "aws", "amazon", "habana", "tesla", "geforce", "radeon",
     "instinct", "cloud", "gpu", "processor", "accelerator", "r", "tm"}
)  # fmt: skip
"""Ignored words: makers and their brands. "Quadro" is significant."""
MAX_TEXT: Final = 200
"""Longer texts name nothing [characters]."""
_ASIDE: Final = re.compile(r"\([^()]*\)")
_TPU: Final = re.compile(r"tpu\w*|v\d(e|p|litepod)")
_SOCKET: Final = re.compile(r"sxm\d")
_OPTIONAL: Final = re.compile(r"\d+gb|sxm|pcie|nvl\d*|hgx|oam|hbm\d?e?")
"""Words for forms and sizes of one model."""
_SIZE: Final = re.compile(r"(\d+)\s*(gb|gib)\b")


def accelerator_named(catalog: Catalog, text: str) -> Accelerator | Refusal:
    """Return the accelerator of a text, by id, name or alias; a refusal has suggestions."""
    own = catalog.accelerators
    places = _places(tuple((a.id, a.name, *a.aliases) for a in own))
    if text in places.by_id:
        return own[places.by_id[text]]
    words = words_of(text)
    alike = places.by_model.get(_model(words), ()) if _model(words) else ()
    plain = {i for i, name in alike if _same_model(words, name, own[i])}
    matches = [own[i] for i in places.by_words.get(words, ()) or sorted(plain)]
    if len(matches) == 1:
        return matches[0]
    like = matches or [own[i] for i, n in places.names if words and any(words <= w for w in n)]
    if like:
        return _several(text, like)
    return _unknown(tuple(a.name for a in own), text)


def accelerators_alike(catalog: Catalog, text: str) -> tuple[Accelerator, ...]:
    """Return every accelerator of the model that a text names, of any form and memory.

    Without the words of form and memory the text must be a name of it: an A100 is not an A10.
    """
    model = _model(words_of(text))
    if not model:
        return ()
    return tuple(a for a in catalog.accelerators if any(model == _model(n) for n in _names(a)))


def _model(words: Words) -> Words:
    return frozenset(w for w in words if not _OPTIONAL.fullmatch(w))


@lru_cache(maxsize=4_096)
def words_of(text: str) -> Words:
    """Return the significant words of an accelerator; for TPUs without the slice size."""
    plain = _ASIDE.sub(" ", text[:MAX_TEXT].casefold().replace("_", " "))
    plain = _SIZE.sub(r"\1gb", plain)
    parts = {_SOCKET.sub("sxm", part) for part in re.findall(r"[a-z0-9]+", plain)} - MAKERS
    if any(_TPU.fullmatch(part) for part in parts):
        parts = {part for part in parts if not part.isdigit()}
    return frozenset(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Index of a catalogue's accelerators: by id, by the words of a name, by those of a model.

    `names` has each place with its names; `by_model` each place with one name.
    """

    by_id: Mapping[str, int]
    by_words: Mapping[Words, Sequence[int]]
    by_model: Mapping[Words, Sequence[tuple[int, Words]]]
    names: Sequence[tuple[int, frozenset[Words]]]


@lru_cache(maxsize=8)
def _places(texts: tuple[tuple[str, ...], ...]) -> _Places:
    """Return the places of the names of a catalogue: thousands of runs look theirs up in one."""
    by_words: dict[Words, list[int]] = {}
    by_model: dict[Words, list[tuple[int, Words]]] = {}
    names = [(i, frozenset(filter(None, map(words_of, text)))) for i, text in enumerate(texts)]
    for i, name in names:
        for words in name:
            by_words.setdefault(words, []).append(i)
            by_model.setdefault(_model(words), []).append((i, words))
    by_id = {text[0]: i for i, text in enumerate(texts)}
    return _Places(by_id=by_id, by_words=by_words, by_model=by_model, names=names)


def _names(accelerator: Accelerator) -> set[Words]:
    texts = (accelerator.id, accelerator.name, *accelerator.aliases)
    return {words for text in texts if (words := words_of(text))}


def _same_model(words: Words, name: Words, accelerator: Accelerator) -> bool:
    """Return whether the text differs from the name only in optional words.

    A text may add the memory, and PCIe where that is the link; it may lack memory and form. A 1080
    is not a 1080 Ti.
    """
    size = accelerator.memory_bytes
    more = {f"{size / 1e9:.0f}gb"} if size else set()
    more |= {"pcie"} if "PCIe" in accelerator.link_name else set()
    model = {w for w in words if not _OPTIONAL.fullmatch(w)}
    lacking = name - words
    return bool(model) and words <= name | more and all(map(_OPTIONAL.fullmatch, lacking))


def _several(text: str, matches: list[Accelerator]) -> Refusal:
    names = [a.name for a in matches[:6]] + (["another"] if len(matches) > 6 else [])
    first = f"{', '.join(names[:-1])} or " if names[:-1] else ""
    return Refusal(
        reason=f"{_quoted(text)} could be {first}{names[-1]}",
        measure_next="Use the full name with memory and form (SXM, PCIe).",
    )


@lru_cache(maxsize=1_024)
def _unknown(names: tuple[str, ...], text: str) -> Refusal:
    by_name = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(text[:MAX_TEXT].casefold(), by_name, n=3, cutoff=0.5)
    hint = f"Perhaps {' or '.join(by_name[n] for n in near)}? " if near else ""
    return Refusal(
        reason=f"{_quoted(text)} is not in the catalogue",
        measure_next=f"{hint}Choose one that is, or add a row of your own.",
    )


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
