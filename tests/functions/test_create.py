"""CREATE, OR REPLACE and DROP of functions: what is created can be called, and what is wrong is refused by its name."""

from __future__ import annotations

import re
from collections.abc import Iterator

import psycopg
import pytest

from tests.functions.sessions import connected, functions, psql, serving, value
from tests.testbed.serving import Server

ADD = "CREATE FUNCTION add_one(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x + 1 $$"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    """A session whose functions are gone afterwards."""
    with connected(server) as connection:
        yield connection
        for name in functions(connection):
            kind = value(connection, f"SELECT prokind FROM pg_proc WHERE oid = '{name}'::regprocedure")
            connection.execute(f"DROP {'AGGREGATE' if kind == 'a' else 'FUNCTION'} {name} CASCADE".encode())


@pytest.mark.parametrize("simple", [False, True])
def test_a_function_is_created_called_and_dropped(connection: psycopg.Connection, simple: bool) -> None:
    cursor = psycopg.ClientCursor(connection) if simple else connection.cursor()
    cursor.execute(ADD)
    assert cursor.statusmessage == "CREATE FUNCTION"
    assert cursor.execute("SELECT add_one(41), add_one(NULL)").fetchall() == [(42, None)]
    assert cursor.execute("SELECT sum(add_one(i::INTEGER)) FROM range(10000) t(i)").fetchall() == [(50_005_000,)]
    assert cursor.execute("SELECT add_one(x => 2)").fetchall() == [(3,)]
    assert cursor.execute("SELECT add_one(%s)", [5]).fetchall() == [(6,)]
    cursor.execute("DROP FUNCTION add_one(INTEGER)")
    assert cursor.statusmessage == "DROP FUNCTION"
    assert functions(connection) == []
    with pytest.raises(psycopg.errors.UndefinedFunction):
        cursor.execute("SELECT add_one(1)")


def test_a_body_in_braces(server: Server, connection: psycopg.Connection) -> None:
    connection.execute("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON_MAP { y = {'}': x}; return y['}'] }; ")
    assert value(connection, "SELECT f(3)") == 3
    text = "CREATE FUNCTION g(x INT) RETURNS INT LANGUAGE PYTHON_MAP STRICT {\n  # it's };\n  return x * 2;\n}"
    assert psql(server, f"{text}; SELECT g(4)").stdout == "CREATE FUNCTION\n8\n"


def test_replacing_follows_postgresqls_rules(connection: psycopg.Connection) -> None:
    connection.execute(ADD)
    with pytest.raises(psycopg.errors.DuplicateFunction, match="already exists"):
        connection.execute(ADD)
    connection.execute(ADD.replace("CREATE", "CREATE OR REPLACE").replace("x + 1", "x + 100"))
    assert value(connection, "SELECT add_one(1)") == 101
    with pytest.raises(psycopg.errors.InvalidFunctionDefinition, match="return type") as refused:
        connection.execute(ADD.replace("CREATE", "CREATE OR REPLACE").replace("RETURNS INTEGER", "RETURNS BIGINT"))
    assert refused.value.diag.message_hint == "Use DROP FUNCTION add_one(INTEGER) first."
    with pytest.raises(psycopg.errors.WrongObjectType):
        connection.execute(ADD.replace("CREATE FUNCTION", "CREATE AGGREGATE"))
    assert value(connection, "SELECT add_one(1)") == 101


def test_arguments_of_other_types_are_named(connection: psycopg.Connection) -> None:
    connection.execute("CREATE FUNCTION next_day(x DATE) RETURNS DATE LANGUAGE PYTHON_MAP AS $$ return x + 1 $$")
    with pytest.raises(psycopg.errors.UndefinedFunction, match="Function next_day") as refused:
        connection.execute("SELECT next_day('2025-01-31')")
    assert "next_day(x DATE)" in (refused.value.diag.message_detail or "")
    assert "DATE '2025-01-31'" in (refused.value.diag.message_hint or "")
    assert str(value(connection, "SELECT next_day(DATE '2025-01-31')")) == "2025-02-01"


KINDS = (
    ADD,
    "CREATE AGGREGATE summed(x INTEGER) RETURNS BIGINT LANGUAGE PYTHON AS $$ return numpy.bincount(aggr_group, x) $$",
    "CREATE FUNCTION rows_of(x INTEGER) RETURNS TABLE(j INTEGER) LANGUAGE PYTHON AS $$ return [x + 1] $$",
    "CREATE FUNCTION whole(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON AS $$ return x + 1 $$",
    "CREATE FUNCTION counted(*) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return len(_columns) $$",
    "CREATE FUNCTION entries(x MAP(VARCHAR, INTEGER)) RETURNS MAP(VARCHAR, INTEGER) LANGUAGE PYTHON_MAP AS "
    "$$ return x $$",
)


CALLS = (
    ("add_one()", "42883"),
    ("add_one(1, 2)", "42883"),
    ("add_one('x'::VARCHAR)", "42883"),
    ("add_one(1.5)", "42883"),
    ("add_one(2147483648)", "42883"),
    ("add_one(y => 1)", "42883"),
    ("main.add_one(DATE '2025-01-31')", "42883"),
    ("add_two(1)", "42883"),
    ("add_one(DISTINCT 1)", "42809"),
    ("add_one(1 ORDER BY 1)", "42809"),
    ("add_one(1) FILTER (WHERE true)", "42809"),
    ("add_one(1) OVER ()", "42809"),
    ("summed()", "42883"),
    ("summed(DATE '2025-01-31')", "42883"),
    ("summed(1, 2) FILTER (WHERE true)", "42883"),
    ("(SELECT j FROM rows_of())", "42883"),
    ("(SELECT j FROM rows_of((SELECT DATE '2025-01-31')))", "42883"),
    ("rows_of(1)", "0A000"),
    ("whole(DATE '2025-01-31')", "42883"),
    ("whole(1) + 1", "0A000"),
    ("counted(NULL)", "42P18"),
    ("counted(MAP {'a': 1})", "0A000"),
    ("entries(1)", "42883"),
    ("entries(DISTINCT MAP {'a': 1})", "42809"),
)


def test_errors_of_calls_name_the_function_and_nothing_behind_it(connection: psycopg.Connection) -> None:
    for kind in KINDS:
        connection.execute(kind.encode())
    for call, code in CALLS:
        for query in (f"SELECT {call}", f"CREATE TEMP TABLE made AS SELECT {call} AS made"):
            with pytest.raises(psycopg.Error) as refused:
                connection.execute(query.encode())
            shown = str(refused.value)
            assert refused.value.sqlstate == code, (call, shown)
            assert not re.search("macro|colonnade_", shown, re.IGNORECASE), shown
            name = re.findall(r"[a-z_]+(?=\()", call)[-1 if "SELECT" in call else 0]
            assert name in shown or "OVER" in call, shown
            if code == "42883" and name != "add_two":
                # What there is.
                assert re.search(rf"{name}\((x )?(INTEGER|MAP)", shown), shown


def test_dropping_what_is_not_there_names_a_function(connection: psycopg.Connection) -> None:
    for statement in (
        "DROP FUNCTION nothing",
        "DROP FUNCTION nothing(int)",
        "DROP AGGREGATE nothing(int)",
        "COMMENT ON FUNCTION nothing(int) IS 'x'",
    ):
        with pytest.raises(psycopg.errors.UndefinedFunction, match="nothing") as refused:
            connection.execute(statement.encode())
        assert "acro" not in str(refused.value)


def test_a_name_has_overloads(connection: psycopg.Connection) -> None:
    for types in ("x INTEGER", "x INTEGER, y INTEGER", "x VARCHAR"):
        body = "x" if types == "x VARCHAR" else types.replace("INTEGER", "").replace(",", "+")
        connection.execute(
            f"CREATE FUNCTION f({types}) RETURNS VARCHAR LANGUAGE PYTHON_MAP AS $$ return ({body}).astype(str) $$"
        )
    assert functions(connection) == ["f(integer)", "f(integer,integer)", "f(text)"]
    assert connection.execute("SELECT f(3), f(3, 4), f('a'::VARCHAR)").fetchone() == ("3", "7", "a")
    with pytest.raises(psycopg.errors.AmbiguousFunction):
        connection.execute("DROP FUNCTION f")
    connection.execute("DROP FUNCTION f(x int, y int), f(text)")
    assert functions(connection) == ["f(integer)"]
    assert value(connection, "SELECT f(3)") == "3"
    with pytest.raises(psycopg.errors.UndefinedFunction):
        connection.execute("DROP FUNCTION f(bigint)")
    connection.execute("DROP FUNCTION IF EXISTS f(bigint), nothing(int)")
    connection.execute("DROP FUNCTION f")
    assert functions(connection) == []


def test_defaults_and_schemas(connection: psycopg.Connection) -> None:
    connection.execute('CREATE SCHEMA "My schema"')
    connection.execute(
        'CREATE FUNCTION "My schema"."Plus"("X" INTEGER, y INTEGER DEFAULT -3) RETURNS INTEGER '
        "LANGUAGE PYTHON_MAP AS $$ return X + y $$"
    )
    assert connection.execute('SELECT "My schema"."Plus"(1), "My schema"."Plus"(1, 2)').fetchone() == (-2, 3)
    connection.execute('DROP SCHEMA "My schema" CASCADE')
    assert functions(connection) == []


def test_macros_of_sql_stay_what_they_are(connection: psycopg.Connection) -> None:
    connection.execute("CREATE FUNCTION twice(x) AS {'a': x * 2}.a")
    assert value(connection, "SELECT twice(4)") == 8
    with pytest.raises(psycopg.errors.DuplicateFunction, match="macro"):
        connection.execute(ADD.replace("add_one", "twice"))
    connection.execute("COMMENT ON MACRO twice IS 'of SQL'")
    connection.execute("DROP FUNCTION twice")
    with pytest.raises(psycopg.Error, match="does not exist"):
        connection.execute("DROP FUNCTION twice")


@pytest.mark.parametrize("name", ["abs", "pg_get_functiondef", "colonnade_map", "range", "read_csv"])
def test_names_of_built_in_functions_are_refused(connection: psycopg.Connection, name: str) -> None:
    with pytest.raises(psycopg.errors.DuplicateFunction, match="built-in"):
        connection.execute(ADD.replace("add_one", name).encode())
    assert functions(connection) == []


@pytest.mark.parametrize(
    ("statement", "code", "message"),
    [
        (ADD.replace("INTEGER)", "INTGER)"), "42704", "INTGER"),
        (ADD.replace("(x INTEGER)", "(class INTEGER)"), "42P13", "no name in Python"),
        (ADD.replace("(x INTEGER)", "(numpy INTEGER)"), "42P13", "numpy"),
        (ADD.replace("add_one", "nowhere.f"), "3F000", "nowhere"),
        (ADD + " SECURITY DEFINER", "0A000", "SECURITY DEFINER"),
        (ADD.replace("PYTHON_MAP", "plpython3u"), "0A000", "language for Python"),
        (ADD.replace("PYTHON_MAP", "ruby"), "42704", "ruby"),
        (ADD.replace("RETURNS INTEGER", "RETURNS SETOF INTEGER"), "0A000", "SETOF"),
        ("DROP AGGREGATE nothing(int)", "42883", "nothing"),
        (ADD.replace("x INTEGER", "x INTEGER = 2.7"), "42804", "2.7"),
        (ADD.replace("x INTEGER", "x DECIMAL(4,1) = 2.75"), "42804", "2.75"),
        (
            ADD.replace("x INTEGER", "x INTEGER = 2.7").replace("RETURNS INTEGER", "RETURNS TABLE(i INTEGER)"),
            "42804",
            "2.7",
        ),
    ],
)
def test_what_is_wrong_is_refused(connection: psycopg.Connection, statement: str, code: str, message: str) -> None:
    with pytest.raises(psycopg.Error, match=message) as refused:
        connection.execute(statement.encode())
    assert refused.value.sqlstate == code
    assert functions(connection) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("CREATE FUNCTION é(x INT) RETURNS INT LANGUAGE PYTHON_MAP AS $$\n y = 'é'\n return x +", "* 2 $$"),
        ("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON_MAP { return x +", "* 2 }"),
        ("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON_MAP AS 'y = ''a''; return x +", "* 2'"),
    ],
)
def test_a_syntax_error_of_the_body_has_its_place(connection: psycopg.Connection, before: str, after: str) -> None:
    cursor = psycopg.ClientCursor(connection)
    statement = before + " " + after
    with pytest.raises(psycopg.errors.SyntaxError) as refused:
        cursor.execute(statement.encode())
    position = int(refused.value.diag.statement_position or 0)
    assert statement[position - 1 :] == after


def test_comments(connection: psycopg.Connection) -> None:
    connection.execute(ADD)
    connection.execute("COMMENT ON FUNCTION add_one(int) IS 'it''s one more'")
    query = "SELECT comment FROM colonnade_functions WHERE name = 'add_one'"
    assert value(connection, query) == "it's one more"
    connection.execute(ADD.replace("CREATE", "CREATE OR REPLACE").replace("x + 1", "x + 2"))
    assert connection.execute(f"SELECT add_one(1), ({query})").fetchone() == (3, "it's one more")
    connection.execute("COMMENT ON MACRO add_one IS NULL")
    assert connection.execute(f"SELECT add_one(1), ({query})").fetchone() == (3, None)


def test_without_functions() -> None:
    from tests.testbed.serving import serve

    with serve() as server, connected(server) as connection:
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="not enabled") as refused:
            connection.execute(ADD)
        assert refused.value.diag.message_hint == "Start the server with --udf."
        connection.execute("CREATE FUNCTION f(x) AS x + 1")
        connection.execute("DROP FUNCTION f")
