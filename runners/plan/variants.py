"""Changed forms of a network that only predicts, by their names in the field; no Keras here.

    int8                 weights and inputs of dense layers in 8 bits (Keras's `quantize`)
    pruned <share> %     the smallest weights set to 0, the matrices keep their shapes
    structured <share> % whole units and filters removed: the network is really smaller
    distilled            a smaller student, taught by the network's own outputs

Two bytes a number are no variant but a precision (bfloat16, float16). See docs/decisions/0012.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

NONE: Final = "none"
"""What a sweep writes for the network as it is, where a list also names variants."""
KNOWN: Final = ("int8", "pruned <1 to 99> %", "structured <1 to 99> %", "distilled")
CHAINS: Final = ("mlp", "simple-cnn")
"""Networks whose layers follow one another, so that a unit can be cut out of both its sides."""
STUDENTS: Final[Mapping[str, str]] = MappingProxyType(
    {"mlp": "units", "simple-cnn": "width", "vgg11": "width", "resnet8": "width"}
)
"""Networks that can be a student, and the option that makes one small."""
STUDENT_SHARE: Final = 4
"""A student has this part of its teacher's units or width: a sixteenth of the large matrices."""

_FORM: Final = re.compile(r"(?P<kind>int8|distilled)|(?P<cut>pruned|structured) (?P<share>\d\d?) %")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One changed form; `share` is the part that is removed, 0 where nothing is."""

    kind: Literal["int8", "pruned", "structured", "distilled"]
    share: float = 0.0


def parse(name: str) -> Variant:
    """The variant of that name; ValueError lists the known ones."""
    found = _FORM.fullmatch(name)
    share = int(found["share"] or 0) if found else 0
    if not found or (found["cut"] and not share):
        raise ValueError(f"variant {name!r} is not known. Known are: {', '.join(KNOWN)}.")
    return Variant(kind=found["kind"] or found["cut"], share=share / 100)  # type: ignore[arg-type]


def problem(name: str, *, workload: str, precision: str) -> str | None:
    """Why this variant of this network cannot be made, and what to change; None where it can."""
    try:
        kind = parse(name).kind
    except ValueError as error:
        return str(error)
    if kind == "structured" and workload not in CHAINS:
        return _only(name, CHAINS, workload)
    if kind == "distilled" and workload not in STUDENTS:
        return _only(name, STUDENTS, workload)
    if kind == "int8" and precision != "float32":
        return f'int8 is made of a float32 network, not of {precision}. Say precision = "float32".'
    return None


def student_options(
    workload: str, options: Mapping[str, int | float | str | bool]
) -> dict[str, int | float | str | bool]:
    """The teacher's options with a quarter of its units or width, at least 1."""
    name = STUDENTS[workload]
    return {**options, name: max(int(options[name]) // STUDENT_SHARE, 1)}


def _only(name: str, able: Mapping[str, str] | tuple[str, ...], workload: str) -> str:
    return (
        f"variant {name!r} can be made of {', '.join(able)}, not of {workload}. "
        "Leave it out for this workload, or take int8 or pruned."
    )
