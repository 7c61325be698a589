"""Facts of the host of a worker that its launcher may have started on another machine."""

import json
import os
from typing import Any

from runners.launch import PLACE
from runners.machine import facts
from runners.plan.cases import Case, waiting


def network() -> dict[str, int]:
    """Return the speed of the network interface of this worker, for `extra`; empty if unknown."""
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    if not config:
        return {}
    own = config["cluster"][config["task"]["type"]][config["task"]["index"]]
    speed = facts.network_speed(own.rpartition(":")[0])
    return {"network_bits_per_s": speed} if speed else {}


def worker() -> int:
    """Return the place of this worker among those of the run."""
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    return int(config["task"]["index"]) if config else 0


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
        slow_share=case.slow_share,
        waiting=waiting(case.wait_s, case.wait_sd_s) if case.wait_s else "",
    )
    speed = network().get("network_bits_per_s") if place["nodes"] > 1 else None
    return {
        **here,
        "host_networking": f"{speed / 1e9:g} Gbit/s" if speed else None,
        "launch": place["launch"],
        "number_of_nodes": place["nodes"],
        "accelerators_per_node": place["per_node"],
    }
