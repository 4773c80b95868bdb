"""The extended query protocol: parameters, prepared statements, portals, pipelines; with drivers and by hand."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import struct
import uuid
from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg.types.json import Json

from tests.support.every_type import EVERY_TYPE
from tests.support.extended_client import Raw
from tests.testbed.serving import Server, connected, own_server

D = decimal.Decimal
EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))

VALUES = [
    None,
    True,
    1,
    70_000,
    2**40,
    D(2**70),
    -1.5,
    float("inf"),
    5e-324,
    D("12.340"),
    D("-0.001"),
    D("1e5"),
    D("99999999999999999999999999999999999999"),
    "é",
    "",
    "it's $1; --",
    b"\x00\xff",
    datetime.date(2024, 2, 29),
    datetime.date(1, 1, 1),
    datetime.time(1, 2, 3, 4),
    datetime.time(1, 2, 3, tzinfo=EAST),
    datetime.datetime(2024, 2, 29, 1, 2, 3, 4),
    datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=EAST),
    datetime.timedelta(days=-3, seconds=5, microseconds=7),
    uuid.UUID(int=2**100 + 7),
    [1, None, 3],
    [[1, 2], [3, 4]],
    [D("1.5"), D(100)],
    [datetime.date(2024, 1, 1)],
    [b"a", None],
]


server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)


@pytest.mark.parametrize("result", ["text", "binary"])
@pytest.mark.parametrize("parameter", ["%t", "%b"])
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back(connection: psycopg.Connection, value: object, parameter: str, result: str) -> None:
    (found,) = connection.execute(f"SELECT {parameter}", [value], binary=result == "binary").fetchone() or ()
    assert found == value
    assert type(found) is type(value)


def test_json_and_lists_of_texts_come_back(connection: psycopg.Connection) -> None:
    texts = ["a", 'b,"c\\', None, "", "NULL", " x "]
    for parameter in ("%t", "%b"):
        (found, json) = (
            connection.execute(f"SELECT {parameter}::text[], {parameter}", [texts, Json({"a": [1]})]).fetchone() or ()
        )
        assert (found, json) == (texts, {"a": [1]})


@pytest.mark.parametrize("result", ["text", "binary"])
@pytest.mark.parametrize(("type_name", "query"), EVERY_TYPE, ids=[name for name, _ in EVERY_TYPE])
def test_every_type_is_described_as_it_arrives(server: Server, type_name: str, query: str, result: str) -> None:
    """Columns are announced by the engine's names of their types and sent by Arrow's; else the server refuses."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        cursor = connection.cursor(binary=result == "binary")
        try:
            rows = cursor.execute(f"{query} LIMIT %s", [1]).fetchall()
        except psycopg.errors.FeatureNotSupported as error:
            assert result == "binary"
            assert "nanoseconds" in str(error) or "lists of different lengths" in str(error)
        except psycopg.DataError as error:
            assert "date too" in str(error) or "timestamp too" in str(error)
        else:
            assert len(rows) == 1


def test_binary_rows_of_composite_types(connection: psycopg.Connection) -> None:
    query = """SELECT {'a': 1, 'b': 'x', 'c': NULL} AS s, map {'k': 1} AS m, [[1, 2], [3, NULL]] AS l,
                      time with time zone '12:00:00.5-05:30' AS z, '0101'::bit AS b"""
    in_text, in_binary = (connection.execute(query, binary=binary).fetchone() for binary in (False, True))
    assert in_text is not None
    assert in_binary is not None
    assert in_binary[0] == (1, "x", None)
    assert in_binary[1] == [("k", 1)]
    assert in_binary[2:4] == in_text[2:4]
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="lists of different lengths"):
        connection.execute("SELECT [[1], [2, 3]]", binary=True)


def test_open_types_come_from_the_statement(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TEMP TABLE typed (i integer, s varchar, d decimal(9, 2), t timestamp, a integer[])")
    insert = "INSERT INTO typed VALUES (%s, %s, %s, %s, %s) RETURNING d"
    assert connection.execute(insert, ["1", "x", "1.50", "2024-02-29 01:02:03+05", "{1,NULL}"]).fetchall() == [
        (D("1.50"),)
    ]
    # PostgreSQL passes over the zone where the column has none.
    found = connection.execute("SELECT t, a FROM typed WHERE i = %s AND s LIKE %s", ["1", "x%"]).fetchall()
    assert found == [(datetime.datetime(2024, 2, 29, 1, 2, 3), [1, None])]
    # A number is compared with all of its digits, whatever the column's scale.
    assert connection.execute("SELECT i FROM typed WHERE d > %s", ["1.495"]).fetchall() == [(1,)]
    assert connection.execute("SELECT i FROM typed WHERE d > %s", ["1.505"]).fetchall() == []
    assert connection.execute(
        "SELECT i + %s, date_part('year', %s) FROM typed", ["2", datetime.date(2024, 1, 1)]
    ).fetchall() == [(3, 2024)]
    assert connection.execute("SELECT count(*) FROM range(%s) LIMIT %s", [3, 1]).fetchone() == (3,)
    assert connection.execute("SELECT i FROM generate_series(1, %s) t(i)", ["2"]).fetchall() == [(1,), (2,)]
    for query, words, error in [
        ("SELECT %s::integer", "not convert string 'x'", psycopg.errors.InvalidTextRepresentation),
        ("SELECT i FROM typed WHERE d = %s", "invalid input syntax", psycopg.errors.InvalidTextRepresentation),
        ("SELECT nope(%s)", "nope does not exist", psycopg.errors.UndefinedFunction),
    ]:
        with pytest.raises(error, match=words):
            connection.execute(query, ["x"])
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_lists_have_the_type_of_what_they_are_compared_with(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TEMP TABLE listed AS SELECT 1 AS i, 'x' AS s, 1.50::decimal(9, 2) AS d, true AS b")
    for condition, values in [
        ("i = ANY(%s)", ["{1,NULL,3}"]),
        ("i <> all (%s) AND s = any( %s )", ["{2,3}", '{"x"}']),
        ("d = SOME(%s) AND i < %s", ["{1.5}", "2"]),
        ("i = any(%s) AND i = any(%s::bigint[])", ["{1}", "{1}"]),
        ("i <> all(%s)", ["{}"]),
        ("i = any(%s)", [[1, 2]]),
    ]:
        assert connection.execute(f"SELECT b FROM listed WHERE {condition}", values).fetchall() == [(True,)], condition
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        connection.execute("SELECT b FROM listed WHERE i = any(%s)", ["{x}"])


def test_a_failed_statement_of_a_pipeline_undoes_those_before(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE piped (i integer)")
    with pytest.raises(psycopg.errors.UndefinedTable), connection.pipeline():
        connection.execute("INSERT INTO piped VALUES (%s)", [1])
        connection.execute("INSERT INTO nope VALUES (%s)", [2])
        connection.execute("INSERT INTO piped VALUES (%s)", [3])
    assert connection.execute("SELECT count(*) FROM piped").fetchone() == (0,)
    with connection.pipeline():
        for i in range(100):
            connection.execute("INSERT INTO piped VALUES (%s)", [i])
    assert connection.execute("SELECT count(*) FROM piped").fetchone() == (100,)
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO piped VALUES (%s)", [(i,) for i in range(50)])
        assert cursor.rowcount == 50


@pytest.fixture
def raw(server: Server) -> Iterator[Raw]:
    with contextlib.closing(Raw(server)) as raw:
        yield raw


def values(answers: list[tuple[bytes, bytes]]) -> list[int]:
    """The one number in each row."""
    return [int(body[6:]) for kind, body in answers if kind == b"D"]


def test_portals_stop_where_they_are_told_to(raw: Raw) -> None:
    assert raw.query("BEGIN").kinds() == b"CZ"
    raw.parse("SELECT i FROM range($1::bigint) t(i)", "s").bind("a", "s", b"10").bind("b", "s", b"100000")
    assert raw.execute("a", 4).execute("b", 3).add(b"H").kinds(until=b"s") == b"122DDDDs"
    assert raw.kinds(until=b"s") == b"DDDs"
    # Both go on where they stopped, whatever else the session does.
    assert values(raw.execute("a", 4).add(b"S").answers()) == [4, 5, 6, 7]
    assert raw.query("SELECT 1").kinds() == b"TDCZ"
    assert values(raw.execute("b", 2).add(b"S").answers()) == [3, 4]
    found = raw.execute("a", 4).execute("a", 4).execute("b").add(b"S").answers()
    assert values(found) == [8, 9, *range(5, 100_000)]
    assert [body for kind, body in found if kind == b"C"] == [b"SELECT 2\0", b"SELECT 0\0", b"SELECT 99995\0"]
    assert raw.query("COMMIT").kinds() == b"CZ"
    assert b"34000" in raw.execute("b", 2).add(b"S").answers()[0][1]


def test_a_portal_ends_with_its_transaction(raw: Raw) -> None:
    raw.parse("SELECT i FROM range(10) t(i)").bind("p").execute("p", 2).add(b"S")
    assert raw.kinds() == b"12DDsZ"
    (error, _), _ = raw.execute("p", 2).add(b"S").answers()
    assert error == b"E"


def test_a_suspended_portal_holds_no_result(server: Server, raw: Raw) -> None:
    raw.query("BEGIN").kinds()
    before = server.memory()
    raw.parse("SELECT repeat('x', 1000) || i FROM range(400000) t(i)").bind("p").execute("p", 1).add(b"S")
    assert raw.kinds() == b"12DsZ"
    raw.query("SELECT 1").kinds()
    raw.execute("p", 1).add(b"S").kinds()
    assert server.memory() - before < 200 << 20
    assert raw.query("ROLLBACK").kinds() == b"CZ"


def test_errors_skip_to_sync(raw: Raw) -> None:
    raw.parse("SELECT nope").bind().execute().parse("SELECT 1").add(b"S").parse("SELECT 1").bind().execute().add(b"S")
    assert raw.kinds() == b"EZ"
    assert raw.kinds() == b"12DCZ"
    raw.parse("SELECT 1", "taken").add(b"S").kinds()
    breaks: list[tuple[Callable[[], Raw], bytes]] = [
        (lambda: raw.parse("SELECT $1::int").bind("", "", b"1", b"2"), b"08P01"),
        (lambda: raw.bind("", "nope"), b"26000"),
        (lambda: raw.parse("SELECT $2::int").bind("", "", b"", b"x").execute(), b"22P02"),
        (lambda: raw.parse("SELECT 1; SELECT 2"), b"42601"),
        (lambda: raw.parse("SELECT 1", "taken"), b"42P05"),
        (lambda: raw.parse("SELECT nope($1)"), b"42883"),
        (lambda: raw.execute("nope"), b"34000"),
    ]
    for send, code in breaks:
        answers = send().parse("SELECT 1").add(b"S").answers()
        (error,) = [body for kind, body in answers if kind == b"E"]
        assert b"C" + code in error
        assert answers[-1] == (b"Z", b"I")


def test_statements_are_described(raw: Raw) -> None:
    raw.query("CREATE TEMP TABLE described (i integer, d decimal(9,2), s varchar)").kinds()
    answers = dict(
        raw.parse("INSERT INTO described VALUES ($1, $2, $3) RETURNING d").add(b"D", b"S\0").add(b"S").answers()
    )
    assert answers[b"t"] == struct.pack("!h3i", 3, 23, 1700, 25)
    assert answers[b"T"].startswith(b"\0\1d\0")
    answers = dict(raw.parse("DELETE FROM described WHERE i = $1").add(b"D", b"S\0").add(b"S").answers())
    assert (answers[b"t"], answers[b"n"]) == (struct.pack("!hi", 1, 23), b"")
    assert raw.query("SELECT count(*) FROM described").answers()[1][1].endswith(b"0")


def test_a_statement_whose_columns_change_is_not_misread(raw: Raw) -> None:
    raw.query("CREATE TEMP TABLE changing AS SELECT 1 AS i").kinds()
    assert raw.parse("SELECT * FROM changing", "s").bind("", "s").execute().add(b"S").kinds() == b"12DCZ"
    raw.query("ALTER TABLE changing ALTER i TYPE varchar").kinds()
    (_, (kind, error), _) = raw.bind("", "s").execute().add(b"S").answers()
    assert kind == b"E"
    assert b"cached plan must not change result type" in error


def test_errors_have_their_place_in_what_was_parsed(connection: psycopg.Connection) -> None:
    for query, place in (("select  nothing_there", 9), (" select 1 +", 11), ("select 'é', * from nowhere", 20)):
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(query, prepare=True)
        assert caught.value.diag.statement_position == str(place), query
    with pytest.raises(psycopg.errors.UndefinedColumn) as caught:
        connection.execute("select %s + nothing_there", [1])
    # In the text with `$1`, which became a cast.
    assert caught.value.diag.statement_position == "13"


@pytest.mark.parametrize("prepare", [False, True])
@pytest.mark.parametrize(
    "query",
    [
        "select 'é', pg_catalog.version() from public.missing",
        "/* é */ with a as (select 1 from pg_catalog.pg_class) insert into public.missing select * from a",
        "declare c cursor for select '{1}'::int4[] from public.missing",
    ],
)
def test_errors_have_their_place_behind_names_of_schemas(
    connection: psycopg.Connection, query: str, prepare: bool
) -> None:
    with connection.transaction(force_rollback=True), pytest.raises(psycopg.Error) as caught:
        connection.execute(query, prepare=prepare)
    position = caught.value.diag.statement_position
    assert position is not None
    assert query[int(position) - 1 :].removeprefix("public.").startswith("missing"), position


@pytest.mark.parametrize(
    "query", ["select 'é', pg_catalog.missing()", "select '{1}'::int4[], 'x'::pg_catalog.int4 from range(1)"]
)
def test_errors_of_copy_have_their_place_in_the_whole_statement(connection: psycopg.Connection, query: str) -> None:
    statement = f"copy ({query}) to stdout"
    with pytest.raises(psycopg.Error) as caught, connection.cursor().copy(statement) as copy:
        list(copy)
    position = caught.value.diag.statement_position
    assert position is not None
    assert statement[int(position) - 1 :].startswith(("missing", "::pg_catalog")), position


def test_with_has_the_tag_of_what_it_does(connection: psycopg.Connection) -> None:
    connection.execute("create temp table tagged (i integer)")
    inserted = connection.execute("with a as (select 1 union all select 2) insert into tagged from a")
    assert (inserted.statusmessage, inserted.rowcount) == ("INSERT 0 2", 2)
    deleted = connection.execute(
        "with a as (select 1 as i) delete from tagged using a where tagged.i = a.i returning 7"
    )
    assert (deleted.statusmessage, deleted.fetchall()) == ("DELETE 1", [(7,)])
    assert connection.execute("with insert as (select 3) from insert").statusmessage == "SELECT 1"


@pytest.mark.parametrize("prepare", [False, True])
def test_errors_behind_rewritten_text_have_their_place(connection: psycopg.Connection, prepare: bool) -> None:
    query = (
        "select '{1}'::int4[], 'é', 'pg_class'::regclass::text from pg_catalog.pg_class, information_schema.tables "
        "where nothing_there"
    )
    with pytest.raises(psycopg.errors.UndefinedColumn) as caught:
        connection.execute(query, prepare=prepare)
    assert caught.value.diag.statement_position == str(query.index("nothing_there") + 1)


def test_an_insert_may_have_the_most_parameters(connection: psycopg.Connection) -> None:
    count = 65_535
    rows = ", ".join(["(%s, %s, %s)"] * (count // 3))
    connection.execute("CREATE TEMP TABLE wide (a integer, b varchar, c timestamp)")
    values = [1, "é", "2024-02-29 01:02:03"] * (count // 3)
    assert connection.execute(f"INSERT INTO wide VALUES {rows}", values).rowcount == count // 3
    (row,) = connection.execute("SELECT DISTINCT * FROM wide").fetchall()
    assert row == (1, "é", datetime.datetime(2024, 2, 29, 1, 2, 3))


def test_numbers_and_times_that_the_engine_would_change_are_refused(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TEMP TABLE exact (i integer, d double, l bigint[])")
    for column, text in (("i", "5.5"), ("i", "15e-1"), ("d", "1e400"), ("l", "{1,2.5}")):
        with pytest.raises(psycopg.DataError) as caught:
            connection.execute(f"INSERT INTO exact ({column}) VALUES ($1)".replace("$1", "%s"), [text])
        assert caught.value.sqlstate in ("22P02", "22003")
        copying = f"COPY exact ({column}) FROM STDIN"
        with pytest.raises(psycopg.DataError), connection.cursor() as cursor, cursor.copy(copying) as copy:
            copy.write(text + "\n")
    with connection.cursor() as cursor, cursor.copy("COPY exact FROM STDIN") as copy:
        copy.write("5.0\t1e308\t{20e0}\n")
    assert connection.execute("SELECT * FROM exact").fetchall() == [(5, 1e308, [20])]


def test_a_binary_time_outside_of_the_day_is_refused(raw: Raw) -> None:
    for micros in (-1, 86_400_000_001):
        raw.add(b"P", b"\0SELECT $1\0" + struct.pack("!hi", 1, 1083))
        value = struct.pack("!hhhiq", 1, 1, 1, 8, micros)
        (_, (kind, error), _) = raw.add(b"B", b"\0\0" + value + b"\0\0").execute().add(b"S").answers()
        assert (kind, b"C22003\0" in error) == (b"E", True)
