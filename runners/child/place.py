"""Facts of the host of a worker that its launcher may have started on another machine."""

from __future__ import annotations

import json
import os
from typing import Any

from runners.launch import PLACE
from runners.machine import facts
from runners.plan.cases import Case


def columns(case: Case) -> dict[str, Any]:
    """Return the columns of this host and of the placement; empty for the local launcher."""
    text = os.environ.get(PLACE)
    if not text:
        return {}
    place = json.loads(text)
    here = facts.facts(
        case.device,
        devices=place["per_node"],
        visible=os.environ.get("CUDA_VISIBLE_DEVICES"),
        replicas=case.devices,
    )
    return {
        **here,
        "launch": place["launch"],
        "number_of_nodes": place["nodes"],
        "accelerators_per_node": place["per_node"],
    }
