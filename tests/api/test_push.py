"""`POST /api/v1/runs`: who may, what is refused with all its problems, and each run stored once."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.__main__ import EXAMPLE
from api.push import BURST, WRONG_BURST, Inbox, Push
from api.routes import Rules, routes
from planner.__main__ import main
from planner.runs import BY_NAME
from planner.store import Store
from planner.store.disk.access import Access, set_access
from planner.store.disk.audit import AuditEntry, entries
from planner.store.disk.secrets import TOKENS
from planner.store.pushed import MOST_BYTES, MOST_RUNS, body_of, read_body
from tests.api.served import CATALOG, Answered, ask
from tests.faults.outcomes import FULL
from tests.store.build import folder, row

PATH: Final = "/api/v1/runs"


class Client:
    """Sends requests to the routes."""

    def __init__(self, app: Starlette) -> None:
        self.app = app

    def post(self, content: bytes, headers: Mapping[str, str] | None = None) -> Answered:
        """What the address answers to a body."""
        return ask(self.app, PATH, "POST", headers, content)


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    (tmp_path / "shipped" / "taken").mkdir(parents=True)
    return Inbox(
        results=tmp_path / "results", tokens=tmp_path / "tokens", shipped=tmp_path / "shipped"
    )


@pytest.fixture
def client(inbox: Inbox) -> Client:
    store = Store([folder(inbox.results)])
    rules = Rules(
        store=lambda _: (store.refresh(), store)[1], catalogs=(CATALOG, Path("/no")), inbox=inbox
    )
    return Client(Starlette(routes=routes(rules)))


def bearer(inbox: Inbox, *sets: str) -> dict[str, str]:
    token = TOKENS.create(inbox.tokens, name="a machine", sets=sets or ("*",))
    return {"Authorization": f"Bearer {token}"}


def runs(count: int = 1, **cells: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - cells
    return [dict(row(repeat=n, **cells)) for n in range(count)]


def files(inbox: Inbox, slug: str = "mine") -> list[str]:
    return sorted(p.name for p in (inbox.results / slug).glob("*.parquet"))


def test_runs_are_stored_once_however_often_they_are_sent(client: Client, inbox: Inbox) -> None:
    head, body = bearer(inbox), body_of("mine", {"title": "Mine", "licence": "CC0"}, runs(3))
    first = client.post(body, head)
    assert (first.status, first.json["stored"], first.json["already"]) == (200, 3, 0)
    again = client.post(body, head)
    assert (again.status, again.json["stored"], again.json["already"]) == (200, 0, 3)
    assert files(inbox) == sorted(f"{name}.parquet" for name in first.json["run_ids"])
    assert 'title = "Mine"' in (inbox.results / "mine" / "set.toml").read_text()
    shown = ask(client.app, "/api/v1/results").json
    assert {r["run_id"] for r in shown["rows"]} == set(first.json["run_ids"])


def test_runs_from_the_future_are_refused(client: Client, inbox: Inbox) -> None:
    sound, late = runs(2)
    late["recorded_at"] = datetime.now(UTC) + timedelta(days=1, minutes=1)
    refused = client.post(body_of("mine", {}, [sound, late]), bearer(inbox))
    [error] = refused.json["errors"]
    assert (refused.status, error["parameter"]) == (400, "runs[1].recorded_at")
    assert "Correct the date, or the clock that is wrong." in error["detail"]
    assert files(inbox) == []


def test_a_new_set_is_unofficial_unless_its_token_says_otherwise(
    client: Client, inbox: Inbox
) -> None:
    claim = {"title": "Mine", "standing": "checked"}
    assert client.post(body_of("mine", claim, runs()), bearer(inbox)).status == 200
    trusted = TOKENS.create(inbox.tokens, name="the lab", sets=["*"], official=True)
    head = {"Authorization": f"Bearer {trusted}"}
    assert client.post(body_of("lab", {}, runs(model="B", result_set="lab")), head).status == 200
    shown = ask(client.app, "/api/v1/results").json["rows"]
    standings = {r["workload"].split(" · ")[0]: r["standing"] for r in shown}
    assert standings == {"ResNet-50": "unofficial", "B": None}
    store = Store([folder(inbox.results)])
    store.refresh()
    assert {s.title for s in store.sets} == {"Mine (unofficial)", "lab"}


def test_a_checked_set_takes_runs_from_an_official_token_only(client: Client, inbox: Inbox) -> None:
    text = TOKENS.create(inbox.tokens, name="the lab", sets=["*"], official=True)
    trusted = {"Authorization": f"Bearer {text}"}
    one, two = (body_of("mine", {"title": "Lab"}, runs(count)) for count in (1, 2))
    assert client.post(one, trusted).status == 200
    for sets in (["mine"], ["*"]):
        refused = client.post(two, bearer(inbox, *sets))
        assert refused.status == 403
        assert "mine is a checked set" in refused.json["detail"]
    assert len(files(inbox)) == 1
    assert client.post(two, trusted).json["stored"] == 1
    # its owner checks a set that was pushed: from then on only what is checked is added to it
    assert client.post(body_of("new", {}, runs(result_set="new")), bearer(inbox)).status == 200
    place = inbox.results / "new" / "set.toml"
    place.write_text(place.read_text().replace("unofficial", ""))
    assert client.post(body_of("new", {}, runs(2, result_set="new")), bearer(inbox)).status == 403
    assert len(files(inbox, "new")) == 1


def test_the_audit_log_says_what_became_of_a_push(inbox: Inbox, tmp_path: Path) -> None:
    inbox = replace(inbox, audit=tmp_path / "audit")
    store = Store([folder(inbox.results)])
    rules = Rules(store=lambda _: store, catalogs=(CATALOG, Path("/no")), inbox=inbox)
    client, head = Client(Starlette(routes=routes(rules))), bearer(inbox, "mine")

    def logged(content: bytes) -> list[tuple[bool, str]]:
        before = len(list(entries(tmp_path / "audit")))
        client.post(content, head)
        found = list(entries(tmp_path / "audit"))[before:]
        return [(e.allowed, e.about) for e in found if isinstance(e, AuditEntry)]

    body = body_of("mine", {}, runs(2))
    begins = (True, "mine: 2 runs, begins")
    assert logged(body) == [begins, (True, "mine: 2 runs, 2 stored, 0 there already")]
    assert logged(body) == [begins, (True, "mine: 2 runs, 0 stored, 2 there already")]
    other = body_of("mine", {}, [runs(1)[0] | {"pre_train_s": 1.0}])
    wrong = body_of("mine", {}, [runs(1)[0] | {"pre_train_s": -1.0}])
    for content, about, why in (
        (other, "mine: 1 run, refused: ", "other numbers"),
        (wrong, "mine: 1 run, refused: ", "pre_train_s"),
        (body_of("yours", {}, runs()), "yours: 1 run, refused: ", "may not add runs"),
        (b"{", "a request, refused: ", "no JSON"),
        (b" " * (MOST_BYTES + 1), "a request, refused: ", "bytes are taken at once"),
    ):
        [(allowed, said)] = logged(content)
        assert not allowed
        assert said.startswith(about)
        assert why in said
    client.post(body, {})
    assert len(list(entries(tmp_path / "audit"))) == 9  # a stranger is no one to name


def test_the_example_of_the_docs_is_stored(client: Client, inbox: Inbox) -> None:
    answered = client.post(EXAMPLE.encode(), bearer(inbox))
    assert (answered.status, answered.json["stored"]) == (200, 1)
    [run] = ask(client.app, "/api/v1/results").json["rows"]
    assert run["workload"].startswith("ResNet-50")
    assert run["later_epoch_mean_s"] == 18.2


def test_numbers_arrive_to_the_last_digit() -> None:
    [sent] = runs(epochs=[{"epoch": 1, "seconds": 0.1 + 0.2}, {"epoch": 2, "seconds": 1e-17 + 1}])
    [arrived] = read_body(body_of("mine", {}, [sent])).rows
    assert arrived == {k: v for k, v in sent.items() if v is not None}


@pytest.mark.parametrize(
    "header",
    [{}, {"Authorization": ""}, {"Authorization": "Bearer"}, {"Authorization": "Basic eDp5"},
     {"Authorization": "Bearer ew_00000000_" + "a" * 43}, {"Authorization": "Bearer ../../x"}],
)  # fmt: skip
def test_without_a_token_nothing_is_read_or_written(
    client: Client, inbox: Inbox, header: Mapping[str, str]
) -> None:
    reply = client.post(b"no json at all", header)
    assert reply.status == 401
    assert reply.headers["www-authenticate"].startswith("Bearer")
    assert not inbox.results.exists()


def test_a_revoked_or_expired_token_is_worth_nothing(client: Client, inbox: Inbox) -> None:
    head = bearer(inbox)
    [token] = TOKENS.all(inbox.tokens)
    assert TOKENS.revoke(inbox.tokens, token.id)
    assert client.post(b"", head).status == 401
    short = TOKENS.create(inbox.tokens, name="for a day", sets=["*"], days=1)
    assert TOKENS.checked(inbox.tokens, short)
    made_s = TOKENS.all(inbox.tokens)[-1].created_at
    assert TOKENS.checked(inbox.tokens, short, now_s=made_s + 86_401) is None


def test_a_token_that_is_revoked_while_the_body_arrives_writes_nothing(inbox: Inbox) -> None:
    head = bearer(inbox)
    [token] = TOKENS.all(inbox.tokens)
    body = body_of("mine", {}, runs())
    parts = [body[:10], body[10:]]

    async def receive() -> dict[str, Any]:
        if len(parts) == 1:  # the token was good when the first part was asked for
            TOKENS.revoke(inbox.tokens, token.id)
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    headers = [(name.lower().encode(), value.encode()) for name, value in head.items()]
    scope = {"type": "http", "method": "POST", "path": PATH, "headers": headers, "client": None}
    push = Push(inbox)
    with ThreadPoolExecutor(1) as alone:
        reply = alone.submit(asyncio.run, push(Request(scope, receive))).result()
    assert parts == []
    assert reply.status_code == 401
    assert not inbox.results.exists()


def test_a_client_that_goes_in_the_middle_is_no_error_of_the_server(
    inbox: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    sent: list[dict[str, Any]] = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> dict[str, Any]:
        return sent.pop(0)

    headers = [(name.lower().encode(), text.encode()) for name, text in bearer(inbox).items()]
    scope = {"type": "http", "method": "POST", "path": PATH, "headers": headers, "client": None}
    push = Push(inbox)
    with ThreadPoolExecutor(1) as alone:
        reply = alone.submit(asyncio.run, push(Request(scope, receive))).result()
    assert (reply.status_code, sent, caplog.records) == (400, [], [])
    assert not inbox.results.exists()


async def _slow_and_large(push: Push, headers: list[tuple[bytes, bytes]]) -> list[Response]:
    """The answers to a body that never ends, and to two large ones that arrive meanwhile."""

    def asked(*parts: bytes) -> Request:
        left = list(parts)

        async def receive() -> dict[str, Any]:
            if not left:
                await asyncio.sleep(60.0)
            return {"type": "http.request", "body": left.pop(0), "more_body": True}

        scope = {"type": "http", "method": "POST", "path": PATH, "headers": headers, "client": None}
        return Request(scope, receive)

    slow = asyncio.create_task(push(asked(b"{")))
    large = asyncio.create_task(push(asked(b"x" * 60)))
    await asyncio.sleep(0)
    last = await push(asked(b"x" * 60))
    return [await slow, await large, last]


def test_bodies_that_never_end_are_given_up_and_all_together_are_limited(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.push.BODY_S", 0.05)
    monkeypatch.setattr("api.push.MOST_HELD_BYTES", 100)
    headers = [(name.lower().encode(), text.encode()) for name, text in bearer(inbox).items()]
    push = Push(inbox)
    with ThreadPoolExecutor(1) as alone:
        replies = alone.submit(asyncio.run, _slow_and_large(push, headers)).result()
    assert [reply.status_code for reply in replies] == [408, 408, 503]
    assert (replies[2].headers["Retry-After"], push._held) == ("5", 0)
    assert not inbox.results.exists()


def test_a_number_of_thousands_of_digits_is_not_sent_back(client: Client, inbox: Inbox) -> None:
    body = body_of("mine", {}, runs(train_samples=10**39)).replace(b"0" * 39, b"0" * 4_000)
    reply = client.post(body, bearer(inbox))
    assert (reply.status, len(reply.body) < 400) == (400, True)
    assert "a number has 4,001 digits" in reply.json["detail"]


def test_a_token_is_stored_as_a_hash_for_its_owner_only(inbox: Inbox) -> None:
    token = TOKENS.create(inbox.tokens, name="a machine", sets=["mine"])
    [path] = inbox.tokens.glob("*.json")
    assert token[-32:] not in path.read_text()  # the end of its random part
    assert inbox.tokens.stat().st_mode & 0o077 == 0


def test_a_token_adds_to_its_own_sets_only(client: Client, inbox: Inbox) -> None:
    head = bearer(inbox, "mine")
    refused = client.post(body_of("other", {}, runs()), head)
    assert refused.status == 403
    assert "other" in refused.json["detail"]
    assert not (inbox.results / "other").exists()
    assert client.post(body_of("mine", {}, runs()), head).status == 200


@pytest.mark.parametrize("met", ["made by its push", "there when it was made"])
def test_a_token_adds_nothing_to_a_later_set_of_the_name(
    client: Client, inbox: Inbox, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], met: str,
) -> None:  # fmt: skip
    body = body_of("mine", {"licence": "CC0"}, runs())
    if met == "made by its push":
        head = bearer(inbox, "mine")
        assert client.post(body, head).status == 200
    else:
        client.post(body, bearer(inbox))
        monkeypatch.setenv("EPOCHWISE_TEAM", str(inbox.tokens.parent))
        monkeypatch.setenv("EPOCHWISE_RESULTS", str(inbox.results))
        assert main(["token", "create", "lab", "--set", "mine", "--set", "later"]) == 0
        head = {"Authorization": f"Bearer {capsys.readouterr().out.strip()}"}
        assert client.post(body_of("later", {}, runs(result_set="later")), head).status == 200
    assert client.post(body, head).json["already"] == 1
    shutil.rmtree(inbox.results / "mine")
    gone = client.post(body, head)
    assert (gone.status, files(inbox)) == (403, [])
    assert not (inbox.results / "mine").exists()
    client.post(body_of("mine", {}, runs(step_s=1.0)), bearer(inbox))
    there = files(inbox)
    for sent in (runs(step_s=1.0), runs(step_s=2.0), runs(3)):
        refused = client.post(body_of("mine", {}, sent), head)
        assert (refused.status, refused.body) == (403, gone.body)
    assert files(inbox) == there
    same = body_of("mine", {}, runs(step_s=1.0))
    assert client.post(same, bearer(inbox, "mine")).status == 200


def test_a_token_whose_ties_are_damaged_adds_nothing(client: Client, inbox: Inbox) -> None:
    head = bearer(inbox, "mine")
    client.post(body_of("mine", {}, runs()), head)
    [path] = (inbox.tokens / "sets").iterdir()
    for damage in (b"", b"[]", b"\xff", b'{"set": 3}'):
        path.write_bytes(damage)
        assert client.post(body_of("mine", {}, runs(2)), head).status == 403
    assert len(files(inbox)) == 1


def test_the_name_of_a_shipped_set_is_taken(client: Client, inbox: Inbox) -> None:
    reply = client.post(body_of("taken", {}, runs()), bearer(inbox))
    assert (reply.status, files(inbox, "taken")) == (409, [])


def test_other_numbers_under_the_same_run_are_refused_and_the_first_stay(
    client: Client, inbox: Inbox
) -> None:
    head = bearer(inbox)
    client.post(body_of("mine", {}, runs()), head)
    kept = [p.read_bytes() for p in (inbox.results / "mine").glob("*.parquet")]
    other = [{**runs()[0], "pre_train_s": 77.0}]
    reply = client.post(body_of("mine", {}, other), head)
    assert reply.status == 409
    assert str(inbox.results) not in reply.body.decode()
    assert [p.read_bytes() for p in (inbox.results / "mine").glob("*.parquet")] == kept


def test_of_two_nodes_that_measured_an_attempt_the_first_is_stored(
    client: Client, inbox: Inbox
) -> None:
    head, extra = bearer(inbox), json.dumps({"attempt_id": "0" * 32})
    for at, (system, loss) in enumerate([("one", 1.0), ("one", 2.0), ("two", 1.0)]):
        cells: dict[str, Any] = {"system_name": system, "extra": extra, "throughput": loss}
        reply = client.post(body_of("mine", {}, runs(**cells)), head)
        assert (reply.status, reply.json["stored"], reply.json["already"]) == (200, not at, at > 0)
    assert len(files(inbox)) == 1


def test_all_problems_are_named_and_nothing_is_stored(client: Client, inbox: Inbox) -> None:
    wrong = {"set": {"slug": "Mine", "colour": "red", "title": 3}, "runs": []}
    reply = client.post(json.dumps(wrong).encode(), bearer(inbox))
    named = {e["parameter"] for e in reply.json["errors"]}
    assert (reply.status, named) == (400, {"set.slug", "set.colour", "set.title", "runs"})
    sound, bad = runs(2)
    body = json.loads(body_of("mine", {}, [sound, bad]))
    body["runs"][1] |= {"global_batch_size": -1, "later_epoch_mean_s": "fast"}
    reply = client.post(json.dumps(body).encode(), bearer(inbox))
    named = {e["parameter"] for e in reply.json["errors"]}
    assert reply.status == 400
    assert {"runs[1].global_batch_size", "runs[1].later_epoch_mean_s"} <= named
    body["runs"][1] = {"colour": 1, "recorded_at": "yesterday"}
    reply = client.post(json.dumps(body).encode(), bearer(inbox))
    named = {e["parameter"] for e in reply.json["errors"]}
    assert named == {"runs[1].colour", "runs[1].recorded_at"}
    assert files(inbox) == []


def test_a_run_of_another_set_is_refused(client: Client, inbox: Inbox) -> None:
    reply = client.post(body_of("mine", {}, [*runs(), row(result_set="lab")]), bearer(inbox))
    named = [e["parameter"] for e in reply.json["errors"]]
    assert (reply.status, named) == (400, ["runs[1].result_set"])
    assert files(inbox) == []


@pytest.mark.parametrize(
    "when", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-01-01T00:00:00", 5]
)
def test_a_time_without_a_zone_or_beyond_the_calendar_is_refused_for_good(
    client: Client, inbox: Inbox, when: object
) -> None:
    body = json.loads(body_of("mine", {}, runs()))
    body["runs"][0]["recorded_at"] = when
    reply = client.post(json.dumps(body).encode(), bearer(inbox))
    assert (reply.status, [e["parameter"] for e in reply.json["errors"]]) == (
        400, ["runs[0].recorded_at"],
    )  # fmt: skip
    assert files(inbox) == []


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b'{"set": {}, "runs": [1]}', b"\xff\xfe", b"[" * 200_000, b"{" * 9,
     b'{"set": {"slug": "m"}, "runs": [NaN]}', b'{"set": {"slug": "../up"}, "runs": [{}]}',
     b'{"set": {"slug": "m"}, "runs": [{"params": 1' + b"0" * 9_000 + b"}]}",
     b'{"set": {"slug": "m"}, "runs": [{"model": "a\\u0000b"}]}',
     b'{"set": {"slug": "m"}, "runs": [{"model": "a", "model": "b"}]}',
     body_of("mine", {}, [row(model="\x1b[2J")]), body_of("mine", {}, [row(model="A\u202egpj")]),
     body_of("mine", {}, [row(model="ResNet\u200b-50")]),
     json.dumps({"set": {"slug": "m"}, "runs": [{}] * (MOST_RUNS + 1)}).encode()],
    ids=lambda body: body[:20].decode("latin-1"),
)  # fmt: skip
def test_hostile_bodies_are_refused_in_words(client: Client, inbox: Inbox, body: bytes) -> None:
    reply = client.post(body, bearer(inbox))
    assert reply.status == 400
    assert reply.json["detail"]
    assert not inbox.results.exists()


def test_a_body_above_the_limit_is_refused_before_it_is_parsed(
    client: Client, inbox: Inbox
) -> None:
    reply = client.post(b" " * (MOST_BYTES + 1), bearer(inbox))
    assert reply.status == 413


def test_a_token_that_sends_too_much_waits_and_others_do_not(inbox: Inbox) -> None:
    now_s = 0.0
    push = Push(inbox, lambda: now_s)

    async def take(request: Request) -> Response:
        return await push(request)

    client = Client(Starlette(routes=[Route(PATH, take, methods=["POST"])]))
    head, other = bearer(inbox), bearer(inbox)
    taken = [client.post(b"x", head) for _ in range(int(BURST))]
    assert {r.status for r in taken} == {400}
    refused = client.post(b"x", head)
    assert (refused.status, int(refused.headers["retry-after"])) == (429, 1)
    assert client.post(b"x", other).status == 400
    strangers = [client.post(b"").status for _ in range(int(WRONG_BURST) + 1)]
    assert strangers == [401] * int(WRONG_BURST) + [429]
    now_s = 1.0
    assert (client.post(b"x", head).status, client.post(b"").status) == (400, 401)


def test_other_methods_name_the_right_one(client: Client) -> None:
    reply = ask(client.app, PATH)
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


def test_a_full_disk_is_a_wait_without_a_path(
    client: Client, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox.results.parent.mkdir(exist_ok=True)
    inbox.results.write_text("a file where the folder should be")
    reply = client.post(body_of("mine", {}, runs()), bearer(inbox))
    assert (reply.status, reply.headers["retry-after"]) == (503, "5")
    assert str(inbox.results) not in reply.body.decode()


def test_tokens_are_made_listed_and_revoked_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EPOCHWISE_STATE", str(tmp_path))
    assert main(["token", "create", "lab", "--set", "mine", "--days", "30"]) == 0
    text = capsys.readouterr().out.strip()
    token = TOKENS.checked(TOKENS.folder(tmp_path), text)
    assert token is not None
    assert (token.name, token.sets) == ("lab", ("mine",))
    assert [token.may_push(slug, None, 0.0) for slug in ("mine", "x")] == [True, False]
    assert main(["token", "list"]) == 0
    listed = capsys.readouterr().out
    assert token.id in listed
    assert text not in listed
    assert main(["token", "revoke", token.id]) == 0
    assert TOKENS.checked(TOKENS.folder(tmp_path), text) is None
    assert main(["token", "revoke", "00000000"]) == 2
    assert main(["token", "create", "lab", "--set", "../x", "--days", "0"]) == 2
    both = capsys.readouterr().err
    assert "--set ../x" in both
    assert "--days 0" in both


TEAM = Access(groups=frozenset({"team"}))


@pytest.mark.parametrize(
    ("sets", "groups", "access", "may"),
    [
        (["mine"], [], None, True), (["*"], [], None, True), (["other"], ["team"], None, False),
        (["*"], [], TEAM, False), (["*"], ["sales"], TEAM, False), (["*"], ["team"], TEAM, True),
        (["mine"], [], TEAM, True), (["other"], ["team"], TEAM, False),
        (["*"], [], Access(groups=TEAM.groups, until=1.0), True),
        (["*"], [], Access(groups=TEAM.groups, until=4e9), False),
        (["*"], ["team"], Access(), False),
    ],
)  # fmt: skip
def test_a_token_adds_to_restricted_sets_of_its_groups_only(
    client: Client, inbox: Inbox, sets: list[str], groups: list[str], access: Access | None, *,
    may: bool,
) -> None:  # fmt: skip
    set_access(inbox.results / "mine", access)
    head = {
        "Authorization": f"Bearer {TOKENS.create(inbox.tokens, name='a', sets=sets, groups=groups)}"
    }
    reply = client.post(body_of("mine", {}, runs()), head)
    assert reply.status == (200 if may else 403)
    assert len(files(inbox)) == may


def test_a_set_that_is_restricted_in_a_further_folder_is_restricted_here(
    inbox: Inbox, tmp_path: Path
) -> None:
    further = tmp_path / "further"
    set_access(further / "mine", Access(groups=frozenset({"team"})))
    app = Starlette(
        routes=[Route(PATH, Push(replace(inbox, further=(further,))).__call__, methods=["POST"])]
    )
    client, body = Client(app), body_of("mine", {}, runs())
    set_access(inbox.results / "mine", Access(groups=frozenset({"sales"})))
    for groups in ([], ["sales"], ["team"]):
        token = TOKENS.create(inbox.tokens, name="a machine", sets=["*"], groups=groups)
        assert client.post(body, {"Authorization": f"Bearer {token}"}).status == 403
    set_access(inbox.results / "mine", None)
    assert client.post(body, bearer(inbox)).status == 403
    assert files(inbox) == []
    token = TOKENS.create(inbox.tokens, name="a machine", sets=["*"], groups=["team"])
    assert client.post(body, {"Authorization": f"Bearer {token}"}).status == 200


def test_a_refused_token_learns_nothing_of_the_runs_of_a_restricted_set(
    client: Client, inbox: Inbox
) -> None:
    client.post(body_of("mine", {}, runs(step_s=1.0)), bearer(inbox))
    set_access(inbox.results / "mine", TEAM)
    replies = [
        client.post(body_of("mine", {}, sent), bearer(inbox))
        for sent in (runs(step_s=1.0), runs(step_s=2.0), runs(3))
    ]
    assert {(r.status, r.body) for r in replies} == {(403, replies[0].body)}


def test_a_token_of_a_blocked_owner_is_useless_at_once(inbox: Inbox) -> None:
    gone: set[str] = set()
    inbox = replace(inbox, blocked=lambda owner: owner in gone)
    rules = Rules(store=lambda _: Store([]), catalogs=(CATALOG, Path("/no")), inbox=inbox)
    client = Client(Starlette(routes=routes(rules)))
    secret = TOKENS.create(inbox.tokens, name="a", sets=["mine"], owner="eve@example.org")
    head = {"Authorization": f"Bearer {secret}"}
    assert client.post(body_of("mine", {}, runs()), head).status == 200
    gone.add("eve@example.org")
    assert client.post(body_of("mine", {}, runs()), head).status == 401


def test_a_damaged_token_file_opens_nothing(inbox: Inbox) -> None:
    text = TOKENS.create(inbox.tokens, name="a", sets=["*"])
    [path] = inbox.tokens.glob("*.json")
    for damage in (b"", b"{}", b"[]", b'{"id": 1}', b"\xff", path.read_bytes()[:-20]):
        path.write_bytes(damage)
        assert TOKENS.checked(inbox.tokens, text) is None
        assert TOKENS.all(inbox.tokens) == []


CELLS: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 1e308, 5e-324, 2**63, 2**64, -(2**63), 10**400, "", "\0", "\ud800",
    "x" * 5_000, "NaN", "2026-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", [], {}, [[]], [{}],
    [None], [1], [{"epoch": 1, "epoch_s": -1.0}], {"a": {"b": [1]}},
)  # fmt: skip
"""Cells of a stranger, of right and wrong types."""


def test_no_cell_of_any_column_is_an_error_of_the_server(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors of the server would be sent again for ever."""
    monkeypatch.setattr("api.push.BURST", 1e9)
    rules = Rules(store=lambda _: Store([]), catalogs=(CATALOG, Path("/no")), inbox=inbox)
    client = Client(Starlette(routes=routes(rules)))
    head = bearer(inbox)
    dice, stored = random.Random(20261126), 0
    for name in BY_NAME:
        for cell in CELLS if FULL else dice.sample(CELLS, 3):
            body = json.loads(body_of("mine", {}, [dict(row(repeat=stored))]))
            body["runs"][0][name] = cell
            reply = client.post(json.dumps(body).encode(), head)
            assert reply.status in {200, 400, 409}, (name, cell, reply.body)
            stored += 1
