"""One result set that every page, answer, report and command can rest on, of either standing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from planner.store import commit_runs
from planner.store.sealed.result_set import NAME, set_text
from tests.store.build import row

MODEL: Final = "QuokkaNet"
SYSTEM: Final = "Zanzibar"
WORKLOAD: Final = "quokkanet-cifar-10-sgd-float32"
_SHARED: Final = {
    "result_set": "brought", "model": MODEL, "dataset": "CIFAR-10", "optimizer": "SGD",
    "precision": "float32", "system_name": SYSTEM, "accelerator_model_name": "A100 SXM4 80GB",
    "train_samples": 50_000, "samples_per_epoch": 50_000, "params": 25_000_000,
    "train_flops_per_sample": 25e9, "framework": "PyTorch",
}  # fmt: skip


def build(results: Path, standing: str, *, slug: str = "brought", faster: float = 1.0) -> Path:
    """The set: throughput on 1 to 4 devices, whole epochs, and trials to a target."""
    place = results / slug
    place.mkdir(parents=True)
    about = {"title": "Brought numbers", "licence": "CC0", "source": "a lab"}
    about |= {"standing": standing} if standing else {}
    (place / NAME).write_text(set_text(about), encoding="utf-8")
    commit_runs(place, [r | {"result_set": slug} for r in (*_timed(faster), *_trials())])
    return place


def _timed(faster: float) -> list[dict[str, Any]]:
    made = []
    for devices in (1, 2, 4):
        for batch in (64, 128, 256, 512):
            step_s = (0.02 + batch / (900.0 * devices) + 0.004 * (devices > 1)) / faster
            epoch_s = step_s * 50_000 / batch
            made.append(row(
                **_SHARED, accelerators_per_node=devices, global_batch_size=batch, step_s=step_s,
                throughput=batch / step_s, pre_train_s=5.0, first_epoch_s=epoch_s + 2.0,
                later_epoch_mean_s=epoch_s, later_epoch_sd_s=0.01 * epoch_s, epochs_measured=20,
            ))  # fmt: skip
    return made


def _trials() -> list[dict[str, Any]]:
    made = []
    for batch in (64, 128, 256, 512):
        for seed, rate in enumerate((0.05, 0.1, 0.2)):
            steps = int(2_000 * (1.0 + 256 / batch) * (1.0 + 0.2 * abs(seed - 1)))
            evaluations = [
                {"step": steps * k // 10, "samples": steps * k // 10 * batch, "value": value}
                for k, value in enumerate(
                    (0.8, 0.7, 0.6, 0.5, 0.45, 0.4, 0.36, 0.33, 0.31, 0.29), 1
                )
            ]
            made.append(row(
                **_SHARED, accelerators_per_node=1, global_batch_size=batch, seed=seed,
                learning_rate=rate, evaluation_metric="validation error",
                evaluation_higher_is_better=False, target_value=0.3, evaluations=evaluations,
                repeat=1 + seed,
            ))  # fmt: skip
    return made
