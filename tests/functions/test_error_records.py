"""Errors of functions as clients get them: SQLSTATE, message, detail, context, and the place in the body."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.functions.sessions import connected, psql, serving, value
from tests.testbed.serving import Server, serve

BODY = """
def divided(n):
    return '§', 1 // n

return [divided(n)[1] for n in x.tolist()]
"""
ROWS = "(VALUES (1), (0)) v(i)"
#: The kinds of functions with this body, and calls that fail.
KINDS = {
    "CREATE FUNCTION one(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP": f"SELECT one(i) FROM {ROWS}",
    "CREATE AGGREGATE one(x INTEGER) RETURNS BIGINT LANGUAGE PYTHON": f"SELECT one(i) FROM {ROWS}",
    "CREATE AGGREGATE one(x INTEGER) RETURNS BIGINT LANGUAGE PYTHON_MAP": f"SELECT one(i) FROM {ROWS}",
    "CREATE FUNCTION one(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON": f"SELECT one(i) FROM {ROWS}",
    "CREATE FUNCTION one(x INTEGER) RETURNS TABLE(j INTEGER) LANGUAGE PYTHON": f"FROM one((FROM {ROWS}))",
    "CREATE FUNCTION one(x INTEGER) RETURNS TABLE(j INTEGER) LANGUAGE PYTHON_MAP": f"FROM one((FROM {ROWS}))",
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--udf-timeout", "1") as server:
        yield server


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    with connected(server) as connection:
        yield connection


@pytest.mark.parametrize("simple", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_an_exception_has_its_record(connection: psycopg.Connection, kind: str, simple: bool) -> None:
    what = "AGGREGATE" if "AGGREGATE" in kind else "FUNCTION"
    connection.execute(f"{kind} AS $${BODY}$$".encode())
    cursor = psycopg.ClientCursor(connection) if simple else connection.cursor()
    with pytest.raises(psycopg.errors.ExternalRoutineException) as failed:
        cursor.execute(KINDS[kind].encode())
    connection.execute(f"DROP {what} one".encode())
    diagnosis = failed.value.diag
    assert (diagnosis.severity, diagnosis.sqlstate) == ("ERROR", "38000")
    assert diagnosis.message_primary == "ZeroDivisionError: integer division or modulo by zero"
    assert diagnosis.message_detail == "return '§', 1 // n"
    first, *others = (diagnosis.context or "").splitlines()
    assert first == 'function "main.one", line 3, in divided'
    # Frames of the function alone. Before Python 3.12, a list comprehension has one.
    assert all(line.startswith('function "main.one", line 5') for line in others), others
    assert others
    assert diagnosis.internal_query == BODY
    # The position counts characters from 1.
    assert BODY[int(diagnosis.internal_position or 0) - 1 :].startswith("1 // n")
    assert diagnosis.statement_position is None


def test_frames_of_libraries_are_not_shown(connection: psycopg.Connection) -> None:
    body = "import numpy\nreturn numpy.linalg.inv(numpy.zeros((2, 2)))"
    connection.execute(f"CREATE FUNCTION inv(x INT) RETURNS INT LANGUAGE PYTHON_MAP AS $${body}$$".encode())
    with pytest.raises(psycopg.errors.ExternalRoutineException, match="LinAlgError: Singular matrix") as failed:
        connection.execute("SELECT inv(1)")
    assert failed.value.diag.context == 'function "main.inv", line 2'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("error = ValueError('é'); error.add_note('a note'); raise error", "ValueError: é\na note"),
        (
            "try:\n  1/0\nexcept Exception as error:\n  raise ValueError('two') from error",
            "ValueError: two\ncaused by ZeroDivisionError: division by zero",
        ),
        (
            "raise ExceptionGroup('g', [KeyError(1), ExceptionGroup('h', [OSError('two')])])",
            "ExceptionGroup: g (2 sub-exceptions)\n- KeyError: 1\n"
            "- ExceptionGroup: h (1 sub-exception)\n- OSError: two",
        ),
        (
            "error = ValueError(); error.__cause__ = error; error.__notes__ = [3]; raise error",
            "ValueError" + "\ncaused by ValueError" * 3,
        ),
        (
            "raise ExceptionGroup('g', [ValueError(i) for i in range(100000)])",
            "ExceptionGroup: g (100000 sub-exceptions)" + "".join(f"\n- ValueError: {i}" for i in range(10)),
        ),
    ],
)
def test_what_a_traceback_would_show(connection: psycopg.Connection, body: str, message: str) -> None:
    connection.execute(
        f"CREATE OR REPLACE FUNCTION noted(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$\n{body}\n$$".encode()
    )
    with pytest.raises(psycopg.errors.ExternalRoutineException) as failed:
        connection.execute("SELECT noted(1)")
    assert failed.value.diag.message_primary == message


@pytest.mark.parametrize(
    ("type_", "value", "row"),
    [
        ("INTEGER[]", "[[1, 2], [], [3, 'x'], [4]]", 3),
        ("INTEGER[]", "[[1, 2], None, [3], [4, 5, 2.5]]", 4),
        ("INTEGER[][]", "[[[1, 2], [3]], [], [], [[4], [5, 'x']]]", 4),
        ("INTEGER[2]", "[[1, 2], [3, 4], None, [5, 'x']]", 4),
        ("MAP(VARCHAR, INTEGER)", "[{'a': 1, 'b': 2}, {}, {'c': 'x'}, {}]", 3),
        ("STRUCT(a VARCHAR[])", "[{'a': ['x', 'y']}, {'a': []}, {'a': [1]}, {'a': []}]", 3),
        ("TIMESTAMP[]", "[[], numpy.array(['2025-01-01', '2025-01-02'], 'M8[ns]'), [1], []]", 3),
    ],
)
def test_errors_within_values_name_the_row(connection: psycopg.Connection, type_: str, value: str, row: int) -> None:
    connection.execute(
        f"CREATE FUNCTION nested(x BIGINT) RETURNS {type_} LANGUAGE PYTHON_MAP AS $$ return {value} $$".encode()
    )
    try:
        with pytest.raises(psycopg.Error, match=rf"^row {row}: "):
            connection.execute("SELECT nested(i) FROM range(4) t(i)")
    finally:
        connection.execute("DROP FUNCTION nested")


def test_psql_points_at_the_place_with_the_lines_of_sf(server: Server, connection: psycopg.Connection) -> None:
    connection.execute(f"CREATE FUNCTION shown(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $${BODY}$$".encode())
    lines = psql(server, "SELECT shown(0)").stderr.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("LINE "))
    assert lines[at] == "LINE 3:     return '§', 1 // n"
    # Python counts the bytes of a line, psql its columns.
    assert lines[at + 1].rstrip() == " " * lines[at].index("1 // n") + "^"
    assert 'CONTEXT:  function "main.shown", line 3, in divided' in lines
    numbered = psql(server, r"\sf+ shown").stdout.splitlines()
    assert next(line for line in numbered if "1 // n" in line).split(maxsplit=1) == ["3", "return '§', 1 // n"]


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("return x[:0]", "39000", "returned 0 rows for 12"),
        ("return list(range(10))", "39000", "returned 10 rows for 12"),
        ("return numpy.zeros((12, 2))", "39000", "array with 2 dimensions"),
        ("return object()", "39000", "returned a object"),
        ("return ['a'] * 12", "39000", "row 1: the function returned a str for INTEGER"),
        ("return [1] * 11 + [2**40]", "22003", "row 12: 1099511627776 does not fit into INTEGER"),
        ("return [1] * 11 + [numpy.nan]", "22004", "row 12: NaN is no number of INTEGER"),
        ("while True: pass", "57014", "--udf-timeout=1"),
        ("import os; os.kill(os.getpid(), 11)", "38000", ""),
        ("import os; os.abort()", "38000", "aborted"),
        ("import os; os._exit(4)", "38000", "exit status 4"),
        ("raise SystemExit(3)", "38000", "SystemExit: 3"),
        ("raise MemoryError", "53200", ""),
        ("raise KeyboardInterrupt", "38000", "KeyboardInterrupt"),
        ("_conn.execute('SELECT 1 / (')", "42601", ""),
        ("_conn.execute('FROM nowhere')", "42P01", "nowhere"),
        ("_conn.execute('CREATE TABLE t (i INT)')", "25006", ""),
    ],
)
def test_what_ends_a_call_has_its_sqlstate(connection: psycopg.Connection, body: str, code: str, message: str) -> None:
    connection.execute(
        f"CREATE OR REPLACE FUNCTION ended(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ {body} $$".encode()
    )
    with pytest.raises(psycopg.Error) as failed:
        connection.execute("SELECT ended(i::INTEGER) FROM range(12) t(i)")
    assert (failed.value.sqlstate, message in str(failed.value)) == (code, True), failed.value
    if "_conn" in body:
        assert (failed.value.diag.context or "").endswith('function "main.ended", line 1')
    assert value(connection, "SELECT 1") == 1


def test_a_statements_time_and_a_cancel_request_are_told_apart(connection: psycopg.Connection) -> None:
    connection.execute(
        "CREATE FUNCTION waits(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ import time; time.sleep(60) $$"
    )
    connection.execute("SET statement_timeout = '0.3s'")
    with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
        connection.execute("SELECT waits(1)")
    connection.execute("RESET statement_timeout")
    cancel = threading.Timer(0.3, connection.cancel)
    cancel.start()
    with pytest.raises(psycopg.errors.QueryCanceled, match="user request"):
        connection.execute("SELECT waits(1)")
    cancel.join()


def test_a_server_without_functions_says_so(tmp_path: Path) -> None:
    database = tmp_path / "a.duckdb"
    with serving("--create", database) as server, connected(server) as connection:
        connection.execute("CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x $$")
        connection.execute("CREATE AGGREGATE a(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON AS $$ return x $$")
        connection.execute("CREATE FUNCTION s(*) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return len(_columns) $$")
        connection.execute("CREATE VIEW v AS SELECT f(1) AS x")
    with serve(database) as server, connected(server) as connection:
        for query in ("SELECT f(1)", "SELECT a(1)", "SELECT s(1, 2)", "FROM v"):
            with pytest.raises(psycopg.errors.FeatureNotSupported, match="not enabled on this server") as refused:
                connection.execute(query.encode())
            assert refused.value.diag.message_hint == "Start the server with --udf."
        for statement in (
            "CREATE FUNCTION g(x nope) RETURNS INTEGER LANGUAGE PYTHON AS $$ return ( $$",
            "DROP FUNCTION f(integer)",
            "DROP FUNCTION IF EXISTS f(integer)",
            "DROP FUNCTION f, s",
            "DROP AGGREGATE a",
            "COMMENT ON FUNCTION f(integer) IS 'x'",
            "COMMENT ON AGGREGATE a(integer) IS NULL",
            "EXPLAIN (INPUTS f) SELECT f(1)",
        ):
            with pytest.raises(psycopg.errors.FeatureNotSupported, match="not enabled on this server"):
                connection.execute(statement.encode())
        # Macros in SQL need no functions in Python.
        connection.execute("CREATE MACRO m(x) AS x + 1")
        connection.execute("DROP FUNCTION m")
        # They are listed all the same.
        assert value(connection, "SELECT count(*) FROM colonnade_functions") == 3
