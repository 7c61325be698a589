"""What is installed is pinned, equal everywhere, and comes from the ordinary index."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
PRODUCT: Final = ROOT / "requirements.txt"
APP: Final = ROOT / "requirements" / "app.txt"
DEV: Final = ROOT / "requirements" / "dev.txt"
JAX: Final = ROOT / "requirements" / "jax.txt"
TPU: Final = ROOT / "requirements" / "tpu.txt"
LIVE: Final = ROOT / "requirements" / "live-prices.txt"
SPARK: Final = ROOT / "requirements" / "spark.txt"
RAY: Final = ROOT / "requirements" / "ray.txt"
S3: Final = ROOT / "requirements" / "s3.txt"
S3_SERVERS: Final = ROOT / "requirements" / "s3-servers.txt"
CONSTRAINTS: Final = ROOT / "requirements" / "constraints.txt"
EVERY: Final = (PRODUCT, APP, DEV, JAX, TPU, LIVE, SPARK, RAY, S3, S3_SERVERS, CONSTRAINTS)
CARD: Final = {"streamlit", "plotly", "pandas", "scipy", "tensorflow", "duckdb"}
PIN: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([0-9][A-Za-z0-9.]*)")
each_file = pytest.mark.parametrize("path", EVERY, ids=lambda p: p.name)


def _lines(path: Path) -> list[str]:
    """Lines that say something, without comments."""
    said = [line.split(" #")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in said if line and not line.startswith("#")]


def _pins(path: Path) -> dict[str, str]:
    """Normalised name -> version, of every line that is no option."""
    found = {}
    for line in _lines(path):
        if not line.startswith("-"):
            match = PIN.fullmatch(line)
            assert match, f"{path.name}: {line!r} is not name==version"
            found[re.sub(r"[-_.]+", "-", match[1]).lower()] = match[2]
    return found


@each_file
def test_every_version_is_exact(path: Path) -> None:
    assert _pins(path)


@each_file
def test_no_line_names_an_index_or_an_address(path: Path) -> None:
    for line in _lines(path):
        assert "://" not in line
        assert not line.startswith("-") or line.split()[0] in {"-c", "-r"}


@each_file
def test_no_package_is_named_twice(path: Path) -> None:
    named = [line for line in _lines(path) if not line.startswith("-")]
    assert len(named) == len(_pins(path))


def test_requirements_txt_holds_what_the_product_is_built_of() -> None:
    assert _pins(PRODUCT).keys() >= CARD


def test_the_app_alone_is_the_same_without_tensorflow() -> None:
    product = _pins(PRODUCT)
    del product["tensorflow"]
    assert _pins(APP) == product


def test_both_lists_are_held_to_the_same_constraints() -> None:
    assert "-c requirements/constraints.txt" in _lines(PRODUCT)
    assert "-c constraints.txt" in _lines(APP)
    assert "-r ../requirements.txt" in _lines(DEV)


def test_no_two_files_ask_for_two_versions_of_one_package() -> None:
    seen: dict[str, str] = {}
    for path in EVERY:
        for name, version in _pins(path).items():
            assert seen.setdefault(name, version) == version, name


def test_what_is_installed_here_is_what_is_pinned() -> None:
    pins = {n: v for path in EVERY for n, v in _pins(path).items()}
    here = {re.sub(r"[-_.]+", "-", d.name).lower(): d.version for d in metadata.distributions()}
    assert {n: v for n, v in here.items() if n in pins} == {n: pins[n] for n in here if n in pins}


@pytest.mark.parametrize("path", [PRODUCT, RAY], ids=lambda p: p.name)
def test_everything_that_is_pulled_in_is_pinned_too(path: Path) -> None:
    """The closure of a list, as the installed packages report it (this Python, Linux)."""
    pins = _pins(PRODUCT) | _pins(RAY) | _pins(CONSTRAINTS)
    waiting, seen = list(_pins(path)), set()
    while waiting:
        name = waiting.pop()
        if name in seen or not _installed(name):
            continue
        seen.add(name)
        waiting += _needs(name)
    assert {n for n in seen if n not in pins and n not in {"pip", "setuptools", "wheel"}} == set()


def _installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _needs(name: str) -> list[str]:
    """Names a package needs always; extras are left to whoever asks for them."""
    result = metadata.requires(name) or []
    plain = [t for t in result if "extra ==" not in t]
    return [re.sub(r"[-_.]+", "-", m[0]).lower() for t in plain if (m := re.match(r"[\w.-]+", t))]


def test_python_3_11_to_3_13_are_welcome() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">=3.11,<3.14"


def test_the_wheel_needs_what_the_product_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = dict(line.split("==") for line in project["project"]["dependencies"])
    assert {re.sub(r"[-_.]+", "-", name).lower(): v for name, v in listed.items()} == _pins(PRODUCT)
    assert project["build-system"]["requires"] == [f"hatchling=={_pins(DEV)['hatchling']}"]
