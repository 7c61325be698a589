"""The generation of an accelerator, and how many of it one machine of fast links holds.

Accelerators of one generation share an instruction set and kernels, so their efficiencies are
correlated. Consumer and data-centre cards are separate where their memory and tensor units differ.
"""

from __future__ import annotations

import re
from typing import Final

from planner.catalog import Accelerator

UNKNOWN: Final = ""
NODE: Final = 8
"""Accelerators of a usual server."""
TPU_SLICE: Final = 256
"""Chips of a TPU slice that one network of links joins (v5e, v6e: 256; others more)."""
_MACHINES: Final = (
    (r"gb200|gb300", 72),
    (r"trainium", 16),
)
"""Accelerators of one machine where that is not 8."""
_GENERATIONS: Final = (
    (r"k80|k40", "kepler"),
    (r"p100|gtx-10|titan-xp|p40", "pascal"),
    (r"v100|titan-v\b|v100s", "volta"),
    (r"rtx-20|titan-rtx|t4|quadro-rtx", "turing"),
    (r"a100|a800|a30\b", "ampere"),
    (r"rtx-30|a10\b|a10g|a40|rtx-a\d", "ampere consumer"),
    (r"h100|h800|h200|gh200", "hopper"),
    (r"l4\b|l40|rtx-40|rtx-6000-ada", "ada"),
    (r"b200|b300", "blackwell"),
    (r"rtx-50|rtx-pro-6000", "blackwell consumer"),
    (r"mi\d", "cdna"),
    (r"rx-|radeon", "rdna"),
    (r"apple", "apple"),
    (r"gaudi", "gaudi"),
    (r"tpu", "tpu"),
    (r"trainium", "trainium"),
    (r"ascend", "ascend"),
    (r"bi-v", "iluvatar"),
    (r"ipu", "ipu"),
)
"""Parts of the catalogue's ids and the generation they mean, the first that fits."""


def generation_of(accelerator: Accelerator) -> str:
    """Return the generation of an accelerator, "" where it is none of the list."""
    for pattern, name in _GENERATIONS:
        if re.match(rf"g?(?:{pattern})", accelerator.id):
            return name
    return UNKNOWN


def node_size(accelerator: Accelerator) -> int:
    """Return how many accelerators one machine of fast links usually holds."""
    if accelerator.kind == "tpu":
        return TPU_SLICE
    sizes = (size for pattern, size in _MACHINES if re.match(pattern, accelerator.id))
    return next(sizes, NODE)
