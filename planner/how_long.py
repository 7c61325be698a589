"""How long for N epochs on each of these? The answer a page, a report or a command shows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.durations import in_words
from planner.estimate import LEVEL, Estimate, Floats, Refusal
from planner.projection import SESSION_SD, project, project_summary, session_half_width
from planner.ratios import MEASURE_AGAIN
from planner.runs import Run

QUICK: Final = (10, 20, 50, 100, 200, 500, 1000, 2000)
"""Numbers of epochs one asks for most: the columns of article 002's projection table."""

EPOCHS: Final = 2000
MOST_EPOCHS: Final = 1_000_000
CHART_POINTS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One measured run one may choose, with the label that tells it from the others."""

    label: str
    run: Run
    epoch_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Total time [s] of one option, and how many times faster than the baseline it is."""

    option: Option
    total: Estimate | Refusal
    times_faster: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HowLong:
    """All answers, fastest first and refusals last."""

    epochs: int
    baseline: Option
    answers: tuple[Answer, ...]
    sentence: str
    undecided: str
    another_session: bool = False


def options_of(runs: Sequence[Run], epoch_s: Mapping[str, Floats] | None = None) -> list[Option]:
    """Options with labels as short as they can be while no two are equal.

    A label is system and batch; the software, the result set and a number are added only where
    two runs would otherwise read the same.
    """
    kept = epoch_s or {}
    labels = _distinct([(_plain(r), r.software, r.result_set) for r in runs])
    return [
        Option(label=label, run=run, epoch_s=tuple(kept.get(run.run_id, ())))
        for label, run in zip(labels, runs, strict=True)
    ]


def total_time(
    option: Option, epochs: ArrayLike, *, another_session: bool = False, level: float = LEVEL
) -> Estimate | Refusal:
    """Time of `epochs` epochs [s] on an option, by `planner.projection`; refuses what it must."""
    run, session_sd = option.run, SESSION_SD if another_session else 0.0
    if refused := _refused(run, len(option.epoch_s)):
        return refused
    if len(option.epoch_s) > 1 and run.pre_train_s is not None:
        return project(run.pre_train_s, option.epoch_s, epochs, level=level, session_sd=session_sd)
    return project_summary(
        epochs=epochs,
        later_epoch_mean_s=float(run.later_epoch_mean_s or math.nan),
        later_epochs=(run.epochs_measured or 2) - 1,
        later_epoch_sd_s=run.later_epoch_sd_s,
        pre_train_s=run.pre_train_s,
        first_epoch_s=run.first_epoch_s,
        until_first_epoch_end_s=None if run.first_epoch_s else run.until_first_epoch_end_s,
        level=level,
        session_sd=session_sd,
    )


def how_long(
    options: Sequence[Option], epochs: int, baseline: str, *, another_session: bool = False
) -> HowLong:
    """Rank the options for `epochs` epochs against the one labelled `baseline`.

    Raises ValueError without options, or where no option has that label.
    """
    if not options:
        raise ValueError("There is no option to compare. Choose at least one system.")
    base = next((o for o in options if o.label == baseline), None)
    if base is None:
        raise ValueError(f"{baseline!r} is not among the options. Choose one that is.")
    totals = [total_time(o, epochs, another_session=another_session) for o in options]
    here = [total_time(o, epochs) for o in options]  # a ratio adds the sessions' spread itself
    against = here[options.index(base)]
    answers = [
        Answer(option=o, total=t, times_faster=_ratio(against, h))
        for o, t, h in zip(options, totals, here, strict=True)
    ]
    ranked = tuple(sorted(answers, key=_rank))
    return HowLong(
        epochs=epochs,
        baseline=base,
        answers=ranked,
        sentence=sentence(ranked, epochs, base),
        undecided=undecided(ranked, epochs),
        another_session=another_session,
    )


def sentence(ranked: Sequence[Answer], epochs: int, baseline: Option) -> str:
    """The answer as one sentence to paste: what, where, how long, how sure, against what."""
    best = ranked[0]
    if isinstance(best.total, Refusal):
        return f"No total for {_epochs(epochs)} of {best.option.run.model}: {best.total.reason}"
    run, total = best.option.run, best.total
    what = f"{_epochs(epochs)} of {run.model}{_at_batch(run)} on {run.system}"
    sure = f"{total.level:.0%}".replace("%", " %")
    interval = f"{sure}: {in_words(float(total.low))} to {in_words(float(total.high))}"
    known = interval if float(total.high) > float(total.low) else "as measured"
    text = f"{what}: {in_words(float(total.value))} ({known})"
    if best.option is baseline or best.times_faster is None:
        return f"{text}."
    other = f"{baseline.run.system}{_at_batch(baseline.run)}"
    return f"{text}, {times(float(best.times_faster.value))} faster than {other}."


def undecided(ranked: Sequence[Answer], epochs: int) -> str:
    """Which options cannot be told from the fastest, and what to measure; empty where all can.

    `ranked` is fastest first. Two runs are two sessions, whatever the totals are asked for.
    """
    totals = [(a.option, total_time(a.option, epochs)) for a in ranked]
    good = [(o, t) for o, t in totals if isinstance(t, Estimate)]
    if len(good) < 2:
        return ""
    (best, least), rest = good[0], good[1:]
    close = [o.label for o, t in rest if not _apart(least, t)]
    if not close:
        return ""
    return (
        f"Not decided between {best.label} and {' or '.join(close)}: the difference is smaller "
        f"than the joint interval of two sessions. {MEASURE_AGAIN}"
    )


def times(ratio: float) -> str:
    """A ratio as people write it: 24.3x, 1.04x, 120x."""
    digits = 0 if ratio >= 100 else 1 if ratio >= 10 else 2
    return f"{ratio:,.{digits}f}x"


def chart_epochs(asked: int, first: int = 1) -> Floats:
    """Whole numbers of epochs for a curve, from `first` past `asked`, evenly spread in log."""
    last = max(asked * 1.25, 100.0)
    spread = np.geomspace(first, last, CHART_POINTS).round()
    quick = [float(n) for n in QUICK if n <= last]
    return np.unique(np.r_[spread, quick, float(asked)])


def _refused(run: Run, kept: int) -> Refusal | None:
    if run.status != "ok":
        why = f": {run.status_reason}" if run.status_reason else ""
        return Refusal(
            reason=f"The run ended as {run.status}{why}.",
            measure_next="Run it again at a smaller batch or with more memory.",
        )
    if run.later_epoch_mean_s is None and kept < 2:
        return Refusal(
            reason="Epoch times are not known.",
            measure_next="Measure at least 3 epochs of this case.",
        )
    if run.first_epoch_s is None and run.until_first_epoch_end_s is None and kept < 2:
        return Refusal(
            reason="Only the mean of epochs 2 and later is known: epoch 1 and the time before it "
            f"are missing ({run.later_epoch_mean_s:,.4g} s an epoch after that).",
            measure_next="Measure the first epoch and the time before it.",
        )
    return None


def _ratio(against: Estimate | Refusal, total: Estimate | Refusal) -> Estimate | None:
    """How many times faster than the baseline: two runs are two sessions, independent in logs."""
    if isinstance(against, Refusal) or isinstance(total, Refusal):
        return None
    ratio = float(against.value) / float(total.value)
    q = 0.0 if against is total else _joint(against, total)
    return Estimate(
        value=ratio,
        low=ratio * math.exp(-q),
        high=ratio * math.exp(q),
        level=total.level,
        basis=total.basis,
    )


def _apart(a: Estimate | Refusal, b: Estimate | Refusal) -> bool:
    if isinstance(a, Refusal) or isinstance(b, Refusal):
        return True
    gap = abs(math.log(float(a.value) / float(b.value)))
    return gap > _joint(a, b)


def _joint(a: Estimate, b: Estimate) -> float:
    """Half-width of a ratio of two totals in the logarithm, as `planner.ratios` takes it."""
    return math.hypot(_log_width(a), _log_width(b), session_half_width(a.level))


def _log_width(e: Estimate) -> float:
    return math.log(float(e.high) / float(e.value))


def _rank(answer: Answer) -> tuple[bool, float]:
    refused = isinstance(answer.total, Refusal)
    return refused, 0.0 if isinstance(answer.total, Refusal) else float(answer.total.value)


def _plain(run: Run) -> str:
    batch = run.global_batch_size
    return run.system if batch is None else f"{run.system} · batch {batch:,}"


def _distinct(parts: Sequence[tuple[str, ...]]) -> list[str]:
    """Join as few parts of each label as tell it from the others; number what stays equal."""
    labels = [p[0] for p in parts]
    for extra in range(1, len(parts[0]) if parts else 0):
        shared = Counter(labels)
        varied = {
            lab
            for lab in shared
            if len({p[extra] for p, x in zip(parts, labels, strict=True) if x == lab}) > 1
        }
        labels = [
            f"{lab} · {p[extra]}" if lab in varied else lab
            for lab, p in zip(labels, parts, strict=True)
        ]
    seen: Counter[str] = Counter()
    final = []
    for label in labels:
        seen[label] += 1
        final.append(label if seen[label] == 1 else f"{label} · run {seen[label]}")
    return final


def _at_batch(run: Run) -> str:
    return "" if run.global_batch_size is None else f" at batch {run.global_batch_size}"


def epochs_in_words(epochs: int) -> str:
    """`1 epoch`, `2,000 epochs`: for headings. The sentence to paste has plain digits."""
    return "1 epoch" if epochs == 1 else f"{epochs:,} epochs"


def _epochs(epochs: int) -> str:
    return "1 epoch" if epochs == 1 else f"{epochs} epochs"
