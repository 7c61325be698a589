"""Networks on one data set: which scales to the largest batch, which needs the fewest steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.convergence import goal_text
from planner.runs import Trials, TrialSet
from planner.time_to_target import (
    Families,
    alike,
    compare,
    easiest_target,
    families_of,
    family_batch_rows,
    family_rows,
    family_sentences,
    goal_of,
)
from tests.each import each
from tests.planner.made_trials import BATCHES, TARGET, set_of, sweep
from tests.planner.made_trials import trials as trials_from

Network = tuple[TrialSet, Trials]


def _network(model: str, *, smin: float, bcrit: float) -> Network:
    rows = sweep(model=model, smin=smin, bcrit=bcrit)
    return set_of(rows), trials_from(rows)


def _families(*networks: Network, target: float = TARGET, optimizer: str = "SGD") -> Families:
    found = _compared(*networks, target=target, optimizer=optimizer)
    assert found is not None
    return found


def _compared(*networks: Network, target: float, optimizer: str) -> Families | None:
    (first, trials), *_ = networks
    return families_of(
        goal_of(first, trials, target),
        optimizer,
        ["SGD"],
        [(of, compare(mine, target, (optimizer,))) for of, mine in networks],
        easiest=goal_text(trials, target),
    )


NARROW = _network("narrow", smin=50.0, bcrit=16.0)
WIDE = _network("wide", smin=200.0, bcrit=256.0)


def test_the_network_of_the_largest_critical_batch_and_that_of_the_fewest_steps_are_named() -> None:
    what, first, second = family_sentences(_families(NARROW, WIDE))
    assert what == "2 networks are compared on Data with SGD to 2.5 % validation error."
    assert first.startswith("wide scales to the largest batch. Its Bcrit is 26")
    assert first.endswith("of narrow.")
    assert second.startswith("narrow needs the fewest steps at large batches. Its Smin is ")


def test_networks_of_one_law_are_tied() -> None:
    again = _network("again", smin=200.0, bcrit=256.0)
    _, first, second = family_sentences(_families(WIDE, again))
    assert first.startswith("wide and again are too close to call for the largest batch. Their ")
    assert "are too close to call for the fewest steps. Their intervals of Smin overlap" in second


def test_of_three_networks_only_those_whose_intervals_overlap_are_tied() -> None:
    again = _network("again", smin=200.0, bcrit=256.0)
    _, first, second = family_sentences(_families(NARROW, WIDE, again))
    assert first.startswith("wide and again are too close to call")
    assert second.startswith("narrow needs the fewest steps")


@each(
    ("names", "tied"),
    [
        (("one", "two", "three"), "one, two and three are"),
        (("deep, wide", "two", "three"), "deep, wide and 2 other networks are"),
        (("one", "two", "three", "four"), "one and 3 other networks are"),
    ],
)
def test_many_tied_networks_and_names_with_commas_are_counted(
    names: tuple[str, ...], tied: str
) -> None:
    laws = {"smin": 200.0, "bcrit": 256.0}
    networks = [_network(name, **laws) for name in names]
    _, first, _ = family_sentences(_families(NARROW, *networks))
    assert first.startswith(tied)


def test_all_networks_are_tied_where_every_interval_overlaps() -> None:
    laws = {"smin": 200.0, "bcrit": 256.0}
    networks = [_network(name, **laws) for name in ("one", "two", "three", "four")]
    _, first, _ = family_sentences(_families(*networks))
    assert first.startswith("All 4 networks are too close to call for the largest batch.")


def test_no_sentence_about_families_is_long() -> None:
    again = _network("again", smin=200.0, bcrit=256.0)
    for families in (_families(NARROW, WIDE), _families(WIDE, again)):
        for sentence in " ".join(family_sentences(families)).split(". "):
            assert len(sentence.split()) <= 20, sentence


def test_a_target_that_one_network_reaches_is_no_comparison() -> None:
    few = _network("few", smin=50.0, bcrit=16.0)
    short = (few[0], replace(few[1], value=few[1].value + 0.02))
    [only] = family_sentences(_families(NARROW, short))
    assert only == (
        "Only narrow has a fitted law on Data with SGD to 2.5 % validation error. "
        "Choose an easier target."
    )


def test_a_comparison_suggests_the_target_that_a_network_aimed_at() -> None:
    short = (NARROW[0], replace(NARROW[1], value=NARROW[1].value + 0.02))
    [only] = family_sentences(replace(_families(NARROW, short), easiest="5 % validation error"))
    assert only.endswith("Choose an easier target, such as 5 % validation error.")


def test_rows_have_the_intervals_of_every_network() -> None:
    families = _families(NARROW, WIDE)
    narrow, wide = family_rows(families)
    assert (narrow["network"], wide["network"]) == ("narrow", "wide")
    for row, law in ((narrow, 16.0), (wide, 256.0)):
        low, high = row["critical_batch_size_low"], row["critical_batch_size_high"]
        assert isinstance(low, float)
        assert isinstance(high, float)
        assert low < law < high
    assert len(family_batch_rows(families)) == 2 * len(BATCHES)


@pytest.mark.parametrize(
    ("networks", "optimizer"), [((NARROW,), "SGD"), ((NARROW, WIDE), "Adam")], ids=["one", "none"]
)
def test_without_a_second_network_or_any_law_there_is_no_comparison(
    networks: tuple[Network, ...], optimizer: str
) -> None:
    assert _compared(*networks, target=TARGET, optimizer=optimizer) is None


def test_only_sets_of_the_same_data_metric_and_basis_are_compared() -> None:
    of = NARROW[0]
    others = [
        replace(of, dataset="Other"),
        replace(of, metric="accuracy"),
        replace(of, basis="published"),
        replace(of, network="wide"),
    ]
    assert alike(of, [of, *others]) == [of, others[-1]]


def test_the_easiest_recorded_target_is_the_largest_error() -> None:
    of = NARROW[0]
    assert easiest_target([of, replace(of, target=0.05)]) == 0.05
    better = replace(of, higher_is_better=True)
    assert easiest_target([better, replace(better, target=0.9)]) == TARGET
    assert easiest_target([replace(of, target=None)]) is None


def test_networks_of_one_name_are_distinguished_by_their_sets() -> None:
    other = replace(NARROW[0], result_set="theirs")
    names = {f.name for f in _families(NARROW, (other, NARROW[1])).families}
    assert len(names) == 2


def test_a_network_has_one_set_and_stale_gradients_are_no_network() -> None:
    of = replace(NARROW[0], trials=45)
    smaller = replace(of, result_set="theirs", trials=30)
    stale = replace(of, network="narrow gradients 1 update old")
    other = replace(of, network="wide", trials=30)
    larger = replace(other, result_set="theirs", trials=45)
    assert alike(of, [smaller, of, stale, other, larger]) == [of, larger]
    assert alike(smaller, [smaller, of, other]) == [smaller, other]
    assert stale in alike(stale, [of, stale])
