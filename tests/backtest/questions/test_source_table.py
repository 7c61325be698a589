"""Every public data set that the back-test reads says where it is from and under which licence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from backtest.accuracy.public_data import read_accuracy
from backtest.questions import regret
from backtest.questions.figure import MEAN
from backtest.questions.source_table import PUBLIC_DATA, PublicData

ROOT = Path(__file__).parents[3]
DATA = ROOT.parent / "shared" / "datasets"
each = pytest.mark.parametrize("one", PUBLIC_DATA, ids=lambda p: p.folder)


def test_every_folder_that_the_back_test_reads_is_reported_and_no_other() -> None:
    code = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "backtest").rglob("*.py"))
    read = set(re.findall(r'"(\w+)/[\w{}]+\.csv"', code))
    assert read == {p.folder for p in PUBLIC_DATA}


def test_every_data_set_of_the_table_has_its_source() -> None:
    rows = read_accuracy(ROOT / "data" / "accuracy.parquet")
    known = {name for p in PUBLIC_DATA for name in p.data_sets}
    assert {r.data_set for r in rows} - {MEAN} <= known
    asked = {(name, q) for p in PUBLIC_DATA for name in p.data_sets for q in p.questions}
    assert {(r.data_set, r.question) for r in rows if r.data_set != MEAN} <= asked
    assert regret.QUESTION in {q for p in PUBLIC_DATA for q in p.questions}


@each
def test_each_says_what_it_holds_where_it_is_from_and_its_licence(one: PublicData) -> None:
    assert all((one.title, one.origin, one.licence, one.holds, one.questions))


@each
def test_origin_and_licence_are_those_beside_the_data(one: PublicData) -> None:
    page = DATA / one.folder / "README.md"
    if not page.is_file():
        pytest.skip(f"{page} is not here: the public data sets are not part of the project")
    text = page.read_text(encoding="utf-8")
    licence = re.search(r"^- Licence: (.+)$", text, re.MULTILINE)
    assert licence
    hashes = re.findall(r"\b[0-9a-f]{7,8}\b", one.origin)
    assert hashes
    assert all(h in text for h in hashes)
    known = re.sub(r"CC-BY", "CC BY", licence[1])
    if one.licence.startswith("none"):
        assert re.search(r"no licence file|neither", known)
    else:
        name = re.search(r"MIT|Apache-2\.0|CC BY 4\.0", one.licence)
        assert name
        assert name[0] in known
