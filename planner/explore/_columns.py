"""The columns that Explore offers: those of the run table, and those that follow from them.

A number has a title, a unit and the factor from the stored unit to the shown one. A category is a
text, a yes or no, or a number with few values, such as the batch size.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from planner.catalog import Accelerator, Catalog, Offer, offers_of
from planner.core import GIGA, Floats, sentence_case
from planner.job import placed, shares
from planner.runs import BY_NAME

DOLLARS: Final = "USD"
ON_DEMAND: Final = "on demand"
MILLION: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisColumn:
    """One column: its name in formulas and links, its title, meaning and unit.

    `factor` converts the stored number to the shown one, in `unit`; formulas use stored numbers,
    in `stored_unit`.
    """

    name: str
    title: str
    meaning: str
    unit: str = ""
    factor: float = 1.0
    stored_unit: str = ""

    @property
    def axis(self) -> str:
        """Its title with the unit."""
        return titled(self.title, self.unit)


def titled(title: str, unit: str) -> str:
    """Return a title with its unit, unless the title names it: `Nodes`, `Step time (s)`."""
    named = not unit or unit.lower() in title.lower().split()
    return title if named else f"{title} ({unit})"


_TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "global_batch_size": "Batch size",
        "per_device_batch_size": "Batch size per device",
        "micro_batch_size": "Micro-batch size",
        "peak_memory_bytes": "Peak memory",
        "accelerator_memory_bytes": "Memory of an accelerator",
        "host_memory_bytes": "Host memory",
        "energy_kwh": "Energy",
        "mean_power_watts": "Mean power",
        "params": "Parameters",
        "active_params": "Active parameters",
        "step_s": "Step time as stated",
        "step_time_s": "Step time",
        "samples_per_s": "Throughput",
        "throughput": "Throughput as stated",
        "later_epoch_mean_s": "Epoch time, later epochs",
        "later_epoch_sd_s": "Standard deviation of epochs",
        "first_epoch_s": "Epoch 1",
        "total_s": "Total time",
        "pre_train_s": "Pre-train time",
        "startup_s": "Start-up time",
        "time_to_target_s": "Time to target",
        "stated_mfu": "MFU as stated",
        "train_flops_per_sample": "Operations per sample",
        "gemm_flops_per_s": "Matrix product speed",
        "accelerator_model_name": "Accelerator model",
        "system_name": "System name",
        "published_on": "Month of publication",
        "repository": "Published in",
        "jit": "Compiled by XLA",
        "feed": "Feed",
        "image_px": "Image side",
    }
)
"""Titles that do not follow from the name."""
_WITHOUT: Final = frozenset({"schema_version", "repeat", "attempt", "seed", "position_in_session"})
"""Numbers that only identify a run."""
_SHOWN: Final[Mapping[str, tuple[float, str]]] = MappingProxyType(
    {"bytes": (1.0 / GIGA, "GB"), "FLOP": (1.0 / GIGA, "GFLOP"), "FLOP/s": (1e-12, "TFLOP/s"),
     "parameters": (1.0 / MILLION, "million")}
)  # fmt: skip
"""Factor and unit of a number on an axis, by its stored unit."""
_SUFFIXES: Final = ("_s", "_bytes", "_kwh", "_watts")

_DERIVED: Final = (
    ("step_time_s", "Step time", "s", "time of a step: stated, or from epochs"),
    ("samples_per_s", "Throughput", "samples/s", "samples in a second: stated, or from step times"),
    ("devices", "Devices", "devices", "accelerators of all nodes"),
    ("samples_per_s_per_device", "Throughput per device", "samples/s", "throughput / devices"),
    ("model_flops_per_s", "Model operations", "FLOP/s", "operations per sample x throughput"),
    ("mfu", "MFU", "share",
     "as the source states it, else model operations / data sheet's peak in the run's precision"),
    ("memory_share", "Memory in use", "share", "peak memory / memory of an accelerator"),
    ("usd_per_hour", "Rental price", "USD/h",
     "lowest on-demand price in USD of the catalogue, for all accelerators of the run"),
    ("usd_per_million_samples", "Price per million samples", "USD",
     "rental price of the time for a million samples"),
    ("usd_to_target", "Price to target", "USD", "rental price of the time to target"),
)  # fmt: skip
"""Numbers that follow from others: name, title, unit, meaning."""

CATEGORIES: Final[Mapping[str, AxisColumn]] = MappingProxyType(
    {
        name: AxisColumn(name=name, title=title, meaning=meaning)
        for name, title, meaning in (
            ("accelerator", "Accelerator", "accelerator model, or the system without one"),
            ("system", "System", "accelerators x count, and nodes"),
            ("workload", "Workload", "network, data set, optimiser and precision"),
            ("model", "Network", "network"),
            ("family", "Family", "kind of network: dense, cnn ..."),
            ("task", "Task", "kind of work: language model, vision ..."),
            ("dataset", "Data set", "data set"),
            ("optimizer", "Optimiser", "optimiser"),
            ("precision", "Precision", "number format"),
            ("global_batch_size", "Batch size", "samples per step over all devices"),
            ("devices", "Devices", "accelerators of all nodes"),
            ("number_of_nodes", "Nodes", "nodes"),
            ("device_kind", "Device kind", "gpu, tpu, cpu"),
            ("framework", "Framework", "framework"),
            ("software", "Software", "framework and version"),
            ("engine", "Engine", "measuring loop"),
            ("strategy", "Strategy", "distribution strategy"),
            ("launch", "Launch mode", "how the processes were started"),
            ("pattern", "Input pattern", "validation, augmentation, storage and feed together"),
            ("feed", "Feed", "how samples reach the training loop"),
            ("jit", "Compiled by XLA", "yes or no"),
            ("mode", "Mode", "training or inference"),
            ("status", "Status", "how the run ended"),
            ("basis", "Basis", "measured or published"),
            ("suspect", "Suspect", "what is suspect about the run"),
            ("standing", "Standing", "unofficial: brought in and not checked"),
            ("host_processor_model_name", "Host processor", "processor of the host"),
            ("repository", "Published in", "repository of a published figure"),
            ("published_on", "Month of publication", "year and month"),
            ("result_set", "Result set", "result set"),
            ("folder", "Folder", "folder of results"),
        )
    }
)
"""Columns for colours, symbols, facets, groups and pivot tables."""


def _title(name: str) -> str:
    if name in _TITLES:
        return _TITLES[name]
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return sentence_case(name.replace("_", " "))


def _number(name: str, title: str, unit: str, meaning: str) -> AxisColumn:
    factor, shown = _SHOWN.get(unit, (1.0, unit))
    if unit == "share" or name == "stated_mfu":
        factor, shown = 100.0, "%"
    return AxisColumn(
        name=name, title=title, meaning=meaning, unit=shown, factor=factor, stored_unit=unit
    )


NUMBERS: Final[Mapping[str, AxisColumn]] = MappingProxyType(
    {
        **{
            c.name: _number(c.name, _title(c.name), c.unit, c.meaning)
            for c in BY_NAME.values()
            if c.type in (pa.int64(), pa.float64()) and c.name not in _WITHOUT
        },
        **{name: _number(name, title, unit, text) for name, title, unit, text in _DERIVED},
    }
)
"""Columns for axes, sizes, measures and formulas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """One category of each run: a place among `labels`, -1 where the run states none."""

    codes: NDArray[np.int64]
    labels: tuple[str, ...]


def numbers_of(runs: pa.Table, name: str) -> Floats:
    """Return a number of each run in its stored unit, NaN where it states none."""
    values = runs[name].combine_chunks()
    return np.asarray(
        pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64
    )


def category_of(runs: pa.Table, name: str) -> Category:
    """Return a category of each run; labels in alphabetical order, numbers in theirs."""
    values = runs[name].combine_chunks()
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        return numbered_category(numbers_of(runs, name))
    if pa.types.is_boolean(values.type):
        values = pc.if_else(values, "yes", "no")
    encoded = values.dictionary_encode()
    names = [str(n) for n in encoded.dictionary.to_pylist()]
    order = np.argsort(np.array(names, dtype=object), kind="stable")
    place = np.empty(len(names) + 1, dtype=np.int64)
    place[order], place[-1] = np.arange(len(names)), -1
    codes = encoded.indices.fill_null(len(names)).to_numpy(zero_copy_only=False).astype(np.int64)
    return Category(codes=place[codes], labels=tuple(names[i] for i in order))


def numbered_category(values: Floats) -> Category:
    """Return numbers as a category, in rising order."""
    stated = np.isfinite(values)
    distinct, codes = np.unique(values[stated], return_inverse=True)
    places = np.full(values.shape, -1, dtype=np.int64)
    places[stated] = codes
    return Category(codes=places, labels=tuple(f"{v:,.15g}" for v in distinct))


def with_derived(runs: pa.Table, catalog: Catalog, suspect: Mapping[str, str]) -> pa.Table:
    """Return runs with the columns that follow from others, and from the catalogue.

    Args:
        runs: all columns of the store's run table.
        catalog: peaks and prices of accelerators.
        suspect: what is suspect about a run, by its id.
    """
    speed = numbers_of(runs, "samples_per_s")
    each, nodes = (
        np.nan_to_num(numbers_of(runs, n), nan=1.0)
        for n in ("accelerators_per_node", "number_of_nodes")
    )
    devices = each * nodes
    with np.errstate(all="ignore"):
        trained = pc.and_(pc.equal(runs["mode"], "training"), pc.equal(runs["status"], "ok"))
        trained = trained.to_numpy(zero_copy_only=False).astype(bool)
        work = np.where(trained, numbers_of(runs, "train_flops_per_sample"), np.nan)
        flops = speed * work
        used = numbers_of(runs, "peak_memory_bytes") / numbers_of(runs, "accelerator_memory_bytes")
        prices = _prices(runs, catalog)
        million = prices / 3600.0 * MILLION / speed
        to_target = prices / 3600.0 * numbers_of(runs, "time_to_target_s")
        per_device = speed / devices
    worked = pa.array(np.where(trained, speed, np.nan), pa.float64(), from_pandas=True)
    of_work = runs.select(("stated_mfu", "train_flops_per_sample", *_PLACED))
    rows = of_work.append_column("throughput", worked).to_pylist()
    ids = runs["run_id"].to_pylist()
    added = {
        "devices": devices,
        "samples_per_s_per_device": per_device,
        "model_flops_per_s": flops,
        "mfu": np.array(shares(rows, catalog), dtype=np.float64),
        "memory_share": used,
        "usd_per_hour": prices,
        "usd_per_million_samples": million,
        "usd_to_target": to_target,
    }
    for name, values in added.items():
        finite = np.where(np.isfinite(values), values, np.nan)
        runs = runs.append_column(name, pa.array(finite, pa.float64(), from_pandas=True))
    names = pc.coalesce(runs["accelerator_model_name"], runs["system_name"])
    runs = runs.append_column("accelerator", names)
    return runs.append_column("suspect", pa.array([suspect.get(i) for i in ids], pa.string()))


_PLACED: Final = (
    "accelerator_model_name", "system_name", "system", "accelerators_per_node", "number_of_nodes",
    "precision",
)  # fmt: skip


def _prices(runs: pa.Table, catalog: Catalog) -> Floats:
    """Return the rental price of the accelerators of each run [USD/h]; NaN where there is none.

    Computed once for each kind of machine.
    """
    rows = list(zip(*(runs[name].to_pylist() for name in _PLACED), strict=True))
    prices = {
        row: _price(dict(zip(_PLACED, row, strict=True)), catalog) for row in dict.fromkeys(rows)
    }
    return np.array([prices[row] for row in rows], dtype=np.float64)


def _price(row: Mapping[str, object], catalog: Catalog) -> float:
    machine = placed(catalog, row)
    offer = None if machine.accelerator is None else lowest_offer(catalog, machine.accelerator)
    return np.nan if offer is None else offer.price_per_accelerator_hour * machine.count


def lowest_offer(catalog: Catalog, accelerator: Accelerator) -> Offer | None:
    """Return the on-demand offer in USD with the lowest price for an accelerator; None without."""
    offers = (
        o for o in offers_of(catalog, accelerator) if o.currency == DOLLARS and o.terms == ON_DEMAND
    )
    return min(offers, key=lambda o: o.price_per_accelerator_hour, default=None)
