"""Refuse one row that cannot be computed instead of failing the whole answer.

A shared folder may have any number that fits its column. Formulas raise for contradictions; a page
with many rows must still show the others.
"""

import logging
from collections.abc import Callable
from typing import Final, TypeVar

import numpy as np

from planner.core._durations import YEAR_S
from planner.core._estimate import Estimate, Refusal
from planner.core._numbers import plain
from planner.core._text import Text
from planner.core.limits import UNITS

Answer = TypeVar("Answer")
LONGEST_S: Final = UNITS["s"].most
"""Longest total that is an answer [s]; no stored time is longer either."""
_LOG: Final = logging.getLogger("epochwise.planner")


def or_refusal(what: str, compute: Callable[[], Answer]) -> Answer | Refusal:
    """Return the result of `compute`, or a refusal if it raises.

    Args:
        what: name of the row in the sentence and the log, such as "the run on T4 at batch 64".
        compute: the answer of one option, curve or pair.

    Returns:
        The answer, or a refusal for any exception (logged) and for an estimate that is not
        finite.
    """
    try:
        # An answer that overflows is refused below.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            answer = compute()
    except Exception:  # noqa: BLE001 - the one place where any error of a row is its refusal
        _LOG.warning("No answer for %s.", what, exc_info=True)
        return _refused(what)
    if isinstance(answer, Estimate) and not all(
        bool(np.isfinite(end).all()) for end in (answer.value, answer.low, answer.high)
    ):
        _LOG.warning("No finite answer for %s: %s", what, answer)
        return _refused(what)
    return answer


def or_too_long(total: Estimate | Refusal) -> Estimate | Refusal:
    """Return a total time [s], or a refusal if it is longer than the limit.

    Args:
        total: of one number of epochs or one target; an array is returned unchanged.
    """
    if isinstance(total, Refusal) or np.ndim(total.value) or float(total.value) <= LONGEST_S:
        return total
    years, most = (plain(float(s) / YEAR_S, 3) for s in (total.value, LONGEST_S))
    return Refusal(
        reason=Text(
            "The total is about {years} years, beyond the limit of {longest_s:g} s ({most} years).",
            years=years,
            longest_s=LONGEST_S,
            most=most,
        ),
        measure_next="Check the epochs and the samples per epoch, or choose another target.",
    )


def _refused(what: str) -> Refusal:
    return Refusal(
        reason=Text("The numbers of {what} contradict each other or are out of range.", what=what),
        measure_next="Correct that row, or mark its run failed, and measure the case again.",
    )
