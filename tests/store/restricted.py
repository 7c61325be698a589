"""Two result sets: one that everyone sees, one for a group, with names that occur nowhere else."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path
from typing import Final

from planner.store import commit_runs
from planner.store.disk.access import Access, set_access
from planner.store.sealed.result_set import NAME, set_text
from tests.store.build import row

TEAM: Final = "vision-team"
SLUG: Final = "quokka-set"
MARKS: Final = ("quokka", "zanzibarchip", "secretariat")
"""What must not leave the group, in small letters: slug, network, system, title."""


def build(results: Path, access: Access | None = None) -> Path:
    """Both sets; `access` is by default the group's, for ever."""
    shutil.copytree(_committed() / "open-set", results / "open-set")
    return build_restricted(results, access)


def build_restricted(results: Path, access: Access | None = None) -> Path:
    """The restricted set; its access is written first."""
    place = results / SLUG
    set_access(place, access or Access(groups=frozenset({TEAM})))
    shutil.copytree(_committed() / SLUG, place, dirs_exist_ok=True)
    return place


@functools.cache
def _committed() -> Path:
    """Both sets as they were committed once: to commit them takes ten times as long as a copy."""
    place = Path(tempfile.mkdtemp(prefix="epochwise-restricted-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    _set(place / "open-set", "Open numbers", model="OpenNet", system_name="OpenBox")
    _set(place / SLUG, "Secretariat numbers", model="QuokkaNet", system_name="ZanzibarChip")
    return place


def _set(place: Path, title: str, *, model: str, system_name: str) -> None:
    changes = {
        "model": model, "dataset": "CIFAR-10", "system_name": system_name,
        "accelerator_model_name": system_name, "accelerators_per_node": 1,
        "samples_per_epoch": 50_000, "epochs_measured": 20, "pre_train_s": 2.0,
        "result_set": place.name,
    }  # fmt: skip
    runs = [
        row(**changes, global_batch_size=b, first_epoch_s=60.0 / b**0.5 + 3.0,
            later_epoch_mean_s=60.0 / b**0.5, later_epoch_sd_s=0.1)
        for b in (32, 64, 128, 256)
    ]  # fmt: skip
    commit_runs(place, runs)
    about = {"title": title, "licence": "CC0", "source": f"{title} of a lab"}
    (place / NAME).write_text(set_text(about))


def leaks(text: str) -> list[str]:
    """The marks that a text has."""
    small = text.lower()
    return [mark for mark in MARKS if mark in small]
