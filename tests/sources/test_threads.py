"""Threads of one process that share a connection: one of them uses it at a time, and the others are refused."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import colonnade
import pytest

from tests.sources.every_source import ROWS, Source
from tests.support.raw_client import wait_until
from tests.testbed import postgres as pg

BUSY = "the connection still delivers a result"


@pytest.fixture
def many_switches() -> Iterator[None]:
    """Python's threads alternate at almost every step, so that they meet everywhere."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("many_switches")
def test_threads_that_do_not_take_turns_are_refused(source: Source) -> None:
    # A counter would lose some of what several threads add.
    outcomes: list[str] = []

    def read(connection: colonnade.Connection) -> None:
        for _ in range(50):
            try:
                table = connection.query("select count(*) as n from readings").to_arrow()
                outcomes.append(str(table.column(0)[0].as_py()))
            except colonnade.Error as error:
                outcomes.append(error.message.partition(":")[0])

    for _ in range(3):
        with colonnade.connect(source.uri) as connection:
            threads = [threading.Thread(target=read, args=(connection,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    found = Counter(outcomes)
    assert set(found) <= {str(ROWS), BUSY}
    assert found.total() == 600
    assert found[str(ROWS)] > 0


def test_closing_while_another_thread_reads(source: Source) -> None:
    """The thread gets all rows or an error of this package, and a library's connection is not closed under it."""
    rows = 500_000
    found: list[int | colonnade.Error] = []

    def read() -> None:
        try:
            found.append(connection.query(source.dialect.series.format(rows)).to_arrow().num_rows)
        except colonnade.Error as error:
            found.append(error)

    def is_refused() -> bool:
        try:
            connection.query("select 1 as a").to_arrow()
        except colonnade.InterfaceError as error:
            assert error.message.startswith(BUSY)
            return True
        return bool(found)

    connection = colonnade.connect(source.uri)
    thread = threading.Thread(target=read)
    thread.start()
    wait_until(is_refused)
    connection.close()
    thread.join()
    assert not connection.is_open
    (end,) = found
    assert end == rows or isinstance(end, (colonnade.InterfaceError, colonnade.OperationalError))


@pytest.mark.lack("adbc-sqlite", reason="its driver cannot stop a statement")
def test_closing_while_another_thread_waits_for_rows(source: Source) -> None:
    """Meanwhile a third thread is refused at once."""
    ends: list[colonnade.Error] = []

    def wait() -> None:
        while connection.is_open and not ends:
            # It is refused if the other one comes first.
            with suppress(colonnade.InterfaceError):
                try:
                    connection.query(source.dialect.silent).to_arrow()
                except colonnade.OperationalError as error:
                    ends.append(error)

    connection = source.connect()
    waiting = threading.Thread(target=wait)
    waiting.start()
    refused = 0
    # Some of them while it waits for the columns, most of them while it waits for rows.
    while refused < 300 and not ends:
        try:
            connection.query("select 1 as a").to_arrow()
        except colonnade.InterfaceError as error:
            assert error.message.startswith(BUSY)
            refused += 1
    connection.close()
    waiting.join()
    assert refused == 300


#: Threads that wait for each other hold the interpreter's lock, so that only another process can end them.
CLOSED_BY_SEVERAL = """
import sys, threading
import colonnade

sys.setswitchinterval(1e-6)

def use():
    start.wait()
    try:
        connection.query("select 42 as a").to_arrow()
    except colonnade.Error:
        pass

def close():
    start.wait()
    connection.close()

for _ in range(10):
    connection = colonnade.connect(sys.argv[1])
    start = threading.Barrier(4)
    threads = [threading.Thread(target=target) for target in (use, close, close, use)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not connection.is_open
print("closed")
"""
#: The query does not end at the first request. Meanwhile one thread waits for it and another one asks for the state.
ASKED_WHILE_WAITING = """
import sys, threading
import colonnade

sys.setswitchinterval(1e-6)
connection = colonnade.connect(sys.argv[1])
connection.execute(sys.argv[2])
connection.query("select pg_temp.slow() as a").close()
found = []
waiting = threading.Thread(target=lambda: found.append(connection.query("select 42 as a").to_arrow()))
waiting.start()
while not found:
    assert connection.is_open
print(found[0].column(0)[0])
"""
SLOW = """
create function pg_temp.slow() returns int language plpgsql as $$
begin
    perform pg_sleep(600);
    return 1;
exception when query_canceled then
    perform pg_sleep(600);
    return 1;
end $$
"""


def said(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_several_threads_close_a_connection(source: Source) -> None:
    assert said(CLOSED_BY_SEVERAL, source.uri) == "closed\n"


def test_the_state_of_a_connection_that_another_thread_waits_for(stock: pg.Cluster) -> None:
    assert said(ASKED_WHILE_WAITING, stock.uri(), SLOW) == "42\n"
