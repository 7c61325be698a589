from __future__ import annotations

import getpass
import os
import socket
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.machine.environment import ROOT, clean, for_child
from tests.each import each

SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYPLANTEDKEY",
    "HF_TOKEN": "hf_plantedPLANTEDplantedPLANTED1234",
    "TF_PASSWORD": "correct horse battery",
    "CUDA_API_TOKEN": "t0k3n-planted",
    "XLA_credentials": "lower case counts",
    "DATABASE_URL": "postgres://anna:pw-planted@db.planted.example/runs",
    "SSH_PEM": "-----BEGIN-----\nPLANTEDLINEONE\nPLANTEDLINETWO\n-----END-----",
}
HOME = "/home/anna.planted"
ENVIRON = {
    **SECRETS,
    "PATH": "/usr/bin:/bin",
    "HOME": HOME,
    "USER": "anna.planted",
    "HOSTNAME": "planted-node7.cluster.example",
    "PYTHONPATH": "/somewhere/else",
    "LD_LIBRARY_PATH": "/opt/cuda/lib64",
    "LC_ALL": "C.UTF-8",
    "XLA_FLAGS": "--xla_cpu_enable_fast_math=false",
    "KERAS_BACKEND": "tensorflow",
    "OMP_NUM_THREADS": "64",
    "OMP_PROC_BIND": "close",
    "JAX_PLATFORMS": "cpu",
    "CUDA_VISIBLE_DEVICES": "1",
    "COMPANY_PROJECT": "project-planted",
}


@pytest.fixture(autouse=True)
def a_user_and_a_host_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is taken out must not depend on who runs the tests."""
    monkeypatch.setattr(getpass, "getuser", lambda: "bert_planted")
    monkeypatch.setattr(socket, "gethostname", lambda: "planted-login.example")


# -- what a measured process is handed -------------------------------------------------------------


def handed(device: str = "cpu", threads: int | None = None) -> dict[str, str]:
    return for_child(ENVIRON, backend="jax", threads=threads, device=device)


@pytest.mark.parametrize("device", ["cpu", "gpu", "tpu"])
def test_no_secret_is_handed_over_whatever_it_is_called(device: str) -> None:
    result = handed(device)
    assert set(result) & set(SECRETS) == set()
    assert [v for v in result.values() if "planted" in v.lower().replace(HOME, "")] == []


def test_only_what_is_on_the_list_is_inherited() -> None:
    result = handed("tpu")
    inherited = {k for k in result if k in ENVIRON and result[k] == ENVIRON[k]}
    assert inherited == {
        "PATH", "HOME", "LD_LIBRARY_PATH", "LC_ALL", "OMP_PROC_BIND",
        "CUDA_VISIBLE_DEVICES",
    }  # fmt: skip


def test_the_case_decides_the_backend_and_where_code_is_found() -> None:
    result = handed()
    assert result["KERAS_BACKEND"] == "jax"
    assert result["PYTHONPATH"] == str(ROOT)
    assert (ROOT / "runners" / "machine" / "environment.py").exists()


def test_what_changes_numbers_and_no_row_records_is_not_inherited() -> None:
    flags = {"XLA_FLAGS": "x", "TF_XLA_FLAGS": "x", "JAX_DISABLE_JIT": "1", "TF_CONFIG": "{}"}
    result = for_child(flags, backend="jax", threads=None, device="gpu")
    assert set(result) & set(flags) == set()


def test_kernels_are_timed_unless_the_case_says_otherwise() -> None:
    assert "XLA_FLAGS" not in handed("gpu")
    plain = for_child(ENVIRON, backend="jax", threads=None, device="gpu", tuned=False)
    assert plain["XLA_FLAGS"] == "--xla_gpu_autotune_level=0"


def test_threads_come_from_the_case_alone() -> None:
    pinned = {k: v for k, v in handed(threads=1).items() if v == "1"}
    assert {"OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "NPROC"} <= set(pinned)
    assert "OMP_NUM_THREADS" not in handed(threads=None), "64 would be used and not be recorded"


def test_a_run_on_the_processor_sees_no_card() -> None:
    result = handed("cpu")
    assert (result["CUDA_VISIBLE_DEVICES"], result["JAX_PLATFORMS"]) == ("-1", "cpu")


def test_a_run_on_cards_sees_those_chosen_and_lets_memory_grow() -> None:
    result = handed("gpu")
    assert result["CUDA_VISIBLE_DEVICES"] == "1"
    assert result["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert result["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"
    assert result["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert result["XLA_CLIENT_MEM_FRACTION"] == "0.95"
    assert "JAX_PLATFORMS" not in result, "an inherited `cpu` would measure the wrong device"


def test_python_starts_in_this_environment_and_finds_the_code() -> None:
    environ = for_child(os.environ, backend="tensorflow", threads=1, device="cpu")
    program = "import runners.machine.environment, os; print(os.environ['KERAS_BACKEND'])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environ,
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "tensorflow\n"


# -- what may be kept of a text --------------------------------------------------------------------


@each(
    "text",
    [
        "Out of memory allocating 1234 bytes",
        "OOM when allocating tensor with shape[64,32,32,448]",
        "ResourceExhaustedError: OOM when allocating tensor with shape[64,32,32,448] "
        "and type float on /job:localhost/replica:0/task:0/device:CPU:0 [Op:Conv2D]",
        "terminate called after throwing an instance of 'std::bad_alloc' what(): std::bad_alloc",
        "ValueError: Argument `output` must have rank (ndim) `target.ndim - 1`.",
        "KeyError: 'image'",
        "loss is nan at step 12, 3.5 images/s and/or N/A, a / b, 10:32:07, keras 3.15.1",
        "split('\\n') of </s> in std::add, see /device:GPU:0, cuDNN 9.8.0",
        "128 tokens, the password is missing, basic authentication failed, slices [::2], [1::2]",
        "Größe 3 µs ≤ 日本語",
    ],
)
def test_ordinary_messages_come_out_as_they_are(text: str) -> None:
    assert clean(text, ENVIRON) == text


@each(
    ("text", "kept"),
    [
        (f"cannot open {HOME}/code/train.py", "cannot open train.py"),
        (f"no such file: '{HOME}/My Data/a b.png'", "no such file: 'a b.png'"),
        ("PYTHON=/opt/x/bin/python:/opt/y/lib", "PYTHON=python:lib"),
        ("~/secret/x.npz and ~carl/y.npz", "x.npz and y.npz"),
        (f"{HOME}-old/data/x.npz", "x.npz"),
        (f"in {HOME}", "in ..."),
        ("C:\\Users\\carl\\x.py failed", "x.py failed"),
        ("lost 10.1.2.3:2222, 192.168.0.255.", "lost ...:2222, ...."),
        ("lost ipv4:10.1.2.3:22", "lost ipv4:...:22"),
        ("lost [fe80::1]:22 or ipv6:2001:db8::ff00:42", "lost [...]:22 or ipv6:..."),
        ("mail carl.x+y@uni.example now", "mail ... now"),
        ("get https://u:p@host.example/a?sig=abc: 403", "get https:... 403"),
        ("running on planted-node7 for anna.planted", "running on ... for ..."),
        ("host planted-login.example, user BERT_PLANTED", "host ..., user ..."),
        ("card GPU-8f3c1a2b-1234-5678-9abc-def012345678 lost", "card ... lost"),
        ("eth0 0a:1b:2c:3d:4e:5f down", "eth0 ... down"),
        ("api_key=abcdef, ok", "api_key=..., ok"),
        ("Authorization: Bearer abcdefghijkl", "Authorization: Bearer ..."),
        ('{"password": "hunter22"}', '{"password": "..."}'),
        ("AKIAIOSFODNN7EXAMPLE and ghp_abcdefghijklmnopqrstuvwxyz0123", "... and ..."),
        ("\x1b[31mred\x1b[0m \x07bell\x00 a\u202eb \ud800 c", "red bell ab c"),
        ("two\r\nlines\n\n\tand more", "two lines and more"),
    ],
)
def test_what_reports_of_a_machine_or_a_person_goes(text: str, kept: str) -> None:
    assert clean(text, ENVIRON) == kept


def test_of_a_traceback_the_error_stays() -> None:
    text = (
        "Traceback (most recent call last):\n"
        f'  File "{HOME}/train.py", line 3, in <module>\n'
        "    fit(password='x')\n"
        "    ~~~^^^^^^^^^^^^^^\n"
        "ValueError: batch 0 is no batch\n"
    )
    assert clean(text, ENVIRON) == "ValueError: batch 0 is no batch"


@each("name", [n for n in ENVIRON if "planted" in ENVIRON[n].lower()])
@each("form", ["{}", "x={}!", "'{}'", "{}{}", "/tmp/{}/x", "a{}b"])  # noqa: S108
def test_no_planted_value_survives_in_any_place(name: str, form: str) -> None:
    kept = clean("error: " + form.replace("{}", ENVIRON[name]), ENVIRON)
    assert "planted" not in kept.lower()


def test_a_secret_cut_by_invisible_characters_or_written_by_repr_goes() -> None:
    value = "pass'word\\with\"all"
    for text in (value, repr(value), value[:5] + "\x00\u200b" + value[5:], f"a {value!r} b"):
        assert "word" not in clean(text, {"X": value})


def test_a_secret_wrapped_over_two_lines_goes() -> None:
    assert "horse" not in clean("correct\nhorse\nbattery", ENVIRON)


def test_a_value_without_a_visible_character_takes_nothing_out() -> None:
    assert clean("all of it", {"IFS": "\x01" * 8, "PS1": " " * 8}) == "all of it"


def test_values_of_everybody_stay() -> None:
    assert clean("tensorflow failed", ENVIRON) == "tensorflow failed"


@pytest.mark.parametrize("limit", [0, 1, 10, 500])
def test_a_long_text_is_cut_and_says_so(limit: int) -> None:
    kept = clean("word " * 1000, {}, limit)
    assert len(kept) == limit
    assert kept.endswith("..."[:limit])


@each("unit", ["a", "/", ":", "a@", "1.", "~", "'/", "\\", "\n ", "key", "key=", "::x"])
def test_hostile_texts_end_and_stay_within_the_limit(unit: str) -> None:
    assert len(clean(unit * 100_000, ENVIRON)) <= 500


@given(st.text(), st.text(), st.text(alphabet=st.characters(categories=["L", "N"]), min_size=6))
def test_no_value_survives_whatever_stands_around_it(before: str, after: str, value: str) -> None:
    assert value not in clean(before + value + after, {"ANY": value}, limit=10_000)


@given(st.text())
def test_what_is_kept_is_one_line_that_can_be_written(text: str) -> None:
    kept = clean(text, ENVIRON)
    assert kept.encode().decode() == kept
    assert len(kept) <= 500
    assert kept == " ".join(kept.split())
