"""Rows of published measurements as questions: the inputs of a user, and the true speed.

`configurations` cleans rows for fitting and scoring. A question has the network, the length or
image size, the precision, the accelerator, the count and the batch, without a speed. The truth is
samples/s of all devices together. Rows left out have a line with the reason:

    no accelerator of the catalogue, or no count      the peak is unknown
    operations not stated and not in a table          the work is unknown
    the rate is above the peak of its own precision   wrong unit or a copied row
    a figure that is a whole job                      `whole_jobs` reads those

Traps of the sources (repository README of the library): MLPerf logs of detection count one device;
its language rows run in fp8; tables of TFLOP/s may count recomputation; releases repeat
configurations; sweeps contain bad layouts. Rows that differ only in fields that a user does not
enter (release, layout, data format) are one question. For language models the truth is their upper
fifth, since layouts are tuned before a long run, for others their median.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np

from planner.catalog import Accelerator, Catalog
from planner.core import HOUR_S, Text
from planner.published._named_workloads import LANGUAGE, NamedWorkload, benchmark_key, workload_of
from planner.published._rows import PublishedRow, accelerators_of, lines_in_words, quoted

HALF: Final = ("bfloat16", "float16")
LEAST_SHARE: Final = {True: 0.05, False: 0.001}
"""Shares of the peak below which a rate is an error: of language models, of others."""
MOST_SHARE: Final = 1.0
AGREE: Final = (0.9, 1.8)
"""Logged throughput over samples per total time within which the log counts the whole system."""
UPPER_FIFTH: Final = 0.8
LAYOUTS: Final = 5
"""Number of layouts of one model and accelerator, above device counts, that form a sweep."""
MODEL_SHARE: Final = 0.75
"""Model operations over those of hardware where all activations are recomputed: 6 of 8."""
MODEL_TFLOPS_SINCE: Final = "2024"
"""Since then the TFLOP/s that Megatron-LM logs are those of the model."""
NODE: Final = 8
"""Accelerators of a usual server."""
LEAST_BERT_SAMPLES: Final = 1e5
"""Fewest samples of a BERT trial in MLPerf: logs with smaller numbers count epochs or steps."""
FAMILIES: Final = frozenset(
    {"cnn", "decoder", "vit", "encoder", "speech", "other", "recsys", "diffusion", "gnn", "moe"}
)
"""Words of the column `family`."""
SPEEDS: Final = (
    "tokens_per_s_per_device", "samples_per_s_total", "throughput_value", "step_time_s",
    "mfu_stated", "model_tflops_per_device", "time_to_train_h",
)  # fmt: skip
"""Columns that a speed is read from, in their order."""
MOST_ALIKE: Final = 3
"""Rows of one file with the same reason in the same column that are named one by one."""
_LEFT_OUT: Final = "Described workloads leave the row out."
COLLECTIONS: Final = frozenset({"llm_misc", "small_benches", "whole_jobs"})
"""Tables with rows of several authors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One published measurement as a question, with the measured speed.

    `source` is the publisher, `software` the author of the programs: their rows have common
    scatter. `family`, `network`, sizes and operations are those of `NamedWorkload`. `precision` is
    the number format of the multiplications, named as in the catalogue ("float4" beside those).
    `devices` are accelerators in all on `nodes` machines. `global_batch` [samples] and `recomputes`
    are None where not stated; `stated_precision` says whether the row states one. `samples_per_s`
    is the truth, of all devices together, from `rows` rows of `source`. `stated_devices` is False
    where the row states no count and that of a usual server is assumed. `benchmark` says that it is
    a submission to MLPerf Training, whose software is tuned for the figure; `synthetic` that its
    images are made up, so that no host loads them.
    """

    source: str
    software: str
    place: str
    model: str
    family: str
    network: str
    group: str
    train_flops_per_sample: float
    accelerator: Accelerator
    devices: int
    nodes: int
    precision: str
    samples_per_s: float
    params: float | None = None
    active_params: float | None = None
    layers_width: float | None = None
    sequence: float | None = None
    image_px: float | None = None
    global_batch: float | None = None
    micro_batch: float | None = None
    recomputes: bool | None = None
    benchmark: bool = False
    synthetic: bool = False
    stated_precision: bool = True
    stated_devices: bool = True
    published: str = ""
    layout: str = ""
    rows: int = 1

    @property
    def achieved_flops_per_s(self) -> float:
        """Model operations per second and accelerator [FLOP/s]."""
        return self.samples_per_s * self.train_flops_per_sample / self.devices


def configurations(
    rows: Sequence[PublishedRow], catalog: Catalog
) -> tuple[list[Configuration], list[str]]:
    """Return the cleaned, distinct questions of rows, and a line for each row that is left out."""
    kept: list[Configuration] = []
    left_out: list[str] = []
    for row, accelerator in zip(rows, accelerators_of(rows, catalog), strict=True):
        configuration = _configuration(row, accelerator)
        if isinstance(configuration, Configuration):
            kept.append(configuration)
        else:
            left_out.append(f"{row.place}: {configuration}")
    tuned, slower = _without_bad_layouts(kept)
    return _distinct(tuned), left_out + slower


def faults(rows: Sequence[PublishedRow], catalog: Catalog) -> list[str]:
    """Return a line for each row that a cell keeps from being a question, or changes.

    A line names file, line, column, value and reason. Of equal reasons in one column of a file the
    first three have a line each and the others one line together. Rows that belong to no task have
    no line, and unknown accelerators are named by `unknown_accelerators`.
    """
    by_reason: dict[tuple[str, str, str], list[tuple[int, str]]] = defaultdict(list)
    for row, accelerator in zip(rows, accelerators_of(rows, catalog), strict=True):
        if accelerator is None or _unusable(row, accelerator):
            continue
        for column, reason in _faults(row, accelerator):
            stated = dict(row.odd).get(column) or getattr(row, column)
            value = f"is {quoted(_shown(stated))}" if stated else "is empty"
            line = f"{row.place}: {column} {value}, {reason}"
            by_reason[row.file, column, reason].append((row.line, line))
    lines: list[str] = []
    for (file, column, reason), alike in by_reason.items():
        lines += [line for _, line in alike[:MOST_ALIKE]]
        if more := [number for number, _ in alike[MOST_ALIKE:]]:
            lines.append(f"{file}, {lines_in_words(more)}: {column} likewise, {reason}")
    return lines


def _faults(row: PublishedRow, accelerator: Accelerator) -> Iterator[tuple[str, str]]:
    """Yield columns of a row that keep it from being a question, or change it, with the reason."""
    odd = dict(row.odd)
    workload = workload_of(row)
    if row.precision and not format_of(row.precision):
        yield "precision", "no number format. The usual one of the accelerator is assumed."
    if isinstance(workload, str):
        if (row.family or "").casefold() not in FAMILIES:
            yield "family", Text("no family of the tables. {left_out}", left_out=_LEFT_OUT)
        for column, word in (("params", "parameters"), ("seq_len", "sequence length")):
            if column in odd and word in workload:
                yield column, Text("no single number. {left_out}", left_out=_LEFT_OUT)
        return
    devices = _devices(row)
    assumed = row.n_accelerators is None and "n_accelerators" in odd
    if (devices is None or assumed) and row.device_hours is None:
        cost = (
            _LEFT_OUT
            if devices is None
            else Text("{devices} accelerators are assumed.", devices=devices)
        )
        yield "n_accelerators", Text("no single number. {cost}", cost=cost)
    if devices is None:
        return
    speed = _samples_per_s(row, workload, accelerator, devices)
    if isinstance(speed, str):
        yield from (
            (name, Text("no single number. {left_out}", left_out=_LEFT_OUT))
            for name in SPEEDS
            if name in odd
        )
    elif implausible(as_question(row, workload, accelerator, devices, speed)):
        column = next((name for name in SPEEDS if getattr(row, name)), SPEEDS[0])
        yield (
            column,
            Text("an implausible speed of its accelerator. {left_out}", left_out=_LEFT_OUT),
        )


def _shown(stated: object) -> str:
    return f"{stated:g}" if isinstance(stated, float) else str(stated)


def half_peak(accelerator: Accelerator) -> float | None:
    """Return the dense half-precision peak [FLOP/s]; that of float32 where no half is published.

    It is the reference of efficiency at every precision.
    """
    peaks = accelerator.peak_flops_per_s
    half = max((peaks[p] for p in HALF if p in peaks), default=0.0)
    return max(half, peaks.get("float32", 0.0)) or None


def own_peak(accelerator: Accelerator, precision: str) -> float | None:
    """Return the dense peak of a precision [FLOP/s], or of the next slower one that is listed."""
    peaks, half = accelerator.peak_flops_per_s, half_peak(accelerator)
    if half is None:
        return None
    eight = max(peaks.get("float8", 0.0), peaks.get("int8", 0.0), half)
    single = peaks.get("float32", half)
    by_format = {
        "float4": 2.0 * max(eight, 2.0 * half),
        "float8": eight,
        "tensorfloat32": peaks.get("tensorfloat32", single),
        "float32": single,
    }
    return by_format.get(precision, half)


@lru_cache(maxsize=4_096)
def format_of(text: str) -> str:
    """Return the number format a table's words mean ("amp", "MXFP8"), "" where they mean none."""
    plain = text.casefold()
    for pattern, name in _FORMATS:
        if re.search(pattern, plain):
            return name
    return ""


_FORMATS: Final = (
    (r"fp4|float4", "float4"),
    (r"fp8|float8|\be4m3", "float8"),
    (r"tf32|tensorfloat", "tensorfloat32"),
    (r"bf16|bfloat", "bfloat16"),
    (r"fp16|float16|half|amp|mixed|autocast", "float16"),
    (r"fp32|float32|single|full precision", "float32"),
)
"""Number formats as written in tables; the smallest format of a mixture is that of products."""
_PLAIN_FRAMEWORKS: Final = re.compile(r"detectron2|pycls|mmdet|simpledet|tensorpack", re.IGNORECASE)
"""Collections of the V100's time that multiply in float32 unless a row states otherwise."""


def _configuration(row: PublishedRow, accelerator: Accelerator | None) -> Configuration | str:
    if accelerator is None:
        return Text(
            "{accelerator} is not in the catalogue.",
            accelerator=row.accelerator or "no accelerator",
        )
    if reason := _unusable(row, accelerator):
        return reason
    workload, devices = workload_of(row), _devices(row)
    if isinstance(workload, str):
        return workload
    if devices is None:
        return "the accelerator count is not stated."
    speed = _samples_per_s(row, workload, accelerator, devices)
    if isinstance(speed, str):
        return speed
    configuration = as_question(row, workload, accelerator, devices, speed)
    return implausible(configuration) or configuration


def as_question(
    row: PublishedRow,
    workload: NamedWorkload,
    accelerator: Accelerator,
    devices: int,
    samples_per_s: float,
) -> Configuration:
    """Return a row with its workload, hardware and true speed [samples/s] as a question."""
    precision, stated = precision_of(row, accelerator, workload)
    return Configuration(
        source=_source(row),
        software=_software(row, accelerator),
        place=row.place,
        model=row.model or "",
        family=workload.family,
        network=workload.network,
        group=workload.group,
        train_flops_per_sample=workload.train_flops_per_sample,
        accelerator=accelerator,
        devices=devices,
        nodes=_machines(row, accelerator, devices),
        precision=precision,
        samples_per_s=samples_per_s,
        params=workload.params,
        active_params=workload.active_params,
        layers_width=workload.layers_width,
        sequence=workload.sequence,
        image_px=workload.image_px,
        global_batch=global_batch_of(row, devices),
        micro_batch=float(row.micro_batch) if row.micro_batch else None,
        recomputes=row.recomputes,
        benchmark=bool(benchmark_key(row)),
        synthetic=bool(_SYNTHETIC.search(f"{row.source_id} {row.model} {row.path} {row.note}")),
        stated_precision=stated,
        stated_devices=bool(row.n_accelerators),
        published=row.published or "",
        layout=f"{row.parallelism or ''} {row.micro_batch or ''}".strip(),
    )


def _machines(row: PublishedRow, accelerator: Accelerator, devices: int) -> int:
    """Return the machines of fast links: those stated, at least of the usual size.

    Tables count the hosts of a rack or of a TPU slice, several of which one network of links joins.
    """
    size = node_size(accelerator)
    usual = -(-devices // size)
    return usual if size > NODE else max(row.nodes or 1, usual)


def node_size(accelerator: Accelerator) -> int:
    """Return how many accelerators one machine of fast links usually holds."""
    if accelerator.kind == "tpu":
        return 256
    name = accelerator.id
    return {"gb200": 72, "gb300": 72, "trainium1": 16, "trainium2": 16}.get(name, NODE)


def _unusable(row: PublishedRow, accelerator: Accelerator) -> str:
    """Return why a row measures something else, "" where it does not."""
    if half_peak(accelerator) is None:
        return Text(
            "the data sheet of the {accelerator} lists no peak.", accelerator=accelerator.name
        )
    if accelerator.kind == "cpu":
        return "it was measured on processors alone."
    words = f"{row.model} {row.framework or ''} {row.note or ''} {row.path or ''}".casefold()
    floor = "habana_ci" in (row.source_id or "").casefold()
    if floor and not _FIXED_LENGTH.search(row.model or ""):
        return "the length of its samples is not stated."
    if "milabench" in (row.source_id or row.file) and row.model == "resnet50":
        return "its speed is that of its data loading: the source times resnet50-noio beside it."
    return next((why for pattern, why in _ELSEWHERE if re.search(pattern, words)), "")


_ELSEWHERE: Final = (
    (r"tinygrad|tinybox", "its software is far slower than the accelerator, on purpose simple."),
    (r"\btoy\b", "its network is a toy."),
    (r"division open", "it is a submission of the open division."),
    (r"as printed.*likely", "its own note questions the accelerator."),
    (r"cpu optimizer offload", "the optimiser ran on the host."),
    (r"superseded", "a later release of its software is in the tables."),
    (r"largest model that fits", "it was made to fit memory, not for speed."),
    (r"at the limit of its data loading", "its speed is that of its data loading."),
    (r"llava", "it trains on pictures beside its text, and parts of it are frozen."),
)
"""Words of a row's note, path or framework for other kinds of measurements."""
_SYNTHETIC: Final = re.compile(r"synthetic|noio|pytorch_gpu_bench|^mxnet", re.IGNORECASE)
"""Rows of images that are made up: two sources draw them at random without stating so in rows."""
_FIXED_LENGTH: Final = re.compile(
    r"squad|mlm|run_clm_|wikitext|image_classification|bridgetower", re.IGNORECASE
)
"""Tests of fine-tuning whose samples have one length or one size."""


def _source(row: PublishedRow) -> str:
    """Return the source of a row: all rounds of MLPerf are one; a collection one per framework."""
    if benchmark_key(row):
        return "mlperf"
    named = row.source_id or row.file
    return f"{named} {_first_word(row.framework)}" if named in COLLECTIONS else named


def _software(row: PublishedRow, accelerator: Accelerator) -> str:
    """Return the author of the programs: in MLPerf the accelerator's maker."""
    if benchmark_key(row):
        return f"mlperf {accelerator.maker}"
    return f"{row.source_id or row.file} {_first_word(row.framework)}".strip()


def _first_word(text: str | None) -> str:
    return re.split(r"[ (/]", (text or "").strip())[0].casefold()


def _devices(row: PublishedRow) -> int | None:
    if row.n_accelerators:
        return row.n_accelerators
    unit = (row.throughput_unit or "").casefold()
    only_rate = row.mfu_stated or row.model_tflops_per_device or row.tokens_per_s_per_device
    if only_rate and not row.nodes and ("per" in unit or not unit):
        return NODE  # a rate of one device, of no stated number: a usual server
    return None


def global_batch_of(row: PublishedRow, devices: int) -> float | None:
    """Return the samples of a step over all devices, else those of one times the devices."""
    if row.global_batch:
        return float(row.global_batch)
    if row.step_time_s and row.samples_per_s_total:
        return row.step_time_s * row.samples_per_s_total
    plain = not re.search(r"[tp]p=?[2-9]|tp=?1\d", (row.parallelism or "").casefold())
    return float(row.micro_batch * devices) if row.micro_batch and plain else None


def precision_of(
    row: PublishedRow, accelerator: Accelerator, workload: NamedWorkload
) -> tuple[str, bool]:
    """Return the number format of the multiplications, and whether the row states one."""
    stated = format_of(row.precision or "")
    if not stated and (named := format_of(row.model or "")):
        stated = named
    precision = stated or _usual_precision(row, accelerator, workload)
    if precision == "float32":
        if accelerator.kind == "tpu" or accelerator.id.startswith("trainium"):
            precision = "bfloat16"
        elif (
            "tensorfloat32" in accelerator.peak_flops_per_s
            and accelerator.maker == "NVIDIA"
            and not _multiplies_singly(row, workload)
        ):
            precision = "tensorfloat32"
    if precision == "float8" and own_peak(accelerator, "float8") == half_peak(accelerator):
        precision = "bfloat16"
    return precision, bool(stated)


def _multiplies_singly(row: PublishedRow, workload: NamedWorkload) -> bool:
    """Return whether an image network in PyTorch stays in float32 on tensor units.

    PyTorch has by default TensorFloat-32 in convolutions but not in products of matrices, which
    are most of the work of networks of fully connected layers.
    """
    pytorch = "pytorch" in (row.framework or "").casefold()
    image = workload.family in {"cnn", "vit"}
    return pytorch and image and bool(_OF_MATRICES.match(workload.network))


_OF_MATRICES: Final = re.compile(r"convnext|vit|deit|swin")


def _usual_precision(row: PublishedRow, accelerator: Accelerator, workload: NamedWorkload) -> str:
    """Return the precision of a row that states none; fp8 for MLPerf's language rows."""
    peaks = accelerator.peak_flops_per_s
    if benchmark_key(row) and workload.family in {"dense", "lora", "moe"}:
        small = "float8" in peaks or (accelerator.kind == "tpu" and "int8" in peaks)
        last = (row.published or "") >= "2025-10" and "blackwell" in (
            row.accelerator or ""
        ).casefold()
        return ("float4" if last else "float8") if small else "bfloat16"
    if _PLAIN_FRAMEWORKS.search(f"{row.framework or ''} {row.source_id or ''}"):
        return "float32"
    return "bfloat16" if "bfloat16" in peaks else "float16" if "float16" in peaks else "float32"


def _samples_per_s(
    row: PublishedRow, workload: NamedWorkload, accelerator: Accelerator, devices: int
) -> float | str:
    """Return the measured speed of all devices together, or why the row has none."""
    if key := benchmark_key(row):
        return benchmark_speed(row, workload, key)
    speeds = (
        speed_by_tokens(row, workload, devices),
        row.samples_per_s_total,
        speed_by_unit(row, workload, devices),
        speed_by_step(row, devices),
        _by_operations(row, workload, accelerator, devices),
    )
    return next((speed for speed in speeds if speed), "it states no speed.")


def speed_by_tokens(row: PublishedRow, workload: NamedWorkload, devices: int) -> float | None:
    """Return the sequences/s of all devices by stated tokens/s; None where none are stated."""
    if workload.family not in LANGUAGE or not (row.tokens_per_s_per_device and workload.sequence):
        return None
    return row.tokens_per_s_per_device * devices / workload.sequence


def speed_by_unit(row: PublishedRow, workload: NamedWorkload, devices: int) -> float | None:
    """Return a stated value by its unit [samples/s in all]; None for another quantity."""
    value, unit = row.throughput_value, (row.throughput_unit or "").casefold()
    if not value or _OTHER_UNIT.search(unit):
        return None
    value *= devices if _EACH.search(unit) else 1
    language = workload.family in LANGUAGE
    if _TOKENS.search(unit):
        thousands = 1e3 if re.search(r"\bk ?tok", unit) else 1.0
        return thousands * value / workload.sequence if language and workload.sequence else None
    images = not language or workload.family == "encoder"
    if _SAMPLES.search(unit) or ("throughput" in unit and images):
        return None if "item" in unit and language else value
    return None


_EACH: Final = re.compile(r"(per |/ ?)(device|gpu|chip|accelerator|card|npu|core)\b")
_TOKENS: Final = re.compile(r"\bk?tok|tgs")
_SAMPLES: Final = re.compile(r"(sample|image|img|seq|sentence|example|item)\w*[ ]?(/|per)[ ]?s")
_OTHER_UNIT: Final = re.compile(r"flop|\bms\b|iteration|mels?\b|mol")


def speed_by_step(row: PublishedRow, devices: int) -> float | None:
    """Return the samples/s of all devices by batch and step time; None where not stated."""
    batch = row.global_batch or (row.micro_batch if devices == 1 else None)
    return batch / row.step_time_s if batch and row.step_time_s else None


def _by_operations(
    row: PublishedRow, workload: NamedWorkload, accelerator: Accelerator, devices: int
) -> float | None:
    rate = _operations_per_s(row, accelerator)
    return None if rate is None else rate * devices / workload.train_flops_per_sample


def _operations_per_s(row: PublishedRow, accelerator: Accelerator) -> float | None:
    """Return the model operations per second of one device where only they are stated [FLOP/s]."""
    if row.mfu_stated:
        peak = half_peak(accelerator)
        return row.mfu_stated * peak if peak else None
    stated = row.model_tflops_per_device
    if not stated:
        return None
    words = f"{row.throughput_unit or ''} {row.note or ''}".casefold()
    hardware = "recompute" in words or _counts_hardware(row)
    full = hardware and "no recompute" not in words and row.recomputes is not False
    return 1e12 * stated * (MODEL_SHARE if full else 1.0)


def _counts_hardware(row: PublishedRow) -> bool:
    """Return whether the TFLOP/s of a row's software count recomputation.

    Megatron-LM's `num_floating_point_operations` counts the model's alone.
    """
    software = (row.framework or "").casefold()
    old = "deepspeed" in software or (row.published or "") < MODEL_TFLOPS_SINCE
    return "megatron" in software and old


def benchmark_speed(row: PublishedRow, workload: NamedWorkload, key: str) -> float | str:
    """Return MLPerf's logged throughput where it agrees with samples over time, else the latter."""
    samples = samples_to_target(row, workload, key)
    logged = row.samples_per_s_total or 0.0
    per_sample = float(workload.sequence or 1.0) if key == "gpt3" else 1.0
    logged /= per_sample
    if samples and row.time_to_train_h:
        computed = samples / (row.time_to_train_h * HOUR_S)
        low, high = AGREE
        return logged if low <= logged / computed <= high else computed
    return logged or "it states no speed."


def samples_to_target(row: PublishedRow, workload: NamedWorkload, key: str) -> float:
    """Return the samples until the benchmark's target by the log; 0 where it counts none."""
    match = re.search(r"(epoch_num|samples_count) at stop ([\d.e+]+)", row.note or "")
    if not match:
        return 0.0
    number = float(match[2].rstrip("."))
    if key == "bert":
        return number if number >= LEAST_BERT_SAMPLES else 0.0
    if match[1] == "samples_count":
        return number
    if key == "gpt3":
        return number / float(workload.sequence or 1.0)
    if key == "unet3d":
        return 0.0
    return number * float(workload.samples_per_epoch or 0.0)


def implausible(configuration: Configuration) -> str:
    """Return why a rate is impossible; "" where it is possible.

    Described workloads leave such a row out, and its run ships with this reason.
    """
    card = configuration.accelerator
    half, own = half_peak(card), own_peak(card, configuration.precision)
    if half is None or own is None:
        return ""
    rate = configuration.achieved_flops_per_s
    if rate > MOST_SHARE * own:
        return Text(
            "{rate:.3g} TFLOP/s an accelerator exceed the peak of the {card} in "
            "{precision}, {own:.3g} TFLOP/s.",
            rate=rate / 1000000000000.0,
            card=card.name,
            precision=configuration.precision,
            own=own / 1000000000000.0,
        )
    if 0.0 < rate < LEAST_SHARE[configuration.family in LANGUAGE] * half:
        return Text(
            "{rate:.2g} % of the peak of the {card} is unusually low: the unit of "
            "its speed may be wrong.",
            rate=100.0 * rate / half,
            card=card.name,
        )
    return ""


def _without_bad_layouts(
    candidates: Sequence[Configuration],
) -> tuple[list[Configuration], list[str]]:
    """Return the upper fifth of every sweep over layouts of a language model."""
    groups: dict[tuple[object, ...], list[Configuration]] = defaultdict(list)
    for configuration in candidates:
        groups[_sweep_key(configuration)].append(configuration)
    least: dict[tuple[object, ...], float] = {}
    for key, alike in groups.items():
        layouts, counts = (
            {configuration.layout for configuration in alike},
            {configuration.devices for configuration in alike},
        )
        if len(layouts) >= LAYOUTS and len(layouts) > len(counts):
            rates = [configuration.achieved_flops_per_s for configuration in alike]
            least[key] = float(np.quantile(rates, UPPER_FIFTH, method="nearest"))
    slow = {
        id(configuration)
        for key, lowest in least.items()
        for configuration in groups[key]
        if configuration.achieved_flops_per_s < lowest
    }
    reason = "it is one of the slower layouts of a sweep."
    lines = [
        f"{configuration.place}: {reason}"
        for configuration in candidates
        if id(configuration) in slow
    ]
    return [configuration for configuration in candidates if id(configuration) not in slow], lines


def _sweep_key(configuration: Configuration) -> tuple[object, ...]:
    """Return the key of a sweep; models of a table within a fourth in size are one."""
    if configuration.family not in LANGUAGE - {"encoder"}:
        return (configuration.place,)
    size = round(4.0 * math.log(configuration.active_params or 1.0))
    return (
        configuration.software,
        configuration.family,
        size,
        configuration.sequence,
        configuration.accelerator.id,
        configuration.precision,
    )


def _distinct(candidates: Iterable[Configuration]) -> list[Configuration]:
    """Return one configuration for each question, with the truth of its repeats."""
    groups: dict[tuple[object, ...], list[Configuration]] = defaultdict(list)
    for configuration in candidates:
        groups[_question_key(configuration)].append(configuration)
    return [_merged(alike) for alike in groups.values()]


def _question_key(configuration: Configuration) -> tuple[object, ...]:
    batch = (
        round(2.0 * math.log2(configuration.global_batch)) if configuration.global_batch else None
    )
    length = configuration.sequence or configuration.image_px
    size = round(math.log(configuration.active_params or 1.0), 1)
    return (
        configuration.source,
        configuration.family,
        configuration.network,
        size,
        length,
        configuration.accelerator.id,
        configuration.precision,
        configuration.devices,
        batch,
    )


def _merged(alike: Sequence[Configuration]) -> Configuration:
    speeds = np.array([member.samples_per_s * member.train_flops_per_sample for member in alike])
    upper = alike[0].family in LANGUAGE - {"encoder"}
    speed = float(np.quantile(speeds, UPPER_FIFTH if upper else 0.5, method="nearest"))
    nearest = alike[int(np.argmin(np.abs(speeds - speed)))]
    return replace(nearest, rows=len(alike))
