"""A line of its own weighed with the law of all counts: its edges, and shipped batches left out.

`pytest -s tests/planner/scaling/test_own.py` prints the errors of docs/evidence.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np
import pytest

from planner.answers._scaling_out import series_by_slug
from planner.core import Basis, Estimate, Floats, Refusal
from planner.scaling import has_own_line, weighed
from planner.scaling_out import DeviceSeries, series_of
from planner.store import queries
from tests.shipped import library

REFUSED: Final = Refusal(reason="No.", measure_next="Measure.")


def step(value: float, factor: float, basis: Basis = "interpolated") -> Estimate:
    return Estimate(value=value, low=value / factor, high=value * factor, basis=basis)


class Left(NamedTuple):
    """A step that was left out [s], and its predictions by line, common law and both."""

    seen_s: float
    by: tuple[Estimate, Estimate, Estimate]


def scores(cases: Iterable[Left]) -> Floats:
    """Return median error [%], mean error [%] and coverage [%], a row per prediction."""
    seen, value, low, high = (
        np.array(column)
        for column in zip(
            *((c.seen_s, *np.array([e.ends for e in c.by]).T) for c in cases), strict=True
        )
    )
    off = 100.0 * np.abs(value / seen[:, None] - 1.0)
    inside = (low <= seen[:, None]) & (seen[:, None] <= high)
    return np.array([np.median(off, axis=0), off.mean(axis=0), 100.0 * inside.mean(axis=0)]).T


def printed(name: str, cases: Sequence[Left]) -> Floats:
    """Return `scores`, printed."""
    of = scores(cases)
    words = " | ".join(f"{m:.1f} / {a:.1f} / {c:.0f}" for m, a, c in of)
    print(f"\n{name} ({len(cases)}): own | common | both, median / mean % / coverage: {words}")
    return of


def test_three_batches_or_two_far_apart_make_a_line() -> None:
    assert all(map(has_own_line, [(32, 128), (32, 64, 96), (96, 32, 64)]))
    assert not any(map(has_own_line, [(), (32,), (32, 64), (32, 127), (32, 32, 32)]))


def test_two_alike_count_alike_and_the_firmer_counts_more() -> None:
    own = step(1.0, 1.2)
    same = weighed(own, own)
    assert isinstance(same, Estimate)
    assert same.ends == pytest.approx(own.ends)
    even = weighed(own, step(4.0, 1.2))
    assert isinstance(even, Estimate)
    assert even.value == pytest.approx(2.0)
    firm = weighed(own, step(4.0, 1.2**3))
    assert isinstance(firm, Estimate)
    assert np.log(firm.value) == pytest.approx(0.1 * np.log(4.0))


def test_an_interval_is_wider_where_line_and_law_disagree() -> None:
    widths = []
    for value in (1.0, 1.2, 2.0):
        both = weighed(step(1.0, 1.2), step(value, 1.2))
        assert isinstance(both, Estimate)
        widths.append(float(both.high) / float(both.low))
    assert widths[0] == pytest.approx(1.2**2)
    assert widths == sorted(widths)
    assert widths[-1] > 2.0


def test_the_one_that_counts_more_gives_basis_and_reasons() -> None:
    near, far = step(1.0, 1.1, "interpolated"), step(1.0, 1.5, "extrapolated")
    for pair in ((near, far), (far, near)):
        both = weighed(*pair)
        assert isinstance(both, Estimate)
        assert both.basis == "interpolated"


def test_without_the_one_the_other_answers() -> None:
    one = step(1.0, 1.2)
    assert weighed(REFUSED, one) is one
    assert weighed(one, REFUSED) is one
    assert weighed(REFUSED, REFUSED) is REFUSED


def test_an_array_has_the_numbers_of_its_scalars_and_of_the_other_where_one_is_missing() -> None:
    both = weighed(
        Estimate(value=np.array([1.0, np.nan, 1.0]), low=np.array([0.8, np.nan, 0.8]),
                 high=np.array([1.25, np.nan, 1.25])),
        Estimate(value=np.array([2.0, 2.0, np.nan]), low=np.array([1.0, 1.0, np.nan]),
                 high=np.array([4.0, 4.0, np.nan])),
    )  # fmt: skip
    assert isinstance(both, Estimate)
    alone = weighed(step(1.0, 1.25), step(2.0, 2.0))
    assert isinstance(alone, Estimate)
    assert np.asarray(both.value) == pytest.approx([alone.value, 2.0, 1.0])
    assert np.asarray(both.high) == pytest.approx([alone.high, 4.0, 1.25])


@cache
def with_own_lines() -> tuple[tuple[str, DeviceSeries], ...]:
    """Return shipped series with a common law and a count with a line of its own."""
    return tuple(
        (workload, series)
        for workload in queries.scaled_workloads(library())
        for series in series_by_slug(library(), workload).values()
        if not isinstance(series.scaled, Refusal) and any(series.own(n) for n in series.counts)
    )


def test_the_step_has_no_jump_from_its_own_batches_to_far_ones() -> None:
    """Steps at batches 0.5 % apart differ by little, from a quarter to four times the batches."""
    curves = 0
    for _, series in with_own_lines():
        for devices in series.counts:
            own = series.own(devices)
            if own is None:
                continue
            batch = 0.25 * own.batch[0] * 1.005 ** np.arange(2000)
            answer = series.step(batch[batch <= 4.0 * own.batch[-1]], devices)
            assert isinstance(answer, Estimate)
            changes = np.abs(np.diff(np.log(np.asarray(answer.value))))
            changes = changes[np.isfinite(changes)]
            assert changes.max(initial=0.0) < 0.02, (series.label, devices)
            curves += changes.size > 100
    assert curves > 50


def left_out(workload: str, series: DeviceSeries) -> Iterator[Left]:
    """Yield each batch of a count that keeps a line of its own without it."""
    placements = queries.placements(library(), workload, series.runs[0].pattern)
    for point in series.points:
        alike = {
            p.run.run_id
            for p in series.points
            if (p.devices, p.batch) == (point.devices, point.batch)
        }
        rest = series_of(series.label, series.runs, placements, alike)
        own = None if rest is None else rest.own(point.devices)
        if rest is None or own is None or point.nodes != rest.nodes[point.devices]:
            continue
        batch = float(point.batch)
        by = (own.step_time(batch), rest.common_step(batch, point.devices),
              rest.step(batch, point.devices))  # fmt: skip
        if isinstance(by[0], Estimate) and isinstance(by[1], Estimate):
            assert isinstance(by[2], Estimate)
            yield Left(point.step_s, (by[0], by[1], by[2]))


def test_a_left_out_batch_is_closer_than_by_the_common_law() -> None:
    cases: dict[str, list[Left]] = {"measured": [], "published": []}
    for workload, series in with_own_lines():
        cases[series.runs[0].basis] += left_out(workload, series)
    _, common, both = printed("measured here", cases["measured"])
    assert both[0] < 0.6 * common[0]
    assert both[1] < 0.7 * common[1]
    assert both[2] >= 85.0
    _, common, both = printed("published series", cases["published"])
    assert both[1] < common[1]
    assert both[2] >= 85.0
