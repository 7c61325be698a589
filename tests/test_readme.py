"""What README shows is run as it stands: its Python and its commands."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Final

import pytest

from planner.answers import curve_answered, how_long_answered
from planner.published import read_rows
from tests.fork_server import executable
from tests.shipped import ROOT, library
from tests.store.build import opened

BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS: Final = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
PYTHON: Final = [text for kind, text in BLOCKS if kind == "python"]
COMMANDS: Final = [
    line
    for kind, text in BLOCKS
    for line in text.replace("\\\n", " ").splitlines()
    if not kind and line.startswith(".venv/bin/python -m planner")
]


def _run(words: list[str], place: Path) -> subprocess.CompletedProcess[str]:
    """A Python of the environment in a folder of one's own, with the repository's packages."""
    answer = {**os.environ, "PYTHONPATH": str(ROOT), "EPOCHWISE_RESULTS": str(place / "results")}
    command = [executable("planner"), *words]
    return subprocess.run(
        command, cwd=place, env=answer, capture_output=True, text=True, check=False
    )


def test_there_is_something_to_run() -> None:
    assert len(PYTHON) >= 2
    assert len(COMMANDS) >= 5


def test_the_run_it_adds_is_answered_everywhere(tmp_path: Path) -> None:
    [snippet] = [text for text in PYTHON if "commit_runs" in text]
    assert _run(["-c", snippet], tmp_path).returncode == 0
    store = opened(tmp_path / "results")
    assert store.refused == ()
    total = how_long_answered(store, {}).result
    assert total is not None
    assert "2000 epochs of ResNet-50 at batch 256 on RTX 4090" in total.sentence
    [curve] = curve_answered(store, {}).chosen
    assert curve.step_s.tolist() == pytest.approx([18.2 * 256 / 50_000])


def test_the_comparison_in_one_call_prints_a_sentence_and_its_options(tmp_path: Path) -> None:
    [snippet] = [text for text in PYTHON if "planner.compare(" in text]
    done = _run(["-c", snippet], tmp_path)
    assert done.returncode == 0, done.stderr
    first, *options = done.stdout.splitlines()
    assert "finishes 100 million tokens of Llama 3 8B" in first
    assert len(options) >= 3
    assert any("Rent 8 x H100" in line and "Estimate(" in line for line in options)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_answer(command: str, tmp_path: Path) -> None:
    if ".store export" in command or ".store compact" in command:
        (tmp_path / "results").mkdir()
    (tmp_path / "logo.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/>'
        "</svg>"
    )
    jobs = ROOT / "planner" / "capacity" / "presets" / "fine-tuning.csv"
    (tmp_path / "jobs.csv").write_bytes(jobs.read_bytes())
    if "backtest DIR" in command:
        pytest.skip("needs a folder of public data sets")
    words = shlex.split(command, comments=True)[1:]
    words = [w.replace("offer.pdf", "offer.html") for w in words]  # a PDF needs Chromium
    done = _run(words, tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_published_runs_are_as_many_as_the_page_says() -> None:
    query = """SELECT count(*), count(DISTINCT workload), count(DISTINCT result_set)
        FROM runs WHERE repository IS NOT NULL"""
    [(runs, workloads, sets)] = library().rows(query)
    assert sets == 25
    counts = f"Twenty-five result sets of published measurements, {runs:,} runs of {workloads:,}"
    assert counts in (ROOT / "README.md").read_text(encoding="utf-8").replace("\n", " ")


def test_the_rows_of_published_tables_are_as_many_as_the_page_says() -> None:
    rows, skipped = read_rows(ROOT / "data" / "tables" / "published")
    assert skipped == []
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [(count, runs)] = re.findall(r"Of the ([\d,]+) rows of their tables ([\d,]+) become", readme)
    assert count == f"{len(rows):,}"
    assert f"published measurements, {runs} runs of" in readme.replace("\n", " ")
