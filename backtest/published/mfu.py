"""Fit the efficiency of described workloads on published rows, and predict hidden rows.

`study_of` holds the shipped fits. `hidden` fits again without each source, accelerator or family,
or without random rows, and predicts what was left out: only those figures are evidence. The
calibration of a family's interval and the sds between accelerators come from predictions of hidden
sources.

`chosen_constants` chooses single constants, each also without each source (of MLPerf's trials: each
benchmark; of whole jobs: each repository):

    LINKED_LOSS, LINKED_SD    speeds of 2 to 16 devices of one node over one device, same batch each
    REPEAT_SD                 trials of MLPerf with one accelerator, count, batch and round
    COUNT_SD                  residuals of two counts of one workload, with the source hidden
    WIDER                     coverage after a timed step is about 90 %, with the source hidden
    IMAGE_BYTES, IMAGE_POWER  stated memory of image networks without state and framework
    IMAGE_JOB_SD              smallest sd with which whole image jobs have their coverage

`backtest.published.images` chooses the parts of an image network's step.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import combinations, pairwise
from typing import Final, Literal, NamedTuple

import numpy as np

from backtest.published.described import (
    DescribedAnswer,
    PublishedJob,
    RowPair,
    pairs_scored,
    published_jobs,
    scored,
    whole_jobs,
)
from backtest.published.memory import image_memory
from planner.catalog import Catalog
from planner.core import Floats, Text, shipped_text
from planner.job import Hardware
from planner.job.efficiency import has_links
from planner.mfu import (
    ALONE,
    DOMAIN_OF,
    DOMAINS,
    REPEAT_SD,
    TAILS,
    VERY_LONG,
    WHO,
    WIDER,
    Domain,
    Fit,
    Fitted,
    MfuQuestion,
    chip_of,
    fitted,
    gain_of,
    generation_label,
    log_value,
    most_of,
    predicted,
    sd_left,
    shared_by,
    shared_of,
    traits_of,
)
from planner.published import Configuration, PublishedRow, configurations, half_peak

Way = Literal["source", "accelerator", "family", "random"]
WAYS: Final[Mapping[Way, str]] = {
    "source": "source out",
    "accelerator": "accelerator out",
    "family": "family out",
    "random": "row out",
}
"""What is left out while fitting, as tables name it."""
WHOLE: Final[tuple[Way, ...]] = ("source", "accelerator", "family")
"""Ways that leave out all rows of a source, accelerator or family."""
LEAST_ROWS: Final = 200
"""Smallest number of rows for a fit."""
PARTS: Final = 4
"""Parts of the rows that are left out in turn at random."""
SEED: Final = 1
FAR: Final = 1.6449
"""Standard deviations of a normal 90 % interval."""
PROJECTS: Final = frozenset(
    {
        "bionemo", "jax_toolbox", "llms_from_scratch", "oellm", "paddlenlp", "plsc", "torchao",
        "torchtune", "vectorlm", "xtuner",
    }
)  # fmt: skip
"""Sources of the tables of projects, read last and asked first."""
OF_PROJECTS: Final = frozenset({"cnn", "encoder-decoder", "lora", "vit"})
"""Their families that are fitted: with them, hidden sources have smaller errors."""
BOTH: Final = frozenset({"torchtune", "vectorlm"})
"""Projects that time adapters and all weights: both are fitted, so that slow software does not
count as a loss by adapters."""
NOT_FITTED: Final = frozenset({"mindcv", "mindone", "mxnet"}) | PROJECTS
"""Sources whose rows are scored and not fitted, but for `OF_PROJECTS`: docs/decisions/0032."""
SCALES: Final[Mapping[str, float]] = {
    "cnn": 1.25,
    "detection": 1.4,
    "diffusion": 1.2,
    "encoder-decoder": 1.6,
    "speech": 1.2,
    "vit": 1.2,
}
"""Calibration of a family's sd; 1 if coverage of hidden sources is about 90 % or more. One source
has most vision transformers, one most diffusion, two most convolutional networks: there it is the
mean over sources. Few sources have convolutional networks: their sd is uncertain itself, as with 7
degrees of freedom (1.15 times a normal interval).
"""
Centre = Literal["mean", "median source"]
SHIFTS: Final[Mapping[Domain, tuple[Centre, float]]] = {
    "language": ("mean", 0.5),
    "encoder": ("mean", 0.5),
    "vision": ("median source", 0.5),
    "speech": ("mean", 1.0),
    "recommender": ("mean", 1.0),
}
"""How the effects of the sources become the shift of a prediction, and the weight of a source in it
as power of its row count: 1 if all rows count alike, 0.5 if one source has most rows of a family.
Chosen with sources left out.
"""
FEW_SOURCES: Final[Mapping[Domain, float]] = {"language": 4.0}
"""Sources at which half of a family's shift is used: the centre of few sources is chance. Chosen
with sources left out: it helps language models, and hurts segmentation and diffusion.
"""
TAILS_OF: Final[Mapping[Domain, float]] = {"language": 2.0, "vision": 8.0}
"""Degrees of freedom of residuals that are not `TAILS`. Sweeps over layouts of language models have
far outliers; image networks scatter alike. Chosen with sources left out.
"""


DECIDING: Final[Mapping[Domain, float]] = {
    "language": 0.65,
    "encoder": 0.75,
    "vision": 0.75,
    "speech": 0.8,
    "recommender": 0.65,
}
"""Share of the root mean square error of ratios that decides between two accelerators. Tails are
heavy: at these shares 96 % of the decided pairs of hidden sources are correct.
"""


PRIOR_SDS: Final[Mapping[str, float]] = {
    "devices": 0.005,
    "experts per token": 0.02,
    "size of a mixture": 0.1,
    "fp4": 0.3,
    "fp8 of adapters": 0.2,
    "recomputed": 0.1,
    "benchmark": 0.2,
}
"""Prior sds of coefficients that are not `TERM_SD`: sources that timed single devices differ from
those that timed machines in more than the count. A benchmark is one source of few.
Most rows of mixtures of experts are of one source, whose order of models is that of its own tuning:
theirs stays near `SPARSITY_LOSS`. What recomputation leaves of the counted operations is known.
Frozen weights are cast to float8 once, not at every step.
"""
ONE_SOURCE: Final[frozenset[Domain]] = frozenset({"speech", "recommender"})
"""Domains whose networks have one source each: an effect of the source would be the network's."""
SOURCE_SD: Final = 0.27
"""Sd of a source in those domains: that of the other three fits."""
USUAL_BETWEEN: Final[Mapping[Domain, tuple[float, float, float]]] = {
    "language": (0.2, 0.25, 0.3),
    "encoder": (0.3, 0.4, 0.6),
    "vision": (0.3, 0.45, 0.65),
    "speech": (0.3, 0.45, 0.65),
    "recommender": (0.3, 0.45, 0.65),
}
"""Prior sds of ln(ratio) of two accelerators, worth four pairs: see `between`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """A hidden row with its prediction: true and predicted ln of the efficiency, and its sd."""

    row: Configuration
    truth: float
    value: float
    sd: float

    @property
    def answer(self) -> DescribedAnswer:
        """Time of a unit of work relative to the truth, as the back-test scores it."""
        ratio = math.exp(self.truth - self.value)
        far = math.exp(FAR * self.sd)
        return DescribedAnswer(
            source=self.row.source,
            name=f"{self.row.model}, {self.row.devices} x {self.row.accelerator.name}",
            truth=1.0,
            value=ratio,
            low=ratio / far,
            high=ratio * far,
        )


def question_of(run: Configuration) -> MfuQuestion:
    """Return a published row as a question, without its speed."""
    return MfuQuestion(
        family=run.family,
        accelerator=run.accelerator,
        flops_per_sample=run.train_flops_per_sample,
        precision=run.precision,
        devices=run.devices,
        nodes=run.nodes,
        params=run.params,
        active_params=run.active_params,
        sequence=run.sequence,
        batch=run.global_batch,
        network=run.network,
        recomputes=bool(run.recomputes),
        benchmark=run.benchmark,
        image_px=run.image_px,
        loads=not run.synthetic,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """The shipped fits, and predictions of fits for unseen rows, by way and domain."""

    fits: Mapping[Domain, Fit]
    hidden: Mapping[Way, Mapping[Domain, Sequence[Hidden]]]


def study_of(rows: Sequence[Configuration]) -> Study:
    """Return the fits on all rows, and the predictions of hidden rows."""
    of = {domain: _of(rows, domain) for domain in DOMAINS}
    predictions = left_out(rows, tuple(WAYS))
    fits = {
        domain: replace(fit_on(fitted_rows), between=between(predictions["source"][domain], domain))
        for domain, kept in of.items()
        if (fitted_rows := _to_fit(kept))
    }
    return Study(fits=fits, hidden=predictions)


def left_out(
    rows: Sequence[Configuration], ways: Sequence[Way] = WHOLE
) -> dict[Way, dict[Domain, list[Hidden]]]:
    """Return the predictions of hidden rows by way and domain. Each fit takes seconds."""
    of = {domain: _of(rows, domain) for domain in DOMAINS}
    return {way: {domain: hidden(kept, way) for domain, kept in of.items()} for way in ways}


def fit_on(rows: Sequence[Configuration]) -> Fit:
    """Return the fit on rows of one domain."""
    traits = [traits_of(question_of(run)) for run in rows]
    truth = _truth(rows)
    domain = DOMAIN_OF[rows[0].family]
    who = [_who(run) for run in rows]
    tails = TAILS_OF.get(domain, TAILS)
    raw = fitted(traits, who, truth, prior_sds=PRIOR_SDS, tails=tails)
    one_source = domain in ONE_SOURCE
    bare = _without_sources(raw, frozenset() if one_source else ALONE)
    left = truth - np.array([log_value(bare, trait) for trait in traits])
    families = {run.family for run in rows}
    shifts = {
        family: _shift(
            [(run.source, x) for x, run in zip(left, rows, strict=True) if run.family == family],
            *SHIFTS[domain],
            FEW_SOURCES.get(domain, 0.0),
        )
        for family in sorted(families)
    }
    if one_source:
        bare = replace(bare, sds={**bare.sds, "source": SOURCE_SD})
    return replace(bare, shifts=shifts, scales={f: SCALES.get(f, 1.0) for f in sorted(families)})


def hidden(rows: Sequence[Configuration], way: Way) -> list[Hidden]:
    """Return each row of one domain, predicted by a fit without the rows that `way` leaves out.

    A row has no prediction if no row is left, as for the only family of a domain.
    """
    key = _folds(rows, way)
    predictions: list[Hidden] = []
    on_all: Fit | None = None
    for name in sorted(set(key)):
        rest = _to_fit([run for run, k in zip(rows, key, strict=True) if k != name])
        held_out = [run for run, k in zip(rows, key, strict=True) if k == name]
        if not rest:
            continue
        if _to_fit(held_out):
            predictions += predictions_of(fit_on(rest), held_out)
        else:  # no fit has seen them: one fit answers all of these
            on_all = on_all or fit_on(rest)
            predictions += predictions_of(on_all, held_out)
    return predictions


def predictions_of(fit: Fit, rows: Sequence[Configuration]) -> list[Hidden]:
    """Return the predictions of rows by a fit."""
    predictions = []
    for run, truth in zip(rows, _truth(rows), strict=True):
        question = question_of(run)
        value, parts = predicted(fit, traits_of(question))
        sd = fit.scales.get(run.family, 1.0) * math.sqrt(sum(x**2 for x in parts.values()))
        value += fit.shifts.get(run.family, 0.0)
        if most := most_of(question):
            value = min(value, math.log(most))
        predictions.append(Hidden(row=run, truth=float(truth), value=value, sd=sd))
    return predictions


def between(predictions: Sequence[Hidden], domain: Domain) -> tuple[float, float, float]:
    """Return sds of ln(ratio/predicted ratio): one generation, one maker, different makers.

    Each source and pair of accelerators counts once, with any number of workloads.
    """
    errors: list[dict[tuple[str, ...], list[float]]] = [defaultdict(list) for _ in range(3)]
    for a, b, kind in pairs_of(predictions):
        error = (a.truth - a.value) - (b.truth - b.value)
        cards = (a.row.source, a.row.accelerator.id, b.row.accelerator.id)
        errors[kind][cards].append(error**2)
    sds = []
    for kind, by_pair in enumerate(errors):
        squares = [float(np.mean(e)) for e in by_pair.values()]
        prior = USUAL_BETWEEN[domain][kind]
        sds.append(math.sqrt((sum(squares) + 4.0 * prior**2) / (len(squares) + 4.0)))
    own, generation, maker = (DECIDING[domain] * sd for sd in sds)
    return own, max(generation, own), max(maker, generation, own)


def pairs_of(predictions: Sequence[Hidden]) -> Iterator[tuple[Hidden, Hidden, int]]:
    """Yield pairs of accelerators with one source, workload and count; the fastest row of each.

    The number is 0 for one generation, 1 for one maker, 2 for different makers.
    """
    alike: dict[tuple[object, ...], dict[str, Hidden]] = defaultdict(dict)
    for prediction in predictions:
        row = prediction.row
        size = round(math.log(row.active_params or row.train_flops_per_sample), 1)
        key = row.source, row.family, row.network, size, row.sequence, row.image_px, row.devices
        fastest = alike[key].get(row.accelerator.id)
        if fastest is None or row.samples_per_s > fastest.row.samples_per_s:
            alike[key][row.accelerator.id] = prediction
    for group in alike.values():
        for a, b in combinations(sorted(group.values(), key=lambda h: h.row.accelerator.id), 2):
            first, second = a.row.accelerator, b.row.accelerator
            same = generation_label(first) == generation_label(second)
            yield a, b, 0 if same else 1 if first.maker == second.maker else 2


def after_steps(
    predictions: Sequence[Hidden], fit: Fit, wider: float = WIDER
) -> dict[str, list[tuple[Hidden, Hidden]]]:
    """Return rows before and after a timed step of the same workload and source elsewhere.

    Grouped by the place of the step: the same accelerator at another count, or accelerators of
    `pairs_of`.
    """
    groups = ("same accelerator, other count", "one generation", "one maker")
    steps: dict[str, list[tuple[Hidden, Hidden]]] = {name: [] for name in groups}
    for a, b, kind in pairs_of(predictions):
        if kind + 1 == len(groups):  # of different makers: a step narrows nothing
            continue
        name = groups[kind + 1]
        steps[name] += [(a, _after_step(a, b, fit, wider)), (b, _after_step(b, a, fit, wider))]
    for a, b in counts_of(predictions):
        steps[groups[0]] += [(a, _after_step(a, b, fit, wider)), (b, _after_step(b, a, fit, wider))]
    return {name: of for name, of in steps.items() if of}


def _after_step(prediction: Hidden, timed: Hidden, fit: Fit, wider: float) -> Hidden:
    """Return a hidden row's prediction once another one is measured."""
    alike = shared_by(prediction.row.accelerator, timed.row.accelerator)
    own, there = shared_of(fit, prediction.sd), shared_of(fit, timed.sd)
    doublings = abs(math.log2(prediction.row.devices / timed.row.devices))
    gain, common = gain_of(own, there, alike, doublings)
    value = prediction.value + gain * (timed.truth - timed.value)
    return replace(prediction, value=value, sd=sd_left(prediction.sd, gain, common, wider))


def counts_of(predictions: Sequence[Hidden]) -> Iterator[tuple[Hidden, Hidden]]:
    """Yield pairs of device counts with one source, workload, accelerator and batch per device."""
    alike: dict[tuple[object, ...], dict[int, Hidden]] = defaultdict(dict)
    for prediction in predictions:
        row = prediction.row
        if row.global_batch is None:
            continue
        each = round(math.log2(row.global_batch / row.devices))
        size = round(math.log(row.active_params or row.train_flops_per_sample), 1)
        key = (row.source, row.software, row.family, row.network, size, row.sequence, row.image_px,
               row.precision, row.accelerator.id, each)  # fmt: skip
        alike[key].setdefault(row.devices, prediction)
    for group in alike.values():
        yield from combinations(group.values(), 2)


def _of(rows: Sequence[Configuration], domain: Domain) -> list[Configuration]:
    return [run for run in rows if DOMAIN_OF.get(run.family) == domain]


def _to_fit(rows: Sequence[Configuration]) -> list[Configuration]:
    return [
        run
        for run in rows
        if run.source not in NOT_FITTED
        or run.source in BOTH
        or (run.source in PROJECTS and run.family in OF_PROJECTS)
    ]


def _truth(rows: Sequence[Configuration]) -> Floats:
    peaks = [half_peak(run.accelerator) or math.nan for run in rows]
    return np.log([o.achieved_flops_per_s / p for o, p in zip(rows, peaks, strict=True)])


def _who(run: Configuration) -> dict[str, str]:
    groups = {"source": run.software, "source accelerator": f"{run.software}|{run.accelerator.id}"}
    domain = DOMAIN_OF[run.family]
    if domain in ONE_SOURCE:
        return {"source accelerator": groups["source accelerator"]}
    if domain == "language":
        size = round(2.0 * math.log(run.active_params or 1.0))
        return {**groups, "source model": f"{run.software}|{size}"}
    if domain == "encoder":
        return {**groups, "source model": f"{run.software}|{run.network}"}
    return groups


def _shift(
    left: Sequence[tuple[str, float]], centre: Centre, power: float, few: float = 0.0
) -> float:
    """Return the central effect of sources on a family [ln].

    Args:
        left: the source and the residual of each row.
        centre: mean of the sources, or median of the sources' medians.
        power: of a source's row count that is its weight.
        few: number of sources at which half of it is returned.
    """
    of: dict[str, list[float]] = defaultdict(list)
    for source, residual in left:
        of[source].append(residual)
    every = list(of.values())
    trusted = len(every) / (len(every) + few)
    weights = np.array([len(rows) ** power for rows in every])
    if centre == "mean":
        means = np.array([np.mean(rows) for rows in every])
        return trusted * float(weights @ means / (weights.sum() + 1.0))
    return trusted * _weighted_median(np.array([np.median(rows) for rows in every]), weights)


def _weighted_median(values: Floats, weights: Floats) -> float:
    """Return the median, between two values where half of the weight ends between them."""
    order = np.argsort(values)
    middles = np.cumsum(weights[order]) - 0.5 * weights[order]
    return float(np.interp(0.5 * weights.sum(), middles, values[order]))


def _folds(rows: Sequence[Configuration], way: Way) -> list[str]:
    if way == "source":
        return [run.source for run in rows]
    if way == "accelerator":
        return [chip_of(run.accelerator) for run in rows]
    if way == "family":
        return [run.family for run in rows]
    parts = np.random.default_rng(SEED).integers(0, PARTS, len(rows))
    return [str(part) for part in parts]


def _without_sources(raw: Fitted, alone: Collection[str]) -> Fit:
    """Return the fit without the effects of sources; covariances exclude the groups in `alone`."""
    kept = [i for i, (group, _) in enumerate(raw.columns) if group not in WHO]
    joint = [i for i in kept if raw.columns[i][0] not in alone]
    variances = np.diag(raw.covariance)
    return Fit(
        values={raw.columns[i]: float(raw.values[i]) for i in kept},
        columns=tuple(raw.columns[i] for i in joint),
        covariance=raw.covariance[np.ix_(joint, joint)],
        own_variances={raw.columns[i]: float(variances[i]) for i in kept if i not in set(joint)},
        sds=raw.sds,
        rest=raw.rest,
        shifts={},
        scales={},
        between=(0.2, 0.25, 0.3),
    )


INTRODUCTION: Final = shipped_text(__package__, "efficiency.txt")
BETWEEN: Final = ("one generation", "one maker", "different makers")
MANY_NODES: Final = 8
SHOWN: Final = ("generation", "accelerator", "kind", "format", "maker")


def efficiency_page(study: Study, further: Sequence[str] = ()) -> str:
    """Return the page; `further` lines come before the fits."""
    parts = [INTRODUCTION, *_figures(study), "", "## Two accelerators", "", *_between(study)]
    parts += ["", "## A timed step", "", *_steps(study)]
    parts += ["", *further] if further else []
    for domain, fit in study.fits.items():
        parts += [
            "",
            Text("## Fit of {domain}", domain=domain),
            "",
            *_fit(fit, TAILS_OF.get(domain, TAILS)),
        ]
    return "\n".join(parts).rstrip() + "\n"


def _figures(study: Study) -> list[str]:
    lines = ["| family | rows | hidden | median | mean | coverage | width |", "|---" * 7 + "|"]
    return lines + [line for way, name in WAYS.items() for line in _of_way(study, way, name)]


def _of_way(study: Study, way: Way, name: str) -> list[str]:
    every = [prediction for predictions in study.hidden[way].values() for prediction in predictions]
    groups = {family: [o for o in every if o.row.family == family] for family in DOMAIN_OF}
    groups["dense, more than 8 nodes"] = [
        prediction for prediction in groups["dense"] if prediction.row.nodes > MANY_NODES
    ]
    groups[Text("contexts above {tokens:,.0f} tokens", tokens=VERY_LONG)] = [
        prediction for prediction in every if (prediction.row.sequence or 0.0) > VERY_LONG
    ]
    return [
        _line(family, name, predictions) for family, predictions in groups.items() if predictions
    ]


def _line(family: str, name: str, predictions: Sequence[Hidden]) -> str:
    score = scored([prediction.answer for prediction in predictions])
    figures = (score.median, score.mean, score.held, score.width)
    cells = " | ".join("" if x is None else f"{x:.3g} %" for x in figures)
    return f"| {family} | {score.questions} | {name} | {cells} |"


def _between(study: Study) -> list[str]:
    lines = [
        "The sd of ln(ratio of two accelerators over its prediction), used to rank options:",
        "",
        f"| fit | {' | '.join(BETWEEN)} | pairs, source out | decided | correctly |",
        "|---" * 7 + "|",
    ]
    for domain, fit in study.fits.items():
        pairs = pairs_scored(ranked_pairs(study.hidden["source"][domain], fit))
        sds = " | ".join(f"{sd:.2f}" for sd in fit.between)
        lines.append(f"| {domain} | {sds} | {pairs.questions} | {pairs.decided} | {pairs.right} |")
    return lines


def _steps(study: Study) -> list[str]:
    lines = [
        "A step of the same workload was timed by the same source on other hardware; the fit has "
        "seen no row of the source. Each cell is before and after that step.",
        "",
        "| fit | step timed on | rows | median | coverage | width |",
        "|---" * 6 + "|",
    ]
    for domain, fit in study.fits.items():
        for name, rows in after_steps(study.hidden["source"][domain], fit).items():
            before, after = (scored([pair[i].answer for pair in rows]) for i in (0, 1))
            cells = (
                f"{x:.3g} % to {y:.3g} %"
                for x, y in (
                    (before.median, after.median), (before.held, after.held),
                    (before.width, after.width),
                )
            )  # fmt: skip
            lines.append(f"| {domain} | {name} | {len(rows)} | {' | '.join(cells)} |")
    return lines


def ranked_pairs(predictions: Sequence[Hidden], fit: Fit) -> list[RowPair]:
    """Return pairs of accelerators in one source with unequal speeds, ranked by the predictions."""
    pairs = []
    for a, b, kind in pairs_of(predictions):
        predicted, true = _log_speed(a) - _log_speed(b), _true(a) - _true(b)
        if true == 0.0:
            continue
        decided = abs(predicted) > FAR * fit.between[kind]
        right = decided and (predicted > 0.0) is (true > 0.0)
        name = f"{a.row.model}, {a.row.accelerator.name} or {b.row.accelerator.name}"
        pairs.append(
            RowPair(source=a.row.source, name=name, answered=True, decided=decided, right=right)
        )
    return pairs


def _log_speed(prediction: Hidden) -> float:
    peak = half_peak(prediction.row.accelerator) or math.nan
    return prediction.value + math.log(peak / prediction.row.train_flops_per_sample)


def _true(prediction: Hidden) -> float:
    return math.log(prediction.row.samples_per_s)


def _fit(fit: Fit, tails: float) -> list[str]:
    terms = [
        f"{name} {value:+.2f} ± {_sd(fit, name):.2f}"
        for (group, name), value in fit.values.items()
        if not group
    ]
    lines = [f"Coefficients: {_joined(terms)}.", ""]
    sds = [f"{name} {sd:.2f}" for name, sd in fit.sds.items()]
    lines += [
        Text(
            "Sds of effects: {sds}; residual {rest:.2f} (Student t, {tails:g}).",
            sds=_joined(sds),
            rest=fit.rest,
            tails=tails,
        ),
        "",
    ]
    shifts = [f"{name} {shift:+.2f}" for name, shift in fit.shifts.items()]
    lines += [f"Shifts: {_joined(shifts)}.", ""]
    for group in SHOWN:
        effects = [
            f"{label} {value:+.2f}" for (of, label), value in fit.values.items() if of == group
        ]
        lines += [Text("Effects of {group}: {effects}.", group=group, effects=_joined(effects)), ""]
    return lines[:-1]


def _sd(fit: Fit, name: str) -> float:
    at = fit.columns.index(("", name))
    return float(np.sqrt(fit.covariance[at, at]))


def _joined(parts: Iterable[str]) -> str:
    return ", ".join(parts)


LARGEST_NODE: Final = 16
NOMINAL: Final = 0.9
IMAGE_COVERAGE: Final = 0.85
"""Target of the coverage of whole image jobs."""
GRID: Final = 0.05
IMAGE_JOBS: Final = "job._times.IMAGE_JOB_SD"


class MfuPoint(NamedTuple):
    """A measurement of a constant: its source, and two numbers in its units."""

    source: str
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenConstants:
    """A constant with its shipped value, the choice of all tables, and those without a source."""

    name: str
    ships: float
    chosen: float
    without: tuple[float, ...]
    points: int


def chosen_constants(
    rows: Sequence[PublishedRow], catalog: Catalog, usable: Sequence[Configuration], study: Study
) -> list[ChosenConstants]:
    """Return the choice of every constant that the tables have data for."""
    linked = _linked(usable)
    repeats = _repeats(rows, catalog)
    counts = [
        MfuPoint(a.row.source, math.log2(b.row.devices / a.row.devices),
              (a.truth - a.value) - (b.truth - b.value))
        for predictions in study.hidden["source"].values()
        for a, b in counts_of(predictions)
    ]  # fmt: skip
    kept = [MfuPoint(*row) for row in image_memory(rows)]
    jobs = _image_jobs(rows, catalog)
    choices = [
        _chosen("job.efficiency.LINKED_LOSS", linked, _loss),
        _chosen("job.efficiency.LINKED_SD", linked, _loss_sd),
        _chosen("mfu._model.REPEAT_SD", repeats, _repeat_sd),
        _chosen("mfu._model.COUNT_SD", counts, _count_sd),
        _wider(study),
        _chosen("networks._memory.IMAGE_BYTES", kept, _image_bytes),
        _chosen("networks._memory.IMAGE_POWER", kept, _image_power),
        _chosen(IMAGE_JOBS, jobs, _job_sd),
    ]
    return [choice for choice in choices if choice is not None]


def shipped_value(name: str) -> float:
    """Return the value in the code of a constant, named after `planner.`."""
    module, member = name.rsplit(".", maxsplit=1)
    return float(getattr(import_module(f"planner.{module}"), member))


def _chosen(
    name: str, points: Sequence[MfuPoint], choose: Callable[[Sequence[MfuPoint]], float]
) -> ChosenConstants | None:
    if not points:
        return None
    sources = sorted({point.source for point in points})
    parts = [[p for p in points if p.source != source] for source in sources]
    without = tuple(choose(part) for part in parts if part)
    return ChosenConstants(
        name=name,
        ships=shipped_value(name),
        chosen=choose(points),
        without=without,
        points=len(points),
    )


def _linked(usable: Sequence[Configuration]) -> list[MfuPoint]:
    """Return doublings of devices on one linked node, and ln of their efficiency, to one device."""
    alike: dict[tuple[object, ...], dict[int, Configuration]] = defaultdict(dict)
    for run in usable:
        hardware = Hardware(label="", accelerator=run.accelerator, count=run.devices)
        if run.global_batch is None or run.nodes > 1 or not has_links(hardware):
            continue
        each = round(math.log2(run.global_batch / run.devices), 1)
        key = (run.source, run.software, run.network, run.sequence, run.image_px, run.precision,
               run.accelerator.id, each)  # fmt: skip
        alike[key].setdefault(run.devices, run)
    return [
        MfuPoint(
            run.source,
            math.log2(devices),
            math.log(run.samples_per_s / (devices * counts[1].samples_per_s)),
        )
        for counts in alike.values()
        if 1 in counts
        for devices, run in counts.items()
        if 1 < devices <= LARGEST_NODE
    ]


def _loss(points: Sequence[MfuPoint]) -> float:
    return -float(np.median([y / x for _, x, y in points]))


def _loss_sd(points: Sequence[MfuPoint]) -> float:
    loss = _loss(points)
    return _robust_sd([y / x + loss for _, x, y in points])


def _robust_sd(values: Sequence[float]) -> float:
    """Return the sd of a normal distribution with the same 90th percentile of |value|."""
    return float(np.quantile(np.abs(values), NOMINAL)) / FAR


def _repeats(rows: Sequence[PublishedRow], catalog: Catalog) -> list[MfuPoint]:
    """Return, for two trials of one configuration, 2 and the difference of ln of their speeds."""
    alike: dict[tuple[object, ...], list[Configuration]] = defaultdict(list)
    for row in rows:
        if row.time_to_train_h and row.global_batch:
            for run in configurations([row], catalog)[0]:
                key = (run.network, run.accelerator.id, run.devices, run.nodes, run.global_batch,
                       run.published)  # fmt: skip
                alike[key].append(run)
    return [
        MfuPoint(of[0].network, 2.0, math.log(a.samples_per_s / b.samples_per_s))
        for of in alike.values()
        if of[0].source == "mlperf"
        for a, b in pairwise(of)
    ]


def _repeat_sd(points: Sequence[MfuPoint]) -> float:
    return _robust_sd([y / math.sqrt(x) for _, x, y in points])


def _count_sd(points: Sequence[MfuPoint]) -> float:
    return _robust_sd(
        [math.sqrt(max(y**2 - REPEAT_SD**2, 0.0) / abs(x)) for _, x, y in points if x]
    )


def _wider(study: Study) -> ChosenConstants | None:
    """Return the factor with which 90 % of the rows are covered after a timed step."""
    by_factor: dict[float, list[MfuPoint]] = {}
    for factor in np.arange(1.0, 2.0, GRID):
        by_factor[float(factor)] = [
            MfuPoint(after.row.source, float(after.answer.held), 0.0)
            for domain, fit in study.fits.items()
            for pairs in after_steps(study.hidden["source"][domain], fit, float(factor)).values()
            for _, after in pairs
        ]

    def choose(left_out: str) -> float:
        shares = {
            factor: float(np.mean([p.x for p in points if p.source != left_out]))
            for factor, points in by_factor.items()
        }
        return min((abs(share - NOMINAL), round(factor, 2)) for factor, share in shares.items())[1]

    points = by_factor[1.0]
    if not points:
        return None
    sources = sorted({point.source for point in points})
    name = "mfu._model.WIDER"
    without = tuple(choose(source) for source in sources if len(sources) > 1)
    return ChosenConstants(
        name=name, ships=shipped_value(name), chosen=choose(""), without=without, points=len(points)
    )


def _image_line(points: Sequence[MfuPoint]) -> tuple[float, float]:
    """Return ln of the bytes at 1e9 multiply-adds and the exponent, by least squares."""
    logs = np.array([(math.log(x / 1e9), math.log(y)) for _, x, y in points])
    slope, at_one = np.polyfit(logs[:, 0], logs[:, 1], 1)
    return float(at_one), float(slope)


def _image_bytes(points: Sequence[MfuPoint]) -> float:
    return math.exp(_image_line(points)[0])


def _image_power(points: Sequence[MfuPoint]) -> float:
    return _image_line(points)[1]


def _image_jobs(rows: Sequence[PublishedRow], catalog: Catalog) -> list[MfuPoint]:
    """Return ln(estimate/published) of whole image jobs, and the sd without `IMAGE_JOB_SD`."""
    jobs = [job for job in whole_jobs(rows, catalog) if not job.language]
    return [point for job in published_jobs(jobs) if (point := _image_job(job)) is not None]


def _image_job(job: PublishedJob) -> MfuPoint | None:
    if job.value is None or job.low is None or job.high is None:
        return None
    variance = (math.log(job.high / job.low) / (2.0 * FAR)) ** 2 - shipped_value(IMAGE_JOBS) ** 2
    repository = job.place.split(" ", maxsplit=1)[0]
    return MfuPoint(
        repository, math.log(job.value / job.published_device_hours), math.sqrt(max(variance, 0.0))
    )


def _job_sd(points: Sequence[MfuPoint]) -> float:
    return next(
        sd
        for sd in (round(step * GRID, 2) for step in range(100))
        if np.mean([abs(x) <= FAR * math.hypot(y, sd) for _, x, y in points]) >= IMAGE_COVERAGE
    )


def chosen_lines(constants: Sequence[ChosenConstants]) -> list[str]:
    """Return the section of docs/efficiency.md about these constants."""
    return [
        "## Constants and what the tables would choose",
        "",
        "Each constant is chosen by all tables, and again without each source. The range is that",
        "of the choices without a source. Rules are in `backtest/published/mfu.py`.",
        "",
        "| constant | ships | all tables choose | without one source | measurements |",
        "|---" * 5 + "|",
        *(
            f"| `planner{'/' if '/' in c.name else '.'}{c.name}` | {c.ships:.3g} | "
            f"{c.chosen:.3g} | {_range(c.without)} | {c.points:,} |"
            for c in constants
        ),
    ]


def _range(values: Sequence[float]) -> str:
    if not values:
        return ""
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"
