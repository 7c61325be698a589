"""The runs behind an answer: scatter of their epochs, and suspect flags."""

from planner.answers.runs._scatter import priors_of, with_priors
from planner.answers.runs._suspect_runs import Suspects, suspects_of

__all__ = [
    "Suspects",
    "priors_of",
    "suspects_of",
    "with_priors",
]
