"""Where a run ran, as rows of the catalogue."""

from __future__ import annotations

import pytest

from planner.catalog import Accelerator, Catalog
from planner.job import machines_for
from planner.job._placing import placed
from tests.planner.compare.made import CATALOG, FRESH, LINK, PLAIN

TPU = Accelerator(
    id="tpu-v2", name="TPU v2", maker="Google", kind="tpu", source_url=LINK, as_of=FRESH, devices=2
)
V5E = Accelerator(
    id="tpu-v5e", name="TPU v5e", maker="Google", kind="tpu", source_url=LINK, as_of=FRESH
)
BOARD = Accelerator(
    id="board", name="Board", maker="Made", kind="gpu", source_url=LINK, as_of=FRESH, devices=2
)
WITH_TPUS = Catalog(accelerators=(*CATALOG.accelerators, TPU, V5E, BOARD))


def test_a_card_is_found_by_its_model_name_and_counted_over_all_nodes() -> None:
    there = placed(
        CATALOG,
        {"system": "2 x 4 Plain", "accelerator_model_name": "NVIDIA Plain",
         "accelerators_per_node": 4, "number_of_nodes": 2},
    )  # fmt: skip
    assert (there.accelerator, there.count, there.nodes) == (PLAIN, 8, 2)
    assert there.label == "2 x 4 Plain"


@pytest.mark.parametrize(
    ("name", "model", "chips"),
    [("TPU v2-8", "TPU v2", 4), ("TPU v2-32", "TPU v2", 16), ("TPU v5e-8", "TPU v5e", 8)],
)
def test_a_slice_counts_cores_up_to_v4_and_chips_after_it(
    name: str, model: str, chips: int
) -> None:
    there = placed(
        WITH_TPUS, {"system": name, "accelerator_model_name": model, "accelerators_per_node": 1}
    )
    assert there.count == chips


def test_devices_of_a_board_with_two_are_half_as_many_boards() -> None:
    row = {"system": "4 of them", "accelerator_model_name": "Board", "accelerators_per_node": 4}
    assert placed(WITH_TPUS, row).count == 2


@pytest.mark.parametrize(("count", "machines"), [(1, 1), (8, 1), (9, 2), (16, 2), (1024, 128)])
def test_eight_accelerators_stand_in_a_machine(count: int, machines: int) -> None:
    assert machines_for(PLAIN, count) == machines


def test_a_slice_of_tpus_is_one_machine() -> None:
    assert machines_for(V5E, 256) == 1


def test_what_no_data_sheet_knows_has_no_accelerator_but_keeps_its_name() -> None:
    there = placed(CATALOG, {"system": "GPU", "system_name": "GPU", "accelerators_per_node": 1})
    assert there.accelerator is None
    assert there.label == "GPU"
