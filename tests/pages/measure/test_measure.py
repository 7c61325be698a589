"""The Measure page over real processes; `stand_in` plays the minutes of TensorFlow."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from streamlit.testing.v1 import AppTest

from pages.common.kept import ROOT, store
from pages.measure import measuring, sweep_card
from pages.measure.measuring import NotDoneError
from pages.visitor import address, permission
from planner.store import commit_runs
from planner.store.disk import sweeps
from planner.store.disk.sweeps import STATE, NodeStatus, SweepStatus
from tests.fork_server import executable
from tests.pages.conftest import figure, show, sound, texts
from tests.pages.stand_in import __file__ as stand_in
from tests.store.build import row
from tests.store.sweeping import dead, result

PATIENCE_S = 60.0
HOSTILE = "<img src=x onerror=alert(1)> **b** [l](http://evil.example)"


@pytest.fixture(autouse=True)
def sweeping(alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Measuring is on, the runners are the stand-in, and results and state are the test's own."""
    place = tmp_path / "state"
    monkeypatch.setenv(STATE, str(place))
    monkeypatch.setenv(permission.SETTING, "on")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    forked = (executable("planner"), "-m", "tests.pages.stand_in")  # it imports the store
    monkeypatch.setattr(measuring, "COMMAND", forked)
    yield place
    _open(place, "all")
    others = [s for s in sweeps.read_statuses(place) if s.pid != os.getpid()]
    for status in others:
        sweeps.ask_to_stop(status)
        _until(lambda s=status: not sweeps.alive(s))  # type: ignore[misc]


def _open(state: Path, gate: str) -> None:
    """Let the stand-in end run `gate`."""
    (state / "gate").mkdir(parents=True, exist_ok=True)
    (state / "gate" / gate).touch()


def _until(true: Callable[[], bool]) -> None:
    """Wait for another process; far longer than it ever takes, so that a hang is a failure."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def _only(state: Path) -> SweepStatus:
    [status] = sweeps.read_statuses(state)
    return status


def _is(state: Path, phase: str, finished: int) -> Callable[[], bool]:
    def reached() -> bool:
        known = sweeps.read_statuses(state)
        return any(s.phase == phase and s.finished == finished for s in known)

    return reached


def _started(sweep: str = "small") -> AppTest:
    shown = show("measure", sweep=sweep)
    return sound(shown.button(key="measure.start").click().run())


# -- before ------------------------------------------------------------------------------------


def test_the_cost_of_a_sweep_stands_there_before_it_starts(sweeping: Path) -> None:
    shown = show("measure")
    said = texts(shown)
    assert "Small sweep: 4 runs to measure, about 1.5 min." in said
    assert "Time predicted from 12 runs." in said
    assert "The smallest design that gives a curve: 3 runs (batch 16, 64, 128), 36 s." in said
    for number in ("4 of 4", "1.5 min (1.2 to 1.8 min)", "1.2 GB", "0.004 kWh", "below 0.01 EUR"):
        assert f"**{number}**" in said
    assert sweeps.read_statuses(sweeping) == []


def test_the_runs_of_the_plan_are_listed_with_what_is_measured(own: Path) -> None:
    commit_runs(own / "small", [row(result_set="small", global_batch_size=16, step_s=0.1)])
    shown = show("measure")
    shown.session_state["measure.runs"] = True
    table = sound(shown.run()).dataframe[0].value
    assert list(table["State"]) == ["measured", "to measure", "to measure", "to measure"]
    assert "3 runs to measure (1 of 4 are measured)" in texts(shown)


def test_a_link_names_the_sweep(sweeping: Path) -> None:
    assert "Failing sweep: 2 runs to measure" in texts(show("measure", sweep="failing"))


def test_a_link_to_a_sweep_that_is_not_shipped_says_so(sweeping: Path) -> None:
    said = texts(show("measure", sweep="zzz", ticket="gone-1"))
    assert "sweep: “zzz” is no longer an option." in said
    assert "this link's sweep is not on this machine." in said
    assert "Small sweep: 4 runs" in said


def test_unknown_times_are_timed_on_a_button(sweeping: Path) -> None:
    shown = show("measure", sweep="unknown")
    assert "about a time" not in texts(shown)
    assert "duration unknown" in texts(shown)
    shown.button(key="measure.probe").click().run()
    assert "Time predicted from a two-step probe" in texts(sound(shown))


def test_a_sweep_that_cannot_be_measured_says_all_that_is_wrong(sweeping: Path) -> None:
    shown = show("measure", sweep="bad")
    assert "This sweep cannot be measured here." in texts(shown)
    assert "workload: no network is called <b>." in texts(shown)
    assert "And more." in texts(shown)
    assert not [b for b in shown.button if b.key == "measure.start"]


def test_runners_that_give_no_plan_are_quoted_and_asked_again(sweeping: Path) -> None:
    shown = show("measure", sweep="mute")
    assert "This sweep could not be planned." in texts(shown)
    assert "no plan for a **mute** sweep" in texts(shown)
    assert shown.button(key="measure.again")


def test_without_the_runners_the_page_says_so(
    sweeping: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "COMMAND", ("no-such-program",))
    said = texts(show("measure"))
    assert "The list of sweeps could not be read." in said
    assert "None yet." in said


def test_when_all_is_measured_nothing_can_be_started(own: Path) -> None:
    runs = [row(result_set="small", global_batch_size=b, step_s=0.1) for b in (16, 32, 64, 128)]
    commit_runs(own / "small", runs)
    shown = show("measure")
    assert "Small sweep: all 4 runs are measured." in texts(shown)
    assert shown.button(key="measure.start").disabled


# -- start, follow, stop, resume ---------------------------------------------------------------


def test_a_click_starts_a_process_of_its_own_that_ends_by_itself(
    sweeping: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "COMMAND", (sys.executable, stand_in))
    shown = _started()
    status = _only(sweeping)
    assert os.getsid(status.pid) == status.pid != os.getsid(0)
    _open(sweeping, "all")
    _until(_is(sweeping, "finished", 4))
    assert len(list((own / "small").glob("*.parquet"))) == 4
    assert "Small sweep: 4 of 4 runs measured in" in texts(sound(shown.run()))
    assert shown.query_params["ticket"] == status.ticket


def test_progress_is_finished_runs_and_what_is_measured_now_in_words(sweeping: Path) -> None:
    shown = _started()
    _open(sweeping, "1")
    _until(lambda: _only(sweeping).current == "ResNet-50, batch 32")
    said = texts(sound(shown.run()))
    assert "Small sweep: 1 of 4 runs measured, 1 min 8 s left." in said
    bar = shown.get("progress")[0].proto
    assert bar.value == 25
    assert "1 of 4 runs · now ResNet" in bar.text
    assert "epoch 2 of 5" in bar.text


def test_one_card_says_what_goes_on_and_what_is_next(sweeping: Path) -> None:
    shown = _started()
    _until(lambda: _only(sweeping).following == "ResNet-50, batch 32")
    said = texts(sound(shown.run()))
    assert said.count("Small sweep:") == 1
    assert "4 runs to measure" not in said
    assert "next: ResNet-50, batch 32" in said


def test_another_sweep_is_planned_in_a_folded_box_while_one_runs(sweeping: Path) -> None:
    shown = _started()
    _until(_is(sweeping, "running", 0))
    shown.session_state["measure.another"] = True
    shown.session_state["measure.sweep"] = "failing"
    assert "Failing sweep: 2 runs to measure" in texts(sound(shown.run()))
    assert texts(shown).index("Small sweep") < texts(shown).index("Failing sweep")


def test_the_curve_grows_with_the_runs(sweeping: Path) -> None:
    shown = _started()
    _until(_is(sweeping, "running", 0))
    assert not sound(shown.run()).get("plotly_chart")
    for n, gate in enumerate(("1", "2"), start=1):
        _open(sweeping, gate)
        _until(_is(sweeping, "running", n))
        [chart] = sound(shown.run()).get("plotly_chart")
        points = [t for t in figure(shown)["data"] if t.get("mode") == "markers"]
        assert len(points[0]["x"]) == n
        assert chart.proto.alt


def test_before_the_first_run_ends_no_time_left_is_claimed(sweeping: Path) -> None:
    shown = _started()
    _until(_is(sweeping, "running", 0))
    assert "0 of 4 runs measured, time left is known after the first run." in texts(
        sound(shown.run())
    )


def test_results_and_their_curve_are_one_click_away_once_there_is_one(sweeping: Path) -> None:
    shown = _started()
    _until(_is(sweeping, "running", 0))
    assert not sound(shown.run()).get("page_link")
    _open(sweeping, "1")
    _until(_is(sweeping, "running", 1))
    links = sound(shown.run()).get("page_link")
    assert [p.proto.label for p in links] == ["Results of this sweep", "Throughput curve"]
    assert links[0].proto.query_string == "result_set=small"
    assert links[1].proto.query_string == "workload=resnet-50&systems=t4"


@pytest.mark.parametrize(
    ("names", "result"),
    [
        ([], []),
        (["A · x · SGD"], [""]),
        (["A · x · SGD", "A · x", "B · x · SGD"], ["A · SGD", "A", "B · SGD"]),
    ],
)
def test_links_to_several_curves_name_only_what_differs(
    names: list[str], result: list[str]
) -> None:
    assert sweep_card.short_labels(names) == result


NODES: Final = (
    NodeStatus(name="alpha", accelerators="8 x v100", system="V100", finished=3, state="running",
               runs=("mlp, batch 16", "mlp, batch 32"), stored_by="node in folder"),
    NodeStatus(name=HOSTILE, accelerators="", system="2-core EPYC", state="lost"),
)  # fmt: skip


def test_a_sweep_over_a_cluster_shows_its_nodes_and_what_runs_where(sweeping: Path) -> None:
    result(sweeping, nodes=NODES)
    shown = sound(show("measure"))
    [table] = [t.value for t in shown.dataframe if "Measures now" in t.value]
    assert list(table["Node"]) == ["alpha", HOSTILE]
    assert list(table["State"]) == ["Measuring", "Lost"]
    first = table.iloc[0]
    assert first["Accelerators"] == "8 x v100"
    assert first["Measures now"] == "mlp, batch 16; mlp, batch 32"
    assert first["Runs measured"] == 3
    assert list(table["Stored by"].fillna("")) == ["the node, in the results folder", ""]


def test_visitors_who_may_not_measure_see_no_names_of_nodes(
    sweeping: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(permission.SETTING, "off")
    result(sweeping, nodes=NODES)
    [table] = [t.value for t in show("measure").dataframe if "Measures now" in t.value]
    assert list(table["Node"]) == ["Node 1", "Node 2"]


def test_a_stopped_sweep_resumes_where_it_was(sweeping: Path) -> None:
    shown = _started()
    _open(sweeping, "1")
    _until(_is(sweeping, "running", 1))
    ticket = _only(sweeping).ticket
    sound(shown.run()).button(key=f"measure.stop.{ticket}").click().run()
    _until(_is(sweeping, "stopped", 1))
    assert "Small sweep: stopped after 1 of 4 runs measured." in texts(sound(shown.run()))
    _open(sweeping, "all")
    shown.button(key=f"measure.resume.{ticket}").click().run()
    _until(_is(sweeping, "finished", 4))
    assert _only(sweeping).ticket == ticket


def test_the_page_knows_what_goes_on_from_the_disk_alone(sweeping: Path) -> None:
    """Another server, or the same one after a restart, remembers nothing."""
    _started()
    _open(sweeping, "1")
    _until(_is(sweeping, "running", 1))
    assert "Small sweep: 1 of 4 runs measured" in texts(show("measure"))


def test_one_sweep_waits_for_the_other(sweeping: Path) -> None:
    _started()
    _until(_is(sweeping, "running", 0))
    second = show("measure", sweep="failing")
    second.session_state["measure.another"] = True
    assert "A machine measures one sweep at a time. This one will wait for its turn." in texts(
        sound(second.run())
    )
    second.button(key="measure.start").click().run()
    _until(lambda: any(s.message == "waits for another sweep" for s in _all(sweeping)))
    assert "Failing sweep: waits for another sweep." in texts(sound(second.run()))
    _open(sweeping, "all")
    _until(lambda: {s.phase for s in _all(sweeping)} == {"finished"})


# -- limits ------------------------------------------------------------------------------------


def test_a_limit_of_time_stops_the_sweep_and_resume_goes_on(sweeping: Path) -> None:
    shown = show("measure", max_hours="0.001")
    shown.button(key="measure.start").click().run()
    _until(lambda: _only(sweeping).phase == "stopped")
    ticket = _only(sweeping).ticket
    said = texts(sound(shown.run()))
    assert "Small sweep: stopped after 0 of 4 runs measured." in said
    assert "Stopped at its limit of 3.6 s. Finished runs are kept; Resume measures the" in said
    assert shown.number_input(key="measure.max_hours").value == 0.001
    shown.number_input(key="measure.max_hours").set_value(None).run()
    shown.button(key=f"measure.resume.{ticket}").click().run()
    _open(sweeping, "all")
    _until(_is(sweeping, "finished", 4))


def test_the_limits_stand_on_the_card_and_in_the_link(sweeping: Path) -> None:
    shown = show("measure", max_hours="2")
    shown.button(key="measure.start").click().run()
    _until(_is(sweeping, "running", 0))
    assert "stops at 2 h" in texts(sound(shown.run()))
    assert shown.query_params["max_hours"] == "2"


def test_a_price_makes_a_cost_and_a_cost_limit_needs_one(sweeping: Path) -> None:
    assert "**0.05 EUR**" in texts(show("measure", price_per_hour="2"))
    options = measuring.StartLimits(hours=2, cost=0.5, price_per_hour=1e-3).options()
    assert " ".join(options) == "--max-hours 2 --max-cost 0.5 --price-per-hour 0.001"


def test_a_power_makes_an_energy_where_no_meter_is_read(
    sweeping: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = measuring.plan
    unmetered = lambda *question: replace(planned(*question), energy_kwh=None)  # noqa: E731
    monkeypatch.setattr(measuring, "plan", unmetered)
    assert sweeping
    assert "**enter a power**" in texts(show("measure"))
    assert "**1.5 min (1.2 to 1.8 min)**" in texts(show("measure"))
    shown = show("measure", watts="1000")
    assert "**about 0.025 kWh**" in texts(shown)
    assert "watts" in shown.query_params


# -- repeat, and other installations -----------------------------------------------------------


def test_a_finished_sweep_is_repeated_as_a_new_set(sweeping: Path, own: Path) -> None:
    shown = _started()
    first = _only(sweeping).ticket
    _open(sweeping, "all")
    _until(_is(sweeping, "finished", 4))
    sound(shown.run()).button(key=f"measure.repeat.{first}").click().run()
    assert [t.value for t in shown.toast] == ["Started again as a new result set."]
    _until(lambda: [s.phase for s in _all(sweeping)] == ["finished"] * 2)
    assert len(list((own / "small-repeat-2").glob("*.parquet"))) == 4
    assert len(list((own / "small").glob("*.parquet"))) == 4
    said = texts(sound(shown.run()))
    assert shown.query_params["ticket"] == _all(sweeping)[0].ticket
    assert "Small sweep: 4 of 4 runs measured in" in said


def test_a_repeat_measures_with_the_settings_of_the_first(sweeping: Path) -> None:
    kept = {"backend": "jax", "python": ["jax=/j"], "price_per_hour": 2.5, "name": "x", "none": 1}
    words = measuring._settings(kept)
    assert words == ["--python", "jax=/j", "--price-per-hour", "2.5", "--backend", "jax"]


def test_a_sweep_of_another_installation_says_where_it_belongs(sweeping: Path, own: Path) -> None:
    commit_runs(own / "small", [row(result_set="small", global_batch_size=16, step_s=0.1)])
    result(sweeping, phase="stopped", installation="/srv/other", folder="/srv/other/results")
    shown = show("measure", ticket="small-1")
    said = texts(shown)
    assert "It belongs to the installation in /srv/other." in said
    assert not shown.get("page_link")
    assert "measure.resume.small-1" not in [b.key for b in shown.button]
    assert list(shown.dataframe[0].value["Installation"]) == ["/srv/other"]
    with pytest.raises(NotDoneError, match="belongs to the installation in /srv/other"):
        measuring.resume("small-1")
    with pytest.raises(NotDoneError, match="Only a sweep of this installation"):
        measuring.repeat("small-1")


def test_a_sweep_of_this_installation_says_so(sweeping: Path, own: Path) -> None:
    result(sweeping, phase="finished", folder=str(own), installation=str(ROOT))
    shown = show("measure")
    assert list(shown.dataframe[0].value["Installation"]) == ["this one"]


def _all(state: Path) -> list[SweepStatus]:
    return sweeps.read_statuses(state)


def test_one_sweep_is_not_started_twice(sweeping: Path) -> None:
    shown, late = show("measure"), show("measure")
    shown.button(key="measure.start").click().run()
    sound(late.button(key="measure.start").click().run())
    assert len(sweeps.read_statuses(sweeping)) == 1
    assert "Not started" in late.toast[0].value
    assert not [b for b in shown.button if b.key == "measure.start"]


def test_failed_runs_are_listed_with_their_reason(sweeping: Path) -> None:
    shown = _started("failing")
    _open(sweeping, "all")
    _until(_is(sweeping, "finished", 2))
    table = sound(shown.run()).dataframe[0].value
    assert "Failing sweep: 2 of 2 runs measured (1 failed) in" in texts(shown)
    assert list(table["Ended as"]) == ["oom"]
    assert list(table["Why"]) == ["watchdog: 9.00 GB resident, the limit is 8.00 GB"]


def test_a_supervisor_that_dies_at_once_leaves_its_last_words(sweeping: Path) -> None:
    shown = _started("dying")
    _until(lambda: not sweeps.alive(_only(sweeping)))
    assert "Dying sweep: interrupted after 0 of 4 runs measured." in texts(sound(shown.run()))
    assert shown.code[0].value == "Traceback: it died young"


# -- what can go wrong -------------------------------------------------------------------------


def test_a_process_that_says_nothing_is_called_stalled_with_what_to_do(sweeping: Path) -> None:
    result(sweeping, heartbeat_at=time.time() - 100)
    said = texts(show("measure"))
    assert "Small sweep: stalled after 1 of 4 runs measured." in said
    assert f"kill -9 {os.getpid()}" in said


def test_a_process_that_is_gone_is_called_interrupted_and_can_be_resumed(sweeping: Path) -> None:
    result(sweeping, **dead())
    shown = show("measure", ticket="small-1")
    assert "Small sweep: interrupted after 1 of 4 runs measured." in texts(shown)
    assert shown.button(key="measure.resume.small-1")


def test_of_another_machine_nothing_is_claimed_but_its_silence(sweeping: Path) -> None:
    result(sweeping, host="elsewhere", heartbeat_at=time.time() - 100)
    assert "from elsewhere, where it runs" in texts(show("measure"))


def test_an_ended_sweep_stands_below_until_it_is_forgotten(sweeping: Path) -> None:
    result(sweeping, phase="failed", message="spec.toml went away")
    shown = show("measure", ticket="small-1")
    assert "spec.toml went away\n\nFinished runs are kept" in texts(shown)
    assert list(shown.dataframe[0].value["State"]) == ["Failed"]
    shown.button(key="measure.forget.small-1").click().run()
    assert "None yet." in texts(sound(shown))
    assert sweeps.read_statuses(sweeping) == []


def test_what_a_status_says_is_never_markup(sweeping: Path) -> None:
    result(sweeping, title=HOSTILE, current=HOSTILE, message=HOSTILE)
    shown = show("measure")
    assert HOSTILE in texts(shown)
    parts = [*shown.markdown, *shown.caption, *shown.get("progress")]
    assert not any("<img" in str(p.proto).replace("\\\\<", "") for p in parts)


# -- permission --------------------------------------------------------------------------------

LOCAL = {"Host": "localhost:8501"}


@pytest.mark.parametrize("host", ["localhost:8501", "127.0.0.1:8501", "[::1]:8501", "localhost"])
def test_on_by_itself_where_only_this_machine_can_ask(host: str) -> None:
    found = permission.decide({}, ["127.0.0.1", "::1"], {"Host": host})
    assert found.allowed


@pytest.mark.parametrize(
    "addresses",
    [None, [], ["0.0.0.0"], ["::"], ["127.0.0.1", "192.168.1.5"]],  # noqa: S104
)
def test_off_where_others_can_reach_the_app_or_it_is_unknown(addresses: list[str] | None) -> None:
    found = permission.decide({}, addresses, LOCAL)
    assert not found.allowed
    assert found.why


@pytest.mark.parametrize("header", ["Forwarded", "Via", "X-Forwarded-For", "X-Real-Ip"])
def test_off_behind_a_proxy(header: str) -> None:
    found = permission.decide({}, ["127.0.0.1"], LOCAL | {header: "10.0.0.7"})
    assert "proxy" in found.why


@pytest.mark.parametrize("host", ["", "evil.example:8501", "epochwise.example", "[::1", "10.0.0.7"])
def test_off_under_any_other_name(host: str) -> None:
    assert not permission.decide({}, ["127.0.0.1"], {"Host": host}).allowed


@pytest.mark.parametrize(("result", "allowed"), [("on", True), ("ON ", True), ("off", False)])
def test_the_setting_decides_alone(result: str, *, allowed: bool) -> None:
    setting = {permission.SETTING: result}
    assert permission.decide(setting, ["0.0.0.0"], {}).allowed is allowed  # noqa: S104
    assert permission.decide(setting, ["127.0.0.1"], LOCAL).allowed is allowed


def test_a_misspelt_setting_is_off_and_says_so() -> None:
    found = permission.decide({permission.SETTING: "yes"}, ["127.0.0.1"], LOCAL)
    assert not found.allowed
    assert "neither" in found.why


def test_the_sockets_of_this_very_process_are_looked_at() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)):
        assert "127.0.0.1" in (address.listening() or [])


def test_switched_off_the_page_says_why_and_how_and_still_shows_what_goes_on(
    sweeping: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(permission.SETTING, "off")
    result(sweeping)
    result(sweeping, ticket="small-0", phase="stopped")
    shown = show("measure", ticket="small-0", sweep="small")
    said = texts(shown)
    assert "Measuring is switched off here." in said
    assert "`EPOCHWISE_MEASURE=on` switches it on" in said
    assert "Small sweep: 1 of 4 runs measured" in said
    assert "Small sweep: stopped after 1 of 4" in said
    assert not shown.warning
    assert not [b for b in shown.button if "measure" in str(b.key)]


def test_switched_off_the_page_shows_strangers_nothing_of_the_machine(
    sweeping: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(permission.SETTING, "off")
    result(sweeping, heartbeat_at=0.0)
    result(sweeping, ticket="small-0", phase="failed", message="/home/me/spec.toml went away")
    said = texts(show("measure", ticket="small-0"))
    assert "Small sweep: stalled after 1 of 4 runs measured." in said
    assert "Small sweep: failed after 1 of 4 runs measured." in said
    assert str(os.getpid()) not in said
    assert "/home/me" not in said


def test_switched_off_nothing_is_asked_started_stopped_or_forgotten(
    sweeping: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that was open before it was switched off still has its buttons."""
    shown = show("measure")
    ended = result(sweeping, phase="stopped")
    monkeypatch.setenv(permission.SETTING, "off")
    shown.button(key="measure.start").click().run()
    assert "Not started" in sound(shown).toast[0].value
    probe = measuring.question_of("small", store(), None)
    with pytest.raises(NotDoneError, match="switches it off"):
        measuring.probe(probe)
    for what in (measuring.stop, measuring.resume, measuring.forget):
        with pytest.raises(NotDoneError, match="switches it off"):
            what(ended.ticket)
    assert sweeps.read_statuses(sweeping) == [ended]


def test_what_was_asked_for_is_resumed_from_the_file_kept_of_it(sweeping: Path) -> None:
    ended = result(sweeping, sweep="of-mine", phase="stopped", **dead())
    with pytest.raises(NotDoneError, match="Resume it in the terminal"):
        measuring.resume(ended.ticket)
    (sweeping / ended.ticket / "of-mine.toml").touch()
    assert measuring._spec_of(ended) == str(sweeping / ended.ticket / "of-mine.toml")


@pytest.mark.parametrize("what", [measuring.stop, measuring.resume, measuring.forget])
def test_an_unknown_sweep_is_refused(sweeping: Path, what: Callable[[str], None]) -> None:
    with pytest.raises(NotDoneError, match="no longer on this machine"):
        what("gone-1")


def test_what_is_no_shipped_sweep_is_not_started(sweeping: Path) -> None:
    with pytest.raises(NotDoneError, match="No sweep is called --help"):
        measuring.start(measuring.SweepPlan(name="--help"))


def test_a_sweep_that_runs_is_not_forgotten(sweeping: Path) -> None:
    status = result(sweeping)
    with pytest.raises(NotDoneError, match="Stop it first"):
        measuring.forget(status.ticket)
