"""Memory and operations of training: weights, gradients, optimiser state, activations, FLOPs.

Bytes per parameter, in mixed precision with Adam (Rajbhandari et al. 2020, ZeRO, section 3.1):

    full    2 weights + 2 gradients + 12 master weights and moments = 16
            2 weights + 2 gradients + 2 8-bit moments = 6 (Dettmers et al. 2022)
    lora    2 frozen weights + 16 per parameter of the adapters
    qlora   0.6 frozen weights in 4 bits with their scales + 16 per parameter of the adapters

Data parallelism keeps all of it on every device. ZeRO shards the optimiser state (stage 1), the
gradients too (2), the weights too (3, FSDP) over the devices.

Activations of one sample that the backward pass needs, in half precision (float32 takes twice):

    transformer, a token   34 L d bytes, recomputed 3 L d      Korthikanti et al. 2022, without the
                           + 6 bytes a word of the vocabulary  scores that flash attention drops
    images, a sample       0.028 GB x (multiply-adds / 1e9)^0.65, recomputed a quarter

Model operations of one training sample [FLOP]:

    dense decoder, encoder, a token   6 N + 12 L d s     2 forward, 4 backward (Kaplan et al. 2020)
    mixture of experts, a token       6 N_active + 12 L d s
    LoRA, QLoRA, a token              4 N + 12 L d s     frozen weights have no gradient
    encoder-decoder, a token          half of it: a token passes through one half of the layers
    convolutional, ViT, U-Net         3 x forward at the reference size x (px / reference px)^2

with N parameters, L layers, d the width of the attention (heads x head width) and s tokens of a
sequence, or those that a token sees (`Network.context`); 1 token a sample (fully connected) has no
attention. Where layers and width are not stated, L d follows from N: log-log between published
networks. Attention counts in full, as in published utilisation figures, though half of it is masked
in a causal network.
Recomputation repeats the forward pass and counts as hardware operations only.

Evidence: docs/evidence.md#memory-of-training.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from planner.core import Text
from planner.networks._table import OF_TOKENS, Network, Training

FORWARD_PER_PARAMETER: Final = 2.0
"""Operations of the forward pass per parameter and token: a multiplication and an addition."""
BACKWARD_PER_FORWARD: Final = 2.0
"""The backward pass computes gradients of inputs and of weights: twice the forward pass."""
ATTENTION_PER_TOKEN: Final = 4.0
"""Forward operations of the attention per layer, unit of width and token of the context: scores
and their weighted sum, two each (Narayanan et al. 2021, appendix)."""
_LAYERS_WIDTH: Final = np.log(
    [(125e6, 9.2e3), (350e6, 2.46e4), (1.3e9, 4.9e4), (2.7e9, 8.2e4), (7e9, 1.31e5),
     (13e9, 2.05e5), (30e9, 3.4e5), (70e9, 6.6e5), (175e9, 1.18e6), (405e9, 2.06e6),
     (1e12, 3.3e6)]
)  # fmt: skip
"""Parameters and layers x width of decoders, in the logarithm: GPT-3's table 2.1, Llama, GPT-1T."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """Operations of one sample [FLOP]: forward and backward pass.

    `model` are those the result needs, `attention` the part of the attention, `hardware` those
    executed, recomputation included. `formula` is the formula in words.
    """

    model: float
    attention: float
    hardware: float
    formula: str


def layers_width_of(params: float) -> float:
    """Return layers x width of a decoder by its parameters, between published networks.

    Args:
        params: parameters used per token; outside 125M to 1T the outer slopes continue.
    """
    x, (sizes, widths) = math.log(params), _LAYERS_WIDTH.T
    at = int(np.clip(np.searchsorted(sizes, x), 1, len(sizes) - 1))
    slope = (widths[at] - widths[at - 1]) / (sizes[at] - sizes[at - 1])
    return float(np.exp(widths[at] + slope * (x - sizes[at])))


def attention_flops(layers_width: float, sequence: float) -> float:
    """Return the operations of the attention for one token, forward and backward [FLOP]."""
    return ATTENTION_PER_TOKEN * (1.0 + BACKWARD_PER_FORWARD) * layers_width * sequence


def transformer_operations(
    params: float,
    tokens: float,
    *,
    layers_width: float | None = None,
    context: float | None = None,
    training: Training = "full",
    halves: int = 1,
    recompute: bool = False,
) -> Operations:
    """Return the operations of one sample of a transformer.

    Args:
        params: used per token; of a mixture of experts the active ones.
        tokens: of the sample, one sequence; 1 of a network without attention.
        layers_width: layers x width of the attention; None takes `layers_width_of`.
        context: tokens that a token sees, None all of the sample.
        training: all weights, or adapters with frozen ones.
        halves: 2 of an encoder-decoder, of which a token passes through one half.
        recompute: whether activations are computed again in the backward pass.
    """
    wide = layers_width_of(params) if layers_width is None else layers_width
    backward = BACKWARD_PER_FORWARD if training == "full" else 1.0
    forward_linear = FORWARD_PER_PARAMETER * params * tokens / halves
    seen = tokens if context is None else context
    attention = 0.0 if tokens <= 1.0 else attention_flops(wide, seen) * tokens / halves
    model = forward_linear * (1.0 + backward) + attention
    again = forward_linear + attention / (1.0 + BACKWARD_PER_FORWARD)
    each = "6N" if training == "full" else "4N"
    whole = " + 12 x layers x width x sequence"
    more = whole if seen == tokens else " + 12 x layers x width x tokens seen"
    formula = f"({each}{more if attention else ''}) a token"
    if halves > 1:
        formula = Text("{formula} over {halves} halves", formula=formula, halves=halves)
    return Operations(
        model=model,
        attention=attention,
        hardware=model + (again if recompute else 0.0),
        formula=formula,
    )


def image_operations(
    forward_flops: float,
    image_px: float | None = None,
    reference_px: float | None = None,
    *,
    training: Training = "full",
    recompute: bool = False,
) -> Operations:
    """Return the operations of one sample from its forward pass.

    Args:
        forward_flops: of one sample at the reference size [FLOP].
        image_px: side of the image [px]; None is the reference size.
        reference_px: side at which `forward_flops` was counted; None where it has none.
        training: all weights, or adapters with frozen ones.
        recompute: whether activations are computed again in the backward pass.
    """
    scale = 1.0 if not image_px or not reference_px else (image_px / reference_px) ** 2
    forward = forward_flops * scale
    passes = 3 if training == "full" else 2
    sized = "" if scale == 1.0 else " x (image / reference size)^2"
    return Operations(
        model=passes * forward,
        attention=0.0,
        hardware=(passes + recompute) * forward,
        formula=Text("{passes} x forward pass{sized}", passes=passes, sized=sized),
    )


def operations_of(
    network: Network,
    *,
    tokens: float | None = None,
    image_px: float | None = None,
    training: Training = "full",
    recompute: bool = False,
) -> Operations | None:
    """Return the operations of one sample of a named network; None if unknown.

    Args:
        network: from the table.
        tokens: of the sample; None takes the network's usual sequence.
        image_px: side of the image [px]; None takes the network's usual one.
        training: all weights, or adapters with frozen ones.
        recompute: whether activations are computed again in the backward pass.
    """
    length = tokens or network.sequence
    if network.of_tokens and length:
        return transformer_operations(
            network.active_params,
            length,
            layers_width=network.layers_width,
            context=network.context(length),
            training=training,
            halves=2 if network.family == "encoder-decoder" else 1,
            recompute=recompute,
        )
    if network.forward_flops is None:
        return None
    return image_operations(
        network.forward_flops, image_px, network.image_px, training=training, recompute=recompute
    )


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


def state_of(
    params: float,
    moments: float,
    *,
    half: bool,
    training: Training = "full",
    small_moments: bool = False,
) -> State:
    """Return weights, gradients and optimiser state [bytes].

    Args:
        params: parameters of the network, all of them.
        moments: numbers that the optimiser keeps of each weight.
        half: whether weights and gradients are in half precision, with master weights beside.
        training: all weights, or adapters beside frozen ones.
        small_moments: whether moments have 8 instead of 32 bits, without master weights.
    """
    trained = params if training == "full" else ADAPTER_SHARE * params
    each = 2.0 if half else 4.0
    master = 4.0 if half and not small_moments else 0.0
    moment = 1.0 if small_moments else 4.0
    frozen = {"full": 0.0, "lora": each, "qlora": FOUR_BIT_BYTES}[training]
    return State(
        weights=params * frozen + trained * each,
        gradients=trained * each,
        optimizer=trained * (master + moment * moments),
    )


def transformer_activations(
    tokens: float, layers_width: float, *, vocabulary: float | None = None, half: bool = True
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
