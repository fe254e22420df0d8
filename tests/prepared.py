"""Starts programs of this project from one prepared process that has loaded the libraries and the
project's pure modules already, which is most of what a start costs: it forks for each program, so
that tests which start many processes need a fraction of the CPU.

The prepared process loads no settings and nothing that reads them. A forked program therefore reads
its environment and its settings as any other; it differs in having no command line of its own in
/proc and in the seed of its hashes. What needs these, a copy of the project at another place or
options of Python is started as a process of its own (`subprocess`).
"""

from __future__ import annotations

import array
import atexit
import contextlib
import fcntl
import gc
import importlib
import json
import os
import re
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = (
    "django.contrib.admin django.core.mail django.core.management django.core.paginator"
    " django.core.serializers.json django.db.backends.sqlite3.base django.forms django.http"
    " django.template.defaulttags django.template.loader django.test django.urls"
    " django.views.generic numpy requests snowballstemmer sqlparse protego w3lib.url lxml.html"
    " cssselect brotli psycopg scipy.sparse scipy.special sklearn.linear_model cryptography.fernet"
    " prometheus_client pydantic markdown gunicorn.app.base whitenoise.storage"
).split()
"""Libraries that programs of the project load and that need no settings of Django."""
PACKAGES = ("crawlmgr", "deepweb", "focused", "forums")
IMPORT = re.compile(r"^\s*(?:from|import) ([\w.]+)( import (?:\([^)]*\)|.*))?", re.M)
SETTINGS = re.compile(r"(django|ninja|unfold|import_export)|.*\b(__main__|settings|migrations)\b")
"""Modules that need settings of Django, or do something when they are loaded."""
PLACE = "CRAWLMGR_TEST_PREPARED"
"""Environment variable with the folder of the prepared process's socket, the same for all processes
of a test run."""
LONGEST = 1_000_000  # bytes of a request
_one_at_a_time = threading.Lock()
_mine: list[subprocess.Popen[bytes]] = []  # the prepared process, where this process started it


def pure_modules() -> list[str]:
    """Returns the names of the project's modules that import nothing of Django or its extensions,
    neither themselves nor through others."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }
    needs: dict[str, set[str]] = {}
    for name, path in paths.items():
        parents = name.split(".")
        needs[name] = {".".join(parents[:depth]) for depth in range(1, len(parents))}
        for module, names in IMPORT.findall(path.read_text(encoding="utf-8")):
            members = re.findall(r"\w+", names.partition(" import ")[2])
            needs[name] |= {module, *(f"{module}.{member}" for member in members)}
    left = {
        name
        for name, wanted in needs.items()
        if not any(SETTINGS.match(one) for one in {name, *wanted})
    }
    while unfit := {name for name in left if (needs[name] & paths.keys()) - left}:
        left -= unfit
    return sorted(left)


class Prepared(subprocess.Popen[Any]):
    """A program started by the prepared process; used like `subprocess.Popen`. `args` is a path of
    a Python file, or "-m" and the name of a module, followed by the program's arguments."""

    def _execute_child(self, args: Sequence[str], *given: Any) -> None:  # type: ignore[override]
        cwd, env = given[4:6]
        pipes = read_in, _write_in, _read_out, write_out, _read_err, write_err = given[9:15]
        self._told, tells = os.pipe()
        streams = [
            own if wish < 0 else wish for own, wish in enumerate((read_in, write_out, write_err))
        ]
        wanted = {"args": [*map(str, args)], "cwd": str(cwd), "env": env, "session": given[20]}
        try:
            self.pid = _started(json.dumps(wanted).encode(), [*streams, tells])
        finally:
            os.close(tells)
            self._close_pipe_fds(*pipes)
        self._child_created = True

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:  # type: ignore[override]
        if self.returncode is None and select.select([self._told], [], [], 0)[0]:
            self._read()
        return self.returncode

    def _wait(self, timeout: float | None) -> int:  # type: ignore[override]
        if self.returncode is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            self._read()
        return self.returncode

    def _read(self) -> None:
        """Reads how the program has ended; without an answer the prepared process is gone."""
        said = os.read(self._told, 100)
        os.close(self._told)
        self.returncode = int(said) if said else -signal.SIGKILL


@lru_cache(maxsize=1)
def _line() -> socket.socket:
    """The connection of this process to the prepared one, which all processes of a test run share:
    the first that needs it starts it."""
    folder = Path(os.environ[PLACE])
    folder.mkdir(exist_ok=True)
    path = str(folder / "socket")
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LONGEST)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            line.connect(path)
        except OSError:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
                Path(path).unlink(missing_ok=True)
                listener.bind(path)
                listener.listen(64)
                line.connect(path)
                _mine.append(
                    subprocess.Popen(
                        [sys.executable, "-m", "tests.prepared", str(listener.fileno())],
                        cwd=ROOT,
                        pass_fds=[listener.fileno()],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                    )
                )
    return line


def _started(words: bytes, descriptors: Sequence[int]) -> int:
    """Has a program started and returns the id of its process; `descriptors` are its three streams,
    and the one that gets its exit status."""
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
    with _one_at_a_time:
        _line().sendmsg([words], [rights])
        return int(_line().recv(100))


class _Starter:
    """The prepared process: starts what it is asked to, and tells the end of each program through
    its descriptor."""

    def __init__(self, listener: socket.socket) -> None:
        self.listener, self.lines = listener, set[socket.socket]()
        self.waking, self.bell = os.pipe()
        os.set_blocking(self.bell, False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.bell, warn_on_full_buffer=False)
        self.living: dict[int, int] = {}  # id of a process: the descriptor that tells its end

    def serve(self) -> None:
        """Works until nobody is left to ask."""
        while True:
            ready = select.select([self.listener, self.waking, *self.lines], [], [])[0]
            if self.waking in ready:
                os.read(self.waking, 4096)
                self.reap()
            if self.listener in ready:
                self.lines.add(self.listener.accept()[0])
            for line in self.lines & set(ready):
                words, descriptors = _received(line)
                if words:
                    line.send(str(self.start(words, descriptors)).encode())
                    continue
                self.lines.remove(line)
                line.close()
                if not self.lines:
                    return

    def start(self, words: bytes, descriptors: list[int]) -> int:
        tells = descriptors.pop()
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            sockets = [self.listener.detach(), *(line.detach() for line in self.lines)]
            for number in (*sockets, self.waking, self.bell, tells, *self.living.values()):
                os.close(number)
            _become(json.loads(words), descriptors)
        self.living[pid] = tells
        for number in descriptors:
            os.close(number)
        return pid

    def reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                tells = self.living.pop(found[0])
                with contextlib.suppress(BrokenPipeError):  # nobody waits for it
                    os.write(tells, str(os.waitstatus_to_exitcode(found[1])).encode())
                os.close(tells)


def _received(line: socket.socket) -> tuple[bytes, list[int]]:
    words, rights, _flags, _from = line.recvmsg(LONGEST, socket.CMSG_LEN(4 * 4))
    numbers = array.array("i")
    for _level, _kind, data in rights:
        numbers.frombytes(data)
    return words, list(numbers)


def _become(wanted: Mapping[str, Any], descriptors: Sequence[int]) -> None:
    """Turns this newly forked process into the program and ends with it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if wanted["session"]:
        os.setsid()
    for number, place in enumerate(descriptors):
        os.dup2(place, number)
    for place in set(descriptors) - {0, 1, 2}:
        os.close(place)
    os.chdir(wanted["cwd"])
    os.environ.clear()
    os.environ.update(wanted["env"])
    time.tzset()
    sys.argv = wanted["args"]
    status = 0
    try:
        if sys.argv[0] == "-m":
            del sys.argv[0]
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        status = _status(end.code)
    except KeyboardInterrupt:
        status = 130
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    _end(status)


def _status(code: object) -> int:
    if code is None or isinstance(code, int):
        return code or 0
    sys.stderr.write(f"{code}\n")
    return 1


def _end(status: int) -> None:
    """Ends as the interpreter does: other threads and what was registered first."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def main() -> None:
    starter = _Starter(socket.socket(fileno=int(sys.argv[1])))
    for name in (*LIBRARIES, *pure_modules()):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # so that collections in the forked processes do not copy these pages
    starter.serve()


if __name__ == "__main__":
    main()
