"""A kernel without Landlock: functions are refused by name, unless the operator gives up the sandbox."""

from __future__ import annotations

import subprocess
import sys

import psycopg
import pytest

from tests.testbed.serving import function_options, serve

#: Runs a program with a filter of system calls under which the kernel has no Landlock, as before Linux 5.13.
WITHOUT_LANDLOCK = """
import ctypes, os, struct, sys
LANDLOCK_CREATE_RULESET, ENOSYS = 444, 38
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
program = b"".join(struct.pack("HBBI", *instruction) for instruction in (
    (LOAD_NUMBER, 0, 0, 0),
    (JUMP_IF_EQUAL, 0, 1, LANDLOCK_CREATE_RULESET),
    (RETURN, 0, 0, 0x00050000 | ENOSYS),
    (RETURN, 0, 0, 0x7FFF0000),
))
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
given = Program(4, program)
assert libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(given), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def old_kernel(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What stands before a command, so that it runs on such a kernel. Servers of the test do."""
    before = [sys.executable, "-c", WITHOUT_LANDLOCK]
    popen = subprocess.Popen

    def started(command: list[str], *arguments: object, **options: object) -> object:
        return popen([*before, *command], *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr("tests.testbed.serving.subprocess.Popen", started)
    return before


def test_functions_are_refused_by_name(old_kernel: list[str]) -> None:
    command = [sys.executable, "-m", "colonnade", "serve", "--listen", "127.0.0.1:0", *function_options()]
    done = subprocess.run([*old_kernel, *command], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert "this kernel has no Landlock" in done.stderr
    assert "--udf-isolation=process" in done.stderr


@pytest.mark.usefixtures("old_kernel")
def test_functions_run_without_a_sandbox_if_the_operator_says_so() -> None:
    with (
        serve(*function_options(), "--udf-isolation", "process") as server,
        psycopg.connect(server.dsn, autocommit=True) as connection,
    ):
        connection.execute("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON_MAP AS $$ return x + 1 $$")
        assert connection.execute("SELECT f(1)").fetchone() == (2,)
