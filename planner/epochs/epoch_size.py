"""The size of an epoch [samples]: one for all runs of a workload, so that epochs compare.

An epoch is one pass over the training samples of the data set. A run may time less, so the size is
decided once for all runs, and a run that timed another number of samples is converted:

    time of an epoch = time of a timed epoch * samples of an epoch/samples of a timed epoch

The size is the first of these that applies:

    given       the user entered it
    stated      all runs state one number of training samples
    published   the data set is public (`planner.runs._run`); a synthetic stand-in has
                the size of the original
    timed       the epochs of all runs have one size, within `SAME`: no run is converted
    unstated    no run states how many samples an epoch has: each epoch is one pass
    unknown     epochs differ, or none was timed, and nothing gives the size: nothing is ranked

A run without stated samples is refused beside runs with them. If no run states any, an entered size
applies to hardware without runs only. A feed that drops the last partial batch is reported, not
converted. Validation is converted by its own sizes where its time and both sizes are stated.

Reasons: docs/decisions/0024-size-of-an-epoch.md.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from planner.core import Parameter, Refusal, Text, paragraph, percent, plain
from planner.runs import Run, dataset_size, is_stand_in

Source = Literal["given", "stated", "published", "timed", "unstated", "unknown"]

SAME: Final = 0.02
"""Epochs that differ by less are of one size: the last partial batch is dropped [share]."""
SAME_BY_SPEED: Final = 0.10
"""The same for a size computed from printed samples/s, which are rounded [share]."""
FAR: Final = 2.0
"""Ratio of an epoch to the timed one above which the total is an extrapolation."""
MOST_SAMPLES: Final = 1e15
"""Largest size of an epoch that is accepted [samples]."""
SAMPLES_PER_EPOCH: Final = Parameter(
    name="samples_per_epoch",
    words="training samples of an epoch; without it the size of the data set",
    kind="whole", unit="samples", least=1, most=MOST_SAMPLES, short=True,
    help="Training samples of one epoch",
)  # fmt: skip
"""The same name in links, commands, the HTTP interface and the run table."""
ADD_SIZE: Final = (
    "Enter the samples per epoch (samples_per_epoch), or add train_samples to the runs."
)
ADD_TIMED: Final = "Add samples_per_epoch to this run: the samples that its epochs timed."
UNLIKE: Final = "The samples in its epochs are not stated, unlike those of other runs."
UNSTATED: Final = "No run states the samples of its epochs: each timed epoch is one full pass."
"""Note that an entered size does not change totals of runs without stated samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochSize:
    """Samples of an epoch and of its validation, with their source and a sentence.

    `samples` is None where epochs are used as timed ("unstated") or nothing can be ranked
    ("unknown"); `validation_samples` is None where it scales with the rest. `some_state`
    is whether any run of the workload states the samples of its epochs.
    """

    source: Source
    samples: float | None = None
    validation_samples: float | None = None
    some_state: bool = False
    sentence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """Timed epochs as epochs of the size in question: how many times as long, and why.

    `ratio` is 1 where nothing is converted; `far` marks an epoch more than twice as large or small
    as the timed one. `reasons` are sentences for the reader of the result.
    """

    ratio: float = 1.0
    far: bool = False
    reasons: tuple[str, ...] = ()


AS_TIMED: Final = Conversion()
NOT_STATED: Final = EpochSize(
    source="unknown", sentence="The samples per epoch are not stated, so samples/s give no time."
)
ONE_PASS: Final = EpochSize(
    source="unstated",
    sentence="Runs do not state their samples per epoch; each epoch is taken as one full pass.",
)


def is_speed_only(run: Run) -> bool:
    """Return whether a training run states samples/s and no epoch time, as published tables."""
    epochs = (run.later_epoch_mean_s, run.first_epoch_s, run.until_first_epoch_end_s)
    trained = run.mode == "training" and run.status == "ok"
    return trained and bool(run.samples_per_s) and not any(epochs)


def timed_samples(run: Run, data_set: float | None = None) -> float | None:
    """Return the training samples in a timed epoch of a run; None where nothing states them.

    Steps times batch counts a partial last batch as a whole one. So an epoch of as many steps as
    it takes to read the data set is the data set, unless the feed drops the remainder.

    Args:
        run: the run.
        data_set: samples of the data set where the run does not state `train_samples`.
    """
    if run.samples_per_epoch:
        return float(run.samples_per_epoch)
    if run.steps_per_epoch and run.global_batch_size:
        whole = run.train_samples or data_set
        if whole and _is_one_pass(run.steps_per_epoch, run.global_batch_size, whole, run):
            return float(whole)
        return float(run.steps_per_epoch) * float(run.global_batch_size)
    if not run.samples_per_s or not run.later_epoch_mean_s:
        return None
    return run.samples_per_s * max(run.later_epoch_mean_s - (run.validation_s or 0.0), 0.0) or None


def epoch_size(
    runs: Sequence[Run], entered: float | None = None, stated: Collection[int] | None = None
) -> EpochSize:
    """Return the size of an epoch of these runs.

    Args:
        runs: runs of one workload; failed ones are ignored.
        entered: the size that the user entered [samples], above 0.
        stated: every `train_samples` of the workload, of any input pattern, so that the size does
            not change with the pattern; default: those of `runs`.

    Raises:
        ValueError: `entered` is not a number above 0.
    """
    good = [r for r in runs if r.status == "ok"]
    some_state = any(
        timed_samples(r) is not None or (is_speed_only(r) and not r.epochs_measured) for r in good
    )
    size = _decided(good, entered, stated)
    speeds = bool(good) and all(map(is_speed_only, good))
    if entered is not None and not some_state and not speeds:
        size = replace(size, sentence=paragraph(size.sentence, UNSTATED))
    return replace(size, some_state=some_state)


def _decided(
    good: Sequence[Run], entered: float | None, stated: Collection[int] | None
) -> EpochSize:
    public = dataset_size(next((r.dataset for r in good if r.dataset), None))
    checked = None if public is None else public.validation_samples
    if entered is not None:
        return _given(entered, checked)
    numbers = {r.train_samples for r in good} if stated is None else set(stated)
    numbers -= {None}
    stand_in = public is not None and any(is_stand_in(r.dataset) for r in good)
    if len(numbers) == 1 and not stand_in:
        samples = float(next(iter(numbers)) or 0)
        sentence = Text(
            "An epoch is {in_samples}, as its runs state.", in_samples=in_samples(samples)
        )
        return EpochSize(
            source="stated", samples=samples, validation_samples=checked, sentence=sentence
        )
    if public is not None:
        samples = float(public.train_samples)
        return EpochSize(
            source="published",
            samples=samples,
            validation_samples=checked,
            sentence=Text(
                "An epoch is {in_samples}, the size of {public}.",
                in_samples=in_samples(samples),
                public=public.name,
            ),
        )
    return _timed(good)


def conversions(runs: Sequence[Run], size: EpochSize) -> list[Conversion | Refusal]:
    """Return the conversion of each run's timed epochs to a size, in order of the runs.

    It is a refusal where sizes differ and one is not stated. The size is that of all runs of the
    workload, so a run's answer does not depend on the other chosen ones.
    """
    return [_conversion(r, size) for r in runs]


def needs_field(runs: Sequence[Run], size: EpochSize) -> bool:
    """Return whether to show a field for the size, since it changes or stops totals."""
    if size.source in {"given", "unstated", "unknown"}:
        return True
    timed = [r for r in runs if r.status == "ok" and r.later_epoch_mean_s is not None]
    converted = conversions(timed, size)
    return any(isinstance(c, Refusal) or c.ratio != 1.0 for c in converted)


def in_samples(samples: float) -> str:
    """Return a number of samples in words: `1 sample`, `1,281,167 samples`."""
    return "1 sample" if samples == 1.0 else f"{plain(round(samples), 15)} samples"


def _conversion(run: Run, size: EpochSize) -> Conversion | Refusal:
    if size.source == "unknown":
        return Refusal(reason=size.sentence, measure_next=ADD_SIZE)
    samples, timed = size.samples, timed_samples(run, size.samples)
    if timed is None and is_speed_only(run):
        return AS_TIMED
    if timed is None:
        return _unstated(size)
    if samples is None:
        return AS_TIMED
    if abs(timed / samples - 1.0) <= (SAME if _counted(run) else SAME_BY_SPEED):
        return _near(timed, samples)
    far = not 1.0 / FAR <= samples / timed <= FAR
    more = Text(
        "Timed {in_samples} an epoch, converted to {samples}.",
        in_samples=in_samples(timed),
        samples=plain(samples, 15),
    )
    return Conversion(ratio=_ratio(run, size, samples / timed), far=far, reasons=(more,))


def _given(samples: float, validation_samples: int | None) -> EpochSize:
    if not 0.0 < samples < math.inf:
        raise ValueError(
            Text(
                "samples_per_epoch is {samples}. Give a number of samples above 0.", samples=samples
            )
        )
    return EpochSize(
        source="given",
        samples=float(samples),
        validation_samples=validation_samples,
        sentence=Text("An epoch is {in_samples}, as entered.", in_samples=in_samples(samples)),
    )


def _timed(runs: Sequence[Run]) -> EpochSize:
    stating = [(r, s) for r in runs if (s := timed_samples(r)) is not None]
    if not stating:
        kept = any(r.epochs_measured for r in runs)  # single epochs may be timed without a mean
        return NOT_STATED if runs and not kept and all(map(is_speed_only, runs)) else ONE_PASS
    least, most = (end(samples for _, samples in stating) for end in (min, max))
    near = SAME if all(_counted(r) for r, _ in stating) else SAME_BY_SPEED
    if least >= (1.0 - near) * most:
        sentence = Text("An epoch is {in_samples}, as timed.", in_samples=in_samples(most))
        return EpochSize(source="timed", samples=most, sentence=sentence)
    sentence = Text(
        "Epochs differ in size: {least} to {in_samples}.",
        least=plain(round(least)),
        in_samples=in_samples(most),
    )
    return EpochSize(source="unknown", sentence=sentence)


def _unstated(size: EpochSize) -> Conversion | Refusal:
    """Return the conversion of a run without a size: one full pass, unless others state theirs.

    An entered size is that of an epoch, not that of this run's timing.
    """
    if size.some_state:
        return Refusal(reason=UNLIKE, measure_next=ADD_TIMED)
    return AS_TIMED


def _near(timed: float, samples: float) -> Conversion:
    if timed == samples:
        return AS_TIMED
    share = percent(abs(timed / samples - 1.0), 1)
    which = "fewer" if timed < samples else "more"
    return Conversion(
        reasons=(
            Text(
                "Its epochs have {in_samples}, {share} {which} than {samples}; not converted.",
                in_samples=in_samples(timed),
                share=share,
                which=which,
                samples=plain(samples, 15),
            ),
        )
    )


def _ratio(run: Run, size: EpochSize, ratio: float) -> float:
    """Return how many times as long; validation by its own sizes where they are stated."""
    mean, checked = run.later_epoch_mean_s, run.validation_s
    there, samples = run.validation_samples_per_epoch, size.validation_samples
    if not (mean and checked and there and samples) or checked >= mean:
        return ratio
    return ((mean - checked) * ratio + checked * samples / there) / mean


def _is_one_pass(steps: int, batch: int, samples: float, run: Run) -> bool:
    return not run.drop_remainder and steps == math.ceil(samples / batch)


def _counted(run: Run) -> bool:
    """Return whether its samples are stated by a count, so that they are exact."""
    return bool(run.samples_per_epoch or (run.steps_per_epoch and run.global_batch_size))
