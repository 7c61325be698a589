"""Give the cases of several processes their launcher and their number of nodes."""

from __future__ import annotations

from dataclasses import replace

from runners.launch.launcher import LOCAL, Launcher
from runners.plan.cases import OF_PROCESSES, Case
from runners.plan.expand import Expanded
from runners.plan.spec import SpecError


def placed(name: str, expanded: Expanded, launcher: Launcher) -> Expanded:
    """Return the cases of sweep `name` as the launcher starts them.

    Cases of one process stay as they are: they run on this machine.

    Raises:
        SpecError: the launcher cannot start some cases, or starts none; it lists all problems.
    """
    if launcher.launcher == LOCAL:
        return expanded
    several = [case for case in expanded.cases if case.strategy in OF_PROCESSES]
    problems = [text for case in several for text in _problems(case, launcher)]
    if not several:
        problems = [f"launcher {launcher.launcher} starts runs of several processes; this sweep "
                    'has none. Set strategy = "multi-worker mirrored" in some runs.']  # fmt: skip
    if problems:
        raise SpecError(name, problems)
    cases = tuple(_placed(case, launcher) for case in expanded.cases)
    return replace(expanded, cases=cases)


def _problems(case: Case, launcher: Launcher) -> list[str]:
    server = case.strategy == "parameter server"
    return list(launcher.problems(case.devices, server=server))


def _placed(case: Case, launcher: Launcher) -> Case:
    if case.strategy not in OF_PROCESSES:
        return case
    return replace(case, launcher=launcher.launcher, nodes=launcher.nodes(case.devices))
