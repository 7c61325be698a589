"""Reported and observed values of a run, as one row of the run table, and the folder for it.

Rows are matched to cases by `case_id`.
"""

import errno
import itertools
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

from planner.core import Text, paragraph
from planner.runs import COLUMNS, RecordError, Row, run_id
from planner.store.sealed.attempts import ATTEMPT, attempt_id, release
from planner.store.sealed.commit import CommitError, commit_runs, run_of, stored
from planner.store.sealed.result_set import new_set_text
from planner.store.summaries import summaries
from runners.plan.cases import KEPT_STEPS, OF_PROCESSES, PLACED, SPLIT, Case
from runners.plan.expand import steps_in
from runners.process.events import Event
from runners.process.supervise import Ended
from runners.workloads import DATASETS, OPTIMIZERS, model_title

OWNERS: Final = "measured here; the owner of the folder decides"
"""Default licence of measured results."""


def describe(sweep: str, title: str, about: str, facts: Mapping[str, Any]) -> str:
    """Return the text of set.toml; `facts` are columns of the machine and an optional licence."""
    now = datetime.now(UTC)
    date, system = f"{now.day} {now:%B %Y}", facts["system_name"]
    version = facts.get("git_describe")
    measured = (
        Text("Measured with Epochwise {version}", version=version)
        if version
        else "Measured with Epochwise"
    )
    return new_set_text(
        {
            "title": f"{title}: {system}, {date}",
            "about": paragraph(about, Text("Measured on {system}.", system=system)),
            "basis": "measured",
            "licence": facts.get("licence") or OWNERS,
            "source": f"{measured}, sweep {sweep}, {date}",
        }
    )


FRAMEWORKS: Final = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}
_NOT_REPORTED: Final = frozenset(
    c.name for c in COLUMNS if (c.group == "identity" and c.name != "note") or c.required
)
"""Columns that only the supervisor sets: identity and ending of a run."""


def row_of(
    case: Case,
    ended: Ended,
    *,
    result_set: str,
    recorded_at: datetime,
    facts: Mapping[str, Any],
    around: Mapping[str, Any],
) -> Row:
    """Return the row of a run; failed runs keep what was measured before the end.

    `facts` are columns of the machine and its software, `around` readings around the run (load
    averages, energy). Columns from the child take precedence.
    """
    reported = _columns(ended.events, elsewhere=case.launcher != "local")
    epochs = [_epoch(e) for e in ended.events if e["event"] == "epoch"]
    row = {
        **planned(case),
        **facts,
        "result_set": result_set,
        "recorded_at": recorded_at,
        "status": ended.status,
        "status_reason": ended.reason,
        **around,
        **reported,
        **summary(case, epochs, reported),
        **_memory(case, ended, reported),
        "epochs": epochs or None,
        "steps": _steps(case, ended.events),
        "extra": json.dumps(_extra(case, ended), sort_keys=True),
    }
    dropped = () if case.tuned else _SPEED
    return {k: v for k, v in row.items() if v is not None and k not in dropped}


_SPEED: Final = frozenset(
    {"epochs", "steps", "throughput", "total_s", "validation_s", "epochs_measured"}
    | {"first_step_s", "first_epoch_s", "later_epoch_mean_s", "later_epoch_sd_s"}
    | {"step_s", "step_p10_s", "step_p50_s", "step_p90_s"}
    | {"energy_kwh", "energy_source", "mean_power_watts"}
)
"""Columns that a run without tuned kernels leaves out: it trains slower than others."""


def planned(case: Case) -> dict[str, Any]:
    """Return the columns that are known before the run.

    Both splits are those of the whole data set; the samples that were timed are
    `samples_per_epoch` (`planner.epochs.epoch_size`).
    """
    data = DATASETS[case.dataset]
    training, asynchronous = case.mode == "training", case.strategy == "parameter server"
    sync = "none" if case.strategy == "none" else "synchronous"
    several = case.strategy in OF_PROCESSES
    return {
        "sweep": case.sweep, "repeat": case.repeat, "attempt": case.attempt, "basis": "measured",
        "licence": OWNERS,
        "model": model_title(case.workload, dict(case.options)), "variant": case.variant,
        "dataset": data.title, "synthetic_data": data.synthetic, "input_shape": _shape(case),
        "optimizer": OPTIMIZERS[case.optimizer] if training else None,
        "learning_rate": float(case.learning_rate) if training else None,
        "precision": case.precision, "train_samples": data.train_samples,
        "validation_samples": data.validation_samples if case.validation_samples else None,
        "framework": FRAMEWORKS[case.backend], "backend": case.backend, "engine": case.engine,
        "jit": case.jit, "strategy": case.strategy,
        "parallelism": _parallelism(case),
        "pipeline_parallel": case.devices if case.strategy == "stage" else None,
        "tensor_parallel": case.devices if case.strategy == "tensor" else None,
        "micro_batch_size": case.batch // case.micro_batches if case.strategy in PLACED else None,
        "launch": _launch(case) if several else "single process",
        "sync": "asynchronous" if asynchronous else sync, "mode": case.mode,
        "global_batch_size": case.batch,
        "per_device_batch_size": case.batch // (1 if case.strategy in SPLIT else case.devices),
        "validation": case.validation if training else None,
        "augmentation": case.augmentation if training else None,
        "storage": case.storage if training else None, "workers": case.workers,
        "multiprocessing": case.multiprocessing, "feed": case.feed if training else None,
        "drop_remainder": case.drop_remainder, "steps_per_execution": case.steps_per_execution,
        "threads": case.threads, "seed": case.seed, "timing": case.timing,
        "note": _note(case),
        "epochs_planned": case.epochs, "position_in_session": 1,
    }  # fmt: skip


def _launch(case: Case) -> str:
    return "one process per worker" if case.launcher == "local" else case.launcher


def _note(case: Case) -> str | None:
    """Return what limits the use of a run: no speed, or hardware that the authors did not have."""
    if not case.tuned:
        return "Measured for its memory: XLA did not time kernels, so the speed is left out."
    if case.strategy == "tpu":
        return "Epochwise's authors have not tried TensorFlow's TPU strategy on a TPU."
    if case.strategy in OF_PROCESSES and case.device == "gpu":
        return "Epochwise's authors have not tried workers on GPUs."
    if case.devices > 1 and case.device == "gpu":
        return "Epochwise's authors have not tried several GPUs."
    if case.launcher == "slurm":
        return "Epochwise's authors have not tried the launcher slurm on a Slurm cluster."
    return None


def _parallelism(case: Case) -> str:
    """Return what was split over the devices: nothing, the batch, or the network."""
    if case.strategy in SPLIT:
        return case.strategy
    return "none" if case.strategy == "none" else "data"


def _shape(case: Case) -> str:
    data = DATASETS[case.dataset]
    text = "x".join(map(str, data.shape))
    return text if data.task == "images" else f"{text} tokens"


def summary(case: Case, epochs: Sequence[Row], reported: Mapping[str, Any]) -> dict[str, Any]:
    """Return summary columns of timed epochs [s]; epochs include validation, steps do not."""
    if not epochs:
        return {}
    later = [e["epoch_s"] for e in epochs[1:]]
    checks = _validations(epochs[1:]) or _validations(epochs)  # the first one traces, too
    steps, samples = steps_in(case), epochs[0]["samples"]
    training = statistics.fmean(_without_validation(epochs[1:])) if later else None
    pre = reported.get("pre_train_s")
    before = None if pre is None else pre + (reported.get("startup_s") or 0.0)
    return {
        "first_epoch_s": epochs[0]["epoch_s"],
        "later_epoch_mean_s": statistics.fmean(later) if later else None,
        "later_epoch_sd_s": statistics.pstdev(later) if later else None,
        "epochs_measured": len(epochs),
        "total_s": None if before is None else before + sum(e["epoch_s"] for e in epochs),
        "steps_per_epoch": steps,
        "samples_per_epoch": samples,
        "validation_samples_per_epoch": case.validation_samples if checks else None,
        "validation_s": statistics.fmean(checks) if checks else None,
        "step_s": training / steps if training else None,
        "throughput": samples / training if training else None,
    }


def _validations(epochs: Iterable[Row]) -> list[float]:
    return [e["validation_s"] for e in epochs if e.get("validation_s") is not None]


def _without_validation(epochs: Iterable[Row]) -> list[float]:
    return [e["epoch_s"] - (e.get("validation_s") or 0.0) for e in epochs]


def _columns(events: Iterable[Event], *, elsewhere: bool) -> dict[str, Any]:
    """Return the reported columns; a worker `elsewhere` also names its system."""
    merged: dict[str, Any] = {}
    for event in events:
        merged |= {k: v for k, v in event.get("columns", {}).items() if v is not None}
    own = _NOT_REPORTED - {"system_name"} if elsewhere else _NOT_REPORTED
    return {k: v for k, v in merged.items() if k not in own}


def _epoch(event: Event) -> dict[str, Any]:
    names = ("epoch", "epoch_s", "validation_s", "samples", "loss", "metric")
    return {n: event.get(n) for n in names}


def _steps(case: Case, events: Iterable[Event]) -> list[dict[str, Any]] | None:
    """Return the step times of a run timed per step, up to `KEPT_STEPS`; None otherwise."""
    if case.timing != "per step":
        return None
    by_epoch = [e.get("step_seconds") for e in events if e["event"] == "epoch"]
    seconds = itertools.chain.from_iterable(t for t in by_epoch if isinstance(t, list))
    kept = enumerate(itertools.islice(seconds, KEPT_STEPS), 1)
    return [{"step": number, "step_s": taken} for number, taken in kept] or None


def _memory(case: Case, ended: Ended, reported: Mapping[str, Any]) -> dict[str, Any]:
    """Return peak memory columns: on a host the larger of the child's and the watchdog's value.

    On a card only the child's value counts; a run that died before sending it has none.
    """
    if case.device != "cpu" or case.launcher != "local":
        return {}  # the watchdog sees processes of this machine only
    inside = reported.get("peak_memory_bytes") or 0
    device = str(reported.get("peak_memory_method", "")).startswith("device")
    if device or not (inside or ended.peak_rss_bytes):
        return {}
    return {
        "peak_memory_bytes": max(inside, ended.peak_rss_bytes),
        "peak_memory_method": "resident memory of the run's processes",
    }


def _extra(case: Case, ended: Ended) -> dict[str, Any]:
    """Return values without a column: the case id (used by a resume) and the child's extras."""
    merged: dict[str, Any] = {}
    for event in ended.events:
        merged |= event.get("extra", {})
    if ended.self_reported:
        merged["told_why"] = True
    if case.accelerator is not None:
        merged["accelerator"] = case.accelerator
    return merged | {"case_id": case.case_id, "wall_s": round(ended.wall_s, 3)}


def extra_of(row: Row) -> Mapping[str, Any]:
    """Return the JSON object in `extra`; empty if it is missing or invalid."""
    try:
        extra = json.loads(row.get("extra") or "{}")
    except (TypeError, ValueError, RecursionError):
        return {}
    return extra if isinstance(extra, dict) else {}


INFRASTRUCTURE: Final = frozenset({"killed", "crashed", "peer_lost"})
"""Statuses that are retried; lack of memory, NaN and timeouts would repeat."""
MUCH_MORE: Final = 1.25
"""Free memory varies: a limit counts as raised from this factor on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Rows of a sweep in a result set, by case id."""

    rows: Mapping[str, tuple[Row, ...]]
    memory_bytes: float | None = None
    """Current memory limit [bytes]: runs that a smaller limit ended are retried."""
    retry_failed: bool = False
    """Whether failed runs are measured again."""

    def settled(self, case: Case, attempts: int) -> bool:
        """Return whether the case needs no further run: it has a final row or no attempts left."""
        rows = self._counted(case)
        return any(not worth_another_try(row) for row in rows) or len(rows) >= attempts

    def attempts_left(self, case: Case, attempts: int) -> range:
        """Return the numbers of the remaining attempts."""
        rows = self.rows.get(case.case_id, ())
        first = 1 + max((r.get("attempt", 0) for r in rows), default=-1)
        return range(first, first + attempts - len(self._counted(case)))

    def _counted(self, case: Case) -> list[Row]:
        """Return the rows that count under the current settings."""
        rows = self.rows.get(case.case_id, ())
        return [r for r in rows if not (outgrown(r, self.memory_bytes) or self._dropped(r))]

    def _dropped(self, row: Row) -> bool:
        return self.retry_failed and row["status"] != "ok"


def done_in(folder: Path, *, memory_bytes: float | None = None, retry_failed: bool = False) -> Done:
    """Return the runs of a result set by case id, in the order of their attempts."""
    by_case: dict[str, list[Row]] = {}
    for row in summaries(folder):
        if case_id := case_id_of(row):
            by_case.setdefault(case_id, []).append(row)
    return Done(
        rows={k: tuple(sorted(v, key=attempt_of)) for k, v in by_case.items()},
        memory_bytes=memory_bytes,
        retry_failed=retry_failed,
    )


def outgrown(row: Row, memory_bytes: float | None) -> bool:
    """Return whether a memory limit ended the run that is at least a quarter larger now."""
    limit = extra_of(row).get("memory_limit_bytes")
    return (
        row["status"] == "oom"
        and isinstance(limit, int | float)
        and memory_bytes is not None
        and memory_bytes > MUCH_MORE * limit
    )


def worth_another_try(row: Row) -> bool:
    """Return whether to retry a run.

    An error that the program itself reported would repeat. A run whose node was lost in every
    attempt (`lost_attempts`) was retried already.
    """
    extra = extra_of(row)
    final = extra.get("told_why") or extra.get("lost_attempts")
    return row["status"] in INFRASTRUCTURE and not final


def attempt_of(row: Row) -> int:
    """Return the attempt number of a row, from 0."""
    return int(row.get("attempt", 0))


def case_id_of(row: Row) -> str | None:
    """Return the case id of a row; None for rows that are not from a sweep."""
    case_id = extra_of(row).get("case_id")
    return case_id if isinstance(case_id, str) else None


_UNTIMED: Final = ("identity", "workload", "system", "software", "factors")


class Destination(Protocol):
    """Where finished runs go. Of every attempt of a case, one run is stored."""

    def put(self, row: Row) -> Row:
        """Return the run that is stored for the row's attempt: this one, or an earlier one.

        Raises:
            CommitError: it cannot be stored.
        """

    def run_of(self, attempt: str) -> Row | None:
        """Return the run that is stored for an attempt; None without one."""

    def release(self, attempt: str) -> None:
        """Forget an attempt that no further worker measures."""


@dataclass(frozen=True, slots=True)
class SetFolder:
    """The folder of a result set."""

    path: Path

    def put(self, row: Row) -> Row:
        """Commit a row; a row with invalid values becomes a crash with that reason."""
        try:
            return self._placed(row)
        except RecordError as error:
            reason = Text(
                "its values are invalid: {problems}", problems="; ".join(map(str, error.problems))
            )[:500]
            wrong = {p.column for p in error.problems} - {"extra"}
            names = {c.name for c in COLUMNS if c.group in _UNTIMED} & row.keys() - wrong
            named = {"case_id": case_id_of(row), ATTEMPT: attempt_id(row)}
            extra = json.dumps({name: value for name, value in named.items() if value is not None})
            kept = {n: row[n] for n in names}
            return self._placed(
                kept | {"status": "crashed", "status_reason": reason, "extra": extra}
            )

    def run_of(self, attempt: str) -> Row | None:
        """Return the run that is stored for an attempt; None without one."""
        return run_of(self.path, attempt)

    def release(self, attempt: str) -> None:
        """Forget an attempt that no further worker measures."""
        release(self.path, attempt)

    def _placed(self, row: Row) -> Row:
        """Return the row as committed under the first free attempt number.

        Its own number may be taken by a damaged file, which is never rewritten, or by a case that
        differs only outside a run's identity (samples of an epoch). A run of the same attempt there
        was stored by another process, and stays.
        """
        attempt = attempt_id(row)
        for number in itertools.count(attempt_of(row)):
            tried = {**row, "attempt": number}
            if (there := self._of(attempt, run_id(tried))) is not None:
                return there
            try:
                [done] = commit_runs(self.path, [tried])
            except CommitError as error:
                if error.errno != errno.EEXIST or not self.path.is_dir():
                    raise
                continue
            if done.new:
                return tried
            if (there := self._of(attempt, done.run_id)) is not None:
                return there
        raise AssertionError("attempts have no last number")

    def _of(self, attempt: str | None, run: str) -> Row | None:
        """Return a run that lies here if it is of that attempt."""
        there = None if attempt is None else stored(self.path, run)
        return there if there is not None and attempt_id(there) == attempt else None
