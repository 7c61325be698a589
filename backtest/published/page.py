"""Figures of the back-test on published tables, as a page and as the file that the app reads.

It has every task of `DESCRIBED` and `MEASURED` with its score and largest errors, and each
published whole job with our estimate.

Compare predicts described workloads as seconds per sample, whole language-model jobs as
device-hours, and pairs as the faster of two accelerators. Within published series, steps on the
larger half of the device counts are predicted, and samples/s at a hidden batch. Stated memory is
compared with the memory estimate, and jobs that ran with the check whether they fit.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from backtest.published import described
from backtest.published.described import (
    Answer,
    Pair,
    PairScore,
    Score,
    pairs_scored,
    scored,
)
from backtest.published.jobs import KnownJob, device_hours, whole_jobs
from backtest.published.measured import batch_left_out, batch_twice, device_scaling
from backtest.published.memory import fit_answers, memory_answers
from backtest.published.mfu import Hidden, Way
from planner.catalog import Catalog
from planner.mfu import Domain
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
    "described_speech": described.of_family("speech"),
    "described_recommender": described.of_family("recommender"),
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


LIMITED: Final = "Fits only "
"""First words of the sentence on memory where a job fits under a condition."""
MOST_REASONS: Final = 3
"""Number of reasons listed per task for questions without an answer."""
_PARTS_OF_OTHERS: Final = frozenset({"described_dense_over_8_nodes", "pairs"})
WORST: Final = 3
"""Number of largest errors listed per task."""
TITLES: Final[Mapping[str, str]] = {
    "described_dense": "language models, described",
    "described_dense_over_8_nodes": "the same on more than 8 nodes",
    "described_moe": "mixtures of experts, described",
    "described_lora": "LoRA fine-tuning, described",
    "described_encoder": "encoders, described",
    "described_cnn": "convolutional networks, described",
    "described_vit": "vision transformers, described",
    "described_other_images": "detection, segmentation and diffusion, described",
    "described_speech": "speech networks, described",
    "described_recommender": "recommenders, described",
    "whole_jobs": "whole language-model jobs",
    "whole_jobs_images": "whole image jobs",
    "device_scaling": "step at a larger device count",
    "batch_left_out": "throughput at a hidden batch size",
    "batch_twice": "throughput at twice the largest batch",
    "memory": "stated memory",
    "pairs": "which of two accelerators is faster",
}
"""Tasks in words, in the order of the page."""
DOMAIN_TITLES: Final[Mapping[Domain, str]] = {
    "language": "language models", "encoder": "encoders", "vision": "image networks",
    "speech": "speech networks", "recommender": "recommenders",
}  # fmt: skip
"""Workloads of each efficiency fit, in words."""


def figures_text(tasks: Tasks, jobs: Sequence[KnownJob]) -> str:
    """Return the file of figures: scores and largest errors by task, and the whole jobs."""
    whole: dict[str, Any] = {
        "tasks": tasks.as_json(),
        "worst": {task: _worst(tasks, task) for task in TITLES if _worst(tasks, task)},
        "jobs": [asdict(job) for job in jobs],
        "notes": notes(tasks),
    }
    return f"{json.dumps(whole, indent=1, allow_nan=False)}\n"


def notes(tasks: Tasks) -> list[str]:
    """Return sentences on what is not answered, and on jobs that ran and are refused."""
    lines = []
    for task, title in TITLES.items():
        refused = [answer for answer in tasks.answers.get(task, ()) if not answer.answered]
        if refused and task not in _PARTS_OF_OTHERS:
            asked = len(tasks.answers[task])
            reasons = Counter(_short(answer.why) for answer in refused).most_common(MOST_REASONS)
            why = "; ".join(f"{reason} ({count:,})" for reason, count in reasons)
            lines.append(f"Not answered of {title}: {len(refused):,} of {asked:,}. Reasons: {why}.")
    ran = tasks.answers.get("memory_fits", ())
    if ran:
        refused = [answer for answer in ran if not answer.answered]
        share = f"{100.0 * len(refused) / len(ran):.2g} %"
        named = "; ".join(sorted({answer.name for answer in refused}))
        lines.append(
            f"Of {len(ran):,} configurations that ran, {len(refused):,} ({share}) are wrongly "
            f"estimated not to fit in memory{': ' if named else '.'}{named}{'.' if named else ''}"
        )
        warned = Counter(a.why.partition(":")[0] for a in ran if a.why.startswith(LIMITED))
        lines += [f"{why}: {count:,} of them." for why, count in warned.most_common()]
    return lines


def _short(why: str) -> str:
    """Return the reason of a refusal without its numbers: what comes before the colon."""
    reason = re.split(r"[:;.](?:\s|$)", why.strip())[0]
    return re.sub(r"\d[\d,.]*", "N", reason[:1].lower() + reason[1:]) or "no reason given"


def page(
    tasks: Tasks,
    jobs: Sequence[KnownJob],
    origin: str,
    left_out: Mapping[Way, Mapping[Domain, Sequence[Hidden]]] | None = None,
) -> str:
    """Return the page: every task, left-out fits, whole jobs, largest errors.

    Args:
        tasks: answers and scores.
        jobs: published whole jobs, each with our estimate.
        origin: the folder, as a user types it.
        left_out: predictions by fits that had not seen a row; None leaves their table out.
    """
    return "\n".join(
        [
            "# Published measurements: how wrong are we?",
            "",
            f"Made by `python -m planner backtest {origin}`. Each row is a question with its",
            "speed hidden. Error is |estimated/published - 1| of the time, *coverage* the share of",
            "published figures inside the 90 % interval, *width* the median of (high - low)/value.",
            "The efficiency model was fitted on the shipped tables.",
            "",
            *_tasks_table(tasks.scores()),
            "",
            *_paragraphs(notes(tasks)),
            *_left_out_section(left_out or {}),
            "## Would we have known?",
            "",
            "Device-hours of whole jobs from their model cards, and our estimate from network,",
            "tokens, accelerator and count.",
            "",
            *_jobs_table(jobs),
            "",
            "## Largest errors",
            "",
            *_misses({task: _worst(tasks, task) for task in TITLES}),
            "",
        ]
    )


def published_lines(figures: Mapping[str, Any]) -> list[str]:
    """Return the section of docs/accuracy.md about published measurements.

    Args:
        figures: the file of `figures_text`, read back.
    """
    pairs = figures["tasks"].get("pairs")
    scores: dict[str, Score | PairScore] = {
        task: Score(**figures["tasks"][task]) for task in TITLES if task != "pairs"
        if task in figures["tasks"]
    }  # fmt: skip
    return [
        "## Published measurements",
        "",
        "Errors on the shipped library of published runs, from `python -m planner backtest",
        "data/tables/published`. The fit has seen these rows. Figures of hidden sources,",
        "accelerators and families are in [accuracy-published.md](accuracy-published.md) and",
        "[efficiency.md](efficiency.md); the former also lists the whole jobs.",
        "",
        *_tasks_table(scores | ({"pairs": PairScore(**pairs)} if pairs else {})),
        "",
        *_paragraphs(figures.get("notes", ())),
        "### Largest errors on published measurements",
        "",
        *_misses(figures["worst"]),
    ]


def _paragraphs(sentences: Sequence[str]) -> list[str]:
    return [line for sentence in sentences for line in (_cell(sentence), "")]


def _misses(worst: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    return [
        "| task | question | estimated / published | inside the interval |",
        "|---|---|---|---|",
        *(
            f"| {TITLES[task]} | {_cell(miss['name'])} ({miss['source']}) | "
            f"{miss['ratio']:.3g} | {'yes' if miss['inside'] else 'no'} |"
            for task in TITLES
            for miss in worst.get(task, ())
        ),
    ]


def _tasks_table(scores: Mapping[str, Score | PairScore]) -> list[str]:
    lines = [
        "| task | questions | answered | median error | mean error | coverage | width |",
        "|---|---|---|---|---|---|---|",
    ]
    for task, title in TITLES.items():
        score = scores.get(task)
        if isinstance(score, Score) and score.asked:
            cells = _figures(score)
            lines.append(f"| {title} | {score.asked:,} | {score.answered:,} | {cells} |")
    pairs = scores.get("pairs")
    if isinstance(pairs, PairScore) and pairs.asked:
        lines += [
            "",
            f"Of {pairs.asked:,} pairs of accelerators {pairs.decided:,} were decided, "
            f"{pairs.right:,} of them correctly.",
        ]
    return lines


def _left_out_section(
    left_out: Mapping[Way, Mapping[Domain, Sequence[Hidden]]],
) -> list[str]:
    """Return errors of fits that had not seen a source, accelerator or family."""
    if not left_out:
        return []
    lines = [
        "## Left out while fitting",
        "",
        "The efficiency is fitted again without one source, accelerator or family, which is then",
        "predicted. The other figures of this page are of rows that the fit has seen. Errors by",
        "family are in [efficiency.md](efficiency.md). Encoders have one family and a separate",
        "fit: without that family no row is left to fit.",
        "",
        "| left out | workloads | rows | median error | mean error | coverage | width |",
        "|---|---|---|---|---|---|---|",
    ]
    for way, by_domain in left_out.items():
        for domain, hidden in by_domain.items():
            score = scored([row.answer for row in hidden])
            if score.answered:
                cells = _figures(score)
                lines.append(f"| {way} | {DOMAIN_TITLES[domain]} | {score.asked:,} | {cells} |")
    return [*lines, ""]


def _figures(score: Score) -> str:
    numbers = (score.median, score.mean, score.held, score.width)
    return " | ".join("" if n is None else f"{n:.3g} %" for n in numbers)


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
    """Return the largest errors by factor: name, source, ratio to the truth, inside or not."""
    answered = [
        answer for answer in tasks.answers.get(task, ()) if answer.answered and answer.value > 0.0
    ]
    ranked = sorted(answered, key=_factor, reverse=True)[:WORST]
    return [
        {
            "name": answer.name,
            "source": answer.source,
            "ratio": float(f"{answer.value / answer.truth:.4g}"),
            "inside": answer.held,
        }
        for answer in ranked
        if _factor(answer) > 1.0
    ]


def _factor(answer: Answer) -> float:
    return max(answer.value / answer.truth, answer.truth / answer.value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
