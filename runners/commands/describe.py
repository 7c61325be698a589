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
"""Batch sizes whose memory is printed [samples]."""
MOMENTS: Final = 2.0
"""Moment buffers that Adam keeps, in copies of the weights."""
NO_BACKEND: Final = (
    "Keras has no backend here. Install TensorFlow, JAX or PyTorch beside it (README: Install)."
)
APP: Final = "http://127.0.0.1:8501"
Description = Mapping[str, Any]


def describe_command(args: argparse.Namespace, stop: Stop) -> int:
    """Print operations, parameters, memory by batch and the link to compare hardware for it."""
    source = args.spec
    if not source.endswith((".keras", ".h5")) and ":" not in source:
        text = f"{source} is neither a .keras file nor module:function. Give one of them."
        return refuse(args, [text], text)
    if ":" not in source and not Path(source).is_file():
        text = f"There is no file {source}. Save the model with model.save('name.keras')."
        return refuse(args, [text], text)
    interpreters = pythons({}, os.environ)
    if messages := problems({}, os.environ, interpreters):
        return refuse(args, messages, messages[0])
    if not interpreters:
        return refuse(args, [NO_BACKEND], NO_BACKEND)
    backend, python = next(iter(interpreters.items()))
    ended = supervise(
        [python.path, *CHILD],
        {"source": source if ":" in source else str(Path(source).absolute()),
         "folder": str(Path.cwd()), "shape": args.shape},
        environment.for_child(os.environ, backend=backend, threads=None, device="cpu"),
        Limits(timeout_s=TIMEOUT_S,
               memory_bytes=int(MEMORY_SHARE * facts.memory_limit_bytes())),
        stop=stop,
    )  # fmt: skip
    description = next((e["columns"] for e in ended.events if e["event"] == "result"), None)
    if description is None:
        text = f"{source} cannot be described. {ended.reason or ''}".strip()
        refuse(args, [text], text)
        return FAILED
    body = {
        **description,
        "memory": memory_by_batch(description),
        "compare": compare_link(description, args),
    }
    if args.json:
        say(json.dumps(body))
    else:
        _print(body)
    return OK


def memory_by_batch(description: Description) -> list[dict[str, float]]:
    """Return the memory of one device at each batch [bytes]: Adam's state and activations."""
    state = state_of(float(description["params"]), MOMENTS, half=bool(description["half"])).total
    each = float(description["activation_bytes"])
    return [{"batch": float(b), "bytes": state + b * each} for b in BATCHES]


def compare_link(description: Description, args: argparse.Namespace) -> str:
    """Return the URL of Compare hardware with the model as a described workload."""
    values = {
        "workload": "described", "name": str(description["name"])[:80],
        "params": float(description["params"]), "flops": float(description["train_flops"]),
        "family": description["family"] or None, "tokens": description["tokens"],
        "image_px": description["image_px"], "samples": args.samples, "epochs": args.epochs,
        "precision": "bfloat16" if description["half"] else "float32",
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
