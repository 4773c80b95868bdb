"""COPY … FROM STDIN in every format: what COPY … TO STDOUT gives comes back, errors leave the session usable."""

from __future__ import annotations

import io
from collections.abc import Sequence

import psycopg
import pyarrow as pa
import pyarrow.ipc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.every_type import EVERY_TYPE
from tests.support.raw_login import RawClient
from tests.testbed.serving import Server, connected, own_server

FORMATS = ["text", "csv", "binary", "arrow", "colonnade"]
#: Types whose text is PostgreSQL's and not DuckDB's.
COMPOSITE = ("STRUCT", "MAP")


server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)


def copy_in(connection: psycopg.Connection, statement: str, parts: Sequence[bytes]) -> int:
    with connection.cursor() as cursor:
        with cursor.copy(statement) as copy:
            for part in parts:
                copy.write(part)
        return cursor.rowcount


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("type_name", "query"), EVERY_TYPE, ids=[name for name, _ in EVERY_TYPE])
def test_what_goes_out_comes_in(connection: psycopg.Connection, type_name: str, query: str, form: str) -> None:
    if form in ("text", "csv", "binary") and type_name.startswith(COMPOSITE):
        pytest.skip("a composite value has PostgreSQL's text, which DuckDB does not read")
    connection.execute(f"CREATE OR REPLACE TEMP TABLE source AS {query}")
    connection.execute("CREATE OR REPLACE TEMP TABLE target AS SELECT * FROM source LIMIT 0")
    try:
        with connection.cursor().copy(f"COPY source TO STDOUT (FORMAT {form})") as copy:
            parts = [bytes(part) for part in copy]
    except psycopg.errors.FeatureNotSupported:
        assert form == "binary"  # nanoseconds, ragged lists
        return
    # Messages mean nothing.
    count = copy_in(connection, f"COPY target FROM STDIN (FORMAT {form})", cut(b"".join(parts), 7))
    assert connection.execute("SELECT count(*) FROM source").fetchone() == (count,)
    differing = connection.execute(
        "SELECT k, s.v::varchar, t.v::varchar FROM source s FULL JOIN target t USING (k) "
        "WHERE s.v::varchar IS DISTINCT FROM t.v::varchar"
    )
    assert differing.fetchall() == []


def test_text_as_postgresql_reads_it(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TEMP TABLE texts (i integer, s varchar, b boolean)")
    data = b"1\ta\\tb\\\\\\x41\\101\\\nc\tt\r\n2\t\\N\t\\N\n3\t\toff\n4\tx\ty"
    assert copy_in(connection, "COPY texts FROM STDIN", cut(data, 1)) == 4
    rows = connection.execute("SELECT * FROM texts ORDER BY i").fetchall()
    assert rows == [(1, "a\tb\\AA\nc", True), (2, None, None), (3, "", False), (4, "x", True)]
    data = b"i;s\n5;-\n\\.\nanything"
    statement = "COPY texts (i, s) FROM STDIN WITH (DELIMITER ';', NULL '-', HEADER)"
    assert copy_in(connection, statement, [data]) == 1
    assert connection.execute("SELECT * FROM texts WHERE i = 5").fetchall() == [(5, None, None)]


def test_csv_as_postgresql_reads_it(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TEMP TABLE sheets (i integer, s varchar, d decimal(9, 2))")
    data = b'i,s,d\n1,"a ""b"",\n c",1.50\n2,,\n3,"",-0.01\r\n4,x"y,"z,7\n'
    assert copy_in(connection, "COPY sheets FROM STDIN (FORMAT csv, HEADER)", cut(data, 1)) == 4
    rows = connection.execute("SELECT i, s, d::varchar FROM sheets ORDER BY i").fetchall()
    assert rows == [(1, 'a "b",\n c', "1.50"), (2, None, None), (3, "", "-0.01"), (4, "xy,z", "7.00")]
    data = b"5|'it\\'s'|1\n"
    statement = "COPY sheets FROM STDIN WITH CSV DELIMITER '|' QUOTE '''' ESCAPE '\\'"
    assert copy_in(connection, statement, cut(data, 1)) == 1
    assert connection.execute("SELECT s FROM sheets WHERE i = 5").fetchone() == ("it's",)


def test_csv_with_forced_nulls_as_postgresql_reads_it(connection: psycopg.Connection) -> None:
    """By the rules of its manual, but that names are found in any case, as everywhere in DuckDB."""
    connection.execute('CREATE TEMP TABLE forced (i integer, "A" varchar, b varchar)')
    data = b'1,"",""\n2,,\n3,x,"y"\n'
    for options, expected in [
        ("", [("", ""), (None, None), ("x", "y")]),
        (", FORCE_NULL (a)", [(None, ""), (None, None), ("x", "y")]),
        (', FORCE_NOT_NULL ("A")', [("", ""), ("", None), ("x", "y")]),
        (', FORCE_NULL ("A", b), FORCE_NOT_NULL (b)', [(None, None), (None, ""), ("x", "y")]),
        (", FORCE_NULL *", [(None, None), (None, None), ("x", "y")]),
        (", NULL 'x', FORCE_NOT_NULL (a, b)", [("", ""), ("", ""), ("x", "y")]),
        (", NULL 'y', FORCE_NULL (b)", [("", ""), ("", ""), ("x", None)]),
    ]:
        connection.execute("DELETE FROM forced")
        assert copy_in(connection, f"COPY forced FROM STDIN (FORMAT csv{options})", cut(data, 1)) == 3
        assert connection.execute('SELECT "A", b FROM forced ORDER BY i').fetchall() == expected, options
    connection.execute("DELETE FROM forced")
    assert copy_in(connection, "COPY forced FROM STDIN CSV FORCE NOT NULL b FORCE NULL a", [data]) == 3
    assert connection.execute('SELECT "A", b FROM forced WHERE i < 3 ORDER BY i').fetchall() == [(None, ""), (None, "")]


def test_rows_of_psycopgs(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TEMP TABLE written (i integer, s varchar, a integer[])")
    with connection.cursor().copy("COPY written FROM STDIN") as copy:
        for i in range(1000):
            copy.write_row((i, f"s\t{i}", [i, None]))
    with connection.cursor().copy("COPY written FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int4", "text", "int4[]"])
        for i in range(1000, 2000):
            copy.write_row((i, f"s\t{i}", [i, None]))
    found = connection.execute("SELECT count(*), sum(i), sum(a[1]), min(s) FROM written").fetchone()
    assert found == (2000, 1999000, 1999000, "s\t0")


def test_arrow_from_pyarrow(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TEMP TABLE arrows (i bigint, s varchar, d date)")
    table = pa.table({"x": [1, 2], "y": ["a", None], "z": ["2024-02-29", "0001-01-01"]})
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert copy_in(connection, "COPY arrows FROM STDIN (FORMAT arrow)", cut(sink.getvalue(), 100)) == 2
    assert connection.execute("SELECT i, s, d::varchar FROM arrows").fetchall() == [
        (1, "a", "2024-02-29"),
        (2, None, "0001-01-01"),
    ]


NUL = "a\0b"
#: Names of fields and of time zones.
NAMES = st.sampled_from(["a", "UTC", NUL, "\0"])
#: Types with names and time zones at any depth.
KINDS = st.recursive(
    st.just(pa.int32()) | NAMES.map(lambda zone: pa.timestamp("us", zone)),
    lambda inner: st.one_of(
        st.builds(lambda name, kind: pa.list_(pa.field(name, kind)), NAMES, inner),
        st.builds(lambda name, kind: pa.large_list(pa.field(name, kind)), NAMES, inner),
        st.builds(lambda name, kind: pa.list_(pa.field(name, kind), 2), NAMES, inner),
        st.builds(lambda name, kind: pa.struct([pa.field("first", kind), pa.field(name, kind)]), NAMES, inner),
    ),
    max_leaves=5,
)


def arrow_stream(schema: pa.Schema) -> bytes:
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, schema) as writer:
        # `pyarrow.nulls` gives some types offsets of another length than Arrow's.
        writer.write_table(pa.table([pa.array([None], field.type) for field in schema], schema=schema))
    return sink.getvalue()


@given(KINDS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_nul_in_a_name_or_a_zone_is_no_fault_of_the_server(connection: psycopg.Connection, kind: pa.DataType) -> None:
    """The engine's interface for columns ends texts there."""
    connection.execute("CREATE OR REPLACE TEMP TABLE named (a VARCHAR)")
    data = arrow_stream(pa.schema([pa.field("a", kind)]))
    if "\0" not in str(kind):
        assert copy_in(connection, "COPY named FROM STDIN (FORMAT arrow)", [data]) == 1
        return
    with pytest.raises(psycopg.Error, match="has a NUL character") as refused:
        copy_in(connection, "COPY named FROM STDIN (FORMAT arrow)", [data])
    assert refused.value.sqlstate == "22P04"


def test_a_nul_in_a_columns_name_and_in_metadata_is_accepted(connection: psycopg.Connection) -> None:
    """The name is not used, and metadata have their lengths."""
    connection.execute("CREATE OR REPLACE TEMP TABLE numbers (a int)")
    schema = pa.schema([pa.field(NUL, pa.int32(), metadata={NUL: NUL})], metadata={NUL: NUL})
    assert copy_in(connection, "COPY numbers FROM STDIN (FORMAT arrow)", [arrow_stream(schema)]) == 1


@pytest.mark.parametrize(
    ("statement", "data", "code", "words"),
    [
        ("COPY few FROM STDIN", b"1\ta\nx\tb\n", "22P02", "Could not convert string 'x'"),
        ("COPY few FROM STDIN", b"1\ta\n2\n", "22P04", 'missing data for column "s"'),
        ("COPY few FROM STDIN", b"1\ta\tb\n", "22P04", "extra data"),
        ("COPY few FROM STDIN", b"1\t\xff\n", "22021", "UTF8"),
        ("COPY few FROM STDIN", b"1\ta\n1\tb\n", "23505", "uplicate key"),
        ("COPY few FROM STDIN (FORMAT csv)", b'1,"a\n', "22P04", "has no end"),
        ("COPY few FROM STDIN (FORMAT binary)", b"nothing like it", "22P04", "signature"),
        ("COPY few FROM STDIN (FORMAT binary)", b"PGCOPY\n\xff\r\n\0" + bytes(7), "22P04", "end is missing"),
        ("COPY few FROM STDIN (FORMAT binary)", b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"\0\2", "22P04", "end is missing"),
        ("COPY few FROM STDIN (FORMAT arrow)", b"\xff\xff\xff\xff\x10\0\0\0" + bytes(16), "22P04", "FORMAT arrow"),
        ("COPY few FROM STDIN (FORMAT colonnade)", b"CLN1", "22P04", "FORMAT colonnade"),
        ("COPY few (nope) FROM STDIN", b"", "42703", "nope"),
        ("COPY nowhere FROM STDIN", b"", "42P01", "nowhere"),
        ("COPY few FROM STDIN (FORMAT csv, FORCE_NULL (i, nope))", b"", "42P10", '"nope" of option force_null'),
        ("COPY few FROM STDIN (FORCE_NOT_NULL (s))", b"", "0A000", "FORMAT text"),
        ("COPY few FROM STDIN (FORMAT csv, FORCE_QUOTE (s))", b"", "0A000", "COPY FROM"),
        ("COPY few FROM STDIN (FORMAT parquet)", b"", "22023", "parquet"),
    ],
)
def test_an_error_undoes_the_copy(
    connection: psycopg.Connection, statement: str, data: bytes, code: str, words: str
) -> None:
    connection.execute("CREATE TEMP TABLE few (i integer PRIMARY KEY, s varchar)")
    with pytest.raises(psycopg.Error, match=words) as caught:
        copy_in(connection, statement, [data])
    assert caught.value.sqlstate == code
    assert connection.execute("SELECT count(*) FROM few").fetchone() == (0,)
    assert copy_in(connection, "COPY few FROM STDIN", [b"1\ta\n"]) == 1
    connection.execute("BEGIN")
    connection.execute("INSERT INTO few VALUES (2, 'b')")
    with pytest.raises(psycopg.Error):
        copy_in(connection, statement, [data])
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
    connection.execute("ROLLBACK")
    assert connection.execute("SELECT i FROM few").fetchall() == [(1,)]


def test_a_client_that_gives_up(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TEMP TABLE given_up (i integer)")
    with pytest.raises(ZeroDivisionError), connection.cursor().copy("COPY given_up FROM STDIN") as copy:
        copy.write(b"1\n")
        raise ZeroDivisionError
    assert connection.execute("SELECT count(*) FROM given_up").fetchone() == (0,)


def test_a_transaction_holds_what_was_copied(server: Server, connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE shared (i integer)")
    connection.execute("BEGIN")
    assert copy_in(connection, "COPY shared FROM STDIN", [b"1\n2\n"]) == 2
    with psycopg.connect(server.dsn, autocommit=True) as other:
        assert other.execute("SELECT count(*) FROM shared").fetchone() == (0,)
        connection.execute("COMMIT")
        assert other.execute("SELECT count(*) FROM shared").fetchone() == (2,)


def test_a_slow_client_keeps_nobody_waiting_and_memory_is_bounded(
    server: Server, connection: psycopg.Connection
) -> None:
    connection.execute("CREATE TABLE slow (s varchar)")
    before = server.memory("VmHWM")
    line = b"x" * 9_999 + b"\n"
    with psycopg.connect(server.dsn, autocommit=True) as other:
        with connection.cursor().copy("COPY slow FROM STDIN") as copy:
            copy.write(line)
            assert other.execute("SELECT count(*) FROM slow").fetchone() == (0,)
            for _ in range(400):
                copy.write(line * 50)
            assert other.execute("SELECT count(*) FROM slow").fetchone() == (0,)
        assert other.execute("SELECT count(*) FROM slow").fetchone() == (20_001,)
    # The 200 MB are DuckDB's to hold, since this database has no file; all else is a few batches.
    assert server.memory("VmHWM") - before < 600 << 20


@pytest.mark.parametrize("extended", [False, True])
def test_a_message_that_is_no_data_ends_the_copy_and_not_the_session(server: Server, extended: bool) -> None:
    with RawClient(server.host, server.port) as client:
        client.start("tester")
        client.expect(b"Z")
        client.send(b"Q", b"CREATE TEMP TABLE interrupted (i integer)\0")
        client.expect(b"Z")
        if extended:
            client.send(b"P", b"\0COPY interrupted FROM STDIN\0\0\0")
            client.send(b"B", b"\0\0" + bytes(6))
            client.send(b"E", b"\0" + bytes(4))
            client.send(b"H", b"")
        else:
            client.send(b"Q", b"COPY interrupted FROM STDIN\0")
        client.expect(b"G")
        client.send(b"d", b"1\n2\n")
        client.send(b"Q", b"INSERT INTO interrupted VALUES (3)\0")
        _, body = client.expect(b"E")
        assert b"SERROR\0" in body and b"C08P01\0" in body and b"during COPY" in body
        # What the client sends before it knows has no effect.
        client.send(b"d", b"4\n")
        client.send(b"c", b"")
        if extended:
            client.send(b"S", b"")
        assert client.expect(b"ECZ") == (b"Z", b"I")
        client.send(b"Q", b"SELECT count(*) FROM interrupted\0")
        assert client.expect(b"D")[1].endswith(b"0")
        client.expect(b"Z")
        # The end of the session is not the end of the data.
        client.send(b"Q", b"COPY interrupted FROM STDIN\0")
        client.expect(b"G")
        client.send(b"d", b"5\n")
        client.send(b"X", b"")
        client.rest()


def test_a_condition_is_refused_by_name(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TEMP TABLE conditional (i integer)")
    for statement in (
        "COPY conditional FROM STDIN (FORMAT csv) WHERE i > 1",
        "COPY conditional FROM STDIN WHERE i > 1",
    ):
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="with WHERE"), connection.cursor().copy(statement):
            pass
