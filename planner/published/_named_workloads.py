"""The workload of a published row: its family, and the operations of one sample.

Tables of measurements name a workload as their authors do: an MLPerf key, a folder of examples, a
network. `workload_of` reads the name and further columns like a user filling in the form of a
described workload, without the speed. Operations of a sample, forward and
backward (a fused multiply-add is two):

    transformer, a token      6 N + 12 L d s      LoRA: 4 N + 12 L d s
    encoder-decoder, a token  half of 6 N: each token passes one of the two halves
    image network             3 x forward, times (image / reference image)^2
    speech, recommender       3 x forward of a usual sample

N active parameters, L d layers times width, s sequence length; attention in full, whether causal
or not. Forward FLOPs are twice the multiply-adds that torchvision and timm print for a network, and
for detection, segmentation and diffusion figures good to about 20 %. An utterance is 12.3 s of
sound, the mean of LibriSpeech; Whisper pads to 30 s. Of recommenders the dense layers count.
"""

import math
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Literal

from planner.core import Text, shipped_rows
from planner.networks import Network, layers_width_of, network_or_none
from planner.published._rows import PublishedRow

TRAIN_OVER_FORWARD: Final = 3.0
"""Operations of forward and backward over those of forward alone."""
FULL_PER_PARAMETER: Final = 6.0
LORA_PER_PARAMETER: Final = 4.0
"""Training operations per parameter and token: a LoRA run has no gradients of frozen weights."""
ATTENTION: Final = 12.0
"""Training operations of attention per layer, width and position of the context, a token."""
SAME_SIZE: Final = 0.1
"""Largest relative difference of stated parameters from those of a named network."""
LANGUAGE: Final = frozenset({"dense", "lora", "moe", "encoder", "encoder-decoder"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedWorkload:
    """The workload of one row, with the fields of a described workload.

    `network` is a short key common to sources, `group` its kind of network.
    `train_flops_per_sample` counts forward and backward [FLOP]; of language models a sample is a
    sequence of `sequence` tokens, and `layers_width` is layers times width of the attention.
    `samples_per_epoch` is the size of a named data set [samples].
    """

    family: str
    network: str
    train_flops_per_sample: float
    params: float | None = None
    active_params: float | None = None
    layers_width: float | None = None
    sequence: float | None = None
    image_px: float | None = None
    samples_per_epoch: float | None = None

    @property
    def group(self) -> str:
        """The kind of network: the letters its key begins with, without a size."""
        return group_of(self.network)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Image:
    """Forward multiply-adds of one image [G] at `px`, of a network of a family."""

    family: str
    multiply_adds: float
    px: float = 224.0
    samples: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """Forward multiply-adds of one sample [G], of a network whose samples have one size."""

    family: str
    multiply_adds: float
    samples: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """Parameters, those active for a token, layers times width and context of a transformer."""

    family: str
    params: float
    active: float | None = None
    layers_by_width: float | None = None
    sequence: float | None = None
    attended: float | None = None
    """Root mean square of the lengths, where padding is left out; else the sequence."""


_Fact = _Image | _Sample | _Text


def _fact(row: dict[str, Any]) -> _Fact:
    if "params" in row:
        return _Text(**row)
    return (_Sample if row["family"] in {"speech", "recommender"} else _Image)(**row)


_TABLE: Final = tuple(
    (row.pop("benchmark", ""), row.pop("key"), _fact(row))
    for row in shipped_rows(
        __package__, "named_workloads.csv", multiply_adds=float, px=float, samples=float,
        params=float, active=float, layers_by_width=float, sequence=float, attended=float,
    )
)  # fmt: skip
"""The networks of `named_workloads.csv`, with the benchmark of MLPerf Training that uses them.

Multiply-adds are in G: of images as torchvision 0.20 counts them, at 224 px where no size is
stated; of speech an utterance, by the layers of the papers; of recommenders the dense layers.
RNN-T: MLPerf's, 5 LSTM layers of 1,024 units, 410 frames, of which the last three see half, and 43
word pieces. Jasper, QuartzNet: every weight once a frame of 20 ms. Whisper: its encoder, which is
all that short labels and classification cost. ALBERT shares its weights: those that a token passes
count. The width of layers is heads times head width, the size of the attention.
"""
_FACTS: Final = {key: fact for benchmark, key, fact in _TABLE if not benchmark}
_BENCHMARKS: Final = {benchmark: (key, fact) for benchmark, key, fact in _TABLE if benchmark}
"""MLPerf Training's benchmarks by key; BERT leaves padding out: 255 tokens in the mean.

Logs of DLRM count epochs from 0 or from 1, so only a logged throughput counts.
"""
_SPELLINGS: Final = tuple(shipped_rows(__package__, "spellings.csv"))
"""How published tables write networks that have several spellings, the more exact ones first."""


def workload_of(row: PublishedRow) -> NamedWorkload | str:
    """Return the workload of a row, or why its operations per sample are unknown, as a sentence."""
    name = _plain(row.model or "")
    if key := benchmark_key(row):
        return _benchmark(row, key, name)
    network = _spelling(name)
    text = _FACTS.get(network or "")
    if isinstance(text, _Text) and not _counts_images(row):
        return _transformer(row, network or "", _with_columns(row, text), name)
    of_one_size = _of_one_size(row, network or network_key(row.model or ""))
    if of_one_size is not None:
        return of_one_size
    family = (row.family or "").casefold()
    if family in {"decoder", "moe"} and not _counts_images(row):
        return _decoder(row, name)
    if family == "encoder" and row.params:
        return _transformer(
            row, network_key(row.model or ""), _Text(family="encoder", params=row.params), name
        )
    return _unstated(row)


def _unstated(row: PublishedRow) -> Text:
    return Text("the operations of a sample of {model} are not stated.", model=row.model)


@lru_cache(maxsize=4_096)
def _spelling(name: str) -> str | None:
    return next((s["key"] for s in _SPELLINGS if re.search(s["pattern"], name)), None)


def benchmark_key(row: PublishedRow) -> str:
    """Return the key of an MLPerf Training benchmark, "" where the row is none."""
    match = re.search(r"\(MLPerf (\w+)\)", row.model or "")
    return match[1] if match else ""


@lru_cache(maxsize=4_096)
def network_key(model: str) -> str:
    """Return the common key of a network in letters and digits: "resnet50"."""
    text = _plain(model)
    text = text.split("/")[-1] if text.count("/") > 1 else text
    text = re.sub(r"\[.*|\(.*", "", text)
    if match := re.search(r"\[model=([\w-]+)", _plain(model)):
        text = match[1]
    text = re.sub(r"[ _-](pytorch|tensorflow2?|fp32|fp16|noio|ddp-gpus|gpus|single|imagenet)\b.*",
                  "", text)  # fmt: skip
    text = re.sub(r"v1\.5$|^tf_|^tv_|^test_run_image_classification_", "", text.strip())
    sizes = r"(vit|deit|swin)[ _-](tiny|small|base|large|huge)(?:[ _-]patch(\d+))?"
    if match := re.match(sizes, text):
        patch = "" if match[1] == "swin" else match[3] or "16"
        return f"{match[1]}{match[2][0]}{patch}"
    if match := re.match(r"vit[ _-]([tsblh])[ _/-]?(\d+)", text):
        return f"vit{match[1]}{match[2]}"
    text = re.sub(r"^rn(?=\d)", "resnet", text)
    text = re.sub(r"_100(_|$)", r"\1", text) if text.startswith("mobilenet") else text
    return re.sub(r"[^a-z0-9]", "", text)


def group_of(network: str) -> str:
    """Return the kind of a network's key: its leading letters without those of a size.

    A prefix that names weights, a training recipe or attention over channels is left out, and so
    are variants of the first layers: "sslresnet50" and "seresnet50d" are of the kind "resnet".
    """
    if match := re.match(r"(vit|deit|swin|beit|xcit|cait)(?=[a-z]?\d|[tsblhg]$)", network):
        return match[1]
    match = re.match(r"[a-z]+", network)
    letters = match[0] if match else network
    kind = re.sub(r"(?<=net)[bx-y]$|(tiny|small|base|large|xlarge|nano|pico|atto)$", "", letters)
    return _VARIANT.sub(r"\1", _ATTENTION.sub("", _RECIPE.sub("", kind)))


_RECIPE: Final = re.compile(
    r"^(gluon|ssl|swsl|legacy|ig|ensadv|adv)(?=(se)?(resne|inception|xception))"
)
_ATTENTION: Final = re.compile(
    r"^(se|eca|ese|sk|gc|nf|csp)(?=(resnet|resnext|vovnet|darknet|mnasnet|mobilenet))"
)
_VARIANT: Final = re.compile(r"^(resnet|resnext)(aa|blur|rs|v|t|d|light)$")

Convolutions = Literal["depthwise", "grouped", "dense"]


def convolutions_of(network: str) -> Convolutions | None:
    """Return how the convolutions of a network's key multiply, None for an even mixture or unknown.

    "depthwise": most layers have a filter for each channel; their time is that of moving data.
    "grouped": filters over groups of channels. "dense": full 3 x 3 convolutions have two thirds of
    the operations or more; a bottleneck of ResNet-50 has half.
    """
    return next((kind for pattern, kind in _CONVOLUTIONS if pattern.search(network)), None)


_CONVOLUTIONS: Final[tuple[tuple[re.Pattern[str], Convolutions], ...]] = (
    (re.compile(r"^efficientnete[sml]"), "dense"),
    (re.compile(
        r"mobilenet|mnas|efficientnet|shufflenet|xception|ghostnet|mixnet|fbnet|lcnet|tinynet"
        r"|hardcorenas|rexnet|nasnet|regnetz|edgenext|convmixer|mobilevit|convnext|haloneth|dw$"
    ), "depthwise"),
    (re.compile(r"resnext|regnet|resnest|^dpn|senet154|nfnet|dla\w*x|res2next|repvgg\w*g4"),
     "grouped"),
    (re.compile(
        r"vgg|darknet|vovnet|selecsls|gernet|squeezenet|alexnet|resnet(10|18|34)(?!\d)"
        r"|wideresnet|hrnet"
    ), "dense"),
)  # fmt: skip
"""Parts of keys and the kind they mean, the first that fits."""


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.casefold()).strip()


def _counts_images(row: PublishedRow) -> bool:
    return "image" in (row.throughput_unit or "").casefold() or "img/s" in (
        row.throughput_unit or ""
    )


def _benchmark(row: PublishedRow, key: str, name: str) -> NamedWorkload | str:
    facts = _BENCHMARKS.get(key)
    if facts is None:
        return _unstated(row)
    network, fact = facts
    if key == "ssd" and "resnet-34" in name:
        network, fact = "ssdresnet34", _FACTS["ssdresnet34"]
    if isinstance(fact, _Image):
        return _of_image(network, fact, fact.px)
    if isinstance(fact, _Sample):
        return _of_sample(network, fact)
    return _transformer(row, network, fact, name)


def _with_columns(row: PublishedRow, text: _Text) -> _Text:
    """Return the facts of a network, with those stated by the row."""
    if text.family != "moe":
        return text
    total = row.params if row.params and row.params > (text.active or 0.0) else text.params
    return replace(text, params=float(total), active=float(row.active_params or text.active or 0.0))


def _decoder(row: PublishedRow, name: str) -> NamedWorkload | str:
    """Return a language model by its parameters, as the row or its name states them."""
    params = float(row.params or 0.0) or _size_in(name)
    if not params:
        return Text("the parameters of {model} are not stated.", model=row.model)
    moe = row.family == "moe" or bool(re.search(r"moe|\ba\d+(\.\d+)?b\b|_a\d+b", name))
    active = float(row.active_params or 0.0)
    if moe:
        match = re.search(r"[_ -]a(\d+(?:\.\d+)?)b", name)
        active = float(match[1]) * 1e9 if match else active
        if not active or active == params:
            return Text("the active parameters of {model} are not stated.", model=row.model)
    text = _Text(family="moe" if moe else "dense", params=params, active=active or params)
    return _transformer(row, network_key(row.model or ""), text, name)


def _size_in(name: str) -> float:
    """Return parameters that a name states ("70b", "125m"), 0 where it states none."""
    words = re.sub(r"[_-]", " ", name)
    match = re.search(r"(?<![\w.])(\d+(?:\.\d+)?)[ ]?([bmt])(?![a-z0-9])", words)
    return float(match[1]) * {"m": 1e6, "b": 1e9, "t": 1e12}[match[2]] if match else 0.0


def _transformer(row: PublishedRow, network: str, text: _Text, name: str) -> NamedWorkload | str:
    """Return a transformer's operations at the sequence length of the row or the network."""
    fixed = text.sequence if benchmark_key(row) else None
    sequence = float(row.seq_len or 0.0) or fixed or _usual_length(row, text, name)
    if not sequence:
        return Text("the sequence length of {model} is not stated.", model=row.model)
    named = _drawn(row, text)
    if named and text.family == "moe":
        text = replace(text, active=named.active_params)
    active = text.active or text.params
    by_width = (named and named.layers_width) or text.layers_by_width or layers_width_of(active)
    family = _training(row, name, text.family)
    per_token = LORA_PER_PARAMETER if family == "lora" else FULL_PER_PARAMETER
    attended = sequence if row.seq_len else text.attended or sequence
    context = named.context(attended) if named else attended
    flops = per_token * active * sequence + ATTENTION * by_width * attended * context
    if text.family == "encoder-decoder":
        flops *= 0.5
    return NamedWorkload(
        family=family,
        network=network,
        train_flops_per_sample=flops,
        params=text.params,
        active_params=active,
        layers_width=by_width,
        sequence=sequence,
    )


def _drawn(row: PublishedRow, text: _Text) -> Network | None:
    """Return the named network of a row's name and size, with layers and width; None if none."""
    named = network_or_none(row.model or "")
    if named is None or named.family != text.family or named.layers_width is None:
        return None
    return named if math.isclose(named.params, text.params, rel_tol=SAME_SIZE) else None


def _training(row: PublishedRow, name: str, family: str) -> str:
    """Return the family of the training: adapters of a dense model are a separate family."""
    where = f"{name} {_plain(row.path or '')} {_plain(row.parallelism or '')}"
    return "lora" if family == "dense" and re.search(r"q?lora\b|_lora|lora_", where) else family


def _usual_length(row: PublishedRow, text: _Text, name: str) -> float:
    """Return the length if the row states none: that of its pre-training; 0 if unknown.

    For figures in tokens or FLOP/s the length has little effect; sequences of fine-tuning are
    short.
    """
    if text.family in {"encoder", "encoder-decoder"}:
        return 384.0 if "squad" in f"{name} {_plain(row.note or '')}" else 0.0
    unit = (row.throughput_unit or "").casefold()
    rate = row.tokens_per_s_per_device or row.model_tflops_per_device or row.mfu_stated
    if not (rate or "tok" in unit or "flop" in unit or "pre-training" in name):
        return 0.0
    usual = 4096.0 if text.family == "moe" else 2048.0
    named = (length for pattern, length in _CONTEXTS if re.search(pattern, name))
    return text.sequence or next(named, usual)


_CONTEXTS: Final = (
    (r"llama[ _-]?(3|4)", 8192.0),
    (r"llama|mistral|mixtral|qwen|phi-?3|gemma|deepseek", 4096.0),
)
"""Lengths that networks were pre-trained at [tokens]."""


def _of_one_size(row: PublishedRow, key: str) -> NamedWorkload | None:
    """Return a network whose samples have one size; None if it is none."""
    fact = _FACTS.get(key)
    if isinstance(fact, _Sample):
        return _of_sample(key, fact)
    return _image(row, key, fact if isinstance(fact, _Image) else None)


def _image(row: PublishedRow, key: str, image: _Image | None) -> NamedWorkload | None:
    """Return an image network by the operations the row states, else by the table.

    None if it is none.
    """
    family = (row.family or "").casefold()
    px = float(row.image_px or 0.0)
    if family in {"cnn", "vit"} and row.flops_per_sample_stated:
        stated = _stated_forward(row, image)
        kind = image.family if image else family
        return _of_image(key, _Image(family=kind, multiply_adds=stated / 2e9, px=px or 224.0),
                         px or 224.0)  # fmt: skip
    if image is None:
        return None
    if image.family in {"detection", "segmentation"}:
        px = 0.0
    return _of_image(key, image, px or image.px)


def _stated_forward(row: PublishedRow, image: _Image | None) -> float:
    stated = float(row.flops_per_sample_stated or 0.0)
    if "multiply-add" in (row.note or "") or "MACs" in (row.note or ""):
        return 2.0 * stated
    if image is None or "forward" in (row.note or ""):
        return stated
    expected = 2e9 * image.multiply_adds * (float(row.image_px or image.px) / image.px) ** 2
    meanings = (stated, 2.0 * stated, stated / TRAIN_OVER_FORWARD)
    return min(meanings, key=lambda forward: abs(math.log(forward / expected)))


def _of_sample(network: str, fact: _Sample) -> NamedWorkload:
    return NamedWorkload(
        family=fact.family,
        network=network,
        train_flops_per_sample=TRAIN_OVER_FORWARD * 2e9 * fact.multiply_adds,
        samples_per_epoch=fact.samples,
    )


def _of_image(network: str, fact: _Image, px: float) -> NamedWorkload:
    forward = 2e9 * fact.multiply_adds * (px / fact.px) ** 2
    return NamedWorkload(
        family=fact.family,
        network=network,
        train_flops_per_sample=TRAIN_OVER_FORWARD * forward,
        image_px=px,
        samples_per_epoch=fact.samples,
    )
