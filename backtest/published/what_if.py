"""docs/accuracy-what-if.md and its figures: how wrong the what-if models of Scaling out are.

`python -m planner backtest --what-if` writes both. The page Scaling out shows the figures.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from backtest.published.splits import Advised, SplitCase
from backtest.questions.what_if import KINDS, Check
from planner.core import Record, percent, plain

ROOT: Final = Path(__file__).resolve().parents[2]
NAME: Final = "accuracy-what-if"
"""Name of the page in docs/ and of its figures in data/."""
MOST_SPLITS: Final = 12
"""Models whose advice is listed."""
_STEPS: Final = "published cuts: steps"
_FITS: Final = "published cuts: memory"
_BACK_TEST: Final = "back-test: devices"
_EXACT: Final = "arithmetic"
MODELS: Final = (
    ("step", "T = t + b/v0 + a1 + a2 g(n)", "Article 000; link classes of this product",
     _BACK_TEST),
    ("step over a slower link", "t + 2(n - 1)/n x bytes/rate + latency",
     "Patarasuk and Yuan 2009", "link"),
    ("crossover batch", "(f_n - f_d)/(s_d - s_n)", "Article 000's law for article 003's question",
     "crossover"),
    ("total", "start-up + epochs x steps x step", "Article 003", "total"),
    ("best count", "fewest devices in time; fastest in the budget", "A definition", "best count"),
    ("idle device-hours", "n (start-up + training (1 - efficiency))", "A definition",
     "idle devices"),
    ("synchronous step", "E[max(T_1 ... T_n)]", "David and Nagaraja 2003, section 3.1",
     "scatter of steps"),
    ("synchronous step, one slow", "the slow worker's, T/(1 - h)", "The same, without scatter",
     "slow worker, synchronous"),
    ("asynchronous updates/s", "sum of 1/T_i", "Article 004; workers do not wait",
     "slow worker, asynchronous"),
    ("staleness", "n - 1 updates in the mean", "Counting updates in a steady state", "staleness"),
    ("updates to a target", "at most Smin (1 + Bcrit/b + s)", "Arjevani, Shamir, Srebro 2020",
     "stale gradients"),
    ("parameter server", "two queues of 2 x bytes/(servers x link)", "Reiser and Lavenberg 1980",
     "server link"),
    ("bubble", "(p - 1)/(m + p - 1)", "Huang et al. 2019; Narayanan et al. 2021", "pipeline"),
    ("tensor traffic", "4 all-reduces a layer, 2(t - 1)/t b s d", "Shoeybi et al. 2019", _STEPS),
    ("memory of a cut", "(weights + gradients)/(t p) + optimiser/(t p d)", "ZeRO stage 1, 2020",
     _FITS),
    ("bytes of images", "batch x side^2", "Article 003", _EXACT),
    ("slow interconnect", "t_n/t_1", "Article 000: 0.15/0.054", _EXACT),
    ("host sets the pace", "t/(t + b/v0) from a half", "Article 000", _EXACT),
)  # fmt: skip
"""Name, formula and source of each model, and the check that has its error."""
_HEAD: Final = """# What-if models of Scaling out: how wrong are they?

Made by `python -m planner backtest --what-if` from the shipped results and published tables. The
formulas and sources are in `planner/scaling/uneven.py`, `planner/scaling/crossover.py`,
`planner/scaling/links.py`, `planner/scaling_out/_answer.py` and `planner/splits/_splits.py`.
"""
_NOTES: Final = """
A crossover is measured as two batches: the larger count was slower at the first and faster at the
second. The measured staleness is below the model's n - 1 updates, most at small batches. These
workers share two cores; what causes the difference was not isolated. A worker that is stopped
neither computes nor exchanges gradients. Its step is predicted from the measured even run.

Best count, idle devices and total come from a fit that has not seen the runs at the batch of their
case. With two batches left, most of them are extrapolated. The error of a best count is the time a
step that it loses to the fastest count. Idle devices are n T_n - m T_m, m the smallest count: a
difference of steps, whose relative error is larger than theirs. A total is start-up and four
epochs; the model has no longer first epoch, which weighs most in so short a run.

Steps over limited links are medians; two busy cores ran other programs. Workers that wait at random
draw each wait from a normal distribution. Their step is predicted from
that of workers with equal waits. Updates over a limited link are predicted from those over the
unlimited one, in which workers also share the processor. Stale gradients are those of trials whose
gradients are 1, 3 and 7 updates old, each with its best learning rate; the predicted updates are
the upper end of the bound, with Bcrit from the fresh gradients of the same set.

Tensor traffic and memory are checked against published splits only, below. Bytes of images and the
ratio of overheads are arithmetic.

The model of a pipeline gives each stage a device of its own. Here the stages share two cores, and
other work ran beside these runs.
"""


def scores(checks: Sequence[Check]) -> dict[str, dict[str, float | int | None]]:
    """Return cases, median and largest error by kind; of crossovers the share inside the runs."""
    found: dict[str, dict[str, float | int | None]] = {}
    for kind in KINDS:
        of = [c for c in checks if c.kind == kind]
        errors = [c.error for c in of if c.error is not None]
        judged = [c.right for c in of if c.right is not None]
        if of:
            found[kind] = {
                "cases": len(of),
                "median": float(np.median(errors)) if errors else None,
                "largest": max(errors) if errors else None,
                "right": sum(judged) if judged else None,
            }
    return found


def model_rows() -> list[Record]:
    """Return every what-if model with formula, source and the shipped errors of its check."""
    return [
        {"Model": name, "Formula": formula, "Source": source, **_shown(check)}
        for name, formula, source, check in MODELS
    ]


def _shown(check: str) -> Record:
    """Return cases and errors of a check for a table; in words where it is no check of runs."""
    found, splits = shipped_what_if()["scores"].get(check), shipped_what_if()["splits"]
    if found is not None:
        reached = f"interval reaches {found['right']}"
        return {
            "Cases": found["cases"],
            "Median error": reached if found["median"] is None else percent(found["median"], 1),
            "Largest error": None if found["largest"] is None else percent(found["largest"], 1),
        }
    if check == _STEPS:
        shown = {"Cases": splits["rows"], "Median error": percent(splits["median_error"], 1)}
    elif check == _FITS:
        fit = f"{splits['rows_that_fit']} of {splits['rows_with_memory']} that ran fit"
        shown = {"Cases": splits["rows_with_memory"], "Median error": fit}
    else:
        shown = {"Cases": None, "Median error": check}
    return {**shown, "Largest error": None}


def split_scores(
    cases: Sequence[SplitCase],
    errors: Sequence[float],
    advised: Sequence[Advised],
    none: int,
) -> dict[str, float | int]:
    """Return the figures of published splits and of our advice."""
    known = [c for c in cases if c.memory_stated]
    relative = np.array([a.relative for a in advised] or [np.nan])
    low, high = np.percentile(relative, [10, 90])
    return {
        "rows": len(cases),
        "rows_with_memory": len(known),
        "rows_that_fit": sum(c.split.fits for c in known),
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
    }


def page(
    checks: Sequence[Check],
    splits: Mapping[str, float | int],
    advised: Sequence[Advised],
    left_out: Counter[str],
) -> str:
    """Return the text of docs/accuracy-what-if.md."""
    return "\n".join(
        [_HEAD, *_checks(checks), _NOTES, *_splits(splits), *_advice(advised, left_out), ""]
    )


def figures(checks: Sequence[Check], splits: Mapping[str, float | int]) -> str:
    """Return the figures as JSON."""
    body = {"checks": [asdict(c) for c in checks], "scores": scores(checks), "splits": dict(splits)}
    return f"{json.dumps(body, indent=1, allow_nan=False)}\n"


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
    lines += ["", "| model | case | predicted | measured | error |", "|---|---|---|---|---|"]
    return lines + [_line(c) for c in checks]


def _line(check: Check) -> str:
    if check.measured is None:
        ends = f"above {check.low:,.0f}" if check.low else "any"
        ends += f", at most {check.high:,.0f}" if check.high is not None else ""
        verdict = "interval reaches it" if check.right else "interval misses it"
        return f"| {check.kind} | {check.case} | {check.predicted:,.0f} | {ends} | {verdict} |"
    unit = f" {check.unit}"
    return (
        f"| {check.kind} | {check.case} | {plain(check.predicted, 3)}{unit} | "
        f"{plain(check.measured, 3)}{unit} | {_percent(check.error)} |"
    )


def _splits(splits: Mapping[str, float | int]) -> list[str]:
    return [
        "## Published splits of language models",
        "",
        f"{splits['rows']} published rows of dense decoders state how the model was cut. "
        f"{splits['rows_with_memory']} of them state the memory of the accelerator: our model lets "
        f"{splits['rows_that_fit']} of these fit. All of them ran.",
        "",
        f"The predicted step under the published cut is {_percent(splits['median_error'])} off in "
        f"the median, {_percent(splits['mean_error'])} on average. The efficiency of the products "
        "is that of the other sources. So a speed by this model is rough, and only a ratio of two "
        "cuts of one job should be used.",
        "",
        f"Our advice at the same count is the smallest cut that fits. It exists for "
        f"{splits['advised']} of {int(splits['advised']) + int(splits['without_advice'])} models, "
        f"accelerators and counts; {splits['fewer_shards']} have fewer shards than the fastest "
        f"published cut, {splits['same_shards']} as many, {splits['more_shards']} more. Fewer "
        "shards were not tried by anyone there: that they fit is our estimate. The predicted speed "
        f"of the advice over the best published one is {float(splits['relative_median']):.2f} in "
        f"the median (80 %: {float(splits['relative_p10']):.2f} to "
        f"{float(splits['relative_p90']):.2f}).",
        "",
    ]


def _advice(advised: Sequence[Advised], left_out: Counter[str]) -> list[str]:
    lines = ["| model | best published cut | advised cut | predicted over published speed |",
             "|---|---|---|---|"]  # fmt: skip
    step = max(len(advised) // MOST_SPLITS, 1)
    lines += [f"| {a.name} | {a.published} | {a.advised} | {a.relative:.2f} |"
              for a in advised[::step]]  # fmt: skip
    reasons = "; ".join(f"{reason} ({count})" for reason, count in left_out.most_common())
    return [*lines, "", "Cuts are tensor x pipeline x data; every "
            f"{step}th model is listed. Rows left out: {reasons}."]  # fmt: skip


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100.0 * float(share):.3g} %"
