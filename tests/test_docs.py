"""The docs are tested like the code: what they say of it is compared with it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from planner.answers import PAGES
from planner.figures.frame import DARK, LIGHT
from planner.networks import networks
from planner.runs import COLUMNS
from tests.each import each

ROOT = Path(__file__).parent.parent
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())


@each("name", sorted(PAGES))
def test_pages_made_from_the_code_are_up_to_date(name: str) -> None:
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert text == PAGES[name](), "run `make docs`"


def test_every_setting_shipped_is_explained_with_its_value() -> None:
    text = (ROOT / "docs" / "settings.md").read_text()
    result = dict(re.findall(r"^\| `([a-z]+\.\w+)` \| `([^`]+)` \| \S", text, re.MULTILINE))
    shipped = {
        f"{section}.{key}": str(value).lower() if isinstance(value, bool) else str(value)
        for section, body in CONFIG.items()
        if section != "theme"
        for key, value in body.items()
    }
    assert result == shipped


def test_both_themes_have_exactly_the_ten_chart_colours_of_the_figures() -> None:
    theme = CONFIG["theme"]
    assert tuple(theme["light"]["chartCategoricalColors"]) == LIGHT
    assert tuple(theme["dark"]["chartCategoricalColors"]) == DARK
    assert len(set(LIGHT)) == len(set(DARK)) == len(theme["chartCategoricalColors"]) == 10


def test_every_unit_in_a_column_name_is_its_unit() -> None:
    units = {"_per_s": "FLOP/s", "_s": "s", "_bytes": "bytes", "_kwh": "kWh", "_watts": "W"}
    for column in COLUMNS:
        unit = next((u for suffix, u in units.items() if column.name.endswith(suffix)), None)
        assert unit in (None, column.unit), column.name


@pytest.mark.parametrize(
    "document", ["README.md", "CONTRIBUTING.md", "docs/figures.md", "docs/reliability.md"]
)
def test_no_blank_is_left_to_fill_in(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    assert text.strip()
    assert not re.search(r"FIGURES|\bN minutes|TODO|TBD", text)


@each(
    "document",
    [
        "README.md",
        "CONTRIBUTING.md",
        *PAGES,
        "words",
        "architecture",
        "measure",
        "facts",
        "evidence",
        "reliability",
    ],
)
def test_links_between_pages_lead_somewhere(document: str) -> None:
    path = ROOT / document if document.endswith(".md") else ROOT / "docs" / f"{document}.md"
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8"))
    missing = [t for t in targets if not (path.parent / t).exists()]
    assert not missing


def test_docstrings_and_pages_name_sections_of_the_evidence_that_exist() -> None:
    text = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    headings = {h.lower().replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
    folders = (ROOT / "planner", ROOT / "backtest", ROOT / "docs")
    named = {
        anchor
        for path in (p for f in folders for p in f.rglob("*") if p.suffix in (".py", ".md"))
        for anchor in re.findall(r"evidence\.md#([\w-]+)", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 10
    assert named <= headings


def test_python_examples_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 4
    for code in examples:
        exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own README
    for made in ("mine", "my-sweep"):
        assert list((tmp_path / "results" / made).glob("*.parquet"))


def test_the_sentence_of_the_readme_is_what_the_planner_says() -> None:
    from planner.epochs import options_of
    from planner.epochs.how_long import how_long
    from planner.store import Store, folders_from_environment, queries

    store = Store(folders_from_environment(ROOT, {"EPOCHWISE_RESULTS": "no-such-folder"}))
    store.refresh()
    workload = next(iter(queries.workloads(store)))
    pattern = next(iter(queries.patterns(store, workload)))
    options = options_of(queries.runs_of(store, workload, pattern))
    result = how_long(options, 2000, "GPU · batch 64").sentence
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert result in re.sub(r"\s*\n> ", " ", readme)


def test_the_readme_says_how_many_networks_are_named() -> None:
    assert f"# one of {len(networks())};" in (ROOT / "README.md").read_text(encoding="utf-8")
