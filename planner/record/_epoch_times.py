"""Times of epochs in a script of one's own as one run of a result set, with its device."""

import itertools
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from planner.core import Text
from planner.core.slugs import slug
from planner.runs import table_from_rows
from planner.store.disk.files import write_once
from planner.store.disk.mirrors import set_folder
from planner.store.sealed.commit import commit_runs
from planner.store.sealed.result_set import NAME, new_set_text

FRAMEWORKS: Final = {"torch": "PyTorch", "jax": "JAX", "tensorflow": "TensorFlow"}


def surroundings() -> dict[str, Any]:
    """Return columns of the system and the software; of the host where no accelerator is used."""
    used = _keras_backend() or next((name for name in FRAMEWORKS if name in sys.modules), None)
    module = sys.modules.get(used or "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    processor = _processor()
    kind, name, devices = _accelerator(used) or ("cpu", f"{cores}-core {processor}", 1)
    columns = {
        "system_name": name,
        "device_kind": kind,
        "accelerator_model_name": None if kind == "cpu" else name,
        "accelerators_per_node": devices,
        "number_of_nodes": 1,
        "host_processor_model_name": processor,
        "host_processor_core_count": cores,
        "operating_system": platform.platform(terse=True),
        "python_version": platform.python_version(),
        "framework": FRAMEWORKS.get(used or ""),
        "framework_version": getattr(module, "__version__", None),
        "keras_version": getattr(sys.modules.get("keras"), "__version__", None),
    }
    return {column: value for column, value in columns.items() if value is not None}


def wait_for_device() -> None:
    """Wait until PyTorch's accelerator has finished: its calls return before the work is done.

    Other frameworks give no such call; there a script reads the loss before the epoch ends.
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def peak_memory() -> dict[str, Any]:
    """Return the columns of the peak memory where the framework counts it (PyTorch on a GPU)."""
    torch = sys.modules.get("torch")
    if torch is None or not (torch.cuda.is_available() and torch.cuda.is_initialized()):
        return {}
    return {
        "peak_memory_bytes": int(torch.cuda.max_memory_allocated()),
        "peak_memory_method": "device: torch.cuda.max_memory_allocated",
    }


def _keras_backend() -> str | None:
    keras = sys.modules.get("keras")
    return keras.backend.backend() if keras is not None else None


def _accelerator(used: str | None) -> tuple[str, str, int] | None:
    """Return kind, name and number of this process's accelerators; None without one."""
    ask: dict[str, Callable[[], tuple[str, str, int] | None]] = {
        "torch": _of_torch, "jax": _of_jax, "tensorflow": _of_tensorflow,
    }  # fmt: skip
    return ask[used]() if used in ask and used in sys.modules else None


def _of_torch() -> tuple[str, str, int] | None:
    torch = sys.modules["torch"]
    if not torch.cuda.is_available():
        return None
    return "gpu", torch.cuda.get_device_name(), 1  # a script on several says so itself


def _of_jax() -> tuple[str, str, int] | None:
    devices = sys.modules["jax"].local_devices()
    kind = devices[0].platform
    if kind == "cpu":
        return None
    return ("tpu" if kind == "tpu" else "gpu"), devices[0].device_kind, 1


def _of_tensorflow() -> tuple[str, str, int] | None:
    config = sys.modules["tensorflow"].config
    for kind in ("TPU", "GPU"):
        if devices := config.list_physical_devices(kind):
            name = config.experimental.get_device_details(devices[0]).get("device_name")
            return kind.lower(), name or kind, 1
    return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


_OWNERS: Final = "measured here; the owner of the folder decides"
_STARTED: Final = datetime.now(UTC)
_RUNS: Final = itertools.count(1)


class EpochTimes:
    """A Keras callback and a context manager that time epochs and write one run.

    An epoch's time includes its validation, as in every set here. Without an accelerator the
    system is the processor. On exceptions the run keeps its finished epochs and says how it ended;
    this needs `with EpochTimes(...) as times:` around the training.

    Args:
        folder: of the result set, as "results/mine" or "s3://bucket/prefix/mine"; it is made if
            absent.
        model: the network, as "ResNet-50".
        global_batch_size: samples of one step over all devices.
        samples_per_epoch: training samples that an epoch really processes.
        title: of the result set, for its first run.
        licence: terms of the numbers.
        say: gets the closing sentence; None for silence.
        columns: further columns of the run (docs/records.md), as dataset="CIFAR-10",
            optimizer="AdamW", precision="mixed_bfloat16", accelerators_per_node=8.

    Raises:
        RecordError: some columns are unknown or wrong; it lists all problems, before training.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        model: str,
        global_batch_size: int,
        samples_per_epoch: int,
        title: str | None = None,
        licence: str = _OWNERS,
        say: Callable[[str], None] | None = print,
        **columns: Any,  # noqa: ANN401 - of several types
    ) -> None:
        self.folder = set_folder(folder)
        self.path: Path | None = None
        """File of the run once it is written."""
        self._title = title
        self._say = say
        self._began_s = time.perf_counter()
        self._columns = {
            "basis": "measured",
            "mode": "training",
            "licence": licence,
            "model": model,
            "global_batch_size": global_batch_size,
            "samples_per_epoch": samples_per_epoch,
            "train_samples": samples_per_epoch,
            "result_set": slug(self.folder.resolve().name),
            "session_started_at": _STARTED.isoformat(timespec="microseconds"),
            "position_in_session": next(_RUNS),
            **surroundings(),
            **columns,
        }
        self._epochs: list[dict[str, Any]] = []
        self._pre_train_s: float | None = None
        self._epoch_began_s: float | None = None
        self._validation_s = 0.0
        self._loss: float | None = None
        table_from_rows([self._row("ok", None)])

    # -- any loop --------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        """Begin; what follows until the first epoch is the pre-train time."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the run, also where the training failed; the exception goes on."""
        if kind is None:
            self.write()
            return
        status, reason = _ending(kind)
        self.write(status=status, reason=reason)

    def epochs(self, count: int) -> Iterator[int]:
        """Yield the numbers of `count` epochs from 0 and time what is done with each."""
        for number in range(count):
            with self.epoch():
                yield number

    @contextmanager
    def epoch(self) -> Iterator[Self]:
        """Time one epoch. An epoch that ends in an exception is not counted."""
        self._begin()
        try:
            yield self
        except BaseException:
            self._epoch_began_s = None  # a script may go on, with a smaller batch
            raise
        self._end()

    @contextmanager
    def validating(self) -> Iterator[None]:
        """Time the validation within an epoch apart."""
        wait_for_device()
        began_s = time.perf_counter()
        yield
        wait_for_device()
        self._validation_s += time.perf_counter() - began_s

    def loss(self, value: float) -> None:
        """Keep the loss of this epoch. Reading it also waits for the device."""
        self._loss = float(value)

    def write(self, *, status: str = "ok", reason: str | None = None) -> Path | None:
        """Write the run once and return its file; None if no epoch was finished.

        Raises:
            RecordError: the times contradict each other or the columns.
            CommitError: the disk refuses the run.
        """
        if self.path is not None or (not self._epochs and status == "ok"):
            return self.path
        title = self._title or f"{self._columns['model']} on {self._columns['system_name']}"
        about = {
            "title": title,
            "basis": "measured",
            "licence": self._columns["licence"],
            "source": Text("Recorded with Epochwise, {started:%Y-%m-%d}", started=_STARTED),
        }
        [kept] = commit_runs(
            self.folder,
            [self._row(status, reason)],
            begin=lambda: write_once(self.folder / NAME, new_set_text(about)),
        )
        self.path = kept.path
        if self._say is not None:
            self._say(
                Text(
                    "Epochwise: {epochs} epochs are in {path}.",
                    epochs=len(self._epochs),
                    path=self.path,
                )
            )
        return self.path

    # -- Keras ------------------------------------------------------------------------------------

    async_safe = False
    """Keras calls the methods below when an epoch's work is done."""

    def set_params(self, *_: object) -> None:
        """Do nothing: Keras's parameters have no batch size."""

    def set_model(self, model: Any) -> None:  # noqa: ANN401 - Keras is not imported here
        """Keep the number of parameters."""
        count = getattr(model, "count_params", None)
        if getattr(model, "built", False) and count is not None:
            self._columns.setdefault("params", int(count()))

    def on_epoch_begin(self, *_: object) -> None:
        """Start an epoch."""
        self._begin()

    def on_test_begin(self, *_: object) -> None:
        """Start a validation."""
        self._test_began_s = time.perf_counter()

    def on_test_end(self, *_: object) -> None:
        """End a validation."""
        if self._epoch_began_s is not None:
            self._validation_s += time.perf_counter() - self._test_began_s

    def on_epoch_end(self, _epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """End an epoch, with its loss."""
        if logs and logs.get("loss") is not None:
            self.loss(logs["loss"])
        self._end()

    def on_train_end(self, *_: object) -> None:
        """Write the run."""
        self.write()

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Return Keras's other hooks, which do nothing and are marked so that it skips them."""
        if not name.startswith("on_"):
            raise AttributeError(Text("EpochTimes has no attribute {name!r}", name=name))
        return _nothing

    # -- the run ----------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._epoch_began_s is not None:
            raise RuntimeError("an epoch is being timed already. End it before the next begins.")
        now_s = time.perf_counter()
        if self._pre_train_s is None:
            self._pre_train_s = now_s - self._began_s
        self._validation_s, self._loss = 0.0, None
        self._epoch_began_s = now_s

    def _end(self) -> None:
        wait_for_device()
        if self._epoch_began_s is None:
            raise RuntimeError("no epoch is being timed. Begin one first.")
        self._epochs.append(
            {
                "epoch": len(self._epochs) + 1,
                "epoch_s": time.perf_counter() - self._epoch_began_s,
                "validation_s": self._validation_s or None,
                "samples": self._columns["samples_per_epoch"],
                "loss": self._loss,
                "metric": None,
            }
        )
        self._epoch_began_s = None

    def _row(self, status: str, reason: str | None) -> dict[str, Any]:
        times = [epoch["epoch_s"] for epoch in self._epochs]
        later = times[1:]
        checks = [e["validation_s"] for e in self._epochs if e["validation_s"] is not None]
        row = {
            **self._columns,
            **peak_memory(),
            "status": status,
            "status_reason": reason,
            "recorded_at": datetime.now(UTC),
            "pre_train_s": self._pre_train_s,
            "first_epoch_s": times[0] if times else None,
            "later_epoch_mean_s": statistics.fmean(later) if later else None,
            "later_epoch_sd_s": statistics.pstdev(later) if later else None,
            "epochs_measured": len(times) or None,
            "validation": bool(checks) if times else None,
            "validation_s": statistics.fmean(checks[1:] or checks) if checks else None,
            "epochs": self._epochs or None,
        }
        return {name: value for name, value in row.items() if value is not None}


def _nothing(*_: object, **__: object) -> None:
    """Stand for a Keras hook."""


_nothing._is_default = True  # type: ignore[attr-defined]  # noqa: SLF001 - Keras's own mark


def _ending(kind: type[BaseException]) -> tuple[str, str]:
    """Return status and reason of a training that an exception ended."""
    name = kind.__name__
    if "OutOfMemory" in name or name in {"MemoryError", "ResourceExhaustedError"}:
        return "oom", name
    stopped = issubclass(kind, KeyboardInterrupt | SystemExit | GeneratorExit)
    return ("killed" if stopped else "crashed"), name
