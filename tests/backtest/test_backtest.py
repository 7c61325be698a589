"""Promises of the back-test on made-up measurements."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backtest
from backtest.accuracy import page as tables
from backtest.accuracy.page import accuracy_page
from backtest.accuracy.public_data import Stopwatch, parquet_bytes, public_tables
from backtest.accuracy.targets import TARGETS, TargetRange
from backtest.choose.choice import (
    NOTHING,
    ConstantChoice,
    Setting,
    chosen,
    interval_score,
)
from backtest.choose.constants import constants_page
from backtest.commands import backtest as command
from backtest.data.cases import (
    TASKS,
    Cases,
    MeasuredCurve,
    TextRows,
    both_ends,
    cases_of,
    curves_of,
    ends_and_middle,
    largest_from,
    one_left_out,
)
from backtest.data.columns import (
    COLUMNS,
    RUNS,
    CellsOf,
    NumberedRow,
    sound_rows,
)
from backtest.questions import unmeasured
from backtest.questions.batch import batch_rows, may_answer
from backtest.questions.convergence import METHODS as CONVERGENCE_METHODS
from backtest.questions.convergence import may_answer as may_answer_convergence
from backtest.questions.convergence import powers
from backtest.questions.figure import (
    MEAN,
    REFUSED,
    UNREFUSED,
    FigureRow,
    HiddenPoints,
    Prediction,
    columns_of,
    mean_row,
    scored,
    unwatched,
    with_means,
)
from backtest.questions.methods import (
    OF_STEP_TIMES,
    OURS,
    PLAIN,
    textbook,
)
from backtest.questions.source_table import Origin
from planner.__main__ import main
from planner.convergence import fit_convergence
from planner.core import Estimate, Floats, Refusal
from planner.throughput import ThroughputCurve, fit_throughput
from tests.each import each
from tests.faults.outcomes import FULL

BATCH = np.array([8.0, 16, 32, 64, 128, 256])


WHOLE = Origin(folder="data")


def curve(value: Floats, batch: Floats = BATCH, name: str = "c") -> MeasuredCurve:
    return MeasuredCurve(name=name, batch=batch, value=value)


def law(batch: Floats) -> Floats:
    return 0.05 + batch / 250.0


def noisy(seed: int, scatter: float = 0.05) -> MeasuredCurve:
    rng = np.random.default_rng(seed)
    return curve(law(BATCH) * np.exp(scatter * rng.standard_normal(BATCH.size)))


# -- what is shown and asked ---------------------------------------------------------------------


def test_every_batch_between_the_ends_is_left_out_once() -> None:
    splits = list(one_left_out(BATCH))
    assert [asked.tolist() for _, asked in splits] == [[1], [2], [3], [4]]
    assert all(set(shown) | set(asked) == set(range(6)) for shown, asked in splits)
    assert not list(one_left_out(BATCH[:3]))


def test_ends_and_the_geometric_middle_are_shown_and_of_two_as_near_the_smaller() -> None:
    (shown, asked), *rest = ends_and_middle(BATCH)
    assert not rest
    assert BATCH[shown].tolist() == [8.0, 32.0, 256.0]
    assert BATCH[asked].tolist() == [16.0, 64.0, 128.0]
    assert not list(ends_and_middle(BATCH[:3]))


def test_two_ends_are_asked_about_all_between() -> None:
    ((shown, asked),) = both_ends(BATCH[:3])
    assert (shown.tolist(), asked.tolist()) == ([0, 2], [1])
    assert not list(both_ends(BATCH[:2]))


@pytest.mark.parametrize(("factor", "largest_shown"), [(2.0, 128.0), (4.0, 64.0)])
def test_the_largest_is_asked_of_batches_a_factor_smaller(
    factor: float, largest_shown: float
) -> None:
    ((shown, asked),) = largest_from(factor)(BATCH)
    assert BATCH[shown].max() == largest_shown
    assert BATCH[asked].tolist() == [256.0]
    assert not list(largest_from(factor)(BATCH[:3]))


def test_cases_of_no_curves_are_empty() -> None:
    cases = cases_of([], one_left_out)
    assert cases.hidden_batch.size == cases.shown_case.size == 0


def test_repeats_of_a_batch_are_averaged_and_short_curves_left_out() -> None:
    points = {"a": [(8.0, 1.0), (8.0, 3.0), (4.0, 1.0)], "b": [(8.0, 1.0)]}
    (only,) = curves_of(points, 2)
    assert (only.batch.tolist(), only.value.tolist()) == ([4.0, 8.0], [1.0, 2.0])


# -- methods -------------------------------------------------------------------------------------


@each("method", [OURS, PLAIN, "linear interpolation"])
@each("task", TASKS)
def test_exact_lines_are_predicted_exactly(method: str, task: str) -> None:
    cases = cases_of([curve(law(BATCH))], TASKS[task])
    result = OF_STEP_TIMES[method](cases)
    np.testing.assert_allclose(result.value, cases.hidden_value)


def test_every_method_answers_every_point() -> None:
    cases = cases_of([noisy(1), noisy(2)], one_left_out)
    for method in OF_STEP_TIMES.values():
        assert np.isfinite(method(cases).value).all()


def test_a_textbook_interval_needs_a_spare_point() -> None:
    two, three = (cases_of([noisy(1)], splits) for splits in (both_ends, ends_and_middle))
    assert np.isnan(textbook(two).low).all()
    assert np.isfinite(textbook(three).low).all()


def of_cases(cases: Cases) -> list[tuple[Floats, Floats, Floats]]:
    """Shown batches, shown values and asked batches, case by case."""
    return [
        (
            cases.shown_batch[cases.shown_case == i],
            cases.shown_value[cases.shown_case == i],
            cases.hidden_batch[cases.hidden_case == i],
        )
        for i in np.unique(cases.shown_case)
    ]


@each("task", TASKS)
def test_what_counts_as_answered_and_reported_is_what_the_product_answers_and_reports(
    task: str,
) -> None:
    narrow = curve(law(BATCH[:3]), np.array([8.0, 9.0, 20.0]))
    curves = [*(noisy(seed, 0.12) for seed in range(8)), curve(law(BATCH) * 2.0), narrow]
    cases = cases_of(curves, TASKS[task])
    expected: list[bool] = []
    values: list[float] = []
    for batch, step_s, asked in of_cases(cases):
        found = fit_throughput(batch, step_s)
        for b in asked:
            result = found.step_time(b) if isinstance(found, ThroughputCurve) else found
            expected.append(isinstance(result, Estimate))
            values.append(float(result.value) if isinstance(result, Estimate) else np.nan)
    may = may_answer(cases)
    assert may.tolist() == expected
    np.testing.assert_allclose(np.where(may, OF_STEP_TIMES[OURS](cases).value, np.nan), values)


def test_steps_to_target_are_refused_where_the_product_refuses() -> None:
    curves = [curve(1e5 + 300.0 * BATCH * np.exp(s * np.sin(9.0 * BATCH))) for s in (0.1, 0.5, 1.0)]
    cases = cases_of(curves, ends_and_middle)
    refused = [
        isinstance(fit_convergence(batch, value), Refusal)
        for batch, value, asked in of_cases(cases)
        for _ in asked
    ]
    assert (~may_answer_convergence(cases)).tolist() == refused


# -- figures -------------------------------------------------------------------------------------


def result(value: list[float], half: float = np.nan) -> Prediction:
    mid = np.array(value)
    return Prediction(value=mid, low=mid - half, high=mid + half)


def asked(
    truth: list[float], curves: list[int], answered: list[bool] | None = None
) -> HiddenPoints:
    may = np.ones(len(truth), dtype=bool) if answered is None else np.array(answered)
    return HiddenPoints(truth=np.array(truth), curve=np.array(curves), answered=may)


def test_a_curve_of_many_points_counts_as_much_as_one_of_a_single_point() -> None:
    rows = scored(
        ("q", "t", "s"), {"ours": result([1.1, 1.1, 1.1, 1.5])}, asked([1.0] * 4, [0] * 3 + [1])
    )
    assert rows[0].mean_error == pytest.approx(0.3)
    assert rows[0].median_error == pytest.approx(0.3)
    assert (rows[0].curves, rows[0].points) == (2, 4)


def test_coverage_and_width_are_those_of_the_interval_and_missing_without_one() -> None:
    answers = {"ours": result([1.0, 2.0], 0.15), "other": result([1.0, 2.0])}
    first, second, *_ = scored(("q", "t", "s"), answers, asked([1.1, 2.5], [0, 1]))
    assert first.coverage == 0.5
    assert first.median_width == pytest.approx(0.5 * (0.3 + 0.15))
    assert np.isnan([second.coverage, second.median_width]).all()


def test_refused_points_make_rows_of_their_own() -> None:
    answers = {"ours": result([1.0, 3.0]), "other": result([1.0, 1.0])}
    rows = scored(("q", "t", "s"), answers, asked([1.0, 1.0], [0, 1], [True, False]))
    by_method = {r.method: r for r in rows}
    assert set(by_method) == {"ours", "other", REFUSED, UNREFUSED}
    assert (by_method["ours"].mean_error, by_method["ours"].answered) == (0.0, 0.5)
    assert by_method[REFUSED].mean_error == 2.0
    assert by_method[UNREFUSED].mean_error == 1.0


def test_that_ours_answers_nothing_is_a_row_and_that_others_are_not_scored_then_is_none() -> None:
    answers = {"ours": result([np.nan, np.nan]), "other": result([1.0, 1.0])}
    [row] = scored(("q", "t", "s"), answers, asked([1.0, 1.0], [0, 1], [False, False]))[:1]
    assert (row.method, row.hidden, row.points, row.answered) == ("ours", 2, 0, 0.0)
    assert np.isnan(row.median_error)
    assert (
        TargetRange("what", "q", "t", "ours", "s", "mean_error", 0.0, 0.1).measured([row]) is None
    )
    assert "| none of 2 (0 %) |" in "\n".join(tables._task("t", [row]))


def test_a_data_set_without_answers_counts_as_unanswered_and_in_no_error() -> None:
    none = scored(("q", "t", "a"), {"ours": result([np.nan])}, asked([1.0], [0], [False]))
    rows = [*none, figure("ours", 0.1), replace(figure("ours", 0.3), data_set="b")]
    mean = with_means(rows, ["a", "b", "s"])[-1]
    assert mean.mean_error == pytest.approx(0.2)
    assert mean.answered == pytest.approx(2 / 3, rel=1e-5)
    assert mean.hidden == 3


def test_the_mean_counts_every_data_set_the_same_and_leaves_out_the_check() -> None:
    rows = [
        scored(("q", "t", name), {"ours": result([1.0 + e] * n)}, asked([1.0] * n, list(range(n))))[
            0
        ]
        for name, e, n in (("a", 0.1, 1), ("b", 0.3, 9), ("check", 5.0, 1))
    ]
    mean = with_means(rows, ["a", "b"])[-1]
    assert columns_of([mean]).keys() == columns_of(rows).keys()
    assert mean.mean_error == pytest.approx(0.2)
    assert (mean.data_set, mean.points) == (MEAN, 10)


def test_the_interval_score_rewards_narrow_intervals_that_hold() -> None:
    low, high = np.array([0.5, 0.9, 0.9]), np.array([2.0, 1.1, 1.1])
    score = interval_score(low, high, np.array([1.0, 1.0, 2.0]))
    assert score[1] < score[0] < score[2]
    assert score[2] == pytest.approx(np.log(1.1 / 0.9) + 20.0 * np.log(2.0 / 1.1))


def test_what_the_others_choose_is_the_best_over_them_and_carries_its_constants() -> None:
    settings = [Setting(words=w, values={"fits.lines:SD0": x}) for w, x in (("a", 1.0), ("b", 2.0))]
    scores = np.array([[0.0, 0.0, 9.0], [1.0, 1.0, 1.0]])  # the third set alone likes the second
    found = {c.left_out: c for c in chosen("use", settings, scores, ["x", "y", "z"], "a")}
    assert {name: c.chosen for name, c in found.items()} == {
        NOTHING: "b", "x": "b", "y": "b", "z": "a",
    }  # fmt: skip
    assert found["z"].values == {"fits.lines:SD0": 1.0}
    assert chosen("use", settings, np.empty((2, 0)), [], "a") == []


def test_a_single_data_set_is_never_left_out() -> None:
    found = chosen("use", [Setting(words="a")], np.zeros((1, 2)), ["x", "x"], "a")
    assert [c.left_out for c in found] == [NOTHING]


def test_a_corner_of_power_one_is_the_law() -> None:
    cases = cases_of([noisy(1), noisy(2)], one_left_out)
    law_of, raised = CONVERGENCE_METHODS["ours: line, prior"](cases), powers(1.0)(cases)
    np.testing.assert_allclose(raised.value, law_of.value)
    np.testing.assert_allclose(raised.high, law_of.high)


def test_a_sharper_corner_is_met_exactly_by_its_own_form() -> None:
    sharp = (40.0**1.5 + BATCH**1.5) ** (1 / 1.5)
    cases = cases_of([curve(sharp)], ends_and_middle)
    np.testing.assert_allclose(powers(1.5)(cases).value, cases.hidden_value)


def test_the_range_of_what_the_others_choose_stands_beside_a_constant() -> None:
    choices = [
        ConstantChoice(use="u", left_out=n, chosen="c", ships="s", values={"fits.lines:SD0": x})
        for n, x in (("a", 0.03), ("b", 0.05))
    ]
    row = next(
        r for r in constants_page(choices, WHOLE).splitlines() if "`planner.fits.lines.SD0`" in r
    )
    assert row.endswith("| 0.03 to 0.05 |")
    assert "| u | b | c | s |" in constants_page(choices, WHOLE)


# -- targets and the page ------------------------------------------------------------------------


def figure(method: str, error: float) -> FigureRow:
    return scored(("q", "t", "s"), {method: result([1.0 + error])}, asked([1.0], [0]))[0]


def test_a_target_is_reached_missed_or_without_data() -> None:
    target = TargetRange("what", "q", "t", "ours", "s", "mean_error", 0.0, 0.1)
    assert target.reached([figure("ours", 0.05)])
    assert not target.reached([figure("ours", 0.2)])
    assert target.measured([]) is None
    assert not target.reached([])
    assert target.range_text([]) == "at most 10 %"


def test_the_best_other_method_can_be_the_limit() -> None:
    rows = [figure("ours", 0.2), figure("ours too", 0.01), figure("a", 0.3), figure("b", 0.25)]
    target = TargetRange("what", "q", "t", "ours", "s", "mean_error", 0.0, None)
    assert target.reached(rows)
    assert target.range_text(rows) == "at most 25 %, the best other method"
    assert not target.reached([*rows, figure("c", 0.1)])


def test_ranges_are_said_in_words() -> None:
    both = TargetRange("what", "q", "t", "ours", "s", "coverage", 0.85, 0.95)
    one = TargetRange("what", "q", "t", "ours", "s", "coverage", 0.85, 1.0)
    assert (both.range_text([]), one.range_text([])) == ("85 to 95 %", "at least 85 %")


def test_no_target_stands_twice() -> None:
    keys = [(t.question, t.task, t.method, t.data_set, t.field, t.high) for t in TARGETS]
    assert len(set(keys)) == len(keys)


def gavel(path: str) -> TextRows:
    """One sweep with a kink, as the file of one data set would have it."""
    if path != "gavel_throughputs/throughput.csv":
        return ()
    columns = ("gpu", "placement", "model", "batch_size_per_gpu", "n_gpus", "steps_per_s")
    speeds = zip(BATCH, 1.0 / (law(BATCH) * np.array([1, 1, 1.1, 1, 1, 1])), strict=True)
    cells = [("k80", "consolidated", "net", str(b), "1", str(v)) for b, v in speeds]
    return [dict(zip(columns, cell, strict=True)) for cell in cells]


def test_missing_data_sets_have_no_rows_and_the_page_is_made_of_the_others() -> None:
    rows = [row for answer in backtest.QUESTIONS.values() for row in answer(gavel, unwatched)]
    assert {r.data_set for r in rows} == {"Gavel, 1 device"}
    page = accuracy_page(rows, WHOLE)
    assert "## Step time at an unmeasured batch" in page
    assert "## Throughput on an unmeasured card" not in page
    assert f"| {OURS} |" in page


def test_a_miss_is_printed_as_plainly_as_a_hit() -> None:
    rows = [mean_row([r]) for r in batch_rows(gavel)]
    page = accuracy_page(rows, WHOLE)
    missed = sum(t.measured(rows) is not None and not t.reached(rows) for t in TARGETS)
    assert page.count("**missed**") == missed


def test_equal_rows_give_equal_bytes_and_come_back(tmp_path: Path) -> None:
    rows = batch_rows(gavel)
    data = parquet_bytes(columns_of(rows))
    assert data == parquet_bytes(columns_of(batch_rows(gavel)))
    (tmp_path / "a.parquet").write_bytes(data)
    back = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert [(r["task"], r["method"], r["points"]) for r in back] == [
        (r.task, r.method, r.points) for r in rows
    ]


# -- the command ---------------------------------------------------------------------------------


def test_a_folder_that_is_missing_or_empty_is_named_and_the_exit_code_is_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, words in (
        (tmp_path / "none", "is not a folder"),
        (tmp_path, "has nothing that the back-test can read"),
    ):
        assert main(["backtest", str(folder)]) == 1
        told_error = capsys.readouterr().err
        assert not list(tmp_path.rglob("*"))
        assert str(folder) in told_error
        assert words in told_error


def test_every_missing_table_that_is_not_to_be_scored_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here.tsv").touch()
    names = [part for name in ("one", "here", "two") for part in ("--unscored", name)]
    assert main(["backtest", str(tmp_path), "--json", *names]) == 1
    assert capsys.readouterr().err == (
        f"{tmp_path} has no one.tsv, two.tsv. Name its tables without .tsv.\n"
    )


def test_one_data_set_alone_is_enough_and_twice_gives_the_same_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data" / "gavel_throughputs"
    folder.mkdir(parents=True)
    rows = gavel("gavel_throughputs/throughput.csv")
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
    (folder / "throughput.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    names = ("docs/accuracy.md", "docs/constants.md", "data/accuracy.parquet")
    for into in ("one", "two"):
        assert main(["backtest", str(tmp_path / "data"), "--into", str(tmp_path / into)]) == 0
    out = capsys.readouterr().out
    assert "figures: docs/accuracy.md" in out
    assert f"s per 1,000 answers: batch, {OURS}" in out
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_file_that_is_missing_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    read = public_tables(tmp_path)
    assert list(read("set/a.csv")) == [{"x": "1", "y": "2"}]
    assert not read("set/b.csv")


def test_every_method_is_watched_on_what_it_is_asked() -> None:
    watch = Stopwatch()
    rows = batch_rows(gavel, watch)
    seen = {(t.task, t.method): t for t in watch.timings}
    for row in rows:
        if row.method not in (REFUSED, UNREFUSED):
            assert seen[row.task, row.method].points == row.hidden
            assert seen[row.task, row.method].seconds > 0.0
    assert parquet_bytes(columns_of(rows)) == parquet_bytes(columns_of(batch_rows(gavel)))


# -- what is not all public data ------------------------------------------------------------------

LINES = ["gpu,placement,model,batch_size_per_gpu,n_gpus,steps_per_s"]


def _gavel_folder(place: Path, *changed: str) -> Path:
    """A data set of one sweep, its last lines as given."""
    file = place / "gavel_throughputs" / "throughput.csv"
    file.parent.mkdir(parents=True)
    rows = [",".join(r.values()) for r in gavel("gavel_throughputs/throughput.csv")]
    file.write_text("\n".join([*LINES, *rows, *changed]) + "\n", encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def sound_figures(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The figures of the data set as it stands."""
    place = tmp_path_factory.mktemp("sound")
    assert main(["backtest", str(_gavel_folder(place / "data")), "--into", str(place)]) == 0
    return (place / "data/accuracy.parquet").read_bytes()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("k80,consolidated,net,16,1,fast", "line 8, column steps_per_s: “fast” is not a number"),
        ("k80,consolidated,net,16,1,0", "column steps_per_s: “0” is not a number above 0"),
        ("k80,consolidated,net,16,1,-3", "column steps_per_s: “-3” is not a number above 0"),
        ("k80,consolidated,net,16,1,nan", "column steps_per_s: “nan” is not a number"),
        ("k80,consolidated,net,16,1,inf", "column steps_per_s: “inf” is not a number"),
        ("k80,consolidated,net,16,1,1_0", "column steps_per_s: “1_0” is not a number"),
        ("k80,consolidated,net,16,1,1e300", "column steps_per_s: “1e300” is outside 1e-12 to"),
        ("k80,consolidated,net,16,1,1e-320", "column steps_per_s: “1e-320” is outside 1e-12 to"),
        ("k80,consolidated,net,16,1.5,2", "column n_gpus: “1.5” is not a whole number"),
        ("k80,consolidated,net,16,1,", "column steps_per_s: the cell is empty"),
        ("k80,consolidated,net", "line 8, column n_gpus: the cell is missing"),
        ("k80,consolidated,net,16,1,2,3", "line 8: has 7 cells, the first line 6 names"),
        (f"k80,consolidated,net,16,1,{'9' * 5000}", "99… (5,000 letters)” is outside"),
        (f"k80,consolidated,{'n' * 200_000},16,1,2", "line 8: cannot be read: field larger than"),
        ('k80,consolidated,net,16,1,"2', "line 8: cannot be read: unexpected end of data"),
        ('k80,consolidated,"net\nk80,consolidated,other",16,1,2', "column model: “net\\nk80,con"),
        ("k80,consolidated,net\0,16,1,\0", "column steps_per_s: “\\x00” is not a number"),
    ],
)
def test_a_bad_row_is_named_by_file_line_column_and_value_and_the_rest_is_answered(
    line: str,
    words: str,
    tmp_path: Path,
    sound_figures: bytes,
    capsys: pytest.CaptureFixture[str],
) -> None:
    into = tmp_path / "into"
    folder = _gavel_folder(tmp_path / "data", line)
    capsys.readouterr()
    assert main(["backtest", str(folder), "--into", str(into)]) == command.PARTIAL
    result = capsys.readouterr().err
    assert result.startswith("Left out: 1 row.\n  gavel_throughputs/throughput.csv")
    assert words in result
    assert (into / "data/accuracy.parquet").read_bytes() == sound_figures
    page = " ".join((into / "docs/accuracy.md").read_text(encoding="utf-8").split())
    assert "questions are left out: 1." in page


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"\xff\xfe\x00", "the columns gpu, placement, model, n_gpus, steps_per_s, batch_size"),
        (b"gpu;placement;model;batch_size_per_gpu;n_gpus;steps_per_s\nk80;c;n;16;1;2\n",
         "its first line is one column. Separate columns by commas"),
        (b"gpu,gpu,placement,model,batch_size_per_gpu,n_gpus,steps_per_s\n",
         "the column gpu appears twice"),
        (b"gpu,placement,model,batch_size_per_gpu,n_gpus\n", "the column steps_per_s is missing"),
        (b'"' + b"x" * 200_000 + b'"\n', "cannot be read: field larger than field limit"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_named_and_the_others_are_read(
    content: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _gavel_folder(tmp_path / "data")
    odd = folder / "elasticflow_a100" / "strong_scaling.csv"
    odd.parent.mkdir()
    odd.write_bytes(content)
    gavel_file = folder / "gavel_throughputs" / "throughput.csv"
    sound = gavel_file.read_bytes()
    gavel_file.write_bytes(content)
    assert main(["backtest", str(folder), "--into", str(tmp_path / "into")]) == 1
    result = next(x for x in capsys.readouterr().err.splitlines() if "gavel" in x)
    assert result.startswith("  gavel_throughputs/throughput.csv: ")
    assert words in result
    assert not (tmp_path / "into").exists()
    gavel_file.write_bytes(sound)
    assert main(["backtest", str(folder), "--into", str(tmp_path / "into")]) == command.PARTIAL
    assert "Left out: 1 file." in capsys.readouterr().err
    assert (tmp_path / "into" / "docs" / "accuracy.md").exists()


def test_bytes_that_are_not_utf_8_spoil_their_own_row_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _gavel_folder(tmp_path / "data")
    file = folder / "gavel_throughputs" / "throughput.csv"
    file.write_bytes(file.read_bytes() + b"k80,consolidated,n\xe9t,16,1,2\n")
    assert main(["backtest", str(folder), "--into", str(tmp_path / "into")]) == command.PARTIAL
    assert "line 8, column model: “n\\udce9t” is not UTF-8" in capsys.readouterr().err


def test_a_folder_in_place_of_a_file_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _gavel_folder(tmp_path / "data")
    (folder / "mlperf_rcp" / "rcp.csv").mkdir(parents=True)
    assert main(["backtest", str(folder), "--into", str(tmp_path / "into")]) == command.PARTIAL
    assert "mlperf_rcp/rcp.csv: is not a file" in capsys.readouterr().err


def test_many_bad_rows_are_counted_and_the_first_of_them_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _gavel_folder(tmp_path / "data", *["k80,consolidated,net,16,1,x"] * 1234)
    assert main(["backtest", str(folder), "--into", str(tmp_path / "into")]) == command.PARTIAL
    result = capsys.readouterr().err
    assert "Left out: 1,234 rows." in result
    assert "and 1,034 of gavel_throughputs/throughput.csv" in result
    assert len(result.splitlines()) < 210


DATASETS = command.DATA_SETS
EPOCHS_FILE = "koshian2_tpu_benchmark/epochs_main.csv"


def _epoch_line(batch: str, epoch: int, seconds: str = "10.0", number: int = 0) -> NumberedRow:
    cells = {"device": "gpu", "pattern": "1", "epoch": str(epoch), "batch_size": batch,
             "epoch_seconds": seconds, "train_images_per_epoch": "50000",
             "pre_train_seconds": "1"}  # fmt: skip
    return NumberedRow(number=number or epoch + 1, cells=cells)


def test_a_run_that_lacks_an_epoch_is_left_out_and_others_stay() -> None:
    lines = [_epoch_line("64", e) for e in (1, 2, 3)] + [_epoch_line("128", e) for e in (1, 2)]
    lines[1] = _epoch_line("64", 2, "ten")
    kept, skipped = sound_rows(EPOCHS_FILE, lines)
    assert {row["batch_size"] for row in kept} == {"128"}
    assert [one.line for one in skipped] == [2, 3, 4]
    assert "“ten” is not a number" in str(skipped[1])
    assert "another row of its run" in str(skipped[0])


def test_where_the_run_of_a_bad_row_is_unknown_the_runs_beside_it_are_left_out() -> None:
    lines = [_epoch_line(b, e) for b in ("64", "128", "256") for e in (1, 2)]
    lines[2] = _epoch_line("12B", 1)
    kept, _ = sound_rows(EPOCHS_FILE, lines)
    assert {row["batch_size"] for row in kept} == {"256"}


@pytest.mark.skipif(not DATASETS.is_dir(), reason="the public data sets are not here")
@pytest.mark.parametrize("path", [*COLUMNS])
def test_no_row_of_the_public_data_is_left_out(path: str) -> None:
    read = public_tables(DATASETS)
    assert read(path)
    assert read.skipped == []


@pytest.mark.skipif(not DATASETS.is_dir(), reason="the public data sets are not here")
@given(st.data())
@settings(max_examples=200 if FULL else 40, deadline=None)
def test_any_damaged_cell_is_left_out_with_its_line_and_column(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from([p for p, kinds in COLUMNS.items() if any(kinds[1:])]))
    rows = _public_rows(path)
    at = data.draw(st.integers(0, len(rows) - 1))
    _, above, at_least, optional = COLUMNS[path]
    column = data.draw(st.sampled_from([*above, *at_least, *optional]))
    cell = data.draw(st.sampled_from(["x", "nan", "-1", "inf", "1e400", "1e-300", "--", "0x1"]))
    lines = [NumberedRow(number=n, cells=row) for n, row in enumerate(rows, start=2)]
    lines[at] = replace(lines[at], cells={**rows[at], column: cell})
    kept, skipped = sound_rows(path, lines)
    named = [one for one in skipped if one.column == column]
    assert [one.line for one in named] == [at + 2]
    assert f"“{cell}”" in str(named[0])
    assert len(kept) + len(skipped) == len(rows)
    assert len(skipped) == 1 or path in RUNS


def test_a_row_of_an_unknown_task_is_left_out_by_name() -> None:
    row = {"task": "CIFAR-10", "entry": "a", "hours": "1", "epoch": "1", "top1Accuracy": "50"}
    lines = [
        NumberedRow(number=2, cells=row),
        NumberedRow(number=3, cells={**row, "task": "CIFAR10"}),
    ]
    kept, skipped = sound_rows("dawnbench_train/epochs.csv", lines)
    assert kept == []
    assert [(x.line, x.column) for x in skipped] == [(2, "task"), (3, "")]
    assert "“CIFAR-10” is not CIFAR10 or ImageNet" in str(skipped[0])


@cache
def _public_rows(path: str) -> list[CellsOf]:
    return list(public_tables(DATASETS)(path))


def test_a_question_that_fails_takes_no_other_along(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Epochs that end at one and the same moment: numbers in every cell, and no pace to divide."""
    folder = _gavel_folder(tmp_path / "data")
    place = folder / "dawnbench_train"
    place.mkdir()
    (place / "entries.csv").write_text("task,entry,hardware\nCIFAR10,a,b\n")
    ends = "".join(f"CIFAR10,a,{e},0.5,60\n" for e in (1, 1, 1, 1, 1, 1))
    (place / "epochs.csv").write_text(f"task,entry,epoch,hours,top1Accuracy\n{ends}")
    code = main(["backtest", str(folder), "--into", str(tmp_path / "into")])
    assert code == command.PARTIAL
    result = capsys.readouterr().err
    assert "Left out: " in result
    assert "\n  epochs: " in result
    assert (tmp_path / "into" / "docs" / "accuracy.md").exists()


def test_some_of_the_data_never_replaces_what_ships(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shipped = (command.ROOT / "docs" / "accuracy.md").read_bytes()
    _gavel_folder(tmp_path / "some")
    assert main(["backtest", "some"]) == 0
    assert "the shipped figures are unchanged" in capsys.readouterr().out
    into = tmp_path / "build" / "backtest"
    page = (into / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert "`python -m planner backtest some`" in page.replace("\n", " ")
    assert "are missing: Colab TPU" in page.replace("\n", " ")
    assert "Gavel is noisy" not in page  # told of the whole public data
    assert "Throughputs of Gavel (OSDI 2020)" in page
    constants = (into / "docs" / "constants.md").read_text(encoding="utf-8")
    assert "18.9 instead of 20.3" not in constants.replace("\n", " ")
    assert (command.ROOT / "docs" / "accuracy.md").read_bytes() == shipped


def test_a_folder_of_this_machine_is_shown_as_one_types_it(tmp_path: Path) -> None:
    assert command._display_path(command.ROOT / "data" / "results") == "data/results"
    assert command._display_path(command.ROOT.parent / "shared") == "../shared"
    assert command._display_path(tmp_path / "mine") == "mine"
    assert command._display_path(Path("mine/data")) == "mine/data"


def test_without_a_public_data_set_no_constant_is_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["backtest", str(tmp_path), "--constants"]) == 1
    assert "no public data set that a constant is chosen by" in capsys.readouterr().err


def test_rows_left_out_with_a_bad_one_are_counted_and_do_not_hide_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _gavel_folder(tmp_path / "data")
    place = folder / "koshian2_tpu_benchmark"
    place.mkdir()
    lines = [_epoch_line("64", e, "ten" if e == 250 else "10.0") for e in range(1, 301)]
    cells = [line.cells for line in lines]
    rows = [",".join(str(v) for v in row.values()) for row in cells]
    text = "\n".join([",".join(cells[0]), *rows]) + "\n"
    (place / "epochs_main.csv").write_text(text, encoding="utf-8")
    assert main(["backtest", str(folder), "--into", str(tmp_path / "into")]) == command.PARTIAL
    result = capsys.readouterr().err
    assert f"Left out: 300 rows.\n  {EPOCHS_FILE}, line 251, column epoch_seconds: “ten”" in result
    assert f"{EPOCHS_FILE}: also 299 valid rows of the same runs" in result
    assert len(result.splitlines()) < 6


@pytest.mark.skipif(not DATASETS.is_dir(), reason="the public data sets are not here")
@pytest.mark.parametrize("missing", ["accelerator_hardware/epoch_ml_hardware.csv"])
def test_a_question_without_one_of_its_files_has_no_figures_and_no_fault(missing: str) -> None:
    read = public_tables(DATASETS)
    rows = unmeasured.unmeasured_rows(lambda path: () if path == missing else read(path))
    assert all(row.hidden for row in rows)
