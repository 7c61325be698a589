"""The page and the file of figures on published tables: whole jobs, tasks, worst misses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from backtest.commands.published import shipped_figures
from backtest.published.described import DescribedAnswer, PublishedJob, RowPair
from backtest.published.mfu import Hidden, left_out
from backtest.published.page import TaskAnswers, figures_text, page, published_lines
from planner.__main__ import main
from planner.published import configurations, rows_of
from planner.store.catalog import read_catalog

ROOT = Path(__file__).resolve().parents[2]
NEAR = DescribedAnswer(source="a", name="near", truth=10.0, value=11.0, low=9.0, high=13.0)
FAR = DescribedAnswer(source="b", name="far | off", truth=10.0, value=40.0, low=30.0, high=50.0)
JOB = PublishedJob(
    name="Net 7B", place="github.com/a/b README.md", accelerator="Plain", devices=8,
    published_device_hours=120.0, value=100.0, low=60.0, high=180.0,
)  # fmt: skip
HIDDEN = Hidden(
    row=configurations(
        rows_of(
            "model\tsource_id\tfamily\tparams\tseq_len\taccelerator\tn_accelerators\t"
            "tokens_per_s_per_device\n"
            "Llama 3 8B\tmade\tdecoder\t8e9\t4096\tH100 80GB\t8\t9000\n",
            "made.tsv",
        )[0],
        read_catalog(ROOT / "data" / "catalog").catalog,
    )[0][0],
    truth=-0.9, value=-0.8, sd=0.183,
)  # fmt: skip
TASKS = TaskAnswers(
    answers={"described_dense": [NEAR, FAR]},
    pairs=[RowPair(source="a", name="x or y", answered=True, decided=True, right=True)],
)


def test_the_page_has_the_jobs_the_figures_and_the_worst_miss_first() -> None:
    text = page(TASKS, [JOB], "tables")
    assert "| Net 7B | 8 x Plain | 120 | 100 (60 to 180) | yes | github.com/a/b README.md |" in text
    assert "Of 1 pairs of accelerators 1 were decided, 1 of them correctly." in text
    assert text.index("far \\| off (b)") < text.index("near (a)")
    assert "| language models, described | far \\| off (b) | 4 | no |" in text


def test_what_is_not_answered_and_what_is_refused_are_sentences_with_their_reasons() -> None:
    refused = DescribedAnswer(
        source="a", name="Net, 8 x Plain", truth=1.0, why="Does not fit: 9 GB."
    )
    ran = DescribedAnswer(source="a", name="ran", truth=1.0, value=1.0, low=1.0, high=1.0,
                 why="Fits only with 8-bit moments: 6 GB.")  # fmt: skip
    tasks = TaskAnswers(
        answers={"described_dense": [NEAR, refused], "memory_fits": [ran] * 3 + [refused]}, pairs=[]
    )
    text = page(tasks, [JOB], "tables")
    assert "Not answered of language models, described: 1 of 2. Reasons: does not fit (1)." in text
    assert (
        "Of 4 configurations that ran, 1 (25 %) are wrongly estimated not to fit in memory: "
        in (text)
    )
    assert "not to fit in memory: Net, 8 x Plain." in text
    assert "Fits only with 8-bit moments: 3 of them." in text
    assert "jobs that ran: estimated to fit" not in text
    assert json.loads(figures_text(tasks, [JOB]))["notes"][0].startswith("Not answered of language")


def test_the_file_holds_scores_jobs_and_misses() -> None:
    found = json.loads(figures_text(TASKS, [JOB]))
    assert found["tasks"]["described_dense"]["asked"] == 2
    assert found["jobs"][0]["published_device_hours"] == 120.0
    assert [miss["name"] for miss in found["worst"]["described_dense"]] == ["far | off", "near"]


def test_rows_that_the_fit_has_not_seen_have_a_table_and_targets() -> None:
    pairs = [RowPair(source="a", name="x or y", answered=True)]
    tasks = replace(
        TASKS,
        answers={**TASKS.answers, "row_out_dense": [HIDDEN.answer], "source_out_dense": [FAR]},
        unseen_pairs={"source_out_pairs": pairs},
    )
    text = page(tasks, [JOB], "tables")
    assert "| language models, row out | 1 | 9.52 % | 9.52 % | 100 % | " in text
    assert "| language models, row out: median error | at most 14 % | 9.52 % | reached |" in text
    assert (
        "| language models, source out: median error | at most 14 % | 300 % | **missed** |" in text
    )
    assert "| pairs of accelerators, source out: decided | at least 50 % | 0 % | **missed** |" in (
        text
    )
    assert "it has seen the rows of the tasks" in text
    assert "Left out while fitting" not in page(TASKS, [JOB], "tables")


def test_docs_accuracy_ends_with_the_shipped_library_and_its_worst_misses() -> None:
    section = "\n".join(published_lines(shipped_figures()))
    assert "### Largest errors on published measurements" in section
    for name in ("accuracy.md", "accuracy-published.md"):
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert "| language models, described |" in text
    assert (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8").endswith(f"{section}\n")


def test_a_folder_without_rows_to_ask_about_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.tsv").write_text("source_id\tmodel\taccelerator\n")
    into = tmp_path / "out"
    assert main(["backtest", str(tmp_path / "in"), "--into", str(into)]) == 1
    assert "Nothing was written." in capsys.readouterr().err
    assert not into.exists()


def test_a_folder_of_tables_is_asked_and_written(tmp_path: Path) -> None:
    source = ROOT / "data" / "tables" / "published" / "nemo_automodel.tsv"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / source.name).write_bytes(source.read_bytes())
    assert main(["backtest", str(tmp_path / "in"), "--into", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out" / "docs" / "accuracy-published.md").read_text(encoding="utf-8")
    assert "| LoRA fine-tuning, described |" in text
    assert str(tmp_path) not in text


def test_an_accelerator_and_a_family_are_predicted_by_fits_that_had_not_seen_them() -> None:
    table = ROOT / "data" / "tables" / "published" / "llm_foundry.tsv"
    rows = rows_of(table.read_text(encoding="utf-8"), table.name)[0]
    found, _ = configurations(rows, read_catalog(ROOT / "data" / "catalog").catalog)
    cards = {one.accelerator.id for one in found}
    hidden = left_out(found, ("accelerator", "family"))
    assert len(cards) > 1
    assert len(hidden["accelerator"]["language"]) == len(found)
    assert hidden["family"]["language"] == []  # one family alone leaves nothing to fit
