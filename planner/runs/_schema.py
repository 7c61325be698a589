"""The columns of the run table: for the Arrow schema, the checks and the docs.

One run is one row: one measured training (or inference) of a workload on a system at one batch
size under one input pattern. Epochs, evaluations and steps are lists of structs inside the row,
so a run is kept whole or not at all. A missing value is NULL, never 0. System columns carry the
names of MLPerf's `system_desc` where it has one.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

import pyarrow as pa

from planner.core import limits

SCHEMA_VERSION: Final = 3
"""Version of the table below; a file with a newer one is refused, an older one is read."""

Group = Literal[
    "identity", "workload", "system", "software", "factors", "summary", "nested", "other"
]
Rule = Literal["positive", "not negative", "any"]

STATUSES: Final = ("ok", "oom", "timeout", "nan", "killed", "crashed", "peer_lost")
BASES: Final = ("measured", "published")
MODES: Final = ("training", "inference")
DEVICE_KINDS: Final = ("cpu", "gpu", "tpu", "other")
STORAGES: Final = ("memory", "storage")
FEEDS: Final = ("fit", "fit truncated", "generator", "numpy", "PyDataset", "tf.data", "directory")
LAUNCHES: Final = ("single process", "driver only", "one process per worker", "mpi", "command",
                   "ray", "spark", "slurm")  # fmt: skip
SYNCS: Final = ("none", "synchronous", "asynchronous")
PARALLELISMS: Final = ("none", "data", "stage", "branch", "tensor")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: its type, meaning, unit and allowed values."""

    name: str
    group: Group
    type: pa.DataType
    meaning: str
    unit: str = ""
    rule: Rule = "any"
    choices: tuple[str, ...] = ()
    required: bool = False
    identity: bool = False
    """Whether it is part of the identity: the run_id is the hash of these columns."""

    since: int = 1
    """Schema version that added it: older files have NULL."""

    @property
    def span(self) -> limits.Span:
        """Sizes that a number of this column may have, beside 0 where its rule allows that."""
        return limits.COLUMNS.get(self.name) or limits.UNITS[self.unit]


TEXT, WHOLE, REAL, FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
TIME: Final = pa.timestamp("us", tz="UTC")

EPOCH: Final = pa.struct(
    [
        pa.field("epoch", WHOLE),
        pa.field("epoch_s", REAL),
        pa.field("validation_s", REAL),
        pa.field("samples", WHOLE),
        pa.field("loss", REAL),
        pa.field("metric", REAL),
    ]
)
EVALUATION: Final = pa.struct(
    [
        pa.field("step", WHOLE),
        pa.field("samples", WHOLE),
        pa.field("elapsed_s", REAL),
        pa.field("value", REAL),
        pa.field("loss", REAL),
    ]
)
STEP: Final = pa.struct([pa.field("step", WHOLE), pa.field("step_s", REAL)])


def _text(name: str, group: Group, meaning: str, choices: tuple[str, ...] = (), *,
          required: bool = False, identity: bool = False) -> Column:  # fmt: skip
    return Column(name=name, group=group, type=TEXT, meaning=meaning, choices=choices,
                  required=required, identity=identity)  # fmt: skip


def _whole(name: str, group: Group, meaning: str, unit: str, rule: Rule = "positive", *,
           required: bool = False, identity: bool = False) -> Column:  # fmt: skip
    return Column(name=name, group=group, type=WHOLE, meaning=meaning, unit=unit, rule=rule,
                  required=required, identity=identity)  # fmt: skip


def _real(name: str, group: Group, meaning: str, unit: str, rule: Rule = "positive", *,
          identity: bool = False) -> Column:  # fmt: skip
    return Column(name=name, group=group, type=REAL, meaning=meaning, unit=unit, rule=rule,
                  identity=identity)  # fmt: skip


def _flag(name: str, group: Group, meaning: str, *, identity: bool = False) -> Column:
    return Column(name=name, group=group, type=FLAG, meaning=meaning, identity=identity)


def _since_3(name: str, group: Group, kind: pa.DataType, meaning: str, unit: str = "", *,
             identity: bool = False) -> Column:  # fmt: skip
    """Return a column of published runs; numbers are above 0."""
    rule: Rule = "positive" if kind in (WHOLE, REAL) else "any"
    return Column(name=name, group=group, type=kind, meaning=meaning, unit=unit, rule=rule,
                  identity=identity, since=3)  # fmt: skip


def _list(name: str, item: pa.StructType, meaning: str) -> Column:
    return Column(name=name, group="nested", type=pa.list_(item), meaning=meaning)


COLUMNS: Final[tuple[Column, ...]] = (
    # -- identity and provenance -----------------------------------------------------------
    _text("run_id", "identity", "first 32 hex digits of the sha256 of the identity columns",
          required=True),
    _whole("schema_version", "identity", "version of this table when the run was written", "",
           required=True),
    _text("result_set", "identity", "folder name (slug) of the result set", required=True,
          identity=True),
    _text("sweep", "identity", "the planned list of runs it belongs to", identity=True),
    _whole("repeat", "identity", "planned repetition of the same case, from 0", "", "not negative",
           identity=True),
    _whole("attempt", "identity", "retry after an infrastructure failure, from 0", "",
           "not negative", identity=True),
    Column(name="machine_id", group="identity", type=TEXT, identity=True, since=2,
           meaning="made-up number of the machine that measured it"),
    Column(name="session_started_at", group="identity", type=TEXT, identity=True, since=2,
           meaning="when the process that measured it began, in UTC"),
    _text("status", "identity", "how the run ended", STATUSES, required=True),
    _text("status_reason", "identity", "why it did not end well"),
    _text("basis", "identity", "how the numbers are known", BASES, required=True),
    _text("source", "identity", "what the numbers were taken from, as a person would cite it"),
    _text("source_url", "identity", "where that can be read"),
    _text("note", "identity", "what a reader must know about this row"),
    _text("licence", "identity", "terms of the numbers"),
    _text("submitted_by", "identity", "who handed the run in"),
    _since_3("repository", "identity", TEXT, "public repository a published figure stands in"),
    _since_3("source_path", "identity", TEXT, "file or folder of that repository",
             identity=True),
    _since_3("source_commit", "identity", TEXT, "commit of that repository that was read"),
    _since_3("published_on", "identity", TEXT, "year and month of publication, as 2024-06"),
    _since_3("suspect_reason", "identity", TEXT,
             "why a published figure cannot be what its source says"),
    Column(name="recorded_at", group="identity", type=TIME, unit="UTC", required=True,
           meaning="when the run was recorded"),
    # -- workload --------------------------------------------------------------------------
    _text("model", "workload", "network, with what tells it from its sisters", required=True,
          identity=True),
    _text("variant", "workload", "changed form: int8, pruned, distilled ...", identity=True),
    _text("dataset", "workload", "data set", identity=True),
    _flag("synthetic_data", "workload", "made by a generator instead of taken from the world",
          identity=True),
    _text("input_shape", "workload", "one sample, as 32x32x3 or 128 tokens", identity=True),
    _since_3("family", "workload", TEXT, "kind of network: dense, moe, cnn, vit ..."),
    _since_3("sequence_length", "workload", WHOLE, "tokens of one sample", "tokens",
             identity=True),
    _since_3("image_px", "workload", WHOLE, "side of a square image", "px", identity=True),
    _text("optimizer", "workload", "optimiser", identity=True),
    _real("learning_rate", "workload", "learning rate at its peak", "", identity=True),
    _text("precision", "workload", "float32, mixed_bfloat16 ...", identity=True),
    _whole("params", "workload", "trainable and other parameters", "parameters"),
    _since_3("active_params", "workload", WHOLE, "parameters that take part in one token",
             "parameters"),
    _whole("train_samples", "workload", "samples in the training split of the data set, "
           "also where an epoch of the run has fewer", "samples"),
    _whole("validation_samples", "workload", "samples in the validation split", "samples"),
    # -- system (MLPerf system_desc names where there is one) ------------------------------
    _text("system_name", "system", "short name a person would use", required=True, identity=True),
    _text("device_kind", "system", "kind of accelerator", DEVICE_KINDS, required=True,
          identity=True),
    _text("accelerator_model_name", "system", "accelerator model", identity=True),
    _whole("accelerators_per_node", "system", "accelerators in one node", "devices",
           identity=True),
    _whole("number_of_nodes", "system", "nodes", "nodes", identity=True),
    _whole("accelerator_memory_bytes", "system", "memory of one accelerator", "bytes"),
    _text("accelerator_interconnect", "system", "link between accelerators of a node",
          identity=True),
    _flag("peer_to_peer", "system", "accelerators of a node reach each other directly",
          identity=True),
    _text("accelerator_host_interconnect", "system", "link between accelerator and host"),
    _text("accelerator_driver_version", "system", "driver"),
    _text("accelerator_clocks", "system", "clocks and throttle reasons while running"),
    _text("host_processor_model_name", "system", "processor of the host", identity=True),
    _whole("host_processors_per_node", "system", "processor sockets in a node", "sockets"),
    _whole("host_processor_core_count", "system", "cores the run could use on a node", "cores",
           identity=True),
    _whole("host_memory_bytes", "system", "memory of one node", "bytes"),
    _text("host_networking", "system", "network between nodes", identity=True),
    _text("host_storage_type", "system", "where the data lay"),
    _text("operating_system", "system", "operating system and kernel"),
    _text("provider", "system", "cloud or shop and instance type"),
    # -- software --------------------------------------------------------------------------
    _text("framework", "software", "TensorFlow, JAX, PyTorch ...", identity=True),
    _text("framework_version", "software", "its version", identity=True),
    _text("keras_version", "software", "Keras"),
    _text("backend", "software", "Keras backend", identity=True),
    _text("python_version", "software", "Python"),
    _text("cuda_version", "software", "CUDA"),
    _text("cudnn_version", "software", "cuDNN"),
    _text("git_describe", "software", "the measuring code's own version"),
    _text("engine", "software", "which of the measuring loops ran", identity=True),
    _flag("jit", "software", "compiled by XLA", identity=True),
    _text("strategy", "software", "distribution strategy", identity=True),
    _text("parallelism", "software", "what was split over devices", PARALLELISMS, identity=True),
    _since_3("tensor_parallel", "software", WHOLE, "devices that share each layer", "devices",
             identity=True),
    _since_3("pipeline_parallel", "software", WHOLE, "devices that share the layers in stages",
             "devices", identity=True),
    _since_3("data_parallel", "software", WHOLE, "replicas that share the batch", "devices",
             identity=True),
    _since_3("expert_parallel", "software", WHOLE, "devices that share the experts", "devices",
             identity=True),
    _since_3("activation_recomputation", "software", FLAG,
             "activations are computed again in the backward pass", identity=True),
    _text("launch", "software", "how the processes were started", LAUNCHES, identity=True),
    _text("sync", "software", "gradient synchronisation", SYNCS, identity=True),
    _whole("staleness", "software", "largest age of an asynchronous gradient", "steps",
           "not negative", identity=True),
    # -- factors ---------------------------------------------------------------------------
    _text("mode", "factors", "training or inference", MODES, required=True, identity=True),
    _whole("global_batch_size", "factors", "samples per step over all devices", "samples",
           identity=True),
    _whole("per_device_batch_size", "factors", "samples per step on one device", "samples",
           identity=True),
    _since_3("micro_batch_size", "factors", WHOLE, "samples of one forward pass of a replica",
             "samples", identity=True),
    _whole("gradient_accumulation_steps", "factors", "micro-steps per optimiser step", "steps",
           identity=True),
    _flag("validation", "factors", "validated after every epoch", identity=True),
    _flag("augmentation", "factors", "augmented while training", identity=True),
    _text("storage", "factors", "where samples are read from", STORAGES, identity=True),
    _whole("workers", "factors", "workers that prepare input", "workers", "not negative",
           identity=True),
    _flag("multiprocessing", "factors", "workers are processes", identity=True),
    _text("feed", "factors", "how samples reach the training loop", FEEDS, identity=True),
    _flag("drop_remainder", "factors", "the last partial batch is dropped", identity=True),
    _whole("steps_per_execution", "factors", "steps per call into the framework", "steps",
           identity=True),
    _whole("threads", "factors", "threads given to the framework", "threads", identity=True),
    _whole("seed", "factors", "seed of data order and weights", "", "not negative",
           identity=True),
    _text("timing", "factors", "where the clock waits for the device: per epoch or per step",
          identity=True),
    _whole("epochs_planned", "factors", "epochs asked for", "epochs", identity=True),
    _whole("position_in_session", "factors", "1 for the first run of its process", "",
           identity=True),
    # -- summary numbers -------------------------------------------------------------------
    _real("startup_s", "summary", "cluster or process start-up before pre-train time", "s",
          "not negative"),
    _real("pre_train_s", "summary", "process start to first step of epoch 1", "s",
          "not negative"),
    _real("first_step_s", "summary", "first step: tracing, compiling, running", "s"),
    _real("first_epoch_s", "summary", "epoch 1", "s"),
    _real("until_first_epoch_end_s", "summary",
          "pre-train time and epoch 1 together, where a source gives only the sum", "s"),
    _real("later_epoch_mean_s", "summary", "mean of epochs 2 and later", "s"),
    _real("later_epoch_sd_s", "summary", "standard deviation of epochs 2 and later (ddof=0)", "s",
          "not negative"),
    _whole("epochs_measured", "summary", "epochs that were timed", "epochs"),
    _real("total_s", "summary", "measured wall time of the whole run", "s"),
    _whole("steps_per_epoch", "summary", "optimiser steps in an epoch", "steps"),
    _whole("samples_per_epoch", "summary", "training samples really processed in an epoch",
           "samples"),
    _whole("validation_samples_per_epoch", "summary", "validation samples really processed",
           "samples", "not negative"),
    _real("validation_s", "summary", "mean time of one validation", "s", "not negative"),
    _real("step_s", "summary", "mean time of one optimiser step", "s"),
    _real("step_p10_s", "summary", "10 % quantile of step times", "s"),
    _real("step_p50_s", "summary", "median of step times", "s"),
    _real("step_p90_s", "summary", "90 % quantile of step times", "s"),
    _real("throughput", "summary", "samples processed in a second", "samples/s"),
    _real("asymptotic_throughput", "summary", "published fit: v0", "samples/s"),
    _real("overhead_s", "summary", "published fit: overhead per step t", "s", "not negative"),
    _whole("peak_memory_bytes", "summary", "largest memory in use", "bytes"),
    _text("peak_memory_method", "summary", "how that was read"),
    _real("energy_kwh", "summary", "energy of the run", "kWh"),
    _text("energy_source", "summary", "NVML, RAPL, meter ..."),
    _real("mean_power_watts", "summary", "mean power while training", "W"),
    _real("train_flops_per_sample", "summary", "floating-point operations per sample", "FLOP"),
    _text("train_flops_method", "summary", "graph profiler, hand count ..."),
    _since_3("stated_mfu", "summary", REAL,
             "model FLOPs utilisation that the source states [share of the peak]"),
    _real("gemm_flops_per_s", "summary", "matrix product speed of the same device", "FLOP/s"),
    _real("load_average_before", "summary", "1-minute load average before the run", "",
          "not negative"),
    _real("load_average_after", "summary", "1-minute load average after the run", "",
          "not negative"),
    _text("evaluation_metric", "summary", "what `evaluations` holds", identity=True),
    _flag("evaluation_higher_is_better", "summary", "direction of that metric"),
    _real("target_value", "summary", "value of the metric that was aimed at", "", "any"),
    _flag("target_reached", "summary", "whether it was reached"),
    _whole("steps_to_target", "summary", "optimiser steps until the target", "steps"),
    _since_3("time_to_target_s", "summary", REAL, "wall time until the target", "s"),
    _whole("samples_to_target", "summary", "samples until the target", "samples"),
    _real("final_metric", "summary", "the metric at the end", "", "any"),
    _real("gradient_noise_scale", "summary", "two-batch estimate of the noise scale", "samples"),
    # -- nested ----------------------------------------------------------------------------
    _list("epochs", EPOCH, "one entry per epoch, in order"),
    _list("evaluations", EVALUATION, "one entry per evaluation, in order of steps"),
    _list("steps", STEP, "step times, where they were kept"),
    # -- other -----------------------------------------------------------------------------
    _text("extra", "other", "JSON object of what has no column"),
)  # fmt: skip

BY_NAME: Final = MappingProxyType({c.name: c for c in COLUMNS})
NESTED: Final = tuple(c.name for c in COLUMNS if c.group == "nested")
SUMMARY: Final = tuple(c.name for c in COLUMNS if c.group != "nested")
IDENTITY: Final = tuple(c.name for c in COLUMNS if c.identity)

ARROW_SCHEMA: Final = pa.schema(
    [pa.field(c.name, c.type, nullable=not c.required) for c in COLUMNS]
)


def as_current(table: pa.Table, version: int) -> pa.Table | None:
    """Return a table of a schema version with NULL in the columns added since, in today's order.

    None where its columns are not those of a run. Of other kinds, as DuckDB gives them, they are
    converted: ArrowInvalid where that cannot be.
    """
    later = {c.name for c in COLUMNS if c.since > version}
    names = set(table.column_names)
    if not set(BY_NAME) - later <= names <= set(BY_NAME) or len(names) != table.num_columns:
        return None
    columns = [
        table[c.name] if c.name in names else pa.nulls(table.num_rows, c.type) for c in COLUMNS
    ]
    return pa.table(columns, names=[c.name for c in COLUMNS]).cast(ARROW_SCHEMA)


def has_kinds(table: pa.Table) -> bool:
    """Return whether the columns of a table have the types of a run's."""
    return all(f.name in BY_NAME and f.type == BY_NAME[f.name].type for f in table.schema)
