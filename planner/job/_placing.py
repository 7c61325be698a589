"""A run's machine as hardware of the catalogue.

Accelerators are counted as the maker sells them: a row with 8 for a TPU v2-8 counts cores, two per
chip. Names of TPU slices count TensorCores up to v4 and for v5p (cloud.google.com/tpu/docs,
"system architecture"), chips for v5e and later.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from planner.catalog import Accelerator, Catalog, accelerator_named
from planner.job._records import Hardware

PER_NODE: Final = 8
"""Accelerators in one machine, as servers are sold; a TPU slice counts as one machine."""
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
        accelerator = accelerator_named(catalog, str(name)) if name else None
        if isinstance(accelerator, Accelerator):
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
