"""The installed program: a wheel in its own environment, from another folder."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import Final

import pytest

from epochwise.__main__ import absolute, folders

ROOT: Final = Path(__file__).parent.parent
LEFT_OUT: Final = {"docs", "tests", "requirements"}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    words = [
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, capture_output=True)
    [made] = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command `epochwise` of an environment that has only the wheel and its dependencies."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin" / "python"
    words = [
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        "--no-compile",
        str(wheel),
    ]  # a command compiles what it imports
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, capture_output=True)
    [site] = place.glob("lib/python3*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return place / "bin" / "epochwise"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder in which the commands run."""
    return tmp_path


def said(command: Path, home: Path, *words: str, code: int = 0) -> str:
    """What the command prints in a folder that holds nothing of ours."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("EPOCHWISE_", "PYTHON"))}
    places = {"XDG_DATA_HOME": str(home / "data"), "XDG_STATE_HOME": str(home / "state")}
    done = subprocess.run(
        [command, *words], cwd=home, env=kept | places, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_the_wheel_has_one_package_with_all_that_git_has_of_it(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.split("/")[0].split("-")[0] for name in names} == {"epochwise"}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this checkout has no git: what the wheel should hold is not known")
    held = {"api", "backtest", "data", "pages", "planner", "runners"}
    wanted = {f"epochwise/{n}" for n in listed.stdout.split() if n.split("/")[0] in held}
    assert wanted - names == set()
    assert {"epochwise/app.py", "epochwise/.streamlit/config.toml"} <= names


def test_a_question_is_answered_from_any_folder(command: Path, home: Path) -> None:
    assert "25 h 22 min" in said(command, home, "how-long")


def test_help_and_errors_name_the_installed_command(command: Path, home: Path) -> None:
    text = said(command, home, "runn", code=2)
    assert all(name in text for name in ("'app'", "'run'", "'how-long'", "'capacity'"))
    assert "See epochwise how-long --help." in said(command, home, "how-long", "--hlep", code=2)
    assert "See: epochwise --help" in said(command, home, "run", code=2)


def test_imported_runs_land_in_the_user_s_data_folder(command: Path, home: Path) -> None:
    (home / "log.csv").write_text(
        "model,dataset,system_name,device_kind,accelerators_per_node,number_of_nodes,precision,"
        "optimizer,global_batch_size,train_samples,samples_per_epoch,pre_train_s,first_epoch_s,"
        "later_epoch_mean_s,later_epoch_sd_s,epochs_measured,peak_memory_bytes\n"
        "m,d,s,gpu,1,1,float32,sgd,16,1000,1000,1.0,2.0,1.5,0.1,5,\n"
    )
    said(command, home, "import", "template", "log.csv", "--set", "mine", "--licence", "CC0")
    places = list((home / "data" / "epochwise" / "results" / "mine").iterdir())
    assert {p.suffix for p in places} == {".toml", ".parquet"}


def test_a_script_records_its_epochs_with_the_installed_package(command: Path, home: Path) -> None:
    script = """
from epochwise import EpochTimes, compare
with EpochTimes("mine", model="m", global_batch_size=2, samples_per_epoch=4) as times:
    for epoch in times.epochs(2):
        pass
print(compare.__name__)
"""
    (home / "train.py").write_text(script)
    python = command.parent / "python"
    assert "planner.compare" in said(python, home, "train.py")
    assert len(list((home / "mine").glob("*.parquet"))) == 1


def test_relative_folders_start_at_the_current_one(tmp_path: Path) -> None:
    made = folders({"EPOCHWISE_RESULTS": "runs", "XDG_DATA_HOME": "/var/data"}, tmp_path)
    assert made["EPOCHWISE_RESULTS"] == str(tmp_path / "runs")
    assert made["EPOCHWISE_SAVED"] == "/var/data/epochwise/saved"
    further = folders({"EPOCHWISE_FURTHER_RESULTS": f"a{os.pathsep}/b"}, tmp_path)
    assert further["EPOCHWISE_FURTHER_RESULTS"] == f"{tmp_path / 'a'}{os.pathsep}/b"
    words = ["run", "quick", "--results", "r", "--results=s", "--yes"]
    assert absolute(words, tmp_path) == [
        "run", "quick", "--results", str(tmp_path / "r"), f"--results={tmp_path / 's'}", "--yes"
    ]  # fmt: skip
