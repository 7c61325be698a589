"""A test double for `python -m runners`: the same words and files, but nothing is trained.

The real thing takes minutes of TensorFlow; this one takes as long as a test wants. Run n of a
sweep ends once the file STATE/gate/n (or STATE/gate/all) is there; SIGTERM stops it between runs,
as does a limit of time.
Rows are real ones, committed by the real store.

    small    four runs, all good          failing  two runs, the second out of memory
    unknown  as small, no times known     bad      cannot be measured here
    mute     says no JSON                 dying    the supervisor ends before it says anything
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

SWEEPS: Final = {
    "small": "Small sweep",
    "failing": "Failing sweep",
    "unknown": "Unknown sweep",
    "bad": "Bad sweep",
    "mute": "Mute sweep",
    "dying": "Dying sweep",
}
BATCHES: Final = {"failing": (16, 32)}


def main(arguments: list[str]) -> int:
    """Do what the real command would be asked to."""
    verb, *rest = arguments
    spec = "" if verb == "sweeps" else _name(rest[0])
    if verb == "sweeps":
        return _say([{"name": n, "title": t, "about": f"About {n}.", "path": f"{n}.toml",
                      "command": "run"}
                     for n, t in SWEEPS.items()])  # fmt: skip
    if verb == "plan":
        return _plan(rest, probed="--probe" in rest)
    from tests.pages.stand_in_sweep import Asked, measure  # the store takes a second to import

    asked = Asked(
        spec=spec,
        title=SWEEPS[spec],
        batches=_batches(spec),
        results=Path(_given(rest, "--results")),
        ticket=_given(rest, "--ticket"),
        name=_given(rest, "--name") if "--name" in rest else spec,
        hours=float(_given(rest, "--max-hours")) if "--max-hours" in rest else None,
    )
    return measure(asked)


def _name(spec: str) -> str:
    return Path(spec).stem if "/" in spec else spec


def _given(rest: list[str], name: str) -> str:
    return rest[rest.index(name) + 1]


def _say(body: object) -> int:
    sys.stdout.write(json.dumps(body))
    return 0


def _batches(spec: str) -> tuple[int, ...]:
    return BATCHES.get(spec, (16, 32, 64, 128))


def _done(spec: str, results: str) -> int:
    return len(list((Path(results) / spec).glob("*.parquet")))


# -- the plan ----------------------------------------------------------------------------------


def _plan(rest: list[str], *, probed: bool) -> int:
    spec, results = _name(rest[0]), _given(rest, "--results")
    price = float(_given(rest, "--price-per-hour")) if "--price-per-hour" in rest else None
    if spec == "mute":
        sys.stderr.write("no plan for a **mute** sweep\n")
        return 1
    if spec == "bad":
        _say({"problems": ["spec.toml: workload: no network is called <b>.", "And more."]})
        return 2
    hours = None if spec == "unknown" and not probed else 0.025
    done, batches = _done(spec, results), _batches(spec)
    return _say(
        {
            "name": spec,
            "title": SWEEPS[spec],
            "about": f"About {spec}.",
            "result_set": spec,
            "planned": len(batches),
            "finished": done,
            "left": len(batches) - done,
            "hours": hours,
            "hours_low": hours and hours * 0.8,
            "hours_high": hours and hours * 1.2,
            "hours_basis": hours and ("a two-step probe" if probed else "12 runs"),
            "memory_bytes": 1.25e9,
            "energy_kwh": 0.004,
            "cost": 0.0012 if price is None else hours and price * hours,
            "currency": "EUR",
            "smallest": {"runs": 3, "hours": 0.01, "batches": [16, 64, 128]},
            "full": {"runs": len(batches), "hours": hours},
            "runs": [_planned_run(b, n < done) for n, b in enumerate(batches)],
            "problems": [],
        }
    )


def _planned_run(batch: int, done: bool) -> dict[str, Any]:  # noqa: FBT001 - a stand-in
    return {
        "case_id": f"{batch:016}",
        "words": f"ResNet-50 tensorflow loop, batch {batch}",
        "workload": "resnet-50",
        "batch": batch,
        "backend": "tensorflow",
        "engine": "loop",
        "seconds": 22.5,
        "memory_bytes": 1.25e9,
        "done": done,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
