"""Values whose type a statement leaves open: parameters without a type, and literals without a cast."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import pq

from tests.serve.compare_open_types import compare
from tests.testbed import postgres
from tests.testbed.serving import connected, own_server

server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)

TABLE = """
CREATE OR REPLACE TEMP TABLE z (id integer PRIMARY KEY, visits bigint, zip text, d numeric(10, 2), ts timestamp,
    day date, b bytea, l integer[], words text[], h hugeint);
INSERT INTO z VALUES (1, 5, '00123', 2.50, '2024-01-01 10:00', '2024-01-01', '\\x00ff', '{1,2}', '{a}', 7);
"""


@pytest.fixture(autouse=True)
def table(request: pytest.FixtureRequest) -> None:
    if "connection" in request.fixturenames:
        connection: psycopg.Connection = request.getfixturevalue("connection")
        for statement in TABLE.strip().split(";")[:-1]:
            connection.execute(statement.encode())


def run(connection: psycopg.Connection, sql: str, *values: str | None) -> list[tuple[str | None, ...]]:
    """As drivers do that leave types to the server: all types are 0, and values are texts."""
    sent = [None if value is None else value.encode() for value in values]
    result = connection.pgconn.exec_params(sql.encode(), sent)
    if result.status not in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
        raise psycopg.errors.error_from_result(result)
    rows = [[result.get_value(row, column) for column in range(result.nfields)] for row in range(result.ntuples)]
    return [tuple(None if value is None else value.decode() for value in row) for row in rows]


def types(connection: psycopg.Connection, sql: str) -> list[str]:
    """What a client is told of its parameters."""
    result = connection.pgconn.prepare(b"", sql.encode())
    if result.status != pq.ExecStatus.COMMAND_OK:
        raise psycopg.errors.error_from_result(result)
    result = connection.pgconn.describe_prepared(b"")
    numbers = [result.param_type(at) for at in range(result.nparams)]
    found = [(number, connection.adapters.types[number]) for number in numbers]
    return [f"{type_.regtype}[]" if number == type_.array_oid else type_.regtype for number, type_ in found]


def test_each_parameter_has_the_type_of_its_own_place(connection: psycopg.Connection) -> None:
    run(connection, "UPDATE z SET visits = visits + $1, zip = $2 WHERE id = $3", "1", "01234", "1")
    assert run(connection, "SELECT visits, zip FROM z") == [("6", "01234")]
    for text in ("0x1F", "1e3", "007"):
        run(connection, "UPDATE z SET visits = $1 + visits, zip = $2", "0", text)
        assert run(connection, "SELECT zip FROM z") == [(text,)]
    run(connection, "UPDATE z SET d = d + $1", "1.25")
    assert run(connection, "SELECT d FROM z") == [("3.75",)]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("UPDATE z SET visits = visits + $1, zip = $2 WHERE id = $3", "bigint text integer"),
        ("SELECT d * $1 + $2, -d - $3, h % $4 FROM z", "numeric numeric numeric numeric"),
        ("SELECT ts + $1, ts - $2, day - $3 FROM z", "interval timestamp date"),
        ("SELECT sum(d) * $1, max(d + $2) FROM z HAVING count(*) > $3", "numeric numeric bigint"),
        ("SELECT id FROM z UNION ALL SELECT $1 ORDER BY 1", "integer"),
        ("SELECT id, $1 FROM z UNION SELECT $2, zip FROM z", "text integer"),
        ("INSERT INTO z (id, zip, d) SELECT $1, $2, d * $3 FROM z", "integer text numeric"),
        ("INSERT INTO z (id, d) VALUES ($1, $2 + 1.5), (7, $3)", "integer numeric numeric"),
        (
            "INSERT INTO z (id, d) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET d = z.d + $1, zip = excluded.zip || $2",
            "numeric text",
        ),
        (
            "WITH q AS (SELECT d + $1 AS a, $2 AS free FROM z) SELECT a + $3, free || $4 FROM q",
            "numeric text numeric text",
        ),
        (
            "WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL SELECT n + $1 FROM q WHERE n < $2) SELECT n FROM q",
            "integer integer",
        ),
        ("SELECT * FROM (VALUES (1, $1), ($2, '2024-01-01'::date)) v(a, c)", "date integer"),
        (
            "SELECT CASE WHEN $1 THEN d ELSE $2 END, coalesce($3, ts), nullif(day, $4) FROM z",
            "boolean numeric timestamp date",
        ),
        ("SELECT 1 FROM z WHERE id = any($1) AND words <> $2 AND zip = any($3)", "integer[] text[] text[]"),
        ("SELECT l || $1, $2 || words, b || $3 FROM z", "integer[] text[] bytea"),
        ("SELECT abs($1), lower($2), round(d, $3), date_trunc($4, ts) FROM z", "double precision text integer text"),
        (
            "MERGE INTO z AS t USING (SELECT $1 AS free, id + $2 AS n FROM z) s ON t.id = s.n + $3 "
            "WHEN MATCHED AND t.d > $4 THEN UPDATE SET visits = t.visits * $5, zip = $6 "
            "WHEN NOT MATCHED THEN INSERT (id, d) VALUES (s.n, s.n - $7)",
            "text integer integer numeric bigint text integer",
        ),
        ("DELETE FROM z USING z y WHERE z.id = y.id + $1", "integer"),
        (
            "SELECT (SELECT max(y.d) FROM z y WHERE y.id = z.id + $1) FROM z ORDER BY d + $2 LIMIT $3",
            "integer numeric bigint",
        ),
        ("SELECT 1 FROM z JOIN z y ON y.id = z.id + $1 LEFT JOIN z x ON x.d < $2", "integer numeric"),
        ("SELECT sum(d) FILTER (WHERE id > $1) OVER (PARTITION BY zip || $2) FROM z", "integer text"),
        ("SELECT d + $1, count(*) FROM z GROUP BY d + $1", "numeric"),
        ("SELECT to_char(ts, $1), $2 FROM z", "text text"),
        ("EXPLAIN SELECT d + $1 FROM z", "numeric"),
        ("SELECT $1::text || $1, id + $2::int FROM z", "text integer"),
    ],
)
def test_types_come_from_the_place(connection: psycopg.Connection, sql: str, expected: str) -> None:
    shown = {"timestamp without time zone": "timestamp"}
    assert " ".join(shown.get(name, name) for name in types(connection, sql)) == expected


def test_a_column_has_the_type_of_a_parameter_that_another_place_decides(connection: psycopg.Connection) -> None:
    sql = "SELECT CASE WHEN d::double precision < $1 THEN 1::smallint ELSE $1 END FROM z"
    result = connection.pgconn.prepare(b"", sql.encode())
    assert result.status == pq.ExecStatus.COMMAND_OK
    assert connection.pgconn.describe_prepared(b"").ftype(0) == psycopg.adapters.types["float8"].oid
    assert run(connection, sql, "0.5") == [("0.5",)]


@pytest.mark.parametrize("sql", ["SELECT $1 IS NULL", "SELECT $1 + $2", "SELECT count($1)", "SELECT day + $1 FROM z"])
def test_what_stays_open_is_an_error_with_its_place(connection: psycopg.Connection, sql: str) -> None:
    with pytest.raises(psycopg.errors.IndeterminateDatatype, match=r"data type of parameter \$1") as caught:
        types(connection, sql)
    diagnostic = caught.value.diag
    assert diagnostic.statement_position == str(sql.index("$1") + 1)
    assert diagnostic.message_hint == "Cast the parameter, as in $1::integer."
    assert types(connection, sql.replace("$1", "$1::integer").replace("$2", "$2::integer"))[0] == "integer"


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO z (id, zip) VALUES ($1, $1)",
        "UPDATE z SET zip = $1, visits = $1",
        "SELECT id FROM z WHERE id = $1 AND zip = $1",
        "INSERT INTO z (day, ts) VALUES ($1, $1)",
    ],
)
def test_a_parameter_has_one_type(connection: psycopg.Connection, sql: str) -> None:
    with pytest.raises(
        psycopg.errors.AmbiguousParameter, match=r"inconsistent types deduced for parameter \$1"
    ) as caught:
        types(connection, sql)
    assert caught.value.diag.message_hint == "Cast it where it stands, as in $1::text, or use two parameters."
    # One place has its cast, and the other one decides.
    head, first, second = sql.split("$1")[0], *sql.split("$1")[1:]
    assert types(connection, f"{head}$1::text{first}$2{second}")[0] == "text"


def test_integers_of_many_digits_are_not_rounded(connection: psycopg.Connection) -> None:
    assert run(connection, "SELECT id FROM z WHERE h = $1", "7.0") == [("1",)]
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        run(connection, "SELECT id FROM z WHERE h = $1", "6.6")


ROWS = [
    ("(id, ts) = ($1, $2)", ["1", "2024-01-01 10:00"], True),
    ("(id, ts) IN (($1, $2), (7, '2024-01-01 10:00'))", ["1", "2024-01-01 10:00"], True),
    ("(id, ts) = (1, '2024-01-01 10:00')", [], True),
    ("(id, ts) <> (1, '2024-01-01 10:00')", [], False),
    ("(d, day) >= ('2.5', '2024-01-01')", [], True),
    ("(d, day) < ($1, $2)", ["2.50", "2024-01-02"], True),
    ("(id, zip) = (1, NULL)", [], None),
    ("(id, zip) = (2, NULL)", [], False),
    ("(id, NULL) = (1, NULL)", [], None),
    ("(id, zip) NOT IN ((1, NULL), (2, '3'))", [], None),
    ("ROW(id, zip) IS NOT DISTINCT FROM ROW('1', '00123')", [], True),
    ("(id, b) = ('1', '\\x00ff')", [], True),
]


@pytest.mark.parametrize(("condition", "values", "expected"), ROWS)
def test_rows_are_compared_part_by_part(
    connection: psycopg.Connection, condition: str, values: list[str], expected: bool | None
) -> None:
    found = run(connection, f"SELECT {condition} FROM z", *values)
    assert found == [({True: "t", False: "f", None: None}[expected],)]
    assert bool(run(connection, f"DELETE FROM z WHERE {condition} RETURNING id", *values)) is (expected is True)


def test_rows_are_compared_as_in_postgresql(connection: psycopg.Connection, stock: postgres.Cluster) -> None:
    with stock.connect() as theirs:
        for statement in TABLE.replace("OR REPLACE ", "").replace("hugeint", "numeric").strip().split(";")[:-1]:
            theirs.execute(statement.encode())
        for condition, values, expected in ROWS:
            wanted = run(theirs, f"SELECT {condition} FROM z", *values)
            assert wanted == [({True: "t", False: "f", None: None}[expected],)], condition


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE z SET b = '\\x41ff', words = '{\"b c\",NULL}', l = '{}'",
        "UPDATE z SET b = E'\\\\x41ff', words = E'{\"b c\",NULL}', l = '{}' WHERE b = '\\x00ff'",
        "INSERT INTO z (id, b, words, l) VALUES (1, '\\x41ff', '{\"b c\",NULL}', '{}') "
        "ON CONFLICT (id) DO UPDATE SET b = excluded.b, words = excluded.words, l = excluded.l",
        "INSERT INTO z (id, d) VALUES (1, 5) "
        "ON CONFLICT (id) DO UPDATE SET b = '\\x41ff', words = '{\"b c\",NULL}', l = '{}'",
        "UPDATE z SET b = coalesce(nullif(b, '\\x00ff'), '\\x41ff'), "
        "words = CASE WHEN id = 1 THEN '{\"b c\",NULL}' ELSE words END, "
        "l = (SELECT l FROM z WHERE false UNION ALL SELECT '{}')",
        "MERGE INTO z USING (SELECT 1 AS n) s ON z.id = s.n AND z.b = '\\x00ff' "
        "WHEN MATCHED THEN UPDATE SET b = '\\x41ff', words = '{\"b c\",NULL}', l = '{}'",
        "UPDATE z SET b = CAST('\\x41ff' AS bytea), words = '{\"b c\",NULL}'::text[], l = '{}'",
    ],
)
def test_literals_have_the_form_of_what_takes_them(connection: psycopg.Connection, statement: str) -> None:
    connection.execute(statement.encode())
    expected = [(b"\x41\xff", ["b c", None], [])]
    assert connection.execute("SELECT b, words, l FROM z").fetchall() == expected
    # With parameters beside them, too.
    connection.execute("DELETE FROM z")
    connection.execute(
        "INSERT INTO z (id, b, words, l, zip) VALUES (%s, '\\x41ff', '{\"b c\",NULL}', '{}', %s)", [1, "x"]
    )
    assert connection.execute("SELECT b, words, l FROM z WHERE b = '\\x41ff'").fetchall() == expected


def test_a_long_insert_has_the_types_of_its_columns(connection: psycopg.Connection) -> None:
    rows = 3000
    literals = ", ".join(f"({at}, '\\x00ff', '{{\"b c\",NULL}}', '0x1F')" for at in range(10, 10 + rows))
    connection.execute(f"INSERT INTO z (id, b, words, zip) VALUES {literals}".encode())
    # The text of a parameter beside literals, and one long literal.
    values = [r"\x41ff", "{a,b}", "{c}", "007", "0x1F"]
    parameters = f"(5000, $1, $2, $4), (5001, NULL, $3, $5), (5002, '\\x{'41' * 100_000}', '{{}}', '{'z' * 99}')"
    run(connection, f"INSERT INTO z (id, b, words, zip) VALUES {parameters}", *values)
    found = connection.execute("SELECT b, words, zip FROM z WHERE id >= 10 ORDER BY id").fetchall()
    assert found[:rows] == [(b"\x00\xff", ["b c", None], "0x1F")] * rows
    rest = [(b"A\xff", ["a", "b"], "007"), (None, ["c"], "0x1F"), (b"A" * 100_000, [], "z" * 99)]
    assert found[rows:] == rest
    connection.execute(f"UPDATE z SET b = '\\x{'00ff' * 100_000}', zip = '{{}}' WHERE id = 1".encode())
    assert connection.execute("SELECT b, zip FROM z WHERE id = 1").fetchall() == [(b"\x00\xff" * 100_000, "{}")]


def test_a_long_insert_that_is_wrong_says_what(connection: psycopg.Connection) -> None:
    rows = ", ".join(f"({at}, '\\x00')" for at in range(5000))
    for sql in (f"INSERT INTO z (id, nope) VALUES {rows}", f"INSERT INTO nope (id, b) VALUES {rows}, ($1, NULL)"):
        with pytest.raises(psycopg.errors.ProgrammingError, match="nope"):
            run(connection, sql, *["1"][: sql.count("$")])


def test_literals_of_other_types_stay(connection: psycopg.Connection) -> None:
    query = "SELECT '\\x41', '{a}' || zip, zip LIKE '\\0%', '{\"a\": 1}'::json FROM z WHERE zip <> '{}'"
    assert connection.execute(query.encode()).fetchall() == [("\\x41", "{a}00123", True, {"a": 1})]
    for text in ("\\xf", "{1"):
        column = "b" if text.startswith("\\") else "l"
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            connection.execute(f"UPDATE z SET {column} = '{text}'".encode())


def test_white_space_of_values_is_kept(connection: psycopg.Connection) -> None:
    values = ["\xa0x", "\x85", "\u2003y\u3000", "z"]
    text = "{" + " ,\t".join(values) + "\x0b}"
    assert connection.execute("SELECT %s::text[]", [text]).fetchall() == [(values,)]
    connection.execute("UPDATE z SET words = %s", [text])
    assert connection.execute("SELECT words FROM z").fetchall() == [(values,)]
    connection.execute(f"UPDATE z SET words = '{text}'".encode())
    assert connection.execute("SELECT words FROM z").fetchall() == [(values,)]
    connection.execute(f"INSERT INTO z (id, words) VALUES (8, '{text}')".encode())
    assert connection.execute("SELECT words FROM z WHERE id = 8").fetchall() == [(values,)]
    with connection.cursor().copy("COPY z (id, words) FROM STDIN") as copy:
        copy.write(f"9\t{text}\n".replace(",\t", ",").replace("\x0b", "").encode())
    assert connection.execute("SELECT words FROM z WHERE id = 9").fetchall() == [(values,)]


def test_arrays_of_several_dimensions_keep_them(connection: psycopg.Connection) -> None:
    nested = [["foo", "bar"], ["a b", None]]
    for query in ("SELECT %s::text[]", "SELECT CAST(%s AS text[])", "SELECT %s::text[][]"):
        assert connection.execute(query, [nested]).fetchall() == [(nested,)]
        assert connection.execute(query, ['{{foo,bar},{"a b",NULL}}']).fetchall() == [(nested,)]
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        connection.execute("SELECT %s::text[]", ['[["foo","bar"]]'])


def test_a_binary_array_of_json_names_its_items(connection: psycopg.Connection) -> None:
    cursor = connection.cursor(binary=True)
    assert cursor.execute("SELECT ['{\"a\": 1}'::json, NULL]").fetchall() == [([{"a": 1}, None],)]
    assert cursor.pgresult is not None
    value = cursor.pgresult.get_value(0, 0)
    assert value is not None
    assert struct.unpack("!iii", value[:12]) == (1, 1, 114)


@pytest.mark.parametrize("name", ["binary", "text", "literal", "copy", "copy binary"])
def test_an_array_of_two_dimensions_does_not_become_one_of_texts(connection: psycopg.Connection, name: str) -> None:
    """A column of DuckDB's type has as many dimensions as the type."""
    nested = [["a"], ["b"]]
    refused = pytest.raises(psycopg.errors.FeatureNotSupported)
    with connection.cursor(binary=name == "binary") as cursor, refused as caught:
        if name == "literal":
            cursor.execute("UPDATE z SET words = '{{a},{b}}'")
        elif name.startswith("copy"):
            form = "(FORMAT binary)" if name == "copy binary" else ""
            with cursor.copy(f"COPY z (id, words) FROM STDIN {form}".encode()) as copy:
                copy.set_types(["int4", "text[]"])
                copy.write_row([9, nested])
        elif name == "text":
            run(connection, "UPDATE z SET words = $1", "{{a},{b}}")
        else:
            cursor.execute("INSERT INTO z (id, words) VALUES (9, %s)", [nested])
    assert "number of dimensions" in str(caught.value)
    assert connection.execute("SELECT words FROM z").fetchall() == [(["a"],)]


@pytest.mark.parametrize("text", ["{a}", "{{a},b}"])
def test_nor_one_of_one_dimension_null(connection: psycopg.Connection, text: str) -> None:
    connection.execute("CREATE OR REPLACE TEMP TABLE deep (words text[][])")
    refused = pytest.raises(psycopg.errors.InvalidTextRepresentation)
    with refused, connection.cursor().copy("COPY deep FROM STDIN") as copy:
        copy.write(f"{text}\n")
    with connection.cursor().copy("COPY deep FROM STDIN") as copy:
        copy.write("{{a,NULL},{b,c}}\n{}\n\\N\n")
    assert connection.execute("SELECT words FROM deep").fetchall() == [([["a", None], ["b", "c"]],), ([],), (None,)]


@pytest.fixture(scope="module")
def differences(stock: postgres.Cluster) -> Iterator[list[str]]:
    found, counts = compare(stock, seed=1, count=500)
    assert counts["statements"] == 500
    yield found


def test_types_and_results_are_postgresqls(differences: list[str]) -> None:
    assert not differences, "\n".join(differences)
