"""The process of `tests.bench.engines`: our engines against bare loops, taking turns.

Each round runs one epoch of each contender on its own copy of the same network over the same
samples, in an order that moves on, so that a change of the machine's load meets all of them.
Prints one JSON object: the network, and the seconds of every epoch by contender.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from runners.plan.cases import Case, from_json

Epoch = Callable[[], float]


def main() -> None:
    """Measure the case on standard input."""
    request = json.load(sys.stdin)
    case = from_json(request["case"])
    from runners.child.engines import backend
    from runners.child.samples import datasets

    backend.prepare(case)
    data = datasets.load(case.dataset, case.train_samples, 0, case.seed)
    contenders = _contenders(case, data)
    for epoch in contenders.values():
        epoch()  # tracing, and everything a first epoch does
    names = list(contenders)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number in range(request["rounds"]):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            seconds[name].append(contenders[name]())
    print(json.dumps({"steps": case.train_samples // case.batch, "seconds": seconds}))


def _contenders(case: Case, data: Any) -> Mapping[str, Epoch]:  # noqa: ANN401 - runners' Data
    return {
        "loop engine": _loop_engine(case, data),
        "bare tf.function loop": _bare_loop(case, data),
        "fit engine": _fit_engine(case, data),
        "bare model.fit": _bare_fit(case, data),
    }


def _model(case: Case, data: Any) -> Any:  # noqa: ANN401
    from runners.workloads import build

    return build(case.workload, data.dataset, dict(case.options))


def _loop_engine(case: Case, data: Any) -> Epoch:  # noqa: ANN401
    """The epoch time that the engine itself would record."""
    from runners.child.engines import loop, pace
    from runners.child.samples.feeds import samples_of

    made = loop.prepare(case, _model(case, data), data, None)
    epoch = pace.Epoch(calls=made.calls, steps=made.steps, samples=samples_of(case),
                       arrived=loop.arrived)  # fmt: skip
    return _told(lambda tell: pace.run(epoch, 1, tell, per_step=False))


def _told(run: Callable[[Callable[..., None]], Any]) -> Epoch:
    def epoch() -> float:
        taken: list[float] = []

        def tell(event: str, **fields: Any) -> None:  # noqa: ANN401 - any field
            if event == "epoch":
                taken.append(fields["epoch_s"])

        run(tell)
        return taken[-1]

    return epoch


def _bare_loop(case: Case, data: Any) -> Epoch:  # noqa: ANN401
    """What one would write by hand: a dataset, a tape, a tf.function, a for loop."""
    import keras
    import tensorflow as tf

    model, optimizer = _model(case, data), keras.optimizers.SGD(case.learning_rate)
    optimizer.build(model.trainable_variables)
    # The fastest feed one would write: whole batches are gathered, not single samples.
    samples, labels = tf.constant(data.train_x), tf.constant(data.train_y)
    places = tf.data.Dataset.range(case.train_samples).shuffle(case.train_samples)
    batches = (
        places.batch(case.batch, drop_remainder=True)
        .map(lambda i: (tf.gather(samples, i), tf.gather(labels, i)), tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )

    @tf.function  # type: ignore[untyped-decorator]
    def step(x: Any, y: Any) -> Any:  # noqa: ANN401 - tensors
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    def epoch() -> float:
        begin, loss = time.perf_counter(), 0.0
        for x, y in batches:
            loss = step(x, y)
        float(loss)
        return time.perf_counter() - begin

    return epoch


def _compiled(case: Case, data: Any) -> Any:  # noqa: ANN401
    import keras

    model = _model(case, data)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(case.learning_rate), loss, metrics=["accuracy"],
                  jit_compile=case.jit)  # fmt: skip
    return model


def _fit_engine(case: Case, data: Any) -> Epoch:  # noqa: ANN401
    from runners.child.engines.fit import EpochStamps

    model = _compiled(case, data)
    return _told(
        lambda tell: model.fit(
            data.train_x, data.train_y, batch_size=case.batch, epochs=1, verbose=0,
            callbacks=[EpochStamps(case, tell)],
        )
    )  # fmt: skip


def _bare_fit(case: Case, data: Any) -> Epoch:  # noqa: ANN401
    """model.fit and the times that a callback of three lines would take."""
    import keras

    model, taken = _compiled(case, data), [0.0, 0.0]
    stamps = keras.callbacks.LambdaCallback(
        on_train_begin=lambda logs: taken.__setitem__(0, time.perf_counter()),  # noqa: ARG005
        on_epoch_end=lambda epoch, logs: taken.__setitem__(1, time.perf_counter()),  # noqa: ARG005
    )

    def epoch() -> float:
        model.fit(data.train_x, data.train_y, batch_size=case.batch, verbose=0, callbacks=[stamps])
        return taken[1] - taken[0]

    return epoch


if __name__ == "__main__":
    main()
