"""Runs a program as a child process that never outlives its parent: `python -m
crawlmgr.workers.child FD PROGRAM …`. Standard library only.

FD is the reading end of a pipe whose writing end only the parent holds. When the parent ends for
whatever reason, the pipe closes and the child's whole process group is killed. On Linux every
process forked inside the group also ends with its own parent, so that none is left over when a
process in the middle of the group is killed.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
import threading

PR_SET_PDEATHSIG = 1
# prctl(2) is looked up on import: a process that has just been forked should not load a library
_prctl = ctypes.CDLL(None).prctl if sys.platform.startswith("linux") else None


def watch(descriptor: int) -> None:
    """Waits until the pipe `descriptor` closes, which shows that the parent process has ended, and
    then kills this process's group. Runs in a thread of its own."""
    while os.read(descriptor, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def die_with(parent: int) -> None:
    """Makes this newly forked process end when its parent, the process with the id `parent`, ends
    (Linux only)."""
    if _prctl is None:
        return
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def follow_the_parent() -> None:
    """Makes all descendants that are forked from now on end when their own parent ends (Linux
    only)."""
    parent = os.getpid()

    def remember() -> None:
        nonlocal parent
        parent = os.getpid()

    os.register_at_fork(before=remember, after_in_child=lambda: die_with(parent))


def main() -> None:
    """Starts the watching thread, ties forked processes to their parents, and runs the program
    given on the command line: the path of a Python file or the name of a module."""
    descriptor, program = int(sys.argv[1]), sys.argv[2]
    sys.argv = sys.argv[2:]
    # SIGUSR1 is sent to a whole process group; only workers, which can end their task early, handle
    # it
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    follow_the_parent()
    threading.Thread(target=watch, args=(descriptor,), daemon=True).start()
    if program.endswith(".py"):
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
