"""Measure one case: `python -m runners.child`, the request as JSON on standard input.

The request is {"case": ..., "spawned_at_s": ..., "cache": ...}: the case, the supervisor's
`time.perf_counter()` at the start of this process (the clock is shared by the machine, so
pre-train time counts from there), and the folder for samples written as files.
"""

import json
import math
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from runners.child import place, straggler
from runners.child.engines.jax_distribution import check_divided, set_cpu_devices
from runners.child.start import import_keras, leave
from runners.plan.cases import PLACED, Case, from_json
from runners.process.events import EventWriter

BEGAN_S = time.perf_counter()


def main() -> int:
    """Measure the requested case; report any error as the reason of the run's end."""
    request = json.load(sys.stdin)
    writer = EventWriter()
    try:
        measure(from_json(request["case"]), request, writer)
    except Exception as error:  # noqa: BLE001 - every end is a row
        from runners.child.engines.backend import is_out_of_memory, is_peer_lost

        status = "oom" if is_out_of_memory(error) else "crashed"
        status = "peer_lost" if is_peer_lost(error) else status
        where = "framework: " if status == "oom" else ""
        writer.send("failed", status=status, reason=f"{where}{type(error).__name__}: {error}")
        return 1
    return 0


def measure(case: Case, request: Mapping[str, Any], writer: EventWriter) -> None:
    """Measure one run, from the first import of the framework to the last event."""
    straggler.begin_stopping(case.slow_share)
    set_cpu_devices(case)
    import_keras()
    from runners.child.engines import backend
    from runners.child.forms import variants
    from runners.child.samples import datasets

    asynchronous = case.strategy == "parameter server"
    if asynchronous and backend.task()[0] != "chief":
        backend.serve()
    startup_s = backend.prepare(case)
    columns = backend.facts() | ({} if startup_s is None else {"startup_s": startup_s})
    columns |= place.columns(case)
    links, link_s = _links(case)
    writer.send("imported", columns=columns, extra={**backend.threads_default(case), **links})
    data = datasets.load(case.dataset, case.train_samples, case.validation_samples, case.seed)
    began_s = time.perf_counter()
    images = _images(case, data, request)
    # Only the first run writes the files, so their time is no part of the start.
    written_s = time.perf_counter() - began_s
    with backend.place_to_build(case):
        made = variants.make(case)
    model = made.model
    check_divided(case, model)
    writer.send("built", columns=made.columns,
                extra={"dataset_sha256": data.sha256, **made.extra, **_gradients(case, model),
                       **({"vocabulary": data.dataset.classes}
                          if data.dataset.task == "tokens" else {}),
                       **({"png_folder_s": written_s} if images else {})})  # fmt: skip
    spawned_at_s = float(request.get("spawned_at_s") or BEGAN_S)
    before_s = made.training_s + written_s + (startup_s or 0.0) + link_s
    started = _Started(writer, spawned_at_s + before_s)
    how = _split if case.strategy in PLACED else _asynchronous if asynchronous else _run
    paced = how(case, model, data, images, started.send)
    peak, method = backend.peak_memory()
    from runners.child.engines.pace import quantiles

    summary = {"first_step_s": paced["first_step_s"], **quantiles(paced["step_seconds"])}
    writer.send("trained", columns={**summary, "peak_memory_bytes": peak,
                                    "peak_memory_method": method, **paced.get("columns", {})},
                extra={**paced.get("extra", {}), **_compiled(case)})  # fmt: skip
    if paced["diverged"]:
        writer.send("failed", status="nan", reason="the loss is no longer a number")
        return
    several = case.strategy != "none"
    leave_together = backend.end_distribution(case) if several else None
    if backend.task()[1] == 0:  # only the first worker of a run measures on
        model = variants.make(case).model if several else model
        writer.send("result", **_afterwards(case, model, data))
    if leave_together:
        leave_together()


def _links(case: Case) -> tuple[dict[str, Any], float]:
    """Return facts of the link between synchronous workers, and the time that they took [s]."""
    if case.strategy != "multi-worker mirrored" or case.devices == 1:
        return {}, 0.0
    from runners.child.engines import links

    began_s = time.perf_counter()
    facts = {**links.measured(case), **place.network()}
    return facts, time.perf_counter() - began_s


def _compiled(case: Case) -> dict[str, Any]:
    """Return what the compiled step of several devices on JAX sends and holds."""
    if case.backend != "jax" or case.strategy == "none" or case.mode != "training":
        return {}
    from runners.child.engines import compiled

    return compiled.facts(case.devices)


def _gradients(case: Case, model: Any) -> dict[str, int]:  # noqa: ANN401
    """Return the size of the gradients of a step in float32, as trained variables are."""
    if case.mode != "training":
        return {}
    return {"gradient_bytes": 4 * sum(math.prod(v.shape) for v in model.trainable_variables)}


class _Started:
    """Adds the pre-train time to the event `training`: the time before the first step."""

    def __init__(self, writer: EventWriter, spawned_at_s: float) -> None:
        self._writer, self._spawned_at_s = writer, spawned_at_s

    def send(self, event: str, **fields: Any) -> None:  # noqa: ANN401 - any JSON
        """Pass an event on."""
        if event == "training":
            fields["columns"] = {"pre_train_s": time.perf_counter() - self._spawned_at_s}
        self._writer.send(event, **fields)


def _images(case: Case, data: Any, request: Mapping[str, Any]) -> Any:  # noqa: ANN401
    if case.storage == "memory":
        return None
    from runners.child.samples.datasets import as_png_folder

    return as_png_folder(data, Path(request["cache"]), case.seed)


def _run(case: Case, model: Any, data: Any, images: Any, send: Any) -> dict[str, Any]:  # noqa: ANN401
    """Run the case's engine; return first step, single steps [s] and whether it diverged."""
    if case.mode == "training" and case.engine == "fit":
        from runners.child.engines import fit

        return fit.train(case, model, data, images, send)
    from runners.child.engines import pace

    epoch = _inference(case, model, data) if case.mode == "inference" else _training(
        case, model, data, images)  # fmt: skip
    waited = epoch
    if case.wait_s and case.strategy != "stage":  # the seed of a wait is that of the worker
        calls = straggler.waiting(
            epoch.calls, case.wait_s, case.wait_sd_s, place.worker() + 1000 * case.seed
        )
        waited = replace(epoch, calls=calls)
    paced = pace.run(waited, case.epochs, send, per_step=case.timing == "per step")
    return {"first_step_s": paced.first_step_s, "step_seconds": paced.step_seconds,
            "diverged": paced.diverged, "extra": _shares(case, epoch)}  # fmt: skip


def _shares(case: Case, epoch: Any) -> dict[str, float]:  # noqa: ANN401 - an Epoch
    """Return the shares of a step on several devices; every worker takes the same steps."""
    if case.strategy in {"none", "parameter server", "tpu"}:
        return {}
    from runners.child.engines import backend, shares

    return shares.measured(epoch.calls, epoch.arrived, traced=backend.task()[1] == 0)


def _asynchronous(case: Case, model: Any, data: Any, _images: Any, send: Any) -> dict[str, Any]:  # noqa: ANN401
    """Run a case on a parameter server; like `_run`, with the staleness of its updates."""
    from runners.child.engines import loop, pace

    made = loop.prepare_asynchronous(case, model, data)
    updates = len(made.calls)
    epoch = pace.Epoch(calls=made.calls, steps=(1,) * updates, arrived=made.arrived,
                       samples=case.batch // case.devices * updates)  # fmt: skip
    paced = pace.run(epoch, case.epochs, send)
    mean, most = made.staleness()
    return {"first_step_s": paced.first_step_s, "step_seconds": (),  # steps overlap
            "diverged": paced.diverged, "columns": {"staleness": most},
            "extra": {"staleness_mean": mean}}  # fmt: skip


def _split(case: Case, model: Any, data: Any, images: Any, send: Any) -> dict[str, Any]:  # noqa: ANN401
    """Run a case whose network is split over devices; like `_run`, with the times of its parts."""
    from runners.child.engines import loop, pace
    from runners.child.forms import split
    from runners.child.samples.feeds import samples_of

    made, parts = split.prepare(case, model, data, images)
    epoch = pace.Epoch(calls=made.calls, steps=made.steps, samples=samples_of(case),
                       arrived=loop.arrived, validate=made.validate)  # fmt: skip
    paced = pace.run(epoch, case.epochs, send, per_step=case.timing == "per step")
    step_s = pace.quantiles(paced.step_seconds).get("step_p50_s", 0.0)
    extra = split.facts(case, parts, split.part_seconds(case, parts, data), step_s)
    extra |= _shares(case, epoch)
    return {"first_step_s": paced.first_step_s, "step_seconds": paced.step_seconds,
            "diverged": paced.diverged, "extra": extra}  # fmt: skip


def _training(case: Case, model: Any, data: Any, images: Any) -> Any:  # noqa: ANN401
    from runners.child.engines import loop
    from runners.child.engines.pace import Epoch
    from runners.child.samples.feeds import samples_of

    made = loop.prepare(case, model, data, images)
    return Epoch(calls=made.calls, steps=made.steps, samples=samples_of(case),
                 arrived=loop.arrived, validate=made.validate)  # fmt: skip


def _inference(case: Case, model: Any, data: Any) -> Any:  # noqa: ANN401
    from runners.child.engines import predict
    from runners.child.engines.pace import Epoch

    forward, parts = predict.forward(case, model), predict.batches(case, data)
    calls = [lambda part=part: forward(part) for part in parts]
    return Epoch(calls=calls, steps=[1] * len(calls), samples=sum(map(len, parts)),
                 arrived=lambda logits: float(logits.flat[0]), learns=False)  # fmt: skip


def _afterwards(case: Case, model: Any, data: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return FLOPs and the speed of a matrix product, measured after the timed epochs.

    The run is timed already, so errors leave the value unknown; `extra` states the reason.
    """
    columns: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, function in (("flops", _flops), ("gemm", _gemm)):
        try:
            measured, more = function(case, model, data)
        except Exception as error:  # noqa: BLE001 - a private profiler, a card full of weights
            extra[f"{name}_unknown"] = type(error).__name__
        else:
            columns |= measured
            extra |= more
    return {"columns": columns, "extra": extra}


ColumnsAndExtra = tuple[dict[str, Any], dict[str, Any]]


def _flops(case: Case, model: Any, data: Any) -> ColumnsAndExtra:  # noqa: ANN401
    from runners.child.forms import flops, variants

    plain = variants.counted(case, model)
    counted = flops.count(plain, data.dataset, batch=min(case.batch, 8), optimizer=case.optimizer)
    training = case.mode == "training"
    return {
        "train_flops_per_sample": counted.train if training else counted.forward,
        "train_flops_method": counted.method if training else f"{counted.method}, forward",
    }, {"flops_by_hand": counted.by_hand_train if training else counted.by_hand_forward}


def _gemm(case: Case, _model: Any, _data: Any) -> ColumnsAndExtra:  # noqa: ANN401
    if case.strategy == "tpu":  # outside its strategy TensorFlow computes on the host
        return {}, {"gemm_unknown": "not measured on a TPU"}
    from runners.child import gemm

    return {"gemm_flops_per_s": gemm.measure(case.backend, case.precision)}, {}


if __name__ == "__main__":
    leave(main())
