"""Which accelerator a text means: drivers, frameworks, clouds and people each name it otherwise.

A text is broken into words ("NVIDIA A100-SXM4-80GB (400W TDP)" -> a100 sxm 80gb). It means the
accelerator that has a name of exactly these words; if there is none, the one that has a name with
the same words but for memory and form. Where that is true of several, none is guessed.
"""

from __future__ import annotations

import difflib
import re
from functools import lru_cache
from typing import Final

from planner.catalog.records import Accelerator, Catalog
from planner.estimate import Refusal

Words = frozenset[str]
MAKERS: Final = frozenset(
    {"nvidia", "amd", "intel", "google", "aws", "amazon", "habana", "tesla", "geforce", "radeon",
     "instinct", "cloud", "gpu", "processor", "accelerator", "r", "tm"}
)  # fmt: skip
"""Words that tell nothing apart: makers and their brands. "Quadro" does tell, so it stays."""
MAX_TEXT: Final = 200
"""Longer texts name nothing [characters]."""
_ASIDE: Final = re.compile(r"\([^()]*\)")
_TPU: Final = re.compile(r"tpu\w*|v\d(e|p|litepod)")
_SOCKET: Final = re.compile(r"sxm\d")
_OPTIONAL: Final = re.compile(r"\d+gb|sxm|pcie|nvl\d*|hgx|oam|hbm\d?e?")
"""Words that tell forms and sizes of one model apart."""
_SIZE: Final = re.compile(r"(\d+)\s*(gb|gib)\b")


def accelerator_named(catalog: Catalog, text: str) -> Accelerator | Refusal:
    """The accelerator that a text means, by id, name or alias; a refusal says what it could be."""
    by_id = {a.id: a for a in catalog.accelerators}
    if text in by_id:
        return by_id[text]
    words = words_of(text)
    names = {a.id: _names(a) for a in catalog.accelerators}
    exact = [i for i, known in names.items() if words in known]
    plain = [i for i in names if any(_same_model(words, n, by_id[i]) for n in names[i])]
    found = [by_id[i] for i in exact or plain]
    if len(found) == 1:
        return found[0]
    like = found or [by_id[i] for i in names if words and any(words <= n for n in names[i])]
    return _several(text, like) if like else _unknown(catalog, text)


@lru_cache(maxsize=4_096)
def words_of(text: str) -> Words:
    """The words that tell an accelerator from others; for TPUs without the size of the slice."""
    plain = _ASIDE.sub(" ", text[:MAX_TEXT].casefold().replace("_", " "))
    plain = _SIZE.sub(r"\1gb", plain)
    parts = {_SOCKET.sub("sxm", part) for part in re.findall(r"[a-z0-9]+", plain)} - MAKERS
    if any(_TPU.fullmatch(part) for part in parts):
        parts = {part for part in parts if not part.isdigit()}
    return frozenset(parts)


def _names(accelerator: Accelerator) -> set[Words]:
    told = (accelerator.id, accelerator.name, *accelerator.aliases)
    return {words for text in told if (words := words_of(text))}


def _same_model(words: Words, name: Words, accelerator: Accelerator) -> bool:
    """Whether only what is optional tells the text from the name: a 1080 is no 1080 Ti.

    A text may add the memory, and PCIe where that is the link; it may lack memory and form.
    """
    size = accelerator.memory_bytes
    more = {f"{size / 1e9:.0f}gb"} if size else set()
    more |= {"pcie"} if "PCIe" in accelerator.link_name else set()
    model = {w for w in words if not _OPTIONAL.fullmatch(w)}
    lacking = name - words
    return bool(model) and words <= name | more and all(map(_OPTIONAL.fullmatch, lacking))


def _several(text: str, found: list[Accelerator]) -> Refusal:
    names = [a.name for a in found[:6]] + (["another"] if len(found) > 6 else [])
    first = f"{', '.join(names[:-1])} or " if names[:-1] else ""
    return Refusal(
        reason=f"{_quoted(text)} could be {first}{names[-1]}",
        measure_next="Say which by its full name: memory and form (SXM, PCIe) tell them apart.",
    )


def _unknown(catalog: Catalog, text: str) -> Refusal:
    by_name = {a.name.casefold(): a.name for a in catalog.accelerators}
    near = difflib.get_close_matches(text[:MAX_TEXT].casefold(), by_name, n=3, cutoff=0.5)
    hint = f"Perhaps {' or '.join(by_name[n] for n in near)}? " if near else ""
    return Refusal(
        reason=f"{_quoted(text)} is not in the catalogue",
        measure_next=f"{hint}Choose one that is, or add a row of your own.",
    )


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
