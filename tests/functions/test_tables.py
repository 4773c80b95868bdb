"""Table functions over subqueries: where they may stand, what they get, and what they give."""

from __future__ import annotations

import threading

import colonnade
import psycopg
import pytest

from tests.functions.sessions import connected, rows, server_of, serving, value
from tests.testbed.serving import Server

FUNCTIONS = (
    "CREATE TABLE tbl AS SELECT i::INTEGER AS i, 'x' || i AS s FROM range(1, 300001) t(i)",
    "CREATE FUNCTION twice(i INTEGER, s VARCHAR) RETURNS TABLE(j INTEGER, t VARCHAR) LANGUAGE PYTHON "
    "AS $$ return {'t': s, 'j': i * 2} $$",
    "CREATE FUNCTION top_rows(i INTEGER, n INTEGER = 2) RETURNS TABLE(j INTEGER) LANGUAGE PYTHON "
    "AS $$ return [i[:n]] $$",
    "CREATE FUNCTION sizes(i INTEGER) RETURNS TABLE(j INTEGER, n BIGINT) LANGUAGE PYTHON_MAP "
    "AS $$ return {'j': i[:1], 'n': numpy.array([len(i)])} $$",
    "CREATE FUNCTION seen(*) RETURNS TABLE(name VARCHAR, kind VARCHAR, n BIGINT) LANGUAGE PYTHON AS $$\n"
    "kinds = [f'{type(one).__name__} {_types[name]}' for name, one in _columns.items()]\n"
    "return {'name': list(_columns), 'kind': kinds,\n"
    "        'n': [numpy.size(one) for one in _columns.values()]} $$",
    "CREATE FUNCTION failing(i INTEGER) RETURNS TABLE(j INTEGER) LANGUAGE PYTHON AS $$ raise ValueError('no') $$",
    "CREATE FUNCTION counted(i INTEGER) RETURNS TABLE(n BIGINT) LANGUAGE PYTHON "
    "AS $$ return _conn.execute('SELECT count(*) AS n FROM changed') $$",
)


server = server_of(FUNCTIONS)


def refused(session: psycopg.Connection, query: str, code: str, text: str) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as caught:
        session.execute(query.encode())
    assert caught.value.sqlstate == code
    assert text in f"{caught.value.diag.message_primary} {caught.value.diag.message_hint}"
    return caught.value


def test_all_rows_come_at_once_in_their_order(session: psycopg.Connection) -> None:
    query = "SELECT * FROM twice((SELECT i, s FROM tbl ORDER BY i DESC))"
    found = rows(session, query)
    assert found[:2] == [(600_000, "x300000"), (599_998, "x299999")]
    assert found == [(2 * i, f"x{i}") for i in range(300_000, 0, -1)]
    assert rows(session, "SELECT * FROM twice((SELECT i, s FROM tbl WHERE false))") == []
    # Several threads read the table; the function gets its rows in their order all the same.
    assert rows(
        session, "SELECT count(*) FROM (SELECT j, lag(j) OVER () AS l FROM twice((FROM tbl))) WHERE j <= l"
    ) == [(0,)]


def test_batches_of_a_map_function(session: psycopg.Connection) -> None:
    assert rows(session, "FROM sizes((SELECT i FROM tbl))") == [(1, 122_880), (122_881, 122_880), (245_761, 54_240)]
    assert rows(session, "SELECT max(j) FROM top_rows((SELECT j FROM sizes((SELECT i FROM tbl))), 3)") == [(245_761,)]


def test_a_batch_gives_any_number_of_rows(session: psycopg.Connection) -> None:
    with session.transaction(force_rollback=True):
        session.execute(
            "CREATE FUNCTION repeated(i INTEGER) RETURNS TABLE(j INTEGER) LANGUAGE PYTHON PARALLEL SAFE "
            "AS $$ return [numpy.repeat(i[i % 3 == 0], 5)] $$"
        )
        # PARALLEL SAFE is PYTHON_MAP.
        assert value(session, "SELECT prolang FROM pg_proc WHERE proname = 'repeated'") == value(
            session, "SELECT oid FROM pg_language WHERE lanname = 'python_map'"
        )
        found = rows(session, "SELECT j, count(*) FROM repeated((SELECT i FROM tbl)) GROUP BY j HAVING count(*) <> 5")
        assert found == []
        query = "SELECT count(*), sum(j) FROM repeated((SELECT i FROM tbl))"
        assert rows(session, query) == [(500_000, 5 * sum(range(3, 300_001, 3)))]


def test_values_and_parameters(session: psycopg.Connection) -> None:
    query = "SELECT j FROM top_rows((SELECT i FROM tbl WHERE i > %s ORDER BY i DESC), %s) ORDER BY j LIMIT %s"
    for _ in range(6):
        assert rows(session, query, 299_990, 3, 2) == [(299_998,), (299_999,)]
    assert rows(session, "FROM top_rows((SELECT i FROM tbl))") == [(1,), (2,)]
    found = rows(session, "FROM seen((SELECT i, s FROM tbl), 'rf', 3.5)")
    assert found == [
        ("i", "ndarray INTEGER", 300_000),
        ("s", "ndarray VARCHAR", 300_000),
        ("arg1", "str VARCHAR", 1),
        ("arg2", "Decimal DECIMAL(2,1)", 1),
    ]
    assert rows(session, "SELECT n FROM seen((SELECT i FROM tbl LIMIT 3), (SELECT s FROM tbl LIMIT 5))") == [(3,), (5,)]


def test_where_a_call_may_stand(session: psycopg.Connection, server: Server) -> None:
    few = "(SELECT i FROM tbl WHERE i < 10)"
    joined = f"SELECT c.j, s FROM top_rows({few}, 2) c JOIN tbl ON c.j = tbl.i ORDER BY top_rows.j"
    assert rows(session, joined.replace("top_rows.j", "c.j")) == [(1, "x1"), (2, "x2")]
    assert rows(session, f"SELECT top_rows.j FROM tbl, top_rows({few}, 1) WHERE i = 5") == [(1,)]
    assert rows(session, f"SELECT 1 WHERE EXISTS (SELECT * FROM top_rows({few}) f(a) WHERE a = 2)") == [(1,)]
    nested = (
        "WITH a AS (SELECT i FROM tbl WHERE i < 10), b AS (SELECT * FROM top_rows((FROM a), 5)), a2 AS (SELECT 7 AS i) "
        "SELECT (SELECT sum(x.j) FROM top_rows((SELECT j FROM b), 4) x), "
        "(WITH a AS (FROM a2) SELECT j FROM top_rows((FROM a), 1))"
    )
    assert rows(session, nested) == [(10, 7)]
    session.execute(f"CREATE OR REPLACE TABLE made AS FROM top_rows({few}, 2)".encode())
    assert rows(session, f"INSERT INTO made SELECT * FROM top_rows({few}, 3) RETURNING j") == [(1,), (2,), (3,)]
    assert value(session, "SELECT count(*) FROM made") == 5
    session.execute(f"DELETE FROM made USING top_rows({few}, 1) f WHERE made.j = f.j".encode())
    assert value(session, "SELECT count(*) FROM made") == 3
    with session.cursor().copy(f"COPY (SELECT * FROM top_rows({few}, 2)) TO STDOUT".encode()) as copy:
        assert list(copy.rows()) == [("1",), ("2",)]
    uri = f"postgresql://tester@{server.host}:{server.port}/memory"
    assert colonnade.read_sql(f"SELECT * FROM top_rows({few}, 2)", uri)["j"].tolist() == [1, 2]
    spooled = rows(session, "SELECT * FROM colonnade_spool('SELECT * FROM twice((FROM tbl))')")
    assert sum(part[2] for part in spooled if isinstance(part[2], int)) == 300_000
    assert "COLONNADE_ROWS" in str(rows(session, f"EXPLAIN ANALYZE SELECT * FROM top_rows({few})"))
    assert "tbl" in str(rows(session, f"EXPLAIN SELECT * FROM top_rows({few})"))


def test_cursors(session: psycopg.Connection) -> None:
    with session.transaction():
        session.execute("DECLARE c CURSOR FOR SELECT * FROM top_rows((SELECT i FROM tbl), 5)")
        assert rows(session, "FETCH 2 FROM c") == [(1,), (2,)]
        assert rows(session, "FROM top_rows((SELECT i FROM tbl), 1)") == [(1,)]
        assert rows(session, "FETCH 2 FROM c") == [(3,), (4,)]
    with session.cursor(name="own") as cursor, pytest.raises(psycopg.Error):
        cursor.execute("SELECT * FROM failing((SELECT i FROM tbl))")


def test_a_call_is_described_before_it_runs(server: Server) -> None:
    uri = f"postgresql://tester@{server.host}:{server.port}/memory"
    with connected(server) as session:
        cursor = session.execute("SELECT *, 1.5 AS k FROM twice((FROM tbl))  LIMIT 0")
        assert [(column.name, column.type_code) for column in cursor.description or []] == [
            ("j", 23),
            ("t", 25),
            ("k", 1700),
        ]
    frame = colonnade.read_sql("SELECT * FROM top_rows((SELECT i FROM tbl), $1)", uri, params=[2])
    assert frame["j"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("CREATE VIEW v AS SELECT * FROM top_rows((SELECT i FROM tbl))", "CREATE VIEW"),
        ("CREATE MACRO m() AS TABLE SELECT * FROM top_rows((SELECT i FROM tbl))", "CREATE MACRO"),
        ("PREPARE p AS SELECT * FROM top_rows((SELECT i FROM tbl))", "PREPARE"),
        ("WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT j FROM top_rows((FROM r))) FROM r", "WITH RECURSIVE"),
        ("SELECT * FROM tbl, top_rows((SELECT tbl.i))", "correlated"),
        ("SELECT * FROM tbl, top_rows((SELECT 1), tbl.i)", "correlated"),
        ("SELECT top_rows((SELECT i FROM tbl))", "outside of FROM"),
        ("SELECT * FROM tbl WHERE i = top_rows((SELECT i FROM tbl))", "outside of FROM"),
    ],
)
def test_what_is_refused_by_name(session: psycopg.Connection, query: str, text: str) -> None:
    refused(session, query, "0A000", text)


def test_errors(session: psycopg.Connection) -> None:
    error = refused(session, "SELECT * FROM failing((SELECT i FROM tbl))", "38000", "ValueError: no")
    assert error.diag.context == 'function "main.failing", line 1'
    assert error.diag.internal_query == " raise ValueError('no') "
    refused(session, "SELECT * FROM top_rows((SELECT s FROM tbl))", "42883", "top_rows(INTEGER, INTEGER)")
    refused(session, "SELECT * FROM top_rows((SELECT nope FROM tbl))", "42703", "nope")
    refused(session, "SELECT nope FROM top_rows((SELECT i FROM tbl))", "42703", "nope")
    refused(session, "SELECT * FROM sizes((SELECT 1), (SELECT 2))", "42883", "does not exist")
    for argument in ("n => 3", "n => 'x'"):
        refused(session, f"SELECT * FROM top_rows((SELECT i FROM tbl), {argument})", "0A000", "argument n by its name")
    # The statement that collects the arguments is not shown.
    for query in ("FROM top_rows((SELECT 1), 4000000000)", "FROM top_rows((SELECT 'a'::INTEGER))"):
        with pytest.raises(psycopg.Error, match="Conversion Error") as caught:
            session.execute(query.encode())
        assert "LINE" not in f"{caught.value.diag.message_primary} {caught.value.diag.message_detail}"
    refused(session, "SELECT * FROM seen((SELECT 1 AS a, 2 AS a))", "42701", "occurs more than once")
    # A failed statement leaves no transaction open.
    assert value(session, "SELECT 1") == 1


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("return {'j': [1]}", 'no column "t"'),
        ("return {'j': [1], 't': ['a'], 'u': [1]}", 'column "u"'),
        ("return [[1, 2], ['a']]", "1 rows for 2"),
        ("return [[1]]", "1 columns for 2"),
        ("return numpy.zeros((3, 3))", "3 columns for 2"),
        ("return 5", "returned a int"),
        ("return {'j': ['a'], 't': ['a']}", "str for INTEGER"),
    ],
)
def test_wrong_results(session: psycopg.Connection, body: str, text: str) -> None:
    with session.transaction(force_rollback=True):
        session.execute(
            "CREATE FUNCTION wrong(i INTEGER) RETURNS TABLE(j INTEGER, t VARCHAR) LANGUAGE PYTHON "
            f"AS $$ {body} $$".encode()
        )
        refused(session, "SELECT * FROM wrong((SELECT i FROM tbl))", "39000", text)


@pytest.mark.parametrize(
    "body",
    [
        "return {'t': ['a', None], 'j': [1, 2]}",
        "return [[1, 2], ['a', None]]",
        "import pyarrow; return pyarrow.table({'j': [1, 2], 't': ['a', None]})",
        "import pandas; return pandas.DataFrame({'t': ['a', None], 'j': [1, 2]})",
        "import polars; return polars.DataFrame({'j': [1, 2], 't': ['a', None]})",
        "return numpy.array([[1, 'a'], [2, None]], dtype=object)",
        "return numpy.array([(1, 'a'), (2, None)], dtype=[('j', 'i8'), ('t', 'O')])",
    ],
)
def test_forms_of_results(session: psycopg.Connection, body: str) -> None:
    with session.transaction(force_rollback=True):
        session.execute(
            f"CREATE FUNCTION form() RETURNS TABLE(j INTEGER, t VARCHAR) LANGUAGE PYTHON AS $$ {body} $$".encode()
        )
        assert rows(session, "SELECT * FROM form()") == [(1, "a"), (2, None)]


def test_a_function_decides_its_columns(session: psycopg.Connection) -> None:
    bodies = {
        "numbers": "return {'i': i[:2], 'd': i[:2] / 2, 'b': i[:2] > 1, 's': ['x', None], 'l': [[1, 2], None]}",
        "times": "import datetime, decimal\n"
        "return {'day': [datetime.date(2025, 1, 2)], 'at': numpy.array(['2025-01-02T03'], 'M8[us]'), "
        "'price': [decimal.Decimal('1.25')], 'raw': [b'x'], 'big': [2**70]}",
        "frame": "import pandas\nreturn pandas.DataFrame({'a b': [1.5], 'c': ['x']})",
    }
    with session.transaction(force_rollback=True):
        for name, body in bodies.items():
            session.execute(
                f"CREATE FUNCTION {name}(i INTEGER) RETURNS TABLE(*) LANGUAGE PYTHON AS $$\n{body}\n$$".encode()
            )
        query = "SELECT *, typeof(i), typeof(d), typeof(l) FROM numbers((SELECT i FROM tbl))"
        assert rows(session, query)[0] == (1, 0.5, False, "x", [1, 2], "INTEGER", "DOUBLE", "BIGINT[]")
        assert rows(session, "SELECT s, l FROM numbers((SELECT i FROM tbl))")[1] == (None, None)
        found = rows(session, "SELECT typeof(COLUMNS(*)) FROM times((SELECT i FROM tbl))")
        assert found == [("DATE", "TIMESTAMP", "DECIMAL(38,2)", "BLOB", "HUGEINT")]
        assert rows(session, 'SELECT "a b", c FROM frame((SELECT %s))', 1) == [(1.5, "x")]
        argument = value(session, "SELECT pg_get_function_result(p.oid) FROM pg_proc p WHERE proname = 'frame'")
        assert argument == "TABLE(*)"
    with session.transaction(force_rollback=True):
        session.execute(
            "CREATE FUNCTION bad(i INTEGER) RETURNS TABLE(*) LANGUAGE PYTHON AS $$ return {'a': [1], 'A': [2]} $$"
        )
        refused(session, "SELECT * FROM bad((SELECT i FROM tbl))", "39000", "twice")
    with session.transaction(force_rollback=True):
        session.execute("CREATE FUNCTION bad(i INTEGER) RETURNS TABLE(*) LANGUAGE PYTHON AS $$ return [i] $$")
        refused(session, "SELECT * FROM bad((SELECT i FROM tbl))", "39000", "return a dict or a frame")
    with session.transaction(force_rollback=True):
        session.execute("CREATE FUNCTION bad() RETURNS TABLE(*) LANGUAGE PYTHON AS $$ return {} $$")
        refused(session, "SELECT * FROM bad()", "39000", "no columns")


def test_strict_functions_get_no_null(session: psycopg.Connection) -> None:
    with session.transaction(force_rollback=True):
        session.execute(
            "CREATE FUNCTION strict(i INTEGER, n INTEGER) RETURNS TABLE(n BIGINT) LANGUAGE PYTHON STRICT "
            "AS $$ return [numpy.array([len(i)])] $$"
        )
        assert rows(session, "FROM strict((SELECT nullif(i, 3), i FROM tbl))") == [(299_999,)]
        assert rows(session, "FROM strict((SELECT i FROM tbl), NULL::INTEGER)") == []


def test_scalar_parameters_have_one_value(session: psycopg.Connection) -> None:
    with session.transaction(force_rollback=True):
        session.execute(
            "CREATE FUNCTION one(i INTEGER, s VARCHAR) RETURNS TABLE(t VARCHAR) LANGUAGE PYTHON SCALAR (s) "
            "AS $$ return [[f'{len(i)} {s}']] $$"
        )
        assert rows(session, "FROM one((SELECT i, 'm' FROM tbl))") == [("300000 m",)]
        assert rows(session, "FROM one((SELECT i, NULL::VARCHAR FROM tbl LIMIT 2))") == [("2 None",)]
        refused(session, "SELECT * FROM one((SELECT i, s FROM tbl))", "22023", "more than one value")


TYPES = (
    "a INTEGER[], s STRUCT(x INTEGER, y VARCHAR), d DECIMAL(10,2), t TIMESTAMP, u UUID, h HUGEINT, b BLOB, e DATE, "
    "f REAL[2]"
)


def test_every_type_comes_back(session: psycopg.Connection) -> None:
    names = [column.split()[0] for column in TYPES.split(", ") if not column.startswith("y ")]
    with session.transaction(force_rollback=True):
        session.execute(
            f"CREATE FUNCTION same({TYPES}) RETURNS TABLE({TYPES}) LANGUAGE PYTHON "
            f"AS $$ return dict({', '.join(f'{name}={name}' for name in names)}) $$".encode()
        )
        session.execute(
            "CREATE TABLE typed AS SELECT CASE WHEN i % 7 <> 0 THEN range(i % 5)::INTEGER[] END AS a, "
            "CASE WHEN i % 3 <> 0 THEN {'x': i::INTEGER, 'y': 'v' || i} END AS s, (i * 1.25)::DECIMAL(10,2) AS d, "
            "TIMESTAMP '2020-01-01' + INTERVAL (i) SECOND AS t, uuid() AS u, i::HUGEINT * 100000000000000000000 AS h, "
            "('a' || i)::BLOB AS b, DATE '2020-01-01' + i::INTEGER AS e, [i, nullif(i, 5)]::REAL[2] AS f "
            "FROM range(5000) r(i)"
        )
        numbered = "SELECT row_number() OVER () AS n, * FROM"
        query = f"SELECT count(*) FROM ({numbered} typed EXCEPT {numbered} same((FROM typed)))"
        assert value(session, query) == 0


def test_calls_are_part_of_the_transaction(session: psycopg.Connection) -> None:
    session.execute("CREATE OR REPLACE TABLE changed(i INTEGER)")
    with session.transaction(force_rollback=True):
        session.execute("INSERT INTO changed VALUES (1), (2)")
        # Its queries and those of the function see what the transaction has changed.
        assert rows(session, "FROM counted((FROM changed))") == [(2,)]
        session.execute("CREATE FUNCTION own(i INTEGER) RETURNS TABLE(j INTEGER) LANGUAGE PYTHON AS $$ return [i] $$")
        assert rows(session, "FROM own((FROM changed))") == [(1,), (2,)]
    assert rows(session, "FROM counted((FROM changed))") == [(0,)]
    refused(session, "SELECT * FROM own((FROM changed))", "42P01", "own")


def test_calls_in_queries_of_functions(session: psycopg.Connection) -> None:
    query = "SELECT max(j) AS m FROM top_rows((SELECT i FROM tbl), 3)"
    with session.transaction(force_rollback=True):
        session.execute(
            "CREATE FUNCTION inner_call(i INTEGER) RETURNS TABLE(m INTEGER) LANGUAGE PYTHON "
            f"AS $$ return _conn.execute('{query}') $$".encode()
        )
        # The connection has the statement around the call, so that no other one can begin.
        with pytest.raises(psycopg.Error, match="calls a table function"):
            session.execute("SELECT * FROM inner_call((SELECT 1))")
    session.execute(
        "CREATE OR REPLACE FUNCTION inner_call(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP "
        f"AS $$ return _conn.execute('{query}')['m'][0] $$".encode()
    )
    assert value(session, "SELECT inner_call(1)") == 3


def test_several_functions_of_a_name(session: psycopg.Connection) -> None:
    with session.transaction(force_rollback=True):
        for type_ in ("INTEGER", "VARCHAR"):
            session.execute(
                f"CREATE FUNCTION both_of(x {type_}) RETURNS TABLE(t VARCHAR) LANGUAGE PYTHON "
                f"AS $$ return [['{type_}']] $$".encode()
            )
        assert rows(session, "FROM both_of((SELECT i FROM tbl))") == [("INTEGER",)]
        assert rows(session, "FROM both_of((SELECT s FROM tbl))") == [("VARCHAR",)]
        assert rows(session, "FROM both_of((SELECT 1::SMALLINT))") == [("INTEGER",)]
        session.execute("DROP FUNCTION both_of(INTEGER)")
        refused(session, "SELECT * FROM both_of((SELECT [1]))", "42883", "both_of(VARCHAR)")


def test_the_catalog_shows_them(session: psycopg.Connection) -> None:
    query = (
        "SELECT prokind, proretset, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid) "
        "FROM pg_proc p WHERE proname = 'twice'"
    )
    found = rows(session, query)
    assert found == [("f", True, "i integer, s text", "TABLE(j integer, t text)")]
    definition = value(session, "SELECT pg_get_functiondef(p.oid) FROM pg_proc p WHERE proname = 'twice'")
    assert isinstance(definition, str)
    assert "RETURNS TABLE(j integer, t text)" in definition
    session.execute(definition.encode())


def test_a_call_is_cancelled(session: psycopg.Connection) -> None:
    endless = (
        "CREATE OR REPLACE FUNCTION endless(i INTEGER) RETURNS TABLE(j INTEGER) LANGUAGE {} AS $$ while True: pass $$"
    )
    for language in ("PYTHON", "PYTHON_MAP"):
        session.execute(endless.format(language).encode())
        timer = threading.Timer(0.3, session.cancel)
        timer.start()
        refused(session, "SELECT * FROM endless((SELECT i FROM tbl))", "57014", "cancel")
        timer.join()
        assert rows(session, "FROM top_rows((SELECT i FROM tbl), 1)") == [(1,)]


def test_a_read_only_transaction_calls_them(session: psycopg.Connection) -> None:
    session.read_only = True
    with session.transaction():
        assert rows(session, "FROM top_rows((SELECT i FROM tbl), 1)") == [(1,)]


def test_one_process_is_enough(server: Server) -> None:
    with serving("--udf-workers", "1") as small, connected(small) as session:
        session.execute(
            "CREATE FUNCTION named(i BIGINT, s VARCHAR) RETURNS TABLE(n BIGINT, s VARCHAR) LANGUAGE PYTHON_MAP "
            "AS $$ return {'n': [len(i)], 's': s} $$"
        )
        assert rows(session, "FROM named((SELECT i FROM range(3) t(i)), 'x')") == [(3, "x")]
        assert rows(session, "SELECT sum(n), max(s) FROM named((SELECT i FROM range(1000000) t(i)), 'y')") == [
            (1_000_000, "y")
        ]


def test_rows_that_are_too_many(server: Server) -> None:
    with serving("--udf-memory", "64MiB") as small, connected(small) as session:
        session.execute(
            "CREATE FUNCTION all_rows(i BIGINT) RETURNS TABLE(j BIGINT) LANGUAGE PYTHON AS $$ return [i] $$"
        )
        refused(session, "SELECT * FROM all_rows((SELECT i FROM range(20000000) t(i)))", "53200", "--udf-memory")
        assert rows(session, "SELECT count(*) FROM all_rows((SELECT i FROM range(1000) t(i)))") == [(1000,)]
