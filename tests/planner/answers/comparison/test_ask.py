"""One question asked of all that is known, and what it says."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.answers.comparison import JobFacts, Request, option_rows, source_rows
from planner.answers.comparison.question import answered, offered, offers_key
from planner.compare import (
    ASSUMPTION_TEXTS,
    Assumptions,
    assumed_lines,
    problems_of,
    sentence,
    tornado,
)
from planner.compare.comparison import Limits
from planner.compare.undecided import undecided
from planner.core import Estimate
from planner.job import Described, job_described, library_of
from tests.planner.compare.made import CATALOG, RUN, TODAY, job, row

FACTS = JobFacts(job=job(), catalog=CATALOG, library=library_of(CATALOG, [row(RUN)]))
RENT, TWICE = "rent-cloud-eu-1x-plain-on-demand", "rent-cloud-eu-1x-twice-on-demand"


def _rows(asked: Request, facts: JobFacts = FACTS) -> list[dict[str, object]]:
    result = answered(asked, facts, TODAY).comparison
    assert result is not None
    return [dict(r) for r in option_rows(result)]


def test_the_sentence_says_what_is_done_for_how_long_and_for_how_much() -> None:
    result = answered(Request(options=(RENT,)), FACTS, TODAY).comparison
    assert result is not None
    text = sentence(result)
    assert text.startswith(
        "Renting 1 x Plain (Cloud) at 1 USD/h finishes 2000 epochs of Net at batch 100 in 2.3 d"
    )
    assert "90 %:" in text
    assert "USD" in text


def test_two_that_are_not_decided_name_the_run_that_would_tell() -> None:
    result = answered(Request(options=(RENT, TWICE)), FACTS, TODAY).comparison
    assert result is not None
    why, measure = undecided(result)
    assert why.endswith(" are too close to call.")
    assert measure.startswith("Measure Net · Data on one Twice")
    assert "renting 1 x Twice (Cloud)" in sentence(result)


def test_what_was_decided_leaves_nothing_to_measure() -> None:
    result = answered(Request(options=(RENT, "own-plain")), FACTS, TODAY).comparison
    assert result is not None
    assert undecided(result) == ("", "")


def test_the_longest_bar_is_the_estimated_time() -> None:
    result = answered(Request(options=(RENT, TWICE)), FACTS, TODAY).comparison
    assert result is not None
    found = tornado(result)
    assert found is not None
    assert found.influences[0].name == "Time on 1 x Twice"
    swings = [i.swing for i in found.influences]
    assert swings == sorted(swings, reverse=True)


SLOW_TO_START: Final = replace(
    RUN, run_id="b" * 32, global_batch_size=200, pre_train_s=10_000.0, later_epoch_mean_s=50.0,
    step_time_s=None, samples_per_s=None,
)  # fmt: skip


@given(first=st.integers(1, 1000), second=st.integers(1, 1000))
def test_equal_offers_keys_have_equal_offers(first: int, second: int) -> None:
    facts = replace(FACTS, job=job(RUN, SLOW_TO_START))
    one, other = Request(epochs=first, batch=None), Request(epochs=second, batch=None)
    same = offers_key(one, facts) == offers_key(other, facts)
    assert same == (offered(one, facts, TODAY) == offered(other, facts, TODAY))


def test_the_offers_key_reports_which_run_is_the_fastest_for_the_epochs() -> None:
    facts = replace(FACTS, job=job(RUN, SLOW_TO_START))
    keys = [offers_key(Request(epochs=epochs), facts) for epochs in (10, 20, 1000)]
    assert keys[0] == keys[1] != keys[2]


def test_with_a_deadline_the_epochs_belong_to_the_offers_key() -> None:
    limits = Limits(deadline_s=3600.0)
    assert offers_key(Request(epochs=10, limits=limits), FACTS) != offers_key(
        Request(epochs=20, limits=limits), FACTS
    )


def test_options_that_are_gone_are_reported_and_the_rest_is_answered() -> None:
    found = answered(Request(options=(RENT, "rent-nothing")), FACTS, TODAY)
    assert found.comparison is not None
    assert "rent-nothing" in found.problems[0]
    assert found.chosen == (RENT,)


def test_without_any_option_the_usual_ones_are_compared() -> None:
    found = answered(Request(), FACTS, TODAY)
    assert found.comparison is not None
    assert RENT in found.chosen


def test_only_options_that_are_gone_leave_no_answer_but_a_reason() -> None:
    found = answered(Request(options=("nope",)), FACTS, TODAY)
    assert found.comparison is None
    assert "nope" in found.problems[0]


def test_a_country_sets_the_price_and_carbon_of_electricity() -> None:
    here, there = (_rows(Request(options=("own-plain",), country=c))[0] for c in ("", "Nowhere"))
    assert there["cost_per_run"] == pytest.approx(
        float(str(here["cost_per_run"])) * 0.5 / Assumptions().tariff_usd_per_kwh, rel=1e-3
    )
    assert here["co2_kg"] is None
    assert there["co2_kg"] is not None


def test_an_unknown_country_and_impossible_assumptions_are_reported() -> None:
    assumed = replace(Assumptions(), pue=0.5, runs_per_month=-1.0)
    found = answered(Request(options=(RENT,), country="Atlantis", assumed=assumed), FACTS, TODAY)
    assert len(found.problems) == 3
    assert any("Atlantis" in p for p in found.problems)
    assert any("pue" in p for p in found.problems)


def test_what_is_not_there_names_what_is_like_it_and_where_all_are_listed() -> None:
    (result,) = answered(Request(options=("rent-cloud-plain",)), FACTS, TODAY).problems
    assert result.startswith("There is no option 'rent-cloud-plain'. Choose one of rent-")
    assert "`python -m planner compare --list options`" in result
    assert "/api/v1/options" in result
    (result,) = answered(Request(options=("rent-huge",)), FACTS, TODAY).problems
    assert "Choose one of rent-cloud-eu-1x-huge-on-demand, ...: " in result
    (result,) = answered(Request(options=("rent-nope",)), FACTS, TODAY).problems
    assert result.startswith("There is no option 'rent-nope'. `python -m planner")
    (result,) = answered(Request(options=(RENT,), country="Nowere"), FACTS, TODAY).problems
    assert result == (
        "No electricity of 'Nowere' is known. Perhaps Nowhere? Write a country's code or name, as "
        "XX or Nowhere, or give tariff_usd_per_kwh."
    )
    none = replace(FACTS, catalog=replace(CATALOG, tariffs=()))
    (result,) = answered(Request(options=(RENT,), country="Narnia"), none, TODAY).problems
    assert result == "No electricity of 'Narnia' is known. Give tariff_usd_per_kwh."


def test_every_assumption_is_reported_in_words_with_limits_around_its_default() -> None:
    names = list(Assumptions.__dataclass_fields__)
    assert set(ASSUMPTION_TEXTS) == set(names)
    assert problems_of(Assumptions()) == []


def test_a_described_job_needs_to_know_how_heavy_a_sample_is() -> None:
    with pytest.raises(ValueError, match="neither FLOPs per sample nor parameters"):
        job_described(Described(name="mine", samples_per_epoch=10))
    with pytest.raises(ValueError, match="samples per epoch is 0"):
        job_described(Described(name="mine", samples_per_epoch=0, params=1.0))


def test_a_described_language_model_takes_six_operations_a_parameter_and_its_attention() -> None:
    result = job_described(
        Described(name="LM", samples_per_epoch=10, params=1e9, tokens_per_sample=1000,
                  layers_width=4e4)
    )  # fmt: skip
    assert result.train_flops_per_sample == 6e12 + 12 * 4e4 * 1000 * 1000
    assert result.family == "dense"


def test_what_does_not_fit_is_shown_with_the_way_out() -> None:
    large = job_described(
        Described(name="LM", samples_per_epoch=10, params=1e11, tokens_per_sample=1.0,
                  precision="float16", optimizer="Adam")
    )  # fmt: skip
    rows = _rows(Request(options=(RENT,)), JobFacts(job=large, catalog=CATALOG))
    assert "Does not fit" in str(rows[0]["refused"])
    assert "shard" in str(rows[0]["way_out"])
    assert rows[0]["time_s"] is None


def test_a_condition_on_memory_leaves_time_and_rank_of_a_row_as_they_are() -> None:
    network = Described(
        name="LM", samples_per_epoch=10, params=4e9, tokens_per_sample=2048.0,
        precision="float16", optimizer="AdamW",
    )  # fmt: skip
    small = replace(network, optimizer="AdamW 8-bit")
    [warned], [fitting] = (
        _rows(Request(options=(RENT,)), JobFacts(job=job_described(of), catalog=CATALOG))
        for of in (network, small)
    )
    assert str(warned["memory"]).startswith("Fits only with 8-bit moments and no master weights: ")
    assert "AdamW 8-bit" in str(warned["way_out"])
    assert not str(fitting["memory"]).startswith("Fits only with 8-bit")
    for name in ("rank", "time_s", "time_s_low", "time_s_high", "cost_per_run"):
        assert warned[name] == fitting[name] is not None


def test_sources_name_run_price_and_data_sheet_with_their_dates() -> None:
    result = answered(Request(options=(RENT,)), FACTS, TODAY).comparison
    assert result is not None
    [found] = source_rows(result)
    assert found["Price as of"] == "2026-10-01"
    assert found["Licence"] == "CC0"
    assert str(found["Data sheet"]).startswith("https://")


def test_lines_of_assumptions_name_what_matters_for_the_ways_asked() -> None:
    result = answered(Request(options=(RENT,)), FACTS, TODAY).comparison
    assert result is not None
    text = " ".join(assumed_lines(result))
    assert "runs a month" in text
    assert "lasts" not in text


def test_a_deadline_is_in_the_sentence_with_its_probability() -> None:
    asked = Request(options=(RENT,), epochs=10, limits=Limits(deadline_s=3600.0))
    result = answered(asked, FACTS, TODAY).comparison
    assert result is not None
    assert sentence(result).endswith("; in time with > 99 % probability.")
    assert isinstance(result.rows[0].time, Estimate)


def test_a_deadline_decides_what_one_begins_with() -> None:
    many = "rent-cloud-eu-8x-plain-on-demand"
    few = replace(CATALOG, offers=CATALOG.offers[:2])
    facts = replace(FACTS, catalog=few)
    found = answered(Request(limits=Limits(deadline_s=10 * 3600.0)), facts, TODAY)  # one takes 56 h
    assert many in found.chosen
    assert found.comparison is not None
    assert found.comparison.answered[0].candidate.id == many
