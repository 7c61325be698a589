"""Figures of the back-test on published tables, as a page and as the file that the app reads.

Every task of `planner.backtest.published_tasks` with its score and its worst misses by name, and
each published whole job beside our answer: would we have known?
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from planner.backtest.known_job import KnownJob
from planner.backtest.published_answers import Answer, PairScore, Score
from planner.backtest.published_tasks import Tasks

WORST: Final = 3
"""Misses that are named for each task."""
TITLES: Final[Mapping[str, str]] = {
    "described_dense": "language models, described",
    "described_dense_over_8_nodes": "the same on more than 8 nodes",
    "described_moe": "mixtures of experts, described",
    "described_lora": "LoRA fine-tuning, described",
    "described_encoder": "encoders, described",
    "described_cnn": "convolutional networks, described",
    "described_vit": "vision transformers, described",
    "described_other_images": "detection, segmentation and diffusion, described",
    "whole_jobs": "whole language-model jobs",
    "whole_jobs_images": "whole image jobs",
    "device_scaling": "step at a larger device count",
    "batch_left_out": "throughput at a hidden batch size",
    "batch_twice": "throughput at twice the largest batch",
    "memory": "memory, as stated",
    "memory_fits": "jobs that ran: said to fit",
    "pairs": "which of two accelerators is faster",
}
"""Tasks in words, in the order of the page."""


def figures_text(tasks: Tasks, jobs: Sequence[KnownJob]) -> str:
    """Return the file of figures: scores by task, worst misses by task, and the whole jobs."""
    whole: dict[str, Any] = {
        "tasks": tasks.as_json(),
        "worst": {task: _worst(tasks, task) for task in TITLES if _worst(tasks, task)},
        "jobs": [asdict(job) for job in jobs],
    }
    return f"{json.dumps(whole, indent=1, allow_nan=False)}\n"


def page(tasks: Tasks, jobs: Sequence[KnownJob], origin: str) -> str:
    """Return the page: every task, the whole jobs, and the worst misses.

    Args:
        tasks: answers and scores.
        jobs: published whole jobs, each beside our estimate.
        origin: the folder that was asked, as a person types it.
    """
    return "\n".join(
        [
            "# Published measurements: how wrong are we?",
            "",
            f"Made by `python -m planner backtest {origin}`. Each row is asked as a person would",
            "ask it; its speed stays hidden. Error is |estimated/published - 1| of the time,",
            "*coverage* the share of published figures inside the 90 % interval, *width* the",
            "median of (high - low)/value. The efficiency model was fitted on these tables. What",
            "it reaches on sources that it has not seen is in [efficiency.md](efficiency.md).",
            "",
            *_tasks_table(tasks.scores()),
            "",
            "## Would we have known?",
            "",
            "Device-hours of whole jobs as their model cards state them, and our estimate from",
            "network, tokens, accelerator and count.",
            "",
            *_jobs_table(jobs),
            "",
            "## Worst misses",
            "",
            "| task | what | estimated over published | inside the interval |",
            "|---|---|---|---|",
            *(
                f"| {TITLES[task]} | {_cell(miss['name'])} ({miss['source']}) | "
                f"{miss['ratio']:.3g} | {'yes' if miss['inside'] else 'no'} |"
                for task in TITLES
                for miss in _worst(tasks, task)
            ),
            "",
        ]
    )


def _tasks_table(scores: Mapping[str, Score | PairScore]) -> list[str]:
    lines = [
        "| task | asked | answered | median error | mean error | coverage | width |",
        "|---|---|---|---|---|---|---|",
    ]
    for task, title in TITLES.items():
        score = scores.get(task)
        if isinstance(score, Score) and score.asked:
            numbers = (score.median, score.mean, score.held, score.width)
            cells = " | ".join("" if n is None else f"{n:.3g} %" for n in numbers)
            lines.append(f"| {title} | {score.asked:,} | {score.answered:,} | {cells} |")
    pairs = scores.get("pairs")
    if isinstance(pairs, PairScore) and pairs.asked:
        lines += [
            "",
            f"Of {pairs.asked:,} pairs of accelerators {pairs.decided:,} were decided, "
            f"{pairs.right:,} of them rightly.",
        ]
    return lines


def _jobs_table(jobs: Sequence[KnownJob]) -> list[str]:
    lines = [
        "| job | accelerators | published device-hours | our estimate (90 %) | inside | source |",
        "|---|---|---|---|---|---|",
    ]
    for job in jobs:
        estimate = job.why
        if job.value is not None and job.low is not None and job.high is not None:
            estimate = f"{job.value:,.3g} ({job.low:,.3g} to {job.high:,.3g})"
        lines.append(
            f"| {_cell(job.name)} | {job.devices:,} x {job.accelerator} | "
            f"{job.published_device_hours:,.3g} | {_cell(estimate)} | "
            f"{'yes' if job.inside else 'no'} | {_cell(job.place)} |"
        )
    return [line.replace("e+0", "e") for line in lines]


def _worst(tasks: Tasks, task: str) -> list[dict[str, Any]]:
    """The answers furthest off by factor: name, source, estimate over truth, and whether inside."""
    answered = [one for one in tasks.answers.get(task, ()) if one.answered and one.value > 0.0]
    ranked = sorted(answered, key=_factor, reverse=True)[:WORST]
    return [
        {
            "name": one.name,
            "source": one.source,
            "ratio": float(f"{one.value / one.truth:.4g}"),
            "inside": one.held,
        }
        for one in ranked
        if _factor(one) > 1.0
    ]


def _factor(one: Answer) -> float:
    return max(one.value / one.truth, one.truth / one.value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
