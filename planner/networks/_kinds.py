"""The kind of a workload: language model, vision, speech ...

Users search a workload by its kind first. It is the family of a record's network if stated; else it
follows from the network's name, by the table of named networks or by a word in it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal, get_args

from planner.networks._table import Network, network_named

Kind = Literal[
    "Language model", "Vision", "Image generation", "Speech", "Recommender", "Graph", "Other"
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""Every kind, in the order it is offered."""
BY_FAMILY: Final = MappingProxyType[str, Kind](
    {
        "dense": "Language model",
        "moe": "Language model",
        "encoder": "Language model",
        "encoder-decoder": "Language model",
        "decoder": "Language model",
        "lora": "Language model",
        "cnn": "Vision",
        "vit": "Vision",
        "detection": "Vision",
        "segmentation": "Vision",
        "diffusion": "Image generation",
        "speech": "Speech",
        "recommender": "Recommender",
        "recsys": "Recommender",
        "graph": "Graph",
        "gnn": "Graph",
    }
)
"""Families of networks, as records and tables of published figures name them."""
_WORDS: Final[tuple[tuple[Kind, str], ...]] = (
    ("Speech", r"whisper|wav2vec|hubert|rnn-?t|conformer|jasper|quartznet|tacotron|waveglow"
               r"|fastpitch|speech|audio|voice"),
    ("Recommender", r"dlrm|ncf|deepfm|wide.?(?:and|&).?deep|recommend|criteo"),
    ("Graph", r"gnn|graph|gat\b|gcn|dimenet|schnet|se\(?3\)?"),
    ("Image generation", r"diffusion|sdxl|flux|pixart|\bdit\b|gan\b|imagen"),
    ("Language model", r"transformer|lstm|gru\b|gpt|bert|llama|mixtral|mistral|qwen|gemma|falcon"
                       r"|bloom|opt-|pythia|deepseek|\bt5|language|gnmt|electra|\bphi-?\d|olmo"
                       r"|\bmpt|nemotron|lm1b|\btokens\b"),
    ("Vision", r"res-?ne[xs]?t|\bcnn|conv|vgg|vit\b|deit|swin|yolo|ssd|u-?net|mobilenet"
               r"|inception|dense-?net|squeezenet|alexnet|regnet|mask.?r-?cnn|retina|mnist|cifar"
               r"|imagenet|\bdigits|\bcoco|dino|clip\b|image|vision"),
)  # fmt: skip
"""Words in names of networks and data sets, the most telling kinds first."""
_NAMES: Final = 4_096


def kind_of(name: str, family: str | None = None) -> Kind:
    """Return the kind of a workload.

    Args:
        name: network, or the whole name of the workload with its data set.
        family: family of the network as its record states it, None where it states none.
    """
    stated = BY_FAMILY.get((family or "").casefold())
    return stated or _by_name(name)


@lru_cache(_NAMES)
def _by_name(name: str) -> Kind:
    plain = name.casefold()
    for kind, words in _WORDS:
        if re.search(words, plain):
            return kind
    network = network_named(name.split(" · ", maxsplit=1)[0])
    return BY_FAMILY.get(network.family, "Other") if isinstance(network, Network) else "Other"
