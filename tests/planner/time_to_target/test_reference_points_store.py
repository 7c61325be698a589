"""The reference points of an installed package, a broken one and none."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from planner.time_to_target import PACKAGE, _reference, read_points
from planner.time_to_target._reference import MISSING

POINT = {
    "Benchmark": "resnet",
    "BS": 4096,
    "Hyperparams": {"opt_base_learning_rate": 11.5},
    "Epochs to converge": [40, 41, None],
}


def made(place: Path, **files: str) -> Path:
    """A folder as the package has it; file names with the folder before a double underscore."""
    for name, text in files.items():
        folder, file = name.split("__")
        path = place / folder.replace("v", ".") / f"rcps_{file}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return place


def test_a_package_that_is_not_installed_is_reported_with_what_brings_it() -> None:
    read = read_points("a-package-that-does-not-exist")
    assert read.points == ()
    assert read.problem == MISSING
    assert f"pip install {PACKAGE}" in MISSING


def test_a_point_is_read_with_its_round_its_recipe_and_its_seeds(tmp_path: Path) -> None:
    place = made(tmp_path, training_4v1v0__resnet=json.dumps({"a": POINT}))
    read = _reference._read(place, "1.0", "Apache 2.0", "https://example.org")
    [point] = read.points
    assert (point.suite, point.round, point.benchmark, point.batch) == (
        "training", (4, 1), "resnet", 4096
    )  # fmt: skip
    assert point.values == (40.0, 41.0, float("inf"))
    assert point.learning_rate == 11.5
    assert not point.in_samples
    assert (read.version, read.licence, read.problem) == ("1.0", "Apache 2.0", "")


@pytest.mark.parametrize(
    "text",
    ["no JSON", "[]", '{"a": 5}', '{"a": {"BS": 5}}', '{"a": {"Benchmark": "x", "BS": "y"}}'],
)
def test_an_unreadable_file_is_named_and_the_others_are_read(tmp_path: Path, text: str) -> None:
    good = json.dumps({"a": POINT | {"samples to converge": [5]}})
    place = made(tmp_path, training_4v1v0__resnet=good, training_5v0v0__odd=text)
    read = _reference._read(place, "1.0", "", "")
    assert len(read.points) == 1
    assert len(read.unreadable) == 1
    assert read.unreadable[0].startswith("training_5.0.0/rcps_odd.json: ")


def test_folders_that_name_no_round_and_files_too_large_are_not_read(tmp_path: Path) -> None:
    place = made(tmp_path, elsewhere__odd="{}", training_4v1v0__big=" " * 1_000_001)
    read = _reference._read(place, "1.0", "", "")
    assert len(read.unreadable) == 2
    assert read.problem == f"{PACKAGE} 1.0 has no reference convergence points."


def test_the_package_is_read_without_importing_its_code() -> None:
    program = (
        "import sys; from planner.time_to_target._reference import read_points; read_points();"
        "print('mlperf_logging' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_the_pinned_version_is_the_one_that_is_read() -> None:
    try:
        version = metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{PACKAGE} is not installed")
    assert read_points().version == version
