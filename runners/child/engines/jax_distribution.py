"""Several devices on JAX: keras.distribution within a host, jax.distributed over several.

`mirrored` is DataParallel over the first devices: XLA splits each batch and adds the gradients.
`multi-worker mirrored` is the same over the devices of all processes, whose addresses are in
TF_CONFIG; every worker reads its own part of each batch. `tensor` is ModelParallel: each weight
matrix is divided as by Megatron (`divided_axis`), so that a device holds a part of every layer.

On TensorFlow keras.distribution divides nothing, without a word, so it is used on JAX only.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

from planner.core import Text
from runners.plan.cases import Case

CPU_DEVICES = "--xla_force_host_platform_device_count"
"""XLA's flag for logical devices that share a CPU."""


def set_cpu_devices(case: Case) -> None:
    """Set the number of logical CPU devices; call it before JAX is imported."""
    one_process = case.strategy in {"mirrored", "tensor"}
    if case.backend == "jax" and case.device == "cpu" and one_process:
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"{flags} {CPU_DEVICES}={case.devices}".strip()


def prepare(case: Case, place_on_host: int) -> float | None:
    """Set the distribution; return how long the workers took to join [s], None without others.

    Each worker of a host with GPUs takes one: that of its place on the host.

    Raises:
        RuntimeError: JAX sees fewer devices than the case asks for.
    """
    import keras

    startup_s = _join(case, place_on_host) if case.strategy == "multi-worker mirrored" else None
    visible = keras.distribution.list_devices()
    if len(visible) < case.devices:
        raise RuntimeError(
            Text(
                "the case is for {devices} {kind} devices, but JAX sees {visible}. Plan the "
                "sweep for fewer.",
                devices=case.devices,
                kind=case.device.upper(),
                visible=len(visible),
            )
        )
    if case.devices == 1:  # with a distribution Keras would compile the step again in epoch 2
        return startup_s
    several = startup_s is not None
    devices = visible if several else visible[: case.devices]
    made = _tensor(devices) if case.strategy == "tensor" else keras.distribution.DataParallel(
        devices=devices, auto_shard_dataset=False)  # fmt: skip
    keras.distribution.set_distribution(made)
    return startup_s


def check_divided(case: Case, model: Any) -> None:  # noqa: ANN401 - a keras.Model
    """Raise ValueError where `tensor` divides no matrix of a network."""
    weights = [(v.path, tuple(v.shape)) for v in model.trainable_variables if len(v.shape) > 1]
    parts = [divided_axis(path, shape, case.devices) for path, shape in weights]
    if case.strategy == "tensor" and all(axis is None for axis in parts):
        sizes = ", ".join("x".join(map(str, shape)) for shape in sorted({s for _, s in weights}))
        raise ValueError(
            Text(
                "no weight matrix of {model} can be divided by {devices} devices: their "
                "shapes are {shapes}. Set devices to a divisor of them.",
                model=model.name,
                devices=case.devices,
                shapes=sizes,
            )
        )


def end(case: Case) -> Callable[[], None]:
    """Return to one device; what this returns waits until all workers of a run leave."""
    import jax
    import keras

    keras.distribution.set_distribution(None)
    several = case.strategy == "multi-worker mirrored"
    return jax.distributed.shutdown if several else lambda: None


def _join(case: Case, place_on_host: int) -> float:
    """Wait until all workers have joined, and return how long that took [s]."""
    import jax

    from runners.child.samples.feeds import share

    began_s = time.perf_counter()
    place, count = share(case)
    first = json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"][0]
    own = None if case.device == "cpu" else [place_on_host]
    jax.distributed.initialize(first, num_processes=count, process_id=place, local_device_ids=own)
    jax.devices()  # the workers meet here
    return time.perf_counter() - began_s


def _tensor(devices: list[str]) -> Any:  # noqa: ANN401 - a keras.distribution.Distribution
    """Return the distribution that divides each weight matrix along `divided_axis`."""
    import keras

    names = ("batch", "model")
    mesh = keras.distribution.DeviceMesh((1, len(devices)), names, devices)
    axes_of: dict[str, int | None] = {}

    class Divided(keras.distribution.ModelParallel):  # type: ignore[misc] # Keras has no types
        """ModelParallel that looks at the shape of a weight, where Keras looks at its name."""

        def get_variable_layout(self, variable: Any) -> Any:  # noqa: ANN401 - Keras's records
            if getattr(variable, "_layout", None) is not None:  # of an optimiser: its weight's
                return variable._layout  # noqa: SLF001 - as in Keras
            shape = tuple(variable.shape)
            layer, _, name = variable.path.rpartition("/")
            if name == "bias":  # divided as the outputs of its layer are; it comes after the matrix
                axis = axes_of.get(layer)
                axis = axis if axis is not None and -axis <= len(shape) else None
            else:
                axis = axes_of[layer] = divided_axis(variable.path, shape, len(devices))
            axes: list[str | None] = [None] * len(shape)
            if axis is not None:
                axes[axis] = names[1]
            return keras.distribution.TensorLayout(axes, mesh)

    layouts = keras.distribution.LayoutMap(mesh)
    return Divided(layout_map=layouts, batch_dim_name=names[0], auto_shard_dataset=False)


def divided_axis(path: str, shape: tuple[int, ...], devices: int) -> int | None:
    """Return the axis (negative) along which a weight is divided, None where each device has all.

    As Megatron (Shoeybi et al. 2019, section 3): attention by its heads; a matrix that widens by
    its outputs, one that narrows by its inputs, an embedding by its entries. So a pair of dense
    layers needs one sum over devices. Where the devices do not divide that axis, another is taken.
    """
    if not path.endswith(("kernel", "embeddings")):
        return None
    layer = path.split("/")[-2:][0]
    preferred = [-1, -2] if len(shape) > 1 else []
    if len(shape) == 3 and layer in {"query", "key", "value"}:
        preferred = [-2]
    elif len(shape) == 3 and layer == "attention_output":
        preferred = [-3]
    elif len(shape) == 2 and shape[0] > shape[1]:
        preferred = [-2, -1]
    return next((a for a in preferred if shape[a] % devices == 0), None)
