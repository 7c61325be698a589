"""Engine `fit`: Keras's `model.fit`, on any Keras backend (as in article 002).

Epochs end in `on_epoch_end`: Keras has converted the logs to Python floats by then, so the last
step has ended on the device. While epochs are timed, no callback reads single batches, as that
would make JAX wait for every step; `timing = per step` does exactly that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import keras

from runners.child.engines import backend
from runners.child.engines.pace import Steps
from runners.child.samples.datasets import Data, PngFolder
from runners.child.samples.feeds import for_fit, samples_of, steps_of
from runners.plan.cases import Case
from runners.workloads import networks

Send = Callable[..., None]


def train(
    case: Case, model: keras.Model, data: Data, images: PngFolder | None, send: Send
) -> dict[str, Any]:
    """Train the case, sending `training` and each `epoch`; return summary columns."""
    model.compile(
        optimizer=networks.optimizer(case.optimizer, case.learning_rate),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        jit_compile=case.jit,
        steps_per_execution=case.steps_per_execution,
    )
    first = _time_first_call(model)
    kept = Steps() if case.timing == "per step" else None
    epochs = EpochStamps(case, send, kept)
    _fit(case, model, data, images, [epochs, *_stamps(case, kept)], epochs=case.epochs)
    if not epochs.diverged:
        send("timed")
    seconds = kept.later() if kept else []
    if not (kept or epochs.diverged):
        seconds = _probe(case, model, data, images).seconds
    return {"first_step_s": first[0] if first else None, "step_seconds": seconds,
            "diverged": epochs.diverged}  # fmt: skip


def _stamps(case: Case, kept: Steps | None) -> list[StepStamps]:
    return [StepStamps(kept, _steps_in(case))] if kept else []


def _fit(
    case: Case,
    model: keras.Model,
    data: Data,
    images: PngFolder | None,
    callbacks: list[keras.callbacks.Callback],
    **keywords: Any,  # noqa: ANN401 - arguments of model.fit
) -> None:
    fed = for_fit(case, data, images)
    if case.validation:
        keywords["validation_data"] = (data.validation_x, data.validation_y)
        keywords["validation_batch_size"] = case.batch
    arguments = {**fed.keywords, **keywords}
    model.fit(fed.x, fed.y, verbose=0, callbacks=callbacks, **arguments)


def _time_first_call(model: keras.Model) -> list[float]:
    """Wrap the train function to time only its first call; return the list for its time [s].

    Keras makes that function once the metrics are built; made before, it would not fit them on
    several devices of JAX.
    """
    make, seconds = model.make_train_function, []

    def wrapped(*arguments: Any, **keywords: Any) -> None:  # noqa: ANN401 - Keras's call
        make(*arguments, **keywords)
        model.make_train_function = make
        original = model.train_function

        def first(*given: Any) -> Any:  # noqa: ANN401 - the backend's arguments
            begin = time.perf_counter()
            out = backend.wait(original(*given))
            seconds.append(time.perf_counter() - begin)
            model.train_function = original
            return out

        model.train_function = first

    model.make_train_function = wrapped
    return seconds


def _probe(case: Case, model: keras.Model, data: Data, images: PngFolder | None) -> Steps:
    """Return the times of up to 50 single steps after the timed epochs, for the quantiles."""
    calls = min(50, -(-_steps_in(case) // case.steps_per_execution))
    probed = Steps()
    quiet = {"steps_per_epoch": calls * case.steps_per_execution}
    limited = quiet["steps_per_epoch"] < _steps_in(case)
    plain = Case(**{**_fields(case), "validation": False})
    _fit(plain, model, data, images, _stamps(case, probed), epochs=1, **(quiet if limited else {}))
    return probed


def _steps_in(case: Case) -> int:
    """Return the steps of an epoch, including a smaller last one."""
    full, rest = steps_of(case)
    return full + bool(rest)


def _fields(case: Case) -> dict[str, Any]:
    return {name: getattr(case, name) for name in case.__dataclass_fields__}


class EpochStamps(keras.callbacks.Callback):  # type: ignore[misc] # Keras ships no types
    """Sends the time of every epoch, with validation apart; stops at a NaN loss."""

    def __init__(self, case: Case, send: Send, kept: Steps | None = None) -> None:
        super().__init__()
        self._case, self._send, self._kept = case, send, kept
        self._begin = self._validation = 0.0
        self._validation_begin = 0.0
        self.diverged = False

    def on_train_begin(self, logs: Any = None) -> None:  # noqa: ANN401, ARG002 - Keras's call
        """Send `training`; the first epoch follows."""
        self._send("training")
        self._begin = time.perf_counter()

    def on_test_begin(self, logs: Any = None) -> None:  # noqa: ANN401, ARG002 - Keras's call
        """Start timing validation once the device has finished training."""
        backend.settle(self.model)
        self._validation_begin = time.perf_counter()

    def on_test_end(self, logs: Any = None) -> None:  # noqa: ANN401, ARG002 - Keras's call
        """Stop timing validation."""
        self._validation = time.perf_counter() - self._validation_begin

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ANN401 - Keras's call
        """Send the epoch; its logs are on the host, so it has ended."""
        loss = float(logs["loss"])
        end = time.perf_counter()
        self._send(
            "epoch",
            epoch=epoch + 1,
            epoch_s=end - self._begin,
            validation_s=self._validation if self._case.validation else None,
            samples=samples_of(self._case),
            loss=loss,
            metric=float(logs["val_accuracy"]) if self._case.validation else None,
            step_seconds=self._kept.unreported() if self._kept else None,
        )
        self.diverged = not math.isfinite(loss)
        self.model.stop_training = self.diverged
        self._begin = time.perf_counter()


class StepStamps(keras.callbacks.Callback):  # type: ignore[misc] # Keras ships no types
    """Times every call of the train function; Keras then waits for each call."""

    def __init__(self, kept: Steps, steps_of_epoch: int) -> None:
        super().__init__()
        self._kept, self._steps_of_epoch = kept, steps_of_epoch
        self._begin = 0.0
        self._first = 0

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ANN401, ARG002
        """Start timing a call; `batch` is its first step."""
        self._first = batch
        self._begin = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ANN401
        """Add the call's time; it has ended once its loss is on the host."""
        float(logs["loss"])
        taken = time.perf_counter() - self._begin
        # The last call of an epoch may have fewer steps than Keras reports.
        last = min(batch, self._steps_of_epoch - 1)
        self._kept.add(taken, max(last - self._first + 1, 1))
