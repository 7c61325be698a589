"""docs/accuracy-what-if.md and its figures: how wrong the what-if models of Scaling out are.

`python -m planner backtest --what-if` writes both. The page Scaling out shows the figures.

The advice of splits is checked on published splits over tensor, pipeline and data:

    fits       published splits that ran and that our memory model lets run
    memory     predicted over stated memory of a device, where a row states it
    error      |predicted/published - 1| of the time of a step under the published split
    advised    our split at the same count: its predicted speed over the best published one

Rows of dense decoders that state both cuts, or one with the copies, and the batch. Context and
expert parallelism, and sharded states (FSDP), are other splits and left out. A row that names an
accelerator of several memory sizes without its size says nothing of memory. The efficiency of the
products is the median over the rows of the other sources.
"""

import functools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from backtest.questions.figure import rounded
from backtest.questions.what_if import KINDS, LIMITS, Check, LimitCheck
from planner.catalog import Catalog
from planner.core import Record, Text, percent, plain, shipped_rows, shipped_text
from planner.job import Job
from planner.networks import layers_width_of
from planner.published import Configuration, PublishedRow, configurations
from planner.splits import SPLIT_EFFICIENCY, Cut, Split, advice, cut_of, splits

_OTHER: Final = re.compile(r"fsdp|hsdp|zero-?[23]|\bcp ?=? ?[2-9]|\bep ?=? ?[2-9]", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCase:
    """A published split: its run and job, our prediction for it, and whether memory is stated."""

    row: PublishedRow
    run: Configuration
    job: Job
    split: Split
    memory_stated: bool

    @property
    def ratio(self) -> float:
        """Published over predicted speed."""
        return self.run.samples_per_s / self.split.samples_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised:
    """Our advice for a model, accelerator, count and batch, beside its best published split.

    `relative` is the predicted speed over the best published one, `shards` the devices that hold a
    copy of the network. `split` has the memory of a device.
    """

    name: str
    published: str
    advised: str
    shards: int
    published_shards: int
    relative: float
    split: Split


def split_cases(
    rows: Sequence[PublishedRow], catalog: Catalog
) -> tuple[list[SplitCase], Counter[str]]:
    """Return the published splits with predictions, and how many rows are left out and why."""
    cases: list[SplitCase] = []
    left_out: Counter[str] = Counter()
    sizes = Counter(
        family for family, _ in {(_family(a.name), a.memory_bytes) for a in catalog.accelerators}
    )
    for row in rows:
        layout = row.parallelism or ""
        if _number("tp", layout) is None and _number("pp", layout) is None:
            continue
        case = _case(row, catalog, sizes)
        if isinstance(case, str):
            left_out[case] += 1
        else:
            cases.append(case)
    return cases, left_out


def _case(row: PublishedRow, catalog: Catalog, sizes: Counter[str]) -> SplitCase | str:
    runs, _ = configurations([row], catalog)
    reason = _unusable(row, runs)
    if reason:
        return reason
    run = runs[0]
    cut = _cut(row, run)
    if cut is None or run.global_batch is None:
        return "no batch, or cuts that do not divide the count"
    job = _job(run)
    split = cut_of(job, run.accelerator, cut, batch=run.global_batch,
                   micro_batch=run.micro_batch or 1.0)  # fmt: skip
    if not isinstance(split, Split):
        return "unknown memory or peak of the accelerator"
    stated = bool(row.accelerator_memory_gb) or sizes[_family(row.accelerator or "")] < 2
    return SplitCase(row=row, run=run, job=job, split=split, memory_stated=stated)


def _unusable(row: PublishedRow, runs: Sequence[Configuration]) -> str:
    """Return why a row is no case, "" where it is one."""
    if _OTHER.search(row.parallelism or ""):
        return "context, expert or sharded parallelism"
    if not runs:
        return "no speed, count or known accelerator"
    return (
        ""
        if runs[0].family == "dense"
        else Text("not a dense decoder ({family})", family=runs[0].family)
    )


def _cut(row: PublishedRow, run: Configuration) -> Cut | None:
    """Return the stated cut; tensor from the count where only stages and copies are stated."""
    layout = row.parallelism or ""
    tensor, pipeline = _number("tp", layout), _number("pp", layout) or 1
    copies = _number("dp", layout)
    if tensor is None:
        tensor = run.devices // (pipeline * copies) if copies else 1
    if not tensor or run.devices % (tensor * pipeline):
        return None
    return Cut(tensor=tensor, pipeline=pipeline, data=run.devices // (tensor * pipeline))


def _job(run: Configuration) -> Job:
    params = run.params or 0.0
    return Job(
        workload=run.model,
        precision=run.precision,
        samples_per_epoch=None,
        params=run.params,
        train_flops_per_sample=run.train_flops_per_sample,
        tokens_per_sample=run.sequence,
        family="dense",
        active_params=run.active_params or run.params,
        layers_width=layers_width_of(params) if params else None,
        optimizer="AdamW",
        recompute=bool(run.recomputes),
    )


def efficiency_without(cases: Sequence[SplitCase], source: str) -> float:
    """Return the efficiency that the rows of other sources have in the median."""
    others = [c.ratio for c in cases if c.run.source != source] or [1.0]
    return SPLIT_EFFICIENCY * float(np.median(others))


def errors_of(cases: Sequence[SplitCase]) -> list[float]:
    """Return |predicted/published - 1| of the step of each row, its own source left out."""
    errors = []
    for case in cases:
        split = _again(case, case.split.cut, efficiency_without(cases, case.run.source))
        errors.append(abs(case.run.samples_per_s / split.samples_per_s - 1.0))
    return errors


def _again(case: SplitCase, cut: Cut, efficiency: float) -> Split:
    split = cut_of(case.job, case.run.accelerator, cut, batch=case.run.global_batch or 1.0,
                   micro_batch=case.run.micro_batch or 1.0, efficiency=efficiency)  # fmt: skip
    if not isinstance(split, Split):
        raise ValueError(f"{case.row.place}: {split.reason}")  # noqa: TRY004 - not a type
    return split


def advised(cases: Sequence[SplitCase]) -> tuple[list[Advised], int]:
    """Return our advice for each model, accelerator and count, and how many have none that fits."""
    groups: dict[tuple[object, ...], list[SplitCase]] = defaultdict(list)
    for case in cases:
        if case.memory_stated:
            run = case.run
            groups[run.model, run.accelerator.id, run.precision, run.devices].append(case)
    advices, none = [], 0
    for group in groups.values():
        best = max(group, key=lambda c: c.run.samples_per_s)
        run = best.run
        options = splits(best.job, run.accelerator, run.devices, batch=run.global_batch or 1.0,
                         micro_batch=run.micro_batch or 1.0)  # fmt: skip
        chosen = advice(options)
        if chosen is None:
            none += 1
            continue
        split = _again(best, chosen.cut, efficiency_without(cases, run.source))
        advices.append(
            Advised(
                name=f"{run.model}, {run.devices} x {run.accelerator.name}, {run.precision}",
                published=best.split.cut.words,
                advised=chosen.cut.words,
                shards=chosen.cut.shards,
                published_shards=best.split.cut.shards,
                relative=split.samples_per_s / run.samples_per_s,
                split=split,
            )
        )
    return advices, none


def _number(name: str, layout: str) -> int | None:
    match = re.search(rf"(?<![a-z]){name}[ =]?(\d+)", layout, re.IGNORECASE)
    return int(match[1]) if match else None


def _family(name: str) -> str:
    """Return the first word of a name with its letters and digits: v100, a100."""
    return re.sub(r"[^a-z0-9 ]", "", name.casefold()).split(" ")[0] if name else ""


ROOT: Final = Path(__file__).resolve().parents[2]
NAME: Final = "accuracy-what-if"
"""Name of the page in docs/ and of its figures in data/."""
MARGIN: Final = 0.8
"""Share of the memory that a cut with a margin needs at most."""
MOST_SPLITS: Final = 12
"""Models whose advice is listed."""
_STEPS: Final = "published cuts: steps"
_FITS: Final = "published cuts: memory"
MODELS: Final = tuple(shipped_rows(__package__, "models.csv"))
"""Name, formula and source of each model, and the check that has its error."""
_HEAD: Final = """# What-if models of Scaling out: how wrong are they?

Made by `python -m planner backtest --what-if` from the shipped results and published tables. The
formulas and sources are in `planner/scaling/_uneven.py`, `planner/scaling/crossover.py`,
`planner/scaling_out/_answer.py` and `planner/splits/_splits.py`.
"""
_NOTES: Final = "\n" + shipped_text(__package__, "what_if.txt")


def scores(checks: Sequence[Check]) -> dict[str, dict[str, float | int | None]]:
    """Return cases and errors by kind, errors of differences as shares of the whole too."""
    by_check: dict[str, dict[str, float | int | None]] = {}
    for kind in KINDS:
        of = [c for c in checks if c.kind == kind]
        errors = [c.error for c in of if c.error is not None]
        judged = [c.right for c in of if c.right is not None]
        shares = [c.share for c in of if c.share is not None]
        if of:
            by_check[kind] = {
                "cases": len(of),
                "median": float(np.median(errors)) if errors else None,
                "largest": max(errors) if errors else None,
                "right": sum(judged) if judged else None,
                "median_share": float(np.median(shares)) if shares else None,
                "largest_share": max(shares) if shares else None,
            }
    return by_check


def limit_scores(checks: Sequence[LimitCheck]) -> dict[str, list[dict[str, float | int]]]:
    """Return by kind of limit, for each multiple, how often a count was advised, kept and best."""
    return {
        kind: [_limit_score(limit, [c for c in checks if (c.kind, c.limit) == (kind, limit)])
               for limit in LIMITS]
        for kind in dict.fromkeys(c.kind for c in checks)
    }  # fmt: skip


def _limit_score(limit: float, of: Sequence[LimitCheck]) -> dict[str, float | int]:
    return {
        "limit": limit,
        "asked": len(of),
        "advised": sum(c.advised is not None for c in of),
        "kept": sum(bool(c.kept) for c in of),
        "best": sum(c.advised == c.best for c in of),
    }


def limit_words(kind: str, scores: Sequence[Mapping[str, float | int]]) -> str:
    """Return how often the advice for a kind of limit was right, in one sentence."""
    cases, advised, kept, best = (
        sum(int(s[n]) for s in scores) for n in ("asked", "advised", "kept", "best")
    )
    if kind == "deadline":
        return Text(
            "Deadlines: {advised} of {cases} have an advised count. {kept} of these are kept, and "
            "{best} have the fewest devices possible.",
            cases=cases,
            advised=advised,
            kept=kept,
            best=best,
        )
    return Text(
        "Budgets: {advised} of {cases} have an advised count. {kept} of these are kept, and "
        "{best} have the fastest count possible.",
        cases=cases,
        advised=advised,
        kept=kept,
        best=best,
    )


def model_rows() -> list[Record]:
    """Return every what-if model with formula, source and the shipped errors of its check."""
    return [
        {"Model": m["model"], "Formula": m["formula"], "Source": m["source"], **_shown(m["check"])}
        for m in MODELS
    ]


def _shown(check: str) -> Record:
    """Return cases and errors of a check for a table; in words where it is no check of runs."""
    figures, splits = shipped_what_if()["scores"].get(check), shipped_what_if()["splits"]
    limits = shipped_what_if()["limits"].get(check)
    if figures is not None:
        reached = Text("interval reaches {count}", count=figures["right"])
        return {
            "Cases": figures["cases"],
            "Median error": reached if figures["median"] is None else percent(figures["median"], 1),
            "Largest error": None if figures["largest"] is None else percent(figures["largest"], 1),
        }
    if limits is not None:
        cases, advised, kept = (sum(s[n] for s in limits) for n in ("asked", "advised", "kept"))
        share = Text("{kept} of {advised} advised are kept", kept=kept, advised=advised)
        shown = {"Cases": cases, "Median error": share}
    elif check == _STEPS:
        shown = {"Cases": splits["rows"], "Median error": percent(splits["median_error"], 1)}
    elif check == _FITS:
        fitting, ran = splits["rows_that_fit"], splits["rows_with_memory"]
        fit = Text("{fitting} of {ran} that ran fit", fitting=fitting, ran=ran)
        shown = {"Cases": ran, "Median error": fit}
    else:
        shown = {"Cases": None, "Median error": check}
    return {**shown, "Largest error": None}


def split_scores(
    cases: Sequence[SplitCase], errors: Sequence[float], advised: Sequence[Advised], none: int
) -> dict[str, float | int]:
    """Return the figures of published splits and of our advice."""
    with_memory = [c for c in cases if c.memory_stated]
    relative = np.array([a.relative for a in advised] or [np.nan])
    low, high = np.percentile(relative, [10, 90])
    memory = np.array(
        [c.split.need_bytes / (1e9 * c.row.memory_gb) for c in cases if c.row.memory_gb] or [np.nan]
    )
    least, most = np.percentile(memory, [10, 90])
    return {
        "rows": len(cases),
        "rows_with_memory": len(with_memory),
        "rows_that_fit": sum(c.split.fits for c in with_memory),
        "median_error": float(np.median(errors)),
        "mean_error": float(np.mean(errors)),
        "advised": len(advised),
        "without_advice": none,
        "fewer_shards": sum(a.shards < a.published_shards for a in advised),
        "same_shards": sum(a.shards == a.published_shards for a in advised),
        "more_shards": sum(a.shards > a.published_shards for a in advised),
        "relative_median": float(np.median(relative)),
        "relative_p10": float(low),
        "relative_p90": float(high),
        "rows_with_stated_memory": sum(bool(c.row.memory_gb) for c in cases),
        "memory_median": float(np.median(memory)),
        "memory_p10": float(least),
        "memory_p90": float(most),
        "advised_with_margin": sum(
            a.split.need_bytes <= MARGIN * a.split.have_bytes for a in advised
        ),
        "advised_at_twice": sum(
            a.split.need_bytes + a.split.activation_bytes <= a.split.have_bytes for a in advised
        ),
    }


def page(
    checks: Sequence[Check],
    limits: Sequence[LimitCheck],
    splits: Mapping[str, float | int],
    advised: Sequence[Advised],
    left_out: Counter[str],
) -> str:
    """Return the text of docs/accuracy-what-if.md."""
    body = [*_checks(checks), _NOTES, *_limits(limits), *_splits(splits)]
    return "\n".join([_HEAD, *body, *_advice(advised, left_out), ""])


def figures(
    checks: Sequence[Check], limits: Sequence[LimitCheck], splits: Mapping[str, float | int]
) -> str:
    """Return the figures as JSON, with six significant digits: later ones depend on the machine."""
    body = {"checks": [asdict(c) for c in checks], "scores": scores(checks),
            "limits": limit_scores(limits), "splits": dict(splits)}  # fmt: skip
    short = json.loads(json.dumps(body), parse_float=lambda digits: rounded(float(digits)))
    return f"{json.dumps(short, indent=1, allow_nan=False)}\n"


@functools.cache
def shipped_what_if() -> dict[str, Any]:
    """Return the shipped figures."""
    text = (ROOT / "data" / f"{NAME}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def _checks(checks: Sequence[Check]) -> list[str]:
    lines = ["## Runs on two cores", "",
             "| model | cases | median error | largest error | interval reaches the runs |",
             "|---|---|---|---|---|"]  # fmt: skip
    for kind, score in scores(checks).items():
        right = "" if score["right"] is None else f"{score['right']} of {score['cases']}"
        lines.append(f"| {kind} | {score['cases']} | {_percent(score['median'])} | "
                     f"{_percent(score['largest'])} | {right} |")  # fmt: skip
    idle = scores(checks).get("idle devices")
    if idle is not None:
        lines += ["", idle_words(idle), UNSEEN]
    lines += ["", "| model | case | predicted | measured | error |", "|---|---|---|---|---|"]
    return lines + [_line(c) for c in checks]


UNSEEN: Final = (
    "Best counts, idle devices and totals are predicted without any run at their batch, at any "
    "device count."
)


def idle_words(score: Mapping[str, Any]) -> str:
    """Return the error of idle device-hours as a share of all device-hours, in one sentence."""
    return Text(
        "The error of idle device-hours is {median} of all device-hours in the median, "
        "{largest} at most.",
        median=percent(score["median_share"]),
        largest=percent(score["largest_share"]),
    )


def _between(low: float | None, high: float | None) -> str:
    if high is None:
        return Text("above {low:,.0f}", low=low) if low else "any"
    if low:
        return Text("above {low:,.0f}, at most {high:,.0f}", low=low, high=high)
    return Text("any, at most {high:,.0f}", high=high)


def _line(check: Check) -> str:
    if check.measured is None:
        ends = _between(check.low, check.high)
        verdict = "interval reaches it" if check.right else "interval misses it"
        return f"| {check.kind} | {check.case} | {check.predicted:,.0f} | {ends} | {verdict} |"
    unit = f" {check.unit}"
    ends = ""
    if check.low is not None and check.high is not None:
        ends = f" ({plain(check.low, 3)} to {plain(check.high, 3)})"
    return (
        f"| {check.kind} | {check.case} | {plain(check.predicted, 3)}{unit}{ends} | "
        f"{plain(check.measured, 3)}{unit} | {_percent(check.error)} |"
    )


_LIMITS_HEAD: Final = """## Best count for a deadline or a budget

The best count is chosen as on the page, without the runs at its batch, at any device count. Limits
are multiples of the least measured total, or of the least measured cost at one price for every
device. A total is start-up and all epochs; a single process states no start-up.
"""
_LIMITS_NOTES: Final = """
A deadline must be kept by the upper end of a total, where 19 of 20 should be kept. A run of seconds
is mostly start-up, whose interval is wide: few deadlines below 1.5 times the least total have an
advised count. A budget is compared with the cost itself, as the page says.
"""


def _limits(checks: Sequence[LimitCheck]) -> list[str]:
    scores = limit_scores(checks)
    lines = [_LIMITS_HEAD, "| limit | questions | a count advised | kept | best count |",
             "|---|---|---|---|---|"]  # fmt: skip
    for kind, rows in scores.items():
        lines += [f"| {kind}, {s['limit']:g} x the least | {s['asked']} | {s['advised']} | "
                  f"{s['kept']} | {s['best']} |" for s in rows]  # fmt: skip
    lines += ["", *(limit_words(kind, rows) for kind, rows in scores.items())]
    broken = [c for c in checks if c.kept is False]
    named = [
        Text("{kind} of {limit:g} x the least, {case} ({devices} devices)",
             kind=c.kind, limit=c.limit, case=c.case, devices=c.advised)
        for c in broken
    ]  # fmt: skip
    return [*lines, Text("Not kept: {cases}.", cases="; ".join(named) or "none"), _LIMITS_NOTES]


def _splits(splits: Mapping[str, float | int]) -> list[str]:
    return [
        "## Published splits of language models",
        "",
        Text(
            "{rows} published rows of dense decoders state how the model was cut. {with_memory} of "
            "them state the memory of the accelerator: our model lets {fitting} of these fit. All "
            "of them ran.",
            rows=splits["rows"], with_memory=splits["rows_with_memory"],
            fitting=splits["rows_that_fit"],
        ),
        "",
        Text(
            "The predicted step under the published cut is {median} off in the median, {mean} on "
            "average. The efficiency of the products is that of the other sources. So a speed by "
            "this model is rough, and only a ratio of two cuts of one job should be used.",
            median=_percent(splits["median_error"]), mean=_percent(splits["mean_error"]),
        ),
        "",
        Text(
            "Our advice at the same count is the smallest cut that fits. It exists for {advised} "
            "of {cases} models, accelerators and counts; {fewer} have fewer shards than the "
            "fastest published cut, {same} as many, {more} more. Fewer shards were not tried by "
            "anyone there: that they fit is our estimate. The predicted speed of the advice over "
            "the best published one is {median:.2f} in the median (80 %: {low:.2f} to {high:.2f}).",
            advised=splits["advised"], cases=int(splits["advised"] + splits["without_advice"]),
            fewer=splits["fewer_shards"], same=splits["same_shards"], more=splits["more_shards"],
            median=splits["relative_median"], low=splits["relative_p10"],
            high=splits["relative_p90"],
        ),
        "",
        Text(
            "{rows} of the rows state the memory that was used. Our prediction is {median:.2f} of "
            "it in the median (80 %: {low:.2f} to {high:.2f}). So a cut that just fits may not. Of "
            "the advised cuts {with_margin} need at most {margin} of the memory, and {twice} would "
            "fit with twice the activations.",
            rows=splits["rows_with_stated_memory"], median=splits["memory_median"],
            low=splits["memory_p10"], high=splits["memory_p90"],
            with_margin=splits["advised_with_margin"], margin=_percent(MARGIN),
            twice=splits["advised_at_twice"],
        ),
        "",
    ]  # fmt: skip


def _advice(advised: Sequence[Advised], left_out: Counter[str]) -> list[str]:
    lines = ["| model | best published cut | advised cut | predicted over published speed |",
             "|---|---|---|---|"]  # fmt: skip
    step = max(len(advised) // MOST_SPLITS, 1)
    lines += [f"| {a.name} | {a.published} | {a.advised} | {a.relative:.2f} |"
              for a in advised[::step]]  # fmt: skip
    reasons = "; ".join(f"{reason} ({count})" for reason, count in left_out.most_common())
    end = Text(
        "Cuts are tensor x pipeline x data. One model in {step} is listed. Rows left out: "
        "{reasons}.",
        step=step,
        reasons=reasons,
    )
    return [*lines, "", end]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100.0 * float(share):.3g} %"
