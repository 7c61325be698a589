"""Checks for measured runs that need a second look.

Every check is a pure function of flat records and returns named flags. A flag states the anomaly
with its numbers; the run is kept until the user decides.

    flag                       value of the flag                 flagged where
    unlike its neighbours      robust z [1]                      |z| > UNLIKE
    unsteady epochs            variation of later epochs [share] > 0.20
    throughput falls           share lost between two batches    > 0.10
    impossible scaling         speed-up / ideal speed-up [1]     > 1.15
    duplicate                  numbers that are identical [1]    all of them, 8 or 12 digits
    zero for missing           0                                 a number that cannot be 0 is 0
    unit slip                  factor against the expected one   half to twice 60, 1000 or 3600
                               1                                 a published speed is far too low
    above the peak             1                                 a published speed is impossible

Where runs contradict each other, the few that take part in every contradiction are flagged
(`planner.suspects._curves`). All but unsteady epochs make a run a candidate to leave out of a fit
(`LEFT_OUT`): varying epochs make a mean less precise, not wrong.

A unit slip is a time 60, 1000 or 3600 times off. The expected value comes from these sources; the
first wrong unit is reported:

    neighbours       the epoch time against configuration and pattern
    other batches    the step time against batches that agree (`planner.suspects._curves`)
    the run itself   a total and its parts, an epoch and its steps, a first epoch far too short
    its case         a start (`pre_train_s`) far shorter than the even ones of 3 or more other runs
    the scatter      a standard deviation that epochs of that mean cannot have

Possible values are not flagged: a scatter 60 times too small, or a long start without a total time.

A duplicate shares all measured numbers: to SAME_FACTORS digits with a run of the same factors,
whose repeats share the first ones anyway, to OTHER_FACTORS with any other run of the workload.

Evidence: docs/evidence.md#suspect-runs.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Final

import numpy as np

from planner.core import LARGEST, SMALLEST, Text, in_words, paragraph, percent
from planner.epochs import MAX_CV
from planner.runs import CheckedRun, case_of, configuration_of, grouped, is_positive
from planner.suspects._curves import NEAR, against_other_batches, falling_flags, scaling_flags
from planner.suspects._flags import Flag, flag
from planner.suspects.neighbours import FEWEST, neighbours

SLIPS: Final = {60.0: "minutes for seconds", 1000.0: "milliseconds for seconds",
                3600.0: "hours for seconds"}  # fmt: skip
EVEN: Final = 3.0
"""Largest ratio of the starts of a case that counts as even."""
EXACT: Final = 1.1
"""Tolerance of a sum after its part with a wrong unit is corrected."""


def unit_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Return runs with a number about 60, 1000 or 3600 times the expected one."""
    against, others, starts = neighbours(runs).ratio, against_other_batches(runs), _starts(runs)
    flags = []
    for run, near in zip(runs, against, strict=True):
        comparisons = (
            (float(near), "an epoch against its neighbours"),
            (others.get(run.run_id, math.nan), "a step against other batches"),
            *_computed(run),
            (starts.get(run.run_id, math.nan), "pre_train_s against others of its case"),
        )
        odd = next((_evidence(run, r, what) for r, what in comparisons if _slip(r)), None)
        odd = odd or next(_too_scattered(run), None)
        flags += [odd] if odd else []
    return flags


def _computed(run: CheckedRun) -> tuple[tuple[float, str], ...]:
    """Return the ratios of a run; none where its numbers overflow a float."""
    try:
        return tuple(_own_ratios(run))
    except (ArithmeticError, ValueError):
        return ()


def _evidence(run: CheckedRun, ratio: float, what: str) -> Flag:
    slip = _slip(ratio) or math.nan
    many = f"{ratio:,.0f} times" if ratio > 1.0 else f"1/{1.0 / ratio:,.0f}"
    evidence = Text(
        "{what} is {many} as much, near {slip:g}: {slips}?",
        what=what,
        many=many,
        slip=slip,
        slips=SLIPS[slip],
    )
    return flag("unit slip", run, evidence, ratio)


def _own_ratios(run: CheckedRun) -> Iterator[tuple[float, str]]:
    """Return ratios of redundant numbers of one run, with their names."""
    mean, later = run.later_epoch_mean_s, (run.epochs_measured or 0) - 1
    start = {"pre_train_s": run.pre_train_s or 0.0, "first_epoch_s": run.first_epoch_s or 0.0}
    until = run.until_first_epoch_end_s
    if until and all(start.values()):
        yield _against_sum(until, start, "until_first_epoch_end_s", "its parts")
    parts = {"until_first_epoch_end_s": until} if until else start
    if run.total_s and mean and any(parts.values()) and later > 0:
        parts = {**parts, "later_epoch_mean_s": later * mean}
        yield _against_sum(run.total_s, parts, "total_s", "the sum of its epochs")
    if run.step_time_s and mean and run.steps_per_epoch:
        yield mean / (run.step_time_s * run.steps_per_epoch), "an epoch against its steps"
    if run.samples_per_s and mean and run.samples_per_epoch:
        yield run.samples_per_s * mean / run.samples_per_epoch, "an epoch against its samples/s"
    if run.first_epoch_s and mean and run.first_epoch_s < mean:
        yield run.first_epoch_s / mean, "first_epoch_s against a later epoch"
    if until and mean and until < mean:
        yield until / mean, "until_first_epoch_end_s against a later epoch"


def _against_sum(
    total: float, parts: Mapping[str, float], name: str, what: str
) -> tuple[float, str]:
    """Return the number of a sum with a wrong unit: the whole, or the part that explains it.

    A sum within a factor of 2 may instead have a part that was not timed.
    """
    whole = total / sum(parts.values())
    if 1.0 / NEAR < whole < NEAR:
        return math.nan, ""
    candidates = [
        (_off(whole, _slip(whole) or 1.0), math.log(NEAR), whole, f"{name} against {what}")
    ]
    for part, value in parts.items():
        for factor in (f**way for f in SLIPS for way in (1, -1)):
            corrected_sum = sum(parts.values()) + value * (1.0 / factor - 1.0)
            off = abs(math.log(total / corrected_sum))
            candidates.append(
                (
                    off,
                    math.log(EXACT),
                    factor,
                    Text("{part} against {name} and the rest", part=part, name=name),
                )
            )
    off, allowed, ratio, label = min(candidates, key=lambda candidate: candidate[0])
    return (ratio, label) if off < allowed else (math.nan, "")


def _starts(runs: Sequence[CheckedRun]) -> dict[str, float]:
    """Return how much of the usual start of its case a run took, by run_id, where that is far less.

    The largest gap between starts parts them; those above it must be more, 3 or more, and even. A
    start that is far longer than others may have had a reason: data to fetch, code to compile.
    """
    ratios: dict[str, float] = {}
    for members in grouped(runs, lambda run: (case_of(run), run.devices)):
        started = [run for run in members if is_positive(run.pre_train_s)]
        starts = sorted((run.pre_train_s or 0.0, run.run_id) for run in started)
        if len(starts) <= FEWEST:
            continue
        log = np.log([start for start, _ in starts])
        first = int(np.diff(log).argmax()) + 1
        usual = log[first:]
        if usual.size > max(first, FEWEST - 1) and usual[-1] - usual[0] < math.log(EVEN):
            off = np.exp(log[:first] - np.median(usual))
            ratios |= {run: float(r) for (_, run), r in zip(starts[:first], off, strict=True)}
    return ratios


def _too_scattered(run: CheckedRun) -> Iterator[Flag]:
    """Yield a standard deviation that no epochs of that mean can have.

    At most sqrt(n - 1) times it.
    """
    mean, later, sd = run.later_epoch_mean_s, (run.epochs_measured or 1) - 1, run.later_epoch_sd_s
    if sd and mean and later > 1 and sd > math.sqrt(later) * mean:
        evidence = Text(
            "later_epoch_sd_s is {sd:,.1f} times the mean, more than {later} epochs can scatter: "
            "another unit?",
            sd=sd / mean,
            later=later,
        )
        yield flag("unit slip", run, evidence, sd / mean)


def _slip(ratio: float) -> float | None:
    """Return the factor a ratio is near, either way round."""
    if not is_positive(ratio):
        return None
    nearest = min(SLIPS, key=lambda factor: _off(ratio, factor))
    return nearest if _off(ratio, nearest) < math.log(NEAR) else None


def _off(ratio: float, factor: float) -> float:
    """Return how far a ratio is from a factor or its inverse, in logarithms."""
    return abs(abs(math.log(ratio)) - math.log(factor)) if is_positive(ratio) else math.inf


TIMES: Final = ("pre_train_s", "first_epoch_s", "until_first_epoch_end_s", "later_epoch_mean_s",
                "later_epoch_sd_s", "total_s")  # fmt: skip
"""Measured numbers that two runs never share by chance."""
RATES: Final = ("step_time_s", "samples_per_s")
"""Used for runs without times; often one is computed from the other."""
SAME_FACTORS: Final = 8
OTHER_FACTORS: Final = 12
"""Significant digits that runs of the same and of other factors share before one is a copy."""


def duplicate_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Return runs of one workload with identical measured numbers: copies, not repeats."""
    first: dict[Hashable, CheckedRun] = {}
    same: dict[Hashable, CheckedRun] = {}
    flags = []
    for run in runs:
        if not (numbers := _measured(run)):
            continue
        alike = same.setdefault((_factors(run), numbers), run)
        other = first.setdefault((run.workload, numbers), run)
        original, digits = (alike, SAME_FACTORS) if alike is not run else (other, OTHER_FACTORS)
        if original is not run and _digits(run, numbers) >= digits:
            flags.append(_copy(run, original, len(numbers)))
    return flags


def _copy(run: CheckedRun, original: CheckedRun, count: int) -> Flag:
    all_of = (
        "its one number is that"
        if count == 1
        else Text("all {count} measured times are those", count=count)
    )
    same = Text(
        "{all_of} of run {run_id} to the last digit.", all_of=all_of, run_id=original.run_id
    )
    origin = Text(
        "That run is of {original}, {pattern}.", original=original.label, pattern=original.pattern
    )
    alike = _factors(run) == _factors(original)
    evidence = paragraph(same, "" if alike else origin, "One is a copy.")
    return flag("duplicate", run, evidence, count)


def _factors(run: CheckedRun) -> tuple[Hashable, ...]:
    return case_of(run), configuration_of(run)


def _measured(run: CheckedRun) -> tuple[tuple[str, float], ...]:
    """Return the times by name, or else the first rate; zeros are not measured."""
    present = [(n, v) for n in (*TIMES, *RATES) if is_positive(v := getattr(run, n))]
    times = [number for number in present if number[0] in TIMES]
    return tuple(times or present[:1])


def _digits(run: CheckedRun, numbers: Sequence[tuple[str, float]]) -> int:
    """Return the significant digits of all numbers; of rates those of the shorter one."""
    if numbers[0][0] in RATES:
        return min(_significant(v) for n in RATES if is_positive(v := getattr(run, n)))
    return sum(_significant(value) for value in {value for _, value in numbers})


def _significant(value: float) -> int:
    """Return the significant digits of a number: 4 of 12.34, 0.001234 or 123400."""
    return len(repr(float(value)).split("e")[0].replace(".", "").strip("0"))


UNLIKE: Final = 10.0
"""Robust z above which a run is unlike its neighbours."""
_TEXTS: Final = frozenset({
    "run_id", "label", "workload", "software", "pattern", "system_name", "suspect_reason",
})  # fmt: skip
_NUMBERS: Final = tuple(f.name for f in fields(CheckedRun) if f.name not in _TEXTS)
NEVER_ZERO: Final = (
    "pre_train_s", "first_epoch_s", "until_first_epoch_end_s", "later_epoch_mean_s", "total_s",
    "step_time_s", "samples_per_s", "steps_per_epoch", "samples_per_epoch", "global_batch_size",
)  # fmt: skip


def suspects(runs: Sequence[CheckedRun]) -> tuple[Flag, ...]:
    """Return all flags of all checks; one run may have several.

    Runs with a wrong unit are excluded from the checks that compare runs.
    """
    whole = [run for run in runs if _comparable(run)]
    slips = unit_flags(whole)
    slipped = {flag.run for flag in slips}
    sound = [run for run in whole if run.run_id not in slipped]
    return (
        *neighbour_flags(sound),
        *epoch_flags(whole),
        *falling_flags(sound),
        *scaling_flags(sound),
        *duplicate_flags(runs),
        *zero_flags(runs),
        *slips,
        *peak_flags(runs),
    )


def _comparable(run: CheckedRun) -> bool:
    """Return whether ratios of all its numbers can be squared; the store accepts no others."""
    numbers = (getattr(run, name) for name in _NUMBERS)
    return all(SMALLEST <= abs(number) <= LARGEST for number in numbers if number)


def neighbour_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Return runs whose epoch time differs from that of their neighbours."""
    compared = neighbours(runs)
    flags = []
    for run, ratio, z in zip(runs, compared.ratio, compared.z, strict=True):
        if abs(z) > UNLIKE:
            epoch = in_words(run.later_epoch_mean_s or math.nan)
            evidence = Text(
                "{epoch} an epoch, {ratio:.2f} times that of its neighbours in batch and "
                "pattern. Robust z is {value:.1f}; at most {unlike:g} is scatter.",
                epoch=epoch,
                ratio=ratio,
                value=z,
                unlike=UNLIKE,
            )
            flags.append(flag("unlike its neighbours", run, evidence, z))
    return flags


def epoch_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Return runs whose later epochs vary by more than 20 % (ddof = 1)."""
    flags = []
    for run in runs:
        later, sd = (run.epochs_measured or 1) - 1, run.later_epoch_sd_s
        if later < 2 or sd is None or not is_positive(run.later_epoch_mean_s):
            continue
        variation = math.sqrt(later / (later - 1)) * sd / (run.later_epoch_mean_s or math.nan)
        if variation > MAX_CV:
            evidence = Text(
                "its {later} later epochs vary by {variation} (standard deviation "
                "over mean); above 20 % they are not of one kind.",
                later=later,
                variation=percent(variation, 1),
            )
            flags.append(flag("unsteady epochs", run, evidence, variation))
    return flags


def peak_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Return published runs above the peak of the data sheet, or too slow to be in their unit."""
    return [
        flag("above the peak" if "exceed" in reason else "unit slip", run, reason, 1.0)
        for run in runs
        if (reason := run.suspect_reason)
    ]


def zero_flags(runs: Sequence[CheckedRun]) -> list[Flag]:
    """Return runs with a 0 where only a missing value can be.

    Times, counts, the scatter of 3 epochs.
    """
    flags = []
    for run in runs:
        zeros = [name for name in NEVER_ZERO if getattr(run, name) == 0]
        if run.later_epoch_sd_s == 0 and (run.epochs_measured or 0) > 2:
            zeros.append("later_epoch_sd_s")
        if zeros:
            evidence = Text(
                "{zeros} is 0, which cannot be a measurement. Leave out unknown values.",
                zeros=", ".join(zeros),
            )
            flags.append(flag("zero for missing", run, evidence, 0.0))
    return flags


ANY: Final = "any"
NONE: Final = "none"
"""Options of the filter on suspect runs, besides the names of the flags."""


def narrowed(flags: Mapping[str, Sequence[Flag]], chosen: Sequence[str]) -> dict[str, list[str]]:
    """Return the runs selected by flags, as a filter for the store."""
    if not chosen:
        return {}
    selected = [r for r, own in flags.items() if ANY in chosen or {f.name for f in own} & {*chosen}]
    if NONE not in chosen:
        return {"only": sorted(selected)}
    return {"but": sorted(set(flags).difference(selected))}
