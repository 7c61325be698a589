"""The benchmarks of MLPerf's reference convergence points.

A reference point is a batch size, a recipe and a list with one number per seed. The unit depends on
the benchmark, although nearly every list is called "Epochs to converge". This table states the
unit, model, data set and target. Sources:

    unit                 the size of the numbers, and the package's own reader of training logs
    optimiser            the recipe of the point, else the package's rules for closed submissions
    target               the package's rules for closed submissions
    data set             mlcommons.org/benchmarks/training, table of benchmarks
    samples (ImageNet)   ILSVRC 2012, training images
    samples (COCO)       COCO 2017, training images with at least one box
    samples (OpenImages) as logged by MLPerf submissions of this benchmark (batch x steps an epoch)
    samples (KiTS19, CAM5)  the package's rules for closed submissions (`train_samples`)
    samples (Criteo)     rows of days 0 to 22, as the reference implementation counts them

Where these sources do not state an epoch's samples, or the unit is uncertain, `left_out` says why
the points are not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Unit = Literal["epochs", "samples", "tokens", "steps"]
Round = tuple[int, int]
"""A round of submissions: (4, 1) is 4.1."""
UNKNOWN_EPOCH: Final = "stated in epochs, and the samples of an epoch are unknown"
_COCO: Final = 117_266
_CRITEO: Final = 4_195_197_692


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One benchmark of a suite ("training" or "hpc"), with its names in the files.

    `names` hold from round `first` to round `last`. `per_unit` is the samples in one unit, None for
    steps (the batch) and where unknown. `left_out` is the reason why its points are not used, empty
    where they are.
    """

    key: str
    names: tuple[str, ...]
    model: str
    dataset: str | None
    optimizer: str | None
    target: str
    unit: Unit
    per_unit: float | None = None
    suite: str = "training"
    first: Round = (0, 0)
    last: Round = (99, 0)
    left_out: str = ""

    @property
    def trained(self) -> str:
        """Model and data set in words."""
        return " on ".join(p for p in (self.model, self.dataset) if p)


def benchmark_of(suite: str, name: str, when: Round) -> Benchmark | None:
    """Return the benchmark called `name` in the files of a round; None if unknown."""
    matches = (b for b in BENCHMARKS if b.suite == suite and name in b.names)
    return next((b for b in matches if b.first <= when <= b.last), None)


BENCHMARKS: Final = (
    Benchmark(
        key="resnet", names=("resnet",), model="ResNet-50", dataset="ImageNet", optimizer="LARS",
        target="75.9 % top-1 accuracy", unit="epochs", per_unit=1_281_167,
    ),
    Benchmark(
        key="bert", names=("bert",), model="BERT-large", dataset="Wikipedia", optimizer="LAMB",
        target="72 % masked-word accuracy", unit="samples", per_unit=1,
    ),
    Benchmark(
        key="retinanet", names=("ssd", "retinanet"), first=(2, 0), model="RetinaNet",
        dataset="OpenImages", optimizer="Adam", target="34 % mean average precision",
        unit="epochs", per_unit=1_170_301,
    ),
    Benchmark(
        key="ssd", names=("ssd",), last=(1, 1), model="SSD-ResNet-34", dataset="COCO",
        optimizer=None, target="23 % mean average precision", unit="epochs", per_unit=_COCO,
    ),
    Benchmark(
        key="maskrcnn", names=("maskrcnn",), model="Mask R-CNN", dataset="COCO", optimizer=None,
        target="37.7 % box and 33.9 % mask average precision", unit="epochs", per_unit=_COCO,
    ),
    Benchmark(
        key="unet3d", names=("unet3d",), last=(3, 0), model="3D U-Net", dataset="KiTS19",
        optimizer="SGD", target="90.8 % mean Dice score", unit="epochs", per_unit=168,
    ),
    Benchmark(
        key="unet3d", names=("unet3d",), first=(3, 1), model="3D U-Net", dataset="KiTS19",
        optimizer="SGD", target="90.8 % mean Dice score", unit="samples", per_unit=1,
    ),
    Benchmark(
        key="dlrm_dcnv2", names=("dlrm_dcnv2",), model="DLRM-DCNv2", dataset="Criteo multi-hot",
        optimizer="Adagrad", target="80.275 % area under the curve", unit="epochs",
        per_unit=_CRITEO,
    ),
    Benchmark(
        key="dlrm", names=("dlrm",), model="DLRM", dataset="Criteo", optimizer=None,
        target="80.25 % area under the curve", unit="epochs",
        left_out="stated as 1.7 to 2 epochs, while the recipes' learning rates end after about "
        "one: the count may begin at 1",
    ),
    Benchmark(
        key="dlrmv4", names=("dlrmv4",), model="DLRMv4", dataset=None, optimizer="Adam",
        target="75 % accuracy", unit="samples", per_unit=1,
    ),
    Benchmark(
        key="gpt3", names=("gpt3",), model="GPT-3 175B", dataset="C4", optimizer="Adam",
        target="log perplexity 2.69", unit="tokens", per_unit=1 / 2048,
    ),
    Benchmark(
        key="llama31_405b", names=("llama31_405b",), model="Llama 3.1 405B", dataset="C4",
        optimizer="AdamW", target="log perplexity 5.6", unit="samples", per_unit=1,
    ),
    Benchmark(
        key="llama31_8b", names=("llama31_8b",), model="Llama 3.1 8B", dataset="C4",
        optimizer="AdamW", target="log perplexity 3.3", unit="samples", per_unit=1,
    ),
    Benchmark(
        key="llama2_70b_lora", names=("llama2_70b_lora",), model="Llama 2 70B LoRA",
        dataset="GovReport", optimizer=None, target="loss 0.925", unit="samples", per_unit=1,
    ),
    Benchmark(
        key="gpt_oss_20b", names=("gpt_oss_20b",), model="gpt-oss 20B", dataset=None,
        optimizer="AdamW", target="loss 3.34", unit="samples", per_unit=1,
    ),
    Benchmark(
        key="deepseekv3_671b", names=("deepseekv3_671b",), model="DeepSeek-V3 671B", dataset=None,
        optimizer="AdamW", target="loss 3.6", unit="samples", per_unit=1,
    ),
    Benchmark(
        key="qwen35_397b_grpo", names=("qwen35_397b_grpo",), model="Qwen3.5 397B GRPO",
        dataset=None, optimizer="AdamW", target="69 % accuracy", unit="samples", per_unit=1,
    ),
    Benchmark(
        key="flux1", names=("flux1",), model="FLUX.1", dataset=None, optimizer="AdamW",
        target="loss 0.586", unit="samples", per_unit=1,
    ),
    Benchmark(
        key="stable_diffusion", names=("sd",), last=(3, 1), model="Stable Diffusion v2",
        dataset="LAION-400M", optimizer="AdamW", target="FID 90 and CLIP 0.15", unit="steps",
    ),
    Benchmark(
        key="stable_diffusion", names=("stable_diffusion",), model="Stable Diffusion v2",
        dataset="LAION-400M", optimizer="AdamW", target="FID 90 and CLIP 0.15", unit="samples",
        per_unit=1,
    ),
    Benchmark(
        key="rgat", names=("gnn", "rgat"), model="R-GAT", dataset="IGBH-Full", optimizer="Adam",
        target="72 % accuracy", unit="epochs", left_out=UNKNOWN_EPOCH,
    ),
    Benchmark(
        key="rnnt", names=("rnnt",), model="RNN-T", dataset="LibriSpeech", optimizer="LAMB",
        target="5.8 % word error rate", unit="epochs", left_out=UNKNOWN_EPOCH,
    ),
    Benchmark(
        key="cosmoflow", names=("cosmoflow",), suite="hpc", model="CosmoFlow",
        dataset="CosmoUniverse", optimizer="SGD", target="mean absolute error 0.124",
        unit="epochs", left_out=UNKNOWN_EPOCH,
    ),
    Benchmark(
        key="deepcam", names=("deepcam",), suite="hpc", model="DeepCAM", dataset="CAM5",
        optimizer="LAMB", target="82 % intersection over union", unit="epochs",
        per_unit=121_266,
    ),
    Benchmark(
        key="oc20", names=("oc20",), suite="hpc", model="DimeNet++", dataset="Open Catalyst 2020",
        optimizer="AdamW", target="mean absolute error 0.036", unit="epochs",
        left_out=UNKNOWN_EPOCH,
    ),
    Benchmark(
        key="openfold", names=("openfold",), suite="hpc", model="OpenFold",
        dataset="OpenProteinSet", optimizer="Adam",
        target="80 % local distance difference (Cα)", unit="samples", per_unit=1,
    ),
)  # fmt: skip
"""Every benchmark that has reference points, in the order they are offered."""
