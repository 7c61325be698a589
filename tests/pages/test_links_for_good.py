"""A link names the same thing whatever runs arrive or leave: pages, HTTP interface, commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette

from api.routes import Rules, routes
from pages.common import hardware
from pages.common import kept as state
from planner.__main__ import main
from planner.core.slugs import full_slug
from planner.store import commit_runs
from tests.api.served import Answered, ask
from tests.faults.outcomes import FULL
from tests.pages.conftest import show, sound, texts, unfold
from tests.pages.test_stores import timed
from tests.store.build import a_set

PAIRS = [("猫分類", "犬分類"), ("A/B", "A B"), ("naïve", "naive"), ("C++", "C#")]
"""Names that share a plain slug; the first two, and all of them in `make faults`."""


def _add(own: Path, model: str, seconds: float, **more: Any) -> list[Path]:  # noqa: ANN401
    first, *rest = [
        timed(model=model, later_epoch_mean_s=seconds, system_name=f"T4 {k}", **more)
        for k in range(3)
    ]
    return [done.path for done in commit_runs(a_set(own), [first, *rest])]


def _api(name: str = "", **question: str | list[str]) -> Answered:
    rules = Rules(store=lambda _: state.store(), catalogs=(hardware.SHIPPED, hardware.folder()))
    address = f"/api/v1/{name}".rstrip("/")
    return ask(Starlette(routes=routes(rules)), f"{address}?{urlencode(question, doseq=True)}")


def _workloads() -> dict[str, str]:
    return {w["name"]: w["workload"] for w in _api().json["workloads"]}


@pytest.mark.parametrize(("one", "other"), PAIRS if FULL else PAIRS[:2])
def test_a_link_means_the_same_after_a_colleague_s_runs_and_after_they_left(
    alone: Path, one: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = _add(alone, one, 10.0)
    link = _workloads()[one]
    before = _api("projection", workload=link, epochs="100").json
    gone = _add(alone, other, 100.0)
    for _ in range(2):
        now = _api("projection", workload=link, epochs="100")
        if now.status == 200:
            assert now.json["rows"] == before["rows"]
        else:  # a plain name that shares its slug now: the link says which it may be
            assert now.status == 400
            assert full_slug(one) in now.json["errors"][0]["detail"]
        shown = show(workload=link, epochs="100")
        assert one in texts(shown)
        assert f"100 epochs of {other} " not in texts(shown)
        status = main(["how-long", "--results", str(alone), "--link",
                       f"http://h/?workload={link}&epochs=100", "--json"])  # fmt: skip
        said = capsys.readouterr().out
        assert status == 2 or json.loads(said[said.index("{") :])["rows"] == before["rows"]
        for path in gone:
            path.unlink(missing_ok=True)
    assert _api("projection", workload=full_slug(one), epochs="100").json["rows"] == before["rows"]
    for path in mine:
        path.unlink()
    _add(alone, other, 100.0)
    if "~" in link:
        assert _api("projection", workload=link).status == 400


@pytest.mark.parametrize(
    ("page", "old"),
    [("", "none"), ("how-long", "none-2"), ("compare", "none"), ("throughput", "none-2")],
)
def test_an_old_link_that_may_mean_several_is_not_answered(
    alone: Path, page: str, old: str
) -> None:
    _add(alone, "猫分類", 10.0)
    _add(alone, "犬分類", 100.0)
    shown = show(page, workload=old)
    [warning] = shown.warning
    said = warning.value.replace("\\", "")
    assert all(name in said and full_slug(name) in said for name in ("猫分類", "犬分類"))
    assert not shown.dataframe
    assert not shown.get("plotly_chart")
    sound(shown.button(key=f"{page or 'how-long'}.unclear").click().run())
    assert not shown.warning
    assert shown.get("plotly_chart") or "No chart" in texts(shown) or page == "throughput"


def test_own_machines_that_share_a_slug_are_two_options(alone: Path) -> None:
    for name in ("猫マシン", "犬マシン"):
        commit_runs(a_set(alone), [timed(model="net", system_name=name)])
    rows = {r["option"]: r["option_id"] for r in _api("options", workload="net").json["rows"]}
    ids = [i for option, i in rows.items() if option in ("Own 猫マシン", "Own 犬マシン")]
    assert len(set(ids)) == 2
    result = _api("compare", workload="net", options=ids, epochs="10").json
    assert {r["option"] for r in result["rows"]} == {"Own 猫マシン", "Own 犬マシン"}
    shown = show("compare", workload="net", options=ids, epochs="10")
    assert not shown.warning
    assert set(shown.multiselect(key="compare.options").value) == set(ids)
    refused = _api("compare", workload="net", options=["own-none"], epochs="10")
    assert refused.status == 400


def test_facets_of_results_that_share_a_slug_are_two(alone: Path) -> None:
    for name in ("A/B", "A B"):
        commit_runs(a_set(alone), [timed(model="net", system_name=name)])
    result = _api("results", system=full_slug("A/B")).json
    assert [r["system"] for r in result["rows"]] == ["A/B"]
    assert _api("results", system="a-b").status == 400
    shown = show("results", system=full_slug("A B"))
    assert not shown.warning
    assert unfold(shown, "results.filters").multiselect(key="results.system").value == [
        full_slug("A B")
    ]
