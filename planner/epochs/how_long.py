"""How long for N epochs on each of these? The answer a page, a report or a command shows."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.core import (
    HOUR_S,
    LEVEL,
    SPEED,
    Estimate,
    Floats,
    Refusal,
    ahead,
    between,
    counted,
    distinct_labels,
    in_words,
    or_refusal,
    or_too_long,
    plain,
    with_ends,
)
from planner.epochs._ratios import MEASURE_AGAIN
from planner.epochs._totals import apart, speed_up
from planner.epochs.epoch_size import (
    ADD_SIZE,
    AS_TIMED,
    NOT_STATED,
    ONE_PASS,
    Conversion,
    EpochSize,
    conversions,
    epoch_size,
    is_speed_only,
)
from planner.epochs.projection import (
    SESSION_SD,
    START_NOT_INCLUDED,
    later_epoch,
    project,
    project_summary,
    session_half_width,
)
from planner.epochs.steadiness import Steadiness, steadiness
from planner.runs import Run

QUICK: Final = (10, 20, 50, 100, 200, 500, 1000, 2000)
"""Numbers of epochs one asks for most: the columns of article 002's projection table."""

EPOCHS: Final = 2000
MOST_EPOCHS: Final = 1_000_000
CHART_POINTS: Final = 60
ROUGH: Final = 0.05
"""Half-width of an interval [share] from which on minutes and seconds of a total mean nothing."""
IN_WHOLE_HOURS_S: Final = 100.0 * HOUR_S
"""Below it minutes count: what was measured is known to a few per cent."""
SUSPECT: Final = Refusal(
    reason="The run is suspect, and suspect runs are left out.",
    measure_next="Measure this case again, or keep the suspect runs.",
)
NO_EPOCHS: Final = Refusal(
    reason="Epoch times are not known.", measure_next="Measure at least 3 epochs of this case."
)

MOST_NAMED: Final = 3
"""Options without a start-up time that are named one by one."""
FIRST_EPOCH_BETWEEN: Final = (
    "Epoch 1 is stated only together with the start-up time; the interval reaches from a later "
    "epoch to that sum."
)
INFERENCE: Final = Refusal(
    reason="Only inference was timed here, so the time of training is not known.",
    measure_next="Measure training of this workload, or choose a workload that was trained.",
)
"""The refusal of every page and interface that answers for training."""
NO_SIZE: Final = Refusal(reason=NOT_STATED.sentence, measure_next=ADD_SIZE)
BY_SPEED: Final = "Samples of an epoch over the stated samples/s; validation is not included."


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One measured run one may choose, with a label that is unique among the others.

    `conversion` says how its timed epochs become those in question, or why they cannot.
    `epoch_samples` is the size of an epoch [samples], for runs that state samples/s alone.
    `first_epoch_half_s` is how far epoch 1 may lie from what `from_epoch_1` takes for it [s].
    """

    label: str
    run: Run
    epoch_s: tuple[float, ...] = ()
    conversion: Conversion | Refusal = AS_TIMED
    epoch_samples: float | None = None
    first_epoch_half_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Total time [s] of one option, and the baseline's over it: above 1 the option is faster."""

    option: Option
    total: Estimate | Refusal
    speed_ratio: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HowLong:
    """All answers, fastest first and refusals last.

    `left_out` are the ids of runs that the ranking does without: their totals are refusals.
    `epoch_size` is what an epoch is, the same for all answers. `no_start` are the labels of options
    without a start-up time, for which all totals start with epoch 1; none where all are alike.
    """

    epochs: int
    baseline: Option
    answers: tuple[Answer, ...]
    sentence: str
    undecided: str
    another_session: bool = False
    rest_like_last: bool = False
    left_out: frozenset[str] = frozenset()
    epoch_size: EpochSize = ONE_PASS
    no_start: tuple[str, ...] = ()

    @property
    def start_sentence(self) -> str:
        """That all totals start with epoch 1, and for which options; else empty."""
        return start_left_out(self.no_start)

    @property
    def size_sentence(self) -> str:
        """What an epoch is, where that is not simply what every run timed; else empty."""
        size = self.epoch_size
        converted = any(timed_ratio(a.option) != 1.0 for a in self.answers)
        plain = size.source in {"stated", "published", "timed"} and not converted
        return "" if plain else size.sentence


def options_of(
    runs: Sequence[Run], epoch_s: Mapping[str, Iterable[float]] | None = None
) -> list[Option]:
    """Options with labels as short as they can be while no two are equal.

    A label is system and batch; the software, the result set and digits of the run's id are
    added only where two runs would otherwise read the same.
    """
    kept = epoch_s or {}
    parts = [(_plain(r), r.software, r.result_set, f"run {r.run_id[:6]}") for r in runs]
    labels = distinct_labels(parts)
    return [
        Option(label=label, run=run, epoch_s=tuple(kept.get(run.run_id, ())))
        for label, run in zip(labels, runs, strict=True)
    ]


def with_sizes(options: Sequence[Option], size: EpochSize) -> list[Option]:
    """The options with their epochs converted to one size, in the same order."""
    found = conversions([o.run for o in options], size)
    return [
        replace(o, conversion=c, epoch_samples=size.samples)
        for o, c in zip(options, found, strict=True)
    ]


def from_epoch_1(option: Option) -> Option:
    """Return the option without its start-up time, so that its total starts with epoch 1.

    Where only the sum of start-up and epoch 1 is stated, epoch 1 lies between a later epoch and
    that sum: the middle is taken, and the interval reaches both.
    """
    run, until_s, mean_s = option.run, option.run.until_first_epoch_end_s, None
    bare = replace(run, pre_train_s=None, until_first_epoch_end_s=None)
    if run.first_epoch_s is None and len(option.epoch_s) < 2:
        mean_s = run.later_epoch_mean_s
    if until_s is None or mean_s is None:
        return replace(option, run=bare)
    most_s = max(until_s - (run.pre_train_s or 0.0), mean_s)
    half_s = 0.0 if run.pre_train_s is not None else 0.5 * (most_s - mean_s)
    return replace(
        option, run=replace(bare, first_epoch_s=most_s - half_s), first_epoch_half_s=half_s
    )


def without_start(totals: Sequence[tuple[str, Estimate | Refusal]]) -> tuple[str, ...]:
    """Return the labels of totals that start with epoch 1 beside others that do not.

    Empty where all are alike, so that nothing has to be left out; refusals have no say.
    """
    good = [(label, t) for label, t in totals if isinstance(t, Estimate)]
    lacking = tuple(label for label, t in good if START_NOT_INCLUDED in t.reasons)
    return lacking if len(lacking) < len(good) else ()


def start_left_out(labels: Sequence[str]) -> str:
    """Say that a ranking starts with epoch 1, since these options state no start-up time."""
    if not labels:
        return ""
    more = f" and {len(labels) - MOST_NAMED} more" if len(labels) > MOST_NAMED else ""
    verb = "does" if len(labels) == 1 else "do"
    named = ", ".join(labels[:MOST_NAMED])
    return f"Start-up time is left out for all options: {named}{more} {verb} not state it."


def of_several_kinds(option: Option) -> Steadiness | None:
    """What its single epochs say, where they are not of one kind; None where they are."""
    if option.run.status != "ok" or len(option.epoch_s) < 2:
        return None
    found = or_refusal(_named(option.run), lambda: steadiness(option.epoch_s))
    return None if isinstance(found, Refusal) or found.steady else found


def first_projected(option: Option, *, rest_like_last: bool) -> int:
    """Fewest epochs that are answered: those before the last kind have to be over."""
    found = of_several_kinds(option) if rest_like_last else None
    return math.ceil(found.segments[-1].first_epoch / timed_ratio(option)) if found else 1


def total_time(
    option: Option,
    epochs: ArrayLike,
    *,
    another_session: bool = False,
    rest_like_last: bool = False,
    level: float = LEVEL,
) -> Estimate | Refusal:
    """Time of `epochs` epochs [s] on an option; a refusal where it cannot be projected."""
    session_sd = SESSION_SD if another_session else 0.0
    return or_refusal(
        _named(option.run),
        lambda: or_too_long(
            _total_time(
                option, epochs, session_sd=session_sd, rest_like_last=rest_like_last, level=level
            )
        ),
    )


def _total_time(
    option: Option, epochs: ArrayLike, *, session_sd: float, rest_like_last: bool, level: float
) -> Estimate | Refusal:
    run = option.run
    if is_speed_only(run) and len(option.epoch_s) < 2:
        return _by_speed(option, epochs, level)
    if refused := _refused(run, len(option.epoch_s)):
        return refused
    if isinstance(option.conversion, Refusal):
        return option.conversion
    ratio = option.conversion.ratio
    if len(option.epoch_s) > 1:
        total = project(
            _pre_train_s(run, option.epoch_s[0]),
            option.epoch_s,
            epochs,
            level=level,
            session_sd=session_sd,
            rest_like_last=rest_like_last,
            prior=run.epoch_prior,
            epoch_ratio=ratio,
        )
        return _noted(total, option.conversion)
    total = project_summary(
        epochs=epochs,
        later_epoch_mean_s=run.later_epoch_mean_s,
        later_epochs=(run.epochs_measured or 2) - 1 if run.later_epoch_mean_s else 0,
        later_epoch_sd_s=run.later_epoch_sd_s,
        pre_train_s=run.pre_train_s,
        first_epoch_s=run.first_epoch_s,
        until_first_epoch_end_s=run.until_first_epoch_end_s,
        level=level,
        session_sd=session_sd,
        prior=run.epoch_prior,
        epoch_ratio=ratio,
    )
    return _noted(_with_first_epoch(total, option.first_epoch_half_s), option.conversion)


def _with_first_epoch(total: Estimate | Refusal, half_s: float) -> Estimate | Refusal:
    """A total whose epoch 1 may lie so far from what was taken for it [s]."""
    if isinstance(total, Refusal) or not half_s:
        return total
    value, low, high = (np.asarray(x, np.float64) for x in (total.value, total.low, total.high))
    least, most = value - np.hypot(value - low, half_s), value + np.hypot(high - value, half_s)
    reasons = (*total.reasons, FIRST_EPOCH_BETWEEN)
    if not value.ndim:
        return replace(total, low=float(least), high=float(most), reasons=reasons)
    return replace(total, low=least, high=most, reasons=reasons)


def _by_speed(option: Option, epochs: ArrayLike, level: float) -> Estimate | Refusal:
    """Total time [s] of a run that states samples/s alone: every epoch takes the same.

    The figure is of somebody's session, so the variation between sessions always applies.
    """
    if isinstance(option.conversion, Refusal):
        return option.conversion
    epoch_s = _speed_epoch_s(option)
    if epoch_s is None:
        return NO_SIZE
    total = np.asarray(epochs, dtype=np.float64) * epoch_s
    half = total * session_half_width(level, SESSION_SD)
    return Estimate(
        value=total,
        low=total - half,
        high=total + half,
        level=level,
        basis="extrapolated",
        reasons=(BY_SPEED, START_NOT_INCLUDED),
    )


def _speed_epoch_s(option: Option) -> float | None:
    """One epoch [s] by samples/s; None where its size or the speed is not stated."""
    speed, samples = option.run.samples_per_s, option.epoch_samples
    return samples / speed if speed and samples else None


def later_epoch_time(
    option: Option, *, rest_like_last: bool = False, level: float = LEVEL
) -> Estimate | Refusal:
    """Return what one more epoch costs in the long run [s]; refuses as `total_time` does."""
    return or_refusal(
        _named(option.run),
        lambda: (
            _by_speed(option, 1, level)
            if is_speed_only(option.run) and len(option.epoch_s) < 2
            else _later_epoch_time(option, rest_like_last=rest_like_last, level=level)
        ),
    )


def _later_epoch_time(option: Option, *, rest_like_last: bool, level: float) -> Estimate | Refusal:
    run = option.run
    if refused := _failed(run):
        return refused
    if isinstance(option.conversion, Refusal):
        return option.conversion
    ratio = option.conversion.ratio
    if len(option.epoch_s) < 2:
        if run.later_epoch_mean_s is None:
            return NO_EPOCHS
        time = later_epoch(
            later_epochs=(run.epochs_measured or 2) - 1,
            later_epoch_mean_s=run.later_epoch_mean_s,
            later_epoch_sd_s=run.later_epoch_sd_s,
            level=level,
            prior=run.epoch_prior,
            epoch_ratio=ratio,
        )
        return _noted(time, option.conversion)
    total = _total_time(
        option, MOST_EPOCHS, session_sd=0.0, rest_like_last=rest_like_last, level=level
    )
    if isinstance(total, Refusal):
        return total
    found = of_several_kinds(option) if rest_like_last else None
    rest = np.asarray(option.epoch_s[found.segments[-1].first_epoch if found else 1 :])
    time = later_epoch(
        later_epochs=rest.size,
        later_epoch_mean_s=float(rest.mean()),
        later_epoch_sd_s=float(rest.std()),
        level=level,
        prior=run.epoch_prior,
        epoch_ratio=ratio,
    )
    return _noted(time, option.conversion)


def how_long(
    options: Sequence[Option],
    epochs: int,
    baseline: str,
    *,
    another_session: bool = False,
    rest_like_last: bool = False,
    left_out: Collection[str] = (),
    size: EpochSize | None = None,
) -> HowLong:
    """Rank the options for `epochs` epochs against the one labelled `baseline`.

    Args:
        options: what to rank.
        epochs: N.
        baseline: the label of the option all are compared with.
        another_session: totals are asked for another session or machine of the kind.
        rest_like_last: where epochs are of several kinds, the rest goes on like the last of them.
        left_out: ids of runs to do without; they are refused, and the sentence counts them.
        size: what an epoch is (`planner.epochs.epoch_size`); None decides it from these options
        alone.

    Raises:
        ValueError: no option, or none with that label.
    """
    if not options:
        raise ValueError("There is no option to compare. Choose at least one system.")
    size = size or epoch_size([o.run for o in options])
    options = with_sizes(options, size)
    base = next((o for o in options if o.label == baseline), None)
    if base is None:
        raise ValueError(f"{baseline!r} is not among the options. Choose one that is.")

    def total(option: Option, *, there: bool) -> Estimate | Refusal:
        if option.run.run_id in left_out:
            return SUSPECT
        return total_time(option, epochs, another_session=there, rest_like_last=rest_like_last)

    here = [total(o, there=False) for o in options]  # a ratio adds the sessions' spread itself
    no_start = without_start([(o.label, t) for o, t in zip(options, here, strict=True)])
    if no_start:
        place = options.index(base)
        options = [from_epoch_1(o) for o in options]
        base, here = options[place], [total(o, there=False) for o in options]
    against = here[options.index(base)]
    answers = [
        Answer(option=o, total=total(o, there=another_session), speed_ratio=_ratio(against, h, o))
        for o, h in zip(options, here, strict=True)
    ]
    ranked = tuple(sorted(answers, key=_rank))
    without = frozenset(o.run.run_id for o in options).intersection(left_out)
    return HowLong(
        epochs=epochs,
        baseline=base,
        answers=ranked,
        sentence=f"{sentence(ranked, epochs, base)}{_without(len(without))}",
        undecided=undecided(list(zip(options, here, strict=True))),
        another_session=another_session,
        rest_like_last=rest_like_last,
        left_out=without,
        epoch_size=size,
        no_start=no_start,
    )


def _ratio(
    against: Estimate | Refusal, total: Estimate | Refusal, option: Option
) -> Estimate | None:
    """How many times faster than the baseline; None where one of the two has no total."""
    found = or_refusal(_named(option.run), lambda: speed_up(against, total))
    return None if isinstance(found, Refusal) else found


def sentence(ranked: Sequence[Answer], epochs: int, baseline: Option) -> str:
    """The answer as one sentence to paste: what, where, how long, how sure, against what."""
    best = ranked[0]
    if isinstance(best.total, Refusal):
        return f"No total for {_epochs(epochs)} of {best.option.run.model}: {best.total.reason}"
    run, total = best.option.run, best.total
    what = f"{_epochs(epochs)} of {run.model}{_at_batch(run)} on {run.system}"
    sure = f"{total.level:.0%}".replace("%", " %")
    time, low, high = _told(total)
    interval = f"{sure}: {between(low, high)}"
    known = interval if float(total.high) > float(total.low) else "as measured"
    known += "; start-up time not included" if START_NOT_INCLUDED in total.reasons else ""
    text = f"{what}: {time} ({known})"
    if best.option is baseline or best.speed_ratio is None:
        return f"{text}."
    other = f"{baseline.run.system}{_at_batch(baseline.run)}"
    said = ahead(float(best.speed_ratio.value))
    return f"{text}, {'as fast as' if said == SPEED.level else f'{said} than'} {other}."


def undecided(totals: Sequence[tuple[Option, Estimate | Refusal]]) -> str:
    """Which options cannot be told from the fastest, and what to measure; empty where all can.

    `totals` are those of the measured sessions: two runs are two sessions in any case.
    """
    good = [(o, t) for o, t in totals if isinstance(t, Estimate)]
    if len(good) < 2:
        return ""
    (best, least), *rest = sorted(good, key=lambda known: float(known[1].value))
    close = [
        o.label for o, t in rest if or_refusal(_named(o.run), partial(apart, least, t)) is False
    ]
    if not close:
        return ""
    return (
        f"Not decided between {best.label} and {' or '.join(close)}: the difference is smaller "
        f"than the joint interval of two sessions. {MEASURE_AGAIN}"
    )


def is_rough(total: Estimate) -> bool:
    """Return whether an interval is wider than ± `ROUGH`, so that seconds mean nothing."""
    return float(total.high) - float(total.low) > 2.0 * ROUGH * float(total.value)


def _told(total: Estimate) -> tuple[str, str, str]:
    """A total and its ends: in one unit where minutes no longer matter, or it is known roughly."""
    ends = float(total.value), float(total.low), float(total.high)
    value, low, high = map(in_words, ends)
    hidden = low == high and ends[1] < ends[2]
    if ends[0] >= IN_WHOLE_HOURS_S or is_rough(total) or hidden:
        return with_ends(*ends)
    return value, low, high


def _without(count: int) -> str:
    """How many runs the ranking does without, behind a blank."""
    many = "1 suspect run is" if count == 1 else f"{count} suspect runs are"
    return f" {many} left out." if count else ""


def chart_epochs(asked: int, first: int = 1) -> Floats:
    """Whole numbers of epochs for a curve, from `first` past `asked`, evenly spread in log."""
    last = max(asked * 1.25, 100.0)
    spread = np.geomspace(first, last, CHART_POINTS).round()
    quick = [float(n) for n in QUICK if n <= last]
    return np.unique(np.r_[spread, quick, float(asked)])


def _failed(run: Run) -> Refusal | None:
    """Why a run says nothing about training; None where it does."""
    if run.status == "ok":
        return INFERENCE if run.mode == "inference" else None
    why = f": {run.status_reason}" if run.status_reason else ""
    return Refusal(
        reason=f"The run ended as {run.status}{why}.",
        measure_next="Run it again at a smaller batch or with more memory.",
    )


def _refused(run: Run, kept: int) -> Refusal | None:
    if failed := _failed(run):
        return failed
    if kept > 1:
        return None
    first = run.first_epoch_s is not None or run.until_first_epoch_end_s is not None
    if run.later_epoch_mean_s is None and not first:
        return NO_EPOCHS
    if not first:
        later_s = plain(float(run.later_epoch_mean_s or math.nan), 4)
        before = " and the time before it are" if run.pre_train_s is None else " is"
        return Refusal(
            reason=f"Only the mean of epochs 2 and later is known: epoch 1{before} missing "
            f"({later_s} s an epoch after that).",
            measure_next="Measure the first epoch and the time before it.",
        )
    return None


def _pre_train_s(run: Run, first_epoch_s: float) -> float | None:
    """Start-up time [s]: as measured, else what the sum with epoch 1 leaves for it."""
    until_s = run.until_first_epoch_end_s
    if run.pre_train_s is not None or until_s is None:
        return run.pre_train_s
    return until_s - first_epoch_s if until_s >= first_epoch_s else None


def _named(run: Run) -> str:
    """The run as a refusal and the log name it."""
    return f"the run{_at_batch(run)} on {run.system}"


def timed_ratio(option: Option) -> float:
    """Timed epochs in one epoch of an option, 1 where it is refused."""
    return 1.0 if isinstance(option.conversion, Refusal) else option.conversion.ratio


def _noted(result: Estimate | Refusal, converted: Conversion) -> Estimate | Refusal:
    """A time with what its conversion adds: sentences, and that it is far from what was timed."""
    if isinstance(result, Refusal) or not converted.reasons:
        return result
    basis = "extrapolated" if converted.far else result.basis
    return replace(result, basis=basis, reasons=(*result.reasons, *converted.reasons))


def _rank(answer: Answer) -> tuple[bool, float]:
    refused = isinstance(answer.total, Refusal)
    return refused, 0.0 if isinstance(answer.total, Refusal) else float(answer.total.value)


def _plain(run: Run) -> str:
    batch = run.global_batch_size
    return run.system if batch is None else f"{run.system} · batch {batch:,}"


def _at_batch(run: Run) -> str:
    return "" if run.global_batch_size is None else f" at batch {plain(run.global_batch_size)}"


def epochs_in_words(epochs: int) -> str:
    """`1 epoch`, `2,000 epochs`: for headings. The sentence to paste has 2000, as it was typed."""
    return "1 epoch" if epochs == 1 else f"{epochs:,} epochs"


def _epochs(epochs: int) -> str:
    return "1 epoch" if epochs == 1 else f"{counted(epochs)} epochs"
