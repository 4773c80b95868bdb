"""What a function cannot use up: memory that no simple limit counts, and what all processes of its user share."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from colonnade_serve._udf import limits

from tests.functions.sessions import connected, serving
from tests.testbed.serving import Server

MEMORY = 128 << 20


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--udf-memory", str(MEMORY)) as server:
        yield server


def run(session: psycopg.Connection, body: str) -> None:
    """Run a body, whose assertions hold."""
    head = "CREATE OR REPLACE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS"
    imports = "import ctypes, mmap, resource, socket"
    session.execute(f"{head} $body$\n{imports}\n{body}\nreturn x\n$body$".encode())
    assert session.execute("SELECT f(i::INTEGER) FROM range(7, 8) r(i)").fetchall() == [(7,)]


def test_page_tables_have_a_limit(session: psycopg.Connection) -> None:
    """Pages that are only read are no memory of the process. Their page tables are: 400 MB for 200 GB."""
    body = """
how = dict(flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
mmap.mmap(-1, 8 << 30, **how).close()
try: mmap.mmap(-1, 80 << 30, **how)
except OSError as error: assert error.errno == 12
else: raise AssertionError('no limit')
"""
    run(session, body)


def test_the_stack_has_a_limit(session: psycopg.Connection) -> None:
    run(session, f"assert 0 < resource.getrlimit(resource.RLIMIT_STACK)[1] <= {MEMORY}")


def test_the_stack_does_not_become_larger_elsewhere(session: psycopg.Connection) -> None:
    """RLIMIT_STACK counts only as it grows. Other memory may move: long lists do."""
    body = """
libc = ctypes.CDLL(None, use_errno=True)
libc.mremap.restype = libc.mmap.restype = ctypes.c_void_p
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
failed = ctypes.c_void_p(-1).value
(stack,) = (line.split()[0] for line in open('/proc/self/maps') if line.endswith('[stack]\\n'))
first, end = (int(part, 16) for part in stack.split('-'))
for at in (first, end - 4096):
    for flags in (0, 1):
        assert libc.mremap(at, 4096, 1 << 30, flags) == failed and ctypes.get_errno() == 1
own = libc.mmap(None, 4096, 3, 0x22, -1, 0)
moved = libc.mremap(own, 4096, 1 << 20, 1)
assert moved != failed and libc.mremap(moved, 1 << 20, 1 << 28, 1) == failed and ctypes.get_errno() == 12
"""
    run(session, body)


def test_descriptors_have_a_limit(session: psycopg.Connection) -> None:
    """Each pair of sockets holds some 400 KB of the kernel's memory."""
    body = """
pairs = []
try:
    while len(pairs) < 10_000: pairs.append(socket.socketpair())
except OSError as error: assert error.errno == 24
assert 100 < len(pairs) <= 256
"""
    run(session, body)


def test_descriptors_within_sockets_keep_no_other_session_from_its_processes(
    server: Server, session: psycopg.Connection
) -> None:
    """The kernel counts them for the user, and the template sends some, too. Its limit is higher."""
    body = """
global pairs
pairs, sent = [], 0
try:
    while sent < 30_000:
        pairs.append(socket.socketpair(type=socket.SOCK_STREAM | socket.SOCK_NONBLOCK))
        try:
            while sent < 30_000:
                socket.send_fds(pairs[-1][0], [b'x'], [0] * 200)
                sent += 200
        except BlockingIOError: pass
except OSError as error: assert error.errno == 109, error
assert sent <= 800, sent
"""
    run(session, body)
    most, _ = resource.prlimit(server.template, resource.RLIMIT_NOFILE)
    run(session, f"assert 2 * resource.getrlimit(resource.RLIMIT_NOFILE)[1] <= {most}")
    with connected(server) as other:
        run(other, "pass")


def test_timers_have_a_limit(session: psycopg.Connection) -> None:
    body = """
made, identity = 0, ctypes.c_void_p()
while made < 5000 and ctypes.CDLL(None).timer_create(0, None, ctypes.byref(identity)) == 0: made += 1
assert 10 < made <= 1024, made
"""
    run(session, body)


def test_threads_leave_half_of_them_to_others(server: Server, session: psycopg.Connection) -> None:
    run(session, "pass")
    most, _ = resource.prlimit(server.template, resource.RLIMIT_NPROC)
    least = min([int(Path(path).read_text()) for path in limits.KERNEL_LIMITS] + [most] * (most > 0))
    run(session, f"assert 0 < 2 * resource.getrlimit(resource.RLIMIT_NPROC)[1] <= {least}")


def test_threads_need_little_memory(session: psycopg.Connection) -> None:
    """A process's memory counts the whole stack of each thread, and the server's own threads have large ones."""
    body = """
import threading
for _ in range(3):
    ends = threading.Event()
    started = [threading.Thread(target=ends.wait) for _ in range(12)]
    for thread in started: thread.start()
    ends.set()
    for thread in started: thread.join()
"""
    run(session, body)


def test_threads_of_one_session_leave_memory_to_those_of_another(server: Server, session: psycopg.Connection) -> None:
    body = """
import threading
global started, ends
ends = threading.Event()
started = [threading.Thread(target=ends.wait, daemon=True) for _ in range({})]
try:
    for thread in started: thread.start()
except RuntimeError: assert threading.active_count() > 12
else: raise AssertionError('no limit')
"""
    run(session, body.format(100))
    with connected(server) as other:
        run(other, body.format(12).partition("try:")[0] + "for thread in started: thread.start()")
