"""What may be asked by name: read in one way, all problems at once, written back the same."""

from __future__ import annotations

import math
from datetime import date
from urllib.parse import parse_qs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.core import (
    LONGEST_QUERY,
    LONGEST_VALUE,
    MOST_QUERY_VALUES,
    Parameter,
    number_of,
    number_text,
    query_of,
    read,
    texts_of_link,
)
from planner.core.parameters import missing
from tests.each import each

_TIME = Parameter(name="deadline", words="", kind="number", unit="h", least=1e-3, most=1e4)
TABLE = (
    Parameter(name="word", words="a word"),
    Parameter(name="whole", words="a whole", kind="whole", default=5, least=1, most=100),
    Parameter(name="number", words="a number", kind="number", unit="W", least=0.0, most=1e6),
    Parameter(name="order", words="which", kind="choice", choices=("cost", "time"), default="cost"),
    Parameter(name="on", words="a switch", kind="flag", default=False),
    Parameter(name="day", words="a day", kind="date"),
    Parameter(name="many", words="several", many=3),
    Parameter(name="sizes", words="several numbers", kind="number", least=1.0, most=9.0, many=4),
)


def test_nothing_given_is_the_defaults_without_a_problem() -> None:
    result = read(TABLE, {})
    assert result.problems == ()
    assert result.values["whole"] == 5
    assert result.values["many"] == ()
    assert result.values["day"] is None
    assert query_of(TABLE, result.values) == ""


def test_every_kind_of_value_is_read() -> None:
    result = read(
        TABLE,
        {
            "word": ["tpu-v2-8 · a"], "whole": ["7"], "number": ["1.5e3"], "order": ["time"],
            "on": ["on"], "day": ["2026-11-21"], "many": ["a", "", "a"], "sizes": ["2", "3"],
        },
    )  # fmt: skip
    assert result.problems == ()
    assert dict(result.values) == {
        "word": "tpu-v2-8 · a", "whole": 7, "number": 1500.0, "order": "time", "on": True,
        "day": date(2026, 11, 21), "many": ("a",), "sizes": (2.0, 3.0),
    }  # fmt: skip


@each(("name", "text"), [
        ("whole", "1.5"), ("whole", "0"), ("whole", "-1"), ("whole", "1_0"), ("whole", "٣"),
        ("whole", ""), ("whole", "9" * 30), ("number", "nan"), ("number", "inf"),
        ("number", "1e999"), ("number", "1_0"), ("number", "0x1"), ("number", " 1"),
        ("number", "-1"), ("order", "COST"), ("on", "true"), ("day", "2026-13-01"),
        ("day", "20261121"), ("day", "today"), ("word", "a\x00b"), ("word", "a\u202eb"),
        ("word", "a\nb"), ("word", "a" * (LONGEST_VALUE + 1)), ("sizes", "10"),
    ])  # fmt: skip
def test_a_value_that_is_none_is_a_problem_that_names_it_and_leaves_the_default(
    name: str, text: str
) -> None:
    result = read(TABLE, {name: [text]})
    assert [p.parameter for p in result.problems] == [name]
    assert len(str(result.problems[0])) < 300
    assert str(result.problems[0]).isprintable()
    default = next(p for p in TABLE if p.name == name).default
    assert result.values[name] == (() if name == "sizes" else default)


def test_all_problems_are_reported_at_once() -> None:
    result = read(TABLE, {"whole": ["x"], "number": ["y"], "wohle": ["3"], "on": ["on", "off"]})
    assert [p.parameter for p in result.problems] == ["whole", "number", "wohle", "on"]
    assert "Perhaps whole?" in str(result.problems[2])
    assert "Give it once" in str(result.problems[3])


def test_names_that_mean_nothing_here_are_let_through_only_where_they_are_known() -> None:
    assert read(TABLE, {"scale": ["log"]}, ignored={"scale"}).problems == ()
    assert read(TABLE, {"scale": ["log"]}).problems


def test_too_many_values_are_refused_before_any_is_read() -> None:
    result = read(TABLE, {"many": ["a"] * (MOST_QUERY_VALUES + 1)})
    assert len(result.problems) == 1
    assert str(MOST_QUERY_VALUES) in str(result.problems[0])
    four = read(TABLE, {"many": ["a", "b", "c", "d"]})
    assert four.values["many"] == ("a", "b", "c")
    assert "3 at most" in str(four.problems[0])
    empty = read(TABLE, {"many": ["", "", "", ""]})  # as the description of the interface counts
    assert "3 at most" in str(empty.problems[0])


@settings(max_examples=200)
@given(st.dictionaries(st.text(max_size=12), st.lists(st.text(max_size=40), max_size=4),
                       max_size=6))  # fmt: skip
def test_whatever_is_given_is_read_without_an_exception(given_: dict[str, list[str]]) -> None:
    result = read(TABLE, given_)
    assert set(result.values) == {p.name for p in TABLE}


@given(
    whole=st.integers(1, 100),
    number=st.just(0.0) | st.floats(1e-15, 1e6),
    many=st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1), max_size=3),
)
def test_a_query_is_read_back_as_what_it_was_made_of(
    whole: int, number: float, many: list[str]
) -> None:
    values = {"whole": whole, "number": number, "many": tuple(dict.fromkeys(many)), "on": True}
    result = read(TABLE, parse_qs(query_of(TABLE, values), keep_blank_values=True))
    assert result.problems == ()
    assert {n: result.values[n] for n in values} == values


def test_a_link_is_taken_apart_and_a_bare_query_too() -> None:
    link = "http://127.0.0.1:8501/compare?epochs=10&own=rent%7Ct4%7C1%7C0.5&own=&x"
    wanted = {"epochs": ["10"], "own": ["rent|t4|1|0.5", ""], "x": [""]}
    assert texts_of_link(link) == ("compare", wanted)
    assert texts_of_link("epochs=10") == ("", {"epochs": ["10"]})
    assert texts_of_link("http://h/compare") == ("compare", {})


@pytest.mark.parametrize("link", ["x=" + "a" * LONGEST_QUERY, "http://[bad?x=1", "&a=1" * 300])
def test_a_link_that_cannot_be_read_says_so(link: str) -> None:
    with pytest.raises(ValueError, match="link"):
        texts_of_link(link)


def test_what_is_missing_is_reported_with_what_is_like_it() -> None:
    assert "gpu-batch-64" in missing("system", "gpu-batch-46", ["tpu", "gpu-batch-64"])
    assert "There is none yet" in missing("system", "x", [])
    assert len(missing("system", "z" * 5000, ["a"])) < 300


@each(
    ("text", "value"),
    [("7B", 7e9), ("1.5T", 1.5e12), ("100 M", 1e8), ("2k", 2000.0), ("25G", 25e9), ("3p", 3e15),
     ("12", 12.0), (".5M", 5e5), ("8.03B", 8.03e9), ("7 billion", 7e9), ("1.5 Trillion", 1.5e12),
     ("100million", 1e8), ("3 thousand", 3000.0), ("1_000_000", 1e6), ("7,000,000", 7e6),
     ("\uff12\uff10\uff10\uff2d", 2e8)],
)  # fmt: skip
def test_a_letter_behind_a_number_multiplies_it(text: str, value: float) -> None:
    assert number_of(text) == value


def test_full_width_digits_are_digits() -> None:
    epochs = (Parameter(name="epochs", words="", kind="whole", least=1, most=100),)
    assert read(epochs, {"epochs": ["\uff12\uff10"]}).values["epochs"] == 20


def test_a_share_in_per_cent_may_end_in_its_sign() -> None:
    share = (Parameter(name="share", words="", kind="number", unit="%", least=1.0, most=100.0),)
    assert read(share, {"share": ["40 %"]}).values["share"] == 40.0
    assert "from 1 to 100 %" in str(read(share, {"share": ["0.4"]}).problems[0])


def test_other_names_of_a_choice_are_read_as_it() -> None:
    formats = (Parameter(name="format", words="", kind="choice", choices=("bfloat16",),
                         also={"bf16": "bfloat16"}),)  # fmt: skip
    for name in ("bf16", "BF16", "bfloat16"):
        assert read(formats, {"format": [name]}).values["format"] == "bfloat16"
    assert read(formats, {"format": ["fp"]}).problems


@each(
    "text", ["", "B", "7 7B", "1e9B9", "nan", "infM", "7MB", "0x7", "1_0", "billion", "7 billions"]
)
def test_anything_else_is_no_number(text: str) -> None:
    assert math.isnan(number_of(text))


@given(st.floats(1.0, 1e18))
def test_a_number_written_short_is_the_same_number(value: float) -> None:
    assert number_of(number_text(value)) == value


@each(
    ("value", "text"),
    [(7e9, "7B"), (8.03e9, "8.03B"), (1e8, "100M"), (1.5e12, "1.5T"), (2.84e15, "2840T"),
     (2048.0, "2048"), (8_030_261_248.0, "8030261248")],
)  # fmt: skip
def test_numbers_are_written_as_people_do(value: float, text: str) -> None:
    assert number_text(value) == text


@each(
    ("text", "hours"),
    [("36", 36.0), ("36 h", 36.0), ("1,000 hours", 1000.0), ("90 min", 1.5), ("3 Days", 72.0),
     ("2 weeks", 336.0), ("1.5d", 36.0), ("1 day, 12 h 30 min", 36.5), ("1800 s", 0.5),
     ("２ weeks", 336.0), ("1 year", 8760.0)],
)  # fmt: skip
def test_a_time_may_have_a_unit_of_its_own(text: str, hours: float) -> None:
    assert read([_TIME], {"deadline": [text]}).values["deadline"] == pytest.approx(hours)


@each("text", ["0", "-3", "0 h", "soon", "3 months", "2 m", "h", "1 h 30", "nan", "1e9"])
def test_a_time_that_is_none_is_named_with_what_to_write(text: str) -> None:
    result = read([_TIME], {"deadline": [text]})
    assert result.values["deadline"] is None
    assert str(result.problems[0]) == (
        f"deadline: {text!r} is not a time from 0.001 to 10,000 h. "
        "Write it as 36 h, 3 days or 2 weeks."
    )


def test_only_a_short_parameter_takes_letters() -> None:
    plain_one = Parameter(name="hours", words="", kind="number", least=0.0, most=1e6)
    short_one = Parameter(name="samples", words="", kind="whole", least=1, most=10**9, short=True)
    assert read([plain_one], {"hours": ["2k"]}).problems
    assert read([short_one], {"samples": ["1.28M"]}).values["samples"] == 1_280_000
    assert read([short_one], {"samples": ["1.2345678M"]}).problems


def test_a_beginning_of_a_name_finds_it_and_a_sentence_ends_once() -> None:
    known = ["wideresnet-103m-cifar-100-adam-float32", *(f"other-{n}" for n in range(9))]
    result = missing("workload", "wideresnet", known)
    assert "wideresnet-103m-cifar-100-adam-float32, ..." in result
    assert not result.endswith("....")
    assert "any more" not in result


def test_links_of_earlier_versions_are_read_by_todays_names() -> None:
    table = (Parameter(name="price_uncertainty", words="of a price", kind="number"),)
    assert read(table, {"price_doubt": ["0.2"]}).values["price_uncertainty"] == 0.2
    both = read(table, {"price_doubt": ["0.2"], "price_uncertainty": ["0.1"]})
    assert (both.values["price_uncertainty"], both.problems) == (0.1, ())
