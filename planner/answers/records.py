"""Answers as records: one for each question, the same for page, command and HTTP interface.

Fields ending in `_s` are seconds; `_low` and `_high` are the ends of 90 % intervals; None is
unknown. `plain` gives the JSON data of a record. The OpenAPI description and the checks of rows are
made from these classes by msgspec (docs/decisions/0042).
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, convert, to_builtins

from planner.compare import Assumptions
from planner.core import plain_text

Body = dict[str, Any]
"""JSON data: texts, numbers, lists and objects, without NaN."""
Number = int | float
Source = Mapping[str, str | float | int | bool | None]
"""Where numbers come from, with licence and date."""
FINISHES: Final = (
    "The end if work begins now, ISO 8601 with its zone: 2026-11-22T07:43Z. In files only; null "
    "here, as answers have no time of request."
)


class _Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record that refuses unknown fields."""


AnyRecord = TypeVar("AnyRecord", bound=Struct)


def plain(record: Struct) -> Body:
    """Return a record as JSON data."""
    body: Body = to_builtins(record, enc_hook=plain_text)
    return body


def rows_of(kind: type[AnyRecord], rows: Sequence[Mapping[str, object]]) -> tuple[AnyRecord, ...]:
    """Return rows of a table as records; msgspec.ValidationError for a wrong or missing field."""
    return tuple(convert(row, kind) for row in rows)


class ProjectionRow(_Record, frozen=True, kw_only=True):
    """The time of N epochs on a system [s]."""

    option: str
    workload: str
    input_pattern: str
    system: str
    global_batch_size: int | None
    epochs: int
    samples_per_epoch: Number | None
    timed_samples_per_epoch: Number | None
    total_s: Number | None
    total_hms: str | None
    low_s: Number | None
    high_s: Number | None
    level: Number | None
    baseline: str
    speed_ratio_to_baseline: Number | None
    speed_ratio_low: Number | None
    speed_ratio_high: Number | None
    another_session: bool
    rest_like_last: bool
    suspect: str | None
    left_out: bool
    basis: str
    refused: str | None
    measure_next: str | None
    notes: str | None
    result_set: str
    standing: str | None
    run_id: str
    source: str | None
    licence: str | None


class CurveRow(_Record, frozen=True, kw_only=True):
    """A throughput curve: parameters with the ends of their intervals."""

    curve: str
    points: int
    left_out: int
    standing: str | None
    asymptotic_throughput: Number | UnsetType | None = UNSET
    asymptotic_throughput_low: Number | UnsetType | None = UNSET
    asymptotic_throughput_high: Number | UnsetType | None = UNSET
    overhead_s: Number | UnsetType | None = UNSET
    overhead_s_low: Number | UnsetType | None = UNSET
    overhead_s_high: Number | UnsetType | None = UNSET
    batch_50: Number | UnsetType | None = UNSET
    batch_50_low: Number | UnsetType | None = UNSET
    batch_50_high: Number | UnsetType | None = UNSET
    batch_90: Number | UnsetType | None = UNSET
    batch_90_low: Number | UnsetType | None = UNSET
    batch_90_high: Number | UnsetType | None = UNSET
    scatter_percent: Number | UnsetType | None = UNSET
    basis: str | UnsetType = UNSET
    notes: str | UnsetType | None = UNSET
    refused: str | UnsetType | None = UNSET
    measure_next: str | UnsetType | None = UNSET


class PointRow(_Record, frozen=True, kw_only=True):
    """A measured point of a curve."""

    curve: str
    global_batch_size: int
    step_s: Number
    samples_per_s: Number
    fitted_step_s: Number | None
    measured_against_fit_percent: Number | None
    in_fit: bool
    peak_memory_gb: Number | None
    run_id: str


class BatchRow(_Record, frozen=True, kw_only=True):
    """A curve at a requested batch size."""

    curve: str
    global_batch_size: Number
    samples_per_s: Number | None
    samples_per_s_low: Number | None
    samples_per_s_high: Number | None
    step_s: Number | None
    step_s_low: Number | None
    step_s_high: Number | None
    basis: str | None
    notes: str | None
    refused: str | None
    measure_next: str | None


class OptionRow(_Record, frozen=True, kw_only=True):
    """An option of a comparison: time [s], money in `currency`, probabilities."""

    option_id: str
    option: str
    way: str
    system: str
    accelerator: str | None
    accelerators: int
    machines: int
    rank: int | None
    tied: bool
    workload: str
    goal: str
    global_batch_size: Number | None
    time_s: Number | None
    time_s_low: Number | None
    time_s_high: Number | None
    time_hms: str | None
    finishes: Annotated[str | None, Meta(description=FINISHES)]
    samples_per_s: Number | None
    samples_per_s_low: Number | None
    samples_per_s_high: Number | None
    startup_s: Number | None
    currency: str
    cost_per_run: Number | None
    cost_per_run_low: Number | None
    cost_per_run_high: Number | None
    to_pay: Number | None
    to_pay_low: Number | None
    to_pay_high: Number | None
    cost_per_month: Number | None
    cost_per_month_low: Number | None
    cost_per_month_high: Number | None
    energy_kwh: Number | None
    energy_kwh_low: Number | None
    energy_kwh_high: Number | None
    co2_kg: Number | None
    probability_cheapest: Number | None
    probability_fastest: Number | None
    probability_in_time: Number | None
    probability_in_budget: Number | None
    probability_meets_limits: Number | None
    on_frontier: bool
    memory: str
    memory_headroom: Number | None
    memory_needed: str | None
    way_out: str | None
    basis: str | None
    notes: str | None
    price: str
    price_is_stale: bool
    refused: str | None
    measure_next: str | None
    run_id: str | None
    standing: str | None
    price_source: str | None


class RunRow(_Record, frozen=True, kw_only=True):
    """A measured or published run."""

    run_id: str
    workload: str
    system: str
    global_batch_size: int | None
    pattern: str
    software: str
    status: str
    basis: str
    epochs_measured: int | None
    samples_per_epoch: int | None
    first_epoch_s: Number | None
    later_epoch_mean_s: Number | None
    later_epoch_sd_s: Number | None
    samples_per_s: Number | None
    total_s: Number | None
    result_set: str
    folder: str
    standing: str | None
    recorded_at: str | None
    suspect: str | None
    published_on: str | None
    source_url: str | None
    licence: str | None


class Choice(_Record, frozen=True, kw_only=True):
    """An option that can be chosen."""

    option_id: str
    option: str
    way: str
    price: str
    price_is_stale: bool
    standing: str | None
    usual: bool


class Pattern(_Record, frozen=True, kw_only=True):
    """An input pattern of a workload, by slug and name."""

    pattern: str
    name: str


class WorkloadRow(_Record, frozen=True, kw_only=True):
    """A workload with its input patterns, by slug and name."""

    workload: str
    name: str
    standing: str | None
    patterns: tuple[Pattern, ...]


class Index(_Record, frozen=True, kw_only=True):
    """What can be asked about."""

    openapi: str
    workloads: tuple[WorkloadRow, ...]


class Results(_Record, frozen=True, kw_only=True):
    """A part of the runs that match a question."""

    query: str
    total: int
    next_cursor: str | None
    rows: tuple[RunRow, ...]


class Projection(_Record, frozen=True, kw_only=True):
    """The answer of How long?: times of N epochs on each system."""

    query: str
    epochs: int
    samples_per_epoch: Number | None
    epoch_size: str
    start_up: str | None
    baseline: str
    sentence: str
    undecided: str | None
    note: str | None
    rows: tuple[ProjectionRow, ...]
    sources: tuple[Source, ...]


class Curves(_Record, frozen=True, kw_only=True):
    """Throughput curves, their points, and their values at requested batch sizes."""

    query: str
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    curves: tuple[CurveRow, ...]
    at_batch: tuple[BatchRow, ...]
    points: tuple[PointRow, ...]
    sources: tuple[Source, ...]


class ScalingRow(_Record, frozen=True, kw_only=True):
    """The step on a device count at a batch, against the smallest measured count."""

    devices: int
    nodes: int
    global_batch_size: Number
    measured_step_s: Number | None
    step_s: Number | None
    step_s_low: Number | None
    step_s_high: Number | None
    samples_per_s: Number | None
    samples_per_s_low: Number | None
    samples_per_s_high: Number | None
    speed_up: Number | None
    speed_up_low: Number | None
    speed_up_high: Number | None
    efficiency: Number | None
    efficiency_low: Number | None
    efficiency_high: Number | None
    compute_s: Number | None
    overhead_s: Number | None
    link_s: Number | None
    startup_s: Number | None
    startup_s_low: Number | None
    startup_s_high: Number | None
    total_s: Number | None
    total_s_low: Number | None
    total_s_high: Number | None
    device_hours: Number | None
    idle_device_hours: Number | None
    idle_device_hours_low: Number | None
    idle_device_hours_high: Number | None
    cost_usd: Number | None
    idle_usd: Number | None
    basis: str | None
    notes: str | None
    refused: str | None
    measure_next: str | None


class CrossoverRow(_Record, frozen=True, kw_only=True):
    """The global batch from which a device count is faster than another one.

    `measured_slower_at` and `measured_faster_at` are batches at which runs of both show it.
    """

    devices: int
    against: str
    against_devices: int
    is_driver: bool
    from_batch: Number | None
    from_batch_low: Number | None
    from_batch_high: Number | None
    measured_slower_at: Number | None
    measured_faster_at: Number | None
    refused: str | None
    measure_next: str | None


class UnevenRow(_Record, frozen=True, kw_only=True):
    """Workers with one slow: steps that wait for it, and updates that do not.

    The time ratios are those of asynchronous over synchronous training to a target; null without a
    critical batch size.
    """

    devices: int
    global_batch_size: Number
    even_step_s: Number
    step_s: Number
    synchronous_samples_per_s: Number
    asynchronous_samples_per_s: Number
    updates_per_s: Number
    staleness: Number
    slowest_staleness: Number
    server_limits: bool
    least_time_ratio: Number | None
    most_time_ratio: Number | None


class RankRow(_Record, frozen=True, kw_only=True):
    """A published case of driver and workers: its place by epoch time, null where not stated.

    `first` to `last` are the places that the text leaves open.
    """

    launch: str
    nodes: int
    devices: int
    batch: int
    rank: int | None
    first: int | None
    last: int | None
    result_set: str


class ProfiledRow(_Record, frozen=True, kw_only=True):
    """Shares of a step [1] by TensorFlow's profiler, medians of `runs`; the rest is the host's."""

    devices: int
    global_batch_size: Number
    compute_share: Number
    communication_share: Number
    input_share: Number
    host_share: Number
    runs: int


class SplitRow(_Record, frozen=True, kw_only=True):
    """A network cut over tensor x pipeline x data devices: memory of a device, shares of a step.

    `advised` marks the smallest cut that fits. Speeds are rough: docs/accuracy-what-if.md.
    """

    tensor: int
    pipeline: int
    data: int
    micro_batches: int
    state_gb: Number
    activations_gb: Number
    memory_gb: Number
    fits: bool
    recomputes: bool
    bubble: Number
    tensor_share: Number
    data_share: Number
    step_s: Number
    samples_per_s: Number
    advised: bool


class SplitOut(_Record, frozen=True, kw_only=True):
    """Whether a network fits on accelerators, and every cut of it, fewest shards first."""

    network: str
    accelerator: str
    count: int
    sequence: Number
    global_batch_size: Number
    sentences: tuple[str, ...]
    rows: tuple[SplitRow, ...]


class ScalingOut(_Record, frozen=True, kw_only=True):
    """The answer of Scaling out: whether more devices pay."""

    query: str
    workload: str
    series: str
    driver: str | None
    standing: str | None
    hold: str
    epochs: int
    samples_per_epoch: Number | None
    sentences: tuple[str, ...]
    rows: tuple[ScalingRow, ...]
    crossovers: tuple[CrossoverRow, ...]
    uneven: tuple[UnevenRow, ...]
    profiled: tuple[ProfiledRow, ...]
    stated: tuple[RankRow, ...]
    split: SplitOut | None
    sources: tuple[Source, ...]


class CapacityJob(_Record, frozen=True, kw_only=True):
    """A job of a plan: time of a run [s], and the share of its runs that end too late [1]."""

    job: str
    trains: str
    standing: str | None
    machine: str | None
    accelerators: int
    runs_a_month: Number
    within_h: Number | None
    interruptible: bool
    growth: Number
    time_s: Number | None
    time_s_low: Number | None
    time_s_high: Number | None
    accelerator_hours_a_month: Number | None
    late: Number | None
    late_in_worst_quarter: Number | None
    at_once: Number | None
    median_wait_s: Number | None
    wait_s_95: Number | None
    refused: str | None
    measure_next: str | None


class CapacityMachine(_Record, frozen=True, kw_only=True):
    """Machines of a fleet; `count` of rented ones is the most at the same time. Money in USD."""

    machine: str
    option: str
    term: str
    accelerators: int
    count: int
    from_month: int
    cost_usd_a_month: Number
    hours_a_month: Number
    utilisation: Number | None
    price: str
    price_is_stale: bool
    source: str


class CapacityMonth(_Record, frozen=True, kw_only=True):
    """A month of a plan: cost [USD], utilisation of own machines, busy machine-hours by machine."""

    month: int
    cost_usd: Number
    cost_usd_low: Number
    cost_usd_high: Number
    utilisation: Number | None
    late: Number | None
    hours: Mapping[str, Number]


class CapacityLine(_Record, frozen=True, kw_only=True):
    """Money spent until the end of each month, from 0 [USD]; `net_usd` is less the resale value."""

    name: str
    kind: str
    usd: tuple[Number, ...]
    usd_low: tuple[Number, ...]
    usd_high: tuple[Number, ...]
    resale_usd: Number
    net_usd: Number
    energy_kwh: Number | None
    co2_kg: Number | None
    problem: str | None


class CapacityPair(_Record, frozen=True, kw_only=True):
    """A bought machine beside a rented one like it, and the month from which it has cost less.

    The month is null where the rented one stays cheaper over all years.
    """

    bought: str
    rented: str
    break_even_month: Number | None
    break_even_month_low: Number | None
    break_even_month_high: Number | None


class CapacityLines(_Record, frozen=True, kw_only=True):
    """Cost lines side by side, and the month from which the first one costs less."""

    title: str
    sentence: str
    break_even_month: Number | None
    break_even_month_low: Number | None
    break_even_month_high: Number | None
    lines: tuple[CapacityLine, ...]
    pairs: tuple[CapacityPair, ...]


class CapacityPlan(_Record, frozen=True, kw_only=True):
    """The answer of Capacity: machines for a month of jobs. Money is in USD without tax."""

    query: str
    sentence: str
    keeps_deadlines: bool
    breaks_first: str | None
    breaks_at_factor: Number | None
    fix: str | None
    measure_next: str | None
    fleets_compared: int
    jobs: tuple[CapacityJob, ...]
    machines: tuple[CapacityMachine, ...]
    months: tuple[CapacityMonth, ...]
    costs: CapacityLines | None
    one_machine: CapacityLines | None
    sensitivity: "tuple[Bar, ...]"
    notes: tuple[str, ...]
    sources: tuple[Source, ...]


class BuyOrRent(_Record, frozen=True, kw_only=True):
    """From which use on buying is cheaper than the best rental."""

    sentence: str
    rent: str
    buy: str
    utilisation: Number | None
    utilisation_low: Number | None
    utilisation_high: Number | None
    runs_per_month: Number | None
    runs_per_month_low: Number | None
    runs_per_month_high: Number | None


class Bar(_Record, frozen=True, kw_only=True):
    """An uncertain input, and the answer at both ends of it."""

    input: str
    low: Number | None
    high: Number | None


class Tornado(_Record, frozen=True, kw_only=True):
    """How far each uncertain input moves the answer by itself."""

    title: str
    unit: str
    base: Number | None
    inputs: tuple[Bar, ...]


class ElectricityRow(_Record, frozen=True, kw_only=True):
    """The electricity price of a country: customer, dates and sources."""

    country: str
    customer: str | None
    price_as_of: str | None
    price_source: str | None
    price_is_stale: bool
    carbon_as_of: str | None
    carbon_source: str | None
    note: str | None


class HardwareComparison(_Record, frozen=True, kw_only=True):
    """The answer of Compare hardware. Money is in the requested currency with its tax.

    Assumptions are in USD.
    """

    query: str
    workload: str
    goal: str
    samples_per_epoch: Number | None
    sentence: str
    undecided: str | None
    measure_next: str | None
    timed_step: str | None
    money: str
    rows: tuple[OptionRow, ...]
    rent_or_buy: BuyOrRent | None
    matters_most: Tornado | None
    keeps: str | None
    assumptions: Assumptions
    electricity: ElectricityRow | None
    assumed: tuple[str, ...]
    sources: tuple[Source, ...]


class ExploreAxis(_Record, frozen=True, kw_only=True):
    """An axis of a chart: its column or formula, and its title with the shown unit."""

    name: str
    title: str


class ExplorePoint(_Record, frozen=True, kw_only=True):
    """A run on a chart, in the shown units; `marked` is inside the marked area."""

    run_id: str
    workload: str
    system: str
    x: str | Number | None
    y: Number | None
    colour: str | Number | None
    symbol: str | None
    size: Number | None
    facet: str | None
    marked: bool
    suspect: str | None
    standing: str | None


class ExploreCurve(_Record, frozen=True, kw_only=True):
    """The law through the points of a case, with the ends of 90 % intervals.

    Over batch sizes it is the throughput law, or that of steps to a target with `min_steps` and
    `critical_batch_size`. Over device counts it is the scaling law at one `batch`, global or per
    device; its throughput and overhead are those of one device.
    """

    curve: str
    points: int
    smallest_batch: Number | None = None
    largest_batch: Number | None = None
    fewest_devices: int | None = None
    most_devices: int | None = None
    batch: Number | None = None
    per_device: bool | None = None
    asymptotic_throughput: Number | None
    asymptotic_throughput_low: Number | None
    asymptotic_throughput_high: Number | None
    overhead_s: Number | None
    overhead_s_low: Number | None
    overhead_s_high: Number | None
    min_steps: Number | None = None
    min_steps_low: Number | None = None
    min_steps_high: Number | None = None
    critical_batch_size: Number | None = None
    critical_batch_size_low: Number | None = None
    critical_batch_size_high: Number | None = None


class ExploreCell(_Record, frozen=True, kw_only=True):
    """A cell of a pivot table in the shown unit, and the count of its runs."""

    row: str
    column: str
    value: Number | None
    runs: int


class ExploreFact(_Record, frozen=True, kw_only=True):
    """A fact of all compared runs, in the order of `names`."""

    fact: str
    unit: str
    cells: tuple[str | Number | bool | None, ...]
    difference: str


class Explore(_Record, frozen=True, kw_only=True):
    """The answer of Explore: points and curves, cells of a pivot table, or facts side by side."""

    query: str
    view: str
    sentence: str
    notes: tuple[str, ...]
    x: ExploreAxis | None
    y: ExploreAxis | None
    points: tuple[ExplorePoint, ...]
    curves: tuple[ExploreCurve, ...]
    cells: tuple[ExploreCell, ...]
    names: tuple[str, ...]
    facts: tuple[ExploreFact, ...]


class Options(_Record, frozen=True, kw_only=True):
    """All options of a comparison; `usual` marks the default ones."""

    query: str
    rows: tuple[Choice, ...]


class SqlColumn(_Record, frozen=True, kw_only=True):
    """A column of a result: its name, its unit where known, and the kind of its values."""

    name: str
    unit: str | None
    kind: str


class SqlResult(_Record, frozen=True, kw_only=True):
    """The rows of a SELECT statement over the runs; `cut`: further rows are left out."""

    query: str
    columns: tuple[SqlColumn, ...]
    rows: tuple[tuple[str | Number | bool | None, ...], ...]
    cut: bool


class Pushed(_Record, frozen=True, kw_only=True):
    """Runs of a request: all are on disk, `stored` of them new."""

    set: str
    stored: int
    already: int
    run_ids: tuple[str, ...]


class Fault(_Record, frozen=True, kw_only=True):
    """What is wrong with a parameter, or with the question as a whole."""

    parameter: str | UnsetType = UNSET
    detail: str


class Problem(_Record, frozen=True, kw_only=True):
    """RFC 9457; `errors` names every parameter that is wrong."""

    type: str
    title: str
    status: int
    detail: str
    errors: tuple[Fault, ...] | UnsetType = UNSET
