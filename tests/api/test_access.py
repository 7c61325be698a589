"""Every address of the HTTP interface as every kind of visitor: a hidden set is in no answer.

The proof is equality: byte for byte the answers of a server that does not have the set.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from starlette.applications import Starlette
from starlette.requests import Request

from api.routes import ANSWERS, Rules, routes
from pages.common import kept
from pages.visitor import identity
from planner.store import Folder, Store
from planner.store.disk.access import Access, Viewer, set_access
from planner.store.disk.secrets import SHARES, TOKENS
from tests.api.served import CATALOG, TODAY, Answered, ask
from tests.faults.outcomes import FULL
from tests.store.build import folder
from tests.store.restricted import SLUG, TEAM, build, leaks

QUESTIONS: Final = {
    "/api/v1": ("",),
    "/api/v1/results": (
        "", "?workload=quokkanet", f"?result_set={SLUG}", "?system=zanzibarchip", "?limit=1",
    ),
    "/api/v1/projection": ("", "?workload=quokkanet-cifar-10", "?workload=nonsense&epochs=5"),
    "/api/v1/curve": ("", "?workload=quokkanet-cifar-10"),
    "/api/v1/scaling-out": ("", "?workload=quokkanet-cifar-10"),
    "/api/v1/compare": ("", "?workload=quokkanet-cifar-10"),
    "/api/v1/options": ("", "?workload=quokkanet-cifar-10"),
    "/api/v1/capacity": ("?jobs=quokkanet-cifar-10", ""),
    "/api/v1/explore": ("", "?x=global_batch_size&y=later_epoch_mean_s", "?view=pivot"),
    "/api/v1/sql": ("", "?sql=SELECT%20*%20FROM%20runs", "?sql=SELECT%20count(*)%20FROM%20runs"),
}  # fmt: skip
ALL: Final = [f"{path}{query}" for path, queries in QUESTIONS.items() for query in queries]


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Both sets behind the app's own choice of a store."""
    place = tmp_path / "results"
    build(place)
    monkeypatch.setenv("EPOCHWISE_RESULTS", str(place))
    monkeypatch.setenv("EPOCHWISE_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(kept, "folders_from_environment", lambda *_: (folder(place),))
    monkeypatch.setattr(identity, "login_is_on", lambda: True)
    return place


def app(viewer_of: Callable[[Request], Viewer]) -> Starlette:
    """The interface as app.py mounts it."""
    rules = Rules(
        store=lambda request: kept.store(lambda: viewer_of(request)),
        catalogs=(CATALOG, Path("/nowhere")), today=lambda: TODAY,
    )  # fmt: skip
    return Starlette(routes=routes(rules))


def without(results: Path) -> Starlette:
    """A server that has the open set only."""
    store = _copy(results)
    rules = Rules(store=lambda _: store, catalogs=(CATALOG, Path("/nowhere")), today=lambda: TODAY)
    return Starlette(routes=routes(rules))


def _copy(results: Path) -> Store:
    bare = results.parent / "without"
    shutil.copytree(results / "open-set", bare / "open-set", dirs_exist_ok=True)
    store = Store([Folder(path=bare, label="yours", kind="own")])
    store.refresh()
    return store


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answered]:
    """What a server without the set answers to everything."""
    place = tmp_path_factory.mktemp("bare") / "results"
    build(place)
    bare = without(place)
    return {target: ask(bare, target) for target in ALL}


def test_every_address_is_asked() -> None:
    assert set(QUESTIONS) == set(ANSWERS)


@pytest.mark.parametrize(
    "viewer", [Viewer(), Viewer(groups=frozenset({"sales"})), Viewer(sets=frozenset({"other"}))],
    ids=["everyone", "another group", "another share"],
)  # fmt: skip
def test_a_stranger_gets_the_answers_of_a_server_without_the_set(
    results: Path, viewer: Viewer, expected: dict[str, Answered]
) -> None:
    shown = app(lambda _: viewer)
    whole = FULL or viewer == Viewer()  # `make faults` asks all as every stranger
    for target in ALL if whole else ALL[::3]:
        got, bare = ask(shown, target), expected[target]
        assert (got.status, got.body) == (bare.status, bare.body), target
        if "?" not in target:
            assert leaks(got.body.decode()) == [], target


@pytest.mark.parametrize(
    "viewer", [Viewer(groups=frozenset({TEAM})), Viewer(sees_all=True),
               Viewer(sets=frozenset({SLUG}))],
    ids=["member", "administrator", "share"],
)  # fmt: skip
def test_those_who_may_see_it_are_answered_with_it(results: Path, viewer: Viewer) -> None:
    shown = app(lambda _: viewer)
    for path in ("/api/v1", "/api/v1/results", "/api/v1/projection?workload=quokkanet-cifar-10"):
        assert leaks(ask(shown, path).body.decode()), path


def test_a_cached_answer_is_never_given_to_another_kind_of_visitor(results: Path) -> None:
    kinds = {"member": Viewer(groups=frozenset({TEAM})), "stranger": Viewer()}
    shown = app(lambda request: kinds[request.headers["x-kind"]])
    for _ in range(2):
        for kind, sees in (("member", True), ("stranger", False)):
            got = ask(shown, "/api/v1/results", headers={"X-Kind": kind})
            assert bool(leaks(got.body.decode())) is sees
            assert got.headers["vary"] == "Authorization, Cookie"
            assert "private" in got.headers["cache-control"]


def _asked(bearer: str) -> Answered:
    headers = {"Authorization": f"Bearer {bearer}", "Host": "localhost"}
    return ask(app(identity.viewer_of), "/api/v1/results", headers=headers)


def test_a_token_of_the_group_reads_until_it_is_revoked(results: Path, tmp_path: Path) -> None:
    place = TOKENS.folder(tmp_path / "state")
    right = TOKENS.create(place, name="a", sets=[], groups=[TEAM])
    wrong = TOKENS.create(place, name="b", sets=["*"], groups=["x"])
    assert leaks(_asked(right).body.decode())
    assert not leaks(_asked(wrong).body.decode())
    assert not leaks(_asked(right[:-1] + ("a" if right[-1] != "a" else "b")).body.decode())
    assert TOKENS.revoke(place, right.split("_")[1])
    assert not leaks(_asked(right).body.decode())


def test_a_token_of_a_blocked_owner_reads_what_everyone_does(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roles = tmp_path / "roles.toml"
    roles.write_text("")
    monkeypatch.setenv("EPOCHWISE_ROLES", str(roles))
    place = TOKENS.folder(tmp_path / "state")
    secret = TOKENS.create(place, name="a", groups=[TEAM], owner="eve@example.org")
    nobodys = TOKENS.create(place, name="b", groups=[TEAM])
    assert leaks(_asked(secret).body.decode())
    for text in ('blocked = ["Eve@example.org"]', "blocked = damaged"):
        roles.write_text(text)
        assert not leaks(_asked(secret).body.decode())
        assert leaks(_asked(nobodys).body.decode())


def test_a_share_link_reads_its_set_until_it_is_revoked(results: Path, tmp_path: Path) -> None:
    place = SHARES.folder(tmp_path / "state")
    secret, other = SHARES.create(place, slug=SLUG), SHARES.create(place, slug="open-set")
    assert leaks(_asked(secret).body.decode())
    assert not leaks(_asked(other).body.decode())
    assert SHARES.revoke(place, next(s.id for s in SHARES.all(place) if s.slug == SLUG))
    assert not leaks(_asked(secret).body.decode())
    assert secret.split("_", 2)[2] not in "".join(p.read_text() for p in place.iterdir())


def test_restricting_an_open_set_takes_it_out_of_cached_answers(results: Path) -> None:
    shown = app(lambda _: Viewer())
    set_access(results / SLUG, None)
    assert leaks(ask(shown, "/api/v1/results").body.decode())
    set_access(results / SLUG, Access())
    assert not leaks(ask(shown, "/api/v1/results").body.decode())
