"""A job, the ways to get it done, and what each would take, as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from planner.catalog import Accelerator, Offer
from planner.core import Estimate, Refusal
from planner.cost import Owned, Rental
from planner.epochs import Option as MeasuredRun
from planner.networks import Training

Way = Literal["rent", "buy", "own"]
"""Rented by the hour, bought for this, or there already."""
Order = Literal["cost", "time"]
OWN_ENTRY: Final = "own entry"
"""The source of what a person wrote by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """`count` accelerators in all, on `nodes` machines; None where no data sheet is known."""

    label: str
    accelerator: Accelerator | None = None
    count: int = 1
    nodes: int = 1

    @property
    def devices(self) -> int:
        """Devices a framework sees on all of it: two on a module or chip that holds two."""
        return self.count * (self.accelerator.devices if self.accelerator else 1)

    @property
    def power_watts(self) -> float | None:
        """Board power of all accelerators [W]; None where the maker's figure is not known."""
        watts = self.accelerator.board_power_watts if self.accelerator else None
        return None if watts is None else watts * self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Most samples/s of one accelerator (its id in the catalogue) at a global batch [samples].

    `batch` is None where the runs do not state it.
    """

    card: str
    batch: float | None
    samples_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedStep:
    """One training step that a person timed: its seconds, global batch [samples] and hardware."""

    hardware: Hardware
    batch: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be trained, measured somewhere or only described.

    `precision` is written as in the measurements, float32 where they state none.
    `samples_per_epoch` [samples] is what one epoch passes over, None where it is not known:
    `size_refused` is the reason, "" where nothing states it.
    `pre_train_s` [s] comes before the first step.
    `params` counts parameters, `train_flops_per_sample` the operations of forward and backward
    pass; None is not known.
    `tokens_per_sample`, `network` (the id of a named one), `family` (`planner.networks.FAMILIES`,
    "" where not stated), `active_params`, `layers_width` (layers x width of the attention),
    `image_px`, `training` (all weights, or adapters), `recompute`, `assumed_mfu` (share of
    the half-precision peak), `total_tokens` (of the whole run, in place of epochs) and `step`
    (timed by hand) are those of a described job.
    `overhead_s` is the least overhead of a step that was measured [s]. `measured` are its runs
    under one input pattern, `hardware` where each of them ran, by run id,
    `memory` are pairs (samples on one device, bytes there) that were measured on accelerators.
    `speeds` are what transfer rests on: its fastest runs on accelerators of the catalogue, one for
    each accelerator and batch, whatever the input pattern.
    """

    workload: str
    precision: str
    samples_per_epoch: float | None
    precision_stated: bool = True
    size_refused: str = ""
    pre_train_s: float = 0.0
    params: float | None = None
    train_flops_per_sample: float | None = None
    tokens_per_sample: float | None = None
    network: str = ""
    family: str = ""
    active_params: float | None = None
    layers_width: float | None = None
    image_px: float | None = None
    training: Training = "full"
    recompute: bool = False
    assumed_mfu: float | None = None
    total_tokens: float | None = None
    step: TimedStep | None = None
    optimizer: str = ""
    batch: float | None = None
    overhead_s: float | None = None
    measured: tuple[MeasuredRun, ...] = ()
    hardware: Mapping[str, Hardware] = field(default_factory=dict)
    memory: tuple[tuple[float, float], ...] = ()
    speeds: tuple[Speed, ...] = ()

    @property
    def name(self) -> str:
        """What is trained, short: the workload's first part."""
        return self.workload.split(" · ", 1)[0]

    @property
    def described(self) -> bool:
        """Whether nobody measured it."""
        return not self.measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """How much training is asked for: so many epochs, or samples until a target is reached.

    `words` are for sentences: "2000 epochs", "2.5 % validation error"; `optimizer` gets there. Of
    a target `samples` [samples] at `batch` are known with an interval, of epochs neither.
    `at_batch` [samples] is the batch that epochs are timed at; None takes the fastest measured one.
    """

    words: str
    optimizer: str = ""
    epochs: int | None = None
    samples: Estimate | None = None
    batch: float | None = None
    at_batch: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One way to get the job done: which hardware, and who pays what for it.

    `id` stands in links: the slug of `named`, where that is not "". `run` is the measured run it
    rests on, None where the time has to be estimated. `rental` belongs to "rent", `owned` to the
    other two (of "own" only the electricity is paid). `price` is the price with its date,
    `stale` that it is old, `source` where it is from. `hardware` is all of it, be it several
    machines of one offer.
    """

    id: str
    label: str
    way: Way
    hardware: Hardware
    run: MeasuredRun | None = None
    offer: Offer | None = None
    rental: Rental | None = None
    owned: Owned | None = None
    price: str = ""
    stale: bool = False
    source: str = ""
    named: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Whether it fits into memory, per device [bytes].

    `need` is None where nothing is known. `at_least` says that only weights, gradients and
    optimiser state were counted, so that a shortage is sure and room is not.
    """

    fits: bool | None
    need_bytes: float | None
    have_bytes: float | None
    at_least: bool
    sentence: str
    way_out: str = ""

    @property
    def headroom(self) -> float | None:
        """Free share of the memory [0..1]; below 0 only where it does not fit; None: not known."""
        if self.need_bytes is None or not self.have_bytes:
            return None
        free = 1.0 - self.need_bytes / self.have_bytes
        return free if self.fits is False else max(free, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """What another number of accelerators does to a speed, or to a time: a factor with its doubt.

    `across_nodes` says that several machines are in it. `fewer` than were measured: what makes many
    slower makes these faster, so their doubt runs the other way.
    """

    factor: Estimate
    across_nodes: bool = False
    fewer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """How long the job takes on a candidate's hardware [s], and how that is known.

    `rate` [samples/s] is None where a measured run answers. `measure_next` is the run that would
    narrow it most, "" where it was measured. `batch` [samples] is that of the run that answers or
    that the time is transferred from, or the assumed one; None where no run states it. `alone` is
    the total without the doubts that are told apart, None where none is: of another number of
    accelerators, `scaling`, and of the samples to the target, `samples`, both as factors of the
    time around 1. `shared_sd`, `shared` and `shared_parts` see
    `planner.job.rates.Rate`. `least_s` is the time at the peak of the hardware [s].
    """

    total: Estimate | Refusal
    batch: float | None
    fit: Fit
    rate: Estimate | None = None
    measure_next: str = ""
    shared_sd: float = 0.0
    shared: str = ""
    shared_parts: tuple[tuple[str, float], ...] = ()
    alone: Estimate | None = None
    scaling: Scaling | None = None
    samples: Estimate | None = None
    least_s: float = 0.0
