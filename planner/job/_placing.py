"""A run's machine as hardware of the catalogue, and its data sheet for estimates of speed.

Accelerators are counted as the maker sells them: a row with 8 for a TPU v2-8 counts cores, two per
chip. Names of TPU slices count TensorCores up to v4 and for v5p (cloud.google.com/tpu/docs,
"system architecture"), chips for v5e and later.

Frameworks multiply float32 in other formats by default, so the format decides the peak:

    NVIDIA since Ampere   TF32       TensorFlow ("enable_tensor_float_32_execution"), JAX ("Matmul
                                     precision"); PyTorch in convolutions, not in its matmuls
    TPU                   bfloat16   JAX ("Matmul precision")
    AWS Trainium          bfloat16   AWS Neuron ("Mixed precision and performance-accuracy tuning")
    all others            float32    TensorFlow (the same page); AMD's TF32 has to be switched on
                                     (HIPBLASLT_ALLOW_TF32=1)

Every answer states the peak used in place of float32 (`peak_sentence`). A request for TF32 by name
uses that peak of any maker. An accelerator without a float32 peak (Gaudi) has no float32 answer. A
half-size format never uses the float32 peak, which is at least four times smaller.

Reasons: docs/decisions/0022-nothing-measured.md.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from planner.catalog import Accelerator, Catalog, sole_accelerator
from planner.core import Text
from planner.job._records import Hardware
from planner.job.efficiency import per_accelerator
from planner.runs import PER_NODE
from planner.transfer import DataSheet, Library, fit_library

_SLICE: Final = re.compile(r"TPU[ -]?v(\d+)([a-z]*)[ -](\d+)", re.IGNORECASE)
_CORES_PER_CHIP: Final = {"2": 2, "3": 2, "4": 2, "5p": 2}


def placed(catalog: Catalog, row: Mapping[str, Any]) -> Hardware:
    """Return the hardware of a row; without an accelerator where the name is unknown.

    Args:
        catalog: accelerators.
        row: of the run table, with `system`, `system_name`, `accelerator_model_name`,
            `accelerators_per_node` and `number_of_nodes`, the last three possibly None.
    """
    nodes = int(row.get("number_of_nodes") or 1)
    devices = int(row.get("accelerators_per_node") or 1) * nodes
    label = str(row.get("system") or row.get("system_name") or "")
    accelerator = _accelerator(catalog, row)
    if accelerator is None:
        return Hardware(label=label, count=devices, nodes=nodes)
    chips = _chips_of_slice(label)
    count = chips if chips is not None else max(devices // accelerator.devices, 1)
    return Hardware(label=label, accelerator=accelerator, count=count, nodes=nodes)


def machines_for(accelerator: Accelerator, count: int) -> int:
    """Return the usual number of machines for a device count; a TPU slice is one."""
    return 1 if accelerator.kind == "tpu" else -(-count // PER_NODE)


def _accelerator(catalog: Catalog, row: Mapping[str, Any]) -> Accelerator | None:
    """Return the accelerator by the model's or the system's name; None if ambiguous."""
    for name in (row.get("accelerator_model_name"), row.get("system_name")):
        if name and (accelerator := sole_accelerator(catalog, str(name))):
            return accelerator
    return None


def _chips_of_slice(name: str) -> int | None:
    """Return the chips of a TPU slice by its name (TPU v2-8: 4); None for other names."""
    match = _SLICE.search(name)
    if match is None:
        return None
    generation, letters, number = match.group(1), match.group(2).lower(), int(match.group(3))
    kind = f"{generation}p" if letters == "p" else generation if not letters else ""
    return max(number // _CORES_PER_CHIP.get(kind, 1), 1)


_HALF: Final = frozenset({"float16", "bfloat16", "mixed_float16", "mixed_bfloat16", "fp16", "bf16"})
_TF32: Final = frozenset({"tensorfloat32", "tf32"})
_SINGLE: Final = frozenset({"float32", "fp32", *_TF32})
EFFECTIVE: Final = ("float32", "float16")


def effective_precision(precision: str) -> str:
    """Return the number format whose peak counts: float32, float16 or as it is written."""
    if precision in _SINGLE or not precision:
        return "float32"
    return "float16" if precision in _HALF else precision


def format_of(accelerator: Accelerator, precision: str) -> str | None:
    """Return the number format whose peak limits a run in this precision; None if unlisted."""
    peaks = accelerator.peak_flops_per_s
    return next((name for name in _formats(accelerator, precision) if name in peaks), None)


def peak_of(accelerator: Accelerator, precision: str) -> float | None:
    """Return the dense peak [FLOP/s] for this precision; None where unpublished."""
    name = format_of(accelerator, precision)
    return None if name is None else accelerator.peak_flops_per_s[name]


def peak_sentence(accelerator: Accelerator, precision: str) -> str:
    """Return which other format's peak is used, as a sentence; "" where none is."""
    requested, used = _requested(precision), format_of(accelerator, precision)
    if requested == "float32":
        return _float32_sentence(accelerator, used)
    if used is None or used == requested:
        return ""
    return Text(
        "The {accelerator} data sheet lists no {requested} peak; its {used} peak is "
        "used, so it would have to run in {used}.",
        accelerator=accelerator.name,
        requested=requested,
        used=used,
    )


def no_peak(accelerator: Accelerator, precision: str) -> str:
    """Return why `peak_of` has no answer, as a sentence."""
    why = Text(
        "The data sheet of the {accelerator} lists no peak for {precision}.",
        accelerator=accelerator.name,
        precision=precision,
    )
    peaks, effective = accelerator.peak_flops_per_s, effective_precision(precision)
    if effective == "float16" and "float32" in peaks:
        return Text("{why} The float32 peak is no substitute.", why=why)
    if effective == "float32" and "bfloat16" in peaks:
        return Text(
            "{why} The bfloat16 peak is no substitute: choose bfloat16 if your job allows it.",
            why=why,
        )
    return why


def _requested(precision: str) -> str:
    """Return the requested format, as the catalogue writes it."""
    if precision in _TF32:
        return "tensorfloat32"
    if precision in _SINGLE or not precision:
        return "float32"
    return precision.removeprefix("mixed_").replace("fp16", "float16").replace("bf16", "bfloat16")


def _formats(accelerator: Accelerator, precision: str) -> tuple[str, ...]:
    """Return the formats whose peak may be used, the best first."""
    requested = _requested(precision)
    if effective_precision(precision) == "float16":
        return (requested, *({"float16", "bfloat16"} - {requested}))
    if effective_precision(precision) != "float32":
        return (precision,)
    if accelerator.kind == "tpu" or (requested == "float32" and _trainium(accelerator)):
        return ("bfloat16",)
    if requested == "tensorfloat32" or accelerator.maker.casefold().startswith("nvidia"):
        return ("tensorfloat32", "float32")
    return ("float32",)


def _trainium(accelerator: Accelerator) -> bool:
    maker = accelerator.maker.casefold()
    return accelerator.kind == "other" and maker.startswith(("aws", "amazon"))


def _float32_sentence(accelerator: Accelerator, used: str | None) -> str:
    """Return which peak replaces float32, why, and how much slower strict float32 is."""
    peaks, name = accelerator.peak_flops_per_s, accelerator.name
    if used == "float32":
        faster = peaks.get("tensorfloat32", 0.0) / peaks["float32"]
        tf32 = Text(
            "TF32 is {faster:.2g} times as fast by its data sheet but is off by default.",
            faster=faster,
        )
        return (
            Text("Based on the float32 peak of the {name}: {tf32}", name=name, tf32=tf32)
            if faster > 1.0
            else ""
        )
    slower = peaks[used] / peaks["float32"] if used and "float32" in peaks else math.nan
    if used is None or slower == 1.0:
        return ""
    by = "several times" if math.isnan(slower) else Text("up to {slower:.2g} times", slower=slower)
    why = _WHY_TF32 if used == "tensorfloat32" else _WHY_BFLOAT16
    label = "TF32" if used == "tensorfloat32" else used
    strict = Text("in strict float32 it takes {by} as long", by=by)
    return Text(
        "Based on the {label} peak of the {name}, {why}; {strict}.",
        label=label,
        name=name,
        why=why,
        strict=strict,
    )


_WHY_TF32: Final = (
    "as TensorFlow and JAX multiply float32 (PyTorch in its convolutions, not in its matmuls)"
)
_WHY_BFLOAT16: Final = "in which it multiplies float32 by default"


def sheet_of(accelerator: Accelerator) -> DataSheet | None:
    """Return the sheet for `planner.transfer`; None without memory, bandwidth or peak."""
    peaks = {p: x for p in EFFECTIVE if (x := peak_of(accelerator, p))}
    memory, bandwidth = accelerator.memory_bytes, accelerator.memory_bandwidth_bytes_per_s
    if not peaks or not memory or not bandwidth:
        return None
    return DataSheet(
        card=accelerator.id,
        peak_flops_per_s=peaks,
        memory_bandwidth_bytes_per_s=bandwidth,
        memory_bytes=memory,
    )


_PLACE: Final = ("system", "system_name", "accelerator_model_name", "accelerators_per_node",
                 "number_of_nodes")  # fmt: skip
"""Columns that `placed` reads: thousands of rows are on a hundred systems."""


def library_of(catalog: Catalog, rows: Iterable[Mapping[str, Any]]) -> Library | None:
    """Return all speeds measured on accelerators of the catalogue; None if there are none.

    Args:
        catalog: accelerators and their data sheets.
        rows: one per workload, precision and system: `workload`, `precision`, `samples_per_s` (the
            best over batches and input patterns), and what `placed` reads.
    """
    cells, seen = [], dict[tuple[Any, ...], Hardware]()
    for row in rows:
        place, speed = tuple(map(row.get, _PLACE)), row["samples_per_s"]
        if place not in seen:
            seen[place] = placed(catalog, row)
        there = seen[place]
        if there.accelerator is not None and speed and math.isfinite(speed):
            precision = effective_precision(str(row["precision"] or ""))
            rate = per_accelerator(speed, there)
            key = (row["workload"], precision, there.accelerator.id)
            cells.append((key, rate, there.nodes > 1))
    if not cells:
        return None
    best = _best(cells)
    workload, precisions, card = (list(part) for part in zip(*best, strict=True))
    sheets = [s for a in catalog.accelerators if (s := sheet_of(a))]
    names = {a.id: a.name for a in catalog.accelerators}
    library = fit_library(workload, precisions, card, list(best.values()), sheets)
    return replace(library, card_names=names)


def _best(
    cells: Iterable[tuple[tuple[str, str, str], float, bool]],
) -> dict[tuple[str, str, str], float]:
    """Return the fastest of each cell: systems and software are not repeats.

    Runs across machines count only without others: their scaling is assumed, not measured.
    """
    fastest: dict[tuple[str, str, str], tuple[bool, float]] = {}
    for key, speed, across in cells:
        best = (not across, speed)
        fastest[key] = max(best, fastest.get(key, best))
    return {key: speed for key, (_, speed) in fastest.items()}
