"""The section "Published runs" of the page Method: whole jobs beside our answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages.method import accuracy
from tests.pages.conftest import show, texts


def test_published_whole_jobs_stand_beside_our_estimate() -> None:
    shown = show("method", section="known")
    jobs, tasks, unseen, worst = (frame.value for frame in shown.dataframe[:4])
    assert "Llama 3.1 405B" in set(jobs["Job"])
    assert (jobs["Low"] <= jobs["Our estimate"]).all()
    assert (jobs["Our estimate"] <= jobs["High"]).all()
    published = jobs["Published (device-hours)"]
    inside = (jobs["Low"] <= published) & (published <= jobs["High"])
    clear = ~(jobs["Low"].eq(published) | jobs["High"].eq(published))  # the page rounds ends
    assert clear.sum() > 0.9 * len(jobs)
    assert list(jobs["Inside"][clear]) == ["yes" if one else "no" for one in inside[clear]]
    assert "language models, described" in set(tasks["Question"])
    assert {"language models, row out", "language models, source out"} <= set(unseen["Hidden"])
    assert len(worst) > 20


def test_targets_on_published_runs_and_the_pairs_decided_are_on_the_page() -> None:
    shown = show("method", section="known")
    targets = shown.table[0].value
    coverage = "Language models, source out\\: coverage"  # escaped for Markdown
    assert set(targets["Verdict"]) <= {"reached", "missed"}
    assert list(targets[targets["Figure"] == coverage]["Target"]) == ["85 to 95\u00a0%"]
    assert "pairs of accelerators" in texts(shown)


def test_without_figures_the_section_says_how_to_make_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(accuracy, "PUBLISHED_PLACE", tmp_path / "accuracy-published.json")
    shown = show("method", section="known")
    said = "\n".join(info.value for info in shown.info)
    assert "python -m planner backtest data/tables/published" in said
    assert "Published whole jobs" not in texts(shown)
