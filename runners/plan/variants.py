"""Variants of a network for inference, by their names in the field; no Keras here.

    int8                 weights and inputs of dense layers in 8 bits (Keras's `quantize`)
    pruned <share> %     the smallest weights set to 0; the matrices keep their shapes
    structured <share> % whole units and filters removed: the network is smaller
    distilled            a smaller student, trained on the network's outputs

16-bit numbers are a precision (bfloat16, float16), not a variant. See docs/decisions/0012.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

NONE: Final = "none"
"""Value for the unchanged network in a list of variants."""
KNOWN: Final = ("int8", "pruned <1 to 99> %", "structured <1 to 99> %", "distilled")
CHAINS: Final = ("mlp", "simple-cnn")
"""Networks of layers in sequence, so that a unit can be removed from both its layers."""
STUDENTS: Final[Mapping[str, str]] = MappingProxyType(
    {"mlp": "units", "simple-cnn": "width", "vgg11": "width", "resnet8": "width"}
)
"""Networks that can be a student, and the option that makes them smaller."""
STUDENT_SHARE: Final = 4
"""Divisor of the teacher's units or width: large matrices shrink to a sixteenth."""

_FORM: Final = re.compile(r"(?P<kind>int8|distilled)|(?P<cut>pruned|structured) (?P<share>\d\d?) %")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One variant; `share` is the removed part, 0 for none."""

    kind: Literal["int8", "pruned", "structured", "distilled"]
    share: float = 0.0


def parse(name: str) -> Variant:
    """Return the variant of that name; ValueError lists the allowed names."""
    match = _FORM.fullmatch(name)
    share = int(match["share"] or 0) if match else 0
    if not match or (match["cut"] and not share):
        raise ValueError(f"variant {name!r} is unknown. Choose from: {', '.join(KNOWN)}.")
    return Variant(kind=match["kind"] or match["cut"], share=share / 100)  # type: ignore[arg-type]


def problem(name: str, *, workload: str, precision: str) -> str | None:
    """Return why this variant cannot be made and what to change; None if it can."""
    try:
        kind = parse(name).kind
    except ValueError as error:
        return str(error)
    if kind == "structured" and workload not in CHAINS:
        return _only(name, CHAINS, workload)
    if kind == "distilled" and workload not in STUDENTS:
        return _only(name, STUDENTS, workload)
    if kind == "int8" and precision != "float32":
        return f'int8 is made from a float32 network, not {precision}. Set precision = "float32".'
    return None


def student_options(
    workload: str, options: Mapping[str, int | float | str | bool]
) -> dict[str, int | float | str | bool]:
    """Return the teacher's options with a quarter of its units or width, at least 1."""
    name = STUDENTS[workload]
    return {**options, name: max(int(options[name]) // STUDENT_SHARE, 1)}


def _only(name: str, able: Mapping[str, str] | tuple[str, ...], workload: str) -> str:
    return (
        f"variant {name!r} can be made of {', '.join(able)}, not of {workload}. "
        "Leave it out for this workload, or use int8 or pruned."
    )
