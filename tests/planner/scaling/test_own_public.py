"""A line of its own on public clusters: batches left out, beside the law of all counts.

`pytest -s tests/planner/scaling/test_own_public.py` prints the table of docs/evidence.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import pytest

from planner.core import Estimate
from planner.scaling import ScalingCurve, fit_scaling, has_own_line, weighed
from planner.throughput import ThroughputCurve, fit_throughput
from tests.faults.outcomes import FULL
from tests.planner.scaling.test_own import Left, printed
from tests.planner.scaling.test_scaling_public import CLUSTERS, DATASETS, Mask, Runs, pollux

EVERY: Final = 1 if FULL else 4
"""Of the batches of a place, every so many is left out alone; FULL takes a minute."""
KEPT: Final = 3
"""Batches of a place that are kept in the harder task."""
pytestmark = pytest.mark.skipif(
    not (DATASETS / "pollux_sia_traces").is_dir(),
    reason="shared/datasets with the public traces is not beside this checkout",
)


def places(runs: Runs) -> list[Mask]:
    """Return the runs of every device and node count."""
    keys = np.stack([runs.devices, runs.nodes], axis=-1)
    return [np.asarray((keys == key).all(axis=1)) for key in np.unique(keys, axis=0)]


def predicted(runs: Runs, known: Mask, curve: ScalingCurve, place: Mask) -> Iterator[Left]:
    """Yield the unknown batches of a place, by the line of the known ones and `curve`."""
    devices, nodes = (float(part[place][0]) for part in (runs.devices, runs.nodes))
    here = known & place
    own = fit_throughput(runs.batch[here] * devices, runs.step_s[here])
    if not isinstance(own, ThroughputCurve) or not has_own_line(runs.batch[here]):
        return
    for batch in np.unique(runs.batch[place & ~known]):
        line = own.step_time(float(batch * devices))
        law = curve.step_time(float(batch), devices, nodes)
        both = weighed(line, law)
        if isinstance(line, Estimate) and isinstance(law, Estimate) and isinstance(both, Estimate):
            seen_s = float(np.median(runs.step_s[place & (runs.batch == batch)]))
            yield Left(seen_s, (line, law, both))


def one_left_out(runs: Runs) -> Iterator[Left]:
    """Yield every batch of every place, from all other runs."""
    for place in places(runs):
        for batch in np.unique(runs.batch[place])[::EVERY]:
            known = ~(place & (runs.batch == batch))
            curve = fit_scaling(*runs.only(known)[:4])
            if (known & place).any() and isinstance(curve, ScalingCurve):
                yield from predicted(runs, known, curve, place)


def most_left_out(runs: Runs) -> Iterator[Left]:
    """Yield all batches but the smallest, the middle and the largest but one of every place."""
    known = np.zeros(runs.batch.size, dtype=np.bool_)
    for place in places(runs):
        sizes = np.unique(runs.batch[place])
        kept = sizes[[0, (sizes.size - 1) // 2, -2]] if sizes.size > KEPT else sizes
        known |= place & np.isin(runs.batch, kept)
    curve = fit_scaling(*runs.only(known)[:4])
    if isinstance(curve, ScalingCurve):
        for place in places(runs):
            yield from predicted(runs, known, curve, place)


def by_cluster(task: Callable[[Runs], Iterator[Left]]) -> dict[str, list[Left]]:
    """Return the cases of a task by cluster, and all of them."""
    cases = {
        name: [c for key, runs in pollux().items() if key[0] == cluster for c in task(runs)]
        for cluster, name in CLUSTERS.items()
    }
    return cases | {"all": [c for of in cases.values() for c in of]}


def test_one_left_out_batch_is_closer_than_by_the_common_law() -> None:
    for name, cases in by_cluster(one_left_out).items():
        _, common, both = printed(f"one batch left out, {name}", cases)
        assert both[0] < 0.8 * common[0]
        assert both[1] < 0.85 * common[1]
        assert both[2] >= 95.0


def test_most_left_out_batches_are_closer_than_by_the_common_law() -> None:
    """YOLOv3 on the A100s, at its largest batch, is missed by every law: 13 % coverage."""
    for name, cases in by_cluster(most_left_out).items():
        _, common, both = printed(f"three batches kept, {name}", cases)
        assert both[1] < common[1]
        assert both[2] >= min(common[2] - 2.0, 93.0)
