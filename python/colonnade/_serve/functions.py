"""Functions in Python: which interpreter runs them, and what they may use."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from colonnade._core import FunctionWorkers, Worker

#: A template's whole environment. One thread for linear algebra: threads that start before a fork do not exist after
#: it.
ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}

#: What an interpreter has to have, as a program that says what is missing.
CHECK = """
import importlib, sys
if sys.implementation.name != "cpython" or sys.version_info < (3, 11):
    sys.exit(f"it is {sys.implementation.name} {sys.version.split()[0]}, and CPython 3.11 or newer is needed")
for name in ["numpy", *sys.argv[1:]]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        sys.exit(f"import {name}: {error}")
"""


@dataclass(frozen=True)
class Functions:
    """The options of functions. The fields have the names of the command's options, without `udf_`."""

    #: The interpreter; None is this one.
    python: str | None
    #: Modules that are imported before a worker is forked.
    preload: list[str]
    isolation: Literal["sandbox", "process"]
    #: The most worker processes of all sessions.
    max_workers: int
    #: The most worker processes of a session; None is `max_workers`.
    workers: int | None
    #: In bytes, for each worker.
    memory: int
    #: Seconds of one call; 0 is no limit.
    timeout: float
    #: Files and directories that functions may read.
    read: list[str]
    #: The user of the processes; None is the server's.
    user: str | None


#: A command, its environment, and its user and group.
Program = tuple[list[str], list[tuple[str, str]], tuple[int, int] | None]


def template(functions: Functions) -> Program:
    """How the supervisor starts the process that forks workers. SystemExit if it cannot run."""
    python = functions.python or sys.executable
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
    check(python, functions.preload, user, package)
    command = [python, "-I", "-B", str(package / "__main__.py"), *functions.preload]
    return command, list(ENVIRONMENT.items()), user


def check(python: str, modules: list[str], user: tuple[int, int] | None, package: Path) -> None:
    """Refuse an interpreter that does not run, or lacks a module, for the user of functions."""
    program = f"open({str(package / '__main__.py')!r}).close()\n{CHECK}"
    command = [python, "-I", "-B", "-c", program, *modules]
    identity = {} if user is None else {"user": user[0], "group": user[1], "extra_groups": []}
    try:
        subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True, text=True, cwd="/", **identity)
    except OSError as error:
        reason = error.strerror or str(error)
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip().rpartition("\n")[2]
    else:
        return
    whose = "" if user is None else " as the user of --udf-user"
    raise SystemExit(f"colonnade: {python} cannot run functions{whose}: {reason}; --udf-python PATH names another one")


def workers(functions: Functions, worker: Worker) -> FunctionWorkers:
    """The worker processes of this server."""
    # Only Linux has them.
    from colonnade._core import FunctionWorkers

    return FunctionWorkers(
        worker.templates(),
        isolation=functions.isolation,
        memory=functions.memory,
        workers=functions.max_workers,
        session_workers=functions.workers,
        timeout=functions.timeout or None,
        readable=functions.read,
    )
