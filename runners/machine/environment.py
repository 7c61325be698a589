"""The environment of a measured process, and texts made safe to store.

Both are about secrets: what a child is not handed it cannot tell, and what a text of an error
repeats of this machine, its user or its environment is taken out before it becomes a record.
"""

from __future__ import annotations

import getpass
import ipaddress
import re
import socket
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

ROOT: Final = Path(__file__).parents[2]

# -- what a measured process is handed -------------------------------------------------------------

_HANDED: Final = frozenset(
    {"PATH", "HOME", "TMPDIR", "TZ", "LANG", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "KERAS_HOME"}
)
"""Where programs, libraries and data are; Keras keeps its data sets in the home folder."""
_FAMILIES: Final = (
    "LC_", "CUDA_", "CUDNN_", "NCCL_", "NVIDIA_", "XLA_", "TF_", "JAX_", "TPU_", "KMP_", "OMP_",
)  # fmt: skip
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|PRIVATE", re.IGNORECASE)
_PLANNED: Final = frozenset(
    {"OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"}
    | {"JAX_PLATFORMS", "JAX_PLATFORM_NAME"}
    | {"JAX_DISABLE_JIT", "JAX_DEFAULT_DTYPE_BITS", "JAX_ENABLE_X64", "JAX_DEBUG_NANS"}
    | {"TF_CONFIG", "TF_USE_LEGACY_KERAS", "TF_ENABLE_ONEDNN_OPTS", "TF_XLA_FLAGS", "XLA_FLAGS"}
)
"""Never inherited: the planned case says threads, device and compilation, or nobody does. A number
must not depend on what no row records."""


def for_child(
    environ: Mapping[str, str], *, backend: str, threads: int | None, device: str
) -> dict[str, str]:
    """The whole environment of a measured process: an allow-list, then what the case asks for."""
    handed = {name: value for name, value in environ.items() if _is_handed(name)}
    return {**handed, **_always(backend), **_threads(threads), **_device(device)}


def _is_handed(name: str) -> bool:
    wanted = name in _HANDED or name.startswith(_FAMILIES)
    return wanted and name not in _PLANNED and not _SECRET.search(name)


def _always(backend: str) -> dict[str, str]:
    return {
        "KERAS_BACKEND": backend,
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }


def _threads(threads: int | None) -> dict[str, str]:
    """NPROC is how XLA's processor client (JAX) is told the size of its pool of threads."""
    names = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "NPROC")
    return dict.fromkeys(names, str(threads)) if threads is not None else {}


def _device(device: str) -> dict[str, str]:
    """Hide the GPUs of a run without any; let a GPU's memory grow, else its peak says nothing."""
    if device == "cpu":
        return {"CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu"}
    if device == "gpu":
        return {
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # NVML's order: facts are of the cards used
            "TF_FORCE_GPU_ALLOW_GROWTH": "true",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        }
    return {}


# -- what may be kept of a text --------------------------------------------------------------------

GONE: Final = "..."
_LONGEST: Final = 65_536
"""Characters looked at: a longer text is cut before the patterns see it."""
_HARMLESS: Final = frozenset(
    {"LANG", "TERM", "COLORTERM", "KERAS_BACKEND", "PYTHONHASHSEED", "NVIDIA_DRIVER_CAPABILITIES"}
    | {"CUDA_DEVICE_ORDER", "CUDA_VERSION", "XLA_FLAGS", "TF_XLA_FLAGS", "MPLBACKEND"}
)
"""Variables whose values are words of everybody: "tensorflow" tells nothing of anyone."""
_NOBODY: Final = frozenset({"root", "localhost", "user", "ubuntu", "runner", "nobody"})
"""Names of users and hosts that are those of very many."""

_ESCAPE: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_FRAMES: Final = re.compile(
    r"^Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*", re.MULTILINE
)
_NAMED: Final = (
    r"\w{0,40}(?:key|token|secret|passw|credential)\w{0,40}="  # as a shell or a URL writes it
    r"|(?:secret|password|api_?key)['\"]?\s?:\s?['\"]?"  # as JSON writes it
)
_TELLING: Final = MappingProxyType(
    {
        # of a URL its scheme: hosts are addresses, user:password@ and a query may be secrets
        r"\b([a-z][a-z0-9+.-]{1,15}:)/{2,3}[^\s'\"<>]+": rf"\1{GONE}",
        r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*": GONE,  # user@host
        r"\b(?-i:AKIA|ASIA)[0-9A-Z]{12,}": GONE,
        r"\b(?:hf|gh[opsu]|glpat|sk|xox[abp])[-_][\w-]{20,}": GONE,
        r"\b((?:authorization:? \w+|bearer) )[\w.~+/=-]{8,}": rf"\1{GONE}",
        rf"\b({_NAMED})[^\s,;)'\"]{{4,}}": rf"\1{GONE}",
        r"\b(?:GPU-|MIG-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b": GONE,
        r"(?<![\w:])(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}(?![\w:])": GONE,  # of a network card
        r"(?<!\d)(?<!\d\.)(?:\d{1,3}\.){3}\d{1,3}(?!\.?\d)": GONE,  # IPv4
    }
)
"""What tells of a person or a machine wherever it stands, and what stays of it."""
_IPV6: Final = re.compile(
    r"(?<![\w:.])((?:\w{1,20}:(?=[0-9a-f]))??)"
    r"([0-9a-f:]{0,40}:[0-9a-f]{0,4}:[0-9a-f:]{0,40})(?![\w:])",
    re.IGNORECASE,
)
"""Perhaps behind a word and a colon, as gRPC writes ipv6:fe80::1."""
_START: Final = (
    r"(?:(?:~\w*|\.\.\.[\w.-]*)?/(?!(?:job|replica|task|device|cpu|gpu):)"
    r"|[A-Za-z]:[/\\]|\\\\(?=\w))"
)
"""Where an absolute path begins; /job:localhost/... is TensorFlow's name of a device."""
_QUOTED_PATH: Final = re.compile(rf"(?<=['\"`]){_START}[^'\"`\n]*(?=['\"`])", re.IGNORECASE)
_PATH: Final = re.compile(rf"(?<![\w./\\<]){_START}[^\s:'\"<>|,;()\[\]{{}}`]+", re.IGNORECASE)


def clean(text: str, environ: Mapping[str, str], limit: int = 500) -> str:
    """An error's text as it may be kept and published, in one line of at most `limit` characters.

    Frames of tracebacks go, the error stays. What tells of this machine, its user or `environ`
    becomes "...", absolute paths keep their last part. Ordinary messages come out as they are.
    """
    values = _values(environ)
    kept = _without(values, _printable(text))[:_LONGEST]
    kept = _FRAMES.sub("", kept + "\n")
    for pattern, instead in _TELLING.items():
        kept = re.sub(pattern, instead, kept, flags=re.IGNORECASE)
    kept = _IPV6.sub(_address, kept)
    kept = _PATH.sub(_last_part, _QUOTED_PATH.sub(_last_part, kept))
    for name in _names(environ):
        kept = re.sub(rf"(?i)(?<![^\W_]){re.escape(name)}(?![^\W_])", GONE, kept)
    line = _without(values, " ".join(kept.split()))  # lines joined may make a value whole
    return line if len(line) <= limit else line[: max(0, limit - len(GONE))] + GONE[:limit]


def _printable(text: str) -> str:
    """Without escapes, control and invisible characters (they could split a secret in two)."""
    spaced = re.sub(r"\r\n?|[\x85\u2028\u2029]", "\n", _ESCAPE.sub("", text)).replace("\t", " ")
    return "".join(
        c for c in spaced if c == "\n" or unicodedata.category(c) not in {"Cc", "Cf", "Cs"}
    )


def _values(environ: Mapping[str, str]) -> set[str]:
    """What no text may repeat: values, their lines, and how Python and URLs would write them."""
    told = (v for k, v in environ.items() if k not in _HARMLESS and not k.startswith("LC_"))
    lines = {line.strip() for value in told for line in (value, *_printable(value).split("\n"))}
    forms = {form for line in lines for form in (line, repr(line)[1:-1], quote(line, safe=""))}
    return {seen for form in forms if len(seen := _printable(form)) >= 6}


def _without(values: Iterable[str], text: str) -> str:
    """The longest first: one value may be the beginning of another."""
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, GONE)
    return text


def _names(environ: Mapping[str, str]) -> Iterator[str]:
    """Names of the user, the home folder and the host, as told here and by the system."""
    told = [environ.get(k, "") for k in ("USER", "LOGNAME", "USERNAME", "HOSTNAME", "COMPUTERNAME")]
    told += [Path(environ.get("HOME", "")).name, _user(), socket.gethostname()]
    short = [name.partition(".")[0] for name in told]
    for name in sorted({*told, *short}, key=len, reverse=True):
        if len(name) >= 3 and name.lower() not in _NOBODY:
            yield name


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may run as a number without a name
        return ""


def _address(found: re.Match[str]) -> str:
    """IPv6 addresses go; times of day, slices and C++ names stay."""
    before, told = found.groups()
    try:
        ipaddress.ip_address(told)
    except ValueError:
        return found[0]
    is_slice = re.fullmatch(r"\d{0,3}::\d{0,3}", told)  # x[1::2]; no host has such an address
    return found[0] if is_slice else before + GONE


def _last_part(found: re.Match[str]) -> str:
    parts = [p for p in re.split(r"[/\\]", found[0]) if p]
    return parts[-1] if parts else found[0]
