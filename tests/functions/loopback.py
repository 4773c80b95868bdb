"""Servers and functions for tests of `_conn.execute`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.functions.sessions import connected, serving
from tests.testbed.serving import Server

#: Seconds within which a function ends after its limit, on a machine that is busy.
SOON = 10

ENDLESS = "SELECT count(*) AS n FROM range(100000000000) t(i) WHERE i % 7 = 3"


@contextmanager
def prepared(threads: int) -> Iterator[Server]:
    """A server with a table, and a function that counts its rows."""
    with serving("--threads", str(threads), "--udf-max-workers", "40") as server:
        with connected(server) as connection:
            connection.execute("CREATE TABLE t AS SELECT i::INTEGER AS i FROM range(100000) t(i)")
            define(connection, "plus_rows", "return x + int(_conn.execute('SELECT count(*) AS n FROM t')['n'][0])")
        yield server


def define(connection: psycopg.Connection, name: str, body: str, *, more: str = "", returns: str = "BIGINT") -> None:
    """Create a function of one integer."""
    text = (
        f"CREATE OR REPLACE FUNCTION {name}(x INTEGER) RETURNS {returns} LANGUAGE PYTHON_MAP {more} AS $f$\n{body}\n$f$"
    )
    connection.execute(text.encode())


def failure(connection: psycopg.Connection, query: str) -> psycopg.errors.Diagnostic:
    """The error of a statement."""
    with pytest.raises(psycopg.Error) as failed:
        connection.execute(query.encode())
    return failed.value.diag
