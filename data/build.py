"""Make the shipped result sets from the printed tables: `python data/build.py [OUT] [--check]`.

Every folder of `data/results` holds its set.toml and one sealed parquet file. That file follows
from its table and set.toml, byte for byte with the pinned pyarrow. Tables of the articles are
`data/tables/<slug>.csv`, as printed. Those of the library of published measurements are
`data/tables/published/<table>.tsv`, with the accelerators of `data/catalog`. `--check` writes
nothing, prints differences and then exits 1; `--counts` prints what became of the library's rows.

Units: seconds and samples. A printed h:mm:ss is a whole number of seconds, a printed mean has
one decimal: no number here is more precise.
"""

import argparse
import csv
import functools
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # a script in data/ does not see planner/ by itself

from planner.published import RunRecords, rows_of, run_records  # noqa: E402
from planner.runs import table_from_rows  # noqa: E402
from planner.store.catalog import read_catalog  # noqa: E402
from planner.store.sealed.commit import commit_table, compact_name  # noqa: E402
from planner.store.sealed.result_set import NAME, read_set  # noqa: E402

Cells = Mapping[str, str]
Row = dict[str, Any]

RESULTS: Final = HERE / "results"
TABLES: Final = HERE / "tables"
PUBLISHED: Final = TABLES / "published"
CATALOG: Final = HERE / "catalog"
RECORDED_AT: Final = datetime(2026, 11, 21, tzinfo=UTC)
"""Fixed, so that a table makes the same bytes on any day."""
PUBLISHED_AT: Final = datetime(2026, 11, 22, tzinfo=UTC)
"""Date when the tables of the library were read; fixed too."""
LATER: Final[Mapping[str, datetime]] = {
    "language-frameworks": datetime(2026, 11, 27, tzinfo=UTC),
    "vision-frameworks": datetime(2026, 11, 27, tzinfo=UTC),
    "language-projects": datetime(2026, 11, 28, tzinfo=UTC),
    "vision-projects": datetime(2026, 11, 28, tzinfo=UTC),
}
"""Sets whose table was read later, and its date."""

TRAIN_SAMPLES: Final = 50_000
"""CIFAR-100's training split [samples]."""

WIDERESNET: Final[Row] = {
    "model": "WideResNet-103M",
    "params": 103_465_028,
    "dataset": "CIFAR-100",
    "input_shape": "32x32x3",
    "optimizer": "Adam",
    "precision": "float32",
    "train_samples": TRAIN_SAMPLES,
    "validation_samples": 10_000,
    "provider": "Google Colab",
    "framework": "TensorFlow",
    "epochs_measured": 20,
}
SYSTEMS: Final[Mapping[str, Row]] = {
    "gpu": {
        "system_name": "GPU",
        "device_kind": "gpu",
        "accelerators_per_node": 1,
        "number_of_nodes": 1,
    },
    "tpu": {
        "system_name": "TPU v2-8",
        "device_kind": "tpu",
        "accelerator_model_name": "TPU v2",
        "accelerators_per_node": 1,
        "number_of_nodes": 1,
    },
}
NOTES: Final = {
    "gpu": "Colab GPU, 2018, model not stated.",
    "tpu": "Colab TPU, 2018; one v2-8 board counts as one accelerator.",
}
PRECISION: Final = "the article names none; its code leaves Keras at its default, float32"
BOARD: Final = (
    "one v2-8 board (8 cores) counts as one accelerator; the article says TPUv2, "
    "the number of cores is that of Colab's boards of the time"
)
FLOORED: Final = (
    "derived: floor(50000 / batch) steps of a full batch; the article says that "
    "fit_generator drops the rest"
)


def seconds(printed: str) -> int:
    """Return a printed h:mm:ss in seconds."""
    hours, minutes, rest = printed.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + int(rest)


def pattern_3(cells: Cells) -> Iterator[Row]:
    """Yield article 002's summary table (T, T, F), each number as printed [s]."""
    yield _on_colab(cells["device"], int(cells["batch"]), whole_batches=True) | {
        "sweep": "pattern-3",
        "validation": True,
        "augmentation": True,
        "storage": "memory",
        "workers": 1,
        "feed": "generator",
        "engine": "fit_generator",
        "pre_train_s": float(cells["pre"]),
        "first_epoch_s": float(cells["ep1"]),
        "later_epoch_mean_s": float(cells["mean"]),
        "later_epoch_sd_s": float(cells["sd"]),
        "total_s": float(seconds(cells["total"])),
        "note": NOTES[cells["device"]],
        "extra": _extra(cells["device"], samples_per_epoch=FLOORED, printed=dict(cells)),
    }


def projection(cells: Cells) -> Iterator[Row]:
    """Yield article 002's projected totals (T, T, T): measurements, solved from T10 and T20 [s].

    The printed T(N) is pre + ep1 + mean (N - 1), so mean = (T20 - T10) / 10 and
    pre + ep1 = T10 - 9 mean = (19 T10 - 9 T20) / 10. Rounding both to 0.5 s leaves an
    uncertainty of 0.1 s in the mean and about 1.4 s in pre + ep1.
    """
    t10, t20 = seconds(cells["10"]), seconds(cells["20"])
    yield _on_colab(cells["device"], int(cells["batch"]), whole_batches=True) | {
        "sweep": "pattern-8",
        "validation": True,
        "augmentation": True,
        "storage": "storage",
        "workers": 4,
        "multiprocessing": True,
        "feed": "generator",
        "engine": "fit_generator",
        "until_first_epoch_end_s": (19 * t10 - 9 * t20) / 10,
        "later_epoch_mean_s": (t20 - t10) / 10,
        "total_s": float(t20),
        "note": (
            "The article heads this table pattern 6 (1 worker), but its numbers are those of "
            f"pattern 8 (4 workers, processes): kept as pattern 8. {NOTES[cells['device']]}"
        ),
        "extra": _extra(
            cells["device"],
            samples_per_epoch=FLOORED,
            feed="ImageDataGenerator.flow_from_directory",
            later_epoch_mean_s="derived: (T20 - T10) / 10",
            until_first_epoch_end_s="derived: T10 - 9 means",
            printed=dict(cells),
        ),
    }


MODES: Final[Mapping[str, Row]] = {
    "mode1": {"feed": "fit", "engine": "fit"},
    "mode2": {"feed": "fit truncated", "engine": "fit"},
    "mode3": {"feed": "generator", "engine": "fit_generator"},
}
"""The article's modes 1, 2 and 3 of its table fit vs fit_generator."""


def feed(cells: Cells) -> Iterator[Row]:
    """Yield article 002's table fit vs fit_generator, TPU: mean of epochs 2 and later [s]."""
    for mode, factors in MODES.items():
        yield (
            _on_colab("tpu", int(cells["batch"]), whole_batches=mode != "mode1")
            | factors
            | {
                "sweep": "fit-or-generator",
                "validation": False,
                "augmentation": False,
                "storage": "memory",
                "workers": 1,
                "later_epoch_mean_s": float(cells[mode]),
                "note": f"Only the mean of epochs 2 and later is printed. {NOTES['tpu']}",
                "extra": _extra(
                    "tpu",
                    samples_per_epoch=_samples_in(mode),
                    validation="not stated for this table; the author's raw files hold none",
                    epochs_measured="not stated for this table; the experiment before had 20",
                    printed={"batch": cells["batch"], mode: cells[mode]},
                ),
            }
        )


def throughput(cells: Cells) -> Iterator[Row]:
    """Yield article 000's fits of v(b) = b / (b / v0 + t): v0 [images/s] and t [s]."""
    yield {
        "sweep": "devices",
        "model": "unnamed model",
        "system_name": "GPU",
        "device_kind": "gpu",
        "accelerators_per_node": int(cells["gpus"]),
        "number_of_nodes": 1,
        "peer_to_peer": {"": None, "no": False}[cells["peer_to_peer"]],
        "asymptotic_throughput": float(cells["v0"]),
        "overhead_s": float(cells["t"]),
        "note": "A published fit over several batch sizes, samples are images. "
        "GPU, model and data set are not named.",
        "extra": _json({"printed": dict(cells), "unit": "v0 in images/s, t in s"}),
    }


BATCH_OF: Final = "the article says batch size; whether of a process or of all is not stated"


def driver_or_workers(cells: Cells) -> Iterator[Row]:
    """Yield article 003's cases: a driver or 1 to 3 workers of 2 GPUs, without times.

    The article prints its times in figures only. Its text states which case was faster: `rank` is
    the place by epoch time at one batch, empty where the text states none; it is within `first` to
    `last` by what the text states of others.
    """
    workers, rank = int(cells["workers"]), cells["rank"]
    alone = cells["place"] == "driver"
    yield {
        "sweep": "driver-or-workers",
        "model": "ResNet-50",
        "dataset": "CIFAR-10",
        "input_shape": "32x32x3",
        "train_samples": 50_000,
        "system_name": "GPU",
        "device_kind": "gpu",
        "accelerators_per_node": int(cells["gpus"]) // workers,
        "number_of_nodes": workers,
        "provider": "Databricks",
        "framework": "PyTorch Lightning",
        "strategy": "Horovod",
        "launch": "driver only" if alone else "one process per worker",
        "sync": "synchronous",
        "global_batch_size": int(cells["batch"]),
        "validation": True,
        "epochs_planned": 10,
        "samples_per_epoch": 45_000,
        "validation_samples_per_epoch": 5_000,
        "note": "The times are in a figure only; the text states which case was faster. Every case "
        "is faster at a larger batch.",
        "extra": _json(
            {
                "global_batch_size": BATCH_OF,
                "printed": dict(cells),
                "samples_per_epoch": "90 % of 50000 train, 10 % validate after every epoch",
                **({"rank": int(rank)} if rank else {}),
                "places": [int(cells["first"]), int(cells["last"])],
            }
        ),
    }


SETS: Final[Mapping[str, Callable[[Cells], Iterator[Row]]]] = {
    "article-000-throughput": throughput,
    "article-002-feed": feed,
    "article-002-pattern-3": pattern_3,
    "article-002-projection": projection,
    "article-003-driver-or-workers": driver_or_workers,
}


LIBRARY: Final[Mapping[str, str]] = {
    "aws-neuron": "aws_neuron",
    "bloom": "bigscience_bloom",
    "detectron2": "detectron2_zoo",
    "flagperf": "flagperf",
    "flax-and-t5x": "flax_t5x",
    "language-frameworks": "language_frameworks",
    "language-model-repositories": "llm_misc",
    "language-projects": "language_projects",
    "llm-foundry": "llm_foundry",
    "maxtext": "maxtext",
    "megatron-bridge": "megatron_bridge",
    "megatron-lm": "megatron_lm",
    "milabench": "milabench_scaling",
    "mlperf-training": "mlperf_training",
    "mlperf-training-early": "mlperf_training_old",
    "modded-nanogpt": "modded_nanogpt",
    "nemo-automodel": "nemo_automodel",
    "nvidia-deep-learning-examples": "nvidia_dle",
    "optimum-habana": "optimum_habana_ci",
    "pytorch-gpu-benchmark": "pytorch_gpu_bench",
    "small-benchmarks": "small_benches",
    "timm": "timm_train_bench",
    "vision-frameworks": "vision_frameworks",
    "vision-projects": "vision_projects",
    "whole-jobs": "whole_jobs",
}
"""Result sets of the library of published measurements, and the table of each."""


def _on_colab(device: str, batch: int, *, whole_batches: bool) -> Row:
    """Return workload, system and steps of an epoch; the last step may be partial."""
    steps = TRAIN_SAMPLES // batch if whole_batches else -(-TRAIN_SAMPLES // batch)
    return {
        **WIDERESNET,
        **SYSTEMS[device],
        "global_batch_size": batch,
        "drop_remainder": whole_batches,
        "steps_per_epoch": steps,
        "samples_per_epoch": steps * batch if whole_batches else TRAIN_SAMPLES,
    }


def _samples_in(mode: str) -> str:
    return {
        "mode1": "all 50000; the last step is a partial batch",
        "mode2": "floor(50000 / batch) full batches, cut by the author as the article says",
        "mode3": FLOORED,
    }[mode]


def _extra(device: str, **facts: object) -> str:
    board = {"accelerators_per_node": BOARD} if device == "tpu" else {}
    return _json({"precision": PRECISION} | board | facts)


def _json(facts: Mapping[str, object]) -> str:
    return json.dumps(facts, ensure_ascii=False, sort_keys=True)


@functools.cache
def published(slug: str) -> RunRecords:
    """Return the runs of a set of the library, each with the source and licence of its row."""
    path = PUBLISHED / f"{LIBRARY[slug]}.tsv"
    table_rows, skipped = rows_of(path.read_text(encoding="utf-8"), path.name)
    if skipped:
        raise ValueError("\n".join(skipped))
    read_at = LATER.get(slug, PUBLISHED_AT)
    return run_records(table_rows, read_catalog(CATALOG).catalog, slug, read_at)


def rows(slug: str) -> list[Row]:
    """Return all runs of a set; sets outside the library have the set's source."""
    if slug in LIBRARY:
        return published(slug).rows
    about, problem = read_set(RESULTS / slug, "shipped")
    if problem:
        raise ValueError(f"{slug}/{NAME} {problem}")
    same = {
        "result_set": slug,
        "status": "ok",
        "basis": "published",
        "mode": "training",
        "source": about.source,
        "source_url": about.source_url or None,
        "licence": about.licence,
        "recorded_at": RECORDED_AT,
    }
    with (TABLES / f"{slug}.csv").open(encoding="utf-8", newline="") as file:
        return [row | same for cells in csv.DictReader(file) for row in SETS[slug](cells)]


def write(slug: str, folder: Path) -> Path:
    """Write the set's runs as one sealed file in `folder` (made if absent); return its path."""
    table = table_from_rows(rows(slug)).sort_by("run_id")
    folder.mkdir(parents=True, exist_ok=True)
    return commit_table(folder, compact_name(table["run_id"].to_pylist()), table)


def differing(folder: Path, fresh: Path) -> list[str]:
    """Return names that only one of `folder` and `fresh` has, or whose bytes differ."""
    names = {p.name for place in (folder, fresh) if place.is_dir() for p in place.iterdir()}
    return sorted(n for n in names if _bytes(folder / n) != _bytes(fresh / n))


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def replace(slug: str, folder: Path) -> None:
    """Write the set's current runs to `folder`; runs of an older table are removed.

    Committed files are never rewritten, so an old one is removed and a new one committed.
    """
    for old in folder.glob("*.parquet"):
        old.unlink()
    write(slug, folder)
    if folder != RESULTS / slug:
        (folder / NAME).write_bytes((RESULTS / slug / NAME).read_bytes())


def main() -> int:
    """Return 0 if all sets match their tables or were remade, 1 if `--check` finds differences."""
    args = _arguments()
    changed = []
    for slug in args.set or (*SETS, *LIBRARY):
        folder = args.out.resolve() / slug
        with tempfile.TemporaryDirectory() as fresh:
            write(slug, Path(fresh))
            (Path(fresh) / NAME).write_bytes((RESULTS / slug / NAME).read_bytes())
            names = differing(folder, Path(fresh))
        changed += [f"{slug}/{name}" for name in names]
        if names and not args.check:
            replace(slug, folder)
    verb = "differs from its table" if args.check else "remade"
    sys.stdout.writelines(f"{name}: {verb}\n" for name in changed)
    if args.counts:
        sys.stdout.writelines(f"{line}\n" for slug in LIBRARY for line in counts(slug))
    return int(args.check and bool(changed))


def counts(slug: str) -> Iterator[str]:
    """Yield what became of the rows of a table, one line each."""
    records = published(slug)
    yield f"{slug}: {len(records.rows):,} runs, {records.suspect} suspect"
    if records.earlier:
        yield f"    {records.earlier} duplicate rows left out (earlier releases or copies)"
    for reason, count in records.left_out.most_common():
        yield f"    {count} rows left out: {reason}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", nargs="?", type=Path, default=RESULTS, help="folder of result sets")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 on difference")
    parser.add_argument("--set", action="append", choices=[*SETS, *LIBRARY], metavar="SLUG",
                        help="make only this set; repeatable")  # fmt: skip
    parser.add_argument("--counts", action="store_true", help="print the row counts of all tables")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
