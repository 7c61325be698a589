"""The answer of How long? at a glance: tiles, one line, and the ranked options as cards."""

from collections.abc import Mapping

from planner import figures
from planner.core import (
    Estimate,
    Refusal,
    Text,
    between,
    in_one_unit,
    listed_words,
    plural,
    with_ends,
)
from planner.epochs import HowLong, OptionTotal, basis_in_words, epochs_in_words

MOST_NAMED = 2
"""Tied options that are named; of more, the rest is counted."""


def tiles(result: HowLong) -> list[figures.Tile]:
    """Return the time of the fastest option, its speed against the baseline, and the next best."""
    best, *others = result.answers
    made = [figures.time_tile(epochs_in_words(result.epochs), best.total)]
    if isinstance(best.total, Refusal):
        return made
    if best.speed_ratio is not None and best.option is not result.baseline:
        against = Text("Faster than {baseline}", baseline=result.baseline.label)
        made.append(figures.number_tile(against, best.speed_ratio, "times"))
    runner_up = next((a for a in others if isinstance(a.total, Estimate)), None)
    if runner_up is not None:
        made.append(figures.time_tile(f"Next: {runner_up.option.label}", runner_up.total))
    return made


def line(result: HowLong) -> str:
    """Return one plain line: which options are tied with the first, or that none is."""
    best, *others = result.answers
    if isinstance(best.total, Refusal):
        return best.total.measure_next
    if result.tied:
        names = list(result.tied)
        if len(names) > MOST_NAMED + 1:
            names = [*names[:MOST_NAMED], f"{len(names) - MOST_NAMED} more"]
        return Text("Too close to call with {listed_words}.", listed_words=listed_words(names))
    rest = sum(isinstance(a.total, Estimate) for a in others)
    if not rest:
        return ""
    return plural(
        rest,
        "Clearly faster than the other option.",
        "Clearly faster than the other {count} options.",
    )


def badge(result: HowLong) -> str:
    """Return the basis of the first option's time."""
    best = result.answers[0]
    refused = isinstance(best.total, Refusal)
    return "" if refused else basis_in_words(best.option, result.epochs)


def total_cells(answer: OptionTotal) -> tuple[str, str]:
    """Return a total and its interval, in one unit: '25.4 h' and '25 to 25.8 h'."""
    total = answer.total
    if isinstance(total, Refusal):
        return "–", "–"
    if total.low == total.high:
        return in_one_unit(float(total.value)), "–"
    value, low, high = with_ends(*total.ends)
    return value, between(low, high)


def cards(result: HowLong, suspect: Mapping[str, str], speeds: list[str]) -> list[figures.Card]:
    """Return the ranked options as cards; `speeds` are those against the baseline."""
    made = []
    for place, (answer, speed) in enumerate(zip(result.answers, speeds, strict=True), start=1):
        total, interval = total_cells(answer)
        refused = isinstance(answer.total, Refusal)
        notes = [
            answer.total.reason if isinstance(answer.total, Refusal) else
            basis_in_words(answer.option, result.epochs),
            "suspect run" if answer.option.run.run_id in suspect else "",
        ]  # fmt: skip
        made.append(
            figures.Card(
                title=answer.option.label,
                end="" if refused else str(place),
                values=((total, "" if interval == "–" else interval), (speed, "")),
                note=" · ".join(n for n in notes if n),
            )
        )
    return made
