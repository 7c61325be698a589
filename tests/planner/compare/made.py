"""A small catalogue and a measured job, made by hand: every number is round."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Final

from planner.catalog import Accelerator, Catalog, Offer, Tariff
from planner.compare import Assumptions, Shop
from planner.epochs import options_of
from planner.job import Candidate, Job, job_measured
from planner.runs import Run

TODAY: Final = date(2026, 11, 21)
FRESH: Final = date(2026, 10, 1)
OLD: Final = date(2024, 1, 1)
LINK: Final = "https://example.org/sheet"


def accelerator(
    name: str, scale: float, price: float | None = None, watts: float = 400.0
) -> Accelerator:
    """`scale` times a plain card: 100 TFLOP/s, 1 TB/s, 40 GB."""
    return Accelerator(
        id=name.lower(), name=name, maker="Made", kind="gpu", source_url=LINK, as_of=FRESH,
        memory_bytes=40e9, memory_bandwidth_bytes_per_s=1e12 * scale,
        peak_flops_per_s={"float32": 1e14 * scale, "float16": 2e14 * scale},
        board_power_watts=watts, list_price_usd=price,
        list_price_as_of=None if price is None else FRESH, launched=date(2024, 1, 1),
    )  # fmt: skip


def offer(
    card: str, price: float, count: int = 1, as_of: date = FRESH, terms: str = "on demand"
) -> Offer:
    """`count` of a card for a price per hour, billed by the second."""
    return Offer(
        provider="Cloud", region="eu", instance=f"{count}x-{card}", accelerator=card,
        accelerators=count, terms=terms, price_per_hour=price, currency="USD",  # type: ignore[arg-type]
        source_url=LINK, as_of=as_of, billing_increment_s=1.0,
    )  # fmt: skip


PLAIN: Final = accelerator("Plain", 1.0, price=10_000.0)
TWICE: Final = accelerator("Twice", 2.0, price=40_000.0)
HUGE: Final = accelerator("Huge", 20.0)
TARIFF: Final = Tariff(
    id="XX", country="Nowhere", price_usd_per_kwh=0.5, price_as_of=FRESH, carbon_kg_per_kwh=0.25,
    carbon_as_of=FRESH,
)  # fmt: skip
CATALOG: Final = Catalog(
    accelerators=(PLAIN, TWICE, HUGE),
    offers=(
        offer("plain", 1.0), offer("plain", 7.0, count=8), offer("twice", 3.0),
        offer("huge", 8.0, as_of=OLD), offer("twice", 1.0, terms="spot"),
    ),
    tariffs=(TARIFF,),
)  # fmt: skip
SHOP: Final = Shop(catalog=CATALOG, assumed=Assumptions(), today=TODAY)
RUN: Final = Run(
    run_id="a" * 32, result_set="s", folder="yours", file="f", status="ok", status_reason=None,
    basis="measured", source="measured here", source_url=None, licence="CC0", note=None,
    recorded_at=datetime(2026, 11, 21, tzinfo=UTC), model="Net", workload="Net · Data",
    system="Plain", pattern="p", software="TF", device_kind="gpu", mode="training",
    global_batch_size=100, pre_train_s=100.0, first_epoch_s=100.0, until_first_epoch_end_s=None,
    later_epoch_mean_s=100.0, later_epoch_sd_s=0.1, epochs_measured=5, total_s=None,
    steps_per_epoch=100, samples_per_epoch=10_000, step_time_s=1.0, samples_per_s=100.0,
    asymptotic_throughput=None, overhead_s=None,
)  # fmt: skip


def row(run: Run, **changes: object) -> dict[str, object]:
    """The summary columns of a run that a job is made of."""
    return {
        "run_id": run.run_id, "precision": "float32", "optimizer": "SGD momentum 0.9",
        "params": 1e6, "train_flops_per_sample": 1e10, "train_samples": 10_000,
        "samples_per_epoch": run.samples_per_epoch, "pre_train_s": run.pre_train_s,
        "global_batch_size": run.global_batch_size, "peak_memory_bytes": None,
        "peak_memory_method": None, "system_name": run.system, "system": run.system,
        "accelerator_model_name": run.system, "accelerators_per_node": 1, "number_of_nodes": 1,
        "workload": run.workload, "samples_per_s": run.samples_per_s,
    } | changes  # fmt: skip


def job(*runs: Run, **changes: object) -> Job:
    """A measured job of these runs (the plain one by default)."""
    result = runs or (RUN,)
    rows = [row(r, **changes) for r in result]
    return job_measured("Net · Data", rows, options_of(result), CATALOG)


def other(system: str, name: str = "b", **changes: object) -> Run:
    """The same run on another system."""
    return replace(RUN, run_id=name * 32, system=system, **changes)  # type: ignore[arg-type]


def called(option: Candidate, name: str) -> Candidate:
    """The same option, rented, under another name."""
    hardware = replace(option.hardware, label=name)
    return replace(option, way="rent", hardware=hardware, qualifiers=())
