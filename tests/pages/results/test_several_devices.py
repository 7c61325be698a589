"""A run on several devices shows its link, gradients and shares of a step."""

from __future__ import annotations

import json

import pytest

from pages.results.one_run import facts_of
from planner.store import queries
from tests.pages.conftest import show, sound, texts
from tests.shipped import library

EXTRA = {"link_latency_s": 0.0015, "link_4_mb_bytes_per_s": 1.25e8, "network_bits_per_s": 1e9,
         "gradient_bytes": 1_204_264, "communication_share": 0.725, "part_s": [0.1]}  # fmt: skip


def test_facts_have_their_units_and_unknown_ones_are_left_out() -> None:
    run = {"accelerators_per_node": 1, "number_of_nodes": 2, "peer_to_peer": False,
           "accelerator_interconnect": "NVLink", "host_networking": "1 Gbit/s",
           "startup_s": None, "extra": json.dumps(EXTRA)}  # fmt: skip
    assert {row[""]: row["Value"] for row in facts_of(run)} == {
        "Link between accelerators": "NVLink",
        "Peer to peer": "no",
        "Network between nodes": "1 Gbit/s",
        "Speed of the network interface": "1 Gbit/s",
        "Latency of an all-reduce": "1.5 ms",
        "Rate of an all-reduce of 4 MB": "1 Gbit/s",
        "Gradients of a step": "1.2 MB",
        "Communication, share of a step": "72 %",
    }


def test_a_run_on_one_device_has_none() -> None:
    assert facts_of({"accelerators_per_node": 1, "number_of_nodes": 1, "extra": "{}"}) == []
    assert facts_of({}) == []


@pytest.mark.usefixtures("library_pages")
def test_a_run_of_two_workers_shows_its_link_and_one_on_one_device_does_not() -> None:
    over_link = _first("links-2-core-amd-epyc", 2)
    shown = sound(show("results", run=over_link))
    assert "Link and shares of a step" in texts(shown)
    tables = [d.value for d in shown.dataframe]
    assert any("Latency of an all-reduce" in list(t.iloc[:, 0]) for t in tables)
    alone = _first("strategies-2-core-xeon", 1)
    assert "Link and shares of a step" not in texts(sound(show("results", run=alone)))


def _first(result_set: str, devices: int) -> str:
    """Return a shipped run on so many devices."""
    found = queries.which(library(), {"result_set": [result_set]})
    columns = (queries.all_columns(library(), run_id) for run_id in found)
    return str(next(
        c["run_id"] for c in columns
        if c["accelerators_per_node"] * c["number_of_nodes"] == devices
    ))  # fmt: skip
