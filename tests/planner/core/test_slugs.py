"""Names in links: each link names one thing for good, or says what it may mean."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from planner.core import file_slug, looked_up, no_match, slug
from planner.core.slugs import folder_slug, full_slug, own_slug, slugs
from tests.each import each

SHARED = [
    ["猫分類", "犬分類", "none", ""],
    ["A/B", "A B", "A-B", "a b", "A\\B", "A_B"],
    ["C", "C++", "C#", "c"],
    ["naïve", "naive", "ｎａｉｖｅ"],
    ["lr -1", "lr 1", "lr +1", "lr = 1"],
    ["Ωmega", "mega", "Μega"],
    ["東京 2026", "大阪 2026", "2026"],
]
NAMES = st.text(alphabet="aAb1 -·×/_+.é日猫Ω", max_size=6)


@each("names", SHARED)
def test_names_that_share_a_slug_carry_digits_of_their_own(names: list[str]) -> None:
    of = {name: short for short, name in slugs(names).items()}
    assert set(of) == set(names)
    for name, short in of.items():
        if sum(slug(n) == slug(name) for n in names) > 1 or not name.isascii():
            assert re.fullmatch(r".+~[0-9a-f]{6}", short)
            assert short == full_slug(name)


@given(st.lists(NAMES, unique=True))
def test_no_name_is_lost_and_the_order_stays(names: list[str]) -> None:
    assert list(slugs(names).values()) == names


@given(st.lists(NAMES, unique=True, min_size=1), st.lists(NAMES, unique=True), st.data())
def test_whatever_arrives_or_leaves_a_link_never_names_another(
    before: list[str], others: list[str], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(before))
    link = next(s for s, n in slugs(before).items() if n == name)
    after = slugs(dict.fromkeys([name, *others]))
    found = looked_up(link, after)
    assert (
        (after[found] == name) if isinstance(found, str) else any(after[s] == name for s in found)
    )
    gone = slugs(n for n in others if n != name)
    left = looked_up(link, gone)
    assert not isinstance(left, str) or "~" not in link  # digits name nothing else, ever


@given(st.lists(NAMES, unique=True, min_size=1))
def test_a_name_s_own_digits_always_find_it(names: list[str]) -> None:
    known = slugs(names)
    for name in names:
        found = looked_up(full_slug(name), known)
        assert isinstance(found, str)
        assert known[found] == name


def test_a_link_of_a_shipped_kind_of_name_stays_as_it_was() -> None:
    names = [
        "TPU v2-8 · batch 4096", "2 × GPU without P2P", "WideResNet-103M · CIFAR-100 · Adam",
        "simple CNN 32-64 pruned 80 % · digits", "GPU (2019), 4 workers", "none",
    ]  # fmt: skip
    assert list(slugs(names)) == [slug(name) for name in names]


def test_an_old_link_to_a_name_of_plain_signs_is_followed() -> None:
    known = slugs(["BERT base", "ResNet-50", "A B", "a b"])
    assert looked_up("bert-base", known) == "bert-base"
    assert looked_up("resnet-50", known) == "resnet-50"


LOST = [
    ("C", "C++"), ("C", "C#"), ("A B", "A/B"), ("A B", "A_B"), ("lr 1", "lr -1"), ("v 1", "v ~1"),
    ("top 5", "top <5"), ("x y", "x & y"), ("net", "@net"), ("net", "net!"), ("net", "n\u00e9t"),
]  # fmt: skip


@each(("gone", "other"), LOST)
def test_a_bare_slug_never_answers_for_a_name_that_lost_signs_to_it(gone: str, other: str) -> None:
    link = next(iter(slugs([gone])))
    known = slugs([other])
    assert looked_up(link, known) == (full_slug(other),)
    said = no_match("workload", link, known)
    assert full_slug(other) in said
    assert other in said
    assert looked_up(full_slug(other), known) == full_slug(other)


@each("old", ["none", "none-2", "none-17"])
@each("names", [["猫分類"], ["犬分類", "猫分類"]])
def test_an_old_link_to_a_name_without_latin_letters_lists_what_it_may_mean(
    old: str, names: list[str]
) -> None:
    known = slugs(names)
    assert looked_up(old, known) == tuple(known)
    said = no_match("workload", old, known)
    for short, name in known.items():
        assert short in said
        assert name in said
    assert said.endswith("Choose one of these.")


def test_a_rank_of_names_that_share_a_slug_lists_them_and_a_name_that_ends_so_is_found() -> None:
    known = slugs(["A/B", "A B", "A B 2"])
    assert looked_up("a-b-2", known) == "a-b-2"
    assert looked_up("a-b-3", known) == (full_slug("A/B"), full_slug("A B"))
    assert looked_up("a-b", known) == (full_slug("A/B"), full_slug("A B"))


def test_what_is_like_nothing_means_nothing() -> None:
    known = slugs(["A", "B"])
    assert looked_up("zzz", known) == looked_up("a~000000", known) == looked_up("", known) == ()
    assert "There is no workload 'zzz'" in no_match("workload", "zzz", known)


def test_equal_names_are_distinguished_by_their_place_only() -> None:
    assert len(slugs(["A", "A", "A"])) == 3


def test_offers_of_the_catalogue_keep_their_slashes() -> None:
    name = "rent Azure / eastus / ND96isr_H100_v5 / on demand"
    assert list(slugs([name], any_ascii=True)) == [slug(name)]
    assert next(iter(slugs([name, name.replace("_", "/")], any_ascii=True))) == full_slug(name)


def test_a_name_alone_carries_digits_where_letters_are_lost() -> None:
    assert own_slug("Batch 64") == "batch-64"
    assert own_slug("日本 64") == full_slug("日本 64")


@given(st.text(max_size=60))
def test_a_typed_name_is_a_file_name_that_is_neither_hidden_nor_another_s(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*~[0-9a-f]{6}", file_slug(name))
    assert file_slug(name) != file_slug(f"{name}.")


@given(st.text())
def test_a_slug_needs_no_quoting_in_an_address(name: str) -> None:
    assert set(full_slug(name)) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-~")


@each("name", ["..", ".", "../../etc", "-rf", ".hidden", "a" * 300, "/", "", "猫"])
def test_a_folder_of_a_set_has_a_safe_name(name: str) -> None:
    made = folder_slug(name)
    assert made == made.strip(".-")
    assert "/" not in made
    assert 0 < len(made) <= 80
    assert folder_slug("My set") == "my-set"
