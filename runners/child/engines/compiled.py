"""What XLA compiled for one training step on JAX: bytes sent and memory of each device.

The facts are those of the executable that trained. A device of a ring of n sends, of an operation
whose whole result has S bytes (Thakur et al. 2005):

    all-reduce                         2(n - 1)/n S
    all-gather, all-to-all             (n - 1)/n S
    reduce-scatter                     (n - 1) S    S is the part of one device
    collective-permute                 S

An operation within a loop counts once: none of the networks here has one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

_COLLECTIVE: Final = re.compile(
    r"= (?P<result>.+?) (?P<kind>all-reduce|all-gather|all-to-all|reduce-scatter|"
    r"collective-permute)(?P<start>-start)?\("
)
_ARRAY: Final = re.compile(r"\b(?:pred|[a-z]+(?P<bits>\d+)\w*)\[(?P<shape>[\d,]*)\]")
_STEP: Final = "train_step"
"""In the name of Keras's compiled training step."""


def facts(devices: int) -> dict[str, Any]:
    """Return bytes sent and memory of each device in a step, as entries of `extra`.

    Empty where this version of JAX does not report them.
    """
    import jax

    try:
        live = jax.devices()[0].client.live_executables()
        steps = [e for e in live if _STEP in e.hlo_modules()[0].name]
        sizes = [e.get_compiled_memory_stats() for e in steps]
    except (AttributeError, RuntimeError):
        return {}
    if not steps:
        return {}
    # An epoch's smaller last batch has a step of its own, with less memory.
    most = max(range(len(steps)), key=lambda place: sizes[place].temp_size_in_bytes)
    sent, counts = traffic(steps[most].hlo_modules()[0].to_string(), devices)
    return {
        "step_sent_bytes": round(sent),
        "step_collectives": counts,
        "step_argument_bytes": sizes[most].argument_size_in_bytes,
        "step_temporary_bytes": sizes[most].temp_size_in_bytes,
    }


def traffic(text: str, devices: int) -> tuple[float, dict[str, int]]:
    """Return the bytes that a device sends in a compiled program, and its operations by kind.

    Args:
        text: of the program, as HLO.
        devices: of a ring; every operation is over all of them.
    """
    part = (devices - 1) / devices
    factors = {
        "all-reduce": 2.0 * part,
        "all-gather": part,
        "all-to-all": part,
        "reduce-scatter": devices - 1.0,
        "collective-permute": float(devices > 1),
    }
    sent, counts = 0.0, Counter[str]()
    for match in _COLLECTIVE.finditer(text):
        arrays = list(_bytes_of(match["result"]))
        if match["start"] and match["kind"] != "all-reduce":  # its inputs stand first
            arrays = arrays[len(arrays) // 2 :]
        sent += factors[match["kind"]] * sum(arrays)
        counts[match["kind"]] += len(arrays)
    return sent, dict(sorted(counts.items()))


def _bytes_of(result: str) -> Iterator[float]:
    """Yield the bytes of each array of a result."""
    for array in _ARRAY.finditer(result):
        shape = [int(size) for size in array["shape"].split(",") if size]
        yield math.prod(shape) * int(array["bits"] or 8) / 8.0
