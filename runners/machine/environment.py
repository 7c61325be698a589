"""The environment of a measured process, and texts made safe to store.

Both protect secrets: a child cannot leak what it does not get, and error texts are stripped of
details of this machine, its user and its environment before they are stored.
"""

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

# -- the environment of a measured process ---------------------------------------------------------

_HANDED: Final = frozenset(
    {"PATH", "HOME", "TMPDIR", "TZ", "LANG", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "KERAS_HOME"}
)
"""Locations of programs, libraries and data; Keras stores data sets in the home folder."""
_FAMILIES: Final = (
    "LC_", "CUDA_", "CUDNN_", "NCCL_", "NVIDIA_", "XLA_", "TF_", "JAX_", "TPU_", "KMP_", "OMP_",
)  # fmt: skip
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|PRIVATE", re.IGNORECASE)
_PLANNED: Final = frozenset(
    {"OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"}
    | {"JAX_PLATFORMS", "JAX_PLATFORM_NAME"}
    | {"JAX_DISABLE_JIT", "JAX_DEFAULT_DTYPE_BITS", "JAX_ENABLE_X64", "JAX_DEBUG_NANS"}
    | {"XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_ALLOCATOR"}
    | {"TF_CONFIG", "TF_USE_LEGACY_KERAS", "TF_ENABLE_ONEDNN_OPTS", "TF_XLA_FLAGS", "XLA_FLAGS"}
)
"""Never inherited: only the planned case sets threads, device and compilation, so that no number
depends on unrecorded settings."""


def for_child(
    environ: Mapping[str, str],
    *,
    backend: str,
    threads: int | None,
    device: str,
    tuned: bool = True,
) -> dict[str, str]:
    """Return the environment of a measured process: an allow-list plus the case's settings."""
    handed = {name: value for name, value in environ.items() if _is_handed(name)}
    flags = {} if tuned else {"XLA_FLAGS": "--xla_gpu_autotune_level=0"}
    return {**handed, **_always(backend), **_threads(threads), **_device(device), **flags}


def _is_handed(name: str) -> bool:
    allowed = name in _HANDED or name.startswith(_FAMILIES)
    return allowed and name not in _PLANNED and not _SECRET.search(name)


def _always(backend: str) -> dict[str, str]:
    return {
        "KERAS_BACKEND": backend,
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }


def _threads(threads: int | None) -> dict[str, str]:
    """Return the variables that set the thread count; NPROC is for XLA's CPU client (JAX)."""
    names = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "NPROC")
    return dict.fromkeys(names, str(threads)) if threads is not None else {}


def _device(device: str) -> dict[str, str]:
    """Return variables that hide GPUs from CPU runs and let GPU memory grow on demand.

    With preallocated memory the peak would be meaningless. JAX stops at 75 % of a card by
    default; 5 % are left for what does not use its allocator (CUDA, cuDNN).
    """
    if device == "cpu":
        return {"CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu"}
    if device == "gpu":
        return {
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # NVML's order, so that facts match the cards
            "TF_FORCE_GPU_ALLOW_GROWTH": "true",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            "XLA_CLIENT_MEM_FRACTION": "0.95",
        }
    return {}


# -- cleaning texts --------------------------------------------------------------------------------

GONE: Final = "..."
_LONGEST: Final = 65_536
"""Longer texts are cut to this many characters before matching."""
_HARMLESS: Final = frozenset(
    {"LANG", "TERM", "COLORTERM", "KERAS_BACKEND", "PYTHONHASHSEED", "NVIDIA_DRIVER_CAPABILITIES"}
    | {"CUDA_DEVICE_ORDER", "CUDA_VERSION", "XLA_FLAGS", "TF_XLA_FLAGS", "MPLBACKEND"}
)
"""Variables whose values are common words, such as "tensorflow"."""
_COMMON: Final = frozenset({"root", "localhost", "user", "ubuntu", "runner", "nobody"})
"""Common names of users and hosts."""

_ESCAPE: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_FRAMES: Final = re.compile(
    r"^Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*", re.MULTILINE
)
_NAMED: Final = (
    r"\w{0,40}(?:key|token|secret|passw|credential)\w{0,40}="  # as a shell or a URL writes it
    r"|(?:secret|password|api_?key)['\"]?\s?:\s?['\"]?"  # as JSON writes it
)
_IDENTIFYING: Final = MappingProxyType(
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
"""Patterns that identify a person or a machine, and their replacements."""
_IPV6: Final = re.compile(
    r"(?<![\w:.])((?:\w{1,20}:(?=[0-9a-f]))??)"
    r"([0-9a-f:]{0,40}:[0-9a-f]{0,4}:[0-9a-f:]{0,40})(?![\w:])",
    re.IGNORECASE,
)
"""IPv6, possibly after a word and a colon, as gRPC writes ipv6:fe80::1."""
_START: Final = (
    r"(?:(?:~\w*|\.\.\.[\w.-]*)?/(?!(?:job|replica|task|device|cpu|gpu):)"
    r"|[A-Za-z]:[/\\]|\\\\(?=\w))"
)
"""Start of an absolute path; /job:localhost/... is TensorFlow's name of a device."""
_QUOTED_PATH: Final = re.compile(rf"(?<=['\"`]){_START}[^'\"`\n]*(?=['\"`])", re.IGNORECASE)
_PATH: Final = re.compile(rf"(?<![\w./\\<]){_START}[^\s:'\"<>|,;()\[\]{{}}`]+", re.IGNORECASE)


def clean(text: str, environ: Mapping[str, str], limit: int = 500) -> str:
    """Return an error text that is safe to store and publish: one line, at most `limit` long.

    Traceback frames are removed, the error stays. Details of this machine, its user or `environ`
    become "..."; absolute paths keep their last part. Ordinary messages stay unchanged.
    """
    values = _values(environ)
    kept = _without(values, _printable(text))[:_LONGEST]
    kept = _FRAMES.sub("", kept + "\n")
    for pattern, instead in _IDENTIFYING.items():
        kept = re.sub(pattern, instead, kept, flags=re.IGNORECASE)
    kept = _IPV6.sub(_address, kept)
    kept = _PATH.sub(_last_part, _QUOTED_PATH.sub(_last_part, kept))
    for name in _names(environ):
        kept = re.sub(rf"(?i)(?<![^\W_]){re.escape(name)}(?![^\W_])", GONE, kept)
    line = _without(values, " ".join(kept.split()))  # joined lines may complete a value
    return line if len(line) <= limit else line[: max(0, limit - len(GONE))] + GONE[:limit]


def _printable(text: str) -> str:
    """Return the text without control and invisible characters, which could split a secret."""
    spaced = re.sub(r"\r\n?|[\x85\u2028\u2029]", "\n", _ESCAPE.sub("", text)).replace("\t", " ")
    return "".join(
        c for c in spaced if c == "\n" or unicodedata.category(c) not in {"Cc", "Cf", "Cs"}
    )


def _values(environ: Mapping[str, str]) -> set[str]:
    """Return strings to remove: values, their lines, and their Python and URL forms."""
    secrets = (v for k, v in environ.items() if k not in _HARMLESS and not k.startswith("LC_"))
    lines = {line.strip() for value in secrets for line in (value, *_printable(value).split("\n"))}
    forms = {form for line in lines for form in (line, repr(line)[1:-1], quote(line, safe=""))}
    return {seen for form in forms if len(seen := _printable(form)) >= 6}


def _without(values: Iterable[str], text: str) -> str:
    """Return the text without these values; the longest first, as one may start another."""
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, GONE)
    return text


def _names(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield names of the user, the home folder and the host, from `environ` and the system."""
    names = [
        environ.get(k, "") for k in ("USER", "LOGNAME", "USERNAME", "HOSTNAME", "COMPUTERNAME")
    ]
    names += [Path(environ.get("HOME", "")).name, _user(), socket.gethostname()]
    short = [name.partition(".")[0] for name in names]
    for name in sorted({*names, *short}, key=len, reverse=True):
        if len(name) >= 3 and name.lower() not in _COMMON:
            yield name


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may run as a number without a name
        return ""


def _address(match: re.Match[str]) -> str:
    """Return the replacement: IPv6 addresses go; times of day, slices and C++ names stay."""
    before, address = match.groups()
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return match[0]
    is_slice = re.fullmatch(r"\d{0,3}::\d{0,3}", address)  # x[1::2]; no host has such an address
    return match[0] if is_slice else before + GONE


def _last_part(match: re.Match[str]) -> str:
    parts = [p for p in re.split(r"[/\\]", match[0]) if p]
    return parts[-1] if parts else match[0]
