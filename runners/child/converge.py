"""Train groups of trials: `python -m runners.child.converge`, a request on standard input.

The request holds `groups`, each as `runners.converge.measure.request_of` makes them: network, data,
optimiser, one batch size, learning rates and seeds. The child sends `imported` and `built`, then
`rows` for each group in order (one entry per trial), and `result`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from runners.child.start import import_keras, leave
from runners.converge.curves import NEVER, Curve, Draw, TrialPoint, best_median, columns
from runners.process.events import EventWriter

PARTS: Final = 8
PART_SIZE: Final = 32
"""Gradient noise is estimated from 8 batches of 32 samples, and from all 256 samples."""

LOOK_STEPS: Final = 4
"""Interval of these estimates [steps], or every evaluation if those are further apart."""

Trial = tuple[float, int]
"""Learning rate and seed."""


def main() -> int:
    """Train the requested groups; report any error as the reason of the end."""
    request = json.load(sys.stdin)
    writer = EventWriter()
    try:
        measure(request, writer)
    except Exception as error:  # noqa: BLE001 - every end is a row
        from runners.child.engines.backend import is_out_of_memory

        status = "oom" if is_out_of_memory(error) else "crashed"
        writer.send("failed", status=status, reason=f"{type(error).__name__}: {error}")
        return 1
    return 0


def measure(request: Mapping[str, Any], writer: EventWriter) -> None:
    """Train every group, from the first import of the framework to the last event.

    The groups are of one sweep: network, data and threads are those of the first group.
    """
    import_keras()
    from runners.child.engines import backend, trials
    from runners.child.samples import datasets
    from runners.workloads import build

    first = request["groups"][0]
    _prepare(first)
    writer.send("imported", columns=backend.facts())
    data = datasets.load(
        first["dataset"], first["train_samples"], first["validation_samples"], first["data_seed"]
    )

    def network() -> Any:  # noqa: ANN401 - a Keras model
        return build(first["workload"], data.dataset, first["options"])

    stacks = _Stacks(network, data)
    writer.send(
        "built", columns=trials.columns_of(stacks.model), extra={"dataset_sha256": data.sha256}
    )
    for group in request["groups"]:
        writer.send("rows", rows=list(_rows(group, stacks)))
    writer.send("result", columns={})


class _Stacks:
    """Cache of traced trial axes and of initial weights."""

    def __init__(self, network: Callable[[], Any], data: Any) -> None:  # noqa: ANN401
        self.model = network()
        self._network, self._data = network, data
        self._made: dict[tuple[str, int, int], Any] = {}
        self._weights: dict[int, Any] = {}

    def of(self, optimizer: str, size: int, staleness: int) -> Any:  # noqa: ANN401 - TrialFunctions of runners.child.engines.trials
        """Return a trial axis of this length, with gradients of this age [updates]."""
        from runners.child.engines import trials

        key = optimizer, size, staleness
        if key not in self._made:
            self._made[key] = trials.make(
                self.model, self._data, optimizer, size, staleness=staleness
            )
        return self._made[key]

    def weights(self, seed: int) -> Any:  # noqa: ANN401 - two lists of arrays
        """Return the initial weights of a network with this seed."""
        from runners.child.engines import trials

        if seed not in self._weights:
            self._weights[seed] = trials.initial_weights(self._network, seed)
        return self._weights[seed]


def _prepare(request: Mapping[str, Any]) -> None:
    """Set threads and memory growth; before the first operation, which fixes thread pools."""
    import keras
    import tensorflow as tf

    if threads := request.get("threads"):
        tf.config.threading.set_intra_op_parallelism_threads(threads)
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    keras.config.set_dtype_policy("float32")


def _rows(request: Mapping[str, Any], stacks: _Stacks) -> Iterator[dict[str, Any]]:
    for done in _chunks(request, stacks):
        for curve in done.curves:
            yield columns(
                curve,
                batch=request["batch"],
                parts=PARTS,
                part_size=PART_SIZE,
                steps_run=done.steps,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """Trials that shared the trial axis, and the steps of each."""

    curves: Sequence[Curve]
    steps: int


def _chunks(request: Mapping[str, Any], stacks: _Stacks) -> Iterator[_Done]:
    """Train the trials, all at once or one after the other.

    In sequence, a rate that can no longer beat the best so far stops early.
    """
    every = [(rate, seed) for rate in request["rates"] for seed in request["seeds"]]
    size = len(every) if request["at_once"] else 1
    stack = stacks.of(request["optimizer"], size, request.get("staleness", 0))
    finished: list[Curve] = []
    for i in range(0, len(every), size):
        chunk = every[i : i + size]
        own = [stacks.weights(seed) for _, seed in chunk]
        stack.start([rate for rate, _ in chunk], [w[0] for w in own], [w[1] for w in own])
        done = _train(request, stack, chunk, _whole_rates(finished, len(request["seeds"])))
        finished += done.curves
        yield done


def _whole_rates(finished: Sequence[Curve], seeds: int) -> float:
    """Return the best median [steps] of the rates whose seeds are all done."""
    return best_median(finished[: len(finished) // seeds * seeds])


def _train(request: Mapping[str, Any], stack: Any, chunk: Sequence[Trial], best: float) -> _Done:  # noqa: ANN401
    """Train one filling of the trial axis to its step limit, or until all trials have ended."""
    curves = [Curve.begin(rate, seed, request["target"]) for rate, seed in chunk]
    feed = _Feed(request, chunk)
    step, limit = 0, request["steps_limit"]
    while step < limit and any(c.open for c in curves):
        if step >= request["patience"] * min(best, _median_so_far(curves)):
            break
        if step % LOOK_STEPS == 0 or request["interval"] > LOOK_STEPS:
            _look(stack, feed, curves, step)
        count = min(request["interval"], limit - step)
        losses = stack.train(feed.take(count)).numpy()
        step += count
        _evaluate(stack, curves, step, losses)
    return _Done(curves=curves, steps=step)


def _median_so_far(curves: Sequence[Curve]) -> float:
    """Return the best median of this filling; infinite for one trial per rate."""
    return best_median(curves) if len({c.seed for c in curves}) < len(curves) else NEVER


def _look(stack: Any, feed: _Feed, curves: Sequence[Curve], step: int) -> None:  # noqa: ANN401
    small, big = (n.numpy() for n in stack.norms(feed.draw()))
    for curve, s, b in zip(curves, small, big, strict=True):
        curve.looked(Draw(step=step, small_sq=float(s), big_sq=float(b)))


def _evaluate(stack: Any, curves: Sequence[Curve], step: int, losses: Any) -> None:  # noqa: ANN401
    errors, checked = (n.numpy() for n in stack.evaluate())
    for curve, error, loss, training in zip(curves, errors, checked, losses, strict=True):
        curve.evaluated(
            TrialPoint(step=step, error=float(error), loss=float(loss)), float(training)
        )


class _Feed:
    """Sample indices of the training split for each trial, by its seed."""

    def __init__(self, request: Mapping[str, Any], chunk: Sequence[Trial]) -> None:
        from runners.child.samples.datasets import Orders

        seeds = list(dict.fromkeys(seed for _, seed in chunk))
        self._of_trial = [seeds.index(seed) for _, seed in chunk]
        self._orders = Orders(
            seeds, request["train_samples"], request["batch"], request["sampling"]
        )

    def take(self, steps: int) -> Any:  # noqa: ANN401 - a tensor
        """Return the next indices, (trials, steps, batch)."""
        return self._tensor(self._orders.take(steps))

    def draw(self) -> Any:  # noqa: ANN401 - a tensor
        """Return indices for the gradient noise, (trials, parts, part size)."""
        return self._tensor(self._orders.draw(PARTS, PART_SIZE))

    def _tensor(self, places: Any) -> Any:  # noqa: ANN401
        import tensorflow as tf

        return tf.constant(places[self._of_trial])


if __name__ == "__main__":
    leave(main())
