"""The batch of an option is one that a device had in a measured run, or has room for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from planner.epochs import options_of
from planner.job import Goal, Hardware, Job, TimeSources, library_of
from planner.job._job import batch_on, batch_sentence, job_measured
from planner.job._records import Candidate
from planner.job._times import timed
from planner.runs import Run
from tests.planner.compare.made import CATALOG, PLAIN, RUN, TWICE, row

HALF: Final = replace(TWICE, id="half", name="Half", memory_bytes=20e9)


def published(letter: str, devices: int, batch: int, speed: float) -> dict[str, Any]:
    """A run on several of the card Twice, 8 in a machine."""
    return row(run_of(letter, devices, batch, speed)) | {
        "system_name": "Twice", "accelerator_model_name": "Twice",
        "accelerators_per_node": min(devices, 8), "number_of_nodes": -(-devices // 8),
        "samples_per_s": speed, "global_batch_size": batch,
    }  # fmt: skip


def run_of(letter: str, devices: int, batch: int, speed: float) -> Run:
    return replace(
        RUN, run_id=letter * 32, system=f"{devices} x Twice", global_batch_size=batch,
        samples_per_s=speed, basis="published",
    )  # fmt: skip


def on(card: Any, count: int = 1) -> Hardware:  # noqa: ANN401 - of the catalogue
    return Hardware(label=f"{count} x {card.name}", accelerator=card, count=count)


def job_of(*rows: dict[str, Any]) -> Job:
    runs = [
        replace(
            RUN, run_id=r["run_id"], system=r["system"], global_batch_size=r["global_batch_size"],
            samples_per_s=r["samples_per_s"], basis="published",
        )
        for r in rows
    ]  # fmt: skip
    return job_measured("Net · Data", rows, options_of(runs), CATALOG)


LARGE: Final = published("b", 3584, 57_344, 2e6)


def test_a_batch_of_a_cluster_is_divided_by_its_devices() -> None:
    large_job = job_of(LARGE)
    assert batch_on(large_job, on(PLAIN)) == 16
    assert batch_on(large_job, on(PLAIN, 8)) == 128
    assert "no more samples on a device" in batch_sentence(large_job, on(PLAIN), None)


def test_more_devices_keep_the_global_batch() -> None:
    large_job = job_of(published("c", 1, 100, 100.0))
    assert batch_on(large_job, on(PLAIN, 8)) == 100


def test_a_card_with_half_the_memory_has_half_the_samples() -> None:
    large_job = job_of(published("d", 8, 800, 1000.0))
    assert batch_on(large_job, on(PLAIN)) == 100
    assert batch_on(large_job, on(HALF)) == 50


def test_a_requested_batch_stays() -> None:
    assert batch_on(job_of(LARGE), on(PLAIN), at_batch=57_344.0) == 57_344


def test_a_run_on_one_machine_is_the_source_before_a_cluster() -> None:
    small = published("e", 8, 800, 1000.0)
    large_job = job_of(LARGE, small)
    assert batch_on(large_job, on(PLAIN)) == 100
    library = library_of(CATALOG, [LARGE | {"workload": large_job.workload},
                                   small | {"workload": large_job.workload}])  # fmt: skip
    option = Candidate(id="x", way="rent", hardware=on(PLAIN))
    goal = Goal(words="1 epoch", epochs=1)
    alone = library_of(CATALOG, [small | {"workload": large_job.workload}])
    times = [
        timed(large_job, goal, option, TimeSources(library=known)) for known in (library, alone)
    ]
    assert times[0].total == times[1].total
    assert times[0].batch == 100
