"""An epoch ends when its last value has reached the host, however late the device finishes."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runners.child.engines import pace
from runners.child.engines.pace import Epoch, Paced, Steps, lap, quantiles
from runners.plan.cases import KEPT_STEPS
from runners.process.supervise import ROOT
from tests.each import each


class LateDevice:
    """Takes work at once, does it one after the other, and has a clock of its own."""

    def __init__(self, seconds: float, *, host_s: float = 0.001) -> None:
        self.now_s = self.ready_s = 0.0
        self.seconds, self.host_s = seconds, host_s
        self.waits = 0

    def call(self) -> float:
        """Queue one step; returns when its value will be there."""
        self.now_s += self.host_s
        self.ready_s = max(self.ready_s, self.now_s) + self.seconds
        return self.ready_s

    def arrived(self, handle: float) -> float:
        """Wait for a step."""
        self.waits += 1
        self.now_s = max(self.now_s, handle)
        return 1.0

    def now(self) -> float:
        """The time [s]."""
        return self.now_s


def run(
    device: LateDevice, calls: int, epochs: int, *, steps: int = 1, per_step: bool = False,
    validate: Callable[[], tuple[float, float]] | None = None,
) -> tuple[Paced, list[dict[str, Any]]]:  # fmt: skip
    """Epochs on the device, and what was told of them."""
    result: list[dict[str, Any]] = []
    epoch = Epoch(calls=[device.call] * calls, steps=[steps] * calls, samples=calls * steps,
                  arrived=device.arrived, validate=validate)  # fmt: skip
    paced = pace.run(epoch, epochs, lambda event, **more: result.append({"event": event, **more}),
                     per_step=per_step, now=device.now)  # fmt: skip
    return paced, result


def test_what_times_epochs_imports_no_framework() -> None:
    program = ("import sys; from runners.child.engines import pace; "
               "print({'tensorflow', 'keras', 'jax', 'numpy'} & set(sys.modules))")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr


@each("per_step", [False, True])
@each("seconds", [0.0001, 0.05, 3.0])
def test_an_epoch_takes_what_the_device_takes_not_what_asking_takes(
    seconds: float, *, per_step: bool
) -> None:
    device = LateDevice(seconds)
    _, result = run(device, calls=20, epochs=3, per_step=per_step)
    epochs = [e for e in result if e["event"] == "epoch"]
    assert [e["epoch"] for e in epochs] == [1, 2, 3]
    assert all(e["epoch_s"] >= 20 * seconds for e in epochs)
    assert all(e["epoch_s"] <= 20 * (seconds + device.host_s) + 1e-9 for e in epochs)


def test_a_stub_that_finishes_late_is_off_by_less_than_one_per_cent() -> None:
    device = LateDevice(0.5, host_s=0.0001)
    _, result = run(device, calls=100, epochs=2)
    assert all(abs(e["epoch_s"] / 50 - 1) < 0.01 for e in result if e["event"] == "epoch")


def test_steps_are_not_waited_for_while_epochs_are_timed() -> None:
    """Once for the first call, once an epoch, and fifty times after all of them."""
    device = LateDevice(0.01)
    paced, _ = run(device, calls=100, epochs=4)
    assert device.waits == 1 + 4 + pace.PROBED_STEPS
    assert len(paced.step_seconds) == pace.PROBED_STEPS
    assert min(paced.step_seconds) >= 0.01


def test_the_first_step_is_timed_to_its_end() -> None:
    paced, _ = run(LateDevice(2.0), calls=3, epochs=1)
    assert paced.first_step_s >= 2.0


def test_an_epoch_of_one_call_is_timed_too() -> None:
    paced, result = run(LateDevice(2.0), calls=1, epochs=2)
    assert [e["epoch_s"] >= 2.0 for e in result if e["event"] == "epoch"] == [True, True]
    assert paced.first_step_s >= 2.0


def test_steps_of_one_call_share_its_time() -> None:
    paced, _ = run(LateDevice(1.0, host_s=0.0), calls=4, epochs=1, steps=10)
    assert len(paced.step_seconds) == 40
    assert all(math.isclose(s, 0.1) for s in paced.step_seconds)


def test_every_step_of_the_timed_epochs_is_reported_and_their_sum_is_the_epochs() -> None:
    device = LateDevice(0.5, host_s=0.01)
    paced, result = run(device, calls=7, epochs=3, per_step=True)
    epochs = [e for e in result if e["event"] == "epoch"]
    assert [len(e["step_seconds"]) for e in epochs] == [7, 7, 7]
    for told_of in epochs:
        assert math.isclose(sum(told_of["step_seconds"]), told_of["epoch_s"])
    assert epochs[0]["step_seconds"][0] == paced.first_step_s
    assert len(paced.step_seconds) == 3 * 7 - 1, "the first one traces: no quantile holds it"


def test_steps_of_one_call_are_reported_each() -> None:
    paced, result = run(LateDevice(1.0, host_s=0.0), calls=4, epochs=2, steps=5, per_step=True)
    epochs = [e for e in result if e["event"] == "epoch"]
    assert [e["step_seconds"] for e in epochs] == [[0.2] * 20] * 2
    assert len(paced.step_seconds) == 40 - 5


def test_steps_without_a_wait_are_not_reported() -> None:
    _, result = run(LateDevice(0.5), calls=7, epochs=2)
    assert [e["step_seconds"] for e in result if e["event"] == "epoch"] == [None, None]


@given(st.lists(st.integers(0, 9_000), max_size=6))
def test_steps_are_reported_once_and_no_more_than_a_row_keeps(epochs: list[int]) -> None:
    steps, result = Steps(), []
    for number in epochs:
        for place in range(number):
            steps.add(float(place), 1)
        result += steps.unreported()
    assert result == steps.seconds[:KEPT_STEPS]
    assert steps.later() == steps.seconds[1:]


def test_validation_is_inside_the_epoch_and_distinguished() -> None:
    device = LateDevice(1.0, host_s=0.0)

    def validate() -> tuple[float, float]:
        device.now_s += 5.0
        return 0.5, 0.9

    _, result = run(device, calls=3, epochs=2, validate=validate)
    last = [e for e in result if e["event"] == "epoch"][-1]
    assert (last["epoch_s"], last["validation_s"], last["metric"]) == (8.0, 5.0, 0.9)


def test_a_loss_that_is_no_number_ends_the_run_and_its_epoch_is_reported() -> None:
    result: list[dict[str, Any]] = []
    epoch = Epoch(calls=[lambda: None], steps=[1], samples=1, arrived=lambda _: math.nan)
    paced = pace.run(epoch, 5, lambda event, **more: result.append({"event": event, **more}))
    assert paced.diverged
    assert [e["event"] for e in result] == ["training", "epoch"]


def test_the_value_of_an_inference_is_no_loss() -> None:
    epoch = Epoch(calls=[lambda: None], steps=[1], samples=1, arrived=lambda _: math.nan,
                  learns=False)  # fmt: skip
    result: list[dict[str, Any]] = []
    paced = pace.run(epoch, 2, lambda event, **more: result.append({"event": event, **more}))
    assert not paced.diverged
    assert [e.get("loss") for e in result if e["event"] == "epoch"] == [None, None]


def test_a_lap_ends_when_the_value_has_arrived() -> None:
    device = LateDevice(3.0)
    took = lap(device.call, device.arrived, device.now)
    assert took.seconds >= 3.0


@given(st.lists(st.floats(1e-6, 1e3), min_size=5, max_size=60))
def test_quantiles_lie_in_order_within_the_times(seconds: Sequence[float]) -> None:
    low, middle, high = quantiles(seconds).values()
    assert min(seconds) <= low <= middle <= high <= max(seconds)


def test_quantiles_of_a_few_steps_are_not_reported() -> None:
    assert quantiles([1.0] * 4) == {}
    assert quantiles([1.0, 2.0, 3.0, 4.0, 5.0])["step_p50_s"] == 3.0
