"""Sources of the public measurements of the back-test.

The data are not part of this project; this table states their origin and licence.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from backtest.questions import batch, convergence, described, devices, epochs, regret, unmeasured
from backtest.questions.figure import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicData:
    """A public data set: `folder` is its name in the folder of data sets.

    `data_sets` are its names in the accuracy table (none if it only helps), `questions` the
    questions that it answers.
    """

    folder: str
    title: str
    origin: str
    licence: str
    holds: str
    data_sets: tuple[str, ...]
    questions: tuple[str, ...]


PUBLIC_DATA: Final = (
    PublicData(folder="koshian2_tpu_benchmark", title="TPU-Benchmark (koshian2, 2018)",
        origin="github.com/koshian2/TPU-Benchmark at 8fed7dc7: raw results and summary table",
        licence="MIT",
        holds="every epoch of 60 runs of 20 epochs: a 103M WideResNet on Colab's GPU and TPU; "
        "which devices these were is an assumption",
        data_sets=("Colab TPU", "Colab GPU", "Colab TPU and GPU"),
        questions=(batch.QUESTION, epochs.QUESTION)),
    PublicData(folder="pollux_sia_traces", title="Traces of Pollux (OSDI 2021) and Sia (SOSP 2023)",
        origin="github.com/siasosp23/artifacts at aaf7a0de; its T4 tables are those of "
        "petuum/adaptdl, branch osdi21-artifact",
        licence="none with the traces (adaptdl itself is Apache-2.0): evaluation only",
        holds="measured step times by placement and batch on five clusters; steps to a target by "
        "batch",
        data_sets=(
            "Sia Quadro, one node",
            "Pollux T4, 1 device",
            "Pollux T4, several",
            "Sia, 1 device",
            "Sia, several (check)",
            "Pollux T4, 4 a node",
            "Sia RTX 2080 Ti, 8 a node",
            "Sia A100, 8 a node",
            "Sia A100 extended, 8 a node",
            "bert",
            "cifar10",
            "ncf",
            "yolov3",
        ),
        questions=(described.QUESTION, batch.QUESTION, devices.QUESTION, regret.QUESTION)),
    PublicData(folder="gavel_throughputs", title="Throughputs of Gavel (OSDI 2020)",
        origin="github.com/stanford-futuredata/gavel at c4fa4009: simulation throughputs",
        licence="MIT",
        holds="steps a second of five models on K80, P100 and V100; noisy, partly odd",
        data_sets=("Gavel, 1 device",), questions=(batch.QUESTION,)),
    PublicData(folder="nvidia_dle_tables", title="NVIDIA DeepLearningExamples, README tables",
        origin="github.com/NVIDIA/DeepLearningExamples at 729963dd: tables under headings that "
        "name training, read by a parser",
        licence="by model directory: Apache-2.0, BSD-3 or MIT",
        holds="training throughputs by model, card, precision and batch",
        data_sets=("NVIDIA tables (check)",), questions=(batch.QUESTION,)),
    PublicData(folder="elasticflow_a100", title="ElasticFlow (ASPLOS 2023), A100 tables",
        origin="github.com/pkusys/ElasticFlow at 04a0109a: throughputs of the scheduler",
        licence="Apache-2.0",
        holds="strong scaling of five models on 1 to 64 A100 at a fixed global batch",
        data_sets=("ElasticFlow A100",), questions=(described.QUESTION, devices.QUESTION)),
    PublicData(folder="dlperf_v100", title="DLPerf (OneFlow)",
        origin="github.com/Oneflow-Inc/DLPerf at c89430ba: the tables of every framework's README",
        licence="Apache-2.0", holds="six models in nine frameworks on 1 to 32 V100 of one cluster",
        data_sets=("DLPerf V100",), questions=(described.QUESTION, devices.QUESTION)),
    PublicData(folder="tensorflow_benchmarks_2017", title="TensorFlow benchmarks (May 2017)",
        origin="github.com/tensorflow/tensorflow at 5984ffef: performance/benchmarks.md, copied "
        "out by hand",
        licence="Apache-2.0",
        holds="images a second of three networks on 1 to 8 GPUs of three platforms, 1 to 64 "
        "distributed",
        data_sets=("TensorFlow 2017, P100", "TensorFlow 2017, K80", "TensorFlow 2017"),
        questions=(described.QUESTION, devices.QUESTION)),
    PublicData(folder="dawnbench_train", title="DAWNBench training entries",
        origin="github.com/stanford-futuredata/dawn-bench-entries at fb27b827: ImageNet and "
        "CIFAR-10 entries",
        licence="none stated (public results): evaluation only",
        holds="hours after every epoch of 43 submissions of 14 to 400 epochs",
        data_sets=("DAWNBench, steady in hindsight", "DAWNBench, changing later on"),
        questions=(epochs.QUESTION,)),
    PublicData(folder="shallue_digitised", title="Shallue et al. 2019, figure 1",
        origin="figure 1 in a copy of google-research/batch_science (a4c995f9), digitised from the "
        "picture: 2 to 3 % systematic error",
        licence="Apache-2.0", holds="steps to target by batch size of five workloads",
        data_sets=("Shallue (digitised)",), questions=(convergence.QUESTION,)),
    PublicData(folder="critical_batch_size_lm",
        title="Zhang et al. 2024, critical batch size of language models",
        origin="github.com/hlzhang109/critical-batch-size at c5b509d8: printed results of its "
        "notebook",
        licence="MIT", holds="steps to a fixed C4 loss by batch size, 85M to 1.2B parameters",
        data_sets=("C4 language models",), questions=(convergence.QUESTION,)),
    PublicData(folder="mlperf_rcp", title="MLPerf reference convergence points",
        origin="github.com/mlcommons/logging at 7bbf7926: reference convergence points of the "
        "checker",
        licence="Apache-2.0 (MLPerf is a trademark of MLCommons; derived numbers are unverified)",
        holds="samples to target by global batch size over many seeds",
        data_sets=("MLPerf reference points",), questions=(convergence.QUESTION,)),
    PublicData(folder="lambda_pytorch_benchmark", title="Lambda's PyTorch benchmark",
        origin="github.com/lambdal/deeplearning-benchmark at aa5addb6: tables of training "
        "throughput",
        licence="none stated: evaluation only",
        holds="throughput of six networks in two precisions on twelve kinds of card",
        data_sets=("Lambda v1",), questions=(described.QUESTION, unmeasured.QUESTION)),
    PublicData(folder="accelerator_hardware", title="Data on machine learning hardware (Epoch AI)",
        origin="Epoch AI, as kept in github.com/talmolab/lablink-paper-figures at a2616ddc",
        licence="CC BY 4.0, credit Epoch AI",
        holds="peak operations, bandwidth and memory of 169 chips", data_sets=(),
        questions=(unmeasured.QUESTION,)),
)  # fmt: skip
"""In the order of the back-test's questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The folder, as a page names it, and what it lacks.

    `missing` are public data sets without a figure. `result_sets` is True if result sets were
    read. `skipped` counts rows, files and questions that could not be used.
    """

    folder: str
    missing: tuple[str, ...] = ()
    result_sets: bool = False
    skipped: int = 0

    @property
    def whole(self) -> bool:
        """Whether all public data sets and nothing else were read, as for the shipped pages."""
        return not self.missing and not self.result_sets and not self.skipped

    @property
    def public(self) -> bool:
        """Whether any public data set was read."""
        return len(self.missing) < len(_public_names())


def origin_of(
    folder: str, rows: Iterable[Row], result_sets: Collection[str], skipped: int = 0
) -> Origin:
    """Return the origin of rows; `result_sets` are titles of result sets among the data sets."""
    present = {row.data_set for row in rows} - set(result_sets)
    missing = tuple(name for name in _public_names() if name not in present)
    return Origin(folder=folder, missing=missing, result_sets=bool(result_sets), skipped=skipped)


def _public_names() -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for source in PUBLIC_DATA for name in source.data_sets))
