"""Memory that training takes on a device: weights, gradients, optimiser state, activations.

Bytes per parameter, in mixed precision with Adam (Rajbhandari et al. 2020, ZeRO, section 3.1):

    full    2 weights + 2 gradients + 12 master weights and moments = 16
    lora    2 frozen weights + 16 per parameter of the adapters
    qlora   0.6 frozen weights in 4 bits with their scales + 16 per parameter of the adapters

Data parallelism keeps all of it on every device. ZeRO shards the optimiser state (stage 1), the
gradients too (2), the weights too (3, FSDP) over the devices.

Activations of one sample that the backward pass needs, in half precision:

    transformer, a token   34 L d bytes, recomputed 3 L d      Korthikanti et al. 2022, without the
                           + 6 bytes a word of the vocabulary  scores that flash attention drops
    images, a sample       0.028 GB x (multiply-adds / 1e9)^0.65, recomputed a quarter

The law of images is a line through six networks of milabench's tables (ResNet-50 to a U-Net of
Stable Diffusion) in the logarithm, good to a factor of two; `backtest.published.memory` scores both
against published memory (docs/accuracy.md). float32 takes twice as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from planner.networks._operations import layers_width_of
from planner.networks._records import OF_TOKENS, Training

Stage = Literal[0, 1, 2, 3]
"""Of ZeRO: 0 shards nothing, 3 everything."""
STAGES: Final[tuple[Stage, ...]] = (0, 1, 2, 3)
ADAPTER_SHARE: Final = 0.005
"""Parameters of the adapters over those of the network: rank 16 on all linear layers of Llama 3 8B
are 42 million."""
FOUR_BIT_BYTES: Final = 0.6
"""Bytes of a weight in 4 bits with the scales of its block (Dettmers et al. 2023, section 3)."""
KEPT: Final = 34.0
"""Bytes of activations per token, layer and unit of width (Korthikanti et al. 2022, equation 2)."""
RECOMPUTED: Final = 3.0
"""The same where activations are recomputed: each layer's input, and one layer at work."""
LOGITS: Final = 6.0
"""Bytes per token and word of the vocabulary: logits in half and in single precision."""
USUAL_VOCABULARY: Final = 50_000.0
"""Of a language model that states none."""
IMAGE_BYTES: Final = 0.028e9
IMAGE_POWER: Final = 0.65
IMAGE_RECOMPUTED: Final = 0.25
"""Activations of a sample at 1e9 multiply-adds, their growth, and the part that recomputing keeps:
one of every fourth (Chen et al. 2016: the square root of the layers)."""
FORWARD_PART: Final = 6.0
"""Training operations over multiply-adds of the forward pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Bytes of weights, gradients and optimiser state, of the whole network."""

    weights: float
    gradients: float
    optimizer: float

    @property
    def total(self) -> float:
        """All of it [bytes]."""
        return self.weights + self.gradients + self.optimizer

    def on_each(self, devices: int, stage: Stage) -> float:
        """Return the bytes on each of `devices`, sharded to a stage of ZeRO."""
        parts = (self.optimizer, self.gradients, self.weights)
        return sum(part / devices if stage > i else part for i, part in enumerate(parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Activations:
    """Bytes of one sample's activations: kept for the backward pass, or recomputed in it."""

    kept: float
    recomputed: float


def state_of(params: float, moments: float, *, half: bool, training: Training = "full") -> State:
    """Return weights, gradients and optimiser state [bytes].

    Args:
        params: parameters of the network, all of them.
        moments: float32 copies of the weights that the optimiser keeps.
        half: whether weights and gradients are in half precision, with master weights beside.
        training: all weights, or adapters beside frozen ones.
    """
    trained = params if training == "full" else ADAPTER_SHARE * params
    each = 2.0 if half else 4.0
    master = 4.0 if half else 0.0
    frozen = {"full": 0.0, "lora": each, "qlora": FOUR_BIT_BYTES}[training]
    return State(
        weights=params * frozen + trained * each,
        gradients=trained * each,
        optimizer=trained * (master + 4.0 * moments),
    )


def transformer_activations(
    tokens: float,
    layers_width: float,
    *,
    vocabulary: float | None = None,
    half: bool = True,
) -> Activations:
    """Return the activations of one sequence [bytes].

    Args:
        tokens: of the sequence.
        layers_width: layers x width of the network.
        vocabulary: words that the last layer scores; None takes a usual number, 0 is none.
        half: whether they are in half precision.
    """
    words = USUAL_VOCABULARY if vocabulary is None else vocabulary
    times = 1.0 if half else 2.0
    logits = tokens * LOGITS * words
    return Activations(
        kept=times * KEPT * layers_width * tokens + logits,
        recomputed=times * RECOMPUTED * layers_width * tokens + logits,
    )


def image_activations(multiply_adds: float, *, half: bool = True) -> Activations:
    """Return the activations of one image or other sample, from its forward pass [bytes]."""
    kept = IMAGE_BYTES * (multiply_adds / 1e9) ** IMAGE_POWER * (1.0 if half else 2.0)
    return Activations(kept=kept, recomputed=IMAGE_RECOMPUTED * kept)


def activations_of(
    family: str,
    *,
    train_flops_per_sample: float | None,
    tokens: float | None = None,
    active_params: float | None = None,
    layers_width: float | None = None,
    vocabulary: float | None = None,
    half: bool = True,
) -> Activations | None:
    """Return the activations of one sample by its family [bytes]; None if unknown.

    Args:
        family: of `planner.networks.FAMILIES`; "" where it is not stated.
        train_flops_per_sample: forward and backward pass [FLOP], for images.
        tokens: of a sample, for transformers.
        active_params: parameters used per token, for layers x width if that is missing.
        layers_width: layers x width of the network.
        vocabulary: words that the last layer scores.
        half: whether activations are in half precision.
    """
    if family in OF_TOKENS:
        if tokens is None or (layers_width is None and active_params is None):
            return None
        wide = layers_width_of(active_params or 0.0) if layers_width is None else layers_width
        return transformer_activations(tokens, wide, vocabulary=vocabulary, half=half)
    if not family or family == "recommender" or train_flops_per_sample is None:
        return None
    return image_activations(train_flops_per_sample / FORWARD_PART, half=half)
