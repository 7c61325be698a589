"""Tables of jobs: files, pasted cells and texts; every problem with row, column, rule and fix."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from planner.answers.capacity_jobs import (
    BY_NAME,
    TITLES,
    JobTable,
    cells_of,
    job_of_text,
    job_text,
    jobs_csv,
    presets,
    read_jobs,
    text_cells,
)
from planner.capacity import CapacityAnswer, JobRow
from planner.core import Estimate
from planner.report import capacity as plan

GOOD = """name,network,total_tokens,runs,within,interruptible
Fine-tune,llama-3-8b,100M,120,4,no
Adapters,llama-3-8b,20M,400,8,yes
"""


def test_a_table_is_read_with_commas_semicolons_and_tabs() -> None:
    table = read_jobs(GOOD)
    assert table.problems == ()
    assert [j.runs_a_month for j in table.jobs] == [120.0, 400.0]
    assert [j.interruptible for j in table.jobs] == [False, True]
    for separator in (";", "\t"):
        assert read_jobs(GOOD.replace(",", separator)) == table
    assert read_jobs("\ufeff" + GOOD.replace("\n", "\r\n")) == table


def test_heads_may_be_those_of_a_spreadsheet() -> None:
    table = read_jobs("Job\tNetwork\tTotal tokens\tRuns a month\tMust finish within (h)\tSpot\n"
                      "A\tllama-3-8b\t20M\t9\t2 days\tyes\n")  # fmt: skip
    assert table.problems == ()
    assert (table.jobs[0].runs_a_month, table.jobs[0].within_h) == (9.0, 48.0)


def test_every_head_that_is_shown_or_written_is_read_back() -> None:
    """The page shows titles, files have names, and a file of an answer has its columns too."""
    assert len({t.lower() for t in TITLES.values()}) == len(TITLES) == len(BY_NAME)
    cells = {name: "A" if name == "name" else "llama-3-8b" if name == "network" else ""
             for name in TITLES}  # fmt: skip
    for heads in (TITLES.values(), TITLES):
        table = read_jobs("\t".join(heads) + "\n" + "\t".join(cells.values()))
        assert table.problems == ()
    for name, title in TITLES.items():
        assert list(text_cells(f"{title}=1")) == [name]


def test_a_shown_table_of_every_preset_is_read_back() -> None:
    for jobs in presets().values():
        rows = [{TITLES[name]: cell for name, cell in cells_of(job).items()} for job in jobs]
        heads = list(dict.fromkeys(head for row in rows for head in row))
        lines = ["\t".join(row.get(head, "") for head in heads) for row in rows]
        assert read_jobs("\n".join(["\t".join(heads), *lines])) == JobTable(jobs=jobs)


def test_the_file_of_an_answer_is_read_back_as_its_jobs() -> None:
    jobs = presets()["vision"]
    time = Estimate(value=3600.0, low=1800.0, high=7200.0)
    rows = tuple(
        JobRow(job=job.name, words="x", time=time, machine="8 x A", accelerators=8,
               hours_a_month=time, late=0.1, worst_late=None, runs_a_month=job.runs_a_month,
               within_h=job.within_h, interruptible=job.interruptible, growth=job.growth,
               standing=None)
        for job in jobs
    )  # fmt: skip
    text = jobs_csv(jobs, plan.job_rows(CapacityAnswer(sentence="", keeps=True, jobs=rows)))
    assert text.splitlines()[0].endswith(
        ",Trains,Time of a run (h),Machine,Accelerator-hours a month,Late,Worst quarter"
    )
    assert read_jobs(text) == JobTable(jobs=jobs)


def test_all_problems_are_reported_at_once_with_row_column_rule_and_fix() -> None:
    table = read_jobs("name,network,runs,within,interruptible\n"
                      "A,llama-3-8b,many,24,perhaps\n"
                      ",llama-3-8b,1,-5,no\n"
                      "C,,1,2,no\n"
                      "D,llama-3-8b,1,2,no,7\n")  # fmt: skip
    found = {(p.row, p.column) for p in table.problems}
    assert found == {(1, "runs"), (1, "interruptible"), (2, "name"), (2, "within"),
                     (3, "network"), (4, "")}  # fmt: skip
    assert all(p.rule and p.fix for p in table.problems)
    assert table.jobs == ()
    assert str(table.problems[0]).startswith("Row 1, column ")


def test_heads_that_are_unknown_double_or_missing_are_reported() -> None:
    unknown = read_jobs("name,netwrok,runs\nA,llama-3-8b,1\n").problems
    assert any(p.row == 0 and p.column == "netwrok" and "network" in p.fix for p in unknown)
    double = read_jobs("name,runs,runs\nA,1,2\n").problems
    assert any(p.column == "runs" and "twice" in p.rule for p in double)
    missing = read_jobs("network,runs\nllama-3-8b,1\n").problems
    assert any("name" in p.rule and p.fix for p in missing)


@pytest.mark.parametrize("text", ["", "\n\n", "name,network\n", 'name,network\n"A,b\n'])
def test_a_table_without_a_job_says_what_to_do(text: str) -> None:
    table = read_jobs(text)
    assert table.jobs == ()
    assert all(p.rule and p.fix for p in table.problems)
    assert table.problems


def test_names_that_are_there_twice_are_reported_with_both_rows() -> None:
    table = read_jobs("name,network\nA,llama-3-8b\nA,llama-3-8b\n")
    assert "row 1" in str(table.problems[0])
    assert table.problems[0].row == 2


def test_presets_survive_a_file_and_a_link() -> None:
    assert {"fine-tuning", "model-team", "vision"} <= set(presets())
    for jobs in presets().values():
        assert jobs
        assert read_jobs(jobs_csv(jobs)).jobs == jobs
        for job in jobs:
            assert job_of_text(job_text(job)).jobs == (job,)
            assert cells_of(job)["name"] == job.name


def test_no_name_from_a_link_is_a_formula_of_the_table() -> None:
    names = ("=HYPERLINK(1)", "@SUM(1)", " =1", "+1")
    [*jobs] = (replace(read_jobs(GOOD).jobs[0], name=name, growth=-0.05) for name in names)
    rows = list(csv.DictReader(io.StringIO(jobs_csv(jobs), newline="")))
    assert [row["name"] for row in rows] == ["'=HYPERLINK(1)", "'@SUM(1)", "' =1", "+1"]
    assert {float(row["growth"]) for row in rows} == {-5.0}
    assert read_jobs(jobs_csv(jobs)).jobs[0] == jobs[0]
