"""The URL holds the state, the session remembers it, and what a link gets wrong is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from planner.core import slug
from tests.pages.conftest import show, sound, texts

TABLE = [
    ("TPU v2-8 · batch 4,096", "tpu-v2-8-batch-4-096"),
    ("2 × GPU without P2P", "2-x-gpu-without-p2p"),
    ("Élan ＡＢＣ", "elan-abc"),
    ("日本語", "none"),
    ("", "none"),
    ("../../etc/passwd", "..-..-etc-passwd"),
    ("a=b&c=d#e?f", "a-b-c-d-e-f"),
]


@pytest.mark.parametrize(("name", "short"), TABLE)
def test_a_name_stands_in_a_link_as_small_letters_and_hyphens(name: str, short: str) -> None:
    assert slug(name) == short


@given(st.text())
def test_a_slug_needs_no_quoting_in_an_address(name: str) -> None:
    assert set(slug(name)) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-")


def _page() -> None:
    import streamlit as st

    from pages.common.link import Link
    from planner.core import Parameter

    link = Link("try")
    link.choice("one", ["a", "b"], "a")
    link.choices("many", ["c", "d", "e", "f"], ["c", "d"], 3)
    link.number(Parameter(name="number", words="", kind="whole", least=1, most=100), 7)
    link.flag(Parameter(name="flag", words="", kind="flag"))
    link.text("text", "[0-9]{3}")
    link.decimal(Parameter(name="share", words="", kind="number", least=0.0, most=1e6), 0.5)
    link.decimal(Parameter(name="maybe", words="", kind="number", least=0.0, most=10.0))
    link.words(Parameter(name="words", words="", default="hello"), 12)
    link.day(Parameter(name="day", words="", kind="date"))
    link.texts("texts", 3)
    st.selectbox("One", ["a", "b"], key=link.key("one"))
    st.multiselect("Many", ["c", "d", "e", "f"], key=link.key("many"), max_selections=3)
    st.number_input("Number", 1, 100, key=link.key("number"))
    st.toggle("Flag", key=link.key("flag"))
    st.number_input("Share", 0.0, 1e6, key=link.key("share"))
    st.number_input("Maybe", 0.0, 10.0, value=None, key=link.key("maybe"))
    st.text_input("Words", key=link.key("words"))
    st.date_input("Day", value=None, key=link.key("day"))
    st.button("Put", key="put", on_click=lambda: link.put("texts", ["x|1", "y"]))
    st.button("Adopt", key="adopt", on_click=lambda: link.adopt({"one": ["b"], "share": ["2.5"]}))
    st.button("Reset", key="reset", on_click=lambda: link.forget("number", "many"))
    link.write()
    link.warn()
    values = {n: st.session_state[link.key(n)] for n in link._defaults}
    st.json({"values": values | {"day": str(values["day"])}})


def _opened(**link: str | list[str]) -> AppTest:
    page = AppTest.from_function(_page)
    for name, value in link.items():
        page.query_params[name] = value
    return sound(page.run())


def _values(page: AppTest) -> dict[str, object]:
    import json

    values: dict[str, object] = json.loads(page.json[0].value)["values"]
    return values


def _address(page: AppTest) -> dict[str, list[str]]:
    return {name: _listed(page.query_params[name]) for name in page.query_params}


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


DEFAULTS = {
    "one": "a", "many": ["c", "d"], "number": 7, "flag": False, "text": None, "share": 0.5,
    "maybe": None, "words": "hello", "day": "None", "texts": [],
}  # fmt: skip


def test_without_a_link_every_value_is_its_default_and_the_address_is_bare() -> None:
    page = _opened()
    assert _values(page) == DEFAULTS
    assert _address(page) == {}
    assert not page.warning


def test_a_link_sets_every_kind_of_value() -> None:
    page = _opened(
        one="b", many=["e", "c"], number="42", flag="on", text="123", share="0.25", maybe="1e-2",
        words="two words", day="2026-11-21", texts=["a|1", "b"],
    )  # fmt: skip
    assert _values(page) == {
        "one": "b", "many": ["e", "c"], "number": 42, "flag": True, "text": "123", "share": 0.25,
        "maybe": 0.01, "words": "two words", "day": "2026-11-21", "texts": ["a|1", "b"],
    }  # fmt: skip
    assert not page.warning


def test_defaults_are_not_written_into_the_address() -> None:
    page = _opened(one="a", many=["c", "d"], number="8", flag="off")
    assert _address(page) == {"one": ["a"], "many": ["c", "d"], "number": ["8"], "flag": ["off"]}
    page.number_input(key="try.number").set_value(7).run()
    assert _address(page) == {}


def test_an_address_that_names_defaults_is_not_written_again() -> None:
    """Another address is one more entry of the browser's history: Back would stay on the page."""
    given = {"one": ["a"], "flag": ["off"]}
    page = _opened(one="a", flag="off")
    assert _address(page) == given
    assert _address(page.run()) == given
    page.toggle(key="try.flag").set_value(True).run()
    assert _address(page) == {"flag": ["on"]}


def test_what_is_changed_is_written_and_what_is_changed_back_goes() -> None:
    page = _opened()
    page.number_input(key="try.number").set_value(50).run()
    page.toggle(key="try.flag").set_value(True).run()
    assert _address(page) == {"number": ["50"], "flag": ["on"]}
    page.number_input(key="try.number").set_value(7).run()
    assert _address(page) == {"flag": ["on"]}


BAD = [
    ("one", "z", "one: “z” is no longer an option."),
    ("many", "z", "many: “z” is no longer an option."),
    ("number", "abc", "number: “abc” is not a whole number from 1 to 100."),
    ("number", "0", "number: “0” is not a whole number from 1 to 100."),
    ("number", "101", "number: “101” is not a whole number from 1 to 100."),
    ("number", "1.5", "number: “1.5” is not a whole number from 1 to 100."),
    ("number", "٧", "number: “٧” is not a whole number from 1 to 100."),
    ("number", "9" * 5000, "has 5,000 letters. Give 1000 at most."),
    ("number", "", "number: “” is not a whole number from 1 to 100."),
    ("flag", "yes", "flag: “yes” is not on or off."),
    ("text", "12", "text: “12” is malformed."),
    ("share", "abc", "share: “abc” is not a number from 0 to 1,000,000."),
    ("share", "-1", "share: “-1” is not a number from 0 to 1,000,000."),
    ("share", "1000000.1", "share: “1000000.1” is not a number from 0 to 1,000,000."),
    ("share", "nan", "share: “nan” is not a number from 0 to 1,000,000."),
    ("share", "inf", "share: “inf” is not a number from 0 to 1,000,000."),
    ("share", "1e400", "share: “1e400” is not a number from 0 to 1,000,000."),
    ("share", "٧.٥", "share: “٧.٥” is not a number from 0 to 1,000,000."),
    ("share", "", "share: “” is not a number from 0 to 1,000,000."),
    ("maybe", "11", "maybe: “11” is not a number from 0 to 10."),
    ("words", "far too many words", "“far too many words” has 18 letters. Give 12 at most."),
    ("words", "a\u202eb", "words: “ab” contains unprintable characters."),
    ("day", "2026-02-30", "day: “2026-02-30” is not a date. Write it as 2026-11-21."),
    ("day", "21.11.2026", "day: “21.11.2026” is not a date. Write it as 2026-11-21."),
]


@pytest.mark.parametrize(("name", "value", "result"), BAD)
def test_a_value_that_does_not_fit_is_named_and_its_default_shown(
    name: str, value: str, result: str
) -> None:
    page = _opened(**{name: value})
    assert result in texts(page)
    assert _values(page) == DEFAULTS
    assert _address(page) == {}


def test_the_good_rest_of_a_bad_link_is_kept() -> None:
    page = _opened(one="z", many=["z", "e"], number="42")
    assert _values(page) == DEFAULTS | {"many": ["e"], "number": 42}
    assert texts(page).count("no longer") == 2


def test_a_bad_value_is_reported_once() -> None:
    page = _opened(number="abc")
    page.toggle(key="try.flag").set_value(True).run()
    assert not page.warning


def test_no_markup_comes_in_by_a_link() -> None:
    page = _opened(one="<img src=x> **b** [l](http://evil.example)")
    assert "\\<img src\\=x\\> \\*\\*b\\*\\*" in page.warning[0].value


def test_choosing_nothing_is_a_choice_and_travels() -> None:
    page = _opened(many="")
    assert _values(page)["many"] == []
    assert _address(page) == {"many": [""]}


def test_more_values_than_the_widget_takes_are_cut_and_reported() -> None:
    page = _opened(many=["c", "d", "e", "f"])
    assert _values(page)["many"] == ["c", "d", "e"]
    assert "many: 4 values; the first 3 are used." in texts(page)


def test_the_same_value_twice_is_one_value() -> None:
    assert _values(_opened(many=["e", "e", "e", "e"]))["many"] == ["e"]


def test_a_button_sets_some_values_back_and_leaves_the_others() -> None:
    page = _opened(one="b", many="f", number="42")
    page.button(key="reset").click().run()
    assert _values(page) == DEFAULTS | {"one": "b"}
    assert _address(page) == {"one": ["b"]}


def test_an_address_that_changes_under_the_page_wins_as_going_back_does() -> None:
    page = _opened(number="42", flag="on")
    page.query_params.clear()
    page.query_params["number"] = "8"
    assert _values(page.run()) == DEFAULTS | {"number": 8}


def test_going_back_to_the_bare_address_shows_the_defaults() -> None:
    page = _opened(number="42")
    page.query_params.clear()
    assert _values(page.run()) == DEFAULTS


@pytest.mark.parametrize(("value", "text"), [(72.0, "72"), (0.1, "0.1"), (123456.75, "123456.75")])
def test_a_decimal_number_is_written_as_short_as_it_can_be(value: float, text: str) -> None:
    page = _opened()
    page.number_input(key="try.share").set_value(value).run()
    assert _address(page) == {"share": [text]}
    assert _values(_opened(share=text))["share"] == value


def test_a_number_that_is_emptied_leaves_the_address() -> None:
    page = _opened(maybe="2")
    page.number_input(key="try.maybe").set_value(None).run()
    assert _values(page)["maybe"] is None
    assert _address(page) == {}


def test_values_without_a_widget_are_put_by_a_button_and_travel() -> None:
    page = _opened()
    page.button(key="put").click().run()
    assert _address(page) == {"texts": ["x|1", "y"]}


def test_more_values_than_are_used_are_reported() -> None:
    page = _opened(texts=["a", "b", "c", "d"])
    assert _values(page)["texts"] == ["a", "b", "c"]
    assert "texts: 4 values; the first 3 are used." in texts(page)


def test_another_state_can_be_adopted_whole() -> None:
    page = _opened(number="42", flag="on", words="mine")
    page.button(key="adopt").click().run()
    assert _values(page) == DEFAULTS | {"one": "b", "share": 2.5}
    assert _address(page) == {"one": ["b"], "share": ["2.5"]}
    assert not page.warning


def test_what_several_views_carry_along_is_carried_together() -> None:
    def view() -> None:
        from pages.common.link import Link

        link = Link("try")
        link.keep("a", "b")
        link.keep("c")
        link.write()
        link.warn()

    page = AppTest.from_function(view)
    for name in "abc":
        page.query_params[name] = "1"
    sound(page.run())
    assert _address(page) == {name: ["1"] for name in "abc"}
    assert not page.warning


def test_a_page_is_as_it_was_left_when_one_comes_back_by_the_menu() -> None:
    shown = show(epochs="500", scale="linear")
    shown.query_params.clear()
    sound(shown.switch_page("throughput/page.py").run())
    assert shown.title[0].value == "Throughput"
    shown.query_params.clear()
    sound(shown.switch_page("how_long/page.py").run())
    assert "500 epochs" in texts(shown)
    assert _address(shown) == {"epochs": ["500"], "scale": ["linear"]}


def test_more_values_than_are_shown_are_reported_under_a_heading_that_is_true_of_them() -> None:
    def view() -> None:
        from pages.common.link import Link

        link = Link("try")
        link.choices("many", ["a", "b", "c"], ["a"], 2)
        link.write()
        link.warn()

    page = AppTest.from_function(view)
    page.query_params["many"] = ["a", "b", "c"]
    said = sound(page.run()).warning[0].value
    assert said.startswith("Part of this link could not be followed:")
    assert "many: 3 values; the first 2 are used." in said
    assert "default" not in said


# -- clicks that come too early ----------------------------------------------------------------


def _interrupted() -> None:
    import streamlit as st

    from pages.common.link import Link
    from planner.core import Parameter

    link = Link("try")
    link.number(Parameter(name="number", words="", kind="whole", least=1, most=100), 7)
    st.number_input("Number", 1, 100, key=link.key("number"))
    if st.session_state.pop("cut short", False):
        st.stop()
    link.number(Parameter(name="later", words="", kind="whole", least=1, most=100), 7)
    st.number_input("Later", 1, 100, key=link.key("later"))
    st.button("Adopt", on_click=lambda: link.adopt({"number": ["5"], "later": ["6"]}))
    link.write()


def _fields(page: AppTest) -> list[tuple[int, bool]]:
    """What each field shows, and whether the browser is told to show it."""
    return [(int(n.value or 0), bool(n.proto.set_value)) for n in page.number_input]


def test_after_a_run_that_a_click_cut_short_every_field_is_reported_again_once() -> None:
    page = AppTest.from_function(_interrupted)
    page.query_params["number"], page.query_params["later"] = "90", "80"
    page.session_state["cut short"] = True
    assert _fields(page.run()) == [(90, True)]
    assert _fields(page.run()) == [(90, True), (80, True)]
    assert _fields(page.run()) == [(90, False), (80, False)]


def test_what_is_adopted_arrives_whole_though_a_click_cuts_its_first_run_short() -> None:
    page = AppTest.from_function(_interrupted).run()
    page.session_state["cut short"] = True
    page.button[0].click().run()
    assert [value for value, _ in _fields(page.run())] == [5, 6]
    assert _address(page) == {"number": ["5"], "later": ["6"]}


def test_a_link_followed_after_that_counts_more_than_what_was_adopted_before() -> None:
    page = AppTest.from_function(_interrupted).run()
    page.session_state["cut short"] = True
    page.button[0].click().run()
    page.query_params["number"] = "50"
    assert [value for value, _ in _fields(page.run())] == [50, 7]


# -- what another page leaves in the address -----------------------------------------------------


def _two_pages() -> None:
    import streamlit as st

    from pages.common.link import Link, offer
    from planner.core import Parameter

    page = st.session_state.get("page", "first")
    link = Link(page)
    link.number(Parameter(name="epochs", words="", kind="whole", least=1, most=100), 7)
    if page == "second":
        link.choice("workload", ["a", "b"], "a")
    link.write()
    link.warn()
    offer("first", {"workload": ["b"], "epochs": ["50"]})
    st.json({"epochs": st.session_state[link.key("epochs")]})


def _epochs(page: AppTest) -> int:
    import json

    return int(json.loads(page.json[0].value)["epochs"])


def _go(page: AppTest, name: str, **link: str) -> AppTest:
    """As the browser does: another page, under the address of the history's entry."""
    page.session_state["page"] = name
    page.query_params.clear()
    for parameter, value in link.items():
        page.query_params[parameter] = value
    return sound(page.run())


def test_under_the_parameters_of_its_own_link_to_another_page_a_page_is_as_it_was_left() -> None:
    page = AppTest.from_function(_two_pages)
    page.query_params["epochs"] = "20"
    assert _epochs(sound(page.run())) == 20
    assert _epochs(_go(page, "second", workload="b", epochs="50")) == 50
    back = _go(page, "first", workload="b", epochs="50")
    assert _epochs(back) == 20
    assert not back.warning
    assert _address(back) == {"epochs": ["20"]}


def test_parameters_of_the_page_one_comes_from_are_dropped_without_a_word() -> None:
    page = AppTest.from_function(_two_pages)
    sound(page.run())
    _go(page, "second", workload="a", epochs="50")
    back = _go(page, "first", workload="a", epochs="30")
    assert _epochs(back) == 30
    assert not back.warning


def test_a_parameter_that_no_page_before_knows_is_still_reported() -> None:
    page = AppTest.from_function(_two_pages)
    sound(page.run())
    _go(page, "second", workload="a")
    assert "zzz: unknown setting on this page" in _go(page, "first", zzz="1").warning[0].value


def test_a_typed_link_with_a_parameter_of_another_page_is_reported() -> None:
    page = AppTest.from_function(_two_pages)
    page.query_params["workload"] = "a"
    assert "workload: unknown setting on this page" in sound(page.run()).warning[0].value


def _put_after_writing() -> None:
    import streamlit as st

    from pages.common.link import Link
    from planner.core import Parameter

    link = Link("late")
    link.number(Parameter(name="epochs", words="", kind="whole", least=1, most=100), 10)
    link.write()
    st.text(f"written {link.shared()}")
    link.put("epochs", 30)
    st.text(f"put {link.shared()} {link.parameters()}")
    link.number(Parameter(name="devices", words="", kind="whole", least=1, most=8), 1)
    st.session_state[link.key("devices")] = 4
    st.text(f"declared {link.shared()}")


def test_a_value_that_is_put_after_writing_is_in_the_shared_link() -> None:
    page = AppTest.from_function(_put_after_writing).run()
    assert [line.value for line in page.text] == [
        "written {}",
        "put {'epochs': ['30']} {'epochs': ['30']}",
        "declared {'epochs': ['30'], 'devices': ['4']}",
    ]
