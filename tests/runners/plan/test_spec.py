"""A sweep's file: every mistake told at once, with what, where and what to do."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.plan import spec
from runners.plan.expand import Host, expand
from runners.plan.spec import (
    FACTORS,
    SpecError,
    find,
    from_table,
    read,
)
from tests.each import each

HOST = Host(device="cpu", backends=("tensorflow", "jax"))
SOUND: dict[str, Any] = {"title": "A sweep", "runs": [{"workload": "mlp", "batch": [16, 32]}]}


def problems(**changes: Any) -> tuple[str, ...]:  # noqa: ANN401 - parts of a sweep
    """What is wrong with the sound sweep once it is changed."""
    with pytest.raises(SpecError) as caught:
        expand(from_table("mine", SOUND | changes), HOST)
    return caught.value.problems


def of_run(**factors: Any) -> tuple[str, ...]:  # noqa: ANN401 - factors
    """What is wrong with a block that has these factors."""
    return problems(runs=[{"workload": "mlp", "batch": 16} | factors])


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "mine.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# -- mistakes are told with what, where and what to do -------------------------------------------


@each(("changes", "result"), [
        ({"title": ""}, "title: is ''; it must be a line that describes the sweep."),
        ({"title": 3}, "title: is 3; it must be a line that describes the sweep."),
        ({"about": 5}, "about: is 5; it must be text."),
        ({"epochs": 0}, "epochs: is 0; it must be a whole number from 1 to 1e12."),
        ({"repeats": True}, "repeats: is True; it must be a whole number from 1 to 1e12."),
        ({"repeat": 2}, "repeat: is unknown. Did you mean repeats?"),
        ({"limits": 5}, "limits: is 5; it must be a table, as [limits]."),
        ({"limits": {"timeout": 5}}, "limits.timeout: is unknown. Did you mean timeout_s?"),
        ({"limits": {"timeout_s": -1}}, "limits.timeout_s: is -1; it must be a number above 0."),
        ({"limits": {"memory_share": 2}},
         "limits.memory_share: is 2; it must be a share above 0, at most 1."),
        ({"limits": {"attempts": 1.5}},
         "limits.attempts: is 1.5; it must be a whole number from 1 to 1e12."),
        ({"cost": {"currency": 5}}, "cost.currency: is 5; it must be text."),
        ({"cost": {"price_per_hour": float("inf")}},
         "cost.price_per_hour: is inf; it must be a number above 0."),
        ({"cost": {"power_watts": float("nan")}},
         "cost.power_watts: is nan; it must be a number above 0."),
        ({"runs": []},
         "runs: is []; it must be [[runs]] blocks, each with a workload and a batch."),
        ({"runs": [5]}, "[[runs]] block 1: must be a table."),
        ({"defaults": 5}, "defaults: is 5; it must be a table of factors, as [defaults]."),
        ({"patterns": 5}, 'patterns: is 5; it must be tables, as [patterns."name"].'),
        ({"patterns": {"a": 5}}, '[patterns."a"]: must be a table.'),
        ({"patterns": {"a": {"feeds": "numpy"}}},
         '[patterns."a"]: feeds is unknown. Did you mean feed?'),
    ])  # fmt: skip
def test_a_mistake_at_the_top_says_what_where_and_what_to_do(
    changes: dict[str, Any], result: str
) -> None:
    assert result in problems(**changes)


@each(("factors", "result"), [
        ({"batch": "many"},
         'batch is \'many\'; it must be a whole number from 1 to 1e12 or "auto".'),
        ({"batch": [16, 0]}, 'batch is 0; it must be a whole number from 1 to 1e12 or "auto".'),
        ({"batch": 10**13},
         'batch is 10000000000000; it must be a whole number from 1 to 1e12 or "auto".'),
        ({"batch": []}, "batch is an empty list. Leave it out or give values."),
        ({"batch": [[16]]}, 'batch is [16]; it must be a whole number from 1 to 1e12 or "auto".'),
        ({"batch": True}, 'batch is True; it must be a whole number from 1 to 1e12 or "auto".'),
        ({"batch": 16.0}, 'batch is 16.0; it must be a whole number from 1 to 1e12 or "auto".'),
        ({"learning_rate": float("nan")},
         "learning_rate is nan; it must be a number from 1e-30 to 1e+30."),
        ({"jit": 1}, 'jit is 1; it must be true or false or "auto".'),
        ({"pattern": "a"}, "[[runs]] block 1: pattern 'a' is unknown. None are defined."),
        ({"options": [{"units": 5}]}, "options must be one table; lists go into it."),
        ({"options": {"units": []}},
         "options: units is an empty list. Leave it out or give values."),
        ({"options": {"units": {"a": 1}}},
         "options: units is {'a': 1}; it must be a number or a text."),
        ({"options": {"units": "many"}},
         "mlp's option units is 'many'; it must be a whole number from 1, as 512 is."),
        ({"options": {"units": [8, 0]}},
         "mlp's option units is 0; it must be a whole number from 1, as 512 is."),
        ({"options": {"unit": 5}}, "mlp has no option 'unit'. It has: units."),
        ({"workload": "keras-application", "options": {"network": "VGG17"}},
         "keras-application's option network is 'VGG17'. Choose from: ConvNeXtTiny, "),
        ({"workload": "transformer", "options": {"tied": 1}},
         "transformer's option tied is 1; it must be true or false."),
        ({"devices": 2}, 'devices = 2 needs a strategy. Set strategy = "mirrored".'),
        ({"devices": 3, "strategy": "mirrored", "batch": 64},
         "batch 64 cannot be divided among 3 devices. Take a multiple of 3."),
        ({"devices": 2, "strategy": "mirrored", "batch": 64, "train_samples": 97},
         "the last batch of an epoch has 33 samples, which cannot be divided among 2 devices."),
        ({"strategy": "mirrored", "jit": True}, "strategy mirrored runs without jit."),
        ({"strategy": "mirrored", "engine": "fit"},
         "strategy mirrored trains with engine loop on TensorFlow."),
        ({"strategy": "mirrored", "batch": "auto"},
         "strategy mirrored needs batch sizes. Give a list."),
        ({"strategy": "mirrored", "precision": "mixed_float16"},
         "strategy mirrored does not scale losses."),
        ({"nodes": [1, 4]}, "nodes = 4 is no factor: the hosts of the launcher are the nodes. "
         "Set it to 1, and name the hosts in [launch]."),
        ({"strategy": "horovod"},
         "strategy = 'horovod' is unknown. Set it to none or mirrored or multi-worker mirrored or "
         "parameter server or stage or branch or tensor or tpu."),
        ({"strategy": "parameter server", "batch": 64, "train_samples": 100},
         "strategy parameter server has whole batches only. Set drop_remainder = true."),
        ({"tuned": False, "backend": "tensorflow"}, "tuned = false is for JAX on a GPU"),
        ({"slow_share": 0.5}, "slow_share slows one of several workers."),
        ({"slow_share": 1.0}, "slow_share is 1.0; it must be a number from 0 to 0.95."),
        ({"strategy": "parameter server", "timing": "per step"},
         "strategy parameter server has no single steps"),
        ({"strategy": "parameter server", "validation": True},
         "strategy parameter server does not validate."),
        ({"strategy": "stage", "devices": 2, "batch": 64, "micro_batches": 3},
         "batch 64 cannot be divided into 3 micro-batches."),
        ({"strategy": "mirrored", "devices": 2, "micro_batches": 2},
         "micro_batches = 2 is for a split network. Set strategy to branch or stage."),
        ({"strategy": "branch", "devices": 2},
         "strategy branch needs parallel towers; mlp has none. Take workload towers"),
        ({"strategy": "branch", "devices": 3, "workload": "towers"},
         "2 towers cannot be divided among 3 devices."),
        ({"strategy": "tpu"}, "strategy tpu is for a TPU; the device is cpu."),
        ({"strategy": "tensor", "devices": 2},
         'strategy tensor runs on JAX. Set backend = "jax".'),
        ({"batch": 100_000},
         "batch 100000 is larger than the 50000 training samples of an epoch."),
    ])  # fmt: skip
def test_a_mistake_in_a_block_says_what_where_and_what_to_do(
    factors: dict[str, Any], result: str
) -> None:
    found = of_run(**factors)
    assert any(text.endswith(result) or result in text for text in found), found
    assert any("[[runs]] block 1" in text for text in found)


def test_all_mistakes_are_reported_at_once() -> None:
    wrong = {
        "title": "", "epochs": 0, "limits": {"timeout_s": 0}, "cost": {"currency": 1},
        "defaults": {"jit": 3}, "patterns": {"a": {"workers": 0}},
        "runs": [{"batch": "x", "seed": -1}, {"pattern": "b"}],
    }  # fmt: skip
    with pytest.raises(SpecError, match=r"9 problems in mine:\n  title: is ''") as caught:
        from_table("mine", SOUND | wrong)
    assert len(caught.value.problems) == 9


def test_a_mistake_made_in_many_runs_is_reported_once() -> None:
    assert len(of_run(batch=[1, 2, 3], strategy="none of these", seed=[1, 2, 3])) == 1


def test_a_wrong_value_of_a_megabyte_is_reported_by_its_beginning() -> None:
    [result] = of_run(batch="x" * 1_000_000)
    assert len(result) < 200


def test_lists_that_multiply_beyond_every_patience_are_refused_before_they_are_taken() -> None:
    lists = {"seed": list(range(1_000)), "threads": list(range(1, 1_000))}
    assert of_run(**lists) == ("it has 999,000 runs; the limit is 200,000. Shorten its lists.",)
    assert "the limit is 200,000" in problems(repeats=10**12)[0]
    assert "the limit is 200,000" in of_run(options={"units": list(range(1, 300_000))})[0]


# -- hostile files -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\x00" * 100, b"\xff\xfe\x00", b"title = ", b"= 5", b"[[runs]]\n[runs]\n",
        b"title = 'x'\n" * 2, b"a = " + b"[" * 100_000, b"a" + b".a" * 50_000 + b" = 1",
        b"epochs = " + b"9" * 10_000, b"title = '" + b"x" * 10_000_000 + b"'",
        b"#" * 10_000_000, os.urandom(4096),
        b'title = "t"\n[[runs]]\nworkload = "mlp"\nbatch = 1979-05-27T07:32:00Z\n',
        b'title = "t"\n[[runs]]\nworkload = "mlp"\nbatch = 1\noptions = {units = 1979-05-27}\n',
    ],
)  # fmt: skip
def test_no_file_whatever_it_holds_is_more_than_a_sentence(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(SpecError) as caught:
        expand(read(written(tmp_path, content)), HOST)
    assert re.match(r"\d+ problems? in mine", str(caught.value))
    assert len(str(caught.value)) < 2_000


def test_a_folder_a_pipe_and_nothing_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "folder.toml").mkdir()
    for name, result in (
        ("pipe", "not a plain file"),
        ("folder", "not a plain file"),
        ("none", "No such file"),
    ):
        with pytest.raises(SpecError, match=result):
            read(tmp_path / f"{name}.toml")


@each("named", ["", ".", "..", "../spec", "x" * 5_000, "a\x00b.toml", "/", "qick"])
def test_a_name_that_is_no_sweep_s_says_which_there_are(named: str) -> None:
    with pytest.raises(SpecError, match="there is no such file") as caught:
        find(named)
    assert "quick" in caught.value.problems[0]
    if named == "qick":
        assert "Did you mean quick?" in caught.value.problems[0]


def test_a_shipped_sweep_is_found_by_its_name_and_a_file_by_its_path(tmp_path: Path) -> None:
    assert find("quick") == find("quick.toml") == spec.SWEEPS / "quick.toml"
    path = written(tmp_path, "")
    assert find(str(path)) == path


VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | st.datetimes()
    | st.sampled_from(["auto", "mlp", "digits", "fit", "jax", "tf.data", "a"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from([*FACTORS, "a"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
BLOCKS = st.fixed_dictionaries(
    {}, optional={"workload": st.just("mlp") | VALUES, "batch": st.just(16) | VALUES,
                  **{n: VALUES for n in FACTORS if n not in {"workload", "batch"}}}
)  # fmt: skip
BODIES = st.fixed_dictionaries(
    {"title": st.just("t") | VALUES, "runs": st.lists(BLOCKS, max_size=2) | VALUES},
    optional=dict.fromkeys(
        ("about", "epochs", "repeats", "limits", "cost", "defaults", "patterns", "other"), VALUES
    ),
)  # fmt: skip


def told_or_sound(body: dict[str, Any]) -> None:
    """Either all that is wrong is told, in bearable lines, or every case is one."""
    try:
        made = expand(from_table("mine", body), HOST)
    except SpecError as error:
        result = error.problems
    else:
        result = ()
        assert all(len(c.case_id) == 16 and c.words for c in made.cases)
    assert all(text and len(text) < 3_000 for text in result)


@settings(max_examples=150, deadline=None)
@given(BODIES)
def test_wrong_types_everywhere_are_reported_or_make_sound_cases(body: dict[str, Any]) -> None:
    told_or_sound(body)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(FACTORS)), VALUES)
def test_one_factor_of_any_value_is_reported_or_makes_sound_cases(name: str, value: Any) -> None:  # noqa: ANN401
    told_or_sound(SOUND | {"runs": [{"workload": "mlp", "batch": 8, name: value}]})
