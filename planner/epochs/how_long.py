"""How long for N epochs on each of these? The answer a page, a report or a command shows."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from planner.core import (
    HOUR_S,
    LEVEL,
    Estimate,
    Floats,
    Refusal,
    Text,
    ahead_than,
    between,
    counted,
    distinct_labels,
    in_words,
    joined,
    or_refusal,
    or_too_long,
    paragraph,
    percent,
    plain,
    plural,
    several,
    with_ends,
)
from planner.epochs._ratios import MEASURE_AGAIN, apart, speed_up
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
from planner.epochs.steadiness import SHORTEST, Steadiness, steadiness
from planner.runs import Run

QUICK: Final = (10, 20, 50, 100, 200, 500, 1000, 2000)
"""Usual numbers of epochs: the columns of article 002's projection table."""

EPOCHS: Final = 2000
MOST_EPOCHS: Final = 1_000_000
CHART_POINTS: Final = 60
ROUGH: Final = 0.05
"""Half-width of an interval [share] above which minutes and seconds of a total are dropped."""
IN_WHOLE_HOURS_S: Final = 100.0 * HOUR_S
"""Below it minutes are shown: measured times are precise to a few per cent."""
SUSPECT: Final = Refusal(
    reason="The run is suspect, and suspect runs are left out.",
    measure_next="Measure this case again, or keep the suspect runs.",
)
NO_EPOCHS: Final = Refusal(
    reason="Epoch times are unknown.", measure_next="Measure at least 3 epochs of this case."
)

MOST_NAMED: Final = 3
"""Options without a start-up time that are named one by one."""
FIRST_EPOCH_BETWEEN: Final = (
    "Epoch 1 is stated only together with the start-up time; the interval reaches from a later "
    "epoch to that sum."
)
INFERENCE: Final = Refusal(
    reason="Only inference was timed here, so the training time is unknown.",
    measure_next="Measure training of this workload, or choose a workload that was trained.",
)
"""The refusal of every page and interface that answers for training."""
NO_SIZE: Final = Refusal(reason=NOT_STATED.sentence, measure_next=ADD_SIZE)
BY_SPEED: Final = "Samples of an epoch over the stated samples/s; validation is not included."


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One measured run as an option, with a unique label, and a shorter one for charts.

    `conversion` converts its timed epochs to the common size, or is a refusal. `epoch_samples` is
    the size of an epoch [samples], for runs that state samples/s alone. `first_epoch_half_s` is the
    half-width of epoch 1 as assumed by `from_epoch_1` [s].
    """

    label: str
    short: str
    run: Run
    epoch_s: tuple[float, ...] = ()
    conversion: Conversion | Refusal = AS_TIMED
    epoch_samples: float | None = None
    first_epoch_half_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionTotal:
    """Total time [s] of one option, and the baseline's over it: above 1 the option is faster."""

    option: Option
    total: Estimate | Refusal
    speed_ratio: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HowLong:
    """All answers, fastest first and refusals last.

    `left_out` are the ids of excluded runs, whose totals are refusals. `epoch_size` is the size of
    an epoch, the same for all answers. `tied` are the labels of options as fast as the first.
    `no_start` are the labels of options without a start-up time, for which all totals start with
    epoch 1; empty where all are alike.
    """

    epochs: int
    baseline: Option
    answers: tuple[OptionTotal, ...]
    sentence: str
    undecided: str
    tied: tuple[str, ...] = ()
    another_session: bool = False
    rest_like_last: bool = False
    left_out: frozenset[str] = frozenset()
    epoch_size: EpochSize = ONE_PASS
    no_start: tuple[str, ...] = ()

    @property
    def start_sentence(self) -> str:
        """Note that all totals start with epoch 1, and for which options; else empty."""
        return start_left_out(self.no_start)

    @property
    def size_sentence(self) -> str:
        """The size of an epoch as a sentence, where it differs from what was timed; else empty."""
        size = self.epoch_size
        converted = any(timed_ratio(a.option) != 1.0 for a in self.answers)
        plain = size.source in {"stated", "published", "timed"} and not converted
        none = all(isinstance(a.total, Refusal) for a in self.answers)
        return "" if plain or (none and size.source == "unstated") else size.sentence


def options_of(
    runs: Sequence[Run], epoch_s: Mapping[str, Iterable[float]] | None = None
) -> list[Option]:
    """Return options with labels as short as they can be while no two are equal.

    A label is system and batch; the software, the result set and digits of the run's id are
    added only where two runs would otherwise read the same.
    """
    kept = epoch_s or {}
    parts = [(r.software, r.result_set, f"run {r.run_id[:6]}") for r in runs]
    labels = distinct_labels(
        [(_named(r, " · batch "), *p) for r, p in zip(runs, parts, strict=True)]
    )
    shorts = distinct_labels([(_named(r, ", "), *p) for r, p in zip(runs, parts, strict=True)])
    return [
        Option(label=label, short=short, run=run, epoch_s=tuple(kept.get(run.run_id, ())))
        for label, short, run in zip(labels, shorts, runs, strict=True)
    ]


def with_sizes(options: Sequence[Option], size: EpochSize) -> list[Option]:
    """Return the options with their epochs converted to one size, in the same order."""
    converted = conversions([o.run for o in options], size)
    return [
        replace(o, conversion=c, epoch_samples=size.samples)
        for o, c in zip(options, converted, strict=True)
    ]


def from_epoch_1(option: Option) -> Option:
    """Return the option without its start-up time, so that its total starts with epoch 1.

    If only the sum of start-up and epoch 1 is stated, epoch 1 is between a later epoch and that
    sum: the middle is used, and the interval includes both.
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

    Empty where all are alike; refusals are ignored.
    """
    good = [(label, t) for label, t in totals if isinstance(t, Estimate)]
    lacking = tuple(label for label, t in good if START_NOT_INCLUDED in t.reasons)
    return lacking if len(lacking) < len(good) else ()


def start_left_out(labels: Sequence[str]) -> str:
    """Return that a ranking starts with epoch 1, since these options state no start-up time."""
    if not labels:
        return ""
    named = ", ".join(labels[:MOST_NAMED])
    if (more := len(labels) - MOST_NAMED) > 0:
        named = Text("{named} and {more} more", named=named, more=more)
    return plural(
        len(labels),
        "Start-up time is left out for all options: {named} does not state it.",
        "Start-up time is left out for all options: {named} do not state it.",
        named=named,
    )


def of_several_kinds(option: Option) -> Steadiness | None:
    """Return the steadiness of its single epochs if they are not of one kind; else None."""
    if option.run.status != "ok" or len(option.epoch_s) < 2:
        return None
    kinds = or_refusal(_in_words(option.run), lambda: steadiness(option.epoch_s))
    return None if isinstance(kinds, Refusal) or kinds.steady else kinds


def first_projected(option: Option, *, rest_like_last: bool) -> int:
    """Return the fewest epochs that are answered: those before the last kind have to be over."""
    kinds = of_several_kinds(option) if rest_like_last else None
    return math.ceil(kinds.segments[-1].first_epoch / timed_ratio(option)) if kinds else 1


def total_time(
    option: Option,
    epochs: ArrayLike,
    *,
    another_session: bool = False,
    rest_like_last: bool = False,
    level: float = LEVEL,
) -> Estimate | Refusal:
    """Return the time of `epochs` epochs [s] on an option.

    A refusal where it cannot be projected.
    """
    session_sd = SESSION_SD if another_session else 0.0
    return or_refusal(
        _in_words(option.run),
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
    """Return a total widened by the half-width of its epoch 1 [s]."""
    if isinstance(total, Refusal) or not half_s:
        return total
    value, low, high = (np.asarray(x, np.float64) for x in (total.value, total.low, total.high))
    least, most = value - np.hypot(value - low, half_s), value + np.hypot(high - value, half_s)
    reasons = (*total.reasons, FIRST_EPOCH_BETWEEN)
    if not value.ndim:
        return replace(total, low=float(least), high=float(most), reasons=reasons)
    return replace(total, low=least, high=most, reasons=reasons)


def _by_speed(option: Option, epochs: ArrayLike, level: float) -> Estimate | Refusal:
    """Return the total time [s] of a run that states samples/s alone: every epoch takes the same.

    The speed is from another session, so the variation between sessions always applies.
    """
    if isinstance(option.conversion, Refusal):
        return option.conversion
    speed, samples = option.run.samples_per_s, option.epoch_samples
    epoch_s = samples / speed if speed and samples else None
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


def later_epoch_time(option: Option, *, rest_like_last: bool = False) -> Estimate | Refusal:
    """Return the time of one more epoch in the long run [s]; refused as `total_time`."""
    return or_refusal(
        _in_words(option.run),
        lambda: (
            _by_speed(option, 1, LEVEL)
            if is_speed_only(option.run) and len(option.epoch_s) < 2
            else _later_epoch_time(option, rest_like_last=rest_like_last)
        ),
    )


def _later_epoch_time(option: Option, *, rest_like_last: bool) -> Estimate | Refusal:
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
            prior=run.epoch_prior,
            epoch_ratio=ratio,
        )
        return _noted(time, option.conversion)
    total = _total_time(
        option, MOST_EPOCHS, session_sd=0.0, rest_like_last=rest_like_last, level=LEVEL
    )
    if isinstance(total, Refusal):
        return total
    kinds = of_several_kinds(option) if rest_like_last else None
    rest = np.asarray(option.epoch_s[kinds.segments[-1].first_epoch if kinds else 1 :])
    time = later_epoch(
        later_epochs=rest.size,
        later_epoch_mean_s=float(rest.mean()),
        later_epoch_sd_s=float(rest.std()),
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
    """Return the options ranked for `epochs` epochs against the one labelled `baseline`.

    Args:
        options: those to rank.
        epochs: N.
        baseline: the label of the reference option.
        another_session: include machine-to-machine variation.
        rest_like_last: after a change of epoch times the rest continues like the last kind.
        left_out: ids of excluded runs; they are refused, and the sentence counts them.
        size: of an epoch (`planner.epochs.epoch_size`); default: from these options alone.

    Raises:
        ValueError: no option, or none with that label.
    """
    if not options:
        raise ValueError("There is no option to compare. Choose at least one system.")
    size = size or epoch_size([o.run for o in options])
    options = with_sizes(options, size)
    base = next((o for o in options if o.label == baseline), None)
    if base is None:
        raise ValueError(
            Text("{baseline!r} is not among the options. Choose one that is.", baseline=baseline)
        )

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
        OptionTotal(
            option=o, total=total(o, there=another_session), speed_ratio=_ratio(against, h, o)
        )
        for o, h in zip(options, here, strict=True)
    ]
    ranked = tuple(sorted(answers, key=_rank))
    without = frozenset(o.run.run_id for o in options).intersection(left_out)
    return HowLong(
        epochs=epochs,
        baseline=base,
        answers=ranked,
        sentence=paragraph(sentence(ranked, epochs, base), _without(len(without))),
        undecided=undecided(list(zip(options, here, strict=True))),
        tied=tuple(tied(list(zip(options, here, strict=True)))),
        another_session=another_session,
        rest_like_last=rest_like_last,
        left_out=without,
        epoch_size=size,
        no_start=no_start,
    )


def _ratio(
    against: Estimate | Refusal, total: Estimate | Refusal, option: Option
) -> Estimate | None:
    """Return how many times faster than the baseline; None where one of the two has no total."""
    ratio = or_refusal(_in_words(option.run), lambda: speed_up(against, total))
    return None if isinstance(ratio, Refusal) else ratio


def sentence(ranked: Sequence[OptionTotal], epochs: int, baseline: Option) -> str:
    """Return the answer as one sentence to paste: workload, system, time, basis, baseline."""
    best = ranked[0]
    if isinstance(best.total, Refusal):
        return Text(
            "No total for {epochs} of {model}: {reason}",
            epochs=_epochs(epochs),
            model=best.option.run.model,
            reason=best.total.reason,
        )
    run, total = best.option.run, best.total
    what = Text(
        "{epochs} of {model} on {system}",
        epochs=_epochs(epochs),
        model=_at_batch(run.model, run),
        system=run.system,
    )
    sure = percent(total.level)
    time, low, high = _rounded_total(total)
    interval = f"{sure}: {between(low, high)}"
    without = "start-up time not included" if START_NOT_INCLUDED in total.reasons else ""
    ends = interval if float(total.high) > float(total.low) else "as measured"
    basis = joined("; ", (ends, without))
    text = f"{what}: {time} ({basis})"
    if best.option is baseline or best.speed_ratio is None:
        return Text("{text}.", text=text)
    other = _at_batch(baseline.run.system, baseline.run)
    return Text(
        "{time}, {ratio}.", time=text, ratio=ahead_than(float(best.speed_ratio.value), other)
    )


def undecided(totals: Sequence[tuple[Option, Estimate | Refusal]]) -> str:
    """Return which options are tied with the fastest, and what to measure; empty without ties.

    `totals` are those of the measured sessions: two runs are always two sessions.
    """
    close = tied(totals)
    if not close:
        return ""
    return Text(
        "{fastest_first} is tied with {close}: the difference is smaller than the "
        "joint interval of two sessions. {measure_again}",
        fastest_first=_fastest_first(totals)[0][0].label,
        close=" and ".join(close),
        measure_again=MEASURE_AGAIN,
    )


def tied(totals: Sequence[tuple[Option, Estimate | Refusal]]) -> list[str]:
    """Return the labels of the options that are tied with the fastest, fastest first."""
    good = _fastest_first(totals)
    if len(good) < 2:
        return []
    (_, least), *rest = good
    return [
        o.label for o, t in rest if or_refusal(_in_words(o.run), partial(apart, least, t)) is False
    ]


def _fastest_first(
    totals: Sequence[tuple[Option, Estimate | Refusal]],
) -> list[tuple[Option, Estimate]]:
    good = [(o, t) for o, t in totals if isinstance(t, Estimate)]
    return sorted(good, key=lambda pair: float(pair[1].value))


def is_rough(total: Estimate) -> bool:
    """Return whether an interval is wider than ± `ROUGH`, so that seconds mean nothing."""
    return float(total.high) - float(total.low) > 2.0 * ROUGH * float(total.value)


def _rounded_total(total: Estimate) -> tuple[str, str, str]:
    """Return a total and its ends, in one unit if it is long or rough."""
    ends = total.ends
    value, low, high = map(in_words, ends)
    hidden = low == high and ends[1] < ends[2]
    if ends[0] >= IN_WHOLE_HOURS_S or is_rough(total) or hidden:
        return with_ends(*ends)
    return value, low, high


def _without(count: int) -> str:
    """Return the count of excluded runs in words; "" without one."""
    if not count:
        return ""
    return plural(count, "{count} suspect run is left out.", "{count} suspect runs are left out.")


def chart_epochs(epochs: int) -> Floats:
    """Return whole numbers of epochs for a curve, from 1 past `epochs`, log-spaced."""
    last = max(epochs * 1.25, 100.0)
    spread = np.geomspace(1, last, CHART_POINTS).round()
    quick = [float(n) for n in QUICK if n <= last]
    return np.unique(np.r_[spread, quick, float(epochs)])


def _failed(run: Run) -> Refusal | None:
    """Return why a run has no training time; None where it has."""
    if run.status == "ok":
        return INFERENCE if run.mode == "inference" else None
    why = f": {run.status_reason}" if run.status_reason else ""
    return Refusal(
        reason=Text("The run ended as {status}{why}.", status=run.status, why=why),
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
        reason = (
            Text("Only the mean of epochs 2 and later was recorded, {later_s} s: epoch 1 and the "
                 "time before it are missing.", later_s=later_s)
            if run.pre_train_s is None
            else Text("Only the mean of epochs 2 and later was recorded, {later_s} s: epoch 1 is "
                      "missing.", later_s=later_s)
        )  # fmt: skip
        return Refusal(
            reason=reason, measure_next="Measure the first epoch and the time before it."
        )
    return None


def _pre_train_s(run: Run, first_epoch_s: float) -> float | None:
    """Return the start-up time [s]: as measured, else from the sum with epoch 1."""
    until_s = run.until_first_epoch_end_s
    if run.pre_train_s is not None or until_s is None:
        return run.pre_train_s
    return until_s - first_epoch_s if until_s >= first_epoch_s else None


def _in_words(run: Run) -> str:
    """Return the run as a refusal and the log name it."""
    return Text("{run} on {system}", run=_at_batch("the run", run), system=run.system)


def measured_epochs(option: Option) -> float:
    """Return the measured epochs of an option, counted in epochs of the question; at least one."""
    return (option.run.epochs_measured or 1) / timed_ratio(option)


def timed_ratio(option: Option) -> float:
    """Return the timed epochs in one epoch of an option, 1 where refused."""
    return 1.0 if isinstance(option.conversion, Refusal) else option.conversion.ratio


def _noted(result: Estimate | Refusal, converted: Conversion) -> Estimate | Refusal:
    """Return a time with the reasons and the basis of its conversion."""
    if isinstance(result, Refusal) or not converted.reasons:
        return result
    basis = "extrapolated" if converted.far else result.basis
    return replace(result, basis=basis, reasons=(*result.reasons, *converted.reasons))


def _rank(answer: OptionTotal) -> tuple[bool, float]:
    refused = isinstance(answer.total, Refusal)
    return refused, 0.0 if isinstance(answer.total, Refusal) else float(answer.total.value)


def _named(run: Run, before_batch: str) -> str:
    batch = run.global_batch_size
    return run.system if batch is None else f"{run.system}{before_batch}{batch:,}"


def _at_batch(what: str, run: Run) -> str:
    if run.global_batch_size is None:
        return what
    return Text("{what} at batch {batch}", what=what, batch=plain(run.global_batch_size))


def epochs_in_words(epochs: int) -> str:
    """Return `1 epoch` or `2,000 epochs` for headings; the sentence to paste has 2000."""
    return several(epochs, "epoch")


def _epochs(epochs: int) -> str:
    return plural(epochs, "{count} epoch", "{epochs} epochs", epochs=counted(epochs))


def is_converted(option: Option) -> bool:
    """Return whether the timed epochs of a run have another size than those of the question."""
    return not is_speed_only(option.run) and timed_ratio(option) != 1.0


def basis_in_words(option: Option, epochs: int) -> str:
    """Return the basis of the total: measured or published, converted, projected."""
    run = option.run
    if is_speed_only(run):
        return Text("{basis} samples/s, start-up time not included", basis=run.basis)
    ratio = timed_ratio(option)
    count = f"{run.epochs_measured} epochs" if run.epochs_measured else "epochs not counted"
    projected = run.epochs_measured is not None and epochs * ratio > run.epochs_measured
    return joined(", ", (
        run.basis, count, "converted" if is_converted(option) else "",
        "projected" if projected else "", "" if run.has_start else "start-up time not included",
    ))  # fmt: skip


_COUNT: Final = re.compile(r"([0-9]{1,9}) × ")
EpochTimes = Callable[[Sequence[str]], Mapping[str, tuple[float, ...]]]
"""Seconds of each epoch of runs, by their ids; runs without single epochs may be missing."""
MOST_LINES: Final = 12
MOST_CHOSEN: Final = MOST_LINES - 1
"""The one that all are compared with is drawn as well."""
PREFERRED: Final = 5


def offered(runs: Sequence[Run], epoch_times: EpochTimes) -> list[Option]:
    """Return runs as options, by accelerator count, in their order otherwise.

    Single epochs are read only if the summary lacks them.
    """
    bare = [r for r in runs if r.later_epoch_mean_s is None and r.asymptotic_throughput is None]
    every = options_of(runs, epoch_times([r.run_id for r in bare if r.status == "ok"]))
    return sorted(every, key=lambda option: _accelerators(option.run.system))


def _accelerators(system: str) -> int:
    """Return the count in a system's name: 16 of '16 × H100 on 2 nodes', else 1."""
    count = _COUNT.match(system)
    return int(count[1]) if count else 1


def with_epochs(options: Sequence[Option], epoch_times: EpochTimes) -> list[Option]:
    """Return options with single epochs, where there are enough to show a change."""
    enough = [o.run.run_id for o in options if not o.epoch_s and _may_change(o.run)]
    times = epoch_times(enough)
    return [replace(o, epoch_s=times.get(o.run.run_id, ()) or o.epoch_s) for o in options]


def _may_change(run: Run) -> bool:
    """Return whether it has epochs enough for a change of pace to be seen."""
    return run.status == "ok" and (run.epochs_measured or 0) > 2 * SHORTEST


def usual_options(by_slug: Mapping[str, Option], size: EpochSize = ONE_PASS) -> list[str]:
    """Return the initial systems, with epochs of one size.

    The fastest of all, of each system the fastest, the smallest and the largest batch, then others
    between while there are few; those with an answer first.
    """
    sized = dict(zip(by_slug, with_sizes(list(by_slug.values()), size), strict=True))
    totals = {s: total_time(o, EPOCHS) for s, o in sized.items()}
    good = {s: float(t.value) for s, t in totals.items() if isinstance(t, Estimate)}
    pool = list(good) or list(by_slug)
    groups: dict[str, list[str]] = {}
    for s in pool:
        groups.setdefault(by_slug[s].run.system, []).append(s)
    picked = [min(good, key=good.__getitem__)] if good else []
    if good:
        picked += [min(members, key=good.__getitem__) for members in groups.values()]
    for members in groups.values():
        picked += [members[0], members[-1]]
    for members in sorted(groups.values(), key=len, reverse=True):
        picked += [members[len(members) * k // 4] for k in (2, 3, 1)]
    most = min(max(PREFERRED, len(groups)), MOST_CHOSEN)
    chosen = list(dict.fromkeys(picked))[:most]
    return [s for s in by_slug if s in chosen]
