"""A process that was forked neither uses nor ends the connections and the results of its parent."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.sources.every_source import ROWS, Source

#: A child does `use`, and ends as a program ends.
FORKED = """
import atexit, gc, os, sys, warnings
import colonnade

warnings.simplefilter("ignore", DeprecationWarning)  # of forks in a process with threads
connection = colonnade.connect(sys.argv[1])
result = connection.query("select id from readings order by id", chunk_rows=100)
batches = iter(result)
rows = next(batches).num_rows
child = os.fork()
if child == 0:
    try:
        {use}
    except colonnade.InterfaceError as error:
        print(error, flush=True)
    {end}
print("child", os.waitpid(child, 0)[1])
print("rows", rows + sum(batch.num_rows for batch in batches))
print("again", connection.query("select 42 as a").to_arrow().column(0)[0].as_py())
"""
#: DuckDB's library crashes when a forked process drops its connections, at the latest at its end.
END_OF_DUCKDB = "os._exit(0)"
#: OpenSSL in another library's driver waits at exit for a lock that a thread of the parent may have held at the fork.
#: The functions of Python's exit run, but not those of C.
END_OF_DRIVERS = "atexit._run_exitfuncs(); sys.stdout.flush(); os._exit(0)"
MESSAGE = "belongs to the process from which this one was forked\nHint: connect in each process, after the fork\n"


def run(code: str, uri: str) -> str:
    command = [sys.executable, "-c", code, uri]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done.stdout


def end_of_child(source: Source) -> str:
    if source.uri.startswith("duckdb:"):
        return END_OF_DUCKDB
    return END_OF_DRIVERS if source.uri.startswith(("adbc:", "odbc:")) else "sys.exit(0)"


@pytest.mark.parametrize(
    ("use", "message"),
    [
        ("connection.query('select 1 as a')", MESSAGE),
        ("connection.execute('select 1 as a')", MESSAGE),
        ("next(batches)", MESSAGE),
        ("result.close(); connection.close(); print(connection.is_open, flush=True)", "False\n"),
        ("connection.cancel(); del batches, result, connection; gc.collect()", ""),
    ],
    ids=["query", "execute", "read", "close", "drop"],
)
def test_a_fork_leaves_the_connection_to_its_parent(source: Source, use: str, message: str) -> None:
    is_duckdb = source.uri.startswith("duckdb:")
    if is_duckdb and "del" in use:
        pytest.skip("DuckDB's library crashes then")
    printed = run(FORKED.format(use=use, end=end_of_child(source)), source.uri)
    end = f"child 0\nrows {ROWS}\nagain 42\n"
    assert printed.endswith(end)
    said = printed.removesuffix(end)
    # Cancelling is refused, or does nothing.
    assert said.endswith(message) if message else said == "" or said.endswith(MESSAGE)


def test_a_fork_connects_by_itself(source: Source) -> None:
    if source.uri.startswith("duckdb:"):
        pytest.skip("one process at a time opens a DuckDB file")
    use = "print(colonnade.read_sql(sys.argv[1], 'select id from readings', return_type='arrow').num_rows, flush=True)"
    assert (
        run(FORKED.format(use=use, end=end_of_child(source)), source.uri) == f"{ROWS}\nchild 0\nrows {ROWS}\nagain 42\n"
    )
