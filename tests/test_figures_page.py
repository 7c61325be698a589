"""README's figures are those of docs/, and commands keep what they print there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.networks import networks
from tests import figures_page, shipped
from tests.bench.__main__ import PARTS
from tests.each import each
from tests.faults import outcomes
from tests.figures_page import Figure, between, figures, readme_table, replaced
from tests.planner.fits.test_coverage import SWEEPS

ROOT = Path(__file__).parent.parent
TEXT = figures_page.pages()
README = figures_page.README.read_text(encoding="utf-8")


def test_the_table_of_the_readme_is_what_the_page_of_figures_says() -> None:
    result = between("figures", README)
    assert result == readme_table(TEXT), "python -m tests.figures_page readme writes it again"


def test_words_quoted_from_campaigns_stand_on_the_page() -> None:
    page = " ".join(TEXT.split())
    for _, _, words in figures_page.QUOTED:
        assert [w for w in words if w not in page] == []


def _prose() -> str:
    """README without its table of figures, its code and the sentence that test_docs.py compares."""
    text = README.replace(between("figures", README), "")
    return re.sub(r"```.*?```|^> .*?$", "", text, flags=re.DOTALL | re.MULTILINE)


def test_every_number_in_the_prose_of_the_readme_has_its_source() -> None:
    """A figure of `make bench`, `make load` or `make faults` stands in the table alone."""
    printed = [s for s in shipped.article_sets() if s]
    sources = {
        "3.11, 3.12 or 3.13": "pyproject.toml",
        "`PORT=8600 make app`": "an example",
        "`ADDRESS=0.0.0.0` another": "an example",
        "reach 50 % and 90 %": "a definition",
        "`kill -9`": "a command",
        "start with epoch 1": "a definition",
        "exit status is 0 for an answer and 2 for": "tests/test_command_line.py",
        "It is 1 where there is no data": "tests/test_command_line.py",
        "/api/v1/": "an address",
        "WCAG 2.2 AA": "a standard",
        f"Five result sets, {sum(printed)} runs": "data/results",
        "Misra1d to 8 digits": "tests/planner/throughput/test_throughput_nist.py",
        f"{SWEEPS:,} simulated sweeps": "tests/planner/fits/test_coverage.py",
        "7 or 8 batch sizes": "data/results",
        "NVIDIA's H100 and H200 with Keras on JAX": "data/results",
        "article 002's WideResNet-103M,": "data/results",
        "GPT-2's layers, ResNet-50, a small CNN, ViT-B/16": "data/results",
        "over 12 to 36 months": "planner/answers/parameters.py",
        f"{len(networks())} named networks": "planner/networks",
        "8,762 runs of 1,377 workloads": "tests/test_readme.py",
        "Of the 10,838 rows of their tables 8,762 become runs": "tests/test_readme.py",
        "[docs/decisions/0032](docs/decisions/0032-": "an address",
    }
    prose = " ".join(_prose().split())
    assert [words for words in sources if words not in prose] == []
    assert len(printed) == 5
    for words in sources:
        prose = prose.replace(words, "")
    assert re.findall(r"\S*[0-9]\S*", re.sub(r"\bv0\b|\S+\.svg|`[^`]*`", "", prose)) == []


def test_the_readme_states_no_duration_in_words() -> None:
    assert re.findall(r"\b(?:seconds|minutes|hours)\b", README) == []


@each("page", ["how_long", "compare", "throughput", "steps_to_target",
                                  "results", "method"])  # fmt: skip
def test_the_rerun_of_every_page_is_measured_and_quoted(page: str) -> None:
    pages = figures(TEXT)["Pages, shipped results"]
    figure = pages[f"{page}: script of a rerun (median)"]
    assert str(figure) in between("figures", README)


@each("name", [*(f"make bench {part}" for part in PARTS), "make load"])
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
        "load average": Figure(value=2.8, unit=""),
        "making the numbers": Figure(value=15.78, unit="s"),
        "a new target, first time": Figure(value=1.706, unit="s", target="1.5"),
        "look again": Figure(value=0.0002436, unit="s"),
        "runs, three filters (5,000 rows)": Figure(value=69270.0, unit="runs"),
    }
    assert found["Another"]["making the numbers"].unit == "ms"
    assert str(found["Another"]["load average"]) == "2.6"


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (Figure(value=15.78, unit="s"), "16 s"),
        (Figure(value=1.706, unit="s", target="1.5"), "1.7 s (missed: target 1.5 s)"),
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
    monkeypatch.setattr(figures_page, "PAGES", (page,))
    monkeypatch.setattr(figures_page, "README", readme)
    assert figures_page.run("make load", "platform", ["terse"]) == 0
    result = between("make load", page.read_text(encoding="utf-8"))
    assert result.startswith("```\n")
    assert result.strip("`\n") in capfd.readouterr().out
    assert replaced("make load", "", page.read_text()) == replaced("make load", "", TEXT)
    assert readme.read_text(encoding="utf-8") == README


def test_what_fails_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "figures.md"
    page.write_text(TEXT, encoding="utf-8")
    monkeypatch.setattr(figures_page, "PAGES", (page,))
    assert figures_page.run("make load", "no_such_module") != 0
    assert page.read_text(encoding="utf-8") == TEXT


def test_campaigns_are_summed_from_the_table_that_make_faults_writes(tmp_path: Path) -> None:
    page = tmp_path / "figures.md"
    page.write_text(TEXT, encoding="utf-8")
    page.write_text(replaced(figures_page.FAULTS, "", TEXT), encoding="utf-8")
    assert "campaigns" not in readme_table(page.read_text(encoding="utf-8"))
    links = outcomes.Outcome(name="links", cases=1800, wrong=2, slowest_s=1.25)
    kills = outcomes.Outcome(name="kills", cases=34)
    outcomes.write_figures([links, kills], page)
    rows = [line for line in readme_table(page.read_text(encoding="utf-8")).splitlines()
            if "cases" in line]  # fmt: skip
    assert rows == ["| 2 campaigns of `make faults`: 1,834 cases | 0 pages down, 2 wrong numbers, "
                    "0 hangs over 5 s; slowest answer 1.2 s |"]  # fmt: skip


def test_a_figure_that_is_not_measured_is_no_blank() -> None:
    with pytest.raises(ValueError, match="Run `make bench`"):
        readme_table(replaced("make bench pages", "", TEXT))
    with pytest.raises(ValueError, match="add its two marker lines"):
        between("make nothing", TEXT)
