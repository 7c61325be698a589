"""Times to the target that published runs state, in sentences and rows."""

from collections.abc import Mapping, Sequence

from planner.core import HOUR_S, Record, Text, cell, estimate_cells, in_words, paragraph, plural
from planner.job import StatedTime, stated_interval
from planner.time_to_target.sentences import TargetWords


def stated_sentences(goal: TargetWords, times: Sequence[StatedTime]) -> list[str]:
    """Return the fastest stated time, and that of the hardware with most runs."""
    fastest = min(times, key=lambda t: t.seconds[0])
    typical = max(times, key=lambda t: (len(t.seconds), -t.hardware.count))
    runs = sum(len(t.seconds) for t in times)
    first = Text(
        "{trained} reached {target} in {time} on {system}.",
        trained=goal.trained,
        target=goal.target,
        time=in_words(fastest.seconds[0]),
        system=stated_name(fastest),
    )
    among = plural(runs, "It is the only published run.",
                   "It is the fastest of {count:,} published runs.")  # fmt: skip
    if typical is fastest:
        return [paragraph(first, among)]
    median = Text(
        "{system} took {time} ({runs}).",
        system=stated_name(typical),
        time=in_words(typical.median_s),
        runs=_median_of(typical),
    )
    return [paragraph(first, among, median)]


def stated_lead(times: Sequence[StatedTime]) -> tuple[str, bool]:
    """Return the two fastest systems by their medians in one line, and whether they are tied.

    They are tied where the intervals of one more run overlap; "" of a system alone.
    """
    first, *others = sorted(times, key=lambda t: t.median_s)
    if not others:
        return "", False
    own, other = (stated_interval(t, times) for t in (first, others[0]))
    a, b = stated_name(first), stated_name(others[0])
    if float(own.high) < float(other.low):
        return Text("{first} is faster than {second}.", first=a, second=b), False
    return Text("{first} and {second} are too close to call.", first=a, second=b), True


def stated_name(time: StatedTime) -> str:
    """Return accelerators with their count: '3,584 × H100 SXM5 80GB'."""
    card = time.hardware.accelerator
    return time.hardware.label if card is None else f"{time.hardware.count:,} × {card.name}"


def stated_rows(times: Sequence[StatedTime]) -> list[Record]:
    """Return the median time of every accelerator and count, with its interval and runs."""
    rows: list[Record] = []
    for time in times:
        card, whole = time.hardware.accelerator, stated_interval(time, times)
        rows.append(
            {
                "system": time.hardware.label,
                "accelerator": time.hardware.label if card is None else card.name,
                "devices": time.hardware.count,
                "nodes": time.hardware.nodes,
                "runs": len(time.seconds),
                "global_batch_size": None if time.batch is None else int(time.batch),
                **estimate_cells("time_to_target_s", whole),
                "fastest_s": cell(time.seconds[0]),
                "slowest_s": cell(time.seconds[-1]),
                "device_hours": _device_hours(time),
            }
        )
    return rows


def with_stated(rows: Sequence[Record], times: Sequence[StatedTime]) -> list[Record]:
    """Return rows of `device_rows`; those without an answer get the time `stated` there."""
    by_system = {t.hardware.label: t for t in times}
    return [_with(row, by_system) for row in rows]


def _with(row: Record, by_system: Mapping[str, StatedTime]) -> Record:
    time = by_system.get(str(row["system"]))
    if time is None or row["least_s"] is not None:
        return row
    return {
        **row,
        "best_batch": time.batch,
        "best_batch_low": time.batch,
        "best_batch_high": time.batch,
        "least_s": cell(time.median_s),
        "device_hours": _device_hours(time),
        "refused": None,
        "stated": Text("Stated, {median_of}.", median_of=_median_of(time)),
    }


def _median_of(time: StatedTime) -> str:
    runs = len(time.seconds)
    return "1 run" if runs == 1 else Text("median of {runs:,} runs", runs=runs)


def _device_hours(time: StatedTime) -> float | None:
    return cell(time.hardware.devices * time.median_s / HOUR_S)
