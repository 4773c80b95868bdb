"""The processes of functions in a server: their limits, what they reach, and what happens when one of them dies."""

from __future__ import annotations

import contextlib
import getpass
import os
import signal
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import colonnade_serve
import numpy
import psycopg
import pytest
from colonnade._cli.main import parser
from colonnade_serve._cli.serve import _functions
from colonnade_serve._serve.functions import Functions, check

from tests.functions.sessions import connected, serving, value
from tests.support.raw_client import wait_until
from tests.testbed.serving import Server, children, serve

#: The user of functions is that of the test, also if it is root.
OPTIONS = ("--udf", "--udf-user", getpass.getuser())


@contextmanager
def session(server: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        yield connection


def create(connection: psycopg.Connection, name: str, body: str) -> None:
    connection.execute(
        f"CREATE OR REPLACE FUNCTION {name}(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ {body} $$"
    )


def call(connection: psycopg.Connection, name: str) -> object:
    (row,) = connection.execute(f"SELECT {name}(i::INTEGER) FROM range(7, 8) t(i)").fetchall()
    return row[0]


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("readable") / "words"
    path.write_text("a b c")
    return path


@pytest.fixture(scope="module")
def server(words: Path) -> Iterator[Server]:
    limits = ("--udf-memory", "128MiB", "--udf-timeout", "0.5", "--udf-max-workers", "2")
    with serve(*OPTIONS, *limits, "--udf-read", words.parent, "--udf-preload", "decimal,wave") as server:
        yield server


def until(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def exists(process: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        ("while True: pass", "57014", "--udf-timeout=0.5"),
        ("return numpy.ones(10**9)", "53200", "--udf-memory=134217728"),
        ("import ctypes; ctypes.string_at(0)", "38000", "segmentation fault"),
        ("import os; os._exit(4)", "38000", "exit status 4"),
        ("open('/etc/passwd')", "38000", "PermissionError"),
        ("import os; os.listdir('/')", "38000", "PermissionError"),
        ("import socket; socket.socket()", "38000", "PermissionError"),
        ("import os; os.fork()", "38000", "PermissionError"),
        ("import os; os.kill(os.getppid(), 9)", "38000", "PermissionError"),
    ],
)
def test_a_function_is_contained(server: Server, body: str, code: str, text: str) -> None:
    with session(server) as connection:
        create(connection, "f", body)
        with pytest.raises(psycopg.Error) as caught:
            call(connection, "f")
        assert (caught.value.sqlstate, text in str(caught.value)) == (code, True), caught.value
        create(connection, "f", "return x")
        assert call(connection, "f") == 7


def test_a_worker_is_confined_before_a_function_runs(server: Server) -> None:
    """What the kernel says of a function process (prctl(2), proc(5))."""
    body = """
import ctypes, os, resource, sys
libc, signal = ctypes.CDLL(None), ctypes.c_int()
libc.prctl(2, ctypes.byref(signal))
assert signal.value == 9, 'it ends with the template'
assert libc.prctl(3) == 0, 'others do not read it'
status = dict(line.split(':', 1) for line in open('/proc/self/status').read().splitlines())
assert status['NoNewPrivs'].strip() == '1'
assert status['Seccomp'].strip() == '2'
assert int(status['CapEff'], 16) == int(status['CapPrm'], 16) == 0
assert sys.flags.isolated and sys.flags.dont_write_bytecode
assert dict(os.environ) == {}
own = [f'/proc/self/fd/{number}' for number in os.listdir('/proc/self/fd')]
found = {os.readlink(path) for path in own if os.path.lexists(path)}
assert all(path == '/dev/null' or path.startswith(f'/proc/{os.getpid()}/') for path in found), found
for name in ('CORE', 'FSIZE'):
    assert resource.getrlimit(getattr(resource, f'RLIMIT_{name}')) == (0, 0)
assert resource.getrlimit(resource.RLIMIT_DATA)[0] >= 128 << 20
assert os.getcwd() == '/'
return x
"""
    with session(server) as connection:
        create(connection, "f", body)
        assert call(connection, "f") == 7


def test_a_process_that_computes_after_its_call_ends(server: Server) -> None:
    """Between two statements, and while the client reads the rows of one."""
    # One thread for each process: several calls may reach it before it is ended.
    thread = "threading.Thread(target=lambda: all(True for _ in iter(int, 1)), daemon=True).start()"
    body = f"import os, threading; threading.active_count() > 1 or {thread}"
    with session(server) as connection:
        create(connection, "f", f"{body}; return numpy.full(len(x), os.getpid())")
        process = call(connection, "f")
        assert isinstance(process, int)
        wait_until(lambda: not exists(process))
        with connection.cursor() as cursor:
            # DuckDB computes no further than a few batches ahead of the client.
            rows = cursor.stream("SELECT f(i::INTEGER), repeat('x', 10000) FROM range(20000) t(i)")
            process, _ = next(rows)
            wait_until(lambda: not exists(process))
            other, _ = max(rows, key=lambda row: row[0] != process)
            assert other != process


def test_processes_that_a_function_has_started_end_with_its_own() -> None:
    """Without a sandbox, where it can start some."""
    with serve(*OPTIONS, "--udf-isolation", "process") as server, session(server) as connection:
        create(connection, "f", "import subprocess; return x * 0 + subprocess.Popen(['sleep', '1000']).pid")
        started = [call(connection, "f") for _ in range(2)]
        assert all(exists(process) for process in started)
        connection.execute("DISCARD ALL")
        until(lambda: not any(map(exists, started)))
        started = [call(connection, "f")]
        create(connection, "g", "import os; os._exit(1)")
        with pytest.raises(psycopg.errors.ExternalRoutineException):
            call(connection, "g")
        until(lambda: not any(map(exists, started)))


def test_there_are_no_semaphores_of_processes(server: Server) -> None:
    """They are files in `/dev/shm`. So joblib computes with one thread."""
    with session(server) as connection:
        create(connection, "f", "import multiprocessing; multiprocessing.Lock(); return x")
        with pytest.raises(psycopg.errors.ExternalRoutineException, match="PermissionError"):
            call(connection, "f")


def test_a_dead_template_is_replaced(server: Server) -> None:
    with session(server) as connection, session(server) as other:
        create(connection, "f", "return x")
        assert call(connection, "f") == 7
        template = server.template
        os.kill(template, signal.SIGKILL)

        def works() -> bool:
            # The function process ends with its template, some time after it. A call that meets its death fails.
            with contextlib.suppress(psycopg.errors.SystemError):
                return call(connection, "f") == call(other, "f") == 7
            return False

        wait_until(works)
        assert server.template != template


def test_a_cancelled_statement_ends_and_processes_end_with_the_server_s_worker(tmp_path: Path) -> None:
    with serve(tmp_path / "a.duckdb", "--create", *OPTIONS) as server:
        with session(server) as connection:
            create(connection, "f", "while True: pass")
            cancel = threading.Timer(0.5, connection.cancel)
            cancel.start()
            begun = time.monotonic()
            with pytest.raises(psycopg.errors.QueryCanceled):
                call(connection, "f")
            cancel.join()
            assert time.monotonic() - begun < 5
            create(connection, "f", "return x")
            assert call(connection, "f") == 7
            first = [server.template, *children(server.template)]
            assert len(first) == 2
            os.kill(server.worker, signal.SIGKILL)
        until(lambda: not any(map(exists, first)))

        def works() -> bool:
            try:
                with session(server) as connection:
                    return call(connection, "f") == 7
            except psycopg.OperationalError:
                return False

        until(works)
        second = [server.template, *children(server.template)]
    until(lambda: not any(map(exists, second)))


def test_functions_may_read_what_the_operator_names(server: Server, words: Path) -> None:
    with session(server) as connection:
        create(connection, "f", f"return numpy.full(len(x), len(open('{words}').read().split()))")
        assert call(connection, "f") == 3
        create(connection, "f", f"open('{words}', 'w')")
        with pytest.raises(psycopg.Error, match="PermissionError"):
            call(connection, "f")


def test_modules_are_loaded_before_the_fork(server: Server) -> None:
    with session(server) as connection:
        create(connection, "f", "import sys; return x * ('wave' in sys.modules)")
        assert call(connection, "f") == 7


def test_without_a_sandbox_files_can_be_read() -> None:
    with serve(*OPTIONS, "--udf-isolation", "process") as server, session(server) as connection:
        create(connection, "f", "return numpy.full(len(x), len(open('/etc/passwd').read()))")
        assert call(connection, "f") == len(Path("/etc/passwd").read_text())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        # No option of functions without functions.
        (("--udf-python", sys.executable), "--udf-python goes with --udf"),
        (("--udf-preload", "json"), "--udf-preload goes with --udf"),
        (("--udf-isolation", "process"), "--udf-isolation goes with --udf"),
        (("--udf-workers", "2"), "--udf-workers goes with --udf"),
        (("--udf-max-workers", "2"), "--udf-max-workers goes with --udf"),
        (("--udf-memory", "1GB"), "--udf-memory goes with --udf"),
        (("--udf-timeout", "3"), "--udf-timeout goes with --udf"),
        (("--udf-read", "/etc"), "--udf-read goes with --udf"),
        (("--udf-user", "nobody"), "--udf-user goes with --udf"),
        ((*OPTIONS, "--udf-python", "/bin/false"), "/bin/false cannot run functions"),
        ((*OPTIONS, "--udf-python", "/no/such/python"), "/no/such/python cannot run functions"),
        ((*OPTIONS, "--udf-preload", "no_such_module"), "No module named 'no_such_module'"),
        ((*OPTIONS, "--udf-preload", ""), "Empty module name"),
        (("--udf", "--udf-user", "no-such-user"), "there is no user no-such-user"),
        ((*OPTIONS, "--udf-isolation", "jail"), "invalid choice: 'jail'"),
        ((*OPTIONS, "--udf-max-workers", "0"), "--udf-max-workers is 1 at least"),
        ((*OPTIONS, "--udf-workers", "0"), "--udf-workers is 1 at least"),
        ((*OPTIONS, "--udf-workers", "x"), "invalid int value: 'x'"),
        ((*OPTIONS, "--udf-memory", "0"), "--udf-memory is 1 at least"),
        ((*OPTIONS, "--udf-memory=-1GB"), "--udf-memory is 1 at least"),
        ((*OPTIONS, "--udf-memory", "much"), "invalid size value: 'much'"),
        ((*OPTIONS, "--udf-timeout", "-1"), "--udf-timeout"),
        ((*OPTIONS, "--udf-timeout", "nan"), "--udf-timeout"),
        ((*OPTIONS, "--udf-read", "/no/such/file"), "there is no /no/such/file: --udf-read"),
        ((*OPTIONS, "--source", "sqlite:"), "--udf is for a DuckDB database"),
    ],
)
def test_wrong_options_are_refused(arguments: tuple[str, ...], message: str) -> None:
    command = [sys.executable, "-m", "colonnade", "serve", "--listen", "127.0.0.1:0", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and message in done.stderr


def test_options_have_their_defaults() -> None:
    assert _functions(parser().parse_args(["serve", "--udf"])) == Functions(
        python=None,
        preload=[],
        isolation="sandbox",
        max_workers=4 * (os.cpu_count() or 1),
        workers=None,
        memory=2 << 30,
        timeout=0,
        read=[],
        user=None,
    )
    assert _functions(parser().parse_args(["serve"])) is None


def test_the_interpreter_must_be_new_and_have_numpy(tmp_path: Path) -> None:
    """An interpreter that says that it is another one, and one without numpy."""
    given = _functions(parser().parse_args(["serve", "--udf"]))
    assert given is not None
    for change, message in (
        ("sys.version_info = (3, 10, 9)", "CPython 3.11 or newer is needed"),
        ("sys.implementation.name = 'pypy'", "it is pypy"),
        ("sys.modules['numpy'] = None", "import numpy"),
    ):
        other = tmp_path / "python"
        program = f"import sys; {change}; program = sys.argv[4]; sys.argv = ['-c']; exec(program)"
        other.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{program}" "$@"\n')
        other.chmod(0o755)
        with pytest.raises(SystemExit, match=message) as refused:
            check(replace(given, python=str(other)), None, Path(colonnade_serve.__file__).parent / "_udf")
        assert f"{other} cannot run functions" in str(refused.value)
        assert "--udf-python PATH names another one" in str(refused.value)


def test_an_environment_decides_which_packages_there_are(tmp_path: Path) -> None:
    """The packages of `--udf-python` can be imported, and those of the server cannot."""
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    for name in ("numpy", "numpy.libs"):
        (packages / name).symlink_to(Path(numpy.__file__).parents[1] / name)
    (packages / "only_here.py").write_text("answer = 42")
    readable = ("--udf-read", str(Path(numpy.__file__).parents[1]))
    other = ("--udf-python", environment / "bin" / "python")
    with serve(*OPTIONS, *other, *readable) as server, session(server) as connection:
        create(connection, "f", "import only_here; return numpy.full(len(x), only_here.answer)")
        assert call(connection, "f") == 42
        create(connection, "f", "import duckdb; return x")
        with pytest.raises(psycopg.Error, match="No module named 'duckdb'"):
            call(connection, "f")


def test_a_session_has_as_many_processes_as_the_operator_says() -> None:
    """A function whose query calls another one needs two."""
    outer = "return x + _conn.execute('SELECT inner_one(r) AS r FROM (VALUES (3)) t(r)')['r']"
    with serve(*OPTIONS, "--threads", "1", "--udf-workers", "1") as server, session(server) as connection:
        create(connection, "inner_one", "return x % 100")
        create(connection, "outer_one", outer)
        assert call(connection, "inner_one") == 7
        with pytest.raises(psycopg.Error, match="--udf-workers") as caught:
            call(connection, "outer_one")
        assert caught.value.sqlstate == "53300"
        assert call(connection, "inner_one") == 7
    with serve(*OPTIONS, "--threads", "1", "--udf-workers", "2") as server, session(server) as connection:
        create(connection, "inner_one", "return x % 100")
        create(connection, "outer_one", outer)
        assert call(connection, "outer_one") == 10


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may not run functions itself")
def test_root_must_name_a_user() -> None:
    command = [sys.executable, "-m", "colonnade", "serve", "--udf", "--listen", "127.0.0.1:0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "--udf-user" in done.stderr


@pytest.mark.parametrize("threads", ["1", "2"])
def test_the_engines_threads_are_bound_to_no_cpu_after_a_statement(threads: str) -> None:
    with serving("--threads", threads) as server, connected(server) as connection:
        allowed = os.sched_getaffinity(server.worker)
        connection.execute(
            "CREATE FUNCTION rest(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x % 100 $$"
        )
        assert value(connection, "SELECT sum(rest(i::INTEGER)) FROM range(3_000_000) r(i)") == 148_500_000
        threads_of = Path(f"/proc/{server.worker}/task").iterdir()
        assert all(os.sched_getaffinity(int(thread.name)) == allowed for thread in threads_of)
