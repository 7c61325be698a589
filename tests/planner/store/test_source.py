"""What the program may never do, looked for in its source."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

from planner.store import export, sql
from tests.each import each
from tests.trees import calls, nodes

ROOT: Final = Path(__file__).resolve().parents[3]
WRITERS: Final = {
    f"planner/store/{name}.py"
    for name in (
        "export", "pdf", "disk/cache", "disk/files", "disk/ledger", "disk/mirrors", "disk/sweeps",
        "disk/witness", "sealed/commit", "sealed/seal",
    )
}  # fmt: skip
ASKING: Final = {"execute", "executemany", "sql", "query", "rows", "arrow", "in_place"}


def _sources(*folders: str) -> list[Path]:
    return sorted(p for f in folders for p in (ROOT / f).rglob("*.py"))


def _opened_to_write(call: ast.Call) -> bool:
    modes = [*call.args[:2], *(k.value for k in call.keywords if k.arg == "mode")]
    texts = [m.value for m in modes if isinstance(m, ast.Constant) and isinstance(m.value, str)]
    return any(len(t) <= 3 and set(t) & set("wax+") for t in texts)


def _writes(path: Path) -> list[str]:
    where = str(path.relative_to(ROOT))
    named = {"write_bytes", "write_text"}
    return [
        f"{where}:{call.lineno}"
        for name, call in calls(path)
        if name in named or (name == "open" and _opened_to_write(call))
    ]


def test_there_is_something_to_look_at() -> None:
    assert len(_sources("planner")) > 10


def test_only_the_store_writes_files() -> None:
    found = [w for p in _sources("planner") for w in _writes(p)]
    assert [w for w in found if w.split(":")[0] not in WRITERS] == []


def test_every_question_to_the_database_is_constant_text() -> None:
    """Its first argument is a name (of a constant), never text put together on the spot."""
    found = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in _sources("planner", "pages")
        for name, call in calls(path)
        if name in ASKING and call.args and not _is_name(call.args[0])
    ]
    assert found == []


def _is_name(node: ast.expr) -> bool:
    if isinstance(node, ast.Subscript):  # one of a constant table of texts
        return _is_name(node.value)
    return isinstance(node, ast.Name | ast.Attribute)


def _texts() -> dict[str, str]:
    """Every SQL text of the store, by name."""
    found = {}
    for module in (sql, export):
        for name, value in vars(module).items():
            parts = value.values() if isinstance(value, dict) else value
            many = [parts] if isinstance(parts, str) else parts
            if name.isupper() or name.startswith("_"):
                for i, text in enumerate(many if hasattr(many, "__iter__") else ()):
                    if isinstance(text, str):
                        found[f"{name}[{i}]"] = text
    return found


@each("name", [n for n, t in _texts().items() if "read_parquet" in t])
def test_a_parquet_file_is_read_by_its_path_never_by_a_pattern(name: str) -> None:
    text = _texts()[name]
    for call in text.split("read_parquet(")[1:]:
        assert call.startswith(("?", "$files"))
        assert "hive_partitioning = false" in call.split(")")[0]


def test_no_source_names_a_pattern_of_parquet_files_in_sql() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in _sources("planner", "pages")
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if "read_parquet('" in node.value or 'read_parquet("' in node.value
    ]
    assert found == []


def test_only_the_store_opens_duckdb() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in _sources("planner", "pages")
        for node in nodes(path)
        if isinstance(node, ast.Import) and any(a.name == "duckdb" for a in node.names)
    ]
    assert [f for f in found if not f.startswith("planner/store/")] == []
