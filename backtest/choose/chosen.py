"""All constants that can be chosen with whole data sets left out, chosen again."""

from backtest.choose.choice import ConstantChoice
from backtest.choose.correction import correction_choices
from backtest.choose.devices import device_choices
from backtest.choose.epochs import epoch_choices
from backtest.choose.lines import form_choices, prior_choices
from backtest.data.cases import Read


def choices(read: Read) -> list[ConstantChoice]:
    """Return all choices in the order of the page; missing data sets have none."""
    parts = (prior_choices, form_choices, correction_choices, device_choices, epoch_choices)
    return [choice for part in parts for choice in part(read)]
