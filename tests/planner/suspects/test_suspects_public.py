"""The sick run of a public sweep is found by its neighbours, and no healthy run is accused.

koshian2's benchmark of 2018: GPU and TPU, ten systems and batches under five of its eight input
patterns, twenty epochs each. GPU at batch 256 with validation, augmentation and storage by one
worker took 1,218 s an epoch where the other patterns took 743 to 776 s.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from planner.epochs import MAX_CV
from planner.runs import CheckedRun
from planner.suspects import suspects
from planner.suspects.neighbours import neighbours

DATASET: Final = Path(__file__).parents[4] / "shared" / "datasets" / "koshian2_tpu_benchmark"
SICK: Final = "gpu 256 pattern 6"

pytestmark = pytest.mark.skipif(
    not DATASET.is_dir(), reason="the koshian2 benchmark data are not here"
)


@cache
def sweep() -> tuple[CheckedRun, ...]:
    """The 50 runs of the main sweep, from their raw epochs."""
    epochs: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    for row in csv.DictReader((DATASET / "epochs_main.csv").read_text().splitlines()):
        epochs[row["device"], row["batch_size"], row["pattern"]].append(row)
    return tuple(_run(*key, rows) for key, rows in epochs.items())


def _run(device: str, batch: str, pattern: str, rows: list[dict[str, str]]) -> CheckedRun:
    seconds = np.array([float(row["epoch_seconds"]) for row in rows])
    samples, pre_s = int(rows[0]["train_images_per_epoch"]), float(rows[0]["pre_train_seconds"])
    steps, mean_s = -(-samples // int(batch)), float(seconds[1:].mean())
    return CheckedRun(
        run_id=f"{device} {batch} pattern {pattern}",
        label=f"{device} at batch {batch}, pattern {pattern}",
        workload="WideResNet",
        software="TensorFlow 1",
        pattern=pattern,
        system_name=device,
        global_batch_size=int(batch),
        pre_train_s=pre_s,
        first_epoch_s=float(seconds[0]),
        later_epoch_mean_s=mean_s,
        later_epoch_sd_s=float(seconds[1:].std()),
        epochs_measured=len(seconds),
        total_s=pre_s + float(seconds.sum()),
        steps_per_epoch=steps,
        samples_per_epoch=samples,
        step_time_s=mean_s / steps,
        samples_per_s=samples / mean_s,
    )


def test_the_sick_run_is_found_by_its_neighbours_and_by_its_throughput() -> None:
    flags = suspects(sweep())
    assert [flag.name for flag in flags] == ["unlike its neighbours", "throughput falls"]
    assert {flag.run for flag in flags} == {SICK}
    assert "20 min 18 s an epoch, 1.58 times" in flags[0].evidence
    assert "33 % less than a smaller batch reaches" in flags[1].evidence


def test_its_robust_z_is_above_20_and_the_next_is_8() -> None:
    z = np.abs(neighbours(sweep()).z)
    assert len(sweep()) == z.size == 50
    order = np.argsort(-z)
    assert sweep()[order[0]].run_id == SICK
    assert 20 < z[order[0]] < 24
    assert round(z[order[1]], 1) == 8.0


def test_its_own_scatter_would_not_have_shown_it() -> None:
    variation = {r.run_id: (r.later_epoch_sd_s or 0) / (r.later_epoch_mean_s or 1) for r in sweep()}
    assert variation[SICK] < 0.05 < MAX_CV
    assert max(v for name, v in variation.items() if name != SICK) > variation[SICK]


def test_without_it_nothing_is_left_to_suspect() -> None:
    assert suspects([run for run in sweep() if run.run_id != SICK]) == ()


def in_minutes(run: CheckedRun) -> CheckedRun:
    """All its times divided by 60, and called seconds."""
    return times(run, 1 / 60)


def times(run: CheckedRun, factor: float) -> CheckedRun:
    """A run whose times are all so many times as long."""

    def longer(seconds: float | None) -> float:
        return (seconds or 0.0) * factor

    return replace(
        run,
        first_epoch_s=longer(run.first_epoch_s),
        later_epoch_mean_s=longer(run.later_epoch_mean_s),
        later_epoch_sd_s=longer(run.later_epoch_sd_s),
        total_s=longer(run.total_s),
        step_time_s=longer(run.step_time_s),
        samples_per_s=(run.samples_per_s or 0) / factor,
    )


def test_every_run_recorded_in_minutes_by_mistake_would_have_been_found() -> None:
    for odd in sweep():
        flags = suspects([in_minutes(run) if run is odd else run for run in sweep()])
        assert ("unit slip", odd.run_id) in {(flag.name, flag.run) for flag in flags}
        assert {flag.run for flag in flags} <= {odd.run_id, SICK}


@pytest.mark.parametrize("factor", [1 / 60, 60.0, 1000.0, 1 / 3600])
def test_one_pattern_alone_shows_the_run_in_another_unit_and_accuses_no_other(
    factor: float,
) -> None:
    for device, pattern in (("tpu", "1"), ("gpu", "1"), ("gpu", "3"), ("tpu", "8")):
        one = [r for r in sweep() if (r.system_name, r.pattern) == (device, pattern)]
        for odd in one:
            flags = suspects([times(run, factor) if run is odd else run for run in one])
            assert [(flag.name, flag.run) for flag in flags] == [("unit slip", odd.run_id)]


def test_the_last_of_four_batches_sixty_times_too_fast_is_found() -> None:
    one = [r for r in sweep() if (r.system_name, r.pattern) == ("tpu", "1")][:4]
    flags = suspects([*one[:3], in_minutes(one[3])])
    assert [(flag.name, flag.run) for flag in flags] == [("unit slip", one[3].run_id)]


def test_a_row_copied_under_another_batch_or_device_is_found() -> None:
    for change in ({"global_batch_size": 4096}, {"system_name": "tpu"}):
        copy = replace(sweep()[0], run_id="copy", **change)
        assert "duplicate" in {f.name for f in suspects([*sweep(), copy]) if f.run == "copy"}
