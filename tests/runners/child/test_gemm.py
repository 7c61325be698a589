"""A peak is the best of many products, so that a slow moment of the machine decides for none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.child.gemm import SIZES, Product, best_speed

PEAK: float = 4e11
"""What the stand-in reaches at its best [FLOP/s]."""


class Machine:
    """Multiplies at its peak, slower at some moments and in some sizes; only it moves time."""

    def __init__(self, slow: dict[int, float] | None = None, slow_until_s: float = 0.0) -> None:
        self.now_s = 0.0
        self.slow, self.slow_until_s = slow or {}, slow_until_s
        self.made: list[int] = []
        self.products = 0

    def make(self, rows: int) -> Product:
        """Matrices of a size; the first product of it takes a second longer."""
        self.made.append(rows)
        first = [1.0]

        def product() -> None:
            self.products += 1
            share = 0.25 if self.now_s < self.slow_until_s else self.slow.get(rows, 1.0)
            self.now_s += 2 * rows**3 / (PEAK * share) + (first.pop() if first else 0.0)

        return product

    def best(self, budget_s: float = 0.4) -> float:
        """The speed that is measured."""
        return best_speed(self.make, budget_s, lambda: self.now_s)


def test_the_peak_is_that_of_products_that_are_warm() -> None:
    assert Machine().best() == pytest.approx(PEAK)


def test_a_size_that_is_slower_than_the_one_before_ends_nothing() -> None:
    machine = Machine(slow={256: 0.6, 512: 0.5, 1024: 0.5})
    assert machine.best() == pytest.approx(PEAK)
    assert max(machine.made) == 2048


def test_a_slow_beginning_does_not_make_the_peak() -> None:
    """Warming up takes 3 s: the slow moment ends 0.1 s of products later."""
    machine = Machine(slow_until_s=3.15)
    assert machine.best() == pytest.approx(PEAK)
    assert max(machine.made) == 2048, "it joins once the machine is fast"


def test_a_machine_that_is_slow_all_the_time_has_no_other_peak() -> None:
    assert Machine(slow_until_s=1e9).best() == pytest.approx(PEAK / 4)


def test_a_slow_machine_measures_the_smallest_size_once() -> None:
    machine = Machine(slow=dict.fromkeys(SIZES, 1e-4))
    assert machine.best() == pytest.approx(PEAK * 1e-4)
    assert machine.made == [256]
    assert machine.products == 2


@given(st.floats(1e-5, 1e4))
def test_what_counts_takes_about_the_time_that_is_given(share: float) -> None:
    machine = Machine(slow=dict.fromkeys(SIZES, share))
    machine.best()
    counted_s = machine.now_s - len(machine.made) - sum(2 * n**3 for n in machine.made) / (
        PEAK * share
    )  # fmt: skip
    one_round_s = 0.4 / 4 * 8 / 7
    smallest_s = 2 * SIZES[0] ** 3 / (PEAK * share)
    assert 0.4 <= counted_s * (1 + 1e-9) <= 0.4 + max(one_round_s, smallest_s)


def test_a_card_full_of_weights_is_measured_by_what_has_room() -> None:
    machine = Machine()

    def make(rows: int) -> Product:
        if rows > 512:
            raise MemoryError
        return machine.make(rows)

    assert best_speed(make, 0.4, lambda: machine.now_s) == pytest.approx(PEAK)
    with pytest.raises(MemoryError):
        best_speed(lambda _: make(1024), 0.4, lambda: machine.now_s)
