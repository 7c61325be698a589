"""The time of an image network's training step, as the sum of its parts.

    a sample   operations / (share x peak of its precision)
               + outputs of the layers x bytes x passes / memory bandwidth
    a step     + parameters x bytes / memory bandwidth + layers x launch
    files      root of the sum of the squares of that and of the time in which a host loads them

Convolutions reach a share of the peak; normalisations and activations wait for the memory, so a
fast accelerator is used less. A step of few images waits for its launches. Of large layers of few
outputs, as AlexNet's, the parameters cross the memory. A host reads, decodes and augments images
beside the step, unless the data are synthetic or the software is a submission to MLPerf.

`image_networks.csv` has layer outputs per 1,000 multiply-adds, layers, and parameters [M] of the
networks of torchvision 0.29 and timm 1.0, counted on tensors without data. Of other networks the
kind of convolutions gives them (`image_kinds.csv`: at 4e9 multiply-adds, and the power by which
they change), with factors on the share of the peak and on the passes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Protocol

from planner.catalog import Accelerator
from planner.core import shipped_rows
from planner.published import convolutions_of, half_peak, own_peak

HALF_SHARE: Final = 0.53
SINGLE_SHARE: Final = 0.73
"""Share of the peak that convolutions reach in half precision, and in single precision or TF32."""
PASSES: Final = 13.0
"""Times that outputs of layers cross the memory at its full bandwidth, forward and backward."""
SINGLE_PASSES: Final = 10.4
"""The same in single precision, of four bytes."""
PARAMETER_BYTES: Final = 23.0
"""Bytes a parameter that a step moves: weights, gradient and the state of the optimiser [B]."""
LAUNCH_S: Final = 135e-6
"""Of the kernels of one layer, forward, backward and update [s]."""
BENCHMARK_LAUNCHES: Final = 0.3
"""The same of a submission to MLPerf over ordinary software: whole steps are recorded."""
LOADED_PIXELS: Final = 3000.0 * 224.0**2
"""Pixels that ordinary software loads for one accelerator in a second. Milabench timed ResNet-50
with and without loading on four accelerators: 2,500, 2,900, 3,500 and 5,000 images of 224 px."""
USUAL_PX: Final = 224.0
LOADING_SD: Final = 0.5
"""Sd of ln(time) for each unit of ln by which loading slows a step: of this nothing is stated."""
USUAL_IMAGES: Final = 64.0
"""Images on a device where a question states no batch."""
USUAL_SHARE: Final = 0.11
"""Efficiency of ResNet-50 on an A100 by these parts: the reference."""
TYPICAL: Final = 4e9
FEWEST: Final = 0.05e9
MOST: Final = 60e9
"""Multiply-adds of `image_kinds.csv`, and the range in which its powers hold."""
TRAIN_OVER_MULTIPLY_ADDS: Final = 6.0
"""Training operations over forward multiply-adds."""


class _Question(Protocol):
    """What of an `MfuQuestion` the time depends on."""

    @property
    def family(self) -> str: ...
    @property
    def accelerator(self) -> Accelerator: ...
    @property
    def flops_per_sample(self) -> float: ...
    @property
    def precision(self) -> str: ...
    @property
    def devices(self) -> int: ...
    @property
    def params(self) -> float | None: ...
    @property
    def batch(self) -> float | None: ...
    @property
    def network(self) -> str: ...
    @property
    def image_px(self) -> float | None: ...
    @property
    def loads(self) -> bool: ...
    @property
    def benchmark(self) -> bool: ...


@cache
def _tables() -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return the networks by key and the kinds by name."""
    networks = shipped_rows(
        __package__, "image_networks.csv", outputs=float, layers=float, params=float
    )
    kinds = shipped_rows(
        __package__, "image_kinds.csv", compute=float, memory=float, outputs=float,
        outputs_power=float, layers=float, layers_power=float,
    )  # fmt: skip
    return {row["key"]: row for row in networks}, {row.get("kind", ""): row for row in kinds}


@dataclass(frozen=True, slots=True)
class ImageParts:
    """Seconds of a sample on a device by what takes them, and the kind of the network."""

    kind: str
    computes: float
    moves: float
    parameters: float
    launches: float
    loading: float

    @property
    def step(self) -> float:
        """All but loading."""
        return self.computes + self.moves + self.parameters + self.launches


def parts_of(question: _Question) -> ImageParts:
    """Return the parts of a step of a convolutional network or vision transformer."""
    card = question.accelerator
    half = half_peak(card) or 1e12
    own = own_peak(card, question.precision) or half
    bandwidth = card.memory_bandwidth_bytes_per_s or half / 156.0
    single = question.precision in {"float32", "tensorfloat32"}
    multiply_adds = question.flops_per_sample / TRAIN_OVER_MULTIPLY_ADDS
    networks, kinds = _tables()
    name = "vit" if question.family == "vit" else convolutions_of(question.network) or ""
    kind, network = kinds[name], networks.get(question.network)
    if network is None:
        size = min(max(multiply_adds, FEWEST), MOST) / TYPICAL
        outputs = kind["outputs"] * size ** kind["outputs_power"]
        layers = kind["layers"] * size ** kind["layers_power"]
        params = question.params or 25e6
    else:
        outputs, layers, params = network["outputs"], network["layers"], 1e6 * network["params"]
    each = max((question.batch or USUAL_IMAGES * question.devices) / question.devices, 1.0)
    reached = kind["compute"] * (SINGLE_SHARE if single else HALF_SHARE) * own
    crossing = kind["memory"] * (4.0 * SINGLE_PASSES if single else 2.0 * PASSES)
    tuned = question.benchmark and question.family == "cnn"
    launch = LAUNCH_S * (BENCHMARK_LAUNCHES if tuned else 1.0)
    return ImageParts(
        kind=name,
        computes=question.flops_per_sample / reached,
        moves=1e-3 * outputs * multiply_adds * crossing / bandwidth,
        parameters=params * PARAMETER_BYTES / bandwidth / each,
        launches=layers * launch / each,
        loading=(question.loads and not tuned)
        * (question.image_px or USUAL_PX) ** 2
        / LOADED_PIXELS,
    )


def share_of_parts(question: _Question) -> tuple[float, float]:
    """Return the efficiency by the parts [1], and by how much loading slows it [ln]."""
    parts = parts_of(question)
    slower = math.hypot(1.0, parts.loading / parts.step)
    half = half_peak(question.accelerator) or 1e12
    return question.flops_per_sample / half / (parts.step * slower), math.log(slower)
