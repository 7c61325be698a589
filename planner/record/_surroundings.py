"""The device and software of this process, from the framework that its script has imported."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

FRAMEWORKS: Final = {"torch": "PyTorch", "jax": "JAX", "tensorflow": "TensorFlow"}


def surroundings() -> dict[str, Any]:
    """Return columns of the system and the software; of the host where no accelerator is used."""
    used = _keras_backend() or next((name for name in FRAMEWORKS if name in sys.modules), None)
    module = sys.modules.get(used or "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    processor = _processor()
    kind, name, devices = _accelerator(used) or ("cpu", f"{cores}-core {processor}", 1)
    columns = {
        "system_name": name,
        "device_kind": kind,
        "accelerator_model_name": None if kind == "cpu" else name,
        "accelerators_per_node": devices,
        "number_of_nodes": 1,
        "host_processor_model_name": processor,
        "host_processor_core_count": cores,
        "operating_system": platform.platform(terse=True),
        "python_version": platform.python_version(),
        "framework": FRAMEWORKS.get(used or ""),
        "framework_version": getattr(module, "__version__", None),
        "keras_version": getattr(sys.modules.get("keras"), "__version__", None),
    }
    return {column: value for column, value in columns.items() if value is not None}


def wait_for_device() -> None:
    """Wait until PyTorch's accelerator has finished: its calls return before the work is done.

    Other frameworks give no such call; there a script reads the loss before the epoch ends.
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def peak_memory() -> dict[str, Any]:
    """Return the columns of the peak memory where the framework counts it (PyTorch on a GPU)."""
    torch = sys.modules.get("torch")
    if torch is None or not (torch.cuda.is_available() and torch.cuda.is_initialized()):
        return {}
    return {
        "peak_memory_bytes": int(torch.cuda.max_memory_allocated()),
        "peak_memory_method": "device: torch.cuda.max_memory_allocated",
    }


def _keras_backend() -> str | None:
    keras = sys.modules.get("keras")
    return keras.backend.backend() if keras is not None else None


def _accelerator(used: str | None) -> tuple[str, str, int] | None:
    """Return kind, name and number of this process's accelerators; None without one."""
    ask: dict[str, Callable[[], tuple[str, str, int] | None]] = {
        "torch": _of_torch, "jax": _of_jax, "tensorflow": _of_tensorflow,
    }  # fmt: skip
    return ask[used]() if used in ask and used in sys.modules else None


def _of_torch() -> tuple[str, str, int] | None:
    torch = sys.modules["torch"]
    if not torch.cuda.is_available():
        return None
    return "gpu", torch.cuda.get_device_name(), 1  # a script on several says so itself


def _of_jax() -> tuple[str, str, int] | None:
    devices = sys.modules["jax"].local_devices()
    kind = devices[0].platform
    if kind == "cpu":
        return None
    return ("tpu" if kind == "tpu" else "gpu"), devices[0].device_kind, 1


def _of_tensorflow() -> tuple[str, str, int] | None:
    config = sys.modules["tensorflow"].config
    for kind in ("TPU", "GPU"):
        if devices := config.list_physical_devices(kind):
            name = config.experimental.get_device_details(devices[0]).get("device_name")
            return kind.lower(), name or kind, 1
    return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
