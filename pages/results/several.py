"""What a run on several devices recorded beside its columns: link, gradients, shares of a step."""

import json
from collections.abc import Mapping
from typing import Any, Final

from pages.common import narrow, widgets
from planner.core import Record, in_words, percent, plain


def _rate(value: float) -> str:
    return f"{plain(8.0 * value / 1e9, 3)} Gbit/s"


def _bits(value: float) -> str:
    return f"{plain(value / 1e9, 3)} Gbit/s"


def _megabytes(value: float) -> str:
    return f"{plain(value / 1e6, 3)} MB"


def _updates(value: float) -> str:
    return f"{plain(value, 3)} updates"


COLUMNS: Final = (
    ("accelerator_interconnect", "Link between accelerators", str),
    ("peer_to_peer", "Peer to peer", lambda found: "yes" if found else "no"),
    ("host_networking", "Network between nodes", str),
    ("startup_s", "Start of the cluster", in_words),
    ("staleness", "Largest staleness", _updates),
)
"""Columns of a run, their names on the page, and how a value is shown."""
FACTS: Final = (
    ("cluster_start_s", "Start of the launcher's cluster", in_words),
    ("network_bits_per_s", "Speed of the network interface", _bits),
    ("link_latency_s", "Latency of an all-reduce", in_words),
    ("link_4_mb_bytes_per_s", "Rate of an all-reduce of 4 MB", _rate),
    ("link_16_mb_bytes_per_s", "Rate of an all-reduce of 16 MB", _rate),
    ("gradient_bytes", "Gradients of a step", _megabytes),
    ("staleness_mean", "Mean staleness", _updates),
    ("compute_share", "Compute, share of a step", percent),
    ("communication_share", "Communication, share of a step", percent),
    ("input_share", "Input, share of a step", percent),
    ("bubble_share", "Bubble by formula, share of a step", percent),
    ("idle_share", "Idle share of a device", percent),
)
"""The same for the facts in `extra`."""


def draw(values: Mapping[str, Any]) -> None:
    """Draw the facts of a run on several devices; nothing for a run on one."""
    rows = facts_of(values)
    if not rows:
        return
    widgets.heading("Link and shares of a step")
    alt = "Link between the devices, gradients and shares of a step"
    narrow.table(rows, "results.several", alt, row_height=32)


def facts_of(values: Mapping[str, Any]) -> list[Record]:
    """Return the facts of a run as rows; empty for a run on one device.

    Args:
        values: all columns of the run; `extra` is JSON.
    """
    devices = (values.get("accelerators_per_node") or 1) * (values.get("number_of_nodes") or 1)
    if devices < 2:
        return []
    extra = json.loads(str(values.get("extra") or "{}"))
    facts = [(label, show(values[name])) for name, label, show in COLUMNS
             if values.get(name) is not None]  # fmt: skip
    facts += [(label, show(extra[name])) for name, label, show in FACTS
              if isinstance(extra.get(name), int | float)]  # fmt: skip
    return [{"": label, "Value": text} for label, text in facts]
