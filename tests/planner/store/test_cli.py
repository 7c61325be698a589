"""`python -m planner.store compact|verify|export`: what it says and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from planner.store.__main__ import SHIPPED, main
from tests.faults.outcomes import FULL
from tests.store.build import a_set, folder, listed, row, rows

ROOT = Path(__file__).resolve().parents[3]


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, list[str]]:
    """Exit code and lines of one command."""
    code = main([str(w) for w in words])
    return code, capsys.readouterr().out.splitlines()


def test_compact_says_what_it_merged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = a_set(tmp_path, rows(3))
    code, lines = said(capsys, "compact", "--folder", tmp_path)
    assert (code, lines) == (0, [f"{place}: 3 files -> 1 (3 runs, {listed(place)[0]})"])


def test_compact_twice_has_nothing_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = a_set(tmp_path, rows(3))
    said(capsys, "compact", "--folder", tmp_path)
    code, lines = said(capsys, "compact", "--folder", tmp_path)
    assert (code, lines) == (0, [f"{place}: nothing to merge (1 good files)"])


def test_compact_names_what_it_left_alone_and_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = a_set(tmp_path, rows(2))
    (place / "empty.parquet").touch()
    code, lines = said(capsys, "compact", "--folder", tmp_path)
    assert code == 1
    assert lines[0].startswith(f"{place}: left alone: empty.parquet is empty (0 bytes)")
    assert lines[1].startswith(f"{place}: 2 files -> 1 (2 runs, compact-")


def test_compact_goes_on_with_the_next_set_where_one_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = (a_set(tmp_path, rows(2), slug=slug) for slug in ("a", "b"))
    real = os.link

    def link(source: Path, target: Path) -> None:
        if target.parent == bad:
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "link", link)
    code, lines = said(capsys, "compact", "--folder", tmp_path)
    assert code == 1
    assert f"{bad}: [Errno 28] disk full at {bad}: 0 of 2 runs are saved" in lines[0]
    assert lines[1].startswith(f"{good}: 2 files -> 1")


def test_compact_never_touches_the_shipped_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHWISE_RESULTS", str(tmp_path))
    before = sorted(SHIPPED.rglob("*"))
    assert said(capsys, "compact") == (0, [])
    code, lines = said(capsys, "compact", "--folder", SHIPPED)
    assert (code, lines) == (1, [f"{SHIPPED} is shipped with the product and is not changed."])
    assert sorted(SHIPPED.rglob("*")) == before


def test_compact_takes_the_folders_of_the_app(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own, further = a_set(tmp_path / "own", rows(2)), a_set(tmp_path / "further", rows(2))
    monkeypatch.setenv("EPOCHWISE_RESULTS", str(tmp_path / "own"))
    monkeypatch.setenv("EPOCHWISE_FURTHER_RESULTS", str(tmp_path / "further"))
    code, lines = said(capsys, "compact")
    assert code == 0
    assert [line.split(":")[0] for line in lines] == [str(own), str(further)]


def test_verify_ends_with_0_where_all_is_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_set(tmp_path, rows(3))
    assert said(capsys, "verify", "--folder", tmp_path) == (0, ["3 files, 3 runs, 0 problems"])


def test_verify_names_every_problem_and_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = a_set(tmp_path, rows(3))
    (place / "empty.parquet").touch()
    (place / "x.parquet").mkdir()
    code, lines = said(capsys, "verify", "--folder", tmp_path)
    assert code == 1
    assert lines == [
        f"{place / 'empty.parquet'}: is empty (0 bytes): its writer was cut off. Delete it.",
        f"{place / 'x.parquet'}: is a folder, not a file. Move it out of the result set.",
        "5 files, 3 runs, 2 problems",
    ]


def test_verify_names_both_places_of_a_run_with_two_sets_of_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    a_set(tmp_path / "own", [row(step_s=1.0)])
    other = a_set(tmp_path / "further", [row(step_s=2.0)], slug="theirs")
    monkeypatch.setenv("EPOCHWISE_RESULTS", str(tmp_path / "own"))
    monkeypatch.setenv("EPOCHWISE_FURTHER_RESULTS", str(tmp_path / "further"))
    monkeypatch.setenv("EPOCHWISE_SHIPPED_RESULTS", str(a_set(tmp_path / "shipped").parent))
    for words in ((), ("--folder", tmp_path / "further")):
        code, (problem, total) = said(capsys, "verify", *words)
        assert code == 1
        assert problem.startswith(f"{other / listed(other)[0]}: same run, other numbers, in yours:")
        assert total.endswith(" 1 problems")


def test_verify_finds_a_shipped_run_with_other_numbers_in_a_further_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [source] = sorted((SHIPPED / "article-000-throughput").glob("*.parquet"))[:1]
    fake = {n: v for n, v in pq.read_table(source).to_pylist()[0].items() if v is not None}
    fake["asymptotic_throughput"] *= 2.0
    place = a_set(tmp_path, [fake], slug="article-000-throughput")
    code, lines = said(capsys, "verify", "--folder", tmp_path)
    assert code == 1
    assert lines[0].startswith(f"{place}/")
    assert "same run, other numbers, in shipped: article-000-throughput/" in lines[0]


def test_the_shipped_results_verify(capsys: pytest.CaptureFixture[str]) -> None:
    """`make test` takes the measured sets: tests/data has the seals of all."""
    place = SHIPPED if FULL else os.environ["EPOCHWISE_SHIPPED_RESULTS"]
    code, lines = said(capsys, "verify", "--folder", place)
    assert code == 0
    assert lines[-1].endswith("0 problems")


def test_export_says_how_many_runs_went_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_set(tmp_path / "in", rows(3))
    out = tmp_path / "runs.duckdb"
    code, lines = said(capsys, "export", "--folder", tmp_path / "in", out)
    assert (code, lines) == (0, [f"3 runs -> {out}"])


def test_export_does_not_write_over_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "runs.duckdb"
    out.touch()
    code, lines = said(capsys, "export", "--folder", tmp_path, out)
    assert (code, lines) == (1, [f"{out} exists. Name another file or remove it first."])


def test_export_into_nowhere_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_set(tmp_path / "in", [row()])
    out = tmp_path / "no" / "such" / "runs.duckdb"
    code, lines = said(capsys, "export", "--folder", tmp_path / "in", out)
    assert code == 1
    assert "no/such" in lines[0]


@pytest.mark.parametrize("command", ["compact", "verify"])
def test_a_folder_that_is_not_there_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    missing = folder(tmp_path / "missing").path
    code, lines = said(capsys, command, "--folder", missing)
    assert (code, lines) == (1, [f"{missing} is not a folder. Name a folder with result sets."])


@pytest.mark.parametrize("words", [(), ("tidy",), ("export",), ("verify", "--deep")])
def test_wrong_words_end_with_2(words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert ended.value.code == 2


def test_the_command_runs_as_a_program(tmp_path: Path) -> None:
    a_set(tmp_path, rows(2))
    command = [sys.executable, "-m", "planner.store", "verify", "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "2 files, 2 runs, 0 problems\n")
