"""The house as docs/architecture.md draws it, read from the code itself."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
ROOMS: Final = {
    "app": {"api", "pages", "planner"},
    "api": {"api", "planner"},
    "pages": {"pages", "planner"},
    "planner": {"planner"},
    "runners": {"runners", "planner"},
    "data": {"planner"},
}
"""Each room and the rooms it may know of: pages, api -> planner <- runners."""
NEVER: Final = {
    "app": {"tensorflow", "keras", "plotly", "duckdb"},
    "pages": {"tensorflow", "keras", "plotly", "duckdb"},
    "api": {"tensorflow", "keras", "plotly", "duckdb", "streamlit"},
    "planner": {"tensorflow", "keras", "streamlit"},
    "runners": {"streamlit", "plotly", "duckdb"},
    "data": {"tensorflow", "keras", "streamlit", "plotly", "duckdb"},
}
WRITES: Final = {
    "write_text", "write_bytes", "mkdir", "makedirs", "touch", "unlink", "rmdir", "rmtree", "link",
    "symlink", "symlink_to", "hardlink_to", "copyfile", "copytree", "move", "to_csv", "to_parquet",
    "write_table", "ParquetWriter", "fdopen", "mkstemp", "mkdtemp", "NamedTemporaryFile",
}  # fmt: skip
"""Calls that change a disk, whatever they are called on."""
RAW_MARKUP: Final = {"html", "iframe", "components", "write_stream"}
OUTDATED: Final = {"unsafe_allow_html", "unsafe_allow_javascript", "use_container_width"}
WIDGETS: Final = {
    "button", "checkbox", "color_picker", "data_editor", "dataframe", "date_input",
    "download_button", "feedback", "file_uploader", "multiselect", "number_input", "pills",
    "plotly_chart", "radio", "segmented_control", "select_slider", "selectbox", "slider",
    "text_area", "text_input", "time_input", "toggle",
}  # fmt: skip
EMOJI: Final = re.compile("[\u2600-\u27bf\u2b00-\u2bff\ufe0f\U0001f000-\U0001faff]")
SCRIPTS: Final = {"pages.shell", "pages.how_long_link"}
"""Run by Streamlit, not imported: they draw as they are read."""


def _files(room: str) -> list[Path]:
    if room == "app":
        return [ROOT / "app.py"]
    return sorted(p for p in (ROOT / room).rglob("*.py") if "__pycache__" not in p.parts)


ALL: Final = [(room, path) for room in ROOMS for path in _files(room)]
NAMES: Final = [str(path.relative_to(ROOT)) for _, path in ALL]


def _is_measured(path: Path) -> bool:
    """Files that only the measured child process imports: networks and what trains them."""
    parts = path.relative_to(ROOT).parts
    return "child" in parts or (parts[:2] == ("runners", "workloads") and path.stem != "__init__")


@functools.cache  # eight tests read each file
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _imports(path: Path) -> set[str]:
    """First names of all modules a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports by dots; name the room"
            found.add(str(node.module).split(".")[0])
    return found


def _calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Every call with the last part of what is called."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else ""
            yield (called.id if isinstance(called, ast.Name) else name), node


def _opens_to_write(name: str, call: ast.Call) -> bool:
    """Whether it is open(..., mode) or path.open(mode) with a mode that writes."""
    if name != "open":
        return False
    given = [*call.args, *(k.value for k in call.keywords)]
    modes = [a.value for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return any(re.fullmatch(r"[rwxabt+]+", m) and set(m) & set("wxa+") for m in modes)


# -- who knows whom ----------------------------------------------------------------------------


@pytest.mark.parametrize(("room", "path"), ALL, ids=NAMES)
def test_imports_run_one_way(room: str, path: Path) -> None:
    assert _imports(path) & set(ROOMS) <= ROOMS[room]


@pytest.mark.parametrize(("room", "path"), ALL, ids=NAMES)
def test_no_room_imports_what_belongs_to_another(room: str, path: Path) -> None:
    place = path.relative_to(ROOT).parts
    own = {"duckdb"} if place[:2] == ("planner", "store") else set()
    own |= {"plotly"} if place[:2] == ("planner", "figures") else set()
    told = NEVER[room] | ({"plotly", "duckdb"} if room == "planner" else set())
    assert _imports(path) & (told - own) == set()


def _modules(*rooms: str) -> list[str]:
    files = [p for r in rooms for p in _files(r) if not _is_measured(p)]
    found = [".".join(p.relative_to(ROOT).with_suffix("").parts) for p in files]
    names = [n.removesuffix(".__init__") for n in found]
    return [n for n in names if not n.endswith("__main__") and n not in SCRIPTS]


@pytest.mark.parametrize(("room", "path"), ALL, ids=NAMES)
def test_only_the_measured_child_imports_a_framework(room: str, path: Path) -> None:
    if room == "runners" and _is_measured(path):
        return
    at_import = {
        name
        for node in _tree(path).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
        )
    }
    first = {str(name).split(".")[0] for name in at_import}
    assert first & {"tensorflow", "keras", "jax", "torch"} == set()


@pytest.mark.parametrize(
    ("rooms", "absent"),
    [
        (("planner", "api"), {"streamlit", "tensorflow", "keras"}),
        (("planner", "runners", "pages"), {"tensorflow", "keras", "jax", "torch"}),
    ],
)
def test_importing_every_module_loads_nothing_heavy(
    rooms: tuple[str, ...], absent: set[str]
) -> None:
    lines = [f"import {name}" for name in _modules(*rooms)]
    program = "\n".join(["import sys", *lines, "print(*sorted(sys.modules))"])
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) & absent == set()


# -- what only one room may do -----------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [p for room, p in ALL if room != "data" and p.parent != ROOT / "planner" / "store"],
    ids=str,
)
def test_only_the_store_writes_to_disk(path: Path) -> None:
    writes = [
        f"line {call.lineno}: {name}"
        for name, call in _calls(path)
        if name in WRITES or _opens_to_write(name, call)
    ]
    assert writes == []


PAGES: Final = _files("pages")
each_page = pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))


@each_page
def test_no_page_writes_raw_markup_or_uses_what_streamlit_has_left_behind(path: Path) -> None:
    of_streamlit = {
        n.attr
        for n in ast.walk(_tree(path))
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "st"
    }
    keywords = {k.arg for _, call in _calls(path) for k in call.keywords}
    assert of_streamlit & RAW_MARKUP == set()
    assert keywords & OUTDATED == set()


@each_page
def test_every_widget_has_a_key_so_that_links_and_tests_can_name_it(path: Path) -> None:
    bare = [
        f"line {call.lineno}: {name}"
        for name, call in _calls(path)
        if name in WIDGETS and "key" not in {k.arg for k in call.keywords}
    ]
    assert bare == []


@each_page
def test_every_table_and_chart_says_what_it_shows_to_those_who_cannot_see_it(path: Path) -> None:
    silent = [
        f"line {call.lineno}: {name}"
        for name, call in _calls(path)
        if name in {"dataframe", "plotly_chart"} and "alt" not in {k.arg for k in call.keywords}
    ]
    assert silent == []


@each_page
def test_no_emoji_on_a_page(path: Path) -> None:
    assert EMOJI.findall(path.read_text(encoding="utf-8")) == []


# -- settings ----------------------------------------------------------------------------------


def test_the_theme_gives_exactly_the_ten_colours_of_the_palette() -> None:
    import tomllib

    from planner.palette import DARK, LIGHT

    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    theme = config["theme"]
    assert theme["light"]["chartCategoricalColors"] == list(LIGHT)
    assert theme["dark"]["chartCategoricalColors"] == list(DARK)
    assert len({*LIGHT}) == len({*DARK}) == 10


def test_the_shipped_settings_tell_strangers_nothing_and_call_nobody() -> None:
    import tomllib

    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["client"]["showErrorDetails"] == "none"
    assert config["browser"]["gatherUsageStats"] is False
    assert config["server"]["enableAgentApi"] is False
    assert config["server"]["address"] == "127.0.0.1"
