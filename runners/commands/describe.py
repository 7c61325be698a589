"""`python -m runners describe`: operations and memory of a user's own Keras model."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from planner.core import large, plain, text_of
from planner.networks import state_of
from runners.commands.console import (
    FAILED,
    OK,
    Stop,
    refuse,
    say,
)
from runners.machine import environment, facts
from runners.plan.host import problems, pythons
from runners.process.supervise import Limits, supervise

CHILD: Final = ("-m", "runners.child.describe")
TIMEOUT_S: Final = 600.0
MEMORY_SHARE: Final = 0.8
BATCHES: Final = (1, 8, 32, 128, 512)
"""Batches that memory is printed for [samples]."""
MOMENTS: Final = 2.0
"""Copies of the weights that Adam keeps."""
NO_BACKEND: Final = (
    "Keras has no backend here. Install TensorFlow, JAX or PyTorch beside it (README: Install)."
)
APP: Final = "http://127.0.0.1:8501"
Description = Mapping[str, Any]


def describe_command(asked: argparse.Namespace, stop: Stop) -> int:
    """Print operations, parameters, memory by batch and the link to compare hardware for it."""
    source = asked.spec
    if not source.endswith((".keras", ".h5")) and ":" not in source:
        text = f"{source} is neither a .keras file nor module:function. Give one of them."
        return refuse(asked, [text], text)
    if ":" not in source and not Path(source).is_file():
        text = f"There is no file {source}. Save the model with model.save('name.keras')."
        return refuse(asked, [text], text)
    found_here = pythons({}, os.environ)
    if told := problems({}, os.environ, found_here):
        return refuse(asked, told, told[0])
    if not found_here:
        return refuse(asked, [NO_BACKEND], NO_BACKEND)
    backend, python = next(iter(found_here.items()))
    ended = supervise(
        [python.path, *CHILD],
        {"source": source if ":" in source else str(Path(source).absolute()),
         "folder": str(Path.cwd()), "shape": asked.shape},
        environment.for_child(os.environ, backend=backend, threads=None, device="cpu"),
        Limits(timeout_s=TIMEOUT_S,
               memory_bytes=int(MEMORY_SHARE * facts.memory_limit_bytes())),
        stop=stop,
    )  # fmt: skip
    found = next((e["columns"] for e in ended.events if e["event"] == "result"), None)
    if found is None:
        text = f"{source} cannot be described. {ended.reason or ''}".strip()
        refuse(asked, [text], text)
        return FAILED
    body = {**found, "memory": memory_by_batch(found), "compare": compare_link(found, asked)}
    if asked.json:
        say(json.dumps(body))
    else:
        _print(body)
    return OK


def memory_by_batch(found: Description) -> list[dict[str, float]]:
    """Return bytes of one device at each batch: Adam's state and the activations kept."""
    state = state_of(float(found["params"]), MOMENTS, half=bool(found["half"])).total
    each = float(found["activation_bytes"])
    return [{"batch": float(b), "bytes": state + b * each} for b in BATCHES]


def compare_link(found: Description, asked: argparse.Namespace) -> str:
    """Return the address of Compare hardware with the model as a described workload."""
    values = {
        "workload": "described", "name": str(found["name"])[:80], "params": float(found["params"]),
        "flops": float(found["train_flops"]), "family": found["family"] or None,
        "tokens": found["tokens"], "image_px": found["image_px"], "samples": asked.samples,
        "epochs": asked.epochs, "precision": "bfloat16" if found["half"] else "float32",
    }  # fmt: skip
    pairs = [(name, text_of(value)) for name, value in values.items() if value is not None]
    return f"{APP}/compare?{urlencode(pairs, quote_via=quote)}"


def _print(body: Description) -> None:
    shape = " x ".join(map(str, body["input_shape"]))
    say(f"{body['name']}: {body['params']:,} parameters ({body['trainable_params']:,} trained), "
        f"one sample {shape}")  # fmt: skip
    say(f"Operations of one sample: forward {_flops(body['forward_flops'])}, training "
        f"{_flops(body['train_flops'])}")  # fmt: skip
    if body["not_counted"]:
        say(f"Not counted: {', '.join(body['not_counted'])}. Add their operations by hand.")
    say("Memory of one device with Adam (estimated):")
    for row in body["memory"]:
        say(f"  batch {row['batch']:>4.0f}  {row['bytes'] / 1e9:>8.2f} GB")
    say(f"Compare hardware: {body['compare']}")


def _flops(value: float) -> str:
    """'7.8 billion FLOP', '12,300 FLOP'."""
    return f"{large(value, 3, millions=True) if value >= 1e6 else plain(value, 3)} FLOP"
