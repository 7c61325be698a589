"""README's figures are those of docs/figures.md, and commands keep what they print there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import figures_page
from tests.bench.__main__ import PARTS
from tests.faults import outcomes
from tests.figures_page import Figure, between, figures, readme_table, replaced

ROOT = Path(__file__).parent.parent
TEXT = figures_page.PAGE.read_text(encoding="utf-8")
README = figures_page.README.read_text(encoding="utf-8")


def test_the_table_of_the_readme_is_what_the_page_of_figures_says() -> None:
    told = between("figures", README)
    assert told == readme_table(TEXT), "python -m tests.figures_page readme writes it again"


def test_words_quoted_from_campaigns_stand_on_the_page() -> None:
    page = " ".join(TEXT.split())
    for _, _, words in figures_page.QUOTED:
        assert [w for w in words if w not in page] == []


def test_a_figure_of_time_or_memory_stands_in_the_table_of_the_readme_alone() -> None:
    rest = re.sub(r"```.*?```", "", README.replace(between("figures", README), ""), flags=re.DOTALL)
    assert re.findall(r"\d[\d.,]* ?(?:ms|GB|MB)\b", rest) == []


@pytest.mark.parametrize("page", ["how_long", "compare", "throughput", "steps_to_target",
                                  "results", "method"])  # fmt: skip
def test_the_rerun_of_every_page_is_measured_and_quoted(page: str) -> None:
    pages = figures(TEXT)["Pages, shipped results"]
    figure = pages[f"{page}: script of a rerun (median)"]
    assert str(figure) in between("figures", README)


@pytest.mark.parametrize("name", [*(f"make bench {part}" for part in PARTS), "make load"])
def test_every_command_has_its_place_on_the_page(name: str) -> None:
    between(name, TEXT)
    assert f"<!-- {name}: begin -->" in TEXT


def test_the_table_of_campaigns_stands_between_the_lines_that_make_faults_writes() -> None:
    assert f"<!-- {figures_page.FAULTS}: begin -->" == outcomes.BEGIN
    assert f"<!-- {figures_page.FAULTS}: end -->" == outcomes.END


PRINTED = """
A part of it  [load average 2.8]
  making the numbers                                       15.78 s
  a new target, first time                                 1.706 s         target 1.5: MISSED
  look again                                           0.0002436 s         target 0.1: kept
  runs, three filters (5,000 rows)                     6.927e+04 runs
  said in words only

Another  [load averages 2.6, 3.7, 2.9]
  making the numbers                                         1.5 ms
"""


def test_a_line_of_figures_is_read_with_its_unit_and_a_missed_target() -> None:
    found = figures(PRINTED)
    assert found["A part of it"] == {
        "making the numbers": Figure(value=15.78, unit="s"),
        "a new target, first time": Figure(value=1.706, unit="s", target="1.5"),
        "look again": Figure(value=0.0002436, unit="s"),
        "runs, three filters (5,000 rows)": Figure(value=69270.0, unit="runs"),
    }
    assert found["Another"]["making the numbers"].unit == "ms"


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (Figure(value=15.78, unit="s"), "16 s"),
        (Figure(value=1.706, unit="s", target="1.5"), "1.7 s (missed: 1.5 s wanted)"),
        (Figure(value=0.0002436, unit="s"), "0.00024 s"),
        (Figure(value=8320.0, unit="times"), "8,300 times"),
        (Figure(value=9.96, unit="ms"), "10 ms"),
    ],
)
def test_a_figure_is_quoted_with_two_digits_that_count(figure: Figure, words: str) -> None:
    assert str(figure) == words


def test_what_a_command_prints_replaces_its_own_part_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    page, readme = tmp_path / "figures.md", tmp_path / "README.md"
    page.write_text(TEXT, encoding="utf-8")
    readme.write_text(README, encoding="utf-8")
    monkeypatch.setattr(figures_page, "PAGE", page)
    monkeypatch.setattr(figures_page, "README", readme)
    assert figures_page.run("make load", "platform", ["terse"]) == 0
    told = between("make load", page.read_text(encoding="utf-8"))
    assert told.startswith("```\n")
    assert told.strip("`\n") in capfd.readouterr().out
    assert replaced("make load", "", page.read_text()) == replaced("make load", "", TEXT)
    assert readme.read_text(encoding="utf-8") == README


def test_what_fails_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "figures.md"
    page.write_text(TEXT, encoding="utf-8")
    monkeypatch.setattr(figures_page, "PAGE", page)
    assert figures_page.run("make load", "no_such_module") != 0
    assert page.read_text(encoding="utf-8") == TEXT


def test_campaigns_are_quoted_with_their_faults() -> None:
    one = outcomes.Outcome(name="odd files", cases=1800, wrong=2)
    page = replaced(figures_page.FAULTS, "\n".join([*outcomes.table([one]), ""]), TEXT)
    told = readme_table(page)
    assert "| odd files: 1,800 cases | 0 pages down, 2 wrong numbers, 0 hangs over 5 s |" in told


def test_a_figure_that_is_not_measured_is_no_blank() -> None:
    with pytest.raises(ValueError, match="Run `make bench`"):
        readme_table(replaced("make bench pages", "", TEXT))
    with pytest.raises(ValueError, match="add its two marker lines"):
        between("make nothing", TEXT)
