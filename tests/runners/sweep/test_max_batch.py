"""The search for the largest batch: within 1/16 of the truth, in few probes, whatever memory is."""

from __future__ import annotations

import math
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from runners.sweep.max_batch import (
    RESOLUTION,
    SMALL,
    Probe,
    Result,
    search,
)
from tests.each import each

GIGABYTE = 1e9
SIZES = st.floats(1e6, 1e12)


def _fits(batch: int, base: float, slope: float, limit: float) -> bool:
    return base + slope * batch <= limit


def _true(base: float, slope: float, limit: float, bound: int) -> int:
    """The largest batch that fits, 0 for none."""
    if not _fits(1, base, slope, limit):
        return 0
    low, high = 1, bound + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _fits(middle, base, slope, limit) else (low, middle)
    return low


def _is_right(found: Result, true: int, bound: int) -> None:
    """The largest seen to fit fits; the true one is less than 1/16 (or one sample) above it."""
    if true == 0:
        assert (found.largest, found.fails) == (None, 1)
        return
    assert found.largest is not None
    assert found.largest <= true
    if found.fails is None:
        assert found.largest == true == bound
        return
    assert found.largest < found.fails
    assert true < found.fails
    assert found.fails - found.largest <= max(1, found.largest // RESOLUTION)


@settings(max_examples=500, deadline=None)
@given(
    base=SIZES, slope=st.floats(1.0, 1e10), limit=SIZES, bound=st.integers(1, 1 << 24),
    knows=st.booleans(),
)  # fmt: skip
def test_any_line_of_memory_is_searched_to_a_sixteenth_in_few_probes(
    base: float, slope: float, limit: float, bound: int, *, knows: bool
) -> None:
    def probe(batch: int) -> Probe:
        fits = _fits(batch, base, slope, limit)
        return Probe(fits, base + slope * batch if fits else None)

    found = search(probe, bound=bound, memory_bytes=limit if knows else None)
    _is_right(found, _true(base, slope, limit, bound), bound)
    assert all(1 <= b <= bound for b in found.probes)
    assert len(found.probes) == len(set(found.probes)) <= 2 * math.log2(bound) + 10


@settings(max_examples=300, deadline=None)
@given(
    base=st.floats(1e8, 4e9), slope=st.floats(1e4, 1e8), limit=st.floats(5e9, 1e11),
    noise=st.floats(0.0, 0.2), seed=st.integers(0, 1_000), bound=st.integers(64, 1 << 20),
)  # fmt: skip
def test_a_noisy_memory_misleads_the_first_guess_and_not_the_result(
    base: float, slope: float, limit: float, *, noise: float, seed: int, bound: int
) -> None:
    """What is reported of a probe is off by up to 20 %; whether it fits is as it is."""
    draw = random.Random(seed)

    def probe(batch: int) -> Probe:
        result = (base + slope * batch) * draw.uniform(1 - noise, 1 + noise)
        return Probe(_fits(batch, base, slope, limit), result)

    found = search(probe, bound=bound, memory_bytes=limit)
    _is_right(found, _true(base, slope, limit, bound), bound)
    assert len(found.probes) <= 2 * math.log2(bound) + 10


def test_a_known_line_saves_half_of_the_probes() -> None:
    def probe(batch: int) -> Probe:
        result = 0.7 * GIGABYTE + 1.05e6 * batch
        return Probe(result <= 4 * GIGABYTE, result)

    blind = search(probe, bound=1 << 16)
    led = search(probe, bound=1 << 16, memory_bytes=4 * GIGABYTE)
    assert led.largest is not None
    assert (3142 - led.largest) / 3142 < 1 / RESOLUTION
    assert len(led.probes) <= 5 < len(blind.probes)


def test_memory_that_the_weights_fill_at_first_misleads_by_one_probe() -> None:
    """WideResNet-103M on an H100: 2.18 GB at batch 8, 2.25 at 64, 17.7 at 1,024."""

    def probe(batch: int) -> Probe:
        peak = max(2.166e9 + 1.2e6 * batch, 1.79e9 + 15.56e6 * batch)
        return Probe(peak <= 81.2e9, peak)

    result = search(probe, bound=1 << 16, memory_bytes=85.5e9)
    assert result.probes[:4] == (8, 64, 4096, 5046)
    assert result.largest is not None
    assert (5103 - result.largest) / 5103 < 1 / RESOLUTION
    assert len(result.probes) <= 6


@each("bound", [1, 2, 7, 8, 9, 32, 33, 65_536])
def test_where_all_fits_the_bound_is_the_answer(bound: int) -> None:
    found = search(lambda _: Probe(fits=True), bound=bound)
    assert (found.largest, found.fails) == (bound, None)
    assert len(found.probes) <= len(SMALL) + math.log2(max(bound, 2))


@each("true", [0, 1, 2, 3, 5, 7, 8, 9, 15, 30, 31])
def test_small_batches_are_found_to_the_sample(true: int) -> None:
    found = search(lambda batch: Probe(batch <= true), bound=4_096)
    assert (found.largest, found.fails) == (true or None, true + 1)


def test_a_memory_that_does_not_grow_leads_nowhere_and_is_searched_all_the_same() -> None:
    found = search(lambda b: Probe(b <= 1_000, 5e8), bound=1 << 16, memory_bytes=1e9)
    _is_right(found, 1_000, 1 << 16)
    found = search(lambda b: Probe(b <= 1_000, 5e8 - b), bound=1 << 16, memory_bytes=1e9)
    _is_right(found, 1_000, 1 << 16)


def test_a_search_that_was_cut_off_goes_on_and_tries_nothing_twice() -> None:
    tried: list[int] = []

    def fits(batch: int) -> Probe:
        tried.append(batch)
        return Probe(batch <= 777, 1e9 + 1e6 * batch)

    whole = search(fits, bound=65_536, memory_bytes=2e9)
    every = list(tried)
    for cut in range(1, len(every)):
        tried.clear()
        known = {b: fits(b) for b in every[:cut]}
        tried.clear()
        found = search(fits, bound=65_536, memory_bytes=2e9, earlier=known)
        assert not set(tried) & set(known)
        assert found.largest is not None
        assert 777 - 777 / 16 - 1 <= found.largest <= 777
    tried.clear()
    again = search(fits, bound=65_536, memory_bytes=2e9, earlier={b: fits(b) for b in every})
    assert (again.largest, again.fails) == (whole.largest, whole.fails)
