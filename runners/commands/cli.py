"""The command line: plan, run, resume, status, max-batch, converge, sweeps, describe, links."""

import argparse
import contextlib
import math
import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from planner.core import Text, number_of, program
from planner.epochs import MOST_EPOCHS, MOST_SAMPLES
from planner.store.disk.bucket import BucketError
from planner.store.disk.mirrors import results_folder
from planner.store.disk.sweeps import TICKET
from planner.store.sealed.commit import CommitError
from runners.commands import sweeps
from runners.commands.console import OK, STOPPED, refuse, say
from runners.launch.launcher import MODULES, PORTS
from runners.plan.spec import SpecError
from runners.process.supervise import Stopped
from runners.sweep.push import TOKEN
from runners.sweep.rows import OWNERS

ABOUT: Final = {
    "plan": "show the runs, time and cost of a sweep",
    "run": "measure a sweep",
    "resume": "measure the missing runs of a sweep",
    "status": "show finished runs of a sweep and the current run",
    "max-batch": "find the largest batch that fits, for each network of a sweep",
    "converge": "measure steps to a target against batch size",
    "sweeps": "list the shipped sweeps",
    "describe": "show FLOPs, parameters and memory of your Keras model",
    "push": "send the runs of a result set to a server until it has them",
    "links": "measure two workers over links of 10, 1 and 0.1 Gbit/s (Linux, root)",
}
"""Commands, with what each is for."""
EPILOG = Text(
    "SPEC is a TOML file or the name of a shipped sweep (`{program} sweeps`).\nResults go "
    "to EPOCHWISE_RESULTS (default: results), one file per run. Ctrl-C keeps all "
    "finished\nruns; `resume` measures the missing ones. Exit codes: 0 all measured, 1 a "
    "run failed,\n2 the request cannot be carried out, 130 stopped.\n",
    program=program("runners"),
)


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code; refusals go to standard error."""
    args = _parser().parse_args(argv)
    stopper = Stopper()
    try:
        return int(args.command(args, stopper.requested))
    except Stopped:
        say("Stopped.")
        return STOPPED
    except SpecError as error:
        return refuse(args, error.problems, str(error))
    except (CommitError, BucketError) as error:
        return refuse(args, [str(error.strerror)], str(error.strerror))
    except BrokenPipeError:  # the reader has closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:
        message = Text(
            "{strerror} at {filename}. Fix this or choose another folder.",
            strerror=error.strerror,
            filename=error.filename,
        )
        return refuse(args, [message], message)


class Stopper:
    """Turns Ctrl-C and SIGTERM into a flag that loops check, so one Ctrl-C is enough."""

    def __init__(self) -> None:
        self._requested = False
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, self._request)

    def _request(self, *_: Any) -> None:  # noqa: ANN401 - a signal handler's arguments
        self._requested = True

    def requested(self) -> bool:
        """Return whether a stop was requested."""
        return self._requested


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Print the error and where to find help, then exit with code 2."""
        print(  # noqa: T201 - as argparse does
            Text("{message}. See: {program} --help", message=message, program=program("runners")),
            file=sys.stderr,
        )
        raise SystemExit(2)


def _ticket(text: str) -> str:
    """Return a valid ticket; it must be usable as a folder name."""
    if not re.fullmatch(TICKET, text):
        raise argparse.ArgumentTypeError("a ticket is letters, digits, dots and dashes")
    return text


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=program("runners"),
        description="Measure training and inference on this machine.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    made = {
        name: parsers.add_parser(name, help=words, description=words)
        for name, words in ABOUT.items()
    }
    for name, sub in made.items():
        _options(name, sub)
        defaults = {a.dest: a.default for a in sub._actions}  # noqa: SLF001 - no public way
        sub.set_defaults(
            command=sweeps.COMMANDS[name], json=False, defaults=defaults, of_nodes=None
        )
    return parser


def _above_zero(text: str) -> float:
    """Return a finite number above 0; nan and inf would pass every limit."""
    with contextlib.suppress(ValueError):
        if math.isfinite(value := float(text)) and value > 0:
            return value
    raise argparse.ArgumentTypeError(Text("{text!r} is not a number above 0", text=text))


def _describe_options(sub: argparse.ArgumentParser) -> None:
    add = sub.add_argument
    add("spec", metavar="FILE.keras|module:function")
    add("--shape", type=_shape, metavar="224,224,3", help="of one sample, if the model lacks it")
    add("--samples", type=_samples, help="samples per epoch, as 1.28M, for the link (default: 1M)")
    add("--epochs", type=_epochs, help="number of epochs, for the link")


def _samples(text: str) -> float:
    """Return a number of samples, as 50000, 1.28M or 1e9."""
    if not 1.0 <= (value := number_of(text)) <= MOST_SAMPLES:
        raise argparse.ArgumentTypeError(
            Text(
                "{text!r} is not a number from 1 to {most_samples:g}",
                text=text,
                most_samples=MOST_SAMPLES,
            )
        )
    return value


def _epochs(text: str) -> int:
    """Return a number of epochs of Compare's range."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:12]) <= MOST_EPOCHS:
        words = Text(
            "{text!r} is not a whole number from 1 to {most:,}", text=text, most=MOST_EPOCHS
        )
        raise argparse.ArgumentTypeError(words)
    return int(text)


def _shape(text: str) -> list[int]:
    if not re.fullmatch(r"[1-9][0-9]{0,8}([,x][1-9][0-9]{0,8}){0,3}", text):
        raise argparse.ArgumentTypeError(
            Text("{text!r} is not a shape such as 224,224,3", text=text)
        )
    return [int(n) for n in re.split("[,x]", text)]


def _launch_options(sub: argparse.ArgumentParser) -> None:
    """Add the launcher of runs with several processes; defaults are those of [launch]."""
    add = sub.add_argument
    add("--launcher", choices=tuple(MODULES), help="of several workers (default: local)")
    add("--hosts", metavar="A,B=ADDRESS", help="hosts of the launcher `command`")
    add("--server-host", metavar="C=ADDRESS", help="of chief and server (default: the first host)")
    add("--prefix", metavar="COMMAND", help='starts a worker on its host (default: "ssh {host}")')
    add(
        "--ports",
        metavar="FROM-TO",
        help=Text("of the workers on hosts (default: {ports})", ports=PORTS),
    )
    add("--host-directory", metavar="PATH", help="this repository on the hosts (default: as here)")
    add("--host-python", metavar="PATH", help="interpreter on the hosts (default: as here)")


def _links_options(sub: argparse.ArgumentParser) -> None:
    add = sub.add_argument
    add("--server", action="store_true",
        help="asynchronous workers across the link from their parameter server")  # fmt: skip
    add("--results", type=results_folder, help="folder of result sets to store the runs in")
    add("--name", help="name of the result set (default: links and system)")
    add("--licence", help="terms of the numbers (default: the owner decides)")


def _push_options(sub: argparse.ArgumentParser) -> None:
    add = sub.add_argument
    add("spec", metavar="SET", help="name of a result set, or its folder")
    add("--to", metavar="URL", required=True, help="address of the server, as http://host:8501")
    add("--token-file", type=Path, help=_TOKEN_HELP)
    add("--results", type=results_folder, default=_results(), help=_RESULTS_HELP)


_TOKEN_HELP: Final = Text("file with the token (default: the variable {token})", token=TOKEN)
_RESULTS_HELP: Final = (
    "folder of result sets, or s3://bucket/prefix (default: EPOCHWISE_RESULTS, else results)"
)


def _results() -> Path:
    return results_folder(os.environ.get("EPOCHWISE_RESULTS") or "results")


def _options(name: str, sub: argparse.ArgumentParser) -> None:
    add = sub.add_argument
    if name in {"plan", "status", "sweeps", "describe", "links"}:
        add("--json", action="store_true", help="print one JSON value")
    own = {"describe": _describe_options, "links": _links_options, "push": _push_options}
    if name in own:
        own[name](sub)
    if name in {*own, "sweeps"}:
        return
    add("spec", metavar="SPEC", nargs="?" if name == "status" else None)
    add("--results", type=results_folder, default=_results(), help=_RESULTS_HELP)
    add("--name", help="name of the result set (default: sweep and system)")
    add("--python", action="append", default=[], metavar="BACKEND=PATH",
        help="Python interpreter of a backend, as jax=.venv-jax/bin/python")  # fmt: skip
    if name != "converge":  # which trains on the CPU with TensorFlow
        add("--backend", choices=("tensorflow", "jax", "torch"), help="backend used for auto")
        add("--device", choices=("cpu", "gpu", "tpu"), help="device used for auto")
    if name == "plan":
        add("--probe", action="store_true", help="time two steps of runs without an estimate")
    if name in {"plan", "run", "resume"}:
        add("--price-per-hour", type=_above_zero, help="of this machine, in the sweep's currency")
        add("--without", action="append", default=[], metavar="SET",
            help="result set that forecasts leave out and the sweep adds nothing to")  # fmt: skip
    if name in {"plan", "run", "resume", "status"}:
        _launch_options(sub)
    if name in {"run", "resume", "max-batch", "converge"}:
        add("--memory-limit", type=_above_zero, metavar="GB", help="memory limit of one run")
        add("--ticket", type=_ticket, help=argparse.SUPPRESS)
        add("--licence", default=OWNERS, help="terms of the numbers (default: the owner decides)")
    if name in {"run", "resume"}:
        add("--engine", choices=("local", "ray"), default="local",
            help="local: this machine (default); ray: the nodes of a Ray cluster")  # fmt: skip
        add("--address", metavar="HOST:PORT",
            help="of the Ray cluster (default: RAY_ADDRESS, else the one here)")  # fmt: skip
        add("--push", metavar="URL", help="send each run to a server as soon as it is finished")
        add("--token-file", type=Path, help=_TOKEN_HELP)
        add("--retry-failed", action="store_true", help="measure failed runs again")
        add("--yes", action="store_true", help="start without confirmation; limits still stop it")
        add("--max-hours", type=_above_zero, help="stop after this time, ask if the plan is longer")
        add("--max-cost", type=_above_zero, help="stop at this cost, ask if the plan costs more")
