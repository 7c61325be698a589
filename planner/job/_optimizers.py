"""Numbers an optimiser keeps for every weight (moments).

Copies of the weights, each in float32, besides weights and gradients:

    0  SGD; Adafactor (a row and a column of each matrix: Shazeer and Stern 2018)
    1  momentum, Nesterov, LARS, Lion, Muon, Adagrad, RMSprop, NovoGrad
    2  Adam, AdamW, Adamax, NAdam, RAdam, LAMB, Yogi, AdaBelief, Adadelta, FTRL
    3  AMSGrad (Adam and the largest second moment)

as in Keras and PyTorch. A name is read by its words: "SGD momentum 0.9" has one. For an unknown or
missing name Adam's two are assumed, which is usual and on the safe side. The sentence about memory
says so.
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
"""Word of an optimiser's name -> copies of the weights."""
UNKNOWN_MOMENTS: Final = 2
_BY_WORD: Final = MappingProxyType({name.casefold(): many for name, many in MOMENTS.items()})


def moments_of(optimizer: str) -> int | None:
    """Return the copies of the weights it keeps; None for an unknown name."""
    moments = [_BY_WORD[w] for w in _words(optimizer) if w in _BY_WORD]
    return max(moments, default=None)


def moments_sentence(optimizer: str) -> str:
    """Return that two moments are assumed and why; "" for a known optimiser."""
    if moments_of(optimizer) is not None:
        return ""
    why = f"The state of {optimizer[:40]} is unknown" if optimizer.strip() else _NOT_STATED
    return f"{why}: Adam's two moments are assumed."


def unknown_optimizer(optimizer: str) -> str:
    """Return the advice for an unknown name, as sentences; "" for a known one."""
    if not optimizer.strip() or moments_of(optimizer) is not None:
        return ""
    near = [n for w in _words(optimizer) for n in difflib.get_close_matches(w, _BY_WORD, n=2)]
    names = {name.casefold(): name for name in MOMENTS}
    some = [names[n] for n in dict.fromkeys(near)] or ["SGD", "SGD momentum", "Adam", "Lion"]
    return (
        f"The memory of {optimizer[:40]!r} is unknown. Write {' or '.join(some)}, or leave it "
        "empty: Adam's two moments are assumed then."
    )


_NOT_STATED: Final = "Optimiser not stated"


def _words(optimizer: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", optimizer.casefold())
