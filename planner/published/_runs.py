"""Run records made from published rows: the shipped library.

`run_records` turns the rows of one table into rows of the run table (`planner.runs._schema`). A row
becomes a run if its accelerator is in the catalogue, their count is stated, and it has a speed in
samples/s (or one follows) or a time to a target. Others are left out with a reason. Equal
configurations of successive releases are one run, the newest. A run with an impossible speed, above
the peak or far below that of any training, is kept with the reason in `suspect_reason`.

    samples/s    as stated; tokens/s over the sequence length; batch over step time
    batch        as stated, or the samples of one device times their count
    precision    the number format of the multiplications, None where not stated
    nodes        as stated, else servers of the usual size (`node_size`)

Samples of language models are sequences. Quality targets are those of MLPerf's training rules
(github.com/mlcommons/training_policies, training_rules.adoc) of the round a row was submitted to;
of a target with two parts (boxes and masks, FID and CLIP) the first.

Reasons: docs/decisions/0032-published-library.md.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from planner.catalog import Accelerator, Catalog
from planner.core import HOUR_S, Text, plural, shipped_rows, texts_in
from planner.networks import Network, network_or_none, states_no_size
from planner.published._named_workloads import (
    LANGUAGE,
    NamedWorkload,
    benchmark_key,
    workload_of,
)
from planner.published._rows import PublishedRow, accelerators_of
from planner.published.configurations import (
    as_question,
    benchmark_speed,
    format_of,
    global_batch_of,
    implausible,
    node_size,
    samples_to_target,
    speed_by_step,
    speed_by_tokens,
    speed_by_unit,
)
from planner.runs import run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedBenchmark:
    """A benchmark as a buyer would search it, and the metric whose target ends a run.

    `train_samples` [samples] is None where the benchmark counts no epochs or its size is not
    stated.
    """

    name: str
    family: str
    metric: str
    target: float
    dataset: str | None = None
    higher_is_better: bool = False
    train_samples: int | None = None


def benchmark_of(row: PublishedRow) -> PublishedBenchmark | None:
    """Return the benchmark of a row of MLPerf Training; None for other rows and unknown keys."""
    key = benchmark_key(row)
    if key == "ssd" and "ResNet-34" in (row.model or ""):
        return _SSD_RESNET34
    benchmark = _BENCHMARKS.get(key)
    if benchmark is not None and key == "bert" and (row.published or "") < _NEW_BERT:
        return replace(benchmark, target=0.712)
    return benchmark


_NEW_BERT: Final = "2021-01"
"""From round 1.0 on BERT begins elsewhere and has the target 0.72."""
_SSD_RESNET34: Final = PublishedBenchmark(
    name="SSD ResNet-34", dataset="COCO 2017", family="detection",
    metric="mean average precision", target=0.23, higher_is_better=True, train_samples=117_266,
)  # fmt: skip
_BENCHMARKS: Final = {
    key: PublishedBenchmark(**row)
    for row in shipped_rows(
        __package__, "benchmarks.csv", keys=texts_in, target=float, higher_is_better=json.loads,
        train_samples=int,
    )
    for key in row.pop("keys")
}  # fmt: skip


RunRow = dict[str, Any]

DIGITS: Final = 6
"""Significant digits of a computed number: no table prints more."""
GB: Final = 1e9
_PRECISIONS: Final = MappingProxyType({
    "float16": "mixed_float16", "bfloat16": "mixed_bfloat16", "float32": "float32",
    "tensorfloat32": "tensorfloat32", "float8": "float8", "float4": "float4",
})  # fmt: skip
LONGEST_STEP_S: Final = 7200.0
"""Longest step of a true run; the longest shipped one accumulates gradients for 56 minutes."""
_KINDS: Final = MappingProxyType({
    "decoder": "dense", "recsys": "recommender", "gnn": "graph",
})  # fmt: skip
"""Families as tables write them, where the product has another word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecords:
    """Runs of one table, and its other rows.

    `left_out` counts excluded rows by reason, `earlier` are the rows replaced by a newer release,
    `suspect` the runs with a `suspect_reason`.
    """

    rows: list[RunRow]
    left_out: Counter[str]
    earlier: int

    @property
    def suspect(self) -> int:
        """How many runs have a figure that cannot be true."""
        return sum("suspect_reason" in row for row in self.rows)


def run_records(
    rows: Sequence[PublishedRow], catalog: Catalog, result_set: str, recorded_at: datetime
) -> RunRecords:
    """Return the runs of one table.

    Args:
        rows: as `planner.published.rows_of` returns them.
        catalog: whose accelerators and peaks count.
        result_set: slug of the result set the runs belong to.
        recorded_at: when the table was read.
    """
    same = {"result_set": result_set, "recorded_at": recorded_at}
    left_out: Counter[str] = Counter()
    made: list[tuple[PublishedRow, RunRow]] = []
    for row, accelerator in zip(rows, accelerators_of(rows, catalog), strict=True):
        record = _run(row, accelerator)
        if isinstance(record, str):
            left_out[record] += 1
        else:
            made.append((row, record | same))
    kept = _newest(made)
    return RunRecords(rows=_numbered(kept), left_out=left_out, earlier=len(made) - len(kept))


def _run(row: PublishedRow, accelerator: Accelerator | None) -> RunRow | str:
    if accelerator is None:
        return "the accelerator is not in the catalogue"
    if why := _unclear(row, accelerator):
        return why
    benchmark = benchmark_of(row)
    work = workload_of(row)
    speed = _speed(row, work, row.n_accelerators or 1)
    target_s = row.time_to_train_h * HOUR_S if row.time_to_train_h and _ends(row) else None
    if speed is None and target_s is None:
        return "it states no speed in samples and no time to a target"
    record = (
        _workload(row, work, benchmark)
        | _system(row, accelerator)
        | _layout(row)
        | _figures(row, speed, target_s)
        | _quality(row, work, benchmark)
        | _origin(row)
    )
    if why := _suspect(row, work, accelerator, record):
        record["suspect_reason"] = why
    return {name: value for name, value in record.items() if value is not None}


def _unclear(row: PublishedRow, accelerator: Accelerator) -> str:
    """Return why a row is not a training run on these accelerators; "" where it is."""
    words = f"{row.note or ''} {row.throughput_unit or ''}".casefold()
    reasons = {
        "it was measured on processors alone": accelerator.kind == "cpu"
        or "CPU only" in (row.accelerator or ""),
        "the accelerator count is not stated": not row.n_accelerators,
        "it is no training": "evaluation performance" in words or "inference" in words,
        "the size of the network is not stated": (row.model or "").endswith("efficientnet_v1"),
        "its sequence length contradicts its phase": "Ph2" in (row.model or "")
        and row.seq_len == 128,
        "the benchmark is not described": bool(benchmark_key(row)) and benchmark_of(row) is None,
        "its open submission trained a larger network": bool(_LARGER.search(row.path or "")),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


_LARGER: Final = re.compile(r"^Google/results/tpu-v4-(2048-JAX|4096-TF)/bert")
"""BERT's open division of round 1.1: encoders of 200 and 480 billion parameters.

cloud.google.com/blog/topics/tpus/google-showcases-cloud-tpu-v4-pods-for-large-model-training
"""


def _ends(row: PublishedRow) -> bool:
    """Return whether the stated time ends at a goal: short tests of an installation do not."""
    return "habana_ci" not in (row.source_id or "")


# -- workload ------------------------------------------------------------------------------------


def _workload(
    row: PublishedRow, work: NamedWorkload | str, benchmark: PublishedBenchmark | None
) -> RunRow:
    named_work = work if isinstance(work, NamedWorkload) else None
    named = _network(row)
    facts: RunRow = {
        "model": _name(row),
        "variant": _variant(row),
        "dataset": _dataset(row),
        "family": named_work.family if named_work else _family(row),
        "precision": _PRECISIONS.get(format_of(row.precision or row.model or "")),
        "sequence_length": row.seq_len,
        "image_px": row.image_px,
        "params": row.params,
        "active_params": row.active_params if row.active_params != row.params else None,
        "train_flops_per_sample": named_work.train_flops_per_sample if named_work else None,
        "train_flops_method": "planner.published.named_workloads" if named_work else None,
    }
    if named_work and named_work.family == "lora":
        facts["family"] = "dense"
    if named is not None:
        facts["params"] = facts["params"] or round(named.params)
        facts["family"] = named.family if facts["family"] == "other" else facts["family"]
    if facts["family"] == "moe" and facts["active_params"] is None:
        counts = (named and named.active_params, named_work and named_work.active_params)
        facts["active_params"] = next((round(count) for count in counts if count), None)
    if benchmark is not None:
        facts |= {
            "model": benchmark.name, "variant": "MLPerf", "dataset": benchmark.dataset,
            "family": benchmark.family, "precision": None, "sequence_length": None,
            "image_px": None, "train_samples": benchmark.train_samples,
        }  # fmt: skip
    elif facts["dataset"] == "ImageNet":
        facts["train_samples"] = 1_281_167
    return facts


def _family(row: PublishedRow) -> str:
    family = (row.family or "other").casefold()
    return _KINDS.get(family, family)


def _name(row: PublishedRow) -> str:
    """Return the network as the table of named networks writes it, else as the source does."""
    network = None if (clear := _clear_name(row.model or "")) else _network(row)
    return clear or (_plain_name(row) if network is None else network.name)


def _network(row: PublishedRow) -> Network | None:
    """Return the named network of a row.

    None where its name is that of networks of several sizes.
    """
    name = _clear_name(row.model or "") or _plain_name(row)
    if states_no_size(name) and not benchmark_key(row):
        return None
    return network_or_none(name)


@lru_cache(maxsize=4_096)
def _clear_name(text: str) -> str:
    """Return the name of a network that its source writes otherwise; "" where it does not."""
    return next((n for pattern, n in _NAMES if re.search(pattern, text, re.IGNORECASE)), "")


_NAMES: Final = (
    (r"Detection/SSD", "SSD300 ResNet-50"),
    (r"LanguageModeling/BERT/biobert", "BioBERT base"),
    (r"BERT-Large Ph[12]|LanguageModeling/BERT|^bert(_hf)?(-pytorch)?$", "BERT large"),
    (r"^whisper$", "Whisper tiny encoder"),
    (r"^dlrm-pytorch$", "DLRM"),
    (r"nnUNet \[Dimension=2", "nnU-Net 2-D"),
    (r"nnUNet \[Dimension=3", "nnU-Net 3-D"),
    (r"Recommendation/DLRM \[Model size=(small|large)", "DLRM"),
    (r"SpeechRecognition/QuartzNet", "QuartzNet"),
    (r"SpeechRecognition/wav2vec2", "wav2vec 2.0"),
    (r"SpeechSynthesis/FastPitch", "FastPitch"),
    (r"SpeechSynthesis/HiFiGAN", "HiFi-GAN"),
    (r"Forecasting/TFT", "Temporal Fusion Transformer"),
    (r"DinoV2-giant|dinov2-giant", "DINOv2 ViT-g/14"),
)
"""Names that differ from those of their network.

milabench's `whisper` classifies sound with the encoder of Whisper tiny (its
benchmarks/huggingface/bench/models.py).
"""


def _plain_name(row: PublishedRow) -> str:
    """Return the name without folders and brackets; a bracket that names the model is the name."""
    text = re.sub(r"\s*\(MLPerf \w+\)", "", row.model or "")
    if match := re.search(r"\[Model=([\w.-]+)", text):
        return match[1]
    bare = re.sub(r"\s*\[[^\]]*\]", "", text)
    if "DeepLearningExamples" in (row.repo_or_page or ""):
        bare = bare.rsplit("/", 1)[-1]
    return bare.strip() or text


def _variant(row: PublishedRow) -> str | None:
    """Return the differences between jobs of one network: adapters, training, a variant."""
    words = f"{row.model} {row.path or ''} {row.note or ''}".casefold()
    parts = []
    if re.search(r"\bqlora|_qlora", words):
        parts.append("QLoRA")
    elif re.search(r"\blora\b|_lora|lora_", words):
        parts.append("LoRA")
    elif re.search(r"\bsft\b", words):
        parts.append("fine-tuning")
    elif re.search(r"pre-training", words) and "DeepLearningExamples" in (row.repo_or_page or ""):
        parts.append("pre-training")
    elif re.search(r"fine-tun", words):
        parts.append("fine-tuning")
    match = re.search(r"\[(?:Model size|Dataset|XLA|Optimizer)=([\w.-]+)", row.model or "")
    parts += [match[1]] if match else []
    if "milabench" in (row.repo_or_page or "") and (row.model or "").endswith("-noio"):
        parts.append("without data loading")
    return " ".join(parts) or None


def _dataset(row: PublishedRow) -> str | None:
    where = f"{row.model or ''} {row.note or ''}"
    return next((name for pattern, name in _DATASETS if re.search(pattern, where)), None)


_DATASETS: Final = (
    (r"SQuAD", "SQuAD 1.1"),
    (r"Classification/", "ImageNet"),
    (r"ImageNet", "ImageNet"),
    (r"Detection/|Segmentation/MaskRCNN|COCO", "COCO 2017"),
    (r"SpeechRecognition/", "LibriSpeech"),
    (r"SpeechSynthesis/", "LJSpeech"),
    (r"Recommendation/DLRM", "Criteo 1TB"),
    (r"Recommendation/NCF", "MovieLens 20M"),
    (r"Recommendation/WideAndDeep", "Outbrain"),
    (r"Segmentation/UNet_Industrial", "DAGM 2007"),
    (r"LanguageModeling/Transformer-XL", "WikiText-103"),
    (r"speedrun to FineWeb", "FineWeb"),
)
"""Data sets that a row, or the folder of its example, states."""


# -- where it ran --------------------------------------------------------------------------------


def _system(row: PublishedRow, accelerator: Accelerator) -> RunRow:
    devices = row.n_accelerators or 1
    size = node_size(accelerator)
    nodes = row.nodes
    if nodes is None and devices > size and devices % size == 0:
        nodes = devices // size
    if nodes is None or devices % nodes:
        nodes = 1
    return {
        "system_name": accelerator.name,
        "device_kind": accelerator.kind,
        "accelerator_model_name": accelerator.name,
        "accelerators_per_node": devices // nodes,
        "number_of_nodes": nodes,
        "accelerator_memory_bytes": round(accelerator.memory_bytes or 0.0) or None,
    }


def _layout(row: PublishedRow) -> RunRow:
    """Return framework, batch and parallelism; for MLPerf only the parts common to all rounds."""
    devices, text = row.n_accelerators or 1, (row.parallelism or "").casefold()
    batch = row.global_batch or _whole(global_batch_of(row, devices))
    if benchmark_key(row):
        match = re.search(r"v(\d+\.\d+)", row.repo_or_page or "")
        return {
            "mode": "training",
            "framework": "MLPerf",
            "framework_version": match[1] if match else None,
            "global_batch_size": row.global_batch,
        }
    return {
        "mode": "training",
        "framework": row.framework,
        "optimizer": None,
        "global_batch_size": batch,
        "micro_batch_size": row.micro_batch,
        "tensor_parallel": _split(text, "tp"),
        "pipeline_parallel": _split(text, "pp"),
        "data_parallel": _split(text, "dp"),
        "expert_parallel": _split(text, "ep"),
        "activation_recomputation": row.recomputes,
    }


def _split(text: str, name: str) -> int | None:
    match = re.search(rf"(?<![a-z]){name}\s*=?\s*(\d+)", text)
    return int(match[1]) if match and int(match[1]) else None


def _whole(number: float | None) -> int | None:
    return round(number) if number and round(number) >= 1 else None


# -- the figures ---------------------------------------------------------------------------------


def _speed(row: PublishedRow, work: NamedWorkload | str, devices: int) -> float | None:
    """Return the measured speed of all devices together [samples/s]; None where none is stated."""
    key = benchmark_key(row)
    if key == "minigo":
        return None
    if key and isinstance(work, NamedWorkload):
        speed = benchmark_speed(row, work, key)
        return None if isinstance(speed, str) else speed
    if key or isinstance(work, str):
        return row.samples_per_s_total or speed_by_step(row, devices) or _items(row)
    speeds = (
        speed_by_tokens(row, work, devices) if row.seq_len else None,
        row.samples_per_s_total,
        speed_by_unit(row, work, devices) if row.seq_len or work.family not in LANGUAGE else None,
        speed_by_step(row, devices),
        _items(row),
    )
    return next((speed for speed in speeds if speed), None)


def _items(row: PublishedRow) -> float | None:
    """Return a rate in items, where every row of a table counts the same ones [1/s]."""
    unit = (row.throughput_unit or "").casefold()
    images = row.family in {"cnn", "vit", "recsys"} and "table header: throughput" in unit
    items = "items/s" in unit or (images and "mol" not in unit)
    return row.throughput_value if items else None


def _figures(row: PublishedRow, speed: float | None, target_s: float | None) -> RunRow:
    devices = row.n_accelerators or 1
    batch = (
        row.global_batch
        if benchmark_key(row)
        else (row.global_batch or _whole(global_batch_of(row, devices)))
    )
    step_s = batch / speed if batch and speed else row.step_time_s
    return {
        "status": "ok",
        "basis": "published",
        "throughput": _rounded(speed),
        "step_s": _rounded(step_s),
        "time_to_target_s": _rounded(target_s),
        "peak_memory_bytes": round(row.memory_gb * GB) if row.memory_gb else None,
        "peak_memory_method": "as the source states it" if row.memory_gb else None,
        "stated_mfu": row.mfu_stated,
    }


def _quality(
    row: PublishedRow, work: NamedWorkload | str, benchmark: PublishedBenchmark | None
) -> RunRow:
    if benchmark is None or not row.time_to_train_h:
        return {}
    reached = {
        "evaluation_metric": benchmark.metric,
        "evaluation_higher_is_better": benchmark.higher_is_better,
        "target_value": benchmark.target,
        "target_reached": True,
    }
    samples = _samples(row, work)
    rate = re.search(r"\blr ([\d.e-]+)", row.note or "")
    reached["learning_rate"] = float(rate[1].rstrip(".")) if rate else None
    if not samples or not row.global_batch:
        return reached
    steps = max(round(samples / row.global_batch), 1)
    at = {
        "step": steps, "samples": round(samples), "elapsed_s": _rounded(
            row.time_to_train_h * HOUR_S), "value": benchmark.target,
    }  # fmt: skip
    return reached | {
        "steps_to_target": steps, "samples_to_target": round(samples), "evaluations": [at],
    }  # fmt: skip


def _samples(row: PublishedRow, work: NamedWorkload | str) -> float:
    """Return samples until the target as the logs count them; 0 where they do not."""
    if isinstance(work, NamedWorkload):
        return samples_to_target(row, work, benchmark_key(row))
    match = re.search(r"samples_count at stop ([\d.e+]+)", row.note or "")
    return float(match[1].rstrip(".")) if match else 0.0


def _suspect(
    row: PublishedRow, work: NamedWorkload | str, accelerator: Accelerator, record: RunRow
) -> str:
    """Return why the figures of a run cannot be true; "" if they can."""
    speed, step_s = record["throughput"], record["step_s"] or 0.0
    if speed is not None and isinstance(work, NamedWorkload):
        question = as_question(row, work, accelerator, row.n_accelerators or 1, speed)
        if why := implausible(question):
            return why
    if step_s > LONGEST_STEP_S:
        return Text(
            "A step of {step_s:,.0f} s is unusually long: the unit of its speed may be wrong.",
            step_s=step_s,
        )
    return ""


# -- where it is from ----------------------------------------------------------------------------


def _origin(row: PublishedRow) -> RunRow:
    commit = row.commit_or_date if re.fullmatch(r"[0-9a-f]{7,40}", row.commit_or_date or "") else ""
    repository = row.repo_or_page or row.source_id or row.file
    address = repository if repository.startswith("github.com/") else ""
    kind = "blob" if "." in (row.path or "").rsplit("/", 1)[-1] else "tree"
    url = f"https://{address}/{kind}/{commit}/{row.path}" if address and commit else None
    extra = {
        "accelerator": row.accelerator, "model": row.model, "table": f"{row.file}:{row.line}",
        "unit": row.throughput_unit, "value": row.throughput_value, "precision": row.precision,
        "parallelism": row.parallelism, "software": row.framework, "optimizer": row.optimizer,
        "tokens_per_s_per_device": row.tokens_per_s_per_device,
        "stated_tflops_per_device": row.model_tflops_per_device,
        "device_hours": row.device_hours,
    }  # fmt: skip
    stated = {name: value for name, value in extra.items() if value is not None}
    return {
        "repository": repository,
        "source_path": row.path,
        "source_commit": commit or row.commit_or_date,
        "published_on": row.published,
        "source": ", ".join(p for p in (repository, row.path, row.commit_or_date) if p),
        "source_url": url,
        "licence": row.licence,
        "note": row.note,
        "extra": json.dumps(stated, ensure_ascii=False, sort_keys=True),
    }


# -- releases and repeats ------------------------------------------------------------------------

_RELEASES: Final = re.compile(r"megatron_bridge|aws_neuron|nemo_automodel")
"""Tables that print the same configuration again with every release."""


def _newest(made: Sequence[tuple[PublishedRow, RunRow]]) -> list[RunRow]:
    """Return one run for each configuration of successive releases, and for each copied row."""
    groups: dict[tuple[object, ...], list[tuple[PublishedRow, RunRow]]] = defaultdict(list)
    for row, run in made:
        groups[_release_key(row, run)].append((row, run))
    return [_last(members) for members in groups.values()]


def _release_key(row: PublishedRow, run: Mapping[str, Any]) -> tuple[object, ...]:
    """Return the key of a configuration; without releases only copies are equal."""
    if not _RELEASES.search(row.source_id or ""):
        return (replace(row, line=0, file="", note=None),)
    names = ("model", "variant", "system_name", "accelerators_per_node", "number_of_nodes",
             "precision", "sequence_length", "global_batch_size", "micro_batch_size")  # fmt: skip
    return (*(run.get(name) for name in names), row.parallelism)


def _last(members: Sequence[tuple[PublishedRow, RunRow]]) -> RunRow:
    """Return the newest of rows of one configuration; the first line where months are equal."""
    newest = max(members, key=lambda pair: (pair[0].published or "", -pair[0].line))[1]
    if len(members) == 1:
        return newest
    count = len(members) - 1
    more = plural(
        count,
        "{count} earlier release of the same configuration left out",
        "{count} earlier releases of the same configuration left out",
    )
    return newest | {"note": "; ".join(p for p in (newest.get("note"), more) if p)}


def _numbered(rows: Iterable[RunRow]) -> list[RunRow]:
    """Return runs with `repeat` where all else of their identity is equal, in the table's order."""
    seen: Counter[str] = Counter()
    numbered = []
    for row in rows:
        key = run_id(row)
        numbered.append(row | {"repeat": seen[key]} if seen[key] else row)
        seen[key] += 1
    return numbered


def _rounded(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.{DIGITS}g}")
