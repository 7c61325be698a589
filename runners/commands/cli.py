"""The command line: plan, run, resume, status, max-batch, converge, sweeps, describe."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from planner.store.disk.sweeps import TICKET
from planner.store.sealed.commit import CommitError
from runners.commands import sweeps
from runners.commands.console import (
    OK,
    STOPPED,
    refuse,
    say,
)
from runners.plan.spec import SpecError
from runners.process.supervise import Stopped
from runners.sweep.result_set import OWNERS

EPILOG = """\
SPEC is a TOML file, or the name of a sweep that is shipped (`python -m runners sweeps`).
Results go to EPOCHWISE_RESULTS (default: results), one file a run. Ctrl-C loses nothing: what
is finished is kept, `resume` measures what is missing. Exit codes: 0 all measured, 1 something
failed, 2 the request cannot be carried out, 130 stopped.
"""


def main(arguments: Sequence[str]) -> int:
    """Carry out one command; every refusal is a sentence on standard error."""
    asked = _parser().parse_args(arguments)
    stopper = Stopper()
    try:
        return int(asked.command(asked, stopper.asked))
    except Stopped:
        say("Stopped.")
        return STOPPED
    except SpecError as error:
        return refuse(asked, error.problems, str(error))
    except CommitError as error:
        return refuse(asked, [str(error.strerror)], str(error.strerror))
    except BrokenPipeError:  # somebody reads no further, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:
        told = f"{error.strerror} at {error.filename}. Fix this, or choose another folder."
        return refuse(asked, [told], told)


class Stopper:
    """Turns Ctrl-C and SIGTERM into a question that loops ask: a second Ctrl-C is not needed."""

    def __init__(self) -> None:
        self._asked = False
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, self._ask)

    def _ask(self, *_: Any) -> None:  # noqa: ANN401 - a signal handler's arguments
        self._asked = True

    def asked(self) -> bool:
        """Whether somebody has asked to stop."""
        return self._asked


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is."""
        print(f"{message}. See: python -m runners --help", file=sys.stderr)  # noqa: T201
        raise SystemExit(2)


def _ticket(text: str) -> str:
    """A ticket names a folder, and must be able to."""
    if not re.fullmatch(TICKET, text):
        raise argparse.ArgumentTypeError("a ticket is letters, digits, dots and dashes")
    return text


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m runners",
        description="Measure training and inference on this machine.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    made = {
        name: parsers.add_parser(name, help=told, description=told)
        for name, told in {
            "plan": "what a sweep would measure, how long it takes and what it costs",
            "run": "measure a sweep",
            "resume": "measure what is missing of a sweep that was begun",
            "status": "what is done of a sweep, and what is being measured now",
            "max-batch": "find the largest batch that fits, for each network of a sweep",
            "converge": "steps to a target against batch size",
            "sweeps": "list the sweeps that are shipped",
            "describe": "operations, parameters and memory of a Keras model of yours",
        }.items()
    }
    for name, sub in made.items():
        _options(name, sub)
        given = {a.dest: a.default for a in sub._actions}  # noqa: SLF001 - argparse tells no other way
        sub.set_defaults(command=sweeps.COMMANDS[name], json=False, defaults=given)
    return parser


def _above_zero(text: str) -> float:
    """A number of the command line; nan and inf would pass every limit."""
    with contextlib.suppress(ValueError):
        if math.isfinite(value := float(text)) and value > 0:
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")


def _describe_options(sub: argparse.ArgumentParser) -> None:
    add = sub.add_argument
    add("spec", metavar="FILE.keras|module:function")
    add("--shape", type=_shape, metavar="224,224,3", help="of one sample, where the model is open")
    add("--samples", type=_above_zero, help="samples in an epoch, for the link")
    add("--epochs", type=int, help="how many epochs, for the link")


def _shape(text: str) -> list[int]:
    """The sizes of one sample."""
    if not re.fullmatch(r"[1-9][0-9]{0,8}([,x][1-9][0-9]{0,8}){0,3}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a shape such as 224,224,3")
    return [int(n) for n in re.split("[,x]", text)]


def _options(name: str, sub: argparse.ArgumentParser) -> None:
    add = sub.add_argument
    if name in {"plan", "status", "sweeps", "describe"}:
        add("--json", action="store_true", help="one JSON value on standard output")
    if name == "describe":
        _describe_options(sub)
        return
    if name == "sweeps":
        return
    add("spec", metavar="SPEC", nargs="?" if name == "status" else None)
    add("--results", type=Path, default=Path(os.environ.get("EPOCHWISE_RESULTS") or "results"),
        help="folder of result sets (EPOCHWISE_RESULTS, else results)")  # fmt: skip
    add("--name", help="name of the result set's folder (made of sweep and system)")
    add("--python", action="append", default=[], metavar="BACKEND=PATH",
        help="the Python that starts a backend, as jax=.venv-jax/bin/python")  # fmt: skip
    if name != "converge":  # which trains on the CPU with TensorFlow
        add("--backend", choices=("tensorflow", "jax", "torch"), help="what backend auto means")
        add("--device", choices=("cpu", "gpu", "tpu"), help="what device auto means")
    if name == "plan":
        add("--probe", action="store_true", help="run two steps where no results tell of a time")
    if name in {"plan", "run", "resume"}:
        add("--price-per-hour", type=_above_zero, help="of this machine, in the sweep's currency")
    if name in {"run", "resume", "max-batch", "converge"}:
        add("--memory-limit", type=_above_zero, metavar="GB", help="most memory one run may use")
        add("--ticket", type=_ticket, help=argparse.SUPPRESS)
        add("--licence", default=OWNERS, help="terms of the numbers (default: the owner decides)")
    if name in {"run", "resume"}:
        add("--retry-failed", action="store_true", help="measure again what did not end well")
        add("--yes", action="store_true", help="do not ask, whatever the plan says")
        add("--max-hours", type=_above_zero, help="ask before the plan or the clock exceeds this")
        add("--max-cost", type=_above_zero, help="ask before the plan exceeds this")
