"""A fitted scaling curve and its predictions: intervals, shares, speed-ups and refusals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.core import (
    Basis,
    Estimate,
    Floats,
    Refusal,
    Text,
    paragraph,
    plain,
    plural,
    t_quantile,
)
from planner.fits import BASES, TWICE, Limited, answered_range, estimate_of
from planner.fits import KAPPA as KAPPA_BATCH
from planner.scaling._terms import (
    CROSSED_SD,
    DOF,
    LINKS,
    WHERE,
    LargestCount,
    StepPlaces,
    Terms,
    check_places,
)
from planner.throughput import MAX_SCATTER

TANGLED: Final = Refusal(
    reason="These runs do not determine it: batch, devices and launch mode changed together.",
    measure_next="Measure a second batch per device at a measured device count.",
)
ROUGH_RUNS: Final = Refusal(
    reason="At the same batch per device these steps often get shorter with more devices, so no "
    "scaling law continues them.",
    measure_next="Measure one run at the device count that you need.",
)
NO_SHARES: Final = Refusal(
    reason="These runs cannot separate the cost of the link from the overhead of a step.",
    measure_next="Measure a single device.",
)
MEASURE_LINK: Final = (
    "Measure a single device.",
    "Measure two devices of one node.",
    "Measure two nodes, with one device each and with all of them.",
)
"""What to measure where a link class has no runs, by its number."""
UNMEASURED_LINK: Final = {
    1: (
        "The link in a node was not measured: that between nodes is assumed.",
        MEASURE_LINK[1],
    ),
    2: (
        "The link between nodes was not measured: that in a node is assumed, with the scatter of "
        "published series.",
        MEASURE_LINK[2],
    ),
}
"""Reasons of an answer on a link class without runs, by its number."""
LIKE: Final = "similar workload"
"""Basis of answers that other workloads contribute to."""
UNCROSSED: Final = (
    "The link between nodes was not measured: one of published series is assumed.",
    MEASURE_LINK[2],
)
"""The same of an answer by the published law."""
Kind = Literal["strong", "weak"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The parts of a step, as shares of its time that sum to 1.

    `compute` includes overhead and launch; `link` is the constant of the link and `growth` its
    increase with every doubling of the devices. The intervals are those of the fitted terms (delta
    method), cut to 0..1.
    """

    compute: Estimate
    link: Estimate
    growth: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSpeedUp:
    """The speed-up of n devices over one, with its `kind`.

    "strong" keeps the global batch: T(B, 1)/T(B/n, n). "weak" keeps the batch per device:
    n T(b, 1)/T(b, n). `speed_up` is v(n)/v(1) of throughputs, `efficiency` that divided by n.
    The interval is that of two new measurements; one device has exactly 1.
    """

    kind: Kind
    speed_up: Estimate
    efficiency: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCost:
    """The cost of a link class in a step: `constant_s` + `growth_s`*g(devices) [s].

    It was measured with `fewest_devices` to `most_devices`. If these are equal, half of the cost is
    assumed to grow, and a reason says so.
    """

    constant_s: Estimate | Refusal
    growth_s: Estimate | Refusal
    fewest_devices: int
    most_devices: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingCurve:
    """A fitted form and its range.

    `overhead_s` t [s] is that of the fastest launch mode; `launch_extra_s` is the extra of each
    mode [s], empty without named modes. `asymptotic_throughput` v0 [samples/s] is that of one
    device. A term that the runs do not determine is a `Refusal`; a link class without runs is None.
    The runs are in rising order, shape (n,): `runs`, `step_s` and `residuals` (fit/measured - 1),
    with launch modes as numbers in `modes`. Batches per device from `answers_from_batch` to
    `answers_up_to_batch` have answers; `limit` says why not beyond. `fewest_devices` and
    `most_devices` are those measured on the three link classes, shape (3,), NaN without runs.
    `batches` are the smallest and the largest batch per device on each of these, shape (3,) each.
    `published` predicts step times and speed-ups that the runs do not determine, and all of runs
    with one batch at each count; None with several launch modes. `rough` runs have no answer above
    the measured counts (`is_rough`).
    """

    overhead_s: Estimate | Refusal
    asymptotic_throughput: Estimate | Refusal
    one_node: LinkCost | None
    several_nodes: LinkCost | None
    launch_extra_s: tuple[tuple[str, Estimate | Refusal], ...]
    runs: StepPlaces
    modes: tuple[str, ...]
    step_s: Floats
    residuals: Floats
    warnings: tuple[str, ...]
    answers_from_batch: float
    answers_up_to_batch: float
    limit: str
    fewest_devices: Floats
    most_devices: Floats
    batches: tuple[Floats, Floats]
    terms: Terms
    level: float
    published: LargestCount | None = None
    rough: bool = False

    @property
    def n(self) -> int:
        """Number of fitted runs."""
        return int(self.step_s.size)

    @property
    def scatter(self) -> float:
        """Relative standard deviation of the residuals; NaN without a spare run."""
        return self.terms.scatter

    @property
    def has_no_form(self) -> bool:
        """Whether the form does not fit the runs: the published law alone answers."""
        return self.published is not None and self.published.only

    @property
    def devices_per_node(self) -> int:
        """The largest number of devices per node of any run, spread evenly."""
        return int(np.ceil(self.runs.devices / self.runs.nodes).max())

    def step_time(
        self,
        per_device_batch_size: ArrayLike,
        devices: ArrayLike,
        nodes: ArrayLike,
        launch: str | None = None,
    ) -> Estimate | Refusal:
        """Return seconds of one step, with the interval of one new measurement.

        The interval is T*exp(-q) to T*exp(+q), q = t*sqrt(s^2 + (KAPPA*octaves of devices)^2 +
        (KAPPA_BATCH*octaves of batch)^2 + (GROWTH_SD*share)^2*octaves of devices); s is the
        scatter, at least SD0, and octaves count doublings outside the range measured on that link.
        `share` is that of the link's cost in T if one count was measured on the link, else 0. One
        without runs adds CROSSED_SD. Where `published` is used, q = t*sd of
        `planner.scaling._terms`. The basis of both is "similar workload".

        Args:
            per_device_batch_size: samples per step on one device, above 0.
            devices: device counts, whole numbers from 1.
            nodes: node counts, whole numbers from 1 to `devices`.
            launch: how the processes are started; optional where one mode was measured.

        Returns:
            For scalars an `Estimate` of floats, or a `Refusal`: an unmeasured single device or
            launch mode, a batch too far from the measured ones, undetermined terms. For arrays
            (broadcast) an `Estimate` of arrays, NaN where a scalar would be refused; `reasons` says
            why, and marks low confidence beyond twice the measured devices.

        Raises:
            ValueError: names every impossible value.
        """
        at = places_of(self, per_device_batch_size, devices, nodes, launch)
        return at if isinstance(at, Refusal) else step_time(self, at, None)

    def throughput(
        self,
        per_device_batch_size: ArrayLike,
        devices: ArrayLike,
        nodes: ArrayLike,
        launch: str | None = None,
    ) -> Estimate | Refusal:
        """Return samples per second over all devices: n*b/T(b, n); otherwise as `step_time`."""
        at = places_of(self, per_device_batch_size, devices, nodes, launch)
        return at if isinstance(at, Refusal) else step_time(self, at, at.batch * at.devices)

    def shares(
        self,
        per_device_batch_size: ArrayLike,
        devices: ArrayLike,
        nodes: ArrayLike,
        launch: str | None = None,
    ) -> Shares | Refusal:
        """Return the shares of a step's time; arguments, refusals and errors as `step_time`.

        Also refused where the runs cannot separate link and overhead (no single device).
        """
        at = places_of(self, per_device_batch_size, devices, nodes, launch)
        return at if isinstance(at, Refusal) else shares(self, at)

    def strong_scaling(
        self,
        global_batch: ArrayLike,
        devices: ArrayLike,
        nodes: ArrayLike,
        launch: str | None = None,
    ) -> DeviceSpeedUp | Refusal:
        """Return speed-up and efficiency at a fixed global batch [samples]: T(B, 1)/T(B/n, n).

        Other arguments, refusals and errors as `step_time`. The global batch must be within the
        range of one device.
        """
        batch, count = np.asarray(global_batch, np.float64), np.asarray(devices, np.float64)
        shared = batch / np.where(count >= 1.0, count, 1.0)
        return speed_up(self, "strong", batch, (shared, count, nodes), launch)

    def weak_scaling(
        self,
        per_device_batch_size: ArrayLike,
        devices: ArrayLike,
        nodes: ArrayLike,
        launch: str | None = None,
    ) -> DeviceSpeedUp | Refusal:
        """Return speed-up and efficiency at a fixed batch per device: n T(b, 1)/T(b, n).

        Arguments, refusals and errors as `step_time`.
        """
        batch = np.asarray(per_device_batch_size, np.float64)
        return speed_up(self, "weak", batch, (batch, devices, nodes), launch)

    def step_time_s(
        self,
        batch: ArrayLike,
        devices: ArrayLike,
        devices_per_node: int | None = None,
        launch: str | None = None,
    ) -> Floats:
        """Return step times [s] for a grid of global batches and device counts.

        Args:
            batch: samples per step over all devices, above 0.
            devices: whole numbers from 1; broadcast against `batch`.
            devices_per_node: devices fill nodes of this size; default: that of the runs.
            launch: as in `step_time`.

        Returns:
            Step times [s] in the broadcast shape, NaN where the fitted form has no answer;
            `published` is not used.

        Raises:
            ValueError: names every impossible value, or an unmeasured launch mode.
        """
        count = np.asarray(devices, dtype=np.float64)
        per_node = self.devices_per_node if devices_per_node is None else devices_per_node
        if per_node < 1:
            raise ValueError(
                Text(
                    "devices_per_node is {per_node}. A node has at least one device.",
                    per_node=per_node,
                )
            )
        nodes = np.ceil(count / per_node)
        return grid(self, np.asarray(batch, dtype=np.float64), count, nodes, launch)


def reasons_at(curve: ScalingCurve, at: StepPlaces) -> list[str]:
    """Return the reasons of these answers, for the farthest of them."""
    reasons = [reason for link in (1, 2) for reason in _link_reasons(curve, link, at)]
    smallest, largest = (sizes[curve.terms.link_of(at)] for sizes in curve.batches)
    above, below = at.batch > largest, at.batch < smallest
    if above.any():
        reasons.append(
            Text(
                "Above the measured range: the largest batch per device was {largest:g}.",
                largest=largest[above].min(),
            )
        )
    if below.any():
        reasons.append(
            Text(
                "Below the measured range: the smallest batch per device was {smallest:g}.",
                smallest=smallest[below].max(),
            )
        )
    return reasons


def _link_reasons(curve: ScalingCurve, link: int, at: StepPlaces) -> list[str]:
    counts, place = at.devices[at.link == link], WHERE[link]
    fewest, most = curve.fewest_devices[link], curve.most_devices[link]
    if not counts.size:
        return []
    if np.isnan(most):
        return list(UNMEASURED_LINK[link])
    reasons: list[str] = []
    if counts.max() > TWICE * most:
        reasons.append(
            Text(
                "Low confidence: {max:g} devices {place} are more than twice the "
                "{most:g} measured. On five public clusters such answers were 3 to 24 % "
                "off on average. Measure one run at that count.",
                max=counts.max(),
                place=place,
                most=most,
            )
        )
    elif counts.max() > most:
        reasons.append(
            Text(
                "Above the measured range: at most {most:g} devices {place}.",
                most=most,
                place=place,
            )
        )
    if counts.min() < fewest:
        reasons.append(
            Text(
                "Below the measured range: at least {fewest:g} devices {place}.",
                fewest=fewest,
                place=place,
            )
        )
    if fewest == most and (counts != most).any():
        reasons.append(
            Text(
                "Only {most:g} devices were measured {place}: the growth of that cost "
                "with their number is assumed.",
                most=most,
                place=place,
            )
        )
    return reasons


def law_reasons(law: LargestCount, at: StepPlaces) -> list[str]:
    """Return the reasons of answers by the published scaling law."""
    step_s = law.step_s[-1:]
    zero, unit = np.zeros(1), np.ones(1)
    loss = -np.expm1(law.law.log_factor(step_s, unit, zero))[0]
    fewer = -np.expm1(law.law.log_factor(step_s, zero, unit))[0]
    crosses = not law.crossed and bool((at.nodes > 1.0).any())
    return [
        plural(
            law.devices,
            "Published scaling law, starting from the run on {count:g} device: these runs do not "
            "determine it.",
            "Published scaling law, starting from the run on {count:g} devices: these runs do not "
            "determine it.",
        ),
        Text(
            "In published runs each device loses {loss:.1f} % when the device count "
            "doubles. At steps as long as these it loses {fewer:.0f} % when its batch "
            "is halved.",
            loss=100 * loss,
            fewer=100 * fewer,
        ),
        *(UNCROSSED if crosses else ()),
    ]


def refuse_launch(modes: tuple[str, ...], launch: str | None) -> Refusal:
    """Return why a launch mode has no answer, where others were measured."""
    problem = (
        "No launch mode was named"
        if launch is None
        else Text("Launch {launch} was not measured", launch=launch)
    )
    named = ", ".join(mode or "(without a name)" for mode in modes)
    return Refusal(
        reason=Text(
            "{problem}; each has its own cost per step. Measured: {named}.",
            problem=problem,
            named=named,
        ),
        measure_next=Text(
            "Choose one of these, or measure one run with {launch}.", launch=launch or "another"
        ),
    )


def refuse_link(link: int) -> Refusal:
    """Return why an unmeasured link class has no answer, by its number."""
    return Refusal(
        reason=Text(
            "Nothing was measured on {links}, and other links do not show that cost.",
            links=LINKS[link],
        ),
        measure_next=MEASURE_LINK[link],
    )


def refuse_batch(curve: Limited, batch: float) -> Refusal:
    """Return why a curve has no answer for `batch` [samples per device]."""
    return Refusal(
        reason=Text(
            "Batch {batch} per device is outside {answered_range}, where this curve "
            "answers: {limit}",
            batch=plain(batch),
            answered_range=answered_range(curve),
            limit=curve.limit,
        ),
        measure_next=Text(
            "Measure batch {batch} per device, or the nearest one that fits.", batch=plain(batch)
        ),
    )


KAPPA: Final = 0.08
"""Relative standard deviation per doubling of the devices outside the measured ones."""
GROWTH_SD: Final = 0.7
"""Relative sd of a link's cost after a doubling of its devices, where it was timed with one count.

A cost that stays, or doubles as well, is then one sd away from the assumed growth. Doublings
deviate independently, so the sd grows with the root of their number.
"""
Withheld = list[tuple["NDArray[np.bool_]", Refusal]]
Interval = tuple[Floats, Floats, Floats]
PlacesByLaw = tuple[StepPlaces, "NDArray[np.bool_]"]
"""Places, and which of them use the published law."""


# -- questions ---------------------------------------------------------------------------------


def places_of(
    curve: ScalingCurve, batch: ArrayLike, devices: ArrayLike, nodes: ArrayLike, launch: str | None
) -> StepPlaces | Refusal:
    """Return the places of a question, broadcast; errors as `ScalingCurve.step_time`."""
    sizes, counts, boxes = np.broadcast_arrays(
        *(np.asarray(v, dtype=np.float64) for v in (batch, devices, nodes))
    )
    check_places(sizes, counts, boxes)
    mode = _mode(curve, launch)
    if mode is None:
        return refuse_launch(curve.modes, launch)
    numbers = np.full(sizes.shape, mode, dtype=np.int64)
    return StepPlaces(batch=sizes, devices=counts, nodes=boxes, mode=numbers)


def _mode(curve: ScalingCurve, launch: str | None) -> int | None:
    if launch in curve.modes:
        return curve.modes.index(launch)
    return 0 if launch is None and len(curve.modes) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Steps:
    """Step times at places [s] with relative variance, use of the published law, and refusals.

    All have the places' shape; `withheld` is where there is no answer and why, the first counts.
    """

    at: StepPlaces
    seconds: Floats
    variance: Floats
    by_law: NDArray[np.bool_]
    withheld: Withheld

    @property
    def places(self) -> PlacesByLaw:
        """The places, and which of them use the published law."""
        return self.at, self.by_law


def _steps(curve: ScalingCurve, at: StepPlaces) -> _Steps:
    """Return step times by the form, else by the published law, else refusals."""
    questions = curve.terms.questions(at)
    seconds, variance = questions @ curve.terms.value, _relative_variance(curve, at)
    withheld = _withheld(curve, at, questions)
    by_law = _by_law(curve, at, withheld)
    if curve.published is not None and by_law.any():
        lawful, sd = curve.published.step_time(at, *_trend(curve, at))
        seconds = np.where(by_law, lawful, seconds)
        variance = np.where(by_law, np.square(sd), variance)
        left = [(where & ~by_law, refusal) for where, refusal in withheld]
        withheld = [(where, refusal) for where, refusal in left if where.any()]
    beyond = _beyond(curve, at)
    if beyond.any():
        withheld = [*withheld, (beyond, ROUGH_RUNS)]
    return _Steps(at=at, seconds=seconds, variance=variance, by_law=by_law, withheld=withheld)


def _beyond(curve: ScalingCurve, at: StepPlaces) -> NDArray[np.bool_]:
    """Return where rough runs have no answer: above the measured counts of the link."""
    most = curve.most_devices[curve.terms.link_of(at)]
    return np.asarray(curve.rough & (at.devices > np.where(np.isnan(most), np.inf, most)))


def _by_law(curve: ScalingCurve, at: StepPlaces, withheld: Withheld) -> NDArray[np.bool_]:
    """Return where the published law is used: see `planner.scaling._terms.LargestCount`."""
    law, nowhere = curve.published, np.zeros(at.batch.shape, dtype=np.bool_)
    if law is None:
        return nowhere
    if law.everywhere:
        return ~nowhere
    tangled, other = nowhere.copy(), nowhere.copy()
    for where, refusal in withheld:
        if refusal is TANGLED:
            tangled |= where
        else:
            other |= where
    if law.one_batch_each:
        return np.asarray(tangled | other | ~np.isclose(at.batch, law.usual[-1]))
    return np.asarray(tangled & ~other)


def _trend(curve: ScalingCurve, at: StepPlaces) -> tuple[Floats, Floats]:
    """Return ln of the growth of a step from the largest count by the form, and its relative sd.

    -inf and NaN where the runs do not show it: at fewer devices, one count or changing batches.
    """
    law, terms = curve.published, curve.terms
    nothing = np.full(at.batch.shape, -np.inf), np.full(at.batch.shape, np.nan)
    if law is None or not (law.weak and law.everywhere):
        return nothing
    sizes = np.full(at.batch.shape, law.usual[-1])
    mode = np.zeros(at.batch.shape, dtype=np.int64)
    there = StepPlaces(batch=sizes, devices=at.devices, nodes=at.nodes, mode=mode)
    most = StepPlaces(
        batch=sizes,
        devices=np.full(at.batch.shape, law.devices),
        nodes=np.full(at.batch.shape, law.nodes),
        mode=mode,
    )
    rows = [terms.questions(place) for place in (there, most)]
    shown = terms.determined(rows[0]) & terms.determined(rows[1]) & (at.devices > law.devices)
    with np.errstate(divide="ignore", invalid="ignore"):  # a step of 0 s shows nothing
        grown = np.log(rows[0] @ terms.value) - np.log(rows[1] @ terms.value)
    shown &= np.isfinite(grown)
    unmeasured = np.where(terms.link_of(there) == there.link, 0.0, CROSSED_SD**2)
    sd = np.sqrt(_relative_variance(curve, there) - unmeasured)
    return np.where(shown, grown, nothing[0]), np.where(shown, sd, nothing[1])


def _withheld(curve: ScalingCurve, at: StepPlaces, questions: Floats) -> Withheld:
    """Return where the form has no answer, and why; the first counts."""
    refusals: Withheld = [(np.asarray(at.link == 0), refuse_link(0))]
    if not np.isnan(curve.most_devices[0]):
        refusals = []
    near = _near(curve, at.batch)
    if not near.all():
        refusals.append((~near, refuse_batch(curve, float(at.batch[~near].flat[0]))))
    if curve.terms.fit.unknown.size:
        refusals.append((~curve.terms.determined(questions), TANGLED))
    return [(where, refusal) for where, refusal in refusals if where.any()]


def _near(curve: ScalingCurve, batch: Floats) -> NDArray[np.bool_]:
    start, end = curve.answers_from_batch * (1.0 - 1e-9), curve.answers_up_to_batch * (1.0 + 1e-9)
    return np.asarray((batch >= start) & (batch <= end))  # B/n of whole numbers is rounded


def _relative_variance(curve: ScalingCurve, at: StepPlaces) -> Floats:
    link = curve.terms.link_of(at)
    devices = octaves(at.devices, curve.fewest_devices[link], curve.most_devices[link])
    smallest, largest = (sizes[link] for sizes in curve.batches)
    batch = octaves(at.batch, smallest, largest)
    far = (KAPPA * devices) ** 2 + (KAPPA_BATCH * batch) ** 2
    grown = (GROWTH_SD * _assumed_share(curve, at)) ** 2 * devices
    unmeasured = np.where(link == at.link, 0.0, CROSSED_SD**2)
    return np.asarray(curve.terms.believed_scatter**2 + far + grown + unmeasured)


def _assumed_share(curve: ScalingCurve, at: StepPlaces) -> Floats:
    """Return the share of a step [1] that a link with an assumed growth costs, else 0."""
    weights, start = curve.terms.questions(at), curve.terms.modes + 1
    cost = weights[..., start:] @ curve.terms.value[start:]
    link = curve.terms.link_of(at)
    seen = curve.fewest_devices[link] != curve.most_devices[link]
    step_s = weights @ curve.terms.value
    return np.divide(cost, step_s, out=np.zeros(step_s.shape), where=~seen & (step_s > 0.0))


def assumed_share(curve: ScalingCurve, at: StepPlaces) -> Floats:
    """Return the share of a step [1] whose growth with the devices is assumed, for GROWTH_SD."""
    return np.where(_steps(curve, at).by_law, 0.0, _assumed_share(curve, at))


def octaves(value: Floats, low: float | Floats, high: float | Floats) -> Floats:
    """Return doublings above `high` or below `low`; 0 between them."""
    return np.maximum(np.maximum(np.log2(value / high), np.log2(low / value)), 0.0)


def step_time(curve: ScalingCurve, at: StepPlaces, samples: Floats | None) -> Estimate | Refusal:
    """Return the step time [s], or the throughput [samples/s] for `samples` per step."""
    steps = _steps(curve, at)
    q = t_quantile(curve.level, DOF) * np.sqrt(steps.variance)
    with np.errstate(divide="ignore", invalid="ignore"):  # a step of 0 s is withheld below
        value = steps.seconds if samples is None else samples / steps.seconds
    interval = value, value * np.exp(-q), value * np.exp(q)
    return _answer(curve, (steps.places,), steps.withheld, interval)


def speed_up(
    curve: ScalingCurve,
    kind: Kind,
    alone: Floats,
    place: tuple[ArrayLike, ArrayLike, ArrayLike],
    launch: str | None,
) -> DeviceSpeedUp | Refusal:
    """Return v(n)/v(1), where one device has the batch `alone` and n have `place`."""
    many = places_of(curve, *place, launch)
    if isinstance(many, Refusal):
        return many
    batch, ones = np.broadcast_to(alone, many.batch.shape), np.ones(many.batch.shape)
    first = _steps(curve, StepPlaces(batch=batch, devices=ones, nodes=ones, mode=many.mode))
    later = _steps(curve, many)
    with np.errstate(divide="ignore", invalid="ignore"):  # a step of 0 s is withheld below
        value = many.batch * many.devices / batch * first.seconds / later.seconds
    variance = first.variance + later.variance
    q = t_quantile(curve.level, DOF) * np.sqrt(np.where(many.devices > 1.0, variance, 0.0))
    withheld = [*first.withheld, *later.withheld]
    interval = value, value * np.exp(-q), value * np.exp(q)
    gain = _answer(curve, (first.places, later.places), withheld, interval)
    if isinstance(gain, Refusal):
        return gain
    ends = tuple(np.asarray(end / many.devices) for end in (gain.value, gain.low, gain.high))
    share = estimate_of((ends[0], ends[1], ends[2]), curve.level, gain.basis, gain.reasons)
    return DeviceSpeedUp(kind=kind, speed_up=gain, efficiency=share)


def shares(curve: ScalingCurve, at: StepPlaces) -> Shares | Refusal:
    """Return the parts of a step: see `ScalingCurve.shares`."""
    terms, rows = curve.terms, curve.terms.questions(at)
    part_of = np.array([0] * (terms.modes + 1) + [1, 2, 1, 2])  # compute, link, growth
    parts = np.stack([rows * (part_of == part) for part in range(3)])
    seconds = parts @ terms.value
    with np.errstate(divide="ignore", invalid="ignore"):  # a step of 0 s is withheld below
        share = seconds / seconds.sum(axis=0)
        gradient = (parts - share[..., None] * rows) / seconds.sum(axis=0)[..., None]
    half = t_quantile(terms.level, DOF) * terms.deviation(gradient)
    withheld, separate = _withheld(curve, at, rows), terms.determined(parts).all(axis=0)
    missing = [(np.asarray(at.link == link), refuse_link(link)) for link in (1, 2)
               if link not in terms.links]  # fmt: skip
    withheld = [*((where, why) for where, why in missing if where.any()), *withheld]
    if curve.has_no_form and isinstance(curve.overhead_s, Refusal):
        return curve.overhead_s
    if not separate.all():
        withheld.append((np.asarray(~separate), NO_SHARES))
    estimates, by_form = [], (at, np.zeros(at.batch.shape, dtype=np.bool_))
    for value, width in zip(share, half, strict=True):
        ends = np.maximum(value - width, 0.0), np.minimum(value + width, 1.0)
        estimate = _answer(curve, (by_form,), withheld, (value, *ends))
        if isinstance(estimate, Refusal):
            return estimate
        estimates.append(estimate)
    return Shares(compute=estimates[0], link=estimates[1], growth=estimates[2])


def grid(
    curve: ScalingCurve, batch: Floats, count: Floats, nodes: Floats, launch: str | None
) -> Floats:
    """Return step times: see `ScalingCurve.step_time_s`; `count` and `nodes` have one shape."""
    mode, terms = _mode(curve, launch), curve.terms
    if mode is None:
        refusal = refuse_launch(curve.modes, launch)
        raise ValueError(paragraph(refusal.reason, refusal.measure_next))
    check_places(batch, count, nodes)
    numbers = np.full(count.shape, mode, dtype=np.int64)
    at = StepPlaces(batch=np.ones(count.shape), devices=count, nodes=nodes, mode=numbers)
    parts_s = terms.questions(at) * terms.value
    each_s = parts_s[..., terms.modes]
    fixed_s = parts_s.sum(axis=-1) - each_s
    fixed_s = np.where(np.isnan(curve.most_devices)[terms.link_of(at)], np.nan, fixed_s)
    shared = batch / count
    held = _near(curve, shared)
    held &= ~np.broadcast_to(_beyond(curve, at), shared.shape)
    whole = StepPlaces(
        batch=shared,
        devices=np.broadcast_to(count, shared.shape),
        nodes=np.broadcast_to(nodes, shared.shape),
        mode=np.full(shared.shape, mode, dtype=np.int64),
    )
    if terms.fit.unknown.size:
        held &= terms.determined(terms.questions(whole))
    if curve.published is not None and curve.published.everywhere:
        return np.where(held & ~curve.has_no_form, _steps(curve, whole).seconds, np.nan)
    return np.where(held, fixed_s + each_s * shared, np.nan)


# -- answers -----------------------------------------------------------------------------------


def _answer(
    curve: ScalingCurve, places: tuple[PlacesByLaw, ...], withheld: Withheld, interval: Interval
) -> Estimate | Refusal:
    """Return a scalar or array answer, without the places in `withheld`."""
    shape = interval[0].shape
    if withheld and not shape:
        return withheld[0][1]
    held = np.ones(shape, dtype=np.bool_)
    for where, _ in withheld:
        held &= ~where
    value, low, high = (np.where(held, part, np.nan) for part in interval)
    lawful = any((by_law & held).any() for _, by_law in places)
    by_form = [at.only(held & ~by_law) for at, by_law in places]
    by_form = [at for at in by_form if at.batch.size or not lawful]
    stated = [reason for at in by_form for reason in reasons_at(curve, at)]
    bases = [_basis(curve, at) for at in by_form]
    for at in (at.only(held & by_law) for at, by_law in places):
        if curve.published is not None and at.batch.size:
            bases.append(_law_basis(curve, curve.published, at))
            if bases[-1] == LIKE:
                stated += law_reasons(curve.published, at)
    stated += [
        Text("Not available everywhere: {reason}", reason=refusal.reason) for _, refusal in withheld
    ]
    warnings = curve.warnings if by_form or curve.has_no_form else ()
    reasons = (*warnings, *dict.fromkeys(stated))
    return estimate_of((value, low, high), curve.level, max(bases, key=BASES.index), reasons)


def _law_basis(curve: ScalingCurve, law: LargestCount, at: StepPlaces) -> Basis:
    """Return the basis of answers by the law, the weakest of them."""
    if law.one_batch_each and law.one_place_each and at.keys() <= curve.runs.keys():
        return "measured"
    inside = (at.devices >= law.counts[0]) & (at.devices <= law.devices)
    timed = law.weak & inside & np.isclose(at.batch, law.usual[0])
    return "interpolated" if (timed & (curve.terms.link_of(at) == at.link)).all() else LIKE


def _basis(curve: ScalingCurve, at: StepPlaces) -> Basis:
    """Return the basis of these answers, the weakest of them.

    A form with a large scatter is not "measured", not even at its own runs.
    """
    if (curve.terms.link_of(at) != at.link).any():
        return LIKE
    if at.keys() <= curve.runs.keys() and not curve.terms.scatter > MAX_SCATTER:
        return "measured"
    inside = _relative_variance(curve, at) <= curve.terms.believed_scatter**2
    return "interpolated" if inside.all() else "extrapolated"
