"""Stand between the supervisor and the measured child, and end the child if either dies.

    python -I -S guard.py LIFELINE COMMAND...

The guard leads a process group of its own and starts COMMAND in it. LIFELINE is the reading end
of a pipe whose writing end only the supervisor holds: when the supervisor dies, however it dies,
the pipe ends and the guard kills the whole group, worker processes of the child included. When
the guard itself is killed, the kernel kills the child (PR_SET_PDEATHSIG on Linux), and the
supervisor, seeing its guard gone, kills the rest of the group. Nothing but the standard library
is imported, so it starts in 20 ms and holds 10 MB.
"""

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def _child(command: list[str], guard: int) -> None:
    """Become COMMAND, dying with the guard; never returns."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guard:  # it died before the line above
        os._exit(1)
    try:
        os.execvp(command[0], command)  # noqa: S606 - a list of arguments, no shell
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(127)


def _kill_rest() -> None:
    """Kill all descendants of the guard; orphans are re-parented to it (Linux).

    Done before the guard ends: a supervisor killed at that moment could not do it.
    """
    me = os.getpid()
    while True:
        try:
            with open(f"/proc/{me}/task/{me}/children", encoding="ascii") as file:  # noqa: PTH123
                left = [int(pid) for pid in file.read().split()]
        except OSError:
            return
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _end_like(status: int) -> None:
    """Exit with the child's exit code or signal, so that the supervisor sees it."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.pause()
    os._exit(os.WEXITSTATUS(status))


def main() -> None:
    """Start COMMAND and wait until it or the supervisor ends."""
    lifeline, command = int(sys.argv[1]), sys.argv[2:]
    # A crash must not fill the disk: neither the child nor the guard may write a core file.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # the supervisor decides, not the terminal
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    guard = os.getpid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    child = os.fork()
    if child == 0:
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGCHLD"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        _child(command, guard)
    while True:
        ready, _, _ = select.select([lifeline, woken], [], [])
        if lifeline in ready:
            _kill_rest()
            os.killpg(0, signal.SIGKILL)
        os.read(woken, 512)
        with contextlib.suppress(ChildProcessError):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                _kill_rest()
                _end_like(status)


if __name__ == "__main__":
    main()
