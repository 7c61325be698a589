"""Bringing results in from the page: problems, preview, commit, duplicates, withdrawal."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from streamlit.testing.v1 import AppTest

from planner.importers import located
from planner.store import Folder, Store
from planner.store.summaries import summaries
from tests.pages.conftest import show, sound, texts

HEADER = "model,system_name,device_kind,global_batch_size,step_s,total_s\n"
GOOD = HEADER + "ViT-B,H100,gpu,256,0.125,900\nViT-B,H100,gpu,512,0.25,1800\n"
_ADDED: Final[dict[str, bytes]] = {}
"""Files of the set that the page has written."""


@pytest.fixture
def mine(alone: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of one's own results, on a machine of one's own."""
    monkeypatch.setenv("EPOCHWISE_MEASURE", "on")
    return alone


def dropped(text: str | bytes, name: str = "t.csv") -> AppTest:
    """The page with a file."""
    shown = show("add-results")
    data = text.encode() if isinstance(text, str) else text
    shown.file_uploader[0].upload(name, data, "text/csv")
    return sound(shown.run())


def field(shown: AppTest, label: str, value: str) -> AppTest:
    """The page with a text in the field of that label."""
    [box] = [t for t in shown.text_input if t.label == label]
    return sound(box.set_value(value).run())


def described(shown: AppTest, name: str = "Mine") -> AppTest:
    """The page with a new set and its terms."""
    terms = {"Name of the set": name, "Licence": "CC0", "Citation": "Me, 2026"}
    for box in (t for t in shown.text_input if t.label in terms):
        box.set_value(terms[box.label])
    return sound(shown.run())


def add(shown: AppTest) -> AppTest:
    """The page after its runs are added."""
    return sound(shown.button(key="add_results.add").click().run())


def added(place: Path) -> None:
    """Have two runs added to the set Mine; the page adds them once, later tests get a copy."""
    if not _ADDED:
        add(described(dropped(GOOD)))
        _ADDED.update({p.name: p.read_bytes() for p in (place / "mine").iterdir() if p.is_file()})
    (place / "mine").mkdir(parents=True, exist_ok=True)
    for name, data in _ADDED.items():
        (place / "mine" / name).write_bytes(data)


def runs_in(place: Path) -> int:
    """How many runs a folder of result sets shows."""
    store = Store((Folder(path=place, label="yours", kind="own"),))
    store.refresh()
    assert store.refused == ()
    return len(store.rows("SELECT run_id FROM runs"))


def test_runs_are_previewed_then_added_to_a_new_unofficial_set(mine: Path) -> None:
    shown = dropped(GOOD)
    assert "2 new runs" in texts(shown)
    assert "give the name of the set, the licence" in texts(shown)
    assert shown.button(key="add_results.add").disabled
    assert not mine.exists()
    shown = add(described(shown))
    assert "2 runs are added to Mine" in shown.success[0].value
    assert runs_in(mine) == 2
    assert 'standing = "unofficial"' in (mine / "mine" / "set.toml").read_text(encoding="utf-8")
    assert {r["licence"] for r in summaries(mine / "mine")} == {"CC0"}
    listed = shown.dataframe[-1].value
    assert listed["Set"].to_list() == ["Mine (unofficial)"]


def test_all_problems_come_at_once_with_row_column_rule_and_fix(mine: Path) -> None:
    shown = dropped(HEADER + "A,H100,gpu,many,0.1,1\nB,H100,gpu,1,fast,2\n")
    assert "2 problems: nothing is imported" in texts(shown)
    found = shown.dataframe[0].value
    assert found["Row"].to_list() == ["Line 2", "Line 3"]
    assert found["Column"].to_list() == ["global_batch_size", "step_s"]
    assert "must be a whole number" in found["Problem"][0]
    assert not mine.exists()


def test_the_page_says_which_field_helps_and_names_no_option_of_the_command(mine: Path) -> None:
    shown = dropped("epoch,loss\n0,2.1\n1,1.9\n")
    found = shown.dataframe[0].value
    assert set(found["What to do"]) == {"Choose its column above, or leave it out"}
    fix = located("recorded_at: is the number 3. State its unit: --option recorded_at=s or ms.").fix
    assert fix == "State its unit: the field recorded_at above: s or ms"
    assert not mine.exists()


def test_a_licence_in_the_file_needs_no_field_and_allows_no_other(mine: Path) -> None:
    head, *lines = GOOD.splitlines()
    shown = dropped("\n".join([f"{head},licence", *(f"{line},MIT" for line in lines), ""]))
    assert "the licence" not in texts(shown)
    shown = described(shown)
    [problem] = shown.dataframe[0].value.to_dict("records")
    assert problem["Problem"] == "the file says 'MIT', you state 'CC0'"
    assert problem["What to do"] == "Leave yours out"
    add(field(shown, "Licence", ""))
    assert {r["licence"] for r in summaries(mine / "mine")} == {"MIT"}
    assert 'licence = "MIT"' in (mine / "mine" / "set.toml").read_text(encoding="utf-8")


def test_unknown_columns_are_mapped_in_fields(mine: Path) -> None:
    shown = dropped(GOOD.replace("model", "net").replace("total_s", "colour"))
    boxes = {b.label: b for b in shown.selectbox}
    boxes["net"].set_value("model")
    boxes["colour"].set_value("")
    shown = sound(shown.run())
    assert "2 new runs" in texts(shown)


def test_files_that_would_not_be_read_are_a_problem(mine: Path) -> None:
    shown = show("add-results")
    for _ in range(21):
        shown.file_uploader[0].upload("t.csv", GOOD.encode(), "text/csv")
    shown = sound(shown.run())
    assert "nothing is imported" in texts(shown)
    said = " ".join(shown.dataframe[0].value["Problem"])
    assert "at most 20 files are read at once; 21 were given" in said
    assert "21 files are named t.csv" in said


def test_an_expression_for_a_log_is_tried_until_it_reads_the_steps(mine: Path) -> None:
    log = "".join(f"step {i} loss {5 - i / 10:.1f} took {100 + i} ms\n" for i in range(1, 12))
    shown = dropped(log, "train.log")
    box = next(b for b in shown.selectbox if b.label == "Format")
    shown = sound(box.set_value("step-log").run())
    facts = {"model": "GPT", "system_name": "H100", "global_batch_size": "32", "unit": "ms"}
    keys = {str(t.key).rsplit(".", 1)[-1]: t for t in shown.text_input}
    for name, value in facts.items():
        keys[name].set_value(value)
    next(b for b in shown.selectbox if str(b.key).endswith("device_kind")).set_value("gpu")
    tried = ("(", "took (?P<step_s>[0-9.]+) s", "took (?P<step_s>[0-9.]+) ms")
    for pattern, words in zip(
        tried, ("Correct it", "nothing is imported", "1 new run"), strict=True
    ):
        next(t for t in shown.text_input if str(t.key).endswith("pattern")).set_value(pattern)
        shown = sound(shown.run())
        said = "\n".join([texts(shown), *(str(t.value.to_dict()) for t in shown.dataframe)])
        assert words in said, pattern


def test_runs_that_are_there_are_recognised(mine: Path) -> None:
    added(mine)
    shown = dropped(GOOD + "ViT-B,H100,gpu,1024,0.5,3600\n")
    [box] = [b for b in shown.selectbox if b.label == "Set"]
    shown = sound(box.set_value("mine").run())
    assert "1 new run, 2 duplicates" in texts(shown)
    for label, text in (("Licence", "CC0"), ("Citation", "Me, 2026")):
        shown = field(shown, label, text)
    assert "1 runs are added" in add(shown).success[0].value
    assert runs_in(mine) == 3


def test_other_numbers_of_the_same_run_are_refused_by_name(mine: Path) -> None:
    added(mine)
    shown = dropped(GOOD.replace("1800", "1700"))
    [box] = [b for b in shown.selectbox if b.label == "Set"]
    shown = sound(box.set_value("mine").run())
    assert "1 problem: nothing is imported" in texts(shown)
    found = shown.dataframe[0].value
    assert (found["Row"][0], found["Column"][0]) == ("Run 2", "total_s")
    assert runs_in(mine) == 2


def test_a_suspect_run_is_flagged_before_it_is_added(mine: Path) -> None:
    head = "model,system_name,device_kind,global_batch_size,first_epoch_s,later_epoch_mean_s,"
    head += "epochs_measured,pre_train_s,total_s\n"
    shown = dropped(head + "A,H100,gpu,64,61.372,52.4183,5,1,272045\n")
    assert "1 new run, 1 suspect" in texts(shown)
    assert shown.dataframe[0].value["State"].to_list() == ["new, suspect"]
    cards = [html.proto.body for html in shown.get("html") if "listitem" in html.proto.body]
    assert "Run 1" in cards[0]
    assert "new, suspect" in cards[0]


def test_a_set_is_withdrawn_and_restored_and_no_file_is_lost(mine: Path) -> None:
    added(mine)
    shown = show("add-results")
    files = sorted(p.name for p in (mine / "mine").glob("*.parquet"))
    shown = sound(shown.selectbox(key="add_results.which").set_value("mine").run())
    shown = sound(shown.text_input(key="add_results.reason").set_value("wrong clock").run())
    shown = sound(shown.button(key="add_results.withdraw").click().run())
    assert "mine is withdrawn" in shown.success[0].value
    assert shown.dataframe[-1].value["State"].to_list() == ["withdrawn"]
    assert "wrong clock" in shown.dataframe[-1].value["Withdrawn"][0]
    assert runs_in(mine) == 0
    assert sorted(p.name for p in (mine / "mine").glob("*.parquet")) == files
    shown = sound(shown.button(key="add_results.restore").click().run())
    assert runs_in(mine) == 2
    assert len(list((mine / "mine").glob(".withdrawn-*.json"))) == 1


def test_nothing_can_be_added_from_elsewhere(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPOCHWISE_MEASURE", "off")
    shown = show("add-results")
    assert "switched off here" in texts(shown)
    assert not shown.file_uploader


def test_a_bomb_is_refused_with_a_sentence(mine: Path) -> None:
    shown = dropped(b"[" * 100_000 + b"]" * 100_000, "history.json")
    assert "1 problem: nothing is imported" in texts(shown)
    assert "nests deeper than 20 levels" in shown.dataframe[0].value["Problem"][0]


def test_a_set_is_downloaded_from_results_and_its_badge_is_beside_its_runs(mine: Path) -> None:
    added(mine)
    shown = show("results")
    assert all("(unofficial)" in name for name in shown.dataframe[0].value["system"])
    shown.session_state["results.sets_box"] = True
    shown = sound(shown.run())
    [box] = [b for b in shown.selectbox if b.label == "Set to download"]
    shown = sound(box.set_value("yours/mine").run())
    labels = {getattr(b, "label", "") for b in shown.get("download_button")}
    assert labels >= {"Zip", "mllog"}
