"""Do more devices pay? The answer from the store, as on the page Scaling out.

A series is the runs of a workload on one kind of system, under one input pattern and software. Its
driver is another series on processes that need no workers: by default one on the same system whose
launch mode says so.
"""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from planner.answers import parameters
from planner.answers._asking import NO_RUN, looked_up_slug
from planner.answers._tables import source_cells
from planner.answers.comparison import epoch_size_of
from planner.answers.records import (
    CrossoverRow,
    ProfiledRow,
    RankRow,
    ScalingOut,
    ScalingRow,
    SplitOut,
    SplitRow,
    UnevenRow,
    rows_of,
)
from planner.answers.runs import suspects_of
from planner.catalog import Accelerator, Catalog, accelerator_named
from planner.core import (
    HOUR_S,
    ParameterProblem,
    QueryTexts,
    Record,
    Refusal,
    Text,
    cell,
    estimate_cells,
    paragraph,
    plain,
    query_of,
    read,
)
from planner.core.slugs import slugs
from planner.job import Job
from planner.networks import Network, network_named, network_or_none, operations_of
from planner.runs import Placement, Run
from planner.scaling import SPLIT
from planner.scaling_out import (
    CountAnswer,
    Crossing,
    DeviceSeries,
    SeriesAnswer,
    SeriesQuestion,
    UnevenAnswer,
    answer_of,
    batch_text,
    sentences,
    series_of,
)
from planner.splits import Split, advice, batched_cuts, split_sentences, splits
from planner.store import queries
from planner.store.reader import Store
from planner.store.sealed.result_set import ResultSet
from planner.throughput import pattern_labels

GIGABIT: Final = 1e9 / 8.0
"""Bytes of a gigabit."""
ALONE: Final = frozenset({"single process", "driver only"})
"""Launch modes without workers."""
OF_IMAGES: Final = frozenset({"Vision", "Image generation"})
"""Tasks of networks of images."""
PIXELS: Final = re.compile(r"(\d+)x(\d+)(?:x\d+)?")
"""Of the column `input_shape`: 32x32x3."""
NO_SERIES: Final = ParameterProblem(
    parameter="workload",
    message="No run of this workload was timed on several device counts. Measure two counts.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingOutAnswer:
    """The answer, None where there is no series; `names` are the series by slug.

    `query` is the same question with its defaults written out. `images` compares the pixels of a
    step with another image size; "" where the size is unknown. `image_px` is the side of the images
    that runs or network state, None where they state none; `of_images` whether images are trained.
    """

    answer: SeriesAnswer | None
    names: Mapping[str, str]
    series: str
    driver: str
    query: str
    problems: tuple[ParameterProblem, ...]
    stated: tuple[queries.RankedCase, ...] = ()
    images: str = ""
    image_px: float | None = None
    of_images: bool = False
    split: "SplitAnswer | None" = None
    profiled: "tuple[ProfiledShares, ...]" = ()


def scaling_out_workloads(store: Store) -> dict[str, str]:
    """Return the names of workloads with step times on several device counts, by slug."""

    def query() -> dict[str, str]:
        by_name = {name: short for short, name in slugs(queries.workloads(store)).items()}
        scaled = queries.scaled_workloads(store)
        return {by_name[name]: name for name in scaled if name in by_name}

    return store.once("scaling-out workloads", query)


def scaling_out_answered(store: Store, question: QueryTexts, catalog: Catalog) -> ScalingOutAnswer:
    """Return whether more devices pay, as on the page Scaling out."""
    parsed = read(parameters.SCALING_OUT, question, parameters.FOR_THE_EYE)
    values, problems = parsed.values, list(parsed.problems)
    workloads = scaling_out_workloads(store)
    nothing = ScalingOutAnswer(answer=None, names={}, series="", driver="", query="",
                               problems=tuple(problems or [NO_RUN]))  # fmt: skip
    if not workloads:
        return nothing
    short = looked_up_slug("workload", "workload", values["workload"], workloads, problems)
    without = suspects_of(store).left_out if values["without_suspects"] else frozenset[str]()
    every = series_by_slug(store, workloads[short], without)
    several = {s: x for s, x in every.items() if len(x.counts) > 1}
    if not several:
        return ScalingOutAnswer(answer=None, names={}, series="", driver="", query=nothing.query,
                                problems=(*problems, NO_SERIES))  # fmt: skip
    names = {s: x.label for s, x in every.items()}
    chosen = looked_up_slug("series", "series", values["series"],
                            {s: names[s] for s in several}, problems)  # fmt: skip
    series = several[chosen]
    others = {s: n for s, n in names.items() if s != chosen}
    usual = _usual_driver(series, every)
    driver = usual
    if values["driver"] and values["driver"] != NO_DRIVER and others:
        driver = looked_up_slug("driver", "series", values["driver"], others, problems)
    if values["driver"] == NO_DRIVER:
        driver = ""
    runs = list(series.runs)
    size = epoch_size_of(store, workloads[short], runs, values["samples_per_epoch"])
    first = runs[0].run_id
    facts = store.once(("all columns", first), lambda: queries.all_columns(store, first))
    split = split_answered(catalog, values, problems)
    answer = answer_of(
        series,
        _question(values, size.samples, facts),
        every.get(driver),
        is_asynchronous=facts.get("sync") == "asynchronous",
    )
    side = _image_side(facts)
    stated = {"workload": short, "series": chosen, "driver": driver or NO_DRIVER}
    return ScalingOutAnswer(
        answer=answer,
        names=names,
        series=chosen,
        driver=driver,
        query=query_of(
            parameters.SCALING_OUT, {**values, **stated}, ("workload", "series", "driver")
        ),
        problems=tuple(problems),
        stated=store.once("stated ranks", lambda: tuple(queries.ranks(store))),
        images=_images(values["own_image_px"] or side, answer, values["image_px"]),
        image_px=side,
        of_images=side is not None or facts.get("task") in OF_IMAGES,
        split=split,
        profiled=store.once(
            ("profiled shares", workloads[short], chosen, without),
            lambda: profiled_shares(store, series),
        ),
    )


NO_DRIVER: Final = "none"
"""Value of the parameter `driver` for no comparison with a driver."""


_Groups = dict[tuple[str, str, str], tuple[list[Run], Mapping[str, Placement]]]
"""Runs and their placements by system, pattern and software."""


def series_by_slug(
    store: Store, workload: str, left_out: frozenset[str] = frozenset()
) -> dict[str, DeviceSeries]:
    """Return every series of a workload by slug, fitted once until a run changes.

    Stated launch modes come first, then those with a driver, then those with most counts.
    """
    key = ("scaling-out series", workload, left_out)
    return store.once(key, lambda: _series_by_slug(store, workload, left_out))


def _series_by_slug(
    store: Store, workload: str, left_out: frozenset[str]
) -> dict[str, DeviceSeries]:
    groups: _Groups = {}
    timed = queries.timed_systems(store, workload)
    for pattern in dict.fromkeys(t.pattern for t in timed):
        if SPLIT & set(pattern.split(", ")):  # its devices share a network, not a batch
            continue
        here = {(t.system, t.software): t.system_name for t in timed if t.pattern == pattern}
        placements = queries.placements(store, workload, pattern)
        for run in queries.runs_of(store, workload, pattern):
            name = here.get((run.system, run.software))
            if run.mode == "training" and name is not None:
                key = (name, pattern, run.software)
                groups.setdefault(key, ([], placements))[0].append(run)
    groups = _on_scaled_systems(groups)
    patterns = pattern_labels([pattern for _, pattern, _ in groups])
    several = len({software for _, _, software in groups}) > 1
    every = [
        x
        for (system, pattern, software), (runs, placements) in groups.items()
        for label in [_label(system, patterns[pattern], software if several else "")]
        for x in [series_of(label, runs, placements, left_out)]
        if x is not None
    ]
    drivers = {_machine(x) for x in every if x.launch in ALONE}
    ordered = sorted(
        every, key=lambda x: (x.launch in ALONE, _machine(x) not in drivers, -len(x.counts))
    )
    return dict(zip(slugs([x.label for x in ordered]), ordered, strict=True))


def _on_scaled_systems(groups: _Groups) -> _Groups:
    counts = {
        key: {placements[r.run_id].devices for r in runs if r.run_id in placements}
        for key, (runs, placements) in groups.items()
    }
    scaled = {key[0] for key, devices in counts.items() if len(devices) > 1}
    return {key: group for key, group in groups.items() if key[0] in scaled}


def _label(system: str, pattern: str, software: str) -> str:
    return " · ".join(part for part in (system, pattern, software) if part)


def usual_driver(store: Store, workload: str, series: str) -> str:
    """Return the slug of the default driver of a series; "" without one."""
    every = series_by_slug(store, workload)
    return _usual_driver(every[series], every) if series in every else ""


def _usual_driver(series: DeviceSeries, every: Mapping[str, DeviceSeries]) -> str:
    """Return the slug of a series without workers on the same system; "" without one."""
    if series.launch in ALONE or not series.launch:
        return ""
    same = (s for s, x in every.items() if x.launch in ALONE and _machine(x) == _machine(series))
    return next(same, "")


def _machine(series: DeviceSeries) -> str:
    """Return the system of a series without the number of machines."""
    return series.runs[0].system.split(" × ")[-1]


def _question(
    values: Mapping[str, Any], samples: float | None, facts: Mapping[str, Any]
) -> SeriesQuestion:
    hours, link = values["deadline"], values["server_gbit_per_s"]
    return SeriesQuestion(
        batches=tuple(sorted(values["batch"])),
        hold=values["hold"],
        devices=tuple(int(n) for n in values["devices"]),
        epochs=values["epochs"],
        samples_per_epoch=samples,
        startup_s=values["startup_s"],
        deadline_s=None if hours is None else hours * HOUR_S,
        budget_usd=values["budget"],
        price_usd_per_hour=values["price"],
        slow=values["slow"] / 100.0,
        spread=values["spread"] / 100.0,
        servers=values["servers"],
        server_bytes_per_s=None if link is None else link * GIGABIT,
        params=values["params"] or facts.get("params"),
        critical_batch=values["critical_batch"],
    )


def _image_side(facts: Mapping[str, Any]) -> float | None:
    """Return the side of the images [px] that the runs state, else that of their network."""
    match = PIXELS.fullmatch(str(facts.get("input_shape") or ""))
    own = facts.get("image_px") or (int(match[1]) if match and match[1] == match[2] else None)
    network = network_or_none(str(facts.get("model") or ""))
    usual = None if network is None else network.image_px
    return own or usual


def _images(own: float | None, answer: SeriesAnswer, side: float | None) -> str:
    """Return the batch of another image size with as many pixels; "" where no size is known.

    Pixels, and bytes at equal channels and precision, grow with the square of the side: batch 512
    of 32 x 32 is batch 8 of 256 x 256.
    """
    if not own or side is None or own == side:
        return ""
    batch = answer.batches[-1] * (answer.series.counts[-1] if answer.hold == "device" else 1)
    other = batch * (own / side) ** 2
    return Text(
        "Batch {batch} of {own:g} x {own:g} images has the bytes of batch "
        "{other_batch} at {side:g} x {side:g}.",
        batch=batch_text(batch),
        own=own,
        other_batch=batch_text(other),
        side=side,
    )


# -- as a record ---------------------------------------------------------------------------------


def scaling_out(result: ScalingOutAnswer, sets: Sequence[ResultSet]) -> ScalingOut:
    """Return the answer as a record, the same for page, command and HTTP interface."""
    answer = result.answer
    if answer is None:
        raise ValueError("There is no series to answer about. Check the problems first.")
    return ScalingOut(
        query=result.query,
        workload=answer.series.runs[0].workload,
        series=answer.series.label,
        driver=answer.driver.label if answer.driver else None,
        standing=answer.standing,
        hold=answer.hold,
        epochs=answer.question.epochs,
        samples_per_epoch=answer.question.samples_per_epoch,
        sentences=tuple(text for text in (*sentences(answer), result.images) if text),
        rows=rows_of(ScalingRow, [_scaling_row(r) for r in answer.rows]),
        crossovers=rows_of(CrossoverRow, [_crossover_row(c) for c in answer.crossings]),
        uneven=rows_of(UnevenRow, [_uneven_row(u) for u in answer.uneven]),
        profiled=rows_of(ProfiledRow, [_profiled_row(p) for p in result.profiled]),
        stated=tuple(RankRow(**case._asdict()) for case in result.stated),
        split=None if result.split is None else split_out(result.split),
        sources=tuple(scaling_sources(answer, sets)),
    )


def scaling_sources(answer: SeriesAnswer, sets: Sequence[ResultSet]) -> list[Record]:
    """Return the sources of the series and its driver, one row per result set."""
    every = (answer.series, *([answer.driver] if answer.driver else []))
    runs = {(series.label, run.result_set): run for series in every for run in series.runs}
    return [{"Series": label, **source_cells(run, sets)} for (label, _), run in runs.items()]


def _scaling_row(row: CountAnswer) -> Record:
    total, parts = row.total, row.parts
    refused = row.step if isinstance(row.step, Refusal) else None
    return {
        "devices": row.devices,
        "nodes": row.nodes,
        "global_batch_size": cell(row.batch),
        "measured_step_s": cell(median(row.measured_s)) if row.measured_s else None,
        **estimate_cells("step_s", row.step),
        **estimate_cells("samples_per_s", row.speed),
        **estimate_cells("speed_up", row.speed_up),
        **estimate_cells("efficiency", row.efficiency),
        "compute_s": None if parts is None else cell(parts.compute_s),
        "overhead_s": None if parts is None else cell(parts.overhead_s),
        "link_s": None if parts is None else cell(parts.link_s),
        **estimate_cells("startup_s", None if total is None else total.startup),
        **estimate_cells("total_s", None if total is None else total.total),
        "device_hours": None if total is None else cell(total.device_hours),
        **estimate_cells("idle_device_hours", None if total is None else total.idle_hours),
        "cost_usd": cell(None if total is None else total.cost_usd),
        "idle_usd": cell(None if total is None else total.idle_usd),
        "basis": None if isinstance(row.step, Refusal) else row.step.basis,
        "notes": None if isinstance(row.step, Refusal) else " ".join(row.step.reasons) or None,
        "refused": refused.reason if refused else None,
        "measure_next": refused.measure_next if refused else None,
    }


def _crossover_row(crossing: Crossing) -> Record:
    refused = crossing.batch if isinstance(crossing.batch, Refusal) else None
    return {
        "devices": crossing.devices,
        "against": crossing.other,
        "against_devices": crossing.other_devices,
        "is_driver": crossing.is_driver,
        **estimate_cells("from_batch", crossing.batch),
        "measured_slower_at": cell(crossing.slower_at),
        "measured_faster_at": cell(crossing.faster_at),
        "refused": refused.reason if refused else None,
        "measure_next": refused.measure_next if refused else None,
    }


def _uneven_row(row: UnevenAnswer) -> Record:
    free = row.free
    return {
        "devices": row.devices,
        "global_batch_size": cell(row.batch),
        "even_step_s": cell(row.even_step_s),
        "step_s": cell(row.step_s),
        "synchronous_samples_per_s": cell(row.synchronous_samples_per_s),
        "asynchronous_samples_per_s": cell(free.samples_per_s),
        "updates_per_s": cell(free.updates_per_s),
        "staleness": cell(free.staleness),
        "slowest_staleness": cell(free.slowest_staleness),
        "server_limits": free.server_limits,
        "least_time_ratio": cell(row.least_ratio),
        "most_time_ratio": cell(row.most_ratio),
    }


def _profiled_row(shares: "ProfiledShares") -> Record:
    return {
        "devices": shares.devices,
        "global_batch_size": cell(shares.batch),
        "compute_share": cell(shares.compute),
        "communication_share": cell(shares.communication),
        "input_share": cell(shares.input),
        "host_share": cell(shares.host),
        "runs": shares.runs,
    }


# -- shares of a step that a profiler measured ----------------------------------------------------
# Compute first, then communication beside no compute, then input beside neither; the rest is the
# host's.

PROFILED: Final = ("compute_share", "communication_share", "input_share")
"""Entries of `extra`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledShares:
    """Medians of measured shares of a step [1] over `runs` at a device count and global `batch`."""

    devices: int
    batch: int
    compute: float
    communication: float
    input: float
    runs: int

    @property
    def host(self) -> float:
        """Rest of the step."""
        return max(1.0 - self.compute - self.communication - self.input, 0.0)


def profiled_shares(store: Store, series: DeviceSeries) -> tuple[ProfiledShares, ...]:
    """Return the shares at every count of several devices that states them, fewest first.

    At each count they are those of its largest batch.
    """
    largest: dict[int, int] = defaultdict(int)
    for point in series.points:
        largest[point.devices] = max(largest[point.devices], point.batch)
    shares_by_count = []
    for devices, batch in sorted(largest.items()):
        if devices < 2:
            continue
        stated = [
            shares
            for p in series.points
            if (p.devices, p.batch) == (devices, batch) and p.run.basis == "measured"
            for shares in [_shares_of(queries.all_columns(store, p.run.run_id).get("extra"))]
            if shares is not None
        ]
        if stated:
            compute, communication, input_ = (median(part) for part in zip(*stated, strict=True))
            shares_by_count.append(
                ProfiledShares(
                    devices=devices,
                    batch=batch,
                    compute=compute,
                    communication=communication,
                    input=input_,
                    runs=len(stated),
                )
            )
    return tuple(shares_by_count)


def _shares_of(extra: object) -> tuple[float, float, float] | None:
    """Return the three shares of a run; None where one is missing or is no share."""
    with suppress(ValueError, TypeError, KeyError):
        entries = json.loads(str(extra or "{}"))
        compute, communication, input_ = (float(entries[name]) for name in PROFILED)
        if all(0.0 <= s <= 1.0 for s in (compute, communication, input_)):
            return compute, communication, input_
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitAnswer:
    """The cuts of a network over accelerators, fewest shards first; `chosen` is our advice."""

    job: Job
    accelerator: Accelerator
    count: int
    batch: float
    splits: tuple[Split, ...]
    chosen: Split | None


def split_answered(
    catalog: Catalog, values: Mapping[str, Any], problems: list[ParameterProblem]
) -> SplitAnswer | None:
    """Return the cuts of the requested network; None with a problem added where there is none."""
    network = network_named(values["network"])
    accelerator = accelerator_named(catalog, values["accelerator"])

    def refuse(parameter: str, message: str) -> None:
        problems.append(ParameterProblem(parameter=parameter, message=message))

    for name, named in (("network", network), ("accelerator", accelerator)):
        if isinstance(named, Refusal):
            refuse(name, paragraph(named.reason, named.measure_next))
    if isinstance(network, Refusal) or isinstance(accelerator, Refusal):
        return None
    job = _job(network, values["precision"])
    if job is None:
        refuse("network", Text("{network} is no transformer of tokens. Choose a language model.",
                               network=network.name))  # fmt: skip
        return None
    if network.family == "moe":
        refuse("network", Text("{network} is a mixture of experts; cuts are those of dense "
                               "transformers. Choose a dense language model.",
                               network=network.name))  # fmt: skip
        return None
    batch, micro = values["network_batch"], values["micro_batch"]
    count = values["count"]
    if not batched_cuts(count, batch=batch, micro_batch=micro, layers=network.layers):
        refuse(
            "micro_batch" if micro > batch else "count",
            Text("No cut of {count:,} devices has a micro-batch of {micro} for each copy "
                 "in a step of {batch}. Enter a larger batch, or another count.",
                 count=count, micro=plain(micro, 4), batch=plain(batch, 7)),
        )  # fmt: skip
        return None
    options = tuple(
        splits(job, accelerator, count, batch=batch, micro_batch=micro, layers=network.layers)
    )
    if not options:
        refuse("accelerator", Text("{accelerator} has no stated memory or peak for {precision}. "
                                   "Choose another one.", accelerator=accelerator.name,
                                   precision=job.precision))  # fmt: skip
        return None
    return SplitAnswer(
        job=job,
        accelerator=accelerator,
        count=count,
        batch=batch,
        splits=options,
        chosen=advice(options),
    )


def _job(network: Network, precision: str) -> Job | None:
    """Return the training of a network with Adam, of one sequence a sample; None for others."""
    work = operations_of(network)
    if not network.of_tokens or work is None or not network.sequence:
        return None
    return Job(
        workload=network.name,
        precision=precision,
        samples_per_epoch=None,
        params=network.params,
        train_flops_per_sample=work.model,
        tokens_per_sample=float(network.sequence),
        network=network.id,
        family=network.family,
        active_params=network.active_params,
        layers_width=network.layers_width,
        optimizer="AdamW",
    )


def split_out(answer: SplitAnswer) -> SplitOut:
    """Return the cuts as a record."""
    return SplitOut(
        network=answer.job.workload,
        accelerator=answer.accelerator.name,
        count=answer.count,
        sequence=answer.job.tokens_per_sample or 0.0,
        global_batch_size=answer.batch,
        sentences=tuple(
            split_sentences(answer.job, answer.accelerator, answer.count, answer.splits)
        ),
        rows=rows_of(SplitRow, [_row(s, s is answer.chosen) for s in answer.splits]),
    )


def _row(split: Split, chosen: bool) -> Record:  # noqa: FBT001 - one of two columns
    return {
        "tensor": split.cut.tensor,
        "pipeline": split.cut.pipeline,
        "data": split.cut.data,
        "micro_batches": split.micro_batches,
        "state_gb": cell(split.state_bytes / 1e9),
        "activations_gb": cell(split.activation_bytes / 1e9),
        "memory_gb": cell(split.have_bytes / 1e9),
        "fits": split.fits,
        "recomputes": split.recomputes,
        "bubble": cell(split.bubble),
        "tensor_share": cell(split.tensor_share),
        "data_share": cell(split.data_share),
        "step_s": cell(split.step_s),
        "samples_per_s": cell(split.samples_per_s),
        "advised": chosen,
    }
