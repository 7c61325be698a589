"""Records of a job, of the ways to run it, and of the time of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from planner.catalog import Accelerator, Offer
from planner.core import Estimate, Refusal, Text
from planner.core.slugs import BADGE, UNOFFICIAL
from planner.cost import Owned, Rental
from planner.epochs import Option as MeasuredRun
from planner.networks import Training

Way = Literal["rent", "buy", "own"]
"""Rented by the hour, bought for this job, or already owned."""
WAY_WORDS: Final[Mapping[Way, tuple[str, str, str]]] = MappingProxyType(
    {
        "rent": ("Rent", "renting", "Renting"),
        "buy": ("Buy", "buying", "Buying"),
        "own": ("Own", "the own", "The own"),
    }
)
"""How a label begins, and how the same begins inside a sentence and at its beginning."""
Order = Literal["cost", "time"]
UNOFFICIAL_TIME: Final = f"{UNOFFICIAL} time"
OWN_ENTRY: Final = "own entry"
"""Source of a row that the user added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """`count` accelerators in all, on `nodes` machines; None for one not in the catalogue."""

    label: str
    accelerator: Accelerator | None = None
    count: int = 1
    nodes: int = 1

    @property
    def devices(self) -> int:
        """Devices a framework sees: two on a module or chip with two."""
        return self.count * (self.accelerator.devices if self.accelerator else 1)

    @property
    def memory_bytes(self) -> float | None:
        """Memory of one device [bytes]; None where unpublished."""
        card = self.accelerator
        return (
            None if card is None or card.memory_bytes is None else card.memory_bytes / card.devices
        )

    @property
    def power_watts(self) -> float | None:
        """Board power of all accelerators [W]; None where unpublished."""
        watts = self.accelerator.board_power_watts if self.accelerator else None
        return None if watts is None else watts * self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Most samples/s of one accelerator (its id in the catalogue) at a global batch [samples].

    `batch` is None where the runs do not state it. The run had `devices` on `nodes` machines, each
    device with `memory_bytes` (None where unpublished).
    """

    card: str
    batch: float | None
    samples_per_s: float
    devices: int = 1
    nodes: int = 1
    memory_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedStep:
    """One training step that the user timed: its seconds, global batch [samples] and hardware."""

    hardware: Hardware
    batch: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a described and a measured job state alike; None is unknown.

    `params` counts parameters. `network` is the id of a named one, `family` one of
    `planner.networks.FAMILIES`, "" where not stated; `layers_width` is layers x width of the
    attention, `training` all weights, or adapters. `benchmark` is software tuned like a submission
    to MLPerf, `assumed_mfu` a share of the half-precision peak. `total_tokens` are those of the
    whole run, in place of epochs; `batch` is the global batch [samples].
    """

    params: float | None = None
    tokens_per_sample: float | None = None
    network: str = ""
    family: str = ""
    active_params: float | None = None
    layers_width: float | None = None
    image_px: float | None = None
    training: Training = "full"
    recompute: bool = False
    benchmark: bool = False
    assumed_mfu: float | None = None
    total_tokens: float | None = None
    optimizer: str = ""
    batch: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Work):
    """What is to be trained, measured somewhere or only described.

    `precision` is written as in the measurements; where they state none, that of their software.
    `samples_per_epoch` [samples] is the size of an epoch, None where it is unknown: `size_refused`
    is the reason, "" where nothing states the size.
    `pre_train_s` [s] is the start-up time, `train_flops_per_sample` the operations of forward and
    backward pass, None where unknown. `step` was timed by hand, for a described job.
    `overhead_s` is the least measured overhead of a step [s]. `measured` are its runs under one
    input pattern, `hardware` their hardware by run id. `memory` are measured pairs (samples on one
    device, bytes there) on accelerators. `speeds` are the source of transferred times: the fastest
    run of each accelerator of the catalogue at each batch, of every input pattern. `standing` is
    "unofficial" where these are runs of unofficial sets, for lack of others.
    """

    workload: str
    precision: str
    samples_per_epoch: float | None
    precision_stated: bool = True
    size_refused: str = ""
    pre_train_s: float = 0.0
    train_flops_per_sample: float | None = None
    step: TimedStep | None = None
    overhead_s: float | None = None
    measured: tuple[MeasuredRun, ...] = ()
    hardware: Mapping[str, Hardware] = field(default_factory=dict)
    memory: tuple[tuple[float, float], ...] = ()
    speeds: tuple[Speed, ...] = ()
    standing: str | None = None

    @property
    def name(self) -> str:
        """Short name: the workload's first part."""
        return self.workload.split(" · ", 1)[0]

    @property
    def described(self) -> bool:
        """Whether it is only described, not measured."""
        return not self.measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The amount of training: epochs, or samples until a target is reached.

    `words` are for sentences: "2000 epochs", "2.5 % validation error", reached with `optimizer`.
    A target has `samples` [samples] at `batch`, with an interval; epochs have neither.
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
    """One option: hardware, and how it is paid for.

    `id` is used in links: the slug of `named` unless that is "". `qualifiers` tell it from others
    on the same hardware: provider, terms, region. `run` is its measured run, None
    where the time has to be estimated. `rental` belongs to "rent", `owned` to the other two (for
    "own" only electricity is paid). `amount` is the price with its date, `stale` means it is old,
    `source` names its origin; `entered` means the user typed the price. `hardware` is that of all
    machines of the offer. `standing` is "unofficial" where the time rests on unofficial runs.
    """

    id: str
    way: Way
    hardware: Hardware
    qualifiers: tuple[str, ...] = ()
    run: MeasuredRun | None = None
    offer: Offer | None = None
    rental: Rental | None = None
    owned: Owned | None = None
    amount: str = ""
    entered: bool = False
    stale: bool = False
    source: str = ""
    named: str = ""
    standing: str | None = None

    @property
    def badge(self) -> str:
        """` (unofficial)` where its time rests on such runs and its hardware does not say so."""
        return BADGE if self.standing and BADGE not in self.hardware.label else ""

    @property
    def machine(self) -> str:
        """Its hardware and qualifiers: '1 x H100 SXM (Lambda, spot)'."""
        return self._with(self.qualifiers)

    @property
    def what(self) -> str:
        """Its hardware and qualifiers, and whether its time rests on unofficial runs."""
        return self._with((*self.qualifiers, UNOFFICIAL_TIME) if self.badge else self.qualifiers)

    def _with(self, qualifiers: Sequence[str]) -> str:
        within = ", ".join(qualifiers)
        return f"{self.hardware.label} ({within})" if within else self.hardware.label

    @property
    def label(self) -> str:
        """Its name: 'Rent 1 x H100 SXM (Lambda)'."""
        return f"{WAY_WORDS[self.way][0]} {self.what}"

    @property
    def phrase(self) -> str:
        """Its name inside a sentence: 'renting 1 x H100 SXM (Lambda)'."""
        return f"{WAY_WORDS[self.way][1]} {self.what}"

    @property
    def phrase_first(self) -> str:
        """Its name at the beginning of a sentence: 'Renting 1 x H100 SXM (Lambda)'."""
        return f"{WAY_WORDS[self.way][2]} {self.what}"

    @property
    def price(self) -> str:
        """Its price, with who stated it where that is the user."""
        return f"{self.amount}, {OWN_ENTRY}" if self.entered else self.amount


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFit:
    """Whether the job fits into memory, per device [bytes].

    `need_bytes` is None where it is unknown. With `at_least` only weights, gradients and optimiser
    state are counted: a shortage is certain, enough room is not. `condition` is the smaller state
    that it needs, as "with 8-bit moments"; "" where it fits as described. `limited` where it fits
    tightly, or only sharded, recomputed or with a smaller state.
    """

    fits: bool | None
    need_bytes: float | None
    have_bytes: float | None
    at_least: bool
    sentence: str
    way_out: str = ""
    condition: str = ""
    limited: bool = False

    @property
    def as_described(self) -> bool:
        """Whether the job fits without a smaller state, or its memory is unknown."""
        return self.fits is not False and not self.condition

    @property
    def headroom(self) -> float | None:
        """Free share of the memory [0..1]; below 0 only where it does not fit; None if unknown."""
        if self.need_bytes is None or not self.have_bytes:
            return None
        free = 1.0 - self.need_bytes / self.have_bytes
        return free if self.fits is False else max(free, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """The factor of another device count on a speed or a time, with its interval.

    `across_nodes` is set for several machines. `fewer` is set for fewer devices than were measured:
    the same draw then has the opposite effect.
    """

    factor: Estimate
    across_nodes: bool = False
    fewer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NextMeasurement:
    """The run that would narrow a time most: its workload, its place, and why no other place.

    `stated` is set where the reasons of the time name it already.
    """

    workload: str
    place: str
    why: str = ""
    stated: bool = False

    def sentence(self, takes: str = "") -> str:
        """Return it as advice, with how long it takes."""
        why = f"{self.why} " if self.why else ""
        return Text(
            "{why}Measure {workload} on {place}{takes}.",
            why=why,
            workload=self.workload,
            place=self.place,
            takes=takes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """The time of the job on a candidate's hardware [s], and its basis.

    `rate` [samples/s] and `next_run` are None for a measured run. `batch` [samples] is that of the
    source run, or the assumed one; None where no run states it. `alone` is the total without the
    `scaling` and `samples` uncertainties, None if neither applies; both are factors of the time
    around 1. For `shared_sd`, `shared` and `shared_parts` see `planner.job.rates.Rate`. `least_s`
    is the time at the peak of the hardware [s]. `stated_runs` counts the published runs whose
    stated times to the target the total is based on, 0 where it is not.
    """

    total: Estimate | Refusal
    batch: float | None
    fit: MemoryFit
    rate: Estimate | None = None
    next_run: NextMeasurement | None = None
    shared_sd: float = 0.0
    shared: str = ""
    shared_parts: tuple[tuple[str, float], ...] = ()
    alone: Estimate | None = None
    scaling: Scaling | None = None
    samples: Estimate | None = None
    least_s: float = 0.0
    stated_runs: int = 0

    @property
    def measure_next(self) -> str:
        """The next measurement as a sentence; "" if it was measured."""
        if self.next_run is not None:
            return self.next_run.sentence()
        return self.total.measure_next if isinstance(self.total, Refusal) else ""
