"""More sessions than processes of functions: idle processes of other sessions end, and those in use stay."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest

from tests.functions.sessions import connected, serving, value
from tests.support.raw_client import wait_until
from tests.testbed.serving import Server, children

PROCESSES = 2
SESSIONS = 12


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--threads", "1", "--udf-max-workers", str(PROCESSES)) as server:
        with connected(server) as connection:
            connection.execute(
                # What a session leaves in its process is seen by its later calls.
                "CREATE FUNCTION added(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$\n"
                "import builtins\n"
                "builtins.total = getattr(builtins, 'total', 0) + int(x[0])\n"
                "return numpy.full(len(x), builtins.total) $$"
            )
            connection.execute(
                "CREATE FUNCTION slow(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$\n"
                "import time; time.sleep(3); return x $$"
            )
        yield server


@pytest.fixture
def sessions(server: Server) -> Iterator[list[psycopg.Connection]]:
    # Those of the test before have ended.
    wait_until(lambda: not children(server.template))
    with ExitStack() as stack:
        yield [stack.enter_context(connected(server)) for _ in range(SESSIONS)]


def added(session: psycopg.Connection, number: int) -> object:
    return value(session, f"SELECT added(x) FROM (VALUES ({number})) t(x)")


def test_the_least_recently_used_idle_process_ends_for_another_session(
    server: Server, sessions: list[psycopg.Connection]
) -> None:
    first, second, third, *_ = sessions
    assert (added(first, 1), added(second, 10), added(first, 1)) == (1, 10, 2)
    before = set(children(server.template))
    # The third session sees nothing of what the second one has left in its process.
    assert added(third, 100) == 100
    wait_until(lambda: len(children(server.template)) == PROCESSES)
    assert len(before & set(children(server.template))) == 1
    assert added(first, 1) == 3
    # The second session has another process.
    assert (added(second, 10), added(second, 10)) == (10, 20)
    assert (added(first, 1), added(third, 100)) == (4, 100)
    wait_until(lambda: len(children(server.template)) == PROCESSES)


def test_processes_in_use_stay(server: Server, sessions: list[psycopg.Connection]) -> None:
    *busy, other = sessions[: PROCESSES + 1]
    with ThreadPoolExecutor(PROCESSES) as pool:
        calls = [pool.submit(value, session, "SELECT slow(x) FROM (VALUES (7)) t(x)") for session in busy]
        wait_until(lambda: len(children(server.template)) == PROCESSES)
        time.sleep(0.2)
        with pytest.raises(psycopg.OperationalError, match="--udf-max-workers") as caught:
            added(other, 1)
        assert caught.value.sqlstate == "53300"
        assert [call.result() for call in calls] == [7] * PROCESSES
    assert (added(other, 1), added(busy[0], 1)) == (1, 1)


def test_no_call_is_refused_while_fewer_are_running_than_processes(sessions: list[psycopg.Connection]) -> None:
    turns = threading.Semaphore(PROCESSES)

    def run(number: int) -> None:
        total = 0
        for _ in range(8):
            with turns:
                found = added(sessions[number], number + 1)
            # The session's process, or a new one. Another session's would have another sum.
            assert found in (number + 1, total + number + 1)
            total = found

    with ThreadPoolExecutor(SESSIONS) as pool:
        list(pool.map(run, range(SESSIONS)))


def test_all_sessions_call_at_the_same_moment(server: Server, sessions: list[psycopg.Connection]) -> None:
    begin = threading.Barrier(SESSIONS)

    def run(number: int) -> object:
        begin.wait()
        try:
            return added(sessions[number], number + 1)
        except psycopg.OperationalError as error:
            assert error.sqlstate == "53300"
            return None

    with ThreadPoolExecutor(SESSIONS) as pool:
        for _ in range(5):
            found = list(pool.map(run, range(SESSIONS)))
            # Somebody always has a place, and nobody has another one's sum.
            assert any(sum is not None for sum in found)
            assert all(sum is None or sum % (number + 1) == 0 for number, sum in enumerate(found))
    # Afterwards each one finds a place.
    assert all(added(session, 1) is not None for session in sessions)
    wait_until(lambda: len(children(server.template)) == PROCESSES)
