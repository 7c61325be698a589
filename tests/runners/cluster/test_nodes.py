"""What a node declares, what it can measure, and what a run requests of it."""

from __future__ import annotations

from typing import Any, Final

from runners.cluster.nodes import (
    Facts,
    Node,
    capable,
    has_room,
    host_of,
    nodes_of,
    request,
    unplaceable,
)
from runners.plan.cases import Device
from tests.each import each
from tests.runners.stubs import case

PLAIN: Final = {"memory": 1e9, "object_store_memory": 1e8, "node:10.0.0.1": 1.0}


def body(node_id: str, resources: dict[str, float], **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    """A node as Ray lists it."""
    known = {
        "NodeID": node_id, "Alive": True, "NodeManagerAddress": "10.0.0.1", "NodeName": "10.0.0.1",
        "NodeManagerHostname": "host", "Resources": {**PLAIN, **resources},
    }  # fmt: skip
    return known | changes


def node(
    resources: dict[str, float],
    device: Device = "cpu",
    backends: tuple[str, ...] = ("tensorflow",),
    name: str = "n",
) -> Node:
    facts = Facts(device=device, backends=backends, memory_bytes=10**10,
                  system={"system_name": f"a {device}"})  # fmt: skip
    return Node(node_id=name, name=name, resources=resources, facts=facts)


# -- what a node declares ------------------------------------------------------------------------


def test_living_nodes_have_the_name_of_their_start_else_of_their_host() -> None:
    found = nodes_of([
        body("aaaa1", {"CPU": 2.0}, NodeName="mine"),
        body("bbbb1", {"CPU": 2.0}),
        body("cccc1", {"CPU": 2.0}, Alive=False),
    ])  # fmt: skip
    assert {n.node_id: n.name for n in found.values()} == {"aaaa1": "mine", "bbbb1": "host"}


def test_nodes_of_one_name_are_distinguished_by_their_ids() -> None:
    found = nodes_of([body("aaaa1", {"CPU": 1.0}), body("bbbb1", {"CPU": 1.0})])
    assert [n.name for n in found.values()] == ["host (aaaa)", "host (bbbb)"]


def test_a_node_without_a_whole_cpu_or_accelerator_gets_no_runs() -> None:
    assert nodes_of([body("a", {}), body("b", {"CPU": 0.0, "accelerator:v100": 8.0})]) == {}
    assert len(nodes_of([body("a", {"CPU": 0.0, "GPU": 1.0}), body("b", {"TPU": 4.0})])) == 2


@each(
    ("resources", "result"),
    [
        ({"CPU": 8.0}, {}),
        ({"CPU": 8.0, "accelerator:V100": 8.0}, {"v100": 8}),
        ({"GPU": 4.0, "accelerator_type:A100": 1.0}, {"a100": 4}),
        ({"GPU": 4.0, "accelerator_type:G": 1.0, "accelerator:rtx-4090": 4.0}, {"rtx-4090": 4}),
        ({"accelerator_type:A100": 1.0}, {}),
        ({"accelerator:v100": 0.0}, {}),
    ],
)
def test_accelerators_are_those_declared_else_those_that_ray_detects(
    resources: dict[str, float], result: dict[str, int]
) -> None:
    assert node(resources).accelerators == result


# -- what a run requests -------------------------------------------------------------------------


def test_a_cpu_run_requests_its_whole_node() -> None:
    small, large = node({"CPU": 2.0}), node({"CPU": 64.0})
    assert request(case(), small) == {"CPU": 2.0}
    assert request(case(), large) == {"CPU": 64.0}
    assert not has_room(request(case(), large), large, {"CPU": 1.0})


def test_a_gpu_run_requests_its_gpus_and_keeps_cpu_runs_away() -> None:
    eight = node({"CPU": 64.0, "GPU": 8.0, "accelerator:v100": 8.0}, "gpu")
    two = case(device="gpu", devices=2, strategy="mirrored", accelerator="v100")
    needed = request(two, eight)
    assert needed == {"GPU": 2.0, "CPU": 1.0, "accelerator:v100": 2.0}
    assert has_room(needed, eight, {"GPU": 6.0, "CPU": 3.0, "accelerator:v100": 6.0})
    assert not has_room(needed, eight, {"GPU": 7.0, "CPU": 3.0, "accelerator:v100": 7.0})
    assert not has_room(request(case(), eight), eight, needed)


def test_a_request_has_the_name_of_the_node_s_resource_in_its_case() -> None:
    declared = node({"CPU": 1.0, "accelerator:RTX-4090": 1.0})
    detected = node({"CPU": 4.0, "GPU": 4.0, "accelerator_type:A100": 1.0}, "gpu")
    wanted = case(accelerator="rtx-4090")
    assert request(wanted, declared) == {"CPU": 1.0, "accelerator:RTX-4090": 1.0}
    on_gpu = request(case(device="gpu", devices=4, accelerator="a100"), detected)
    assert on_gpu == {"GPU": 4.0, "CPU": 1.0, "accelerator_type:A100": 0.001}


@each(
    ("changes", "result"),
    [
        ({}, True),
        ({"device": "gpu"}, True),
        ({"device": "gpu", "devices": 8}, True),
        ({"device": "gpu", "devices": 9}, False),
        ({"device": "tpu"}, False),
        ({"backend": "jax"}, False),
        ({"device": "gpu", "accelerator": "v100"}, True),
        ({"device": "gpu", "accelerator": "a100"}, False),
    ],
)
def test_a_node_measures_what_it_has_devices_and_a_backend_for(
    changes: dict[str, Any], *, result: bool
) -> None:
    eight = node({"CPU": 64.0, "GPU": 8.0, "accelerator:v100": 8.0}, "gpu")
    assert capable(case(**changes), eight) is result
    assert not capable(case(**changes), Node(node_id="n", name="n", resources=eight.resources))


def test_what_no_node_can_measure_is_named_once_with_what_the_nodes_have() -> None:
    nodes = [node({"CPU": 4.0, "GPU": 1.0, "accelerator:v100": 1.0}, "gpu", name="one")]
    cases = [case(s, device="gpu", devices=2, accelerator="v100") for s in range(3)]
    [text] = unplaceable([*cases, case()], nodes)
    assert "it needs 2 GPU of type v100 with tensorflow" in text
    assert "The nodes have: one 4 CPU, 1 GPU (1 x v100) with tensorflow." in text


# -- what the cluster can measure ----------------------------------------------------------------


def test_auto_is_the_best_device_of_the_nodes_and_a_backend_that_all_of_them_have() -> None:
    cpu = node({"CPU": 8.0}, "cpu", ("tensorflow",))
    first = node({"GPU": 1.0, "accelerator:v100": 1.0}, "gpu", ("tensorflow", "jax"))
    second = node({"GPU": 1.0, "accelerator:a100": 1.0}, "gpu", ("jax",))
    host = host_of([cpu, first, second])
    assert (host.device, host.backends) == ("gpu", ("jax", "tensorflow"))
    assert host.accelerators is not None
    assert host.accelerators["v100"].backends == ("tensorflow", "jax")
    assert host.accelerators["a100"].backends == ("jax",)
    assert host_of([cpu]).accelerators == {}


def test_a_gpu_that_ray_cannot_hand_out_is_no_device_of_the_node() -> None:
    assert node({"CPU": 8.0}, "gpu").device == "cpu"
    assert host_of([node({"CPU": 8.0}, "gpu")]).device == "cpu"
