"""The back-test on published tables: every task, its answers, and one JSON object of figures.

Compare predicts described workloads as seconds per sample, whole language-model jobs as
device-hours, and pairs as the faster of two accelerators. Within published series, steps on the
larger half of the device counts are predicted, and samples/s at a hidden batch. Stated memory is
compared with the memory estimate, and jobs that ran with the check whether they fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from backtest.published import described
from backtest.published.answers import (
    Answer,
    Pair,
    PairScore,
    Score,
    pairs_scored,
    scored,
)
from backtest.published.jobs import device_hours, whole_jobs
from backtest.published.measured import batch_left_out, batch_twice, device_scaling
from backtest.published.memory import fit_answers, memory_answers
from planner.catalog import Catalog
from planner.published import Configuration, PublishedRow

DESCRIBED: Final[Mapping[str, described.Kept]] = {
    "described_dense": described.of_family("dense"),
    "described_dense_over_8_nodes": described.over_many_nodes,
    "described_moe": described.of_family("moe"),
    "described_lora": described.of_family("lora"),
    "described_encoder": described.of_family("encoder"),
    "described_cnn": described.of_family("cnn"),
    "described_vit": described.of_family("vit"),
    "described_other_images": described.of_family("detection", "segmentation", "diffusion"),
}
"""Tasks of described workloads, and the configurations of each."""
MEASURED: Final[Mapping[str, Callable[[Sequence[PublishedRow]], list[Answer]]]] = {
    "device_scaling": device_scaling,
    "batch_left_out": batch_left_out,
    "batch_twice": batch_twice,
    "memory": memory_answers,
}
"""Tasks within published series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    """Answers by task, the pairs, and the tasks that failed with their reasons."""

    answers: Mapping[str, Sequence[Answer]]
    pairs: Sequence[Pair]
    failed: Sequence[str] = ()

    def scores(self) -> dict[str, Score | PairScore]:
        """Return the figures of every task."""
        figures: dict[str, Score | PairScore] = {k: scored(v) for k, v in self.answers.items()}
        return {**figures, "pairs": pairs_scored(self.pairs)}

    def as_json(self) -> dict[str, dict[str, float | int | None]]:
        """Return the figures as plain values: counts, and per cent for the others."""
        return {task: asdict(score) for task, score in self.scores().items()}


def tasks_of(rows: Sequence[PublishedRow], catalog: Catalog) -> Tasks:
    """Return the answers of every task; a failed task is empty and listed."""
    failed: list[str] = []

    def tried(task: str, answer: Callable[[], list[Answer]]) -> list[Answer]:
        try:
            return answer()
        except Exception as problem:  # noqa: BLE001 - one failed task must not stop the others
            failed.append(f"{task}: {type(problem).__name__}: {problem}")
            return []

    runs: list[Configuration] = []
    pairs: list[Pair] = []
    try:
        runs = described.questions(rows, catalog)
        pairs = described.pairs(runs)
    except Exception as problem:  # noqa: BLE001 - as above
        failed.append(f"described workloads: {type(problem).__name__}: {problem}")
    answers = {
        task: tried(task, lambda kept=kept: described.described(runs, kept))  # type: ignore[misc]
        for task, kept in DESCRIBED.items()
    }
    for task, language in (("whole_jobs", True), ("whole_jobs_images", False)):
        answers[task] = tried(
            task,
            lambda language=language: device_hours(  # type: ignore[misc]
                [job for job in whole_jobs(rows, catalog) if job.language is language]
            ),
        )
    answers["memory_fits"] = tried("memory_fits", lambda: fit_answers(runs))
    for task, measured in MEASURED.items():
        answers[task] = tried(task, lambda measured=measured: measured(rows))  # type: ignore[misc]
    return Tasks(answers=answers, pairs=pairs, failed=failed)
