"""Series: the runs of one workload on one kind of system, on several device counts.

Step times over the global batch at a device count come from the scaling curve of all runs, the
common law (`planner.scaling.fit`). Where a count has a line through its own batches, both are
weighed (`planner.scaling._own`). Where only parameters of a throughput law were published at each
count, as in article 000, its own law answers, at these counts only.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from planner.core import Estimate, Floats, Refusal
from planner.runs import Placement, Run
from planner.scaling import CountCurve, Scaled, has_own_line, scaling_of, weighed
from planner.throughput import ThroughputCurve, fit_throughput, published_curve

Law = CountCurve | ThroughputCurve
"""Step times over the global batch at one device count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A measured step: `devices` over `nodes`, global `batch` [samples], `step_s` [s]."""

    run: Run
    devices: int
    nodes: int
    batch: int
    step_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSeries:
    """Runs of a workload on one kind of system, with the step times at every device count.

    `counts` are the device counts with runs, rising. `scaled` is their common curve or why there is
    none; `laws` are those of single counts on their fewest nodes. `startup_s` are the start-up
    times of the processes by device count [s], where runs state them, with what their first epoch
    takes longer than the later ones.
    """

    label: str
    runs: tuple[Run, ...]
    points: tuple[Point, ...]
    counts: tuple[int, ...]
    nodes: Mapping[int, int]
    scaled: Scaled | Refusal
    laws: Mapping[int, ThroughputCurve]
    startup_s: Mapping[int, tuple[float, ...]]
    launch: str

    @property
    def base(self) -> int:
        """The smallest device count with runs, which others are compared with."""
        return self.counts[0]

    @property
    def is_published(self) -> bool:
        """Whether only parameters of laws were published."""
        return not self.points

    def nodes_for(self, devices: int) -> int:
        """Return the nodes of a device count: as measured, else as many as it fills."""
        if devices in self.nodes:
            return self.nodes[devices]
        return self.scaled.nodes_for(devices) if isinstance(self.scaled, Scaled) else 1

    def at(self, devices: int) -> Law | Refusal:
        """Return the law at a device count, or why there is none."""
        if isinstance(self.scaled, Scaled):
            law = self.scaled.at(devices, self.nodes_for(devices))
            if isinstance(law, CountCurve) or devices not in self.laws:
                return law
        return self.laws.get(devices, self._refusal())

    def step(self, batch: float | Floats, devices: int) -> Estimate | Refusal:
        """Return the step time [s] at a global `batch` [samples], scalar or array."""
        own, common = self.own(devices), self.common_step(batch, devices)
        if isinstance(common, Refusal) and devices in self.laws:
            return self.laws[devices].step_time(batch)
        return common if own is None else weighed(own.step_time(batch), common)

    def common_step(self, batch: float | Floats, devices: int) -> Estimate | Refusal:
        """Return the step time [s] by the law of all counts alone, as `step`."""
        if not isinstance(self.scaled, Scaled):
            return self._refusal()
        nodes, launch = self.nodes_for(devices), self.scaled.launch
        return self.scaled.curve.step_time(batch / devices, devices, nodes, launch)

    def own(self, devices: int) -> ThroughputCurve | None:
        """Return the line through the batches of a count; None where they are too few for one."""
        law = self.laws.get(devices)
        return law if law is not None and has_own_line(law.batch) else None

    def startup(self, devices: int) -> tuple[float, float, float] | None:
        """Return the median start-up of a count [s], and the least and the largest of the series.

        A count without runs has the start-up of the largest count with them. A start-up differs
        from one session to the next by as much as from one count to another.
        """
        if not self.startup_s:
            return None
        every = [s for times in self.startup_s.values() for s in times]
        here = self.startup_s.get(devices, self.startup_s[max(self.startup_s)])
        return median(here), min(every), max(every)

    def _refusal(self) -> Refusal:
        if isinstance(self.scaled, Refusal):
            return self.scaled
        return Refusal(
            reason="No law was published for this device count.",
            measure_next="Measure one run at that count.",
        )


MOST_COUNTS: Final = 500
"""Device counts of a series. Its answers ask the law of all counts at each: 2,000 took a minute."""


def series_of(
    label: str,
    runs: Sequence[Run],
    placements: Mapping[str, Placement],
    left_out: Collection[str] = (),
) -> DeviceSeries | None:
    """Return the series of runs on one kind of system; None without a step time or law.

    None with more than `MOST_COUNTS` device counts, too.

    Args:
        label: its name.
        runs: of one workload, pattern and software on one kind of system.
        placements: by run id.
        left_out: run ids that are ignored.
    """
    kept = [
        (run, placements[run.run_id])
        for run in runs
        if run.status == "ok" and run.run_id in placements and run.run_id not in left_out
    ]
    timed = [(r, p) for r, p in kept if r.global_batch_size and r.step_time_s]
    stated = [(r, p) for r, p in kept if r.asymptotic_throughput and r.overhead_s is not None]
    if (not timed and not stated) or len({p.devices for _, p in timed}) > MOST_COUNTS:
        return None
    used = timed or stated
    like = max((p for _, p in used), key=lambda p: p.devices)
    nodes = {p.devices: p.nodes for _, p in sorted(used, key=lambda u: -u[1].nodes)}
    return DeviceSeries(
        label=label,
        runs=tuple(r for r, _ in used),
        points=tuple(_point(r, p) for r, p in timed),
        counts=tuple(sorted({p.devices for _, p in used})),
        nodes=nodes,
        scaled=scaling_of([r for r, _ in timed], placements, like),
        laws=_laws([(r, p) for r, p in timed if p.nodes == nodes[p.devices]], stated),
        startup_s=_startups(used),
        launch=like.launch or "",
    )


def _point(run: Run, place: Placement) -> Point:
    return Point(
        run=run,
        devices=place.devices,
        nodes=place.nodes,
        batch=run.global_batch_size or 0,
        step_s=run.step_time_s or 0.0,
    )


def _laws(
    timed: Sequence[tuple[Run, Placement]], stated: Sequence[tuple[Run, Placement]]
) -> dict[int, ThroughputCurve]:
    """Return the law of each device count: fitted to two batches or more, else published."""
    laws: dict[int, ThroughputCurve] = {}
    for run, place in stated:
        if run.asymptotic_throughput and run.overhead_s is not None:
            laws[place.devices] = published_curve(run.asymptotic_throughput, run.overhead_s)
    for devices in {p.devices for _, p in timed}:
        here = [r for r, p in timed if p.devices == devices]
        curve = fit_throughput(
            [r.global_batch_size or 0 for r in here], [r.step_time_s or 0.0 for r in here]
        )
        if isinstance(curve, ThroughputCurve):
            laws[devices] = curve
    return laws


def _startups(used: Sequence[tuple[Run, Placement]]) -> dict[int, tuple[float, ...]]:
    times: dict[int, list[float]] = {}
    for run, place in used:
        if place.startup_s is not None:
            extra_s = (run.first_epoch_s or 0.0) - (
                run.later_epoch_mean_s or run.first_epoch_s or 0.0
            )
            times.setdefault(place.devices, []).append(place.startup_s + max(extra_s, 0.0))
    return {devices: tuple(values) for devices, values in times.items()}
