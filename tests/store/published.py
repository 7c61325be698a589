"""Twelve thousand made-up runs in the shape of published tables, to see pages stay pleasant.

1,000 workloads on 70 accelerators, each with speeds by batch size or by device count, as tables
print them: no single epochs, often no size of the data set, many sources. The numbers follow the
throughput law with 3 % noise; nothing here was measured.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from planner.store import Store, folders_from_environment
from planner.store.catalog import read_catalog
from planner.store.disk.folders import OWN
from tests.shipped import ROOT
from tests.store.build import a_set, together

RUNS: Final = 12_000
WORKLOADS: Final = 1_000
ACCELERATORS: Final = 70
MADE_UP: Final = "made-up-published"
"""Name of the result set."""
WHEN: Final = datetime(2026, 3, 1, tzinfo=UTC)
SOURCES: Final = 12
PRECISIONS: Final = ("float32", "mixed_float16", "mixed_bfloat16", "float8")
SUBJECTS: Final = (
    ("Llama {} {}B", "C4", "dense", 0.35),
    ("Mixtral {} 8x{}B", "C4", "moe", 0.05),
    ("BERT {} {}M", "Wikipedia", "encoder", 0.05),
    ("ConvNeXt {} v{}", "ImageNet", "cnn", 0.2),
    ("ViT {} /{}", "ImageNet", "vit", 0.15),
    ("Stable Diffusion {}.{}", "LAION", "diffusion", 0.05),
    ("Whisper {} {}", "LibriSpeech", "speech", 0.05),
    ("DLRM {} {}", "Criteo", "recommender", 0.05),
    ("GNN {} {}", "IGBH", None, 0.05),
)
"""Name, data set, family as the record states it, and share of the workloads."""


def records() -> list[dict[str, Any]]:
    """Return the rows of all runs; the same every time."""
    draw, names = np.random.default_rng(20260301), accelerators()
    return [
        workload | _measured(place, n, names, draw)
        for place, workload in enumerate(_workloads())
        for n in range(RUNS // WORKLOADS)
    ]


def accelerators() -> list[str]:
    """Return the names of the first accelerators of the shipped catalogue."""
    known = read_catalog(ROOT / "data" / "catalog", []).catalog.accelerators
    return [a.name for a in known if a.kind != "cpu"][:ACCELERATORS]


def make(root: Path) -> Path:
    """Write the runs as one result set under `root`; return its folder."""
    place = a_set(root, slug=MADE_UP)
    together(place, records())
    return place


@functools.cache
def store() -> Store:
    """Return the shipped results and these, read once for all tests of a process."""
    root = Path(tempfile.mkdtemp(prefix="published-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    make(root)
    known = Store(folders_from_environment(ROOT, {OWN: str(root)}))
    known.refresh()
    return known


def _workloads() -> Iterator[dict[str, Any]]:
    counts = [round(share * WORKLOADS) for *_, share in SUBJECTS]
    for (name, dataset, family, _), count in zip(SUBJECTS, counts, strict=True):
        for n in range(count):
            yield {
                "model": name.format(n // 20 + 1, n % 20 + 1),
                "dataset": dataset,
                "family": family,
                "precision": PRECISIONS[n % len(PRECISIONS)],
                "train_samples": 1_281_167 if n % 3 == 0 else None,
            }


def _measured(place: int, n: int, names: list[str], draw: np.random.Generator) -> dict[str, Any]:
    """One run: three batch sizes on each of four systems of a workload."""
    system, size = divmod(n, 3)
    accelerator = (7 * place + 11 * system) % ACCELERATORS
    devices = 8 ** (system % 3)
    per_device = 4 ** (size + 1)
    batch = per_device * devices
    v0 = (200.0 + 40.0 * accelerator) * devices**0.95
    step_s = (0.02 + batch / v0) * float(draw.lognormal(0.0, 0.03))
    source = place % SOURCES
    return {
        "result_set": MADE_UP,
        "status": "ok",
        "basis": "published",
        "recorded_at": WHEN,
        "source": f"Source {source}",
        "source_url": f"https://example.org/tables/{source}",
        "repository": f"example.org/tables-{source}",
        "published_on": f"2025-{source + 1:02}",
        "licence": ("Apache-2.0", "MIT", "CC-BY-4.0")[source % 3],
        "system_name": names[accelerator],
        "accelerator_model_name": names[accelerator],
        "accelerators_per_node": min(devices, 8),
        "number_of_nodes": max(devices // 8, 1),
        "device_kind": "gpu",
        "mode": "training",
        "global_batch_size": batch,
        "step_s": step_s,
        "throughput": batch / step_s,
        "peak_memory_bytes": int(2e9 + 4e7 * per_device),
    }
