"""The hand-out of a comparison: everything is in it, nothing in it runs, its numbers are ours."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from html.parser import HTMLParser
from zoneinfo import ZoneInfo

import pytest

from planner.answers.comparison import Answered, JobFacts, Request
from planner.answers.comparison.question import answered
from planner.compare import ASSUMPTION_TEXTS, Assumptions, sentence
from planner.compare.comparison import Limits
from planner.core import Estimate, interval
from planner.cost import Display, money_with_interval
from planner.job import Described, job_described, library_of
from planner.report import Letterhead, compare_page
from planner.report._page import (
    POLICY,
    escaped,
    linked,
    linked_text,
    table,
)
from tests.planner.compare.made import CATALOG, OLD, RUN, TODAY, job, row

FACTS = JobFacts(job=job(), catalog=CATALOG, library=library_of(CATALOG, [row(RUN)]))
LINK = "http://127.0.0.1:8501/compare?epochs=10&deadline=72"
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + b"\0" * 20
HOSTILE = '<img src=x onerror=alert(1)>"><script>alert(2)</script>\u202e'


class _Read(HTMLParser):
    """Every element with its attributes, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def told(asked: Request | None = None, facts: JobFacts = FACTS) -> Answered:
    return answered(asked or Request(epochs=10), facts, TODAY)


def _page(result: Answered | None = None, **more: object) -> str:
    return compare_page(result or told(), link=LINK, made="2026-11-21", **more)  # type: ignore[arg-type]


def _seen(text: str) -> str:
    return " ".join(text.split())


def test_question_answer_link_and_date_stand_on_the_page() -> None:
    result = told()
    assert result.comparison is not None
    read = _Read(_page(result))
    assert "Which hardware finishes 10 epochs of" in read.text
    assert _seen(sentence(result.comparison)) in _seen(read.text)
    assert "2026-11-21" in read.text
    assert ("a", LINK) in [(t, a.get("href")) for t, a in read.found]


def test_every_time_cost_and_interval_is_that_of_the_comparison() -> None:
    result = told().comparison
    assert result is not None
    text = _seen(_Read(_page()).text)
    for one in result.rows:
        assert _seen(one.candidate.label) in text
        if isinstance(one.time, Estimate):
            ends = (float(end) for end in (one.time.value, one.time.low, one.time.high))
            assert _seen(interval(*ends).replace(" (", "(")) in text.replace(" (", "(")
        if isinstance(one.cost, Estimate):
            assert money_with_interval(one.cost).split(" ")[0] in text


def test_every_assumption_is_reported_with_its_reason_and_what_was_set() -> None:
    asked = Request(epochs=10, assumed=replace(Assumptions(), pue=1.07))
    text = _seen(_Read(_page(told(asked))).text)
    for result in ASSUMPTION_TEXTS.values():
        assert result.words in text
        assert _seen(result.why) in text
    assert text.count("set for this question") == 1


def test_sources_with_dates_and_licences_are_named() -> None:
    text = _Read(_page()).text
    assert "Epoch AI" in text
    assert "CC BY 4.0" in text
    assert "Price from" in text
    assert "Data sheet as of" in text


def test_nothing_runs_and_nothing_is_fetched() -> None:
    read = _Read(_page(letterhead=Letterhead(logo=PNG, company="Example")))
    tags = {t for t, _ in read.found}
    assert not tags & {
        "script",
        "iframe",
        "object",
        "embed",
        "link",
        "base",
        "form",
        "foreignobject",
    }
    for _, attributes in read.found:
        assert not [n for n in attributes if n.startswith("on")]
        assert (attributes.get("src") or "data:").startswith("data:")
        assert "url(" not in (attributes.get("style") or "")
    policy = next(a["content"] for t, a in read.found if a.get("http-equiv"))
    assert policy == POLICY
    assert "@import" not in _page()


def test_names_are_text_whatever_they_hold() -> None:
    facts = replace(FACTS, job=replace(job(), workload=f"{HOSTILE} · data"))
    page = compare_page(told(facts=facts), link="javascript:alert(1)", made=HOSTILE,
                        letterhead=Letterhead(company=HOSTILE, customer=HOSTILE, reference=HOSTILE,
                                              text=HOSTILE))  # fmt: skip
    read = _Read(page)
    assert "script" not in {t for t, _ in read.found}
    assert not [a for _, a in read.found if "onerror" in a]
    assert "javascript:alert(1)" not in [a.get("href") for _, a in read.found]
    assert "\u202e" not in page
    assert "alert(2)" in read.text


def test_deadline_and_budget_are_asked_and_answered() -> None:
    asked = Request(epochs=10, limits=Limits(deadline_s=72 * 3600.0, budget_usd=500.0))
    read = _Read(_page(told(asked)))
    assert "within 72 h for at most 500 USD, cheapest?" in read.text
    assert "Meets limits" in read.text
    assert "Meets limits" not in _Read(_page()).text


def test_probabilities_say_among_which_options_they_are_reported() -> None:
    limited = told(Request(epochs=10, limits=Limits(deadline_s=72 * 3600.0)))
    assert "it beats all others that finish in time at once." in _seen(_page(limited))
    assert ": how likely it beats all others at once." in _seen(_page())
    assert "The answer compares two options, so its probability is higher." in _seen(_page())


def test_the_title_reports_the_budget_as_everything_else_is_shown() -> None:
    asked = Request(epochs=10, limits=Limits(budget_usd=500.0))
    display = Display(currency="EUR", per_usd=0.5, as_of=TODAY, tax_share=0.2)
    text = _Read(_page(told(asked), display=display)).text
    assert "for at most 300 EUR with tax, cheapest?" in text
    assert "500 USD" not in text


def test_a_deadline_that_was_asked_for_as_a_date_is_reported_as_that_date_and_in_hours() -> None:
    by = datetime(2026, 11, 27, 9, 0, tzinfo=timezone(timedelta(hours=9)))
    begins = datetime(2026, 11, 24, 9, 0, tzinfo=UTC)
    asked = Request(epochs=10, limits=Limits(deadline_s=(by - begins).total_seconds()))
    text = _seen(_Read(_page(told(asked), begins=begins, by=by)).text)
    assert "by Fri 27 Nov 2026, 09:00 UTC+09:00 (63 h), cheapest?" in text
    assert "Finish by Fri 27 Nov 2026, 09:00 UTC+09:00: " in text
    assert "Ends: if work begins 24 Nov 2026, 18:00 UTC+09:00." in text
    assert "ends 24 Nov 2026, 18:" in text


def test_the_last_list_and_the_foot_are_not_torn_apart_in_print() -> None:
    page = _page()
    foot = page[page.index("<footer>") : page.index("</footer>")]
    assert "epoch.ai" in foot
    assert "Made by Epochwise" in foot
    assert "li,.whole,footer,.end{break-inside:avoid}" in page
    end = page[page.index('<div class="end">') : page.index("<footer>")]
    assert "Where these numbers come from" in end


def test_what_was_typed_is_reported_as_set_be_it_the_usual_number() -> None:
    asked = Request(epochs=10, country="XX", tariff_typed=True)
    text = _seen(_Read(_page(told(asked))).text)
    assert "set for this question" in text
    assert "is your own, 0.15 USD/kWh, not that of Nowhere" in text


def test_the_options_that_keep_to_the_deadline_are_reported_with_its_date() -> None:
    asked = Request(epochs=10, limits=Limits(deadline_s=72 * 3600.0))
    begins = datetime(2026, 11, 24, 9, 0, tzinfo=UTC)
    text = _seen(_Read(_page(told(asked), begins=begins)).text)
    assert "Finish by Fri 27 Nov 2026, 09:00 UTC: " in text
    assert "ends 24 Nov 2026, 09:" in text
    assert "Finish within 72 h: " in _seen(_Read(_page(told(asked))).text)


def test_hours_over_a_change_of_clocks_end_in_the_new_time() -> None:
    asked = Request(epochs=10, limits=Limits(deadline_s=24 * 3600.0))
    begins = datetime(2026, 10, 24, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    text = _seen(_Read(_page(told(asked), begins=begins)).text)
    assert "Sun 25 Oct 2026, 11:00 CET" in text


def test_the_job_is_reported_with_all_that_is_known_of_it() -> None:
    text = _seen(_Read(_page()).text)
    for line in ("The job", "Net · Data", "10 epochs", "Input pattern", "10,000", "1,000,000",
                 "10 billion FLOPs", "float32", "SGD momentum 0.9",
                 "Measured on 1 system"):  # fmt: skip
        assert line in text, line
    described = job_described(
        Described(name="LM", samples_per_epoch=5e4, params=7e9, tokens_per_sample=4096,
                  precision="bfloat16", optimizer="AdamW", batch=64)
    )  # fmt: skip
    result = told(
        Request(epochs=1, options=told().chosen), JobFacts(job=described, catalog=CATALOG)
    )
    text = _seen(_Read(_page(result)).text)
    for line in ("50,000", "7,000,000,000 (7 billion)", "4,096", "bfloat16",
                 "AdamW", "64", "As described; not measured"):  # fmt: skip
        assert line in text, line


def test_electricity_is_reported_with_country_date_and_source() -> None:
    tariff = replace(CATALOG.tariffs[0], customer="household", price_as_of=OLD,
                     price_source_url="https://example.org/price")  # fmt: skip
    facts = replace(FACTS, catalog=replace(CATALOG, tariffs=(tariff,)))
    read = _Read(_page(told(Request(epochs=10, country="XX"), facts)))
    text = _seen(read.text)
    assert "Price of electricity: Nowhere, household, Jan 2024, older than 12 months" in text
    assert "A firm pays less" in text
    source = next(a for _, a in read.found if a.get("href") == "https://example.org/price")
    assert source["rel"] == "noopener noreferrer"
    assert "from https://example.org/price." in text
    assert "of Nowhere, see Electricity" in text


def test_addresses_are_shown_short_and_lead_to_the_whole_one() -> None:
    address = "https://example.org/" + "a" * 200
    read = _Read(linked(address))
    assert read.found[0][1]["href"] == address
    assert len(read.text) <= 44
    assert "open it in Epochwise" in _Read(_page()).text


def test_small_tables_are_not_cut_in_print_and_heads_stay_with_their_rows() -> None:
    page = table(["A"], [["1"]] * 8, "")
    assert 'class="whole"' in page
    assert 'class="whole"' not in table(["A"], [["1"]] * 9, "")
    assert ".whole" in _page()
    assert "break-after:avoid-page" in _page()


def test_addresses_that_stand_in_a_sentence_are_whole_and_hold_nothing_one_cannot_see() -> None:
    address = "https://example.org/" + "a" * 200 + "?b=1&c=2"
    result = linked_text(f"Price, from https:\u2060{address[6:]}.", [address])
    read = _Read(result)
    assert read.found[0][1]["href"] == address
    assert read.text == f"Price, from {address}."
    assert "<a " not in linked_text("from javascript:x", ["javascript:x"])


def test_on_a_narrow_screen_cells_stand_below_each_other_and_charts_keep_their_size() -> None:
    page = table(["A", "B", "C"], [["1", "2", "3"]], "Told")
    assert 'class="whole stacked"' in page
    assert '<td role="cell" data-head="B">2</td>' in page
    assert "stacked" not in table(["A", "B"], [["1", "2"]], "")
    style = re.findall(r"<style>(.*?)</style>", _page(), re.DOTALL)[0]
    narrow = style[style.index("@media screen and (max-width") : style.index("@page")]
    assert ".chart svg{min-width" in narrow
    assert "attr(data-head)" in narrow


def test_what_a_table_says_of_itself_does_not_scroll_away_with_it() -> None:
    page = table(["A"], [["1"]], "Told")
    assert page.startswith('<p class="caption">Told</p><div class="wide">')


def test_no_number_has_an_exponent_and_times_stay_on_one_line() -> None:
    facts = replace(FACTS, job=replace(job(), samples_per_epoch=5e9, params=int(7e10)))
    asked = Request(epochs=2000, limits=Limits(deadline_s=1.23456e5 * 3600.0),
                  assumed=replace(Assumptions(), runs_per_month=1e6,
                                  interruptions_per_hour=1e-5))  # fmt: skip
    text = _Read(_page(told(asked, facts))).text.split("The job", 1)
    assert "within 123,456 h" in text[0]
    assert "1,000,000 runs a month" in text[1]
    assert "70,000,000,000 (70 billion)" in text[1]
    assert "0.00001" in text[1]
    assert not re.findall(r"\de[+-]\d+", text[1])
    assert re.search(r'\d+ min<small class="line">\(\d+ to \d+ min\)', _page())


def test_a_way_out_is_reported_once() -> None:
    large = job_described(Described(name="LM", samples_per_epoch=10, params=1e11, optimizer="Adam",
                                    tokens_per_sample=1, precision="float16"))  # fmt: skip
    result = told(
        Request(epochs=1, options=told().chosen[:1]), JobFacts(job=large, catalog=CATALOG)
    )
    assert _Read(_page(result)).text.count("and shard over them") == 1


def test_currency_and_tax_are_those_that_were_asked_for() -> None:
    display = Display(currency="JPY", per_usd=150.0, as_of=TODAY, tax_share=0.1)
    text = _Read(_page(display=display)).text
    assert "Cost of a run (JPY)" in text
    assert "1 USD = 150 JPY" in text
    assert "10 % tax included" in text


def test_what_could_not_be_used_is_reported_and_no_option_at_all_too() -> None:
    some = told(Request(epochs=10, options=("nope", told().chosen[0])))
    assert "nope" in _Read(_page(some)).text
    none = told(Request(epochs=10, options=("nope",)))
    assert none.comparison is None
    assert "No option to compare" in _Read(_page(none)).text


def test_charts_number_the_options_as_the_table_does() -> None:
    result = told().comparison
    assert result is not None
    page = _page()
    numbers = re.findall(r'fill="(?!#5A6872)[^"]+">(\d+)</text>', page)  # ticks are grey
    known = [str(n) for n, r in enumerate(result.rows, 1)
             if isinstance(r.cost, Estimate) and isinstance(r.time, Estimate)]  # fmt: skip
    assert sorted(numbers, key=int) == known
    assert page.count("<svg") == page.count('role="img"') >= 2
    assert not re.search(r"\b(nan|inf)\b", page)


def test_the_page_prints_on_a4_without_cut_rows() -> None:
    style = re.findall(r"<style>(.*?)</style>", _page(), re.DOTALL)[0]
    assert "@page{size:A4" in style
    assert "thead{display:table-header-group}" in style
    assert "break-inside:avoid" in style


def test_a_logo_is_in_the_page_and_a_wrong_one_is_refused() -> None:
    read = _Read(_page(letterhead=Letterhead(logo=PNG, company="Example & Co")))
    picture = next(a for t, a in read.found if t == "img")
    assert str(picture["src"]).startswith("data:image/png;base64,")
    assert picture["alt"] == "Example & Co"
    with pytest.raises(ValueError, match="PNG, JPEG or SVG"):
        _page(letterhead=Letterhead(logo=b"GIF89a"))


@pytest.mark.parametrize(
    ("text", "shown"), [("a<b", "a&lt;b"), ("a\x00\u202eb\n c", "ab c"), ('"', "&quot;")]
)
def test_text_is_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown


@pytest.mark.parametrize("address", ["javascript:x", "data:text/html,x", "//h/x", "ftp://h", ""])
def test_only_web_addresses_become_links(address: str) -> None:
    assert "<a " not in linked(address)


def test_a_comparison_without_any_answer_is_a_page_too() -> None:
    heavy = replace(job(), measured=(), hardware={}, precision="int8")
    result = told(Request(epochs=3, options=told().chosen), JobFacts(job=heavy, catalog=CATALOG))
    assert result.comparison is not None
    assert result.comparison.leader is None
    page = _page(result)
    assert "No answer for 3 epochs" in _Read(page).text
    assert "<svg" not in page


def test_a_name_without_end_or_blanks_is_cut_and_does_not_widen_a_table() -> None:
    facts = replace(FACTS, job=replace(job(), workload="x" * 100_000))
    page = _page(told(facts=facts), letterhead=Letterhead(company="y" * 100_000))
    assert len(page) < 200_000
    assert ".name{overflow-wrap:anywhere;" in page
