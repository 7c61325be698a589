"""The catalogue of hardware and prices as pages read it: shipped rows and this machine's own."""

import os
from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path
from typing import Final

from pages.common import kept
from pages.common.kept import ROOT
from planner.answers.comparison import stated_of
from planner.job import StatedTime
from planner.runs import TrialSet
from planner.store import Store
from planner.store.catalog import CatalogRead, catalog_stamps, own_folder, read_catalog

SHIPPED: Final = ROOT / "data" / "catalog"


def folder() -> Path:
    """Return the folder of this machine's own catalogue rows."""
    return kept.once_a_run("own catalogue", lambda: own_folder(ROOT, os.environ))


def catalog() -> CatalogRead:
    """Return the shipped catalogue with this machine's own rows, cached until a file changes."""
    return _read(SHIPPED, folder(), *stamps())


@lru_cache(maxsize=2)
def _read(shipped: Path, own: Path, *_: Hashable) -> CatalogRead:
    return read_catalog(shipped, [own])


def stated(shared: Store, of: TrialSet, target: float) -> tuple[StatedTime, ...]:
    """Return `planner.answers.comparison.stated_of` these trials, cached until one changes."""
    version = kept.trials_version(shared, of)
    question = ("stated", of, target, SHIPPED, folder(), *stamps())
    return shared.kept.once(
        question, lambda: stated_of(shared, catalog().catalog, of, target), version
    )


def stamps() -> tuple[Hashable, ...]:
    """Return what changes when a file of the catalogue changes."""
    places = SHIPPED, folder()
    return kept.once_a_run(("stamps", places), lambda: catalog_stamps(places))
