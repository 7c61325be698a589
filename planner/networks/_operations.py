"""Operations of one training sample, from parameters and tokens or from the forward pass.

    dense decoder, encoder, a token   6 N + 12 L d s     2 forward, 4 backward (Kaplan et al. 2020)
    mixture of experts, a token       6 N_active + 12 L d s
    LoRA, QLoRA, a token              4 N + 12 L d s     frozen weights have no gradient
    encoder-decoder, a token          half of it: a token passes through one half of the layers
    convolutional, ViT, U-Net         3 x forward at the reference size x (px / reference px)^2

with N parameters, L layers, d the width of the attention (heads x head width) and s tokens of a
sequence. The attention is counted in full, as published utilisation figures count it and as the
efficiency of `planner.mfu` was fitted; half of it is masked in a causal network (`causal`), which
kernels skip in part only. A network of 1 token a sample (fully connected) has no attention.

Model operations are those that the result needs. Recomputation of activations repeats the forward
pass: these count as hardware operations only, since no efficiency here includes them.

Where layers and width are not stated, L d follows from N: log-log between published networks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.networks._records import Network, Training

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


def attention_flops(layers_width: float, sequence: float, *, causal: bool = False) -> float:
    """Return the operations of the attention for one token, forward and backward [FLOP].

    Args:
        layers_width: layers x width of the attention.
        sequence: tokens of the context.
        causal: count only the half that a causal mask leaves.
    """
    full = ATTENTION_PER_TOKEN * (1.0 + BACKWARD_PER_FORWARD) * layers_width * sequence
    return 0.5 * full if causal else full


def transformer_operations(
    params: float,
    tokens: float,
    *,
    layers_width: float | None = None,
    training: Training = "full",
    halves: int = 1,
    recompute: bool = False,
) -> Operations:
    """Return the operations of one sample of a transformer.

    Args:
        params: used per token; of a mixture of experts the active ones.
        tokens: of the sample, one sequence; 1 of a network without attention.
        layers_width: layers x width of the attention; None takes `layers_width_of`.
        training: all weights, or adapters with frozen ones.
        halves: 2 of an encoder-decoder, of which a token passes through one half.
        recompute: whether activations are computed again in the backward pass.
    """
    wide = layers_width_of(params) if layers_width is None else layers_width
    backward = BACKWARD_PER_FORWARD if training == "full" else 1.0
    forward_linear = FORWARD_PER_PARAMETER * params * tokens / halves
    attention = 0.0 if tokens <= 1.0 else attention_flops(wide, tokens) * tokens / halves
    model = forward_linear * (1.0 + backward) + attention
    again = forward_linear + attention / (1.0 + BACKWARD_PER_FORWARD)
    each = "6N" if training == "full" else "4N"
    half = "" if halves == 1 else f" over {halves} halves"
    more = "" if attention == 0.0 else " + 12 x layers x width x sequence"
    return Operations(
        model=model,
        attention=attention,
        hardware=model + (again if recompute else 0.0),
        formula=f"({each}{more}) a token{half}",
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
        formula=f"{passes} x forward pass{sized}",
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
            training=training,
            halves=2 if network.family == "encoder-decoder" else 1,
            recompute=recompute,
        )
    if network.forward_flops is None:
        return None
    return image_operations(
        network.forward_flops,
        image_px,
        network.image_px,
        training=training,
        recompute=recompute,
    )
