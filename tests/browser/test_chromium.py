from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.browser import chromium

ADMINISTRATOR, PERSON = 0, 1000


class Machine:
    """A PATH that holds nothing but fakes, which write down what they were asked."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.said = place / "said"

    def has(self, name: str, does: str = "true") -> str:
        """Put a program there; `does` is what it does, in sh."""
        path = self.place / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> "{self.said}"\n{does}\n', encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    @property
    def ran(self) -> list[str]:
        """What the fakes were asked, in order."""
        return self.said.read_text(encoding="utf-8").splitlines() if self.said.exists() else []

    @property
    def brings_chromium(self) -> str:
        """A step of a fake installer that leaves a browser behind."""
        path = self.place / "chromium"
        return f'case "$*" in install*) echo > "{path}"; /bin/chmod +x "{path}";; esac'


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: ADMINISTRATOR)
    return Machine(tmp_path)


@pytest.mark.parametrize("name", chromium.NAMES)
def test_a_chromium_on_path_is_taken_as_it_is(machine: Machine, name: str) -> None:
    path = machine.has(name)
    machine.has("apt-get")
    assert chromium.main(machine.has("python")) == 0
    assert chromium.executable() == path
    assert machine.ran == []


def test_without_a_browser_on_path_playwrights_own_is_meant(machine: Machine) -> None:
    assert chromium.executable() is None


def test_the_administrator_gets_the_systems_package_and_the_fonts(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.has("apt-get", machine.brings_chromium)
    assert chromium.main(machine.has("python")) == 0
    update, install, *_ = machine.ran
    assert update == "apt-get update -qq"
    assert install.endswith("chromium fonts-dejavu-core fonts-noto-cjk")
    assert capsys.readouterr().out == f"Chromium: {machine.place / 'chromium'}\n"


@pytest.mark.parametrize("there", [True, False])
def test_the_browser_without_windows_comes_too_where_the_system_has_it(
    machine: Machine, *, there: bool
) -> None:
    shell = machine.place / chromium.SHELL
    brings = f'echo > "{shell}"; /bin/chmod +x "{shell}"' if there else "exit 100"
    machine.has(
        "apt-get", f'case "$*" in *{chromium.SHELL}) {brings};; esac\n{machine.brings_chromium}'
    )
    assert chromium.main(machine.has("python")) == 0
    assert machine.ran[-1].endswith(f"--no-install-recommends {chromium.SHELL}")
    assert chromium.lean() == str(shell if there else machine.place / "chromium")


@pytest.mark.parametrize("offered", [True, False])
def test_beside_a_chromium_the_browser_without_windows_comes_where_the_system_lists_it(
    machine: Machine, *, offered: bool
) -> None:
    chromium_there = machine.has("chromium")
    shell = machine.place / chromium.SHELL
    machine.has("apt-cache", "true" if offered else "exit 100")
    machine.has(
        "apt-get",
        f'case "$*" in install*) echo > "{shell}"; /bin/chmod +x "{shell}";; esac',
    )
    assert chromium.main(machine.has("python")) == 0
    assert chromium.lean() == str(shell if offered else chromium_there)
    asked = len(machine.ran)
    assert chromium.main(machine.has("python")) == 0
    assert asked == (3 if offered else 1)
    assert len(machine.ran) == (asked if offered else 2)


@pytest.mark.parametrize("broken", ["exit 100", "true"])
def test_where_the_package_does_not_come_playwright_downloads(
    machine: Machine, broken: str
) -> None:
    machine.has("apt-get", broken)
    assert chromium.main(machine.has("python")) == 0
    assert machine.ran[-1] == "python -m playwright install chromium"


def test_an_ordinary_person_is_not_asked_to_change_the_system(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: PERSON)
    machine.has("apt-get", machine.brings_chromium)
    assert chromium.main(machine.has("python")) == 0
    assert machine.ran == ["python -m playwright install chromium"]


@pytest.mark.parametrize("python", ["exit 1", None])
def test_no_browser_at_all_is_a_failure_that_says_what_to_install(
    machine: Machine, capsys: pytest.CaptureFixture[str], python: str | None
) -> None:
    program = machine.has("python", python) if python else str(machine.place / "absent")
    assert chromium.main(program) == 1
    advice = capsys.readouterr().err
    assert "apt-get install -y --no-install-recommends chromium" in advice
    assert "playwright install --with-deps chromium" in advice
