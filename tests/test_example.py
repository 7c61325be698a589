"""The notebook of the documentation runs, cell by cell, and says what it promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parent.parent / "docs" / "example.ipynb"


def _cells() -> list[dict[str, Any]]:
    result: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (result["nbformat"], result["nbformat_minor"]) == (4, 5)
    cells: list[dict[str, Any]] = result["cells"]
    return cells


def test_every_cell_runs_in_order(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(NOTEBOOK.parent)
    names: dict[str, object] = {}
    codes = ["".join(c["source"]) for c in _cells() if c["cell_type"] == "code"]
    for number, code in enumerate(codes, 1):
        exec(compile(code, f"cell {number} of {NOTEBOOK.name}", "exec"), names)  # noqa: S102 - ours
    said = capsys.readouterr().out
    assert "v0 = 1" in said
    assert "24.3x faster than GPU at batch 64" in said
    assert "letters of HTML, without scripts" in said


def test_it_is_kept_without_outputs_and_every_cell_has_an_id() -> None:
    cells = _cells()
    assert len({c["id"] for c in cells}) == len(cells)
    for cell in cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
