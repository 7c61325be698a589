"""Questions of a buyer on published rows: described workloads, whole jobs, pairs.

A question has the inputs of Compare: parameters, length or image size, precision, batch,
accelerator and count; never a speed or a utilisation of the row. The answer is that of Compare
itself (`planner.job._times`, and its joint draws for pairs). Errors are of the time.

`DescribedAnswer` is a number with its truth, `RowPair` a choice between two accelerators. Errors
are |predicted/measured - 1| and every question counts the same.

Model cards state device-hours of whole jobs. The question has the network, the tokens (or epochs
of ImageNet), the accelerator and the count; the answer is Compare's total. A count that the card
does not state is the number of whole servers that finish within `DAYS` at 40 % of the peak.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median
from typing import Final

import numpy as np

from planner.catalog import PRECISIONS, Accelerator, Catalog
from planner.compare import better, compare
from planner.compare.comparison import CompareQuestion, Limits
from planner.compare.evaluation import DECIDED
from planner.core import HOUR_S, Estimate, Refusal, cell
from planner.fits import log_half_widths
from planner.job import (
    PER_NODE,
    Candidate,
    Described,
    Goal,
    Hardware,
    Job,
    TimeSources,
    job_described,
    machines_for,
    timed,
)
from planner.networks import network_or_none
from planner.published import (
    Configuration,
    NamedWorkload,
    PublishedRow,
    accelerators_of,
    configurations,
    half_peak,
    precision_of,
    workload_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedAnswer:
    """A question with its truth and the product's interval; NaN for a refusal.

    `source` is the table, `name` the row or series in words, `why` the reason of a refusal.
    """

    source: str
    name: str
    truth: float
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    why: str = ""

    @property
    def answered(self) -> bool:
        """Whether the product answers."""
        return math.isfinite(self.value)

    @property
    def error(self) -> float:
        """Relative error, |predicted/measured - 1|."""
        return abs(self.value / self.truth - 1.0)

    @property
    def held(self) -> bool:
        """Whether the truth lies inside the interval."""
        return self.low <= self.truth <= self.high

    @property
    def width(self) -> float:
        """Relative width, (high - low)/value."""
        return (self.high - self.low) / self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPair:
    """Which of two accelerators is faster: `decided` by the product, and `right` if so."""

    source: str
    name: str
    answered: bool
    decided: bool = False
    right: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Figures of one task in per cent; None if nothing was answered."""

    questions: int
    answered: int
    median: float | None = None
    mean: float | None = None
    held: float | None = None
    width: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScore:
    """Number of pairs, and how many were answered, decided, and decided correctly."""

    questions: int
    answered: int
    decided: int
    right: int


def answer_of(
    of: tuple[str, str], truth: float, estimate: Estimate | Refusal, *, inverse: bool = False
) -> DescribedAnswer:
    """Return the answer for a source and name; `inverse` turns a speed into a time."""
    source, name = of
    if isinstance(estimate, Refusal):
        return DescribedAnswer(source=source, name=name, truth=truth, why=estimate.reason)
    value, low, high = estimate.ends
    if inverse:
        value, low, high = 1.0 / value, 1.0 / high, 1.0 / low
    return DescribedAnswer(source=source, name=name, truth=truth, value=value, low=low, high=high)


def scored(answers: Sequence[DescribedAnswer]) -> Score:
    """Return the figures of a task; every question counts the same."""
    answered = [answer for answer in answers if answer.answered]
    if not answered:
        return Score(questions=len(answers), answered=0)
    errors = np.array([answer.error for answer in answered])
    return Score(
        questions=len(answers),
        answered=len(answered),
        median=_per_cent(float(np.median(errors))),
        mean=_per_cent(float(errors.mean())),
        held=_per_cent(sum(answer.held for answer in answered) / len(answered)),
        width=_per_cent(float(np.median([answer.width for answer in answered]))),
    )


def pairs_scored(pairs: Sequence[RowPair]) -> PairScore:
    """Return how many pairs were decided, and how many correctly."""
    return PairScore(
        questions=len(pairs),
        answered=sum(pair.answered for pair in pairs),
        decided=sum(pair.decided for pair in pairs),
        right=sum(pair.right for pair in pairs),
    )


def _per_cent(share: float) -> float | None:
    return cell(100.0 * share, 4)


LANGUAGE: Final = frozenset({"dense", "lora", "moe"})
"""Families whose operations Compare computes from parameters and tokens."""
MANY_NODES: Final = 8
EPOCH: Final = 1e9
"""Samples of the epoch: so many that start-up and rounding are negligible."""
ONE_EPOCH: Final = Goal(words="1 epoch", epochs=1)
FASTEST: Final = Limits(order="time")
Kept = Callable[[Configuration], bool]


def of_family(*families: str) -> Kept:
    """Return a filter for configurations of some families."""
    return lambda run: run.family in families


def over_many_nodes(run: Configuration) -> bool:
    """Return whether a dense language model ran on more than 8 nodes."""
    return run.family == "dense" and run.nodes > MANY_NODES


def questions(rows: Sequence[PublishedRow], catalog: Catalog) -> list[Configuration]:
    """Return the published rows as distinct questions with their truth."""
    return configurations(rows, catalog)[0]


def described(runs: Sequence[Configuration], kept: Kept) -> list[DescribedAnswer]:
    """Return the seconds per sample on all devices, each predicted by Compare."""
    return [_described(run) for run in runs if kept(run)]


def _described(run: Configuration) -> DescribedAnswer:
    job = job_of(run)
    if isinstance(job, Refusal):
        return answer_of((run.source, _name(run)), 1.0 / run.samples_per_s, job)
    rate = _rate(job, run)
    return answer_of((run.source, _name(run)), 1.0 / run.samples_per_s, rate, inverse=True)


def _rate(job: Job, run: Configuration) -> Estimate | Refusal:
    """Return samples/s of the whole hardware as estimated by Compare, or its refusal."""
    times = timed(job, ONE_EPOCH, _candidate(run), TimeSources())
    if isinstance(times.total, Refusal):
        return times.total
    return times.rate or Refusal(reason="No speed is estimated.", measure_next="")


def job_of(run: Configuration) -> Job | Refusal:
    """Return the job as a user describes it in Compare."""
    family = "dense" if run.family == "lora" else run.family
    try:
        return job_described(
            Described(
                name=run.model or run.network,
                samples_per_epoch=EPOCH,
                precision=run.precision if run.precision in PRECISIONS else "float8",
                params=run.params,
                active_params=run.active_params,
                layers_width=run.layers_width,
                tokens_per_sample=run.sequence,
                flops_per_sample=None if _counted(run) else run.train_flops_per_sample,
                network=run.network,
                image_px=run.image_px,
                family=family,
                training="lora" if run.family == "lora" else "full",
                recompute=bool(run.recomputes),
                benchmark=run.benchmark,
                batch=run.global_batch,
            )
        )
    except ValueError as problem:
        return Refusal(reason=str(problem), measure_next="")


def _counted(run: Configuration) -> bool:
    return run.family in LANGUAGE and None not in (run.params, run.sequence)


def _candidate(run: Configuration) -> Candidate:
    hardware = Hardware(
        label=f"{run.devices} x {run.accelerator.name}",
        accelerator=run.accelerator,
        count=run.devices,
        nodes=run.nodes,
    )
    return Candidate(id=f"{run.accelerator.id}-{run.devices}", way="own", hardware=hardware)


def _name(run: Configuration) -> str:
    length = f", {run.sequence:g} tokens" if run.sequence else ""
    return f"{run.model or run.network}{length}, {run.precision}, {run.devices} x " + (
        run.accelerator.name
    )


# -- pairs -------------------------------------------------------------------------------------


def pairs(runs: Sequence[Configuration]) -> list[RowPair]:
    """Return every pair of accelerators that one source timed with one workload and count.

    Batch and precision may differ, as they do in practice. Of several runs on an accelerator the
    fastest counts.
    """
    groups: dict[tuple[object, ...], dict[str, Configuration]] = defaultdict(dict)
    for run in runs:
        size = round(math.log(run.active_params or run.train_flops_per_sample), 1)
        key = run.source, run.family, run.network, size, run.sequence, run.image_px, run.devices
        fastest = groups[key].get(run.accelerator.id)
        if fastest is None or run.samples_per_s > fastest.samples_per_s:
            groups[key][run.accelerator.id] = run
    return [pair for alike in groups.values() for pair in _of_group(list(alike.values()))]


def _of_group(alike: Sequence[Configuration]) -> Iterator[RowPair]:
    for first, second in combinations(alike, 2):
        if first.samples_per_s != second.samples_per_s:
            yield _pair(first, second)


def _pair(first: Configuration, second: Configuration) -> RowPair:
    """Return whether Compare ranks one before the other, and whether that is correct."""
    name = f"{_name(first)} or {second.precision}, {second.accelerator.name}"
    job = job_of(first)
    other = job_of(second)
    if isinstance(job, Refusal) or isinstance(other, Refusal):
        return RowPair(source=first.source, name=name, answered=False)
    rows = [
        compare(CompareQuestion(job=of, goal=ONE_EPOCH, limits=FASTEST), [_candidate(run)]).rows[0]
        for of, run in ((job, first), (other, second))
    ]
    if any(isinstance(row.time, Refusal) for row in rows):
        return RowPair(source=first.source, name=name, answered=False)
    probability = better(rows[0], rows[1], FASTEST)
    decided = max(probability, 1.0 - probability) >= DECIDED
    right = (probability > 0.5) is (first.samples_per_s > second.samples_per_s)
    return RowPair(
        source=first.source, name=name, answered=True, decided=decided, right=decided and right
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedJob:
    """A published whole job and our estimate, both in device-hours.

    `low` and `high` bound the 90 % interval; without an estimate `value` is None and `why` is the
    reason. `place` is the repository and file of the published figure.
    """

    name: str
    place: str
    accelerator: str
    devices: int
    published_device_hours: float
    value: float | None
    low: float | None
    high: float | None
    why: str = ""

    @property
    def inside(self) -> bool:
        """Whether the published figure lies inside the interval."""
        if self.low is None or self.high is None:
            return False
        return self.low <= self.published_device_hours <= self.high


IMAGENET: Final = 1_281_167.0
"""Training images of ILSVRC 2012."""
OPERATIONS: Final = 6.0
"""Training operations for a multiply-add of the forward pass."""
DAYS: Final = 45.0
USUAL_SHARE: Final = 0.4
USUAL_LENGTHS: Final = (("2023-07", 4096), ("", 2048))
"""Tokens of a sequence if a card states none, by the month from which they are usual."""
TOKENS_SEEN: Final = {
    "bloom 176b": 366e9,
    "deepseek-v3": 14.8e12,
    "gpt-2 124m on openwebtext": 295e9,
}
"""Tokens of jobs whose card states them elsewhere: Le Scao et al. 2022 (arXiv 2211.05100),
DeepSeek-AI 2024 (arXiv 2412.19437), nanoGPT's train_gpt2 (600,000 steps of 491,520 tokens).
"""
SAMPLES_SEEN: Final = {
    "stable diffusion v1": 2048 * (237e3 / 4 + 194e3 + 515e3 + 195e3),
    "barlow twins resnet-50": 2 * 1000 * IMAGENET,
    "openclip vit": 32 * 400e6,
}
"""Images of jobs that state no epochs of a named data set.

Stable Diffusion: CompVis/stable-diffusion, Stable_Diffusion_v1_Model_Card.md, steps of 2,048 images
of v1-1 to v1-3; the card stated its 150,000 hours before v1-4 was added. The first 237,000 steps
have 256 px, a fourth of the pixels. Barlow Twins: 1,000 epochs of ImageNet, two views of each image
(arXiv 2103.03230). OpenCLIP on LAION-400M: 32 epochs, as the names of its weights state (release
v0.2-weights); mlfoundations/open_clip, docs/PRETRAINED.md, calls 12 billion samples a match.
"""
_SIZES: Final = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
_TOKENS: Final = (
    re.compile(r"(\d+(?:\.\d+)?)\s?([kmbt])\+? tokens", re.IGNORECASE),
    re.compile(r"tokens:? ?[~≈]?(\d+(?:\.\d+)?)\s?([kmbt])\b", re.IGNORECASE),
)
_EPOCHS: Final = re.compile(r"(\d+) epochs")
_SCHEDULE: Final = re.compile(r"\s*\b\d+ epochs\b.*|^barlow twins\s+|\s+LAION-400M$", re.IGNORECASE)
"""Parts of a name that state the job, not the network: "40 epochs ImageNet"."""
_PIXELS: Final = re.compile(r"(\d+)-(\d+) progressive")
_PART: Final = re.compile(
    r"\[(?:stage|rlhf|sft)|stage hours|all \d+ models|progressive|distill|vision \d+b",
    re.IGNORECASE,
)
"""Words of rows that are part of a job, several jobs, or change their samples during the job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeJob:
    """A published job as a question: all its `samples`, its hardware, and its `device_hours`."""

    source: str
    name: str
    language: bool
    workload: NamedWorkload
    samples: float
    accelerator: Accelerator
    devices: int
    precision: str
    batch: float | None
    device_hours: float
    recomputes: bool = False
    place: str = ""


def whole_jobs(rows: Sequence[PublishedRow], catalog: Catalog) -> list[WholeJob]:
    """Return the jobs that state tokens or epochs, accelerator and device-hours.

    Repeats of a job are one with their median device-hours.
    """
    pairs = zip(rows, accelerators_of(rows, catalog), strict=True)
    alike: dict[tuple[object, ...], list[WholeJob]] = defaultdict(list)
    for row, accelerator in pairs:
        if (job := _job(row, accelerator)) is not None:
            key = (job.source, job.place, job.name, job.accelerator.id, job.devices)
            alike[*key, job.samples, job.precision, job.batch].append(job)
    return [
        replace(jobs[0], device_hours=median(job.device_hours for job in jobs))
        for jobs in alike.values()
    ]


def device_hours(jobs: Sequence[WholeJob]) -> list[DescribedAnswer]:
    """Return the device-hours of each job, predicted by Compare."""
    return [answer_of((job.source, job.name), job.device_hours, _estimate(job)) for job in jobs]


def published_jobs(jobs: Sequence[WholeJob]) -> list[PublishedJob]:
    """Return each job with our estimate, language models first, by device-hours."""
    ordered = sorted(jobs, key=lambda job: (not job.language, -job.device_hours))
    return [_with_estimate(job, _estimate(job)) for job in ordered]


def _with_estimate(job: WholeJob, answer: Estimate | Refusal) -> PublishedJob:
    value, low, high = None, None, None
    if isinstance(answer, Estimate):
        value, low, high = answer.ends
    return PublishedJob(
        name=job.name,
        place=job.place,
        accelerator=job.accelerator.name,
        devices=job.devices,
        published_device_hours=job.device_hours,
        value=value,
        low=low,
        high=high,
        why=answer.reason if isinstance(answer, Refusal) else "",
    )


def _job(row: PublishedRow, accelerator: Accelerator | None) -> WholeJob | None:
    hours, words = _device_hours(row), f"{row.model or ''}; {row.note or ''}"
    if accelerator is None or hours is None or row.throughput_value or _PART.search(words):
        return None
    usual = next(length for month, length in USUAL_LENGTHS if (row.published or "") >= month)
    network = _SCHEDULE.sub("", row.model or "") or row.model
    px = row.image_px or _mean_px(row)
    workload = workload_of(replace(row, model=network, seq_len=row.seq_len or usual, image_px=px))
    if isinstance(workload, str):
        workload = _listed(network or "") or workload
    if isinstance(workload, str):
        return None
    language, samples = workload.family in LANGUAGE, _samples(words, workload)
    if not samples:
        return None
    return WholeJob(
        source=row.source_id or row.file,
        name=row.model or "",
        language=language,
        workload=workload,
        samples=samples,
        accelerator=accelerator,
        devices=row.n_accelerators or _usual_count(workload, samples, accelerator),
        precision=precision_of(row, accelerator, workload)[0],
        batch=float(row.global_batch) if row.global_batch else None,
        device_hours=hours,
        recomputes=bool(row.recomputes),
        place=" ".join(filter(None, (row.repo_or_page, row.path))),
    )


def _listed(name: str) -> NamedWorkload | None:
    """Return an image network of the table of named networks; None without counted operations."""
    network = network_or_none(name)
    if network is None or network.multiply_adds is None:
        return None
    return NamedWorkload(
        family=network.family,
        network=network.id,
        train_flops_per_sample=OPERATIONS * network.multiply_adds,
        params=network.params,
        image_px=network.image_px,
    )


def _device_hours(row: PublishedRow) -> float | None:
    if row.device_hours:
        return row.device_hours
    if row.time_to_train_h and row.n_accelerators:
        return row.time_to_train_h * row.n_accelerators
    return None


def _samples(words: str, workload: NamedWorkload) -> float | None:
    """Return the sequences or images of the whole run; None if not stated."""
    if workload.family in LANGUAGE:
        tokens = _tokens(words)
        return tokens / workload.sequence if tokens and workload.sequence else None
    plain = words.casefold()
    seen = next((images for name, images in SAMPLES_SEEN.items() if plain.startswith(name)), None)
    epochs = _EPOCHS.search(words)
    epoch = IMAGENET if "imagenet" in plain else workload.samples_per_epoch
    return seen or (float(epochs[1]) * epoch if epochs and epoch else None)


def _mean_px(row: PublishedRow) -> int | None:
    """Return the size whose pixels are the mean of a linear growth; None if none is stated."""
    match = _PIXELS.fullmatch(dict(row.odd).get("image_px", ""))
    if match is None:
        return None
    first, last = float(match[1]), float(match[2])
    return round(math.sqrt((first**2 + first * last + last**2) / 3.0))


def _tokens(words: str) -> float | None:
    """Return the tokens that a row states, or those of a listed job."""
    match = next((m for p in _TOKENS if (m := p.search(words))), None)
    if match:
        return float(match[1]) * _SIZES[match[2].lower()]
    plain = words.casefold()
    return next((tokens for name, tokens in TOKENS_SEEN.items() if plain.startswith(name)), None)


def _usual_count(workload: NamedWorkload, samples: float, accelerator: Accelerator) -> int:
    """Return whole servers, a power of two, that finish within `DAYS` at 40 % of the peak."""
    peak = half_peak(accelerator) or math.inf
    seconds = samples * workload.train_flops_per_sample / (USUAL_SHARE * peak)
    servers = seconds / (DAYS * 24.0 * HOUR_S * PER_NODE)
    return int(PER_NODE * 2 ** math.ceil(math.log2(max(servers, 1.0))))


def _estimate(job: WholeJob) -> Estimate | Refusal:
    """Return the device-hours as estimated by Compare."""
    of, lora = job.workload, job.workload.family == "lora"
    counted = job.language and None not in (of.params, of.sequence)
    try:
        question = job_described(
            Described(
                name=job.name,
                samples_per_epoch=job.samples,
                precision=job.precision,
                params=of.params,
                active_params=of.active_params,
                layers_width=of.layers_width,
                tokens_per_sample=of.sequence,
                flops_per_sample=None if counted else of.train_flops_per_sample,
                network=of.network,
                image_px=of.image_px,
                family="dense" if lora else of.family,
                training="lora" if lora else "full",
                batch=job.batch,
                recompute=job.recomputes,
            )
        )
    except ValueError as problem:
        return Refusal(reason=str(problem), measure_next="")
    hardware = Hardware(
        label=f"{job.devices} x {job.accelerator.name}",
        accelerator=job.accelerator,
        count=job.devices,
        nodes=machines_for(job.accelerator, job.devices),
    )
    candidate = Candidate(id="job", way="own", hardware=hardware)
    total = timed(question, ONE_EPOCH, candidate, TimeSources()).total
    if isinstance(total, Refusal):
        return total
    value = float(total.value) * job.devices / HOUR_S
    low, high = log_half_widths(total)
    return Estimate(value=value, low=value * math.exp(-low), high=value * math.exp(high))
