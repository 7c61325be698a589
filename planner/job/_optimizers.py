"""How many numbers an optimiser keeps beside every weight.

Copies of the weights, each in float32, besides weights and gradients:

    0  SGD; Adafactor (a row and a column of each matrix: Shazeer and Stern 2018)
    1  momentum, Nesterov, LARS, Lion, Muon, Adagrad, RMSprop, NovoGrad
    2  Adam, AdamW, Adamax, NAdam, RAdam, LAMB, Yogi, AdaBelief, Adadelta, FTRL
    3  AMSGrad (Adam and the largest second moment)

as Keras and PyTorch keep them. A name is read by its words: "SGD momentum 0.9" keeps one. Where no
word is known, or nothing is told, Adam's two are assumed, the usual and the safe side: the sentence
about memory says so.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

MOMENTS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "SGD": 0, "Adafactor": 0, "momentum": 1, "Nesterov": 1, "LARS": 1, "Lion": 1, "Muon": 1,
        "Adagrad": 1, "RMSprop": 1, "NovoGrad": 1, "SGDM": 1,
        "Adam": 2, "AdamW": 2, "Adamax": 2, "NAdam": 2, "RAdam": 2,
        "LAMB": 2, "Yogi": 2, "AdaBelief": 2, "Adadelta": 2, "FTRL": 2, "AMSGrad": 3,
    }
)  # fmt: skip
"""Word of an optimiser's name -> copies of the weights that it keeps."""
UNKNOWN_MOMENTS: Final = 2
_BY_WORD: Final = MappingProxyType({name.casefold(): many for name, many in MOMENTS.items()})


def moments_of(optimizer: str) -> int | None:
    """Copies of the weights it keeps; None where no word of its name is known."""
    known = [_BY_WORD[w] for w in _words(optimizer) if w in _BY_WORD]
    return max(known, default=None)


def moments_told(optimizer: str) -> str:
    """That two moments are assumed and why, as a sentence; "" where its own are known."""
    if moments_of(optimizer) is not None:
        return ""
    why = f"What {optimizer[:40]} keeps is not known" if optimizer.strip() else _NOT_TOLD
    return f"{why}: Adam's two moments are assumed."


def unknown_optimizer(optimizer: str) -> str:
    """What to do about a name of which no word is known, as sentences; "" where one is."""
    if not optimizer.strip() or moments_of(optimizer) is not None:
        return ""
    near = [n for w in _words(optimizer) for n in difflib.get_close_matches(w, _BY_WORD, n=2)]
    names = {name.casefold(): name for name in MOMENTS}
    some = [names[n] for n in dict.fromkeys(near)] or ["SGD", "SGD momentum", "Adam", "Lion"]
    return (
        f"How much memory {optimizer[:40]!r} takes is not known. Write {' or '.join(some)}, or "
        "nothing: Adam's two moments are assumed then."
    )


_NOT_TOLD: Final = "Optimiser not told"


def _words(optimizer: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", optimizer.casefold())
