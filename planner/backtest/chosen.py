"""All constants that can be chosen by leaving whole data sets out, chosen again."""

from __future__ import annotations

from planner.backtest.choice import Choice
from planner.backtest.chosen_correction import correction_choices
from planner.backtest.chosen_devices import device_choices
from planner.backtest.chosen_epochs import epoch_choices
from planner.backtest.chosen_form import form_choices
from planner.backtest.chosen_lines import prior_choices
from planner.backtest.source import Read


def choices(read: Read) -> list[Choice]:
    """In the order of the page; of data sets that are missing there are none."""
    parts = (prior_choices, form_choices, correction_choices, device_choices, epoch_choices)
    return [choice for part in parts for choice in part(read)]
