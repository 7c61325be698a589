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
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import splu

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
MANY_LABELS: Final = frozenset({"group", "network", "source model"})
"""Groups whose columns are eliminated before the others, as they are many and sparse."""
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
    cells: list[tuple[int, int, float]] = []
    for i, (t, labels) in enumerate(zip(traits, merged, strict=True)):
        cells += [(i, at["", name], t.terms[name]) for name in names]
        cells += [(i, at[pair], 1.0) for pair in labels.items() if pair in at]
    where, which, what = zip(*cells, strict=True)
    design = sparse.csr_array((what, (where, which)), shape=(len(traits), len(columns)))
    of_group = np.array([group for group, _ in columns])
    members = {group: np.flatnonzero(of_group == group) for group in groups}
    rare = np.isin(of_group, list(MANY_LABELS))
    prior = np.full(len(columns), PRIOR_SD**2)
    for name in names:
        sd = BASE_SD if name == "base" else priors.get(name, TERM_SD)
        prior[at["", name]] = sd**2
    y = log_efficiency - np.array([t.offset for t in traits])
    noise, tail = 0.04, np.ones(len(traits))
    step = _Step(design, rare)
    for _ in range(ROUNDS):
        step.solve(tail / noise, prior, y)
        spread = (y - design @ step.values) ** 2 + step.row_variances
        tail = (tails + 1.0) / (tails + spread / noise)
        noise = float(np.mean(tail * spread))
        for index in members.values():
            if index.size:
                variance = step.values[index] @ step.values[index] + step.variances[index].sum()
                total = variance + PRIOR_WEIGHT * PRIOR_SD**2
                prior[index] = total / (index.size + PRIOR_WEIGHT)
    sds = {g: float(np.sqrt(prior[i[0]])) for g, i in members.items() if i.size}
    return Fitted(tuple(columns), step.values, step.covariance(), sds, float(np.sqrt(noise)))


class _Step:
    """Weighted least squares with normal priors; the columns of many labels are eliminated first.

    A row has few labels, so their block is sparse: the others (terms, makers, accelerators) are
    solved in what is left of the precision (its Schur complement).
    """

    def __init__(self, design: sparse.csr_array, rare: npt.NDArray[np.bool_]) -> None:
        self._rare, self._usual = np.flatnonzero(rare), np.flatnonzero(~rare)
        self._x: Floats = design[:, self._usual].toarray()
        self._z = sparse.csr_array(design[:, self._rare])
        self._size = design.shape[1]

    def solve(self, weight: Floats, prior: Floats, y: Floats) -> None:
        """Set values and variances of columns, and the variance of each row's prediction."""
        x, z = self._x, self._z
        weighed = sparse.csr_array(z.T.multiply(weight))
        block = weighed @ z + sparse.diags_array(1.0 / prior[self._rare])
        size = self._rare.size
        self._inverse: Floats = np.eye(size)
        if size:
            self._inverse = splu(sparse.csc_array(block)).solve(self._inverse)
        across: Floats = np.asarray(weighed @ x)
        self._gain = self._inverse @ across
        whole = x.T @ (x * weight[:, None]) + np.diag(1.0 / prior[self._usual])
        factor = cho_factor(whole - across.T @ self._gain)
        self._left: Floats = cho_solve(factor, np.eye(self._usual.size))
        alone = self._inverse @ (weighed @ y)
        usual = self._left @ (x.T @ (weight * y) - across.T @ alone)
        self.values = np.empty(self._size)
        self.values[self._usual], self.values[self._rare] = usual, alone - self._gain @ usual
        rest = x - z @ self._gain
        self.row_variances: Floats = np.sum((rest @ self._left) * rest, axis=1) + np.asarray(
            z.multiply(z @ self._inverse).sum(axis=1)
        )
        self.variances = np.empty(self._size)
        self.variances[self._usual] = np.diag(self._left)
        self.variances[self._rare] = np.diag(self._inverse) + np.sum(
            (self._gain @ self._left) * self._gain, axis=1
        )

    def covariance(self) -> Floats:
        """Return the covariance of all columns (columns, columns)."""
        joint = np.empty((self._size, self._size))
        across = -self._gain @ self._left
        joint[np.ix_(self._usual, self._usual)] = self._left
        joint[np.ix_(self._rare, self._usual)] = across
        joint[np.ix_(self._usual, self._rare)] = across.T
        joint[np.ix_(self._rare, self._rare)] = self._inverse - across @ self._gain.T
        return joint
