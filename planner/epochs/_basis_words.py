"""One sentence on how a measured total is known, wherever it is shown."""

from __future__ import annotations

from planner.epochs.epoch_size import is_speed_only
from planner.epochs.how_long import Option, timed_ratio


def basis_in_words(option: Option, epochs: int) -> str:
    """How the total is known: measured or published, converted to another size, projected."""
    run = option.run
    if is_speed_only(run):
        return f"{run.basis} samples/s, start-up time not included"
    ratio = timed_ratio(option)
    count = f"{run.epochs_measured} epochs" if run.epochs_measured else "epochs not counted"
    projected = run.epochs_measured is not None and epochs * ratio > run.epochs_measured
    more = f"{', converted' if ratio != 1.0 else ''}{', projected' if projected else ''}"
    start = "" if run.start_known else ", start-up time not included"
    return f"{run.basis}, {count}{more}{start}"
