"""A writer process: `python -m tests.load.writer FOLDER RUNS_PER_S`, until it is ended.

Commits one run after the other, in turn of a workload that many people look at and of an
unopened one, and says the path of each on a line once it is safe.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from planner.store import commit_runs

BEGAN: Final = datetime(2026, 11, 1, tzinfo=UTC)
SETS: Final = ("load-busy", "load-quiet")
BUSY: Final = {
    "model": "WideResNet-2M",
    "dataset": "synthetic CIFAR-100",
    "optimizer": "Adam",
    "precision": "float32",
}
"""A shipped workload: its runs are shown beside those that are written."""
QUIET: Final = {"model": "Quiet network", "dataset": "digits", "precision": "float32"}


def case(number: int) -> dict[str, Any]:
    """Run `number`; all its figures follow from the number."""
    batch = 32 << number // 2 % 6
    epoch_s = 40.0 + batch / 100 + number % 7 / 10
    return {
        **(QUIET if number % 2 else BUSY),
        "result_set": SETS[number % 2],
        "repeat": number,
        "status": "ok",
        "basis": "measured",
        "recorded_at": BEGAN + timedelta(seconds=number),
        "system_name": f"Load machine {number // 12 % 4}",
        "device_kind": "cpu",
        "mode": "training",
        "validation": False,
        "augmentation": False,
        "storage": "memory",
        "workers": 1,
        "feed": "PyDataset",
        "jit": False,
        "engine": "fit",
        "global_batch_size": batch,
        "pre_train_s": 4.0,
        "first_epoch_s": epoch_s + 3.0,
        "later_epoch_mean_s": epoch_s,
        "later_epoch_sd_s": 0.2,
        "epochs_measured": 5,
        "steps_per_epoch": 50_000 // batch,
        "samples_per_epoch": 50_000,
    }


def begin(folder: Path) -> None:
    """Make both result sets, without a run."""
    for name in SETS:
        (folder / name).mkdir(parents=True)
        about = f'title = "{name}"\nlicence = "CC0-1.0"\nsource = "made for a test"\n'
        (folder / name / "set.toml").write_text(about, encoding="utf-8")


def main(folder: Path, runs_per_s: float) -> None:
    """Write for ever."""
    began = time.monotonic()
    number = 0
    while True:
        time.sleep(max(0.0, began + number / runs_per_s - time.monotonic()))
        row = case(number)
        [done] = commit_runs(folder / row["result_set"], [row])
        sys.stdout.write(f"{done.path}\n")
        sys.stdout.flush()
        number += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
