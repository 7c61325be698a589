"""Figures of the back-test on published tables, as a page and as the file that the app reads.

It has every task of `DESCRIBED` and `MEASURED` with its score and largest errors, and each
published whole job with our estimate.

Compare predicts described workloads as seconds per sample, whole language-model jobs as
device-hours, and pairs as the faster of two accelerators. Within published series, steps on the
larger half of the device counts are predicted, and samples/s at a hidden batch. Stated memory is
compared with the memory estimate, and jobs that ran with the check whether they fit.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from backtest.published import described
from backtest.published.described import (
    DescribedAnswer,
    PairScore,
    PublishedJob,
    RowPair,
    Score,
    device_hours,
    pairs_scored,
    scored,
    whole_jobs,
)
from backtest.published.measured import batch_left_out, batch_twice, device_scaling
from backtest.published.memory import fit_answers, memory_answers
from backtest.published.mfu import LEAST_ROWS, WAYS, Hidden, Way, left_out, ranked_pairs
from backtest.published.targets import results
from planner.catalog import Catalog
from planner.core import Text
from planner.mfu import DOMAIN_OF, shipped
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
LEFT_OUT: Final[Mapping[Way, str]] = {way: words.replace(" ", "_") for way, words in WAYS.items()}
"""First words of the tasks whose rows the fit has not seen, by what is left out of it."""
KINDS: Final[Mapping[str, str]] = {task.removeprefix("described_"): task for task in DESCRIBED}
"""Last words of these tasks, with the task of the same configurations that the fit has seen."""
MEASURED: Final[Mapping[str, Callable[[Sequence[PublishedRow]], list[DescribedAnswer]]]] = {
    "device_scaling": device_scaling,
    "batch_left_out": batch_left_out,
    "batch_twice": batch_twice,
    "memory": memory_answers,
}
"""Tasks within published series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAnswers:
    """Answers by task, the pairs, and the tasks that failed with their reasons.

    `unseen_pairs` are ranked by fits that have not seen their rows, by task.
    """

    answers: Mapping[str, Sequence[DescribedAnswer]]
    pairs: Sequence[RowPair]
    unseen_pairs: Mapping[str, Sequence[RowPair]] = field(default_factory=dict)
    failed: Sequence[str] = ()

    def scores(self) -> dict[str, Score | PairScore]:
        """Return the figures of every task."""
        figures: dict[str, Score | PairScore] = {k: scored(v) for k, v in self.answers.items()}
        pairs = {"pairs": self.pairs, **self.unseen_pairs}
        return {**figures, **{task: pairs_scored(of) for task, of in pairs.items()}}

    def as_json(self) -> dict[str, dict[str, float | int | None]]:
        """Return the figures as plain values: counts, and per cent for the others."""
        return figures_of(self.scores())


def figures_of(
    scores: Mapping[str, Score | PairScore],
) -> dict[str, dict[str, float | int | None]]:
    """Return the figures by task as in files; `asked` is the number of questions there."""
    return {
        task: {"asked" if name == "questions" else name: v for name, v in asdict(score).items()}
        for task, score in scores.items()
    }


def tasks_of(
    rows: Sequence[PublishedRow], catalog: Catalog, unscored: Sequence[PublishedRow] = ()
) -> TaskAnswers:
    """Return the answers of every task; a failed task is empty and listed.

    Fits see the rows of `unscored` too, but these are no questions.
    """
    failed: list[str] = []

    def tried(task: str, answer: Callable[[], list[DescribedAnswer]]) -> list[DescribedAnswer]:
        try:
            return answer()
        except Exception as problem:  # noqa: BLE001 - one failed task must not stop the others
            failed.append(f"{task}: {type(problem).__name__}: {problem}")
            return []

    runs: list[Configuration] = []
    pairs: list[RowPair] = []
    try:
        runs = described.questions(rows, catalog)
        pairs = described.pairs(runs)
    except Exception as problem:  # noqa: BLE001 - as above
        failed.append(
            Text(
                "described workloads: {kind}: {problem}",
                kind=type(problem).__name__,
                problem=problem,
            )
        )
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
    unseen_pairs: dict[str, list[RowPair]] = {}
    for way, start in LEFT_OUT.items():
        hidden: list[Hidden] = []
        try:
            hidden = _hidden(runs, way, described.questions(unscored, catalog))
            unseen_pairs[f"{start}_pairs"] = _ranked(hidden)
        except Exception as problem:  # noqa: BLE001 - as above
            failed.append(f"{start}: {type(problem).__name__}: {problem}")
        for kind, seen in KINDS.items():
            answers[f"{start}_{kind}"] = [row.answer for row in hidden if DESCRIBED[seen](row.row)]
    return TaskAnswers(answers=answers, pairs=pairs, unseen_pairs=unseen_pairs, failed=failed)


def _hidden(
    runs: Sequence[Configuration], way: Way, unscored: Sequence[Configuration]
) -> list[Hidden]:
    """Return predictions by fits without what is left out; none from too few rows for a fit."""
    if len(runs) < LEAST_ROWS:
        return []
    predictions = left_out([*runs, *unscored], (way,))[way].values()
    places = {run.place for run in runs}
    return [hidden for of in predictions for hidden in of if hidden.row.place in places]


def _ranked(hidden: Sequence[Hidden]) -> list[RowPair]:
    return [
        pair
        for domain, fit in shipped().items()
        for pair in ranked_pairs([h for h in hidden if DOMAIN_OF[h.row.family] == domain], fit)
    ]


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


def figures_text(tasks: TaskAnswers, jobs: Sequence[PublishedJob]) -> str:
    """Return the file of figures: scores and largest errors by task, and the whole jobs."""
    whole: dict[str, Any] = {
        "tasks": tasks.as_json(),
        "worst": {task: _worst(tasks, task) for task in TITLES if _worst(tasks, task)},
        "jobs": [asdict(job) for job in jobs],
        "notes": notes(tasks),
    }
    return f"{json.dumps(whole, indent=1, allow_nan=False)}\n"


def notes(tasks: TaskAnswers) -> list[str]:
    """Return sentences on what is not answered, and on jobs that ran and are refused."""
    lines: list[str] = []
    for task, title in TITLES.items():
        refused = [answer for answer in tasks.answers.get(task, ()) if not answer.answered]
        if refused and task not in _PARTS_OF_OTHERS:
            questions = len(tasks.answers[task])
            reasons = Counter(_short(answer.why) for answer in refused).most_common(MOST_REASONS)
            why = "; ".join(f"{reason} ({count:,})" for reason, count in reasons)
            lines.append(
                Text(
                    "Not answered of {task}: {refused:,} of {questions:,}. Reasons: {reasons}.",
                    task=title,
                    refused=len(refused),
                    questions=questions,
                    reasons=why,
                )
            )
    ran = tasks.answers.get("memory_fits", ())
    if ran:
        refused = [answer for answer in ran if not answer.answered]
        share = f"{100.0 * len(refused) / len(ran):.2g} %"
        named = "; ".join(sorted({answer.name for answer in refused}))
        lines.append(
            Text(
                "Of {ran:,} configurations that ran, {refused:,} ({share}) are wrongly "
                "estimated not to fit in memory: {names}.",
                ran=len(ran),
                refused=len(refused),
                share=share,
                names=named,
            )
            if named
            else Text(
                "Of {ran:,} configurations that ran, none is wrongly estimated not to fit in "
                "memory.",
                ran=len(ran),
            )
        )
        warned = Counter(a.why.partition(":")[0] for a in ran if a.why.startswith(LIMITED))
        lines += [
            Text("{reason}: {count:,} of them.", reason=why, count=count)
            for why, count in warned.most_common()
        ]
    return lines


def _short(why: str) -> str:
    """Return the reason of a refusal without its numbers: what comes before the colon."""
    reason = re.split(r"[:;.](?:\s|$)", why.strip())[0]
    return re.sub(r"\d[\d,.]*", "N", reason[:1].lower() + reason[1:]) or "no reason given"


def page(tasks: TaskAnswers, jobs: Sequence[PublishedJob], origin: str) -> str:
    """Return the page: every task, left-out fits, targets, whole jobs, largest errors."""
    scores = tasks.scores()
    return "\n".join(
        [
            "# Published measurements: how wrong are we?",
            "",
            Text(
                "Made by `python -m planner backtest {origin}`. Each row is a question with its "
                "speed hidden.",
                origin=origin,
            ),
            "Error is |estimated/published - 1| of the time, *coverage* the share of published",
            "figures inside the 90 % interval, *width* the median of (high - low)/value.",
            SEEN,
            "",
            *_tasks_table(scores),
            "",
            *_paragraphs(notes(tasks)),
            *_unseen_section(scores, "##"),
            "## Published whole jobs",
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
    """Return the section of docs/accuracy.md about published measurements."""
    scores = scores_in(figures)
    return [
        "## Published measurements",
        "",
        "Errors on the shipped library of published runs, from `python -m planner backtest",
        "data/tables/published`. [accuracy-published.md](accuracy-published.md) also lists the",
        "whole jobs.",
        SEEN,
        "",
        *_tasks_table(scores),
        "",
        *_paragraphs(figures.get("notes", ())),
        *_unseen_section(scores, "###"),
        "### Largest errors on published measurements",
        "",
        *_misses(figures["worst"]),
    ]


def _rest(of: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in of.items() if name != "asked"}


def scores_in(figures: Mapping[str, Any]) -> dict[str, Score | PairScore]:
    """Return the scores in the file of `figures_text`, read back."""
    return {
        task: (PairScore if "decided" in of else Score)(questions=of["asked"], **_rest(of))
        for task, of in figures["tasks"].items()
    }


def summary_sentence(scores: Mapping[str, Score | PairScore]) -> str:
    """Return errors on published runs of hidden sources and the pairs decided; "" without them."""
    words = {"dense": "language models", "encoder": "encoders", "cnn": "convolutional networks"}
    errors = [
        f"{score.median:.2g} % for {title}"
        for kind, title in words.items()
        if isinstance(score := scores.get(f"source_out_{kind}"), Score) and score.median is not None
    ]
    pairs = scores.get("source_out_pairs")
    if not errors or not isinstance(pairs, PairScore) or not pairs.decided:
        return ""
    return Text(
        "Median error on published runs of hidden sources: {errors}. Of {pairs:,} pairs of "
        "accelerators {decided:.3g} % were decided, {right:.3g} % of them correctly.",
        errors=", ".join(errors),
        pairs=pairs.questions,
        decided=100.0 * pairs.decided / pairs.questions,
        right=100.0 * pairs.right / pairs.decided,
    )


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
        if isinstance(score, Score) and score.questions:
            cells = _figures(score)
            lines.append(f"| {title} | {score.questions:,} | {score.answered:,} | {cells} |")
    pairs = scores.get("pairs")
    if isinstance(pairs, PairScore) and pairs.questions:
        lines += [
            "",
            Text(
                "Of {pairs:,} pairs of accelerators {decided:,} were decided, {right:,} of "
                "them correctly.",
                pairs=pairs.questions,
                decided=pairs.decided,
                right=pairs.right,
            ),
        ]
    return lines


SEEN: Final = (
    "The efficiency model was fitted on the shipped tables: it has seen the rows of the tasks\n"
    '"described". Figures of unseen rows follow below.'
)
UNSEEN: Final = """\
The efficiency is fitted again without some rows, which are then predicted. *Row out* hides a fourth
of the rows in turn: the fit has not seen the row, but others of its source. *Source out* is
stricter: the fit has seen no row of the source. *Accelerator out* and *family out* hide all rows of
an accelerator or family. Encoders have one family and a separate fit: without that family no row is
left to fit."""
TARGETS: Final = """\
Targets of the project on published rows. Those of described workloads are compared with *row out*
and, as a stricter line, with *source out*. The fit has seen no whole language-model job, but the
factor for long runs was chosen on them. Larger counts and batches are hidden parts of series."""


def title_of(task: str) -> str:
    """Return a task in words; of unseen rows those of the kind and of what is left out."""
    for way, start in LEFT_OUT.items():
        if task.startswith(f"{start}_"):
            seen = KINDS[task.removeprefix(f"{start}_")]
            return f"{TITLES[seen].removesuffix(', described')}, {WAYS[way]}"
    return TITLES[task]


def unseen_tasks(scores: Mapping[str, Score | PairScore]) -> dict[str, Score]:
    """Return the scores of described workloads that the fit has not seen, kind by kind."""
    names = [f"{start}_{kind}" for kind in KINDS for start in LEFT_OUT.values()]
    by_name = {name: scores.get(name) for name in names}
    return {n: score for n, score in by_name.items() if isinstance(score, Score) and score.answered}


def _unseen_section(scores: Mapping[str, Score | PairScore], heading: str) -> list[str]:
    """Return the errors on rows that the fit has not seen, and the targets."""
    unseen = unseen_tasks(scores)
    lines = []
    if unseen:
        lines += [
            Text("{heading} Left out while fitting", heading=heading),
            "",
            UNSEEN,
            "",
            "| workloads | rows | median error | mean error | coverage | width |",
            "|---" * 6 + "|",
            *(
                f"| {title_of(task)} | {score.questions:,} | {_figures(score)} |"
                for task, score in unseen.items()
            ),
            "",
        ]
    figures = results(figures_of(scores))
    if figures:
        lines += [
            f"{heading} Targets",
            "",
            TARGETS,
            "",
            "| figure | target | measured | |",
            "|---" * 4 + "|",
            *(
                f"| {r.what} | {r.target} | {r.measured} | "
                f"{'reached' if r.reached else '**missed**'} |"
                for r in figures
            ),
            "",
        ]
    return lines


def _figures(score: Score) -> str:
    numbers = (score.median, score.mean, score.held, score.width)
    return " | ".join("" if n is None else f"{n:.3g} %" for n in numbers)


def _jobs_table(jobs: Sequence[PublishedJob]) -> list[str]:
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


def _worst(tasks: TaskAnswers, task: str) -> list[dict[str, Any]]:
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


def _factor(answer: DescribedAnswer) -> float:
    return max(answer.value / answer.truth, answer.truth / answer.value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
