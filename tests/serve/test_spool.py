"""`colonnade_spool` and `colonnade_part`: a query runs once, and its result is read in parts, by any session."""

from __future__ import annotations

import asyncio
import random
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import asyncpg
import colonnade
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from psycopg import errors
from reader.stream import read_stream

from tests.support.fronts import colonnade_uri
from tests.support.spools import Part, part_bytes, part_table, spool
from tests.testbed.serving import TIMEOUT, Server, connected, own_server

server = pytest.fixture(own_server, scope="module")
client = pytest.fixture(connected)

ROWS = 300_000
QUERY = f"""select i, i * 0.5 as f, 'row ' || i % 1000 as t, case when i % 7 > 0 then i end as n,
    [i, i + 1] as l, (i / 100)::decimal(18, 3) as d, timestamp '2024-01-01' + to_seconds(i) as w
    from range({ROWS}) r(i)"""


@pytest.fixture(scope="module")
def spooled(server: Server) -> Iterator[list[Part]]:
    with psycopg.connect(server.dsn, autocommit=True) as session:
        yield spool(session, QUERY, bytes=3_000_000)


def test_the_parts_are_the_whole_result_in_order(client: psycopg.Connection, spooled: list[Part]) -> None:
    assert len(spooled) > 3 and [part.part for part in spooled] == list(range(1, len(spooled) + 1))
    assert len({part.ticket for part in spooled}) == 1 and sum(part.rows for part in spooled) == ROWS
    tables = [part_table(client, part.ticket, part.part) for part in spooled]
    assert [table.num_rows for table in tables] == [part.rows for part in spooled]
    with client.cursor().copy(f"COPY ({QUERY}) TO STDOUT (FORMAT arrow)") as copy:
        whole = pa.ipc.open_stream(b"".join(map(bytes, copy))).read_all()
    found = pa.concat_tables(tables)
    assert found.schema.equals(whole.schema)
    assert found.sort_by("i").equals(whole.sort_by("i"))
    assert pc.sum(found["i"]).as_py() == ROWS * (ROWS - 1) // 2


def test_a_part_is_a_stream_of_its_own(client: psycopg.Connection) -> None:
    """The reader that was written from the specification alone reads it."""
    parts = spool(client, "select i, 'x' || i as t from range(5000) r(i)", bytes=1)
    numbers: list[int] = []
    for part in parts:
        sent = part_bytes(client, part.ticket, part.part)
        assert len(sent) == part.encoded_bytes
        stream = read_stream(sent).to_json()
        assert stream["rows"] == part.rows
        numbers += [int(value) for value in stream["columns"][0]]
    assert sorted(numbers) == list(range(5000))


def test_a_part_is_the_same_bytes_each_time(server: Server, client: psycopg.Connection, spooled: list[Part]) -> None:
    expected = [part_bytes(client, part.ticket, part.part) for part in spooled]

    def read(seed: int) -> bool:
        with psycopg.connect(server.dsn, autocommit=True) as session:
            order = random.Random(seed).sample(range(len(spooled)), len(spooled))
            return all(part_bytes(session, *spooled[at][:2]) == expected[at] for at in order)

    with ThreadPoolExecutor(8) as readers:
        assert all(readers.map(read, range(8)))


@pytest.mark.parametrize(
    "options",
    [
        "compression light",
        "compression 'plain+zstd-1'",
        "encodings 'plain,packed'",
        "chunk_rows 1000",
        "chunk_bytes 20000",
        "max_message_bytes 100000",
    ],
)
def test_a_reader_gets_what_it_asks_for(client: psycopg.Connection, options: str) -> None:
    [kept] = spool(client, "select i, i % 10 as d from range(20000) r(i)", compression="plain")
    as_kept = part_bytes(client, kept.ticket, 1)
    asked = part_bytes(client, kept.ticket, 1, f"FORMAT colonnade, {options}")
    found, expected = read_stream(asked).to_json(), read_stream(as_kept).to_json()
    assert found["columns"] == expected["columns"] and found["rows"] == 20000
    assert (asked == as_kept) == ("encodings" in options)


@pytest.mark.parametrize("compression", ["plain", "light", "light+fsst", "light+lz4", "light+zstd-3"])
def test_chunks_are_kept_as_the_planner_says(client: psycopg.Connection, compression: str) -> None:
    query = "select i % 100 as i, 'abc' || i % 1000 as t from range(100000) r(i)"
    [plain], [kept] = spool(client, query, compression="plain"), spool(client, query, compression=compression)
    assert kept.plain_bytes == plain.plain_bytes
    assert kept.encoded_bytes < plain.encoded_bytes or compression == "plain"
    # The kept chunks are sent as they are to a reader with no wish, and to one with this wish.
    sent = part_bytes(client, kept.ticket, 1)
    assert len(sent) == kept.encoded_bytes
    assert part_bytes(client, kept.ticket, 1, f"FORMAT colonnade, compression '{compression}'") == sent
    assert part_table(client, kept.ticket, 1).equals(part_table(client, plain.ticket, 1))


def test_a_part_is_readable_while_the_next_is_written(server: Server, client: psycopg.Connection) -> None:
    endless = "select i from range(100000000000) r(i)"
    with psycopg.connect(server.dsn, autocommit=True) as planner:
        cursor = planner.cursor()
        rows = cursor.stream("SELECT * FROM colonnade_spool(%s, bytes => 400000)", (endless,))
        first = Part(*next(rows))
        for _ in range(2):
            assert part_table(client, first.ticket, 1).num_rows == first.rows
        with pytest.raises(errors.ObjectNotInPrerequisiteState, match="is not complete: the query still runs"):
            part_bytes(client, first.ticket, 1_000_000)
        planner.cancel()
        with pytest.raises(errors.QueryCanceled):
            for _ in rows:
                pass
        # A failed query has no result.
        with pytest.raises(errors.UndefinedObject, match="this ticket does not exist"):
            part_bytes(client, first.ticket, 1)
        assert planner.execute("select 1").fetchone() == (1,)


def test_the_query_of_a_planner_that_goes_ends(server: Server, client: psycopg.Connection) -> None:
    planner = psycopg.connect(server.dsn, autocommit=True)
    rows = planner.cursor().stream("SELECT * FROM colonnade_spool('from range(100000000000)', bytes => 400000)")
    ticket = next(rows)[0]
    assert part_bytes(client, ticket, 1)
    planner.pgconn.finish()
    ended = threading.Event()
    while not ended.wait(0.02):
        try:
            part_bytes(client, ticket, 1)
        except errors.UndefinedObject:
            ended.set()


def test_empty_and_wide_results(client: psycopg.Connection) -> None:
    [empty] = spool(client, "select 1 as a, 'x' as b where false")
    assert empty[1:] == (1, 0, 0, empty.encoded_bytes)
    found = part_table(client, empty.ticket, 1)
    assert (found.num_rows, found.column_names) == (0, ["a", "b"])
    assert read_stream(part_bytes(client, empty.ticket, 1)).to_json()["rows"] == 0
    # A row that is larger than a chunk and a part.
    [one, two] = spool(client, "select repeat('x', 9000000) as t from range(2)", bytes=5_000_000)
    assert one.rows == two.rows == 1 and one.plain_bytes >= 9_000_000
    assert part_table(client, two.ticket, 2)["t"].to_pylist() == ["x" * 9_000_000]


def test_all_formats_of_copy(client: psycopg.Connection) -> None:
    query = (
        "select 1 as i, 'a,b' as t, uuid '00112233-4455-6677-8899-aabbccddeeff' as u, [1, null] as l, bit '101' as b"
    )
    [part] = spool(client, query)
    for options in ("FORMAT csv, HEADER", "FORMAT text", "FORMAT binary"):
        with client.cursor().copy(f"COPY ({query}) TO STDOUT ({options})") as copy:
            expected = b"".join(map(bytes, copy))
        assert part_bytes(client, part.ticket, 1, options) == expected
    with pytest.raises(errors.InvalidParameterValue, match="not recognized"):
        part_bytes(client, part.ticket, 1, "FORMAT xml")


def part_rows(client: psycopg.Connection, source: str, options: str = "FORMAT csv") -> bytes:
    with client.cursor().copy(f"COPY colonnade_part({source}) TO STDOUT ({options})") as copy:
        return b"".join(map(bytes, copy))


def test_several_parts_are_streams_one_after_another(client: psycopg.Connection) -> None:
    parts = spool(client, "select i, -i as m from range(300000) r(i)", bytes=1_000_000)
    ticket, last = parts[0].ticket, len(parts)
    assert last >= 4
    one_by_one = b"".join(part_bytes(client, ticket, number) for number in range(2, last + 1))
    assert part_rows(client, f"'{ticket}', 2, last => {last}", "FORMAT colonnade") == one_by_one
    # Encoded again, they are one stream.
    again = read_stream(part_rows(client, f"'{ticket}', 2, last => {last}", "FORMAT colonnade, compression plain"))
    assert again.to_json()["rows"] == sum(part.rows for part in parts[1:])
    csv = part_rows(client, f"'{ticket}', 1, last => {last}").splitlines()
    assert sorted(csv, key=lambda row: int(row.split(b",")[0])) == [b"%d,%d" % (i, -i) for i in range(300_000)]
    client.pgconn.prepare(b"range", b"COPY colonnade_part($1, $2, last => $3, limit => $4) TO STDOUT (FORMAT csv)")
    assert client.pgconn.describe_prepared(b"range").nparams == 4
    client.execute("deallocate range")


def test_columns_and_rows_are_chosen(client: psycopg.Connection) -> None:
    query = "select 1 as a, 'x' as b, uuid '00112233-4455-6677-8899-aabbccddeeff' as a, bit '101' as c from range(9)"
    [part] = spool(client, query)
    ticket = part.ticket
    assert part_rows(client, f"'{ticket}', 1, columns => '4, 2', limit => 2", "FORMAT csv, HEADER") == (
        b"c,b\n101,x\n101,x\n"
    )
    assert part_rows(client, f"'{ticket}', 1, columns => 3, limit => 1") == b"00112233-4455-6677-8899-aabbccddeeff\n"
    assert part_rows(client, f"'{ticket}', 1, limit => 0", "FORMAT csv, HEADER") == b"a,b,a,c\n"
    assert part_rows(client, f"'{ticket}', 1, limit => 99") == part_rows(client, f"'{ticket}', 1")
    found = read_stream(part_rows(client, f"'{ticket}', 1, columns => '1', limit => 3", "FORMAT colonnade")).to_json()
    assert found["columns"] == [["1"] * 3] or found["columns"] == [[1] * 3]
    empty = read_stream(part_rows(client, f"'{ticket}', 1, limit => 0", "FORMAT colonnade")).to_json()
    assert empty["rows"] == 0 and len(empty["columns"]) == 4


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("columns => ''", errors.InvalidParameterValue),
        ("columns => '1,1'", errors.InvalidParameterValue),
        ("columns => '0'", errors.InvalidParameterValue),
        ("columns => 'a'", errors.InvalidParameterValue),
        ("columns => '1,2,99'", errors.UndefinedColumn),
        ("columns => '18446744073709551615'", errors.UndefinedColumn),
        ("limit => -1", errors.SyntaxError),
        ("limit => '-1'", errors.InvalidParameterValue),
        ("limit => 1, limit => 2", errors.SyntaxError),
        ("last => 2", errors.UndefinedObject),
        ("last => 0", errors.UndefinedObject),
        ("last => 'x'", errors.InvalidParameterValue),
        ("rows => 1", errors.InvalidParameterValue),
    ],
)
def test_wrong_choices_are_refused(client: psycopg.Connection, options: str, error: type[psycopg.Error]) -> None:
    [part] = spool(client, "select 1 as a, 2 as b")
    with pytest.raises(error):
        part_rows(client, f"'{part.ticket}', 1, {options}")
    assert part_rows(client, f"'{part.ticket}', 1") == b"1,2\n"


def test_parts_of_equal_shares_are_small_first(client: psycopg.Connection) -> None:
    parts = spool(client, "select i from range(200000) r(i)", parts=2)
    sizes = [part.rows for part in parts]
    assert sizes[:8] == [1024] * 8 and sum(sizes) == 200_000
    assert all(rows <= max(1024, sum(sizes[:at]) // 8) for at, rows in enumerate(sizes))
    for wrong in (0, 10_001, "x"):
        with pytest.raises(errors.InvalidParameterValue, match="from 1 to 10000"):
            spool(client, "select 1", parts=wrong)


def test_the_query_runs_in_its_sessions_transaction(client: psycopg.Connection) -> None:
    client.execute("create temp table t (i int)")
    client.execute("begin")
    client.execute("insert into t values (1), (2)")
    [part] = spool(client, "select * from t")
    client.execute("delete from t")
    client.execute("rollback")
    assert part_table(client, part.ticket, 1)["i"].to_pylist() == [1, 2]
    [after] = spool(client, "select * from t")
    assert after.rows == 0
    # And with its settings.
    client.execute("set timezone = 'Asia/Tokyo'")
    [part] = spool(client, "select current_setting('TimeZone') as z")
    assert part_table(client, part.ticket, 1)["z"].to_pylist() == ["Asia/Tokyo"]
    client.execute("begin")
    with pytest.raises(errors.UndefinedTable):
        spool(client, "select * from nothing")
    with pytest.raises(errors.InFailedSqlTransaction):
        spool(client, "select 1")


def test_prepared_statements_and_their_descriptions(client: psycopg.Connection) -> None:
    statement = "SELECT * FROM colonnade_spool(%s, bytes => %s)"
    for binary in (False, True):
        cursor = client.execute(statement, ("select 7 as x", 100), prepare=True, binary=binary)
        assert cursor.description is not None
        assert [(column.name, column.type_code) for column in cursor.description] == [
            ("ticket", 25),
            ("part", 23),
            ("rows", 20),
            ("plain_bytes", 20),
            ("encoded_bytes", 20),
        ]
        part = Part(*cursor.fetchone())
        assert part.rows == 1 and cursor.statusmessage == "SELECT 1"
        # COPY with parameters, which libpq sends unchanged.
        client.pgconn.prepare(b"part", b"COPY colonnade_part($1, $2) TO STDOUT (FORMAT csv)")
        result = client.pgconn.describe_prepared(b"part")
        assert (result.nparams, result.nfields) == (2, 0)
        result = client.pgconn.exec_prepared(b"part", [part.ticket.encode(), b"1"])
        assert result.status == psycopg.pq.ExecStatus.COPY_OUT
        assert bytes(client.pgconn.get_copy_data(0)[1]) == b"7\n"
        while client.pgconn.get_copy_data(0)[0] > 0:
            pass
        while client.pgconn.get_result() is not None:
            pass
        client.execute("deallocate part")
        released = client.execute("SELECT * FROM colonnade_release(%s)", (part.ticket,), prepare=True, binary=binary)
        assert released.fetchall() == [(True,)]
    for values in ((None, 5), ("select 1", None)):
        with pytest.raises(errors.InvalidParameterValue, match="must be a text or a whole number"):
            client.execute(statement, values, prepare=True)


def test_psql_and_colonnades_own_client(server: Server, client: psycopg.Connection) -> None:
    def run(sql: str) -> bytes:
        command = ["psql", "-AtX", server.dsn, "-c", sql]
        return subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=True).stdout

    ticket, part, rows, *_ = run("select * from colonnade_spool($$select 42 as x; $$)").decode().split("|")
    assert (part, rows) == ("1", "1")
    assert run(f"copy colonnade_part('{ticket}', 1) to stdout (format csv, header)") == b"x\n42\n"
    stream = run(f"COPY /* all */ colonnade_part($${ticket}$$, 1) TO STDOUT (FORMAT colonnade)")
    assert read_stream(stream).to_json()["rows"] == 1
    assert run(f"select * from colonnade_release('{ticket}')") == b"t\n"
    uri = colonnade_uri(server)
    [row] = colonnade.read_sql(uri, "from colonnade_spool('select 1')", return_type="arrow").to_pylist()
    assert part_table(client, row["ticket"], row["part"]).num_rows == 1


def test_a_portal_writes_as_far_as_its_rows_are_read(server: Server, client: psycopg.Connection) -> None:
    """With Execute's limit of rows, and another statement between, before which the rest is written."""

    async def read() -> list[Part]:
        session = await asyncpg.connect(host=server.host, port=server.port, user="tester", database="x", ssl=False)
        try:
            async with session.transaction():
                query = "SELECT * FROM colonnade_spool($1, bytes => 1)"
                cursor = await session.cursor(query, "from range(500000)")
                first = [Part(*row) for row in await cursor.fetch(2)]
                with pytest.raises(errors.ObjectNotInPrerequisiteState):
                    part_bytes(client, first[0].ticket, 5)
                assert await session.fetchval("select 7") == 7
                assert part_bytes(client, first[0].ticket, 5)
                return first + [Part(*row) for row in await cursor.fetch(1000)]
        finally:
            await session.close()

    parts = asyncio.run(read())
    assert [part.part for part in parts] == list(range(1, len(parts) + 1))
    assert sum(part.rows for part in parts) == 500_000
    assert sum(part_table(client, part.ticket, part.part).num_rows for part in parts) == 500_000


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("select * from colonnade_spool()", "42601"),
        ("select * from colonnade_spool('')", "42601"),
        ("select * from colonnade_spool('select 1; select 2')", "42601"),
        ("select * from colonnade_spool('select 1') where part = 1", "42601"),
        ("select * from colonnade_spool('select (')", "42601"),
        ("select * from colonnade_spool('select nothing')", "42703"),
        ("select * from colonnade_spool('select 1', bytes => 0)", "22023"),
        ("select * from colonnade_spool('select 1', bytes => 1e3)", "22023"),
        ("select * from colonnade_spool('select 1', ttl => 3601)", "22023"),
        ("select * from colonnade_spool('select 1', compression => 'best')", "22023"),
        ("select * from colonnade_spool('select 1', part => 3)", "22023"),
        ("select * from colonnade_spool('select 1', bytes => 1, bytes => 2)", "42601"),
        ("select * from colonnade_spool('create table never (i int)')", "0A000"),
        ("select * from colonnade_spool('begin')", "0A000"),
        ("select * from colonnade_spool('set threads = 1')", "0A000"),
        ("select * from colonnade_spool('copy t to stdout')", "0A000"),
        ("select * from colonnade_spool('select * from colonnade_spool(''select 1'')')", "0A000"),
        ("select * from colonnade_spool('select 1/0 where error(''no'') is null')", None),
        ("select * from colonnade_release('0')", "42704"),
    ],
)
def test_errors(client: psycopg.Connection, statement: str, code: str | None) -> None:
    with pytest.raises(psycopg.Error) as raised:
        client.execute(statement)
    assert raised.value.sqlstate == code or code is None
    assert client.execute("select 1").fetchone() == (1,)
    with pytest.raises(errors.UndefinedTable):
        client.execute("select * from never")
