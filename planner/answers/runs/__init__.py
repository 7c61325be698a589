"""Which runs an answer rests on: their scatter of epochs, and what is suspect about them."""

from planner.answers.runs._scatter import priors_of, with_priors
from planner.answers.runs._suspect_runs import Suspects, suspects_of

__all__ = [
    "Suspects",
    "priors_of",
    "suspects_of",
    "with_priors",
]
