"""The smallest design: few batches, within what was asked for, and both ends of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runners.plan.cases import DESIGN_EPOCHS, design_batches, groups, smallest_design
from tests.runners.stubs import case


@given(st.integers(1, 1 << 20), st.integers(1, 1 << 20))
def test_a_design_has_both_ends_and_at_most_four_batches(low: int, high: int) -> None:
    found = design_batches(low, high)
    assert list(found) == sorted(set(found))
    assert len(found) <= 4
    assert found[-1] == high
    assert found[0] == min(low, high)
    assert all(b & (b - 1) for b in found[1:-1]) is False or len(found) < 4


def test_the_middle_is_a_power_of_two_and_one_batch_is_odd() -> None:
    assert design_batches(8, 512) == (8, 49, 64, 512)


@given(st.sets(st.integers(1, 4_096), min_size=1, max_size=12), st.integers(1, 9),
       st.integers(1, 3))  # fmt: skip
def test_the_smallest_design_takes_only_what_the_sweep_names(
    sizes: set[int], epochs: int, repeats: int
) -> None:
    cases = [case(batch=b, train_samples=4_096, epochs=epochs, repeat=r)
             for r in range(repeats) for b in sorted(sizes)]  # fmt: skip
    small = smallest_design(cases)
    chosen = {c.batch for c in small}
    assert len(small) == len(chosen) <= 4
    assert {min(sizes), max(sizes)} <= chosen <= sizes
    assert {c.epochs for c in small} == {min(epochs, DESIGN_EPOCHS)}
    assert {c.repeat for c in small} == {0}


def test_networks_are_not_mixed() -> None:
    cases = [case(batch=b, optimizer=o) for b in (8, 16) for o in ("sgd", "adam")]
    assert [len(g) for g in groups(cases)] == [2, 2]
    assert len(smallest_design(cases)) == 4
