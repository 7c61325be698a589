"""MLPerf's reference convergence points, read from an installed package's data files.

`mlperf-logging` has them as JSON beside its code. Only the files are read, which takes 10 ms:
importing the code takes 0.8 s (docs/decisions/0016).
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from planner.time_to_target._reference_points import Point, ReferencePoints

PACKAGE: Final = "mlperf-logging"
MISSING: Final = (
    f"MLPerf's reference convergence points are unavailable: the package {PACKAGE} is not "
    f"installed. Run pip install {PACKAGE}."
)
_FOLDER: Final = re.compile(r"(training|hpc)_(\d+)\.(\d+)\.\d+")
_LISTS: Final = ("Epochs to converge", "samples to converge")
_MOST_BYTES: Final = 1_000_000
"""A file of points has 2 to 10 kB; a larger one is not such a file."""


@cache
def read_points(package: str = PACKAGE) -> ReferencePoints:
    """Return all points of the installed package; none, with the reason, without it."""
    try:
        installed = metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return ReferencePoints(points=(), problem=MISSING)
    place = Path(str(installed.locate_file("mlperf_logging/rcp_checker")))
    about = installed.metadata
    return _read(place, installed.version, about["License"] or "", about["Home-page"] or "")


def _read(place: Path, version: str, licence: str, source: str) -> ReferencePoints:
    points: list[Point] = []
    unreadable: list[str] = []
    for path in sorted(place.glob("*/rcps_*.json")):
        try:
            points += _points(path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
            unreadable.append(f"{path.parent.name}/{path.name}: {fault}")
    problem = "" if points else f"{PACKAGE} {version} has no reference convergence points."
    return ReferencePoints(
        points=tuple(points),
        version=version,
        licence=licence,
        source=source,
        unreadable=tuple(unreadable),
        problem=problem,
    )


def _points(path: Path) -> list[Point]:
    """Return the points of one file; its folder names suite and round."""
    folder = _FOLDER.fullmatch(path.parent.name)
    if folder is None:
        raise ValueError("its folder does not name a suite and round")
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError("it is too large for a list of points")
    records: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    suite, when = folder[1], (int(folder[2]), int(folder[3]))
    return [_point(suite, when, record) for record in records.values()]


def _point(suite: str, when: tuple[int, int], record: dict[str, Any]) -> Point:
    name = _LISTS[_LISTS[0] not in record]
    recipe = record.get("Hyperparams") or {}
    values = tuple(float("inf") if v is None else float(v) for v in record[name])
    if not values:
        raise ValueError("a list has no value")
    rate = recipe.get("opt_base_learning_rate", recipe.get("opt_lr"))
    return Point(
        suite=suite,
        round=when,
        benchmark=str(record["Benchmark"]),
        batch=int(record["BS"]),
        values=values,
        in_samples=name == _LISTS[1],
        learning_rate=float("nan") if rate is None else float(rate),
        precision=str(record.get("Precision") or ""),
    )
