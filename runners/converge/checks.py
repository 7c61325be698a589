"""Checks of a sweep of steps to a target; all problems are reported as sentences."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from runners.workloads import CATALOGUE, DATASETS, OPTIMIZERS, model_title

Table = Mapping[str, Any]
SAMPLINGS: Final = ("epochwise", "with replacement")


@dataclass(frozen=True, slots=True)
class Entry:
    """Allowed values of one entry: a test, and the test in words."""

    fits: Callable[[Any], bool]
    words: str
    required: bool = False


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= least


def _above(least: float, most: float = float("inf")) -> Callable[[Any], bool]:
    return lambda v: isinstance(v, int | float) and not isinstance(v, bool) and least < v < most


def _text(value: Any) -> bool:  # noqa: ANN401 - any value
    return isinstance(value, str) and bool(value.strip())


def _table(value: Any) -> bool:  # noqa: ANN401 - any value
    return isinstance(value, Mapping)


def _batches(value: Any) -> bool:  # noqa: ANN401 - any value
    sound = isinstance(value, list) and bool(value) and all(map(_whole(1), value))
    return sound and len(set(value)) == len(value)


COUNT, NATURAL, POSITIVE = (
    Entry(_whole(1), "a whole number from 1"),
    Entry(_whole(0), "a whole number from 0"),
    Entry(_above(0), "a number above 0"),
)
TOP: Final[Table] = MappingProxyType(
    {
        "title": Entry(_text, "a line that describes the sweep", required=True),
        "about": Entry(lambda v: isinstance(v, str), "text"),
        "workload": Entry(lambda v: v in CATALOGUE, f"one of {', '.join(CATALOGUE)}", True),
        "options": Entry(_table, "a table"),
        "dataset": Entry(lambda v: v in DATASETS, f"one of {', '.join(DATASETS)}"),
        "train_samples": COUNT,
        "validation_samples": COUNT,
        "data_seed": NATURAL,
        "batch": Entry(_batches, "a list of different whole numbers from 1", required=True),
        "seeds": COUNT,
        "target": Entry(_above(0, 1), "a validation error between 0 and 1", required=True),
        "sampling": Entry(lambda v: v in SAMPLINGS, f"one of {', '.join(SAMPLINGS)}"),
        "evaluate_every": COUNT,
        "fine_batch": COUNT,
        "staleness": NATURAL,
        "together": Entry(lambda v: isinstance(v, bool), "true or false"),
        "learning_rates": Entry(_table, "a table"),
        "optimizers": Entry(
            lambda v: _table(v) and bool(v), "tables, as [optimizers.sgd]", required=True
        ),
        "limits": Entry(_table, "a table"),
    }
)
RATES: Final[Table] = MappingProxyType(
    {
        "factor": Entry(_above(1), "a number above 1"),
        "count": Entry(_whole(3), "a whole number from 3: a best rate lies between two others"),
        "widenings": NATURAL,
        "widen_by": COUNT,
    }
)
LIMITS: Final[Table] = MappingProxyType(
    {
        "steps": COUNT,
        "epochs": POSITIVE,
        "patience": Entry(lambda v: _above(0)(v) and v >= 1, "a number from 1"),
        "timeout_s": POSITIVE,
        "threads": COUNT,
    }
)
OPTIMIZER: Final[Table] = MappingProxyType(
    {"lowest_rate": Entry(_above(0), "a number above 0", required=True)}
)


NETWORK: Final[Table] = MappingProxyType(
    {
        "workload": Entry(lambda v: v in CATALOGUE, f"one of {', '.join(CATALOGUE)}", True),
        "options": Entry(_table, "a table"),
        "staleness": NATURAL,
        "optimizers": Entry(_table, "tables, as [networks.optimizers.sgd]"),
    }
)


def variant(staleness: int) -> str:
    """Return the name of training with gradients of this age [updates]; empty for fresh ones."""
    updates = "update" if staleness == 1 else "updates"
    return f"gradients {staleness} {updates} old" if staleness else ""


def per_network(body: Table) -> list[Table]:
    """Return the table of each entry of `networks`, which replaces entries of the whole."""
    shared = {k: v for k, v in body.items() if k != "networks"}
    return [{**shared, **entry} for entry in body["networks"]]


def problems_of_networks(body: Table) -> list[str]:
    """Return all problems of a sweep of several networks; an empty list if it can run."""
    entries = body["networks"]
    if not (isinstance(entries, list) and entries and all(map(_table, entries))):
        return ["networks: must be tables, as [[networks]]."]
    messages = [
        message
        for number, entry in enumerate(entries, 1)
        for message in _of_table(entry, NETWORK, f"networks {number}: ")
    ]
    if messages:
        return messages
    messages = [message for whole in per_network(body) for message in problems(whole)]
    if messages:
        return list(dict.fromkeys(messages))
    titles = [
        " ".join((model_title(e["workload"], e.get("options", {})), variant(e.get("staleness", 0))))
        for e in per_network(body)
    ]
    return [
        f"networks: {title.strip()} is listed twice. Remove one or change its options."
        for title in dict.fromkeys(titles)
        if titles.count(title) > 1
    ]


def problems(body: Table) -> list[str]:
    """Return all problems of a sweep; an empty list if it can run."""
    messages = _of_table(body, TOP, "")
    sound = {k: v for k, v in body.items() if k in TOP and _fits(TOP[k], v)}
    messages += _of_table(sound.get("learning_rates", {}), RATES, "learning_rates.")
    messages += _of_table(sound.get("limits", {}), LIMITS, "limits.")
    for name, table in sound.get("optimizers", {}).items():
        messages += _of_optimizer(name, table)
    return messages + _of_workload(sound)


def _of_table(table: Table, entries: Mapping[str, Entry], where: str) -> list[str]:
    messages = [_unknown(where + k, k, entries) for k in table if k not in entries]
    for name, entry in entries.items():
        if name not in table and entry.required:
            messages.append(f"{where}{name}: is missing. It must be {entry.words}.")
        elif name in table and not _fits(entry, table[name]):
            messages.append(f"{where}{name}: is {table[name]!r}; it must be {entry.words}.")
    return messages


def _fits(entry: Entry, value: Any) -> bool:  # noqa: ANN401 - any value
    try:
        return entry.fits(value)
    except TypeError:  # a list is not a name of anything
        return False


def _of_optimizer(name: str, table: Any) -> list[str]:  # noqa: ANN401 - any value
    if name not in OPTIMIZERS:
        return [_unknown(f"optimizers.{name}", name, OPTIMIZERS)]
    if not _table(table):
        return [f"optimizers.{name}: must be a table, as [optimizers.{name}]."]
    return _of_table(table, OPTIMIZER, f"optimizers.{name}.")


def _of_workload(sound: Table) -> list[str]:
    """Return the problems between the network, its data and the batch sizes."""
    workload = CATALOGUE.get(sound.get("workload", ""))
    if workload is None:
        return []
    options = sound.get("options", {})
    messages = [_unknown(f"options.{k}", k, workload.options) for k in options
             if k not in workload.options]  # fmt: skip
    data = DATASETS[sound.get("dataset", workload.dataset)]
    if data.task != workload.task:
        messages.append(
            f"dataset: {data.name} holds {data.task}, {workload.name} takes {workload.task}."
        )
    return messages + _of_samples(
        sound, data.train_samples, data.validation_samples, data.synthetic
    )


def _of_samples(sound: Table, held: int, held_back: int, synthetic: bool) -> list[str]:  # noqa: FBT001
    messages = []
    train = sound.get("train_samples", held)
    for name, there in (("train_samples", held), ("validation_samples", held_back)):
        if not synthetic and sound.get(name, there) > there:
            messages.append(f"{name}: is {sound[name]}; the data set holds {there}.")
    large = [b for b in sound.get("batch", ()) if b > train]
    if large and sound.get("sampling") != "with replacement":
        sizes = ", ".join(map(str, large))
        messages.append(
            f"batch: {sizes} is more than the {train} training samples. Leave it out, or set "
            'sampling = "with replacement" (such a batch repeats samples).'
        )
    return messages


def _unknown(where: str, name: str, allowed: Iterable[str]) -> str:
    names = list(allowed)
    close = difflib.get_close_matches(name, names, 1)
    hint = f"Did you mean {close[0]}?" if close else f"Choose from: {', '.join(names)}."
    return f"{where}: is unknown. {hint}"
