"""Pages over folders that are empty, tiny, huge, sick or still growing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from planner.answers import how_long_answered
from planner.core.slugs import slugs
from planner.epochs import MOST_CHOSEN, MOST_LINES
from planner.store import Store, commit_runs, queries
from tests import shipped
from tests.faults.outcomes import FULL
from tests.pages.conftest import lines, on_tab, show, sound, texts, unfold
from tests.shipped import all_of
from tests.store.build import a_set, row, rows, together
from tests.titles import PAGES


def timed(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any column
    """A run of five epochs of which only the summary is kept."""
    return row(
        **{
            "pre_train_s": 4.0,
            "first_epoch_s": 15.0,
            "later_epoch_mean_s": 10.0,
            "later_epoch_sd_s": 0.1,
            "epochs_measured": 5,
            "steps_per_epoch": 100,
        }
        | changes
    )


def kept(*epoch_s: float, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any column
    """A measured run with single epochs and no summary of them."""
    entries = [{"epoch": i, "epoch_s": s} for i, s in enumerate(epoch_s, start=1)]
    return row(pre_train_s=4.0, epochs=entries, epochs_measured=len(entries), **changes)


def step(batch: int, step_s: float, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any column
    """One point of a throughput curve."""
    return row(global_batch_size=batch, step_s=step_s, **changes)


# -- nothing -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "again"),
    [
        ("how-long", "how-long.again"),
        ("throughput", "throughput.again"),
    ],
)
def test_without_any_run_the_page_says_so_and_looks_again_on_a_button(
    alone: Path, address: str, again: str
) -> None:
    shown = show(address)
    assert "No runs yet." in texts(shown)
    assert not shown.get("plotly_chart")
    a_set(
        alone, [timed(), timed(global_batch_size=128, steps_per_epoch=50, later_epoch_mean_s=8.0)]
    )
    shown.button(key=again).click().run()
    assert "No runs yet." not in texts(sound(shown))
    assert shown.get("plotly_chart")


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("address", ["how-long", "throughput", "explore", "results"])
def test_without_any_run_a_page_shows_where_to_get_some(address: str) -> None:
    shown = show(address)
    assert not shown.warning
    assert {"Add results", "Measure"} <= {link.proto.label for link in shown.get("page_link")}


def test_without_any_run_every_page_opens_by_a_bare_link_and_by_one_of_nonsense(
    alone: Path,
) -> None:
    """Each page by one of the two; by both in `make faults`."""
    nonsense: dict[str, str | list[str]] = {
        "epochs": "5", "systems": ["a", "b"], "run": "0" * 32, "workload": "w", "scale": "linear",
    }  # fmt: skip
    said = {
        (address, *link): show(address, **link).sidebar.caption[0].value
        for address in PAGES
        for link in (dict[str, str | list[str]](), nonsense)
        if FULL or bool(link) is (address in ("how-long", "results", "throughput"))
    }
    assert [place for place, text in said.items() if "no data yet" not in text] == []


# -- little ------------------------------------------------------------------------------------


def test_one_run_is_enough_for_an_answer(alone: Path) -> None:
    a_set(alone, [timed()])
    shown = show()
    assert "1 result set · 1 run" in shown.sidebar.caption[0].value
    assert "2000 epochs of ResNet-50 at batch 64 on T4: 5 h 33 min" in texts(shown)
    assert lines(shown) == ["T4 · batch 64"]


def test_one_batch_size_is_no_curve_and_the_page_says_what_to_measure(alone: Path) -> None:
    a_set(alone, [step(64, 0.5)])
    said = texts(show("throughput"))
    assert "T4: Only batch 64 was measured" in said
    assert "saturates" not in said


def test_a_sweep_that_scatters_is_refused_and_its_points_are_shown(alone: Path) -> None:
    times = {64: 0.1, 128: 0.5, 256: 0.3, 512: 1.8, 1024: 0.9}
    a_set(alone, [step(b, s) for b, s in times.items()])
    shown = show("throughput")
    assert "The points scatter" in texts(shown)
    assert lines(shown) == []
    table = on_tab(shown).dataframe[0].value
    assert list(table["v0 (samples/s)"]) == ["refused"]


def test_a_refused_and_a_good_curve_stand_side_by_side(alone: Path) -> None:
    good = [step(b, 0.05 + b / 1000, system_name="A100") for b in (64, 256, 1024)]
    a_set(alone, [*good, step(64, 0.5)])
    said = texts(show("throughput"))
    assert "A100 saturates at 1,000 samples/s" in said
    assert "T4: Only batch 64 was measured" in said


def test_single_epochs_are_fetched_where_no_summary_holds_them(alone: Path) -> None:
    a_set(alone, [kept(15.0, 10.0, 10.2, 9.8)])
    assert "2000 epochs of ResNet-50 at batch 64 on T4: 5 h 33 min" in texts(show())


def test_one_epoch_only_is_refused_with_what_to_measure(alone: Path) -> None:
    a_set(alone, [kept(15.0)])
    said = texts(show())
    assert "No total for 2000 epochs of ResNet-50" in said
    assert "Measure at least 3 epochs" in said


def test_epochs_that_change_on_the_way_are_refused(alone: Path) -> None:
    a_set(alone, [kept(15.0, 10.0, 20.0, 5.0, 30.0)])
    assert "above 20 % something changes while it trains" in texts(show())


def test_a_run_out_of_memory_is_refused_with_its_reason_beside_a_good_one(alone: Path) -> None:
    failed = {"status": "oom", "status_reason": "12 GB asked, 8 GB there"}
    a_set(alone, [timed(), row(global_batch_size=512, **failed)])
    shown = show()
    table = on_tab(shown).dataframe[0].value.set_index("option")
    assert "on T4: 5 h 33 min" in texts(shown)
    assert "T4 · batch 512" not in table.index  # refused options are not chosen before anyone asks
    both = show(systems=["t4-batch-64", "t4-batch-512"], tab="table")
    result = both.dataframe[0].value.set_index("option")
    assert result.loc["T4 · batch 512", "total"] == "–"
    assert "The run ended as oom: 12 GB asked, 8 GB there." in str(
        result.loc["T4 · batch 512", "why"]
    )


def test_a_failed_run_opens_and_says_how_it_ended(alone: Path) -> None:
    place = a_set(alone, [timed()])
    [done] = commit_runs(place, [row(status="oom", status_reason="no room", repeat=1)])
    assert "ended as oom: no room" in texts(show("results", run=done.run_id))


def test_a_run_without_epochs_opens_and_says_what_is_not_known(alone: Path) -> None:
    [done] = commit_runs(alone / "mine", [step(64, 0.5)])
    said = texts(show("results", run=done.run_id))
    assert "Single epochs and epoch 1 are unknown" in said


def test_a_run_with_single_epochs_draws_them(alone: Path) -> None:
    [done] = commit_runs(alone / "mine", [kept(15.0, 10.0, 10.2)])
    shown = show("results", run=done.run_id)
    assert len(shown.get("plotly_chart")) == 1


# -- much --------------------------------------------------------------------------------------


@pytest.fixture
def crowd(alone: Path) -> Path:
    """200 systems at two batches each."""
    records = [
        timed(
            system_name=f"System {i:03}",
            global_batch_size=b,
            steps_per_epoch=51_200 // b,
            later_epoch_mean_s=5.0 + i + b / 9,
        )
        for i in range(200)
        for b in (64, 512)
    ]
    together(a_set(alone), records)
    return alone


def test_of_200_systems_at_most_twelve_lines_are_drawn(crowd: Path) -> None:
    assert 0 < len(set(lines(show()))) <= MOST_LINES
    assert 0 < len(set(lines(show("throughput")))) <= MOST_LINES


def test_a_link_to_more_systems_than_the_page_takes_is_cut_and_reported(crowd: Path) -> None:
    many = [f"system-{i:03}-batch-64" for i in range(50)]
    shown = show(systems=many, baseline="system-199-batch-64")
    assert f"systems: 50 values; the first {MOST_CHOSEN} are used." in texts(shown)
    assert len(set(lines(shown))) == MOST_LINES


def test_more_curves_than_the_chart_takes_are_counted(alone: Path) -> None:
    records = [
        step(b, 0.05 + b / 1000, system_name=f"System {i}", workers=w)
        for i in range(7)
        for w in (1, 2)
        for b in (64, 256, 1024)
    ]
    together(a_set(alone), records)
    shown = show("throughput", patterns=["1-worker", "2-workers"])
    assert f"The first {MOST_LINES} of 14 curves; choose fewer above." in texts(shown)
    assert len(set(lines(shown))) == MOST_LINES


def test_more_runs_than_a_table_takes_are_counted(alone: Path) -> None:
    together(a_set(alone), rows(5_200))
    shown = show("results")
    assert "5,200 of 5,200 runs" in texts(shown)
    assert "Runs 1 to 500 of 5,200" in texts(shown)


# -- sick and growing --------------------------------------------------------------------------


def test_a_torn_file_is_listed_with_its_reason_and_the_rest_works(own: Path) -> None:
    place = a_set(own, [timed()])
    whole = next(place.glob("*.parquet")).read_bytes()
    (place / f"{'0' * 32}.parquet").write_bytes(whole[:-50])
    shown = show("results")
    assert all_of(1) in texts(shown)
    refused = shown.dataframe[1].value
    assert list(refused["Folder"]) == ["yours"]
    assert refused["Why"][0]
    assert "1 refused" in shown.sidebar.caption[0].value


def test_a_run_committed_while_the_page_stands_is_there_on_the_next_rerun(own: Path) -> None:
    shown = show("results")
    assert all_of() in texts(shown)
    a_set(own, [timed()])
    assert all_of(1) in texts(sound(shown.run()))


def test_a_run_that_goes_while_it_is_open_is_reported(own: Path) -> None:
    place = a_set(own)
    [done] = commit_runs(place, [timed()])
    shown = show("results", run=done.run_id)
    done.path.unlink()
    assert "this link's run is not in any result folder." in texts(sound(shown.run()))


def test_a_chosen_system_that_goes_is_let_go(own: Path) -> None:
    place = a_set(own, [timed()])
    [done] = commit_runs(place, [timed(global_batch_size=512)])
    chosen = ["t4-batch-64", "t4-batch-512"]
    shown = show(workload="resnet-50", systems=chosen, baseline="t4-batch-512")
    done.path.unlink()
    sound(shown.run())
    assert shown.multiselect(key="how-long.systems").value == ["t4-batch-64"]
    assert shown.selectbox(key="how-long.baseline").value == "t4-batch-64"


def test_two_runs_of_one_case_are_distinguished_and_said_to_be_undecided(alone: Path) -> None:
    place = a_set(alone)
    done = commit_runs(place, [timed(repeat=0), timed(repeat=1, later_epoch_mean_s=10.01)])
    one, other = sorted(d.run_id[:6] for d in done)
    said = texts(show(systems=[f"t4-batch-64-run-{one}", f"t4-batch-64-run-{other}"]))
    names = [f"T4 · batch 64 · run {digits}" for digits in (one, other)]
    assert any(f"{a} is tied with {b}" in said for a, b in (names, names[::-1]))


# -- places --------------------------------------------------------------------------------------


def test_paths_of_this_machine_are_for_whoever_owns_it(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = tmp_path / "a secret place"
    a_set(own, [timed()])
    a_set(far, [timed(model="else")], slug="theirs")
    (far / "stray.parquet").write_bytes(b"none")
    monkeypatch.setenv("EPOCHWISE_FURTHER_RESULTS", str(far))
    monkeypatch.setenv("EPOCHWISE_MEASURE", "off")
    pages = PAGES if FULL else ("", "results", "explore", "measure", "add-results")
    said = {address: _all_said(address) for address in pages}
    assert [a for a, text in said.items() if str(tmp_path) in text or "secret" in text] == []
    assert "yours, further 1." in said["results"]
    monkeypatch.setenv("EPOCHWISE_MEASURE", "on")
    assert str(far) in texts(unfold(show("results"), "results.sets_box"))


def _all_said(address: str) -> str:
    """Words, tables and choices of a page."""
    shown = show(address)
    if address == "results":
        unfold(shown, "results.sets_box")
    tables = " ".join(table.value.to_csv() for table in shown.dataframe)
    choices = " ".join(o for box in [*shown.selectbox, *shown.multiselect] for o in box.options)
    return f"{texts(shown)} {tables} {choices}"


def test_the_trials_of_a_pattern_take_few_questions(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    ask = Store._answer

    def counted(self: Store, question: Any) -> Any:  # noqa: ANN401 - as it is
        asked.append("once")
        return ask(self, question)

    monkeypatch.setattr(Store, "_answer", counted)
    kept = shipped.every(queries.workloads(store))
    most = max(len(queries.runs_of(store, w, p)) for w in kept
               for p in queries.patterns(store, w))  # fmt: skip
    assert most > 400
    for workload, name in slugs(queries.workloads(store)).items():
        if name not in kept:
            continue
        for pattern in slugs(queries.patterns(store, name)):
            asked.clear()
            how_long_answered(store, {"workload": [workload], "pattern": [pattern]})
            assert len(asked) < 60


# -- names -------------------------------------------------------------------------------------

HOSTILE = "<img src=x onerror=alert(1)> **b** [l](http://evil.example) =CMD()"


def test_names_from_data_are_shown_as_they_are_written_on_every_page(alone: Path) -> None:
    a_set(alone, [timed(model=HOSTILE, system_name=HOSTILE, dataset=HOSTILE, note=HOSTILE)])
    beside = {"", "method", "measure", "add-results", "capacity", "scaling-out",
              "steps-to-target", "explore"}  # fmt: skip
    raw, missing = [], []
    for address in PAGES:
        shown = show(address, **({"goal": "epochs"} if address == "compare" else {}))
        raw += [
            (address, str(part.value))
            for part in [*shown.markdown, *shown.caption]
            if re.search(r"(?<!\\)(\*\*b|<img|\[l\])|http://", str(part.value))
        ]
        named = HOSTILE in texts(shown) or (
            shown.dataframe and shown.dataframe[0].value.isin([HOSTILE]).any().any()
        )
        if address not in beside and not named:
            missing.append(address)
    assert (raw, missing) == ([], [])
