"""Inputs of a projection: a published summary as later epochs, and its problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.core import bad_seconds
from planner.runs import EpochPrior, LaterEpochs

if TYPE_CHECKING:
    from numpy.typing import NDArray


def start_given(
    pre_train_s: float | None, first_epoch_s: float | None, until_s: float | None
) -> tuple[float, list[str]]:
    """Return the seconds until the end of epoch 1, and their problems.

    The two parts have priority over their sum. With epoch 1 alone the time starts there: see
    `start_included`.
    """
    if until_s is not None and (pre_train_s is None or first_epoch_s is None):
        return until_s, bad_seconds("everything until the end of epoch 1", until_s)
    if first_epoch_s is None:
        missing = "Neither first_epoch_s nor until_first_epoch_end_s is stated. State one of them."
        return np.nan, [missing]
    problems = bad_seconds("epoch 1", first_epoch_s)
    if pre_train_s is None:
        return first_epoch_s, problems
    return pre_train_s + first_epoch_s, bad_seconds("pre-train", pre_train_s, zero=True) + problems


def start_included(pre_train_s: float | None, until_s: float | None) -> bool:
    """Return whether a total has the start-up time in it."""
    return pre_train_s is not None or until_s is not None


def later_given(
    count: int, mean_s: float | None, sd_s: float | None, prior: EpochPrior
) -> tuple[LaterEpochs, list[str]]:
    """Return the later epochs, and their problems."""
    problems = []
    if count < 0 or count != int(count):
        problems.append(f"later_epochs is {count}. Count the epochs after the first: 0, 1, 2 ...")
    if count > 0:
        problems += bad_seconds("the mean of the later epochs", mean_s)
    if sd_s is not None and not 0.0 <= sd_s < np.inf:
        problems.append(f"later_epoch_sd_s is {sd_s} s. Give a number from 0 on, or None.")
    mean = np.nan if mean_s is None else float(mean_s)
    return LaterEpochs(count=count, mean_s=mean, sd_s=sd_s, prior=prior), problems


def bad_epochs(epochs: NDArray[np.generic], most: float) -> list[str]:
    """Return the problems of the requested numbers of epochs, up to `most`."""
    numbers = epochs.astype(np.float64).ravel()
    bad = numbers[~((numbers >= 1.0) & (numbers == np.floor(numbers)) & (numbers <= most))]
    if not bad.size:
        return []
    counted = "Epochs are counted 1, 2, 3 ..."
    return [f"epochs is {bad[0]:g}. {counted} Choose a whole number up to {most:g}."]


def bad_share(name: str, share: float) -> list[str]:
    """Return the problems of a relative deviation."""
    if 0.0 <= share < np.inf:
        return []
    return [f"{name} is {share:g}. A relative deviation is 0 or more. Give 0.02 for 2 %."]


def bad_ratio(epoch_ratio: float) -> list[str]:
    """Return the problems of the number of timed epochs in one epoch."""
    if 0.0 < epoch_ratio < np.inf:
        return []
    return [f"epoch_ratio is {epoch_ratio:g}. Give a number above 0; 1 converts nothing."]
