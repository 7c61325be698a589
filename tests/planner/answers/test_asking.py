"""What a link asks of the store, looked up by name; everything that does not fit is told."""

from __future__ import annotations

from datetime import date
from urllib.parse import parse_qs

import pytest

from planner.answers import compare_answered, curve_answered, how_long_answered, results_answered
from planner.answers._asking import with_targets
from planner.answers.comparison import option_rows
from planner.answers.runs import suspects_of
from planner.core import Estimate
from planner.core.slugs import slugs
from planner.epochs import INFERENCE
from planner.store import queries
from planner.store.catalog import read_catalog
from tests import shipped
from tests.faults.outcomes import FULL
from tests.shipped import ROOT, store

TODAY = date(2026, 11, 21)
CATALOG = read_catalog(ROOT / "data" / "catalog").catalog
DIGITS = "mlp-64-64-digits-sgd-nesterov-0.9-float32"


def test_nothing_given_asks_of_the_first_workload() -> None:
    answer = how_long_answered(store(), {})
    assert answer.problems == ()
    assert answer.result is not None
    first = next(iter(queries.workloads(store())))
    assert {a.option.run.workload for a in answer.result.answers} == {first}
    assert answer.result.epochs == 2000
    link = parse_qs(answer.query)
    assert link["workload"] == [next(iter(slugs(queries.workloads(store()))))]
    assert link["epochs"] == ["2000"]
    assert {"pattern", "systems", "baseline"} <= set(link)


def test_systems_and_baseline_are_those_that_are_named() -> None:
    answer = how_long_answered(
        store(), {"systems": ["gpu-batch-64"], "baseline": ["gpu-batch-256"]}
    )
    assert answer.problems == ()
    assert answer.result is not None
    assert {a.option.label for a in answer.result.answers} == {"GPU · batch 64", "GPU · batch 256"}
    assert answer.result.baseline.label == "GPU · batch 256"


def test_the_first_system_with_a_time_is_the_baseline() -> None:
    """The smallest batch of the H100 was run for its memory alone."""
    network = "wideresnet-103m-synthetic-cifar-100-adam-float32"
    answer = how_long_answered(shipped.library(), {"workload": [network]})
    assert answer.result is not None
    run = answer.result.baseline.run
    assert (run.system, run.global_batch_size) == ("NVIDIA H100 80GB HBM3", 64)
    assert run.later_epoch_mean_s is not None


def test_suspect_runs_are_left_out_where_that_is_asked_for() -> None:
    left_out = suspects_of(store()).left_out
    assert left_out
    for short in list(slugs(queries.workloads(store())))[:3]:
        answer = how_long_answered(store(), {"workload": [short], "without_suspects": ["on"]})
        assert answer.result is not None
        assert answer.result.left_out <= left_out


@pytest.mark.parametrize("ask", [how_long_answered, curve_answered])
def test_what_does_not_exist_is_reported_and_the_usual_shown(ask: object) -> None:
    given = {"workload": ["nope"], "systems": ["tpu", "gone"], "wrong": ["1"]}
    answer = ask(store(), given)  # type: ignore[operator]
    names = [p.parameter for p in answer.problems]
    assert names[0] == "wrong"
    assert {"workload", "systems"} <= set(names)


def test_a_pattern_is_not_blamed_where_its_workload_is_unknown() -> None:
    answer = how_long_answered(store(), {"workload": ["nope"], "pattern": ["of-nope"]})
    assert [p.parameter for p in answer.problems] == ["workload"]


def test_one_pattern_of_a_curve_may_be_named_either_way() -> None:
    names = slugs(queries.patterns(store(), next(iter(queries.workloads(store())))))
    second = list(names)[1]
    one = curve_answered(store(), {"pattern": [second]})
    other = curve_answered(store(), {"patterns": [second]})
    assert [c.key for c in one.chosen] == [c.key for c in other.chosen]
    assert one.problems == other.problems == ()


def test_a_target_is_asked_of_the_trials_of_the_workload() -> None:
    given = {"workload": [DIGITS], "goal": ["target"], "optimizer": ["sgd-momentum-0.9"]}
    answer = compare_answered(store(), CATALOG, given, TODAY)
    assert answer.problems == ()
    assert answer.answered.comparison is not None
    goal = answer.answered.comparison.question.goal
    assert goal.epochs is None
    assert goal.optimizer == "SGD momentum 0.9"


def test_a_target_of_a_workload_without_trials_is_a_problem() -> None:
    answer = compare_answered(store(), CATALOG, {"goal": ["target"]}, TODAY)
    assert [p.parameter for p in answer.problems] == ["goal"]
    assert f"choose a workload with steps to a target: {DIGITS}, " in answer.problems[0].message


def test_an_optimiser_that_cannot_be_looked_up_is_reported_beside_that() -> None:
    given = {"goal": ["target"], "optimizer": ["foo"]}
    answer = compare_answered(store(), CATALOG, given, TODAY)
    assert [p.parameter for p in answer.problems] == ["goal", "optimizer"]
    assert answer.problems[1].message.startswith("'foo' cannot be looked up")


def test_every_workload_that_is_named_for_its_targets_can_be_asked_for_one() -> None:
    known = with_targets(store())
    assert DIGITS in known
    for workload in known:
        given = {"goal": ["target"], "workload": [workload]}
        assert compare_answered(store(), CATALOG, given, TODAY).problems == ()


def test_a_described_workload_needs_no_run() -> None:
    given = {"workload": ["described"], "samples": ["1e6"], "flops": ["1e9"], "epochs": ["3"]}
    answer = compare_answered(store(), CATALOG, given, TODAY)
    assert answer.problems == ()
    assert answer.answered.comparison is not None
    assert isinstance(answer.answered.comparison.rows[0].time, Estimate)


def test_the_order_in_which_options_are_named_changes_no_number() -> None:
    some = list(compare_answered(store(), CATALOG, {}, TODAY).answered.chosen)
    one, other = (
        compare_answered(store(), CATALOG, {"options": ids}, TODAY).answered.comparison
        for ids in (some, some[::-1])
    )
    assert one is not None
    assert other is not None
    assert [(r.candidate.id, r.rank, r.cheapest) for r in one.rows] == [
        (r.candidate.id, r.rank, r.cheapest) for r in other.rows
    ]


def test_what_is_left_out_of_a_comparison_is_a_problem() -> None:
    given = {"options": ["nope"], "own": ["rent|nothing|1|2"], "country": ["Atlantis"]}
    answer = compare_answered(store(), CATALOG, given, TODAY)
    text = " ".join(map(str, answer.problems))
    assert all(word in text for word in ("nope", "nothing", "Atlantis"))


def test_unknown_values_of_a_filter_are_reported_with_what_is_like_them() -> None:
    answer = results_answered(store(), {"basis": ["publisht"], "suspect": ["odd"]})
    assert [p.parameter for p in answer.problems] == ["basis", "suspect"]
    assert "published" in str(answer.problems[0])


def test_every_shipped_workload_has_an_answer_or_is_refused_in_words() -> None:
    trained, names = queries.trained(store()), slugs(queries.workloads(store()))
    assert set(names.values()) - trained  # some were timed in inference only
    kept = set(shipped.every(names.values())[:: 1 if FULL else 4])
    for short, name in ((s, n) for s, n in names.items() if n in kept):
        given = {"workload": [short]}
        answer = compare_answered(store(), CATALOG, given, TODAY)
        ranked = how_long_answered(store(), given).result
        assert ranked is not None, name
        if name in trained:
            assert answer.answered.comparison is not None, name
            assert answer.problems == (), name
            assert answer.answered.comparison.question.job.workload == name
        else:
            [problem] = answer.problems
            assert problem.parameter == "workload"
            assert problem.message == f"{INFERENCE.reason} {INFERENCE.measure_next}"
            assert answer.answered.comparison is None, name
            assert {a.total for a in ranked.answers if a.option.run.status == "ok"} == {INFERENCE}
            assert INFERENCE.reason in ranked.sentence
        assert how_long_answered(store(), given).problems == (), name
        assert curve_answered(store(), given).problems == (), name


def test_a_pattern_is_not_blamed_where_its_workload_was_never_trained() -> None:
    names, trained = slugs(queries.workloads(store())), queries.trained(store())
    short = next(s for s, name in names.items() if name not in trained)
    answer = compare_answered(store(), CATALOG, {"workload": [short], "pattern": ["p"]}, TODAY)
    assert [p.parameter for p in answer.problems] == ["workload"]


def test_a_description_that_lacks_samples_is_blamed_for_nothing_else() -> None:
    given = {"workload": ["described"], "flops": ["1e9"]}
    answer = compare_answered(store(), CATALOG, given, TODAY)
    assert [p.parameter for p in answer.problems] == ["samples"]


def test_own_entries_are_all_compared_without_being_named_again() -> None:
    entries = [f"rent|h100-sxm|{n}|{n}" for n in (1, 2, 3, 4, 8)]
    answer = compare_answered(store(), CATALOG, {"own": entries}, TODAY)
    assert answer.problems == ()
    own = [c.id for c in answer.answered.candidates if c.source == "own entry"]
    assert len(own) == 5
    assert set(own) <= set(answer.answered.chosen)


def test_each_limit_has_a_probability_of_its_own() -> None:
    def shares(**limits: list[str]) -> tuple[object, ...]:
        answer = compare_answered(store(), CATALOG, {**limits}, TODAY)
        assert answer.answered.comparison is not None
        row = option_rows(answer.answered.comparison)[0]
        names = ("probability_in_time", "probability_in_budget", "probability_meets_limits")
        return tuple(row[name] for name in names)

    assert shares() == (None, None, None)
    in_time, in_budget, both = shares(deadline=["72"])
    assert in_budget is None
    assert in_time == both is not None
    in_time, in_budget, both = shares(budget=["120"])
    assert in_time is None
    assert in_budget == both is not None
    in_time, in_budget, both = shares(deadline=["72"], budget=["120"])
    assert isinstance(in_time, float)
    assert isinstance(in_budget, float)
    assert isinstance(both, float)
    assert both <= min(in_time, in_budget)
