"""The table of named networks, the look-up of names, and the kind of a workload.

`networks.csv` is beside this module: one row per network, with the address of each figure. Names
are compared without case, punctuation and words unrelated to the network (its publisher,
"instruct", "hf"). So `meta-llama/Meta-Llama-3-8B`, "llama3-8b" and "Llama 3 8B" are one; resnet50d
is not a ResNet-50, since a further letter is another network.

The kind of a workload (language model, vision ...) is the family of a record's network if stated;
else it follows from the network's name, by the table or by a word in it.
"""

import csv
import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final, Literal, cast, get_args

from planner.core import Refusal, Text

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
    windowed_layers: int | None
    window: int | None
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

    def context(self, tokens: float) -> float:
        """Return the tokens that a token of a sequence sees in the mean over layers.

        As the whole attention counts in full although a token sees only those before it, so does a
        window count twice what it covers.
        """
        if not self.layers or not self.windowed_layers or not self.window:
            return tokens
        seen = min(float(self.window), tokens)
        near = seen * (2.0 - seen / tokens)
        return tokens - self.windowed_layers / self.layers * (tokens - near)

    @property
    def forward_flops(self) -> float | None:
        """Operations of the forward pass of a sample [FLOP]: two for each multiply-add."""
        return None if self.multiply_adds is None else 2.0 * self.multiply_adds


USUAL: Final[Mapping[str, str]] = MappingProxyType(
    {
        "BERT": "bert-large", "BLOOM": "bloom-176b", "BLOOMZ": "bloom-176b",
        "ConvNeXt": "convnext-base", "DiT": "dit-xl-2", "DLRM": "dlrm",
        "EfficientNet": "efficientnet-b0", "EfficientNetV2": "efficientnet-v2-s",
        "Falcon": "falcon-7b", "FLUX": "flux.1", "Gemma": "gemma-7b", "Gemma 2": "gemma-2-9b",
        "Gemma 3": "gemma-3-12b", "GPT-3": "gpt-3-175b", "Llama 2": "llama-2-7b",
        "Llama 3": "llama-3-8b", "Llama 3.1": "llama-3-8b", "Mistral": "mistral-7b",
        "Phi": "phi-3-mini", "Phi-3": "phi-3-mini", "Qwen": "qwen2.5-7b", "Qwen2": "qwen2.5-7b",
        "Qwen2.5": "qwen2.5-7b", "Qwen3": "qwen3-8b", "SD": "stable-diffusion-2",
        "SD3": "sd3-medium", "SSD": "ssd300-vgg16", "Swin": "swin-b", "T5": "t5-base",
        "U-Net": "unet-2d", "ViT": "vit-b-16", "ViT-S": "vit-s-16", "ViT-B": "vit-b-16",
        "ViT-L": "vit-l-16", "ViT-H": "vit-h-14", "wav2vec2": "wav2vec2-base",
        "Whisper": "whisper-large", "YOLO": "yolov8s", "YOLOv5": "yolov5s", "YOLOv8": "yolov8s",
    }
)  # fmt: skip
"""The usual network of a name that states no size. A published table may mean another one."""
MOST_LETTERS: Final = 200
"""Letters of a name that are read."""
_NOTHING_SAID: Final = frozenset(
    {"meta", "google", "hf", "huggingface", "instruct", "chat", "it", "pt", "uncased", "cased",
     "pretraining", "pre", "training", "finetune", "finetuning", "fine", "tuning", "sft", "lora",
     "qlora", "bf16", "fp16", "fp8", "fp32", "tf32", "amp", "model", "tf", "pytorch", "tensorflow",
     "megatron", "deepspeed", "mlperf", "v0.1", "v0.2", "v0.3", "imagenet", "maxtext",
     "torchvision", "ddp", "fsdp", "gpus", "single", "noio", "multi", "card", "like",
     "architecture"}
)  # fmt: skip
"""Words beside a name: publisher, kind of training, precision, framework."""
_WORD: Final = re.compile(r"[a-z]+|[0-9]+(?:\.[0-9]+)*[a-z]*")


@cache
def networks() -> Mapping[str, Network]:
    """Return all named networks by id, in the order of the table."""
    text = files(__package__).joinpath("networks.csv").read_text(encoding="utf-8")
    return MappingProxyType({n.id: n for n in map(_network, csv.DictReader(text.splitlines()))})


def network_named(text: str) -> Network | Refusal:
    """Return the network of a name or an id; a refusal with near names where there is none.

    Args:
        text: as a person, a link or a published table writes it.
    """
    network = network_or_none(text)
    if network is not None:
        return network
    near = [networks()[n].name for n in _near(text)]
    perhaps = f"Perhaps {_listed(near)}? " if near else ""
    return Refusal(
        reason=Text(
            "{text!r} is not among the {networks} named networks.",
            text=text[:80],
            networks=len(networks()),
        ),
        measure_next=Text(
            "{perhaps}Or give its parameters and tokens, or its FLOPs per sample.", perhaps=perhaps
        ),
    )


def network_or_none(text: str) -> Network | None:
    """Return the network of a name or an id; None where there is none, without near names."""
    ids = _by_key()
    return next((networks()[ids[key]] for key in _keys(text) if key in ids), None)


def states_no_size(text: str) -> bool:
    """Return whether a name is that of networks of several sizes, one of which is usual."""
    ids = _by_key()
    key = next((key for key in _keys(text) if key in ids), "")
    return key in _usual_by_key()


def _network(row: Mapping[str, str]) -> Network:
    params = float(row["params"])
    heads, head_width = _whole(row["heads"]), _whole(row["head_width"])
    kv_heads = _whole(row["kv_heads"])
    return Network(
        id=row["id"],
        name=row["name"],
        family=cast("Family", row["family"]),
        params=params,
        active_params=float(row["active_params"] or params),
        layers=_whole(row["layers"]),
        windowed_layers=_whole(row["windowed_layers"]),
        window=_whole(row["window"]),
        width=_whole(row["width"]),
        attention_width=None if heads is None or head_width is None else heads * head_width,
        kv_width=None if kv_heads is None or head_width is None else kv_heads * head_width,
        feed_forward=_whole(row["feed_forward"]),
        gated=row["gated"] == "1",
        tied=row["tied"] == "1",
        vocabulary=_whole(row["vocabulary"]),
        experts=_whole(row["experts"]),
        experts_active=_whole(row["experts_active"]),
        sequence=_whole(row["sequence"]),
        image_px=_whole(row["image_px"]),
        multiply_adds=float(row["multiply_adds"]) if row["multiply_adds"] else None,
        counted=row["counted"],
        source=row["source"],
        aliases=tuple(a for a in row["aliases"].split("|") if a),
    )


def _whole(text: str) -> int | None:
    return int(text) if text else None


@cache
def _by_key() -> Mapping[str, str]:
    """Return the id of each normalised name; full names have priority over shortened ones."""
    ids: dict[str, str] = {}
    for network in networks().values():
        for name in (network.id, network.name, *network.aliases):
            for key in _keys(name):
                ids.setdefault(key, network.id)
    return MappingProxyType(dict(_usual_by_key()) | ids)


@cache
def _usual_by_key() -> Mapping[str, str]:
    """Return the id of the usual network by normalised name without a size."""
    return MappingProxyType({key: n for name, n in USUAL.items() for key in _keys(name)})


@lru_cache(maxsize=4_096)
def _keys(text: str) -> tuple[str, ...]:
    """Return the normalised forms of a name: whole, then without publisher and filler words.

    A sign between two digits is a decimal point first (opt-1_3b), a gap after (resnet50_2).
    """
    lower = text[:MOST_LETTERS].casefold()
    publisher, _, rest = lower.rpartition("/")
    last = rest if publisher and re.search(r"[a-z]", rest) else lower  # ViT-L/14 has no publisher
    bare = re.sub(r"\[[^\]]*\]|\([^)]*\)", " ", last)
    kept = [w for w in re.split(r"[\s_\-:]+", bare) if w and w not in _NOTHING_SAID]
    return (*_joined(lower), *(_joined(" ".join(kept)) if kept else ()))


def _joined(text: str) -> Iterator[str]:
    point = re.sub(r"(?<=[0-9])\.(?=[0-9])", "p", text)
    yield re.sub(r"[^a-z0-9]", "", re.sub(r"(?<=[0-9])_(?=[0-9])", "p", point))
    yield re.sub(r"[^a-z0-9]", "", point)


_FEW: Final = 6
"""Most networks of a name's beginning that are nearer than names spelt alike."""


def _near(text: str) -> list[str]:
    """Return ids of up to three networks whose names are most alike."""
    ids = _by_key()
    begins = _letters(text)
    longer = [n.id for n in networks().values() if begins and _letters(n.name).startswith(begins)]
    names = longer if len(longer) <= _FEW else []
    for key in _keys(text):
        alike = difflib.get_close_matches(key, ids, n=6, cutoff=0.6)
        # SD 4 is rather another SD than an SSD
        same = [k for k in alike if _leading(k) == _leading(key)]
        names += [ids[k] for k in same or alike]
    words = set(_WORD.findall(text[:MOST_LETTERS].casefold()))
    if not names and words:
        shared = {n.id: len(words & set(_WORD.findall(n.name.casefold()))) for n in
                  networks().values()}  # fmt: skip
        names = sorted((n for n in shared if shared[n]), key=lambda n: -shared[n])
    return list(dict.fromkeys(names))[:3]


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name[:MOST_LETTERS].casefold())


def _leading(key: str) -> str:
    """Return the letters before the first digit: "llama" of llama38b."""
    return re.split(r"[0-9]", key, maxsplit=1)[0]


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


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
    ("Image generation", r"diffusion|sdxl|flux|pixart|\bdit\b|gan\b|imagen\b"),
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
    network = network_or_none(name.split(" · ", maxsplit=1)[0])
    return BY_FAMILY.get(network.family, "Other") if network else "Other"
