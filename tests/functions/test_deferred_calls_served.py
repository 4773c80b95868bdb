"""Functions beside the plan behind the server: all protocols and formats, errors, notices, cancelling."""

from __future__ import annotations

import time
from collections.abc import Iterator

import colonnade
import psycopg
import pytest

from tests.functions.sessions import connected, serving
from tests.testbed.serving import Server

#: Calls that are whole items, and the same within the plan.
BESIDE = "SELECT x, f(x) AS f, g(x, s) AS g FROM t"
WITHIN = f"SELECT * FROM ({BESIDE})"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as made, connected(made) as connection:
        for statement in (
            "CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP IMMUTABLE AS $$ return x % 100 $$",
            "CREATE FUNCTION g(x INTEGER, s VARCHAR) RETURNS VARCHAR LANGUAGE PYTHON_MAP STRICT AS $$\n"
            "return [f'{a}{b}' for a, b in zip(x, s)] $$",
            "CREATE FUNCTION says(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ print('called'); return x $$",
            "CREATE FUNCTION fails(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$\n"
            "raise TypeError('no operand') $$",
            "CREATE FUNCTION ends(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$\nif x[-1] > 90000:\n"
            "  raise ValueError('late')\nreturn x $$",
            "CREATE FUNCTION sleeps(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$\n"
            "import time; time.sleep(60); return x $$",
            "CREATE TABLE t AS SELECT x::INTEGER AS x, CASE WHEN x % 7 > 0 THEN 's' || x END AS s "
            "FROM range(100000) r(x)",
        ):
            connection.execute(statement.encode())
        yield made


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    with connected(server) as made:
        yield made


@pytest.mark.parametrize("binary", [False, True])
def test_rows_in_text_and_binary(connection: psycopg.Connection, binary: bool) -> None:
    beside = connection.execute(BESIDE.encode(), binary=binary).fetchall()
    assert beside == connection.execute(WITHIN.encode(), binary=binary).fetchall()
    assert beside[-1] == (99999, 99, "99999s99999")
    assert beside[7] == (7, 7, None)


def test_rows_in_columns(server: Server) -> None:
    uri = f"postgresql://tester@{server.host}:{server.port}/memory"
    beside = colonnade.read_sql(BESIDE, uri, return_type="arrow")
    assert beside.equals(colonnade.read_sql(WITHIN, uri, return_type="arrow"))
    assert beside.num_rows == 100_000


def test_values_of_parameters(connection: psycopg.Connection) -> None:
    query = b"SELECT f(x) FROM t WHERE x = %s"
    for value in (1, 203):
        assert connection.execute(query, [value]).fetchall() == [(value % 100,)]


def test_copy_and_cursors(connection: psycopg.Connection) -> None:
    with connection.cursor().copy(b"COPY (SELECT f(x) FROM t LIMIT 3) TO STDOUT") as copied:
        assert b"".join(copied) == b"0\n1\n2\n"
    with connection.transaction():
        connection.execute(b"DECLARE c CURSOR FOR SELECT f(x) FROM t")
        assert connection.execute(b"FETCH 2 FROM c").fetchall() == [(0,), (1,)]
        assert connection.execute(b"FETCH 1 FROM c").fetchall() == [(2,)]


def test_what_functions_print(connection: psycopg.Connection) -> None:
    printed: list[str | None] = []
    connection.add_notice_handler(lambda notice: printed.append(notice.message_primary))
    assert connection.execute(b"SELECT says(x) FROM t LIMIT 2").fetchall() == [(0,), (1,)]
    assert printed == ["called"]


def test_explain_says_where_functions_run(connection: psycopg.Connection) -> None:
    said: list[str | None] = []
    connection.add_notice_handler(lambda notice: said.append(notice.message_primary))
    connection.execute(f"EXPLAIN {BESIDE}".encode())
    connection.execute(f"EXPLAIN {WITHIN}".encode())
    connection.execute(b"EXPLAIN SELECT x FROM t")
    assert said == [
        "functions run beside the plan: main.f, main.g",
        "functions run within the plan: main.f, main.g",
    ]


@pytest.mark.parametrize("query", ["SELECT fails(x) FROM t", "SELECT * FROM (SELECT fails(x) FROM t)"])
def test_errors(connection: psycopg.Connection, query: str) -> None:
    with pytest.raises(psycopg.Error, match="no operand") as caught, connection.transaction():
        connection.execute(query.encode())
    assert caught.value.diag.sqlstate == "38000"
    assert caught.value.diag.context == 'function "main.fails", line 2'
    assert caught.value.diag.internal_query is not None
    assert connection.execute(b"SELECT f(3)").fetchall() == [(3,)]


def test_an_error_after_the_first_rows_ends_the_transaction(connection: psycopg.Connection) -> None:
    connection.execute(b"BEGIN")
    connection.execute(b"CREATE TABLE undone AS SELECT 1 AS x")
    with pytest.raises(psycopg.Error, match="late"):
        connection.execute(b"SELECT ends(x) FROM t")
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        connection.execute(b"SELECT 1")
    connection.execute(b"ROLLBACK")
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute(b"FROM undone")


def test_a_timeout_ends_a_call(connection: psycopg.Connection) -> None:
    connection.execute(b"SET statement_timeout = '300ms'")
    begun = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute(b"SELECT sleeps(x) FROM t")
    assert time.monotonic() - begun < 10
    connection.execute(b"SET statement_timeout = 0")
    assert connection.execute(b"SELECT f(5)").fetchall() == [(5,)]


def test_a_client_that_leaves_ends_its_statement(server: Server) -> None:
    with connected(server) as made:
        made.execute(b"BEGIN")
        made.execute(b"DECLARE c CURSOR FOR SELECT f(x) FROM t")
        assert made.execute(b"FETCH 1 FROM c").fetchall() == [(0,)]
    with connected(server) as other:
        assert other.execute(b"SELECT f(5)").fetchall() == [(5,)]
