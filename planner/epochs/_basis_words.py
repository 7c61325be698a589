"""The basis of a measured total as a sentence."""

from __future__ import annotations

from planner.epochs.epoch_size import is_speed_only
from planner.epochs.how_long import Option, timed_ratio


def basis_in_words(option: Option, epochs: int) -> str:
    """Return the basis of the total: measured or published, converted, projected."""
    run = option.run
    if is_speed_only(run):
        return f"{run.basis} samples/s, start-up time not included"
    ratio = timed_ratio(option)
    count = f"{run.epochs_measured} epochs" if run.epochs_measured else "epochs not counted"
    projected = run.epochs_measured is not None and epochs * ratio > run.epochs_measured
    more = f"{', converted' if ratio != 1.0 else ''}{', projected' if projected else ''}"
    start = "" if run.start_known else ", start-up time not included"
    return f"{run.basis}, {count}{more}{start}"
