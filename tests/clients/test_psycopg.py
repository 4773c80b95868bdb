"""psycopg, an ordinary PostgreSQL driver, against `colonnade serve`: values and results in every format."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import threading
import uuid

import psycopg
import pyarrow as pa
import pyarrow.ipc
import pytest
from psycopg import errors
from psycopg.types import TypeInfo

from tests.support.raw_client import wait_until
from tests.testbed.serving import Server, connected, own_server

ENDLESS = "SELECT count(*) FROM range(100000000000000) t(i) WHERE i % 7 = 3"


server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)


def test_what_the_server_says_of_itself(connection: psycopg.Connection) -> None:
    assert connection.info.server_version == 150000
    assert connection.info.parameter_status("server_version").startswith("15.0 (Colonnade ")
    assert connection.info.parameter_status("colonnade") == "1"
    assert connection.info.parameter_status("session_authorization") == "tester"
    assert connection.info.encoding == "utf-8"


def test_rows_come_as_python_values(connection: psycopg.Connection) -> None:
    query = """
        SELECT true, 1::smallint, 2::integer, 3::bigint, 4.5::double, 6.70::decimal(9, 2), 'é', 'x'::blob,
               date '2024-02-29', time '01:02:03.5', timestamp '2024-02-29 01:02:03',
               timestamptz '2024-02-29 01:02:03+00', interval '1 day 2 hours', NULL, [1, 2], ['a "b"', NULL],
               [[1], [2]], '00112233-4455-6677-8899-aabbccddeeff'::uuid, '{"a": [1]}'::json,
               18446744073709551615::ubigint
    """
    (row,) = connection.execute(query).fetchall()
    assert row == (
        True,
        1,
        2,
        3,
        4.5,
        decimal.Decimal("6.70"),
        "é",
        b"x",
        datetime.date(2024, 2, 29),
        datetime.time(1, 2, 3, 500_000),
        datetime.datetime(2024, 2, 29, 1, 2, 3),
        datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=datetime.UTC),
        datetime.timedelta(days=1, hours=2),
        None,
        [1, 2],
        ['a "b"', None],
        [[1], [2]],
        uuid.UUID("00112233-4455-6677-8899-aabbccddeeff"),
        {"a": [1]},
        decimal.Decimal("18446744073709551615"),
    )


COLUMNS = {
    "bool": ("i % 2 = 0", lambda i: i % 2 == 0),
    "int2": ("(i % 100)::smallint", lambda i: i % 100),
    "int4": ("i::integer", lambda i: i),
    "int8": ("i * 10_000_000_000", lambda i: i * 10_000_000_000),
    "float4": ("(i / 2)::float", lambda i: i / 2),
    "float8": ("i / 2", lambda i: i / 2),
    "numeric": ("((i - 2000) * 0.125)::decimal(18, 3)", None),
    "text": ("'t' || i", lambda i: f"t{i}"),
    "bytea": ("encode(i::varchar)", lambda i: str(i).encode()),
    "date": ("date '1999-12-30' + i::integer", lambda i: datetime.date(1999, 12, 30) + datetime.timedelta(i)),
    "timestamp": ("timestamp '1999-12-30' + to_seconds(i)", None),
    "timestamptz": ("timestamptz '1999-12-30 00:00:00+00' + to_seconds(i)", None),
    "time": ("time '00:00:00' + to_seconds(i)", None),
    "interval": ("to_days(i::integer) - to_microseconds(i)", lambda i: datetime.timedelta(days=i, microseconds=-i)),
    "uuid": ("lpad(i::varchar, 32, '0')::uuid", lambda i: uuid.UUID(str(i).rjust(32, "0"))),
    "int4[]": ("[i::integer, NULL]", lambda i: [i, None]),
    "text[]": ("['a' || i, 'b,\"c']", lambda i: [f"a{i}", 'b,"c']),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_binary_copy_reads_as_text_does(connection: psycopg.Connection, name: str) -> None:
    expression, expected = COLUMNS[name]
    query = f"SELECT CASE WHEN i % 7 <> 3 THEN {expression} END AS c FROM range(3000) t(i)"
    as_text = [row[0] for row in connection.execute(query)]
    copies = {}
    for form in ("text", "binary"):
        with connection.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT {form})") as copy:
            copy.set_types([name])
            copies[form] = [row[0] for row in copy.rows()]
    assert copies["binary"] == as_text
    assert copies["text"] == as_text
    assert as_text[3] is None
    assert len(as_text) == 3000
    if expected is not None:
        assert as_text[:3] == [expected(i) for i in range(3)]


def test_numerics_of_all_sizes_in_binary(connection: psycopg.Connection) -> None:
    values = ["0", "-0.01", "99999999999999999999999999999999999.999", "10000", "0.0001", "-12345.6789", "1e-3"]
    for value in values:
        with connection.cursor().copy(
            f"COPY (SELECT '{value}'::decimal(38, 3) AS d) TO STDOUT (FORMAT binary)"
        ) as copy:
            copy.set_types(["numeric"])
            ((found,),) = list(copy.rows())
        ((expected,),) = connection.execute(f"SELECT '{value}'::decimal(38, 3)").fetchall()
        assert (found, str(found)) == (expected, str(expected))


def test_infinite_and_early_dates_in_binary(connection: psycopg.Connection) -> None:
    query = "COPY (SELECT 'infinity'::date, '-infinity'::timestamp, date '0001-01-01') TO STDOUT (FORMAT binary)"
    with connection.cursor().copy(query) as copy:
        data = b"".join(map(bytes, copy))
    values = data[len(b"PGCOPY\n\xff\r\n\0") + 8 + 2 :]
    assert values[:8] == b"\0\0\0\x04\x7f\xff\xff\xff"
    assert values[8:20] == b"\0\0\0\x08\x80" + bytes(7)
    days = int.from_bytes(values[24:28], "big", signed=True)
    assert datetime.date(2000, 1, 1) + datetime.timedelta(days) == datetime.date(1, 1, 1)


def test_an_empty_result_in_every_format(connection: psycopg.Connection) -> None:
    expected = {"text": b"", "csv": b"", "binary": b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"\xff\xff"}
    for form, data in expected.items():
        with connection.cursor().copy(f"COPY (SELECT 1 WHERE false) TO STDOUT (FORMAT {form})") as copy:
            assert b"".join(map(bytes, copy)) == data
    assert read_arrow(connection, "SELECT 1 AS i WHERE false").num_rows == 0


def read_arrow(connection: psycopg.Connection, query: str) -> pa.Table:
    with connection.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT arrow)") as copy:
        data = b"".join(map(bytes, copy))
    return pyarrow.ipc.open_stream(data).read_all()


def test_arrow_copy_reads_with_pyarrow(connection: psycopg.Connection) -> None:
    query = """
        SELECT i, 's' || i AS s, CASE WHEN i % 3 = 0 THEN i / 4 END AS d, ['x', NULL] AS l, {'a': i, 'b': 'y'} AS r,
               (CASE WHEN i % 2 = 0 THEN 'even' ELSE 'odd' END)::enum('even', 'odd') AS e, '12:00:00+02'::timetz AS z
        FROM range(100_000) t(i)
    """
    table = read_arrow(connection, query)
    assert table.num_rows == 100_000
    assert table["i"].to_pylist() == list(range(100_000))
    assert table.slice(99_999).to_pylist() == [
        {
            "i": 99_999,
            "s": "s99999",
            "d": 99_999 / 4,
            "l": ["x", None],
            "r": {"a": 99_999, "b": "y"},
            "e": "odd",
            "z": "12:00:00+02",
        }
    ]
    assert table.schema.field("z").metadata == {b"colonnade.type": b"TIME WITH TIME ZONE"}
    assert table.schema.field("e").type == pa.dictionary(pa.uint8(), pa.string())


def test_a_statement_that_is_run_often_is_prepared(connection: psycopg.Connection) -> None:
    for number in range(8):
        assert connection.execute("SELECT 1 AS a, 'x' AS b", prepare=number > 0).fetchall() == [(1, "x")]
    connection.execute("CREATE TEMP TABLE prepared (i integer)", prepare=True)
    for _ in range(3):
        assert connection.execute("INSERT INTO prepared VALUES (1), (2)", prepare=True).statusmessage == "INSERT 0 2"
    cursor = connection.execute("SELECT count(*) FROM prepared", prepare=True)
    assert [column.name for column in cursor.description] == ["count"]
    assert cursor.fetchone() == (6,)
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("SELECT * FROM nope", prepare=True)
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_binary_result_is_the_same_as_a_text_result(connection: psycopg.Connection) -> None:
    query = """
        SELECT i::integer AS i, i / 2 AS f, (i * 1.25)::decimal(18, 2) AS d, 's' || i AS s, i % 2 = 0 AS b,
               date '2024-02-29' + i::integer AS a, CASE WHEN i > 5 THEN [i] END AS l
        FROM range(10) t(i)
    """
    as_text = connection.execute(query).fetchall()
    assert connection.execute(query, binary=True).fetchall() == as_text
    with pytest.raises(psycopg.errors.FeatureNotSupported, match='column "s"'):
        connection.execute("SELECT union_value(a := 1) AS s", binary=True)


def test_pipelines_and_transactions_through_the_extended_protocol(connection: psycopg.Connection) -> None:
    with connection.pipeline():
        first = connection.execute("SELECT 1")
        second = connection.execute("SELECT 2 AS two")
        assert (first.fetchone(), second.fetchone()) == ((1,), (2,))
    for statement in (
        "BEGIN",
        "ROLLBACK",
        "SELECT 1",
        "SET schema = 'main'",
        "SHOW tables",
        "EXPLAIN SELECT 1",
        "",
        "DISCARD ALL",
    ):
        connection.execute(statement, prepare=True)


LITERALS = [
    None,
    True,
    -7,
    2**70,
    -0.5,
    decimal.Decimal("1.50"),
    "it's %s; $1 \\",
    bytes(range(256)),
    datetime.date(2024, 2, 29),
    datetime.datetime(2024, 2, 29, 1, 2, 3, 4),
    datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=datetime.UTC),
    datetime.timedelta(days=-3, seconds=5),
    uuid.UUID(int=7),
    [1, None, 3],
    [[1, 2], [3, 4]],
    [b"\x00\\", b""],
    [decimal.Decimal("1.5")],
]


@pytest.mark.parametrize("given", LITERALS, ids=repr)
def test_values_that_the_client_writes_into_the_statement(server: Server, given: object) -> None:
    with psycopg.connect(server.dsn, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        assert connection.execute("SELECT %s", [given]).fetchone() == (given,)


def test_lists_of_texts_that_the_client_writes_into_the_statement(server: Server) -> None:
    texts = ["a", 'b,"c\\', None, ""]
    with psycopg.connect(server.dsn, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        assert connection.execute("SELECT %s::text[]", [texts]).fetchone() == (texts,)


def test_rows_are_read_while_they_come(connection: psycopg.Connection) -> None:
    with connection.cursor() as cursor:
        total = sum(i for (i,) in cursor.stream("SELECT i FROM range(20000) t(i)"))
        assert total == 20000 * 19999 // 2
        with pytest.raises(errors.InvalidTextRepresentation):
            list(cursor.stream("SELECT (if(i = 19000, 'x', '1'))::integer FROM range(20000) t(i)"))
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_cancel_reaches_a_query(connection: psycopg.Connection) -> None:
    caught: list[BaseException] = []

    def run() -> None:
        try:
            connection.execute(ENDLESS)
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def is_over() -> bool:
        connection.cancel_safe()
        thread.join(0.05)
        return not thread.is_alive()

    wait_until(is_over)
    assert isinstance(caught[0], errors.QueryCanceled)
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_asynchronous_connections(server: Server) -> None:
    async def session() -> None:
        async with await psycopg.AsyncConnection.connect(server.dsn, autocommit=True) as connection:
            cursor = await connection.execute("SELECT count(*) FROM range(%s)", [1000])
            assert await cursor.fetchone() == (1000,)
            running = asyncio.create_task(connection.execute(ENDLESS))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(running, 0.3)
            cursor = await connection.execute("SELECT 1")
            assert await cursor.fetchone() == (1,)

    asyncio.run(session())


def test_types_are_found_by_their_names(connection: psycopg.Connection) -> None:
    found = TypeInfo.fetch(connection, "numeric")
    assert found is not None
    assert (found.name, found.oid, found.array_oid) == ("numeric", 1700, 1231)
    assert TypeInfo.fetch(connection, "nothing_like_it") is None


def test_a_session_knows_who_and_which_it_is(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True, user="it's global") as connection:
        for prepare in (False, True):
            names = connection.execute("SELECT current_user, session_user, user, current_role", prepare=prepare)
            assert [column.name for column in names.description or ()][:2] == ["current_user", "session_user"]
            assert names.fetchone() == ("it's global",) * 4
        places = connection.execute("SELECT current_catalog, current_database(), current_schema, current_schema()")
        assert places.fetchone() == ("memory", "memory", "public", "public")
        assert connection.execute("SELECT pg_backend_pid()").fetchone() == (connection.info.backend_pid,)
        roles = connection.execute("SELECT rolname FROM pg_roles WHERE rolname = current_user").fetchall()
        assert roles == [("it's global",)]
        with psycopg.connect(server.dsn, autocommit=True) as other:
            found = other.execute("SELECT current_user, pg_backend_pid()").fetchone()
            assert found == ("tester", other.info.backend_pid)


def test_a_sleep_can_be_canceled(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        assert connection.execute("SELECT pg_sleep(0.01)").statusmessage == "SELECT 1"
        connection.execute("SET statement_timeout = '300ms'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("SELECT pg_sleep(250)")
        assert connection.execute("SELECT 1").fetchone() == (1,)
