"""Functions in Python: which interpreter runs them, and what they may use."""

from __future__ import annotations

import importlib
import os
import pwd
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from colonnade_serve._core import FunctionProcesses, Worker

    from .private import PrivatePaths

#: A template's whole environment. One thread for linear algebra: threads that start before a fork do not exist after
#: it.
ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}

#: How many threads of sessions may have functions in the server's process.
MOST_LOCAL = 10_000

#: What an interpreter has to have, as a program that says what is missing.
CHECK = """
import importlib, sys
if sys.implementation.name != "cpython" or sys.version_info < (3, 11):
    sys.exit(f"it is {sys.implementation.name} {sys.version.split()[0]}, and CPython 3.11 or newer is needed")
for name in ["numpy", *sys.argv[1:]]:
    try:
        importlib.import_module(name)
    except (ImportError, OSError) as error:
        sys.exit(f"import {name}: {error}")
"""
#: Then it says what it reads.
READABLE = """
import os, runpy
sys.stdout.buffer.write(b"\\0".join([b"", b"", *map(os.fsencode, runpy.run_path(main)["template"]().readable())]))
"""


@dataclass(frozen=True)
class Functions:
    """The options of functions. The fields have the names of the command's options, without `udf_`."""

    #: The interpreter; None is this one.
    python: str | None
    #: Modules that are imported before a function process is forked.
    preload: list[str]
    isolation: Literal["sandbox", "process", "none"]
    #: The most function processes of all sessions.
    max_workers: int
    #: The most function processes of a session; None is `max_workers`.
    workers: int | None
    #: In bytes, for each function process.
    memory: int
    #: Seconds of one call; 0 is no limit.
    timeout: float
    #: Files and directories that functions may read.
    read: list[str]
    #: The user of the processes; None is the server's.
    user: str | None

    @property
    def interpreter(self) -> str:
        return self.python or sys.executable

    def __str__(self) -> str:
        """What runs functions."""
        return self.interpreter if self.user is None else f"{self.interpreter} as the user {self.user}"


#: A command, its environment, and its user and group.
Program = tuple[list[str], list[tuple[str, str]], tuple[int, int] | None]


def template(functions: Functions) -> tuple[Program, list[str]]:
    """How the supervisor starts the template, and what its interpreter reads. SystemExit if it cannot
    run."""
    user = None
    if functions.user is not None:
        try:
            found = pwd.getpwnam(functions.user)
        except KeyError:
            raise SystemExit(f"colonnade: there is no user {functions.user}: --udf-user") from None
        user = (found.pw_uid, found.pw_gid)
    elif os.geteuid() == 0:
        raise SystemExit(
            "colonnade: the server runs as root: --udf needs --udf-user NAME, an ordinary user for functions"
        )
    package = Path(__file__).parents[1] / "_udf"
    readable = check(functions, user, package)
    command = [functions.interpreter, "-I", "-B", str(package / "__main__.py"), *functions.preload]
    return (command, list(ENVIRONMENT.items()), user), readable


def check(functions: Functions, user: tuple[int, int] | None, package: Path) -> list[str]:
    """Refuse an interpreter that does not run, or lacks a module, for the user of functions. Returns what it reads."""
    main = package / "__main__.py"
    program = f"main = {str(main)!r}\nopen(main).close()\n{CHECK}{READABLE}"
    command = [functions.interpreter, "-I", "-B", "-c", program, *functions.preload]
    identity: Any = {} if user is None else {"user": user[0], "group": user[1], "extra_groups": []}
    try:
        done = subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True, cwd="/", **identity)
    except OSError as error:
        reason = error.strerror or str(error)
    except subprocess.CalledProcessError as error:
        reason = last_error(error.stderr.decode(errors="replace"))
    else:
        return [os.fsdecode(path) for path in done.stdout.rpartition(b"\0\0")[2].split(b"\0")]
    reason = closed_to(identity, functions.interpreter, main) or reason
    whose = "" if user is None else f" as the user {functions.user}"
    raise SystemExit(
        f"colonnade: {functions.interpreter} cannot run functions{whose}: {reason}; --udf-python PATH names another one"
    )


def last_error(text: str) -> str:
    """The line of an interpreter's output that says why it has ended."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "Error: " in line]
    return (errors or lines or ["it has ended without a message"])[-1]


def closed_to(identity: dict[str, Any], python: str, main: Path) -> str | None:
    """What the user of functions has no right to read, of an interpreter that does not start and of this package."""
    program = Path(shutil.which(python) or python).absolute()
    real = program.resolve()
    tests = [(letter, at) for path in (program, real, main) for letter, at in way_to(path)]
    tests += [("x", program), ("x", real), ("r", main)]
    # Without them, an interpreter says only that it has no encodings.
    tests += [(letter, path) for path in real.parent.parent.glob("lib*/python3*") for letter in "xr"]
    loop = 'for one; do [ "-${one%%:*}" "${one#*:}" ] || { printf %s "$one"; exit; }; done'
    command = ["/bin/sh", "-c", loop, "sh", *(f"{letter}:{path}" for letter, path in tests)]
    try:
        found = subprocess.run(command, check=True, capture_output=True, cwd="/", **identity).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    letter, _, path = os.fsdecode(found).partition(":")
    if not path or not os.path.lexists(path):
        return None
    right = "read" if letter == "r" else "enter" if Path(path).is_dir() else "run"
    return f"the user has no right to {right} {path} (chmod o+{letter} gives it)"


def way_to(path: Path) -> list[tuple[str, Path]]:
    """The directories around a path, from the root on, and the right to enter them."""
    return [("x", folder) for folder in reversed(path.parents)]


def processes(functions: Functions, worker: Worker, private: PrivatePaths, server_memory: int) -> FunctionProcesses:
    """The function processes of this server. In the sandbox, they read nothing of `private`. `server_memory` is in
    bytes, for all sessions' functions in this process."""
    # Only Linux has them.
    from colonnade_serve._core import FunctionProcesses

    timeout = functions.timeout or None
    if functions.isolation == "none":
        return FunctionProcesses(
            isolation="none",
            memory=functions.memory,
            server_memory=server_memory,
            processes=MOST_LOCAL,
            timeout=timeout,
        )
    return FunctionProcesses(
        worker.templates(str(functions)),
        isolation=functions.isolation,
        memory=functions.memory,
        server_memory=server_memory,
        processes=functions.max_workers,
        session_processes=functions.workers,
        timeout=timeout,
        readable=functions.read,
        private=private,
    )


def begin_local(functions: Functions) -> list[Path]:
    """Import what functions use into this process, before it is confined. Returns what they may read: this
    interpreter's libraries."""
    print(
        "colonnade: functions run in the server's process and with its rights: whoever can connect can do what this "
        "user can",
        file=sys.stderr,
        flush=True,
    )
    for name in ("numpy", *functions.preload):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise RuntimeError(f"functions cannot run: import {name}: {error}") from None
    from colonnade_serve._udf import local
    from colonnade_serve._udf.template import readable

    assert local.LocalInterpreter
    return [Path(path) for path in readable()]
