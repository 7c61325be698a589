"""Partial pooling: coefficients of terms and effects of labels with their joint uncertainty.

    ln e = terms . coefficients + sum of one effect per label + residual

Effects of one group of labels are normal around 0 with a variance that the data choose (MacKay's
fixed point of the marginal likelihood); residuals are Student t with `TAILS` degrees of
freedom, or those that a domain asks for (iteratively reweighted). Groups that belong to who
measured (source, source and accelerator, source and network) are fitted beside the others and left
out of a prediction: their variances are then part of its interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from planner.core import Floats
from planner.mfu._questions import Traits

TAILS: Final = 4.0
"""Degrees of freedom of residuals where a caller names none: fewer make outliers weigh less."""
TERM_SD: Final = 0.5
"""Prior sd of a term's coefficient."""
BASE_SD: Final = 3.0
PRIOR_SD: Final = 0.15
"""Usual sd of a group's effects, worth `PRIOR_WEIGHT` of them."""
PRIOR_WEIGHT: Final = 3.0
ROUNDS: Final = 25
SINGLES_LEFT_OUT: Final = frozenset({"network", "source model", "source accelerator"})
MANY: Final = 2
"""Labels of these groups with fewer rows have no effect of their own: it is in the residual."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Coefficients of columns, their covariance (columns, columns), and sds of groups.

    `columns` are (group, label); of terms the group is "". `rest` is the residual's sd.
    """

    columns: tuple[tuple[str, str], ...]
    values: Floats
    covariance: Floats
    sds: Mapping[str, float]
    rest: float


def fitted(
    traits: Sequence[Traits],
    sources: Sequence[Mapping[str, str]],
    log_efficiency: Floats,
    prior_sds: Mapping[str, float] | None = None,
    tails: float = TAILS,
) -> Fitted:
    """Return the fit.

    Args:
        traits: terms and labels of each row.
        sources: labels of each row that belong to who measured it, by group.
        log_efficiency: ln of the efficiency of each row.
        prior_sds: prior sd of a term's coefficient where it is not `TERM_SD`.
        tails: degrees of freedom of the Student t of residuals, above 0.
    """
    priors = prior_sds or {}
    names = list(traits[0].terms)
    columns: list[tuple[str, str]] = [("", name) for name in names]
    groups = [*traits[0].labels, *(sources[0] if sources else ())]
    merged = [{**t.labels, **s} for t, s in zip(traits, sources, strict=True)]
    for group in groups:
        seen = Counter(m[group] for m in merged)
        least = MANY if group in SINGLES_LEFT_OUT else 1
        columns += [(group, label) for label, n in sorted(seen.items()) if label and n >= least]
    at = {column: i for i, column in enumerate(columns)}
    design = np.zeros((len(traits), len(columns)))
    for i, (t, labels) in enumerate(zip(traits, merged, strict=True)):
        for name in names:
            design[i, at["", name]] = t.terms[name]
        for group, label in labels.items():
            if (group, label) in at:
                design[i, at[group, label]] = 1.0
    of_group = np.array([group for group, _ in columns])
    members = {group: np.flatnonzero(of_group == group) for group in groups}
    prior = np.full(len(columns), PRIOR_SD**2)
    for name in names:
        sd = BASE_SD if name == "base" else priors.get(name, TERM_SD)
        prior[at["", name]] = sd**2
    y = log_efficiency - np.array([t.offset for t in traits])
    few, identity = sparse.csr_array(design), np.eye(len(columns))  # a row has few labels
    noise, tail = 0.04, np.ones(len(traits))
    for _ in range(ROUNDS):
        weight = tail / noise
        precision = (few.T @ few.multiply(weight[:, None])).toarray() + np.diag(1.0 / prior)
        covariance = cho_solve(cho_factor(precision), identity)
        values = covariance @ (design.T @ (weight * y))
        residual = y - design @ values
        own = few.multiply(few @ covariance).sum(axis=1)
        spread = residual**2 + np.asarray(own).ravel()
        tail = (tails + 1.0) / (tails + spread / noise)
        noise = float(np.mean(tail * spread))
        for index in members.values():
            if index.size:
                variance = values[index] @ values[index] + np.trace(
                    covariance[np.ix_(index, index)]
                )
                total = variance + PRIOR_WEIGHT * PRIOR_SD**2
                prior[index] = total / (index.size + PRIOR_WEIGHT)
    sds = {g: float(np.sqrt(prior[i[0]])) for g, i in members.items() if i.size}
    joint: Floats = np.asarray(covariance, dtype=np.float64)
    return Fitted(tuple(columns), values, joint, sds, float(np.sqrt(noise)))
