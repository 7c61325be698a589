"""The house as docs/architecture.md draws it, read from the code itself."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Final

import pytest

from tests.trees import calls, nodes, tree

ROOT: Final = Path(__file__).parent.parent
ROOMS: Final = {
    "app": {"api", "pages", "planner"},
    "api": {"api", "planner"},
    "pages": {"pages", "planner", "backtest"},
    "planner": {"planner"},
    "backtest": {"backtest", "planner"},
    "runners": {"runners", "planner"},
    "data": {"planner"},
}
"""Each room and the rooms it may know of: pages, api -> planner <- runners."""
ALSO: Final = {ROOT / "planner" / "__main__.py": {"backtest"}}
"""The command line knows the back-test, whose commands it offers."""
NEVER: Final = {
    "app": {"tensorflow", "keras", "plotly", "duckdb", "ray"},
    "pages": {"tensorflow", "keras", "plotly", "duckdb", "ray"},
    "api": {"tensorflow", "keras", "plotly", "duckdb", "streamlit", "ray"},
    "planner": {"tensorflow", "keras", "streamlit", "ray"},
    "backtest": {"tensorflow", "keras", "streamlit", "plotly", "duckdb", "ray"},
    "runners": {"streamlit", "plotly", "duckdb"},
    "data": {"tensorflow", "keras", "streamlit", "plotly", "duckdb", "ray"},
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
SCRIPTS: Final = {"pages.shell"}
"""Run by Streamlit, not imported: it draws as it is read."""


def _files(room: str) -> list[Path]:
    if room == "app":
        return [ROOT / "app.py"]
    return sorted(p for p in (ROOT / room).rglob("*.py") if "__pycache__" not in p.parts)


ALL: Final = [(room, path) for room in ROOMS for path in _files(room)]
PAGES: Final = _files("pages")


def _offending(files: Iterable[Path], faults: Callable[[Path], Collection[str]]) -> dict[str, str]:
    """What is wrong in which file; a failed test prints it."""
    found = ((path, sorted(faults(path))) for path in files)
    return {str(path.relative_to(ROOT)): ", ".join(wrong) for path, wrong in found if wrong}


def _is_measured(path: Path) -> bool:
    """Files that only the measured child process imports: networks and what trains them."""
    parts = path.relative_to(ROOT).parts
    return "child" in parts or (parts[:2] == ("runners", "workloads") and path.stem != "__init__")


@functools.cache
def _imports(path: Path) -> frozenset[str]:
    """First names of all modules a file imports, wherever in the file."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports by dots; name the room"
            found.add(str(node.module).split(".")[0])
    return frozenset(found)


def _opens_to_write(name: str, call: ast.Call) -> bool:
    """Whether it is open(..., mode) or path.open(mode) with a mode that writes."""
    if name != "open":
        return False
    given = [*call.args, *(k.value for k in call.keywords)]
    modes = [a.value for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return any(re.fullmatch(r"[rwxabt+]+", m) and set(m) & set("wxa+") for m in modes)


# -- who knows whom ----------------------------------------------------------------------------


def test_imports_run_one_way() -> None:
    rooms = {path: room for room, path in ALL}
    allowed = {path: ROOMS[room] | ALSO.get(path, set()) for path, room in rooms.items()}
    assert _offending(rooms, lambda p: _imports(p) & (set(ROOMS) - allowed[p])) == {}


def _of_another(room: str, path: Path) -> frozenset[str]:
    """What a file imports that belongs to another room."""
    place = path.relative_to(ROOT).parts
    own = {"duckdb"} if place[:2] == ("planner", "store") else set()
    own |= {"plotly"} if place[:2] == ("planner", "figures") else set()
    result = NEVER[room] | ({"plotly", "duckdb"} if room == "planner" else set())
    return _imports(path) & (result - own)


def test_no_room_imports_what_belongs_to_another() -> None:
    rooms = {path: room for room, path in ALL}
    assert _offending(rooms, lambda path: _of_another(rooms[path], path)) == {}


def _modules(*rooms: str) -> list[str]:
    files = [p for r in rooms for p in _files(r) if not _is_measured(p)]
    found = [".".join(p.relative_to(ROOT).with_suffix("").parts) for p in files]
    names = [n.removesuffix(".__init__") for n in found]
    return [n for n in names if not n.endswith("__main__") and n not in SCRIPTS]


def _at_import(path: Path) -> set[str]:
    """First names of the modules that importing the file imports."""
    found = {
        name
        for node in tree(path).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
        )
    }
    return {str(name).split(".")[0] for name in found}


def test_only_the_measured_child_imports_a_framework() -> None:
    files = [path for room, path in ALL if room != "runners" or not _is_measured(path)]
    frameworks = {"tensorflow", "keras", "jax", "torch"}
    assert _offending(files, lambda path: _at_import(path) & frameworks) == {}


def test_two_modules_import_ray_and_only_when_they_connect() -> None:
    files = {path for _, path in ALL if "ray" in _imports(path)}
    places = {"cluster/connection.py", "launch/ray_tasks.py"}
    assert files == {ROOT / "runners" / place for place in places}
    assert not any("ray" in _at_import(path) for path in files)


@pytest.mark.parametrize(
    ("rooms", "absent"),
    [
        (("planner", "api"), {"streamlit", "tensorflow", "keras"}),
        (("planner", "runners", "pages"), {"tensorflow", "keras", "jax", "torch"}),
    ],
)
@pytest.mark.slow
def test_importing_every_module_loads_nothing_heavy(
    rooms: tuple[str, ...], absent: set[str]
) -> None:
    lines = [f"import {name}" for name in _modules(*rooms)]
    program = "\n".join(["import sys", *lines, "print(*sorted(sys.modules))"])
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) & absent == set()


# -- the arrows between packages -----------------------------------------------------------------

MOST_FLOORS: Final = 10
"""Floors of packages, the pages and the command line included."""
MOST_FILES: Final = 17
"""Modules in a folder of the product, with its front door."""


def _packages() -> dict[str, Path]:
    """Every module by name; a package by its own name, app.py as `app`."""
    names = (path.relative_to(ROOT).with_suffix("").parts for _, path in ALL)
    found = [".".join(parts).removesuffix(".__init__") for parts in names]
    return dict(zip(found, (path for _, path in ALL), strict=True))


def _package(module: str, modules: dict[str, Path]) -> str:
    """The package of a module; `planner.__main__` is apart, for it knows the back-test."""
    if module == "planner.__main__" or modules[module].name in {"__init__.py", "app.py"}:
        return module
    return module.rpartition(".")[0]


@functools.cache
def _arrows() -> dict[str, frozenset[str]]:
    """The packages that each package imports, anywhere in its files."""
    modules = _packages()
    found: dict[str, set[str]] = {_package(name, modules): set() for name in modules}
    for name, path in modules.items():
        own = _package(name, modules)
        found[own] |= {_package(n, modules) for n in _modules_of(path, modules)} - {own}
    return {name: frozenset(to) for name, to in found.items()}


def _table() -> dict[str, tuple[int, frozenset[str]]]:
    """The table of docs/architecture.md: each package's floor, and what it may import."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    body = text.partition("<!-- arrows: begin -->")[2].partition("<!-- arrows: end -->")[0]
    rows = [line.split("|")[1:4] for line in body.splitlines() if line.startswith("| ")]
    return {
        name.strip(" `"): (int(floor), frozenset(re.findall(r"`([\w.]+)`", to)))
        for floor, name, to in rows
        if floor.strip().isdigit()
    }


def test_packages_import_what_the_table_allows() -> None:
    table = _table()
    arrows = {name: to for name, to in _arrows().items() if to or name in table}
    assert {name: to for name, (_, to) in table.items()} == arrows


def test_every_package_stands_above_what_it_imports() -> None:
    table = _table()
    for name, (floor, to) in table.items():
        assert floor == 1 + max((table[other][0] for other in to), default=0), name
    assert max(floor for floor, _ in table.values()) <= MOST_FLOORS


def test_a_module_with_an_underscore_is_imported_by_its_own_package_alone() -> None:
    modules = _packages()

    def strangers(path: Path) -> set[str]:
        named = {n.module for n in nodes(path) if isinstance(n, ast.ImportFrom) and n.module}
        private = {n for n in named if n in modules and modules[n].stem.startswith("_")}
        return {
            n for n in private if modules[n].stem != "__init__" and modules[n].parent != path.parent
        }

    assert _offending((path for _, path in ALL), strangers) == {}


def _modules_of(path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules of the product that a file imports, wherever in the file, types included."""
    named: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            named |= {node.module} if inner - modules.keys() else set()
            named |= inner
    return named & modules.keys()


def test_modules_import_one_another_in_no_circle() -> None:
    modules = _packages()
    left = {name: _modules_of(path, modules) - {name} for name, path in modules.items()}
    while free := {name for name, to in left.items() if not to}:
        left = {name: to - free for name, to in left.items() if name not in free}
    assert left == {}


def test_a_front_door_says_in_ten_lines_what_it_is_for() -> None:
    doors = [path for room, path in ALL if room == "planner" and path.stem == "__init__"]
    lines = {path: len((ast.get_docstring(tree(path)) or "").splitlines()) for path in doors}
    assert {str(path.relative_to(ROOT)): n for path, n in lines.items() if not 0 < n <= 10} == {}


def test_a_module_that_only_its_package_imports_has_an_underscore() -> None:
    modules = _packages()
    used = {
        name
        for path in modules.values()
        for name in _modules_of(path, modules)
        if modules[name].parent != path.parent
    }
    public = {
        name
        for name, path in modules.items()
        if name.startswith("planner.") and not path.stem.startswith("_")
    }
    assert public - used == set()


SAME_NAMES: Final = 1
"""Names of classes that more than one module defines. It only goes down."""


def test_ever_fewer_classes_share_a_name() -> None:
    defined = [{n.name for n in nodes(path) if isinstance(n, ast.ClassDef)} for _, path in ALL]
    counts = Counter(name for names in defined for name in names if not name.startswith("_"))
    assert sum(n > 1 for n in counts.values()) <= SAME_NAMES, counts.most_common(SAME_NAMES + 9)


def test_no_folder_holds_more_modules_than_one_can_look_through() -> None:
    counts = {path.parent: 0 for _, path in ALL}
    for _, path in ALL:
        counts[path.parent] += 1
    assert {str(p.relative_to(ROOT)): n for p, n in counts.items() if n > MOST_FILES} == {}
    loose = {p.name for p in (ROOT / "planner").glob("*.py")}
    assert loose == {"__init__.py", "__main__.py"}


# -- what only one room may do -----------------------------------------------------------------


def _writes(path: Path) -> list[str]:
    return [
        f"line {call.lineno}: {name}"
        for name, call in calls(path)
        if name in WRITES or _opens_to_write(name, call)
    ]


ALSO_WRITES: Final = {
    ROOT / "planner" / "answers" / "comparison" / "saved.py",
    ROOT / "backtest" / "accuracy" / "public_data.py",
}
"""Saved comparisons and the table of the back-test, through the store's own way to write."""


def test_only_the_store_writes_to_disk() -> None:
    store = ROOT / "planner" / "store"
    files = [
        path
        for room, path in ALL
        if room != "data" and store not in path.parents and path not in ALSO_WRITES
    ]
    assert _offending(files, _writes) == {}


MARKUP = ROOT / "pages" / "common" / "markup.py"


def _raw_or_outdated(path: Path) -> set[str]:
    of_streamlit = {
        n.attr
        for n in nodes(path)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "st"
    }
    keywords = {str(k.arg) for _, call in calls(path) for k in call.keywords}
    return (of_streamlit & RAW_MARKUP) | (keywords & OUTDATED)


def test_no_page_writes_raw_markup_or_uses_what_streamlit_has_left_behind() -> None:
    """Only `pages/common/markup.py` writes HTML: that of `planner.figures`, with escaped texts."""
    assert _offending([p for p in PAGES if p != MARKUP], _raw_or_outdated) == {}


def _without(keyword: str, names: Collection[str], path: Path) -> list[str]:
    """Calls of these names that leave the keyword out."""
    return [
        f"line {call.lineno}: {name}"
        for name, call in calls(path)
        if name in names and keyword not in {k.arg for k in call.keywords}
    ]


def test_every_widget_has_a_key_so_that_links_and_tests_can_name_it() -> None:
    assert _offending(PAGES, lambda path: _without("key", WIDGETS, path)) == {}


def test_every_table_and_chart_says_what_it_shows_to_those_who_cannot_see_it() -> None:
    shown = {"dataframe", "plotly_chart"}
    assert _offending(PAGES, lambda path: _without("alt", shown, path)) == {}


def test_no_emoji_on_a_page() -> None:
    assert _offending(PAGES, lambda path: EMOJI.findall(path.read_text(encoding="utf-8"))) == {}


def test_a_fault_is_reported_with_its_file_and_line(tmp_path: Path) -> None:
    """The checks find what they look for."""
    page = tmp_path / "page.py"
    page.write_text(
        "import streamlit as st\nst.html('x')\nst.button('a')\nopen('f', 'w')\n"
        "st.dataframe([], key='d', use_container_width=True)\n",
        encoding="utf-8",
    )
    assert _imports(page) == _at_import(page) == {"streamlit"}
    assert _of_another("runners", ROOT / "runners" / "commands" / "cli.py") == set()
    assert _writes(page) == ["line 4: open"]
    assert _raw_or_outdated(page) == {"html", "use_container_width"}
    assert _without("key", WIDGETS, page) == ["line 3: button"]
    assert _without("alt", {"dataframe"}, page) == ["line 5: dataframe"]
    readme = ROOT / "README.md"
    found = _offending([readme, ROOT / "app.py"], lambda p: ["b", "a"] if p == readme else [])
    assert found == {"README.md": "a, b"}


# -- settings ----------------------------------------------------------------------------------


def test_the_theme_gives_exactly_the_ten_colours_of_the_palette() -> None:
    import tomllib

    from planner.figures.frame import DARK, LIGHT

    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    theme = config["theme"]
    assert theme["light"]["chartCategoricalColors"] == list(LIGHT)
    assert theme["dark"]["chartCategoricalColors"] == list(DARK)
    assert len({*LIGHT}) == len({*DARK}) == 10


def test_the_shipped_settings_show_strangers_nothing_and_make_no_call() -> None:
    import tomllib

    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["client"]["showErrorDetails"] == "none"
    assert config["browser"]["gatherUsageStats"] is False
    assert config["server"]["enableAgentApi"] is False
    assert config["server"]["address"] == "127.0.0.1"


def test_no_page_makes_a_class() -> None:
    """The script of a page runs at every click, and a data class takes it a millisecond."""
    for page in sorted((ROOT / "pages").glob("*/page.py")):
        made = [n for n in ast.walk(ast.parse(page.read_text())) if isinstance(n, ast.ClassDef)]
        assert not made, page
