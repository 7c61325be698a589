"""Saved views: from the button beside Share to renaming, removing, restoring and loading."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from planner.store.disk import views
from planner.store.disk.views import View
from tests.pages.conftest import show, sound, texts, unfold

ONE = View(
    name="Fleet 2027", page="throughput", parameters={"scale": ["linear"]}, note="for Monday",
    saved_at="2026-11-25T10:00:00Z",
)  # fmt: skip


def _folder(folders: Path) -> Path:
    return folders / "saved" / "views"


def _save(page: str, name: str, **link: str) -> AppTest:
    shown = unfold(show(page, **link), f"{page}.save-view")
    shown.text_input(f"{page}.save-view.name").set_value(name)
    return sound(shown.button(f"{page}.save-view.now").click().run())


@pytest.mark.parametrize(
    "page", ["how-long", "throughput", "scaling-out", "steps-to-target", "results", "method"]
)
def test_every_page_saves_its_view(folders: Path, page: str) -> None:
    assert "is saved" in _save(page, "A view").success[0].value
    [view] = views.read_all(_folder(folders)).views
    assert (view.name, view.page) == ("A view", page)


def test_the_view_holds_the_whole_question(folders: Path) -> None:
    _save("how-long", "500", epochs="500")
    [view] = views.read_all(_folder(folders)).views
    assert view.parameters["epochs"] == ["500"]
    assert {"workload", "systems", "baseline"} <= set(view.parameters)


def test_a_name_is_needed_and_a_taken_one_is_replaced_on_the_second_click(folders: Path) -> None:
    assert "Give the view a name" in _save("how-long", " ").warning[0].value
    _save("how-long", "A view")
    shown = _save("how-long", "A view", epochs="7")
    assert "Save again to replace it" in shown.warning[0].value
    sound(shown.button("how-long.save-view.now").click().run())
    [view] = views.read_all(_folder(folders)).views
    assert view.parameters["epochs"] == ["7"]


def test_without_permission_nothing_is_saved_and_the_reason_is_said(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHWISE_MEASURE", "off")
    shown = unfold(show("how-long"), "how-long.save-view")
    assert "only be saved on the machine that runs this app" in texts(shown)
    views.save(_folder(folders), ONE)
    listed = show("explore", view="saved")
    assert ONE.name in str(listed.dataframe[0].value)
    assert not [b for b in listed.button if b.key == "explore.views.remove"]


def test_a_narrow_page_has_a_card_of_each_view_that_chooses_it(folders: Path) -> None:
    views.save(_folder(folders), ONE)
    shown = show("explore", view="saved")
    [cards] = [h.proto.body for h in shown.get("html") if "epochwise-cards" in h.proto.body]
    assert cards.count('role="listitem"') == 1
    for part in (ONE.name, ONE.note, "2026-11-25", f"saved={ONE.id.replace(':', '%3A')}"):
        assert part in cards


def test_a_view_is_removed_and_restored(folders: Path) -> None:
    views.save(_folder(folders), ONE)
    shown = show("explore", view="saved")
    sound(shown.button("explore.views.remove").click().run())
    assert "can be restored" in shown.success[0].value
    assert views.read_all(_folder(folders)).views == ()
    unfold(shown, "explore.views.bin")
    sound(shown.button(f"explore.views.restore.{ONE.id}").click().run())
    assert [v.name for v in views.read_all(_folder(folders)).views] == [ONE.name]


def test_a_view_gets_another_name(folders: Path) -> None:
    views.save(_folder(folders), ONE)
    shown = unfold(show("explore", view="saved"), "explore.views.rename")
    shown.text_input(f"explore.views.name.{ONE.id}").set_value("Fleet 2028")
    sound(shown.button("explore.views.renamed").click().run())
    assert [v.name for v in views.read_all(_folder(folders)).views] == ["Fleet 2028"]


def test_a_folder_that_cannot_be_written_is_said(folders: Path) -> None:
    (folders / "saved").write_text("", encoding="utf-8")
    assert "could not be changed" in _save("how-long", "A view").warning[0].value


def test_without_a_view_the_page_says_how_to_save_one(folders: Path) -> None:
    assert "No view is saved yet" in texts(show("explore", view="saved"))


def test_a_view_of_an_unknown_page_is_said(folders: Path) -> None:
    views.save(
        _folder(folders), View(name="a", page="nowhere", parameters={}, saved_at=ONE.saved_at)
    )
    assert "this version has no page" in texts(show("explore", view="saved"))
