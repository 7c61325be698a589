"""A named network as a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

Family = Literal[
    "dense",
    "moe",
    "encoder",
    "encoder-decoder",
    "cnn",
    "vit",
    "detection",
    "segmentation",
    "diffusion",
    "speech",
    "recommender",
]
Training = Literal["full", "lora", "qlora"]
"""All weights; or adapters beside frozen weights, those in half precision (LoRA: Hu et al. 2021)
or in 4 bits (QLoRA: Dettmers et al. 2023)."""
FAMILIES: Final[tuple[Family, ...]] = get_args(Family)
TRAININGS: Final[tuple[Training, ...]] = get_args(Training)
OF_TOKENS: Final[frozenset[str]] = frozenset({"dense", "moe", "encoder", "encoder-decoder"})
"""Families whose operations follow from parameters and tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network with the figures that its paper, model card or configuration states.

    `params` counts all parameters, `active_params` those used per token (of a dense network all of
    them). `layers` counts those of both halves where there are two. `width` is that
    of the residual stream, `attention_width` heads x head width. `sequence` [tokens] and `image_px`
    [px, side of a square] are the usual size of a sample, None where a sample has no such size.
    `multiply_adds` is the forward pass of one sample at that size, `counted` who counted it; None
    where the operations follow from parameters and tokens, or are unknown. None is unknown.
    """

    id: str
    name: str
    family: Family
    params: float
    active_params: float
    layers: int | None
    width: int | None
    attention_width: int | None
    kv_width: int | None
    feed_forward: int | None
    gated: bool
    tied: bool
    vocabulary: int | None
    experts: int | None
    experts_active: int | None
    sequence: int | None
    image_px: int | None
    multiply_adds: float | None
    counted: str
    source: str
    aliases: tuple[str, ...]

    @property
    def of_tokens(self) -> bool:
        """Whether its operations follow from parameters and tokens."""
        return self.family in OF_TOKENS

    @property
    def layers_width(self) -> float | None:
        """Layers x width of the attention, the scale of its operations; None if not stated."""
        if self.layers is None or self.attention_width is None:
            return None
        return float(self.layers * self.attention_width)

    @property
    def forward_flops(self) -> float | None:
        """Operations of the forward pass of a sample [FLOP]: two for each multiply-add."""
        return None if self.multiply_adds is None else 2.0 * self.multiply_adds
