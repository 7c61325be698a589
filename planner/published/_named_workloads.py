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
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

import numpy as np

from planner.core import Text
from planner.published._rows import PublishedRow

TRAIN_OVER_FORWARD: Final = 3.0
"""Operations of forward and backward over those of forward alone."""
FULL_PER_PARAMETER: Final = 6.0
LORA_PER_PARAMETER: Final = 4.0
"""Training operations per parameter and token: a LoRA run has no gradients of frozen weights."""
ATTENTION: Final = 12.0
"""Training operations of attention per layer, width and position of the context, a token."""
LANGUAGE: Final = frozenset({"dense", "lora", "moe", "encoder", "encoder-decoder"})

LAYERS_BY_WIDTH: Final = (
    (125e6, 9.2e3), (350e6, 2.46e4), (1.3e9, 4.9e4), (2.7e9, 8.2e4), (7.5e9, 1.31e5),
    (13e9, 2.05e5), (30e9, 3.4e5), (70e9, 6.6e5), (175e9, 1.18e6), (405e9, 2.06e6), (1e12, 3.3e6),
)  # fmt: skip
"""Parameters of decoders and their layers times width, as their papers print them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedWorkload:
    """The workload of one row, with the fields of a described workload.

    `network` is a short key common to sources, `group` its kind of network.
    `train_flops_per_sample` counts forward and backward [FLOP]; of language models a sample is a
    sequence of `sequence` tokens. `samples_per_epoch` is the size of a named data set [samples].
    """

    family: str
    network: str
    train_flops_per_sample: float
    params: float | None = None
    active_params: float | None = None
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


IMAGENET: Final = 1_281_167.0
COCO: Final = 117_266.0
OPEN_IMAGES: Final = 1_170_301.0

_CNN: Final[Mapping[str, float]] = {
    "alexnet": 0.71, "convnexttiny": 4.46, "convnextsmall": 8.68, "convnextbase": 15.36,
    "convnextlarge": 34.36, "densenet121": 2.83, "densenet161": 7.73, "densenet169": 3.36,
    "densenet201": 4.29, "efficientnetb0": 0.39, "googlenet": 1.5, "mnasnet05": 0.10,
    "mnasnet075": 0.21, "mnasnet10": 0.31, "mnasnet13": 0.53, "mobilenetv2": 0.30,
    "mobilenetv3large": 0.22, "mobilenetv3small": 0.06, "regnety128gf": 127.5, "resnet18": 1.81,
    "resnet34": 3.66, "resnet50": 4.09, "resnet101": 7.80, "resnet152": 11.51,
    "resnext5032x4d": 4.23, "resnext10132x4d": 7.99, "resnext10132x8d": 16.41,
    "resnext10164x4d": 15.46, "seresnext10132x4d": 8.0, "shufflenetv2x05": 0.04,
    "shufflenetv2x10": 0.14, "shufflenetv2x15": 0.30, "shufflenetv2x20": 0.58, "squeezenet10": 0.82,
    "squeezenet11": 0.35, "vgg11": 7.61, "vgg13": 11.31, "vgg16": 15.47, "vgg19": 19.63,
    "vgg11bn": 7.63, "vgg13bn": 11.34, "vgg16bn": 15.51, "vgg19bn": 19.68, "wideresnet502": 11.40,
    "wideresnet1012": 22.75, "focalnetbase": 15.4,
}  # fmt: skip
"""Convolutional networks at 224 px [G multiply-adds], as torchvision 0.20 counts them."""
_LARGER: Final[Mapping[str, tuple[float, float]]] = {
    "inceptionv3": (5.71, 299.0), "xception": (8.4, 299.0), "efficientnetb1": (0.69, 240.0),
    "efficientnetb2": (1.09, 260.0), "efficientnetb3": (1.83, 300.0),
    "efficientnetb4": (4.39, 380.0), "efficientnetb5": (10.27, 456.0),
    "efficientnetb6": (19.07, 528.0), "efficientnetb7": (37.75, 600.0),
}  # fmt: skip
"""The same of networks that were designed for larger images, with their size [px]."""
_VIT: Final[Mapping[str, float]] = {
    "vitt16": 1.26, "vits16": 4.6, "vits32": 1.15, "vitb16": 17.56, "vitb32": 4.41,
    "vitl16": 61.55, "vitl32": 15.38, "vith14": 167.3, "vitl14": 81.1, "swint": 4.49,
    "swins": 8.74, "swinb": 15.43, "swinl": 34.5, "deits16": 4.6, "deitb16": 17.56,
}  # fmt: skip
_OTHERS: Final[Mapping[str, _Image]] = {
    "ssdresnet34": _Image(family="detection", multiply_adds=13.5, px=300.0, samples=COCO),
    "ssd300resnet50": _Image(family="detection", multiply_adds=17.0, px=300.0, samples=COCO),
    "retinanetresnext50": _Image(family="detection", multiply_adds=220.0, px=800.0,
                                 samples=OPEN_IMAGES),
    "maskrcnn": _Image(family="detection", multiply_adds=260.0, px=800.0, samples=COCO),
    "fasterrcnn": _Image(family="detection", multiply_adds=207.0, px=800.0, samples=COCO),
    "detr": _Image(family="detection", multiply_adds=86.0, px=800.0, samples=COCO),
    "unet3d": _Image(family="segmentation", multiply_adds=500.0, px=128.0),
    "unet2d": _Image(family="segmentation", multiply_adds=220.0, px=572.0),
    "stablediffusion": _Image(family="diffusion", multiply_adds=400.0, px=512.0),
    "sdxl": _Image(family="diffusion", multiply_adds=3000.0, px=1024.0),
}  # fmt: skip
_SPEECH: Final[Mapping[str, float]] = {
    "rnnt": 16.6, "jasper": 205.0, "quartznet": 11.6, "whispertiny": 18.5, "whispersmall": 169.0,
}  # fmt: skip
"""Multiply-adds of an utterance [G], by the layers of their papers.

RNN-T: MLPerf's, 5 LSTM layers of 1,024 units, 410 frames, of which the last three see half, and 43
word pieces. Jasper, QuartzNet: every weight once a frame of 20 ms. Whisper: its encoder, which is
all that short labels and classification cost.
"""
_RECOMMENDERS: Final[Mapping[str, float]] = {"dlrm": 2.46e-3, "dlrmdcnv2": 16e-3, "ncf": 0.1066e-3}
"""Multiply-adds of the dense layers of one sample [G]."""
_FIXED: Final[Mapping[str, _Sample]] = {
    **{name: _Sample(family="speech", multiply_adds=n) for name, n in _SPEECH.items()},
    **{name: _Sample(family="recommender", multiply_adds=n) for name, n in _RECOMMENDERS.items()},
}
_ENCODERS: Final[Mapping[str, _Text]] = {
    "bertlarge": _Text(family="encoder", params=340e6, layers_by_width=24 * 1024),
    "bertbase": _Text(family="encoder", params=110e6, layers_by_width=12 * 768),
    "distilbert": _Text(family="encoder", params=66e6, layers_by_width=6 * 768),
    "robertalarge": _Text(family="encoder", params=355e6, layers_by_width=24 * 1024),
    "robertabase": _Text(family="encoder", params=125e6, layers_by_width=12 * 768),
    "electrabase": _Text(family="encoder", params=110e6, layers_by_width=12 * 768),
    "electralarge": _Text(family="encoder", params=335e6, layers_by_width=24 * 1024),
    "albertxxlarge": _Text(family="encoder", params=12 * 12 * 4096**2, layers_by_width=12 * 4096),
}  # fmt: skip
"""ALBERT shares its weights: the weights that a token passes count."""
_DECODERS: Final[Mapping[str, _Text]] = {
    "mixtral8x7b": _Text(family="moe", params=46.7e9, active=12.9e9, layers_by_width=32 * 4096),
    "mixtral8x22b": _Text(family="moe", params=141e9, active=39e9, layers_by_width=56 * 6144),
    "deepseekv3": _Text(family="moe", params=671e9, active=37e9, layers_by_width=61 * 20480),
    "deepseekv2": _Text(family="moe", params=236e9, active=21e9, layers_by_width=60 * 20480),
    "deepseekv2lite": _Text(family="moe", params=15.7e9, active=2.4e9, layers_by_width=27 * 2560),
    "gptoss120b": _Text(family="moe", params=117e9, active=5.1e9, layers_by_width=36 * 4096),
    "gptoss20b": _Text(family="moe", params=21e9, active=3.6e9, layers_by_width=24 * 4096),
    "kimik2": _Text(family="moe", params=1.04e12, active=32e9, layers_by_width=61 * 10240),
    "qwen15moe": _Text(family="moe", params=14.3e9, active=2.7e9, layers_by_width=24 * 2048),
    "nemotron3nano": _Text(family="moe", params=31.6e9, active=3.6e9, layers_by_width=6 * 4096),
    "dbrx": _Text(family="moe", params=132e9, active=36e9, layers_by_width=40 * 6144),
    "grok1": _Text(family="moe", params=314e9, active=86e9, layers_by_width=64 * 6144),
    "phi2": _Text(family="dense", params=2.78e9, layers_by_width=32 * 2560, sequence=2048),
    "phi3mini": _Text(family="dense", params=3.8e9, layers_by_width=32 * 3072),
    "tinyllama": _Text(family="dense", params=1.1e9, layers_by_width=22 * 2048, sequence=2048),
    "gpt2": _Text(family="dense", params=124e6, layers_by_width=12 * 768, sequence=1024),
    "gpt2medium": _Text(family="dense", params=355e6, layers_by_width=24 * 1024, sequence=1024),
    "gpt2large": _Text(family="dense", params=774e6, layers_by_width=36 * 1280, sequence=1024),
    "gpt2xl": _Text(family="dense", params=1.56e9, layers_by_width=48 * 1600, sequence=1024),
    "gptj": _Text(family="dense", params=6.05e9, layers_by_width=28 * 4096, sequence=2048),
    "t5small": _Text(family="encoder-decoder", params=60e6, layers_by_width=12 * 512),
    "t5base": _Text(family="encoder-decoder", params=223e6, layers_by_width=24 * 768),
    "t5large": _Text(family="encoder-decoder", params=738e6, layers_by_width=48 * 1024),
    "t5xl": _Text(family="encoder-decoder", params=2.85e9, layers_by_width=48 * 2048),
    "t5xxl": _Text(family="encoder-decoder", params=11.3e9, layers_by_width=48 * 4096),
}  # fmt: skip
"""Heads times head width, where they differ from the width: the size of the attention."""

_BENCHMARKS: Final[Mapping[str, tuple[str, _Image | _Text | _Sample]]] = {
    "bert": ("bertlarge", _Text(family="encoder", params=340e6, layers_by_width=24 * 1024,
                                sequence=255.0, attended=330.0)),
    "resnet": ("resnet50", _Image(family="cnn", multiply_adds=4.09, samples=IMAGENET)),
    "maskrcnn": ("maskrcnn", _OTHERS["maskrcnn"]),
    "retinanet": ("retinanetresnext50", _OTHERS["retinanetresnext50"]),
    "ssd": ("retinanetresnext50", _OTHERS["retinanetresnext50"]),
    "unet3d": ("unet3d", _OTHERS["unet3d"]),
    "stable_diffusion": ("stablediffusion", replace(_OTHERS["stablediffusion"], samples=6_513_144)),
    "gpt3": ("gpt3", _Text(family="dense", params=175e9, layers_by_width=96 * 12288,
                           sequence=2048.0)),
    "llama2_70b_lora": ("llama270b", _Text(family="lora", params=69e9, layers_by_width=80 * 8192,
                                           sequence=8192.0)),
    "llama31_405b": ("llama31405b", _Text(family="dense", params=405e9,
                                          layers_by_width=126 * 16384, sequence=8192.0)),
    "llama31_8b": ("llama318b", _Text(family="dense", params=8.03e9, layers_by_width=32 * 4096,
                                      sequence=8192.0)),
    "rnnt": ("rnnt", replace(_FIXED["rnnt"], samples=281_241)),
    "dlrm": ("dlrm", _FIXED["dlrm"]),
    "dlrm_dcnv2": ("dlrmdcnv2", replace(_FIXED["dlrmdcnv2"], samples=4_195_197_692)),
}  # fmt: skip
"""MLPerf Training's benchmarks by key; BERT leaves padding out: 255 tokens in the mean.

Logs of DLRM count epochs from 0 or from 1, so only a logged throughput counts.
"""

_NAMES: Final[tuple[tuple[str, str], ...]] = (
    (r"ssd.*resnet-?34", "ssdresnet34"), (r"detection/ssd|ssd300", "ssd300resnet50"),
    (r"retinanet.*resnext", "retinanetresnext50"), (r"mask[ _-]?r-?cnn", "maskrcnn"),
    (r"faster[ _-]?r-?cnn", "fasterrcnn"), (r"\bdetr\b|detr-", "detr"),
    (r"unet[_-]?3d|3d[ -]?u-?net", "unet3d"), (r"unet_medical", "unet2d"),
    (r"sdxl|stable diffusion xl", "sdxl"), (r"stable[ _-]?diffusion", "stablediffusion"),
    (r"albert.*xxlarge", "albertxxlarge"), (r"roberta[ _-]large", "robertalarge"),
    (r"roberta[ _-]base", "robertabase"), (r"distil-?bert", "distilbert"),
    (r"electra[ _-]?large", "electralarge"), (r"electra", "electrabase"),
    (r"biobert|bert[ _-]base", "bertbase"),
    (r"bert[ _-]?large|languagemodeling/bert|^bert(_hf)?-pytorch|^bert_hf", "bertlarge"),
    (r"mixtral.*8x22b", "mixtral8x22b"), (r"mixtral.*8x7b", "mixtral8x7b"),
    (r"deepseek[ _-]?v3|deepseek-?r1", "deepseekv3"),
    (r"deepseek[ _-]?v2[ _-]?lite", "deepseekv2lite"),
    (r"deepseek[ _-]?v2", "deepseekv2"), (r"gpt[ _-]?oss[ _-]?120b", "gptoss120b"),
    (r"gpt[ _-]?oss[ _-]?20b", "gptoss20b"), (r"kimi[ _-]?k2", "kimik2"),
    (r"qwen1\.5[ _-]?moe", "qwen15moe"), (r"nemotron[ _-]?(v?3)[ _-]?nano", "nemotron3nano"),
    (r"dbrx", "dbrx"), (r"grok-?1\b", "grok1"), (r"phi-?2\b", "phi2"), (r"phi-?3-mini", "phi3mini"),
    (r"tiny-?llama", "tinyllama"), (r"gpt-?2[ _-]?xl", "gpt2xl"),
    (r"gpt-?2[ _-]large", "gpt2large"),
    (r"gpt-?2[ _-]medium", "gpt2medium"), (r"gpt-?2(-pytorch)?$|gpt-?2 (small|124m)", "gpt2"),
    (r"gpt-?j\b", "gptj"),
    (r"t5.*xxl", "t5xxl"), (r"t5.*\bxl\b", "t5xl"), (r"t5.*large", "t5large"),
    (r"t5.*base", "t5base"), (r"t5.*small", "t5small"),
    (r"speechrecognition/jasper", "jasper"), (r"speechrecognition/quartznet", "quartznet"),
    (r"^whisper$", "whispertiny"), (r"whisper_small", "whispersmall"),
    (r"recommendation/dlrm|^dlrm-pytorch", "dlrm"), (r"recommendation/ncf", "ncf"),
)  # fmt: skip
"""How published tables write networks that have several spellings, the more exact ones first."""


def workload_of(row: PublishedRow) -> NamedWorkload | str:
    """Return the workload of a row, or why its operations per sample are unknown, as a sentence."""
    name = _plain(row.model or "")
    if key := benchmark_key(row):
        return _benchmark(row, key, name)
    network = _spelling(name)
    text = _ENCODERS.get(network or "") or _DECODERS.get(network or "")
    if text is not None and not _counts_images(row):
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
    return Text("the operations of a sample of {model} are not stated.", model=row.model)


@lru_cache(maxsize=4_096)
def _spelling(name: str) -> str | None:
    return next((key for pattern, key in _NAMES if re.search(pattern, name)), None)


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
        return Text("the operations of a sample of {model} are not stated.", model=row.model)
    network, fact = facts
    if key == "ssd" and "resnet-34" in name:
        network, fact = "ssdresnet34", _OTHERS["ssdresnet34"]
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
    active = text.active or text.params
    by_width = text.layers_by_width or layers_by_width(active)
    family = _training(row, name, text.family)
    per_token = LORA_PER_PARAMETER if family == "lora" else FULL_PER_PARAMETER
    attended = text.attended or sequence
    if row.seq_len and text.attended:
        attended = sequence
    flops = per_token * active * sequence + ATTENTION * by_width * attended**2
    if text.family == "encoder-decoder":
        flops *= 0.5
    return NamedWorkload(
        family=family,
        network=network,
        train_flops_per_sample=flops,
        params=text.params,
        active_params=active,
        sequence=sequence,
    )


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


def layers_by_width(params: float) -> float:
    """Return layers times width of a decoder by its parameters, log-log interpolated."""
    sizes, widths = (np.log(column) for column in zip(*LAYERS_BY_WIDTH, strict=True))
    at = math.log(params)
    if at > sizes[-1] or at < sizes[0]:
        first, last = (-2, -1) if at > sizes[-1] else (0, 1)
        slope = (widths[last] - widths[first]) / (sizes[last] - sizes[first])
        return float(math.exp(widths[last] + slope * (at - sizes[last])))
    return float(math.exp(np.interp(at, sizes, widths)))


def _of_one_size(row: PublishedRow, key: str) -> NamedWorkload | None:
    """Return a network whose samples have one size; None if it is none."""
    return _of_sample(key, _FIXED[key]) if key in _FIXED else _image(row, key)


def _image(row: PublishedRow, key: str) -> NamedWorkload | None:
    """Return an image network by the operations the row states, else by the table.

    None if it is none.
    """
    family = (row.family or "").casefold()
    image = _OTHERS.get(key) or _known_image(key)
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


def _known_image(key: str) -> _Image | None:
    if key in _CNN:
        return _Image(family="cnn", multiply_adds=_CNN[key])
    if key in _VIT:
        return _Image(family="vit", multiply_adds=_VIT[key])
    if key in _LARGER:
        multiply_adds, px = _LARGER[key]
        return _Image(family="cnn", multiply_adds=multiply_adds, px=px)
    return None


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
