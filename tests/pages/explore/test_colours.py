"""A system has one colour on Explore and on the other pages."""

from __future__ import annotations

from pages.explore import side, state
from planner import figures
from planner.figures.frame import HUES


def test_an_accelerator_has_the_hue_that_other_pages_give_it() -> None:
    names = ("H100 SXM5 80GB", "MI300X", "L40S", "Other")
    slots = state._slots(names, names[:3], of_systems=True)
    assert slots == (*map(figures.system_slot, names[:3]), -1)


def test_two_forms_of_one_accelerator_differ_in_shade_only() -> None:
    names = ("H100 SXM5 80GB", "H100 PCIe 80GB")
    one, other = state._slots(names, names, of_systems=True)
    assert one != other
    assert one % HUES == other % HUES


def test_runs_side_by_side_have_the_hue_of_their_system() -> None:
    systems = ["2 x L40S", "2 x L40S", "MI300X"]
    slots = side._slots(["first", "second", "third"], systems)
    assert [slot % HUES for slot in slots] == list(map(figures.system_slot, systems))
    assert len(set(slots)) == 3
