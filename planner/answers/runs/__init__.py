"""The runs behind an answer: scatter of their epochs, and suspect flags."""

from planner.answers.runs._suspect_runs import (
    NO_SUSPECTS,
    priors_of,
    suspects_of,
    with_priors,
)
