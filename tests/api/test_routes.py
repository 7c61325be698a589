"""The HTTP interface: answers, problems, limits, and that nothing of the machine gets out."""

from __future__ import annotations

import concurrent.futures
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette

from api import routes as rooms
from api.routes import ANSWERS
from planner.answers.records import Index
from planner.catalog import Catalog
from planner.core import LONGEST_QUERY, MOST_QUERY_VALUES
from planner.store import Store, commit_runs, folders_from_environment
from planner.store.disk.folders import FURTHER, OWN
from tests.api.served import Answered, app, ask
from tests.shipped import ROOT, runs, store
from tests.store.build import folder, row

APP = app()
PROBLEM = "application/problem+json"
ASKED = sorted(set(ANSWERS) - {"/api/v1"})


def _problem(reply: Answered, status: int) -> dict[str, Any]:
    assert reply.status == status
    assert reply.headers["content-type"] == PROBLEM
    assert reply.headers["cache-control"] == "no-store"
    body: dict[str, Any] = reply.json
    assert body["status"] == status
    assert {"type", "title", "status", "detail"} <= set(body)
    return body


@pytest.mark.parametrize("path", [*ANSWERS, "/api/v1/openapi.json"])
def test_every_address_answers_json_with_an_etag_and_keeps_to_itself(path: str) -> None:
    path += {"sql": "?sql=FROM%20runs", "capacity": "?preset=vision&months=12"}.get(
        path.removeprefix("/api/v1/"), ""
    )
    reply = ask(APP, path)
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["etag"].startswith('W/"')
    assert reply.headers["cross-origin-resource-policy"] == "same-origin"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert not [h for h in reply.headers if h.startswith("access-control")]
    assert str(ROOT).encode() not in reply.body
    assert ask(APP, path).body == reply.body


def test_the_list_of_workloads_takes_the_same_few_statements_for_any_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took one for each: 6 s of processor time for 2,000 networks."""
    asked: list[str] = []
    answered = Store.rows

    def counted(store: Store, statement: str, *rest: Any) -> list[Any]:  # noqa: ANN401
        asked.append(statement)
        return answered(store, statement, *rest)

    monkeypatch.setattr(Store, "rows", counted)
    counts = []
    for many in (2, 40):
        commit_runs(tmp_path / str(many), [row(model=f"net {n}") for n in range(many)])
        place = Store([folder(tmp_path)])
        place.refresh()
        asked.clear()
        sources = rooms.Sources(store=place, catalog=Catalog(), today=date(2026, 11, 28))
        index, problems = rooms.index(sources, {})
        assert isinstance(index, Index)
        assert (len(index.workloads), problems) == (many, [])
        counts.append(len(asked))
    assert counts[0] == counts[1] < 10


@pytest.mark.parametrize("path", ["/api/v1/compare?epochs=10", "/api/v1/openapi.json"])
def test_an_answer_that_somebody_has_is_not_sent_again(path: str) -> None:
    tag = ask(APP, path).headers["etag"]
    again = ask(APP, path, headers={"If-None-Match": f'"other", {tag}'})
    assert (again.status, again.body) == (304, b"")
    assert again.headers["etag"] == tag
    assert ask(APP, path, headers={"If-None-Match": '"other"'}).status == 200


def test_another_question_has_another_etag() -> None:
    tags = {ask(APP, f"/api/v1/projection?epochs={n}").headers["etag"] for n in (10, 11, 12)}
    assert len(tags) == 3


def test_head_reports_the_headers() -> None:
    reply = ask(APP, "/api/v1/projection?epochs=10", method="HEAD")
    assert reply.status == 200
    assert "etag" in reply.headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_not_answered(method: str) -> None:
    reply = ask(APP, "/api/v1/compare", method=method)
    assert "GET" in _problem(reply, 405)["detail"]
    assert reply.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "path",
    ["/api", "/api/", "/api/v2/compare", "/api/v1/nope", "/api/v1/compare/", "/api/v1/../v1",
     "/api/v1/compare%00", "/api/v1//etc/passwd", "/api/" + "x" * 3000],
)  # fmt: skip
def test_what_is_not_there_is_a_problem_too(path: str) -> None:
    body = _problem(ask(APP, path), 404)
    assert len(body["detail"]) < 200


def test_all_problems_are_reported_at_once_with_their_parameters() -> None:
    body = _problem(ask(APP, "/api/v1/compare?epochs=x&pue=99&nope=1&options=gone"), 400)
    assert body["type"] == "urn:epochwise:problem:parameters"
    assert [e.get("parameter") for e in body["errors"]] == [
        "epochs", "pue", "nope", "options",
    ]  # fmt: skip
    assert all(e["detail"] for e in body["errors"])


@pytest.mark.parametrize("path", ASKED)
@pytest.mark.parametrize(
    "query",
    ["workload=%FF", "%FF=1", "workload=" + "x" * 2000, "workload=%00", "epochs=1&epochs=2",
     "workload=<script>", "systems=..%2F..%2Fetc%2Fpasswd", "workload='%20OR%201=1--",
     "&".join(["a=1"] * (MOST_QUERY_VALUES + 1))],
)  # fmt: skip
def test_hostile_questions_are_refused_in_words(path: str, query: str) -> None:
    reply = ask(APP, f"{path}?{query}")
    body = _problem(reply, 400)
    assert body["errors"]
    assert len(reply.body) < 12_000
    assert b"Traceback" not in reply.body


def test_a_query_that_is_too_long_is_refused_unread() -> None:
    _problem(ask(APP, f"/api/v1/compare?workload={'x' * LONGEST_QUERY}"), 414)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(path=st.sampled_from(ASKED), query=st.text(st.characters(max_codepoint=255), max_size=80))
def test_whatever_is_asked_is_answered_or_refused(path: str, query: str) -> None:
    assert ask(APP, f"{path}?{query}").status in (200, 400)


# -- results -------------------------------------------------------------------------------------


def test_all_runs_are_listed_once_a_part_at_a_time() -> None:
    seen: list[str] = []
    cursor = ""
    while True:
        body = ask(APP, f"/api/v1/results?limit=500{cursor and f'&cursor={cursor}'}").json
        seen += [r["run_id"] for r in body["rows"]]
        assert body["total"] == runs()
        if body["next_cursor"] is None:
            break
        cursor = body["next_cursor"]
    assert len(seen) == len(set(seen)) == runs()


def test_filters_are_those_of_the_page_and_one_run_can_be_named() -> None:
    reply = ask(APP, "/api/v1/results?basis=published&limit=3").json
    assert reply["total"] == runs(basis="published")
    assert {r["basis"] for r in reply["rows"]} == {"published"}
    one = reply["rows"][0]["run_id"]
    assert [r["run_id"] for r in ask(APP, f"/api/v1/results?run={one}").json["rows"]] == [one]
    suspect = ask(APP, "/api/v1/results?suspect=any&limit=1000").json
    assert suspect["total"] == len(suspect["rows"]) > 0
    assert all(r["suspect"] for r in suspect["rows"])
    none = ask(APP, "/api/v1/results?suspect=none&limit=1").json
    assert none["total"] + suspect["total"] == runs()


@pytest.mark.parametrize("cursor", ["x", "5-" + "0" * 32, "9" * 12 + "-" + "a" * 32, "-1-a"])
def test_a_cursor_that_fits_nothing_is_refused(cursor: str) -> None:
    body = _problem(ask(APP, f"/api/v1/results?cursor={cursor}"), 400)
    assert body["errors"][0]["parameter"] == "cursor"


# -- what stays inside -----------------------------------------------------------------------------


@pytest.fixture
def own_store(tmp_path: Path) -> Store:
    """A store with a further folder, whose label is its path."""
    place = tmp_path / "secret-place"
    (place / "a").mkdir(parents=True)
    commit_runs(place / "a", [row()])
    (place / "a" / "set.toml").write_text('title = "T"\nlicence = "CC0"\nsource = "s"\n')
    kept = Store(folders_from_environment(tmp_path, {OWN: "none", FURTHER: str(place)}))
    kept.refresh()
    return kept


def test_the_place_of_a_further_folder_is_not_reported(own_store: Store) -> None:
    of = app(own_store)
    body = ask(of, "/api/v1/results").json
    assert [r["folder"] for r in body["rows"]] == ["further 1"]
    assert ask(of, "/api/v1/results?folder=further-1").json["total"] == 1
    for path in (*ANSWERS, "/api/v1/sql?sql=FROM%20runs"):
        assert b"secret-place" not in ask(of, path).body
    refused = ask(of, "/api/v1/results?folder=x")
    assert b"secret-place" not in refused.body
    assert b"further-1" in refused.body


def test_without_a_run_it_is_said_what_to_do(tmp_path: Path) -> None:
    empty = Store(folders_from_environment(tmp_path, {OWN: "none"}))
    empty.refresh()
    for path in ("projection", "curve", "compare?goal=epochs"):
        body = _problem(ask(app(empty), f"/api/v1/{path}"), 404)
        assert body["type"] == "urn:epochwise:problem:no-data"
        assert "Measure one" in body["detail"]
    assert ask(app(empty), "/api/v1/results").json["rows"] == []
    described = "/api/v1/compare?workload=described&samples=1e6&flops=1e9&epochs=3"
    assert ask(app(empty), described).status == 200


def test_what_goes_wrong_inside_stays_inside(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("/home/somebody/secret.parquet")

    monkeypatch.setattr(rooms, "ANSWERS", {"/api/v1/curve": fails})
    reply = ask(app(), "/api/v1/curve")
    detail = _problem(reply, 500)["detail"]
    assert b"secret" not in reply.body
    assert detail.split("under ")[1].rstrip(".") in caplog.text


def test_more_questions_than_can_be_worked_on_are_asked_to_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of = app()
    monkeypatch.setattr(rooms, "AT_ONCE", 0)
    monkeypatch.setattr(rooms, "MOST_WAITING", 0)
    reply = ask(of, "/api/v1/curve")
    _problem(reply, 503)
    assert reply.headers["retry-after"] == "5"


def test_what_is_kept_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "MOST_KEPT_BYTES", 1000)
    of = app()
    first = ask(of, "/api/v1/projection?epochs=10")
    assert ask(of, "/api/v1/projection?epochs=10").body == first.body


def test_many_at_once_get_what_each_would_get_alone() -> None:
    paths = [f"/api/v1/projection?epochs={n}" for n in (10, 20, 50)] + ["/api/v1/curve?batch=100"]
    alone = {p: ask(app(), p).body for p in paths}
    of: Starlette = app()
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        reply = list(threads.map(lambda p: (p, ask(of, p).body), paths * 4))
    assert all(body == alone[path] for path, body in reply)


def test_a_page_s_link_is_a_question_whatever_it_shows() -> None:
    link = "/api/v1/projection?epochs=100&scale=linear"
    assert ask(APP, link).json["epochs"] == 100
    assert ask(APP, "/api/v1/compare?epochs=100&view=chart&saved=x").status == 200


def test_new_runs_are_in_the_next_answer(tmp_path: Path) -> None:
    place = tmp_path / "results" / "a"
    place.mkdir(parents=True)
    kept = Store(folders_from_environment(tmp_path, {OWN: "results"}))

    def fresh() -> Store:
        kept.refresh()
        return kept

    of = Starlette(routes=rooms.routes(rooms.Rules(store=lambda _: fresh(), catalogs=(tmp_path,))))
    before = ask(of, "/api/v1/results")
    commit_runs(place, [row()])
    (place / "set.toml").write_text('title = "T"\nlicence = "CC0"\nsource = "s"\n')
    after = ask(of, "/api/v1/results")
    assert (before.json["total"], after.json["total"]) == (0, 1)
    assert before.headers["etag"] != after.headers["etag"]
    assert json.loads(before.body)["rows"] == []
    assert store().generation  # the shipped one is not touched


def test_country_own_and_options_are_named_as_the_parameters_that_are_wrong() -> None:
    target = "/api/v1/compare?options=nope&own=rent%7Cnonsense%7C1%7C2&country=Atlantis"
    reply = ask(app(), target)
    assert reply.status == 400
    errors = {e["parameter"]: e["detail"] for e in reply.json["errors"]}
    assert set(errors) == {"options", "own", "country"}
    assert "catalogue. " in errors["own"]


def test_an_own_option_is_compared_beside_those_that_are_named() -> None:
    own = "own=rent%7Ch100-sxm%7C1%7C1.99"
    reply = ask(app(), f"/api/v1/compare?options=buy-1x-rtx-5090&{own}")
    assert reply.status == 200
    ids = {r["option_id"] for r in reply.json["rows"]}
    assert ids == {"buy-1x-rtx-5090", "mine-rent-h100-sxm-1-1.99"}


def test_parameters_without_tokens_are_asked_for_them() -> None:
    target = "/api/v1/compare?workload=described&samples=1.28e6&params=25.6e6"
    reply = ask(app(), target)
    assert reply.status == 400
    (error,) = reply.json["errors"]
    assert error["parameter"] == "tokens"
    assert "How many tokens has a sample?" in error["detail"]
