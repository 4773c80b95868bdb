"""Hostile values through `colonnade serve --source`: what is stored or returned equals what was sent, or there is an
error; and a table that nobody asked for is never touched."""

from __future__ import annotations

import decimal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import colonnade
import psycopg
import psycopg2
import pytest
from psycopg import pq

from tests.support import fronts
from tests.testbed import mariadb
from tests.testbed import postgres as pg

#: Characters whose bytes end in a backslash in some encoding, or of which careless conversions make a quote.
TRICKS = [
    "表",
    "ソ",
    "能",
    "功",
    "許",
    "縗",
    "誠",
    "噂",
    "\u02bc",
    "\uff07",
    "\u2019",
    "\xa5",
    "\u0160",
    "é",
    "ÿ",
    "\xad",
]
ENDS = ["' or 1=1 -- ", "\\' or 1=1 -- ", "'; drop table canary; -- ", "\\'; drop table canary; -- ", '" or 1=1 #']
TEXTS = [
    "",
    "'",
    "''",
    "\\",
    "\\\\",
    "\\'",
    "'\\",
    '"',
    "`",
    "\\x27",
    "\\047",
    "\\u0027",
    "%s %b ? :a @a $1 $a $$ $a$ {} [] # -- /* */ /*! */ ;",
    "$1' or $2 --",
    "a\nb\r\nc\td\x0be\x0cf",
    "".join(map(chr, range(1, 32))) + "\x7f",
    "\x1a\\Z\\0\\b",
    "\u200b\u202e\ufeff\ufffd\U0010ffff🧀",
    "e\u0301" * 5,
    "'" * 3001,
    "\\" * 3001,
    *[trick + end for trick in TRICKS for end in ENDS[:2]],
    *[TRICKS[0] + end for end in ENDS[2:]],
    *[end + trick for trick in TRICKS[:4] for end in ENDS[:1]],
]
BYTES = [b"", bytes(range(256)), b"\\'\0\xbf'", b"'" * 1000, b"\xff\xfe\\x27"]


@contextmanager
def tables(front: fronts.Front, definition: str) -> Iterator[psycopg.Connection]:
    """A table for the values, and a canary that must be there at the end, as it was."""
    with fronts.connect(front.server) as client:
        client.execute("create table canary (i int)")
        client.execute("insert into canary values (1)")
        client.execute(f"create table hostile ({definition})")
        try:
            yield client
            with fronts.connect(front.server) as another:
                assert another.execute("select i from canary").fetchall() == [(1,)]
        finally:
            with fronts.connect(front.server) as another:
                another.execute("drop table hostile")
                another.execute("drop table canary")


def stored(
    front: fronts.Front,
    client: psycopg.Connection,
    values: Sequence[str | bytes],
    refused: type[Exception] | tuple[type[Exception], ...] = (),
) -> int:
    """Stores each value in each way, and reads it again; gives how many were stored. Others end in an error."""
    count = 0
    own = colonnade.connect(front.own_uri)
    driver = psycopg2.connect(front.server.dsn)
    driver.autocommit = True
    try:
        for value in values:
            ways = {
                "bound": lambda value: client.execute("insert into hostile values (1, %s)", [value]),
                "binary": lambda value: client.execute("insert into hostile values (1, %b)", [value]),
                "client": lambda value: psycopg.ClientCursor(client).execute(
                    "insert into hostile values (1, %s)", [value]
                ),
                "psycopg2": lambda value: driver.cursor().execute("insert into hostile values (1, %s)", (value,)),
                "own": lambda value: own.execute("insert into hostile values (1, $1)", [value]),
            }
            for name, store in ways.items():
                try:
                    store(value)
                except (psycopg.Error, psycopg2.Error, colonnade.Error) as error:
                    # PostgreSQL's own forms of literals and of bytes are no other database's.
                    foreign = "postgres" not in front.uri and name in ("client", "psycopg2", "own")
                    assert foreign or isinstance(error, refused), (name, value, error)
                    assert client.execute("select count(*) from hostile").fetchall() == [(0,)]
                    continue
                count += 1
                found = client.execute("select v from hostile").fetchall()
                assert found == [(value,)], name
                assert client.execute("select i from hostile where v = %s", [value]).fetchall() == [(1,)], name
                assert own.query("select v from hostile").to_arrow()["v"].to_pylist() == [value], name
                assert own.query("select i from hostile where v = $1", [value]).to_arrow().num_rows == 1, name
                client.execute("delete from hostile")
    finally:
        driver.close()
        own.close()
    return count


@pytest.fixture(scope="module", params=["off", "on"])
def postgres_front(request: pytest.FixtureRequest, stock: pg.Cluster) -> Iterator[fronts.Front]:
    """In front of a PostgreSQL whose standard_conforming_strings is off, or on."""
    with stock.connect() as session:
        session.execute("create database hostile")
        session.execute(f"alter database hostile set standard_conforming_strings = {request.param}")
        session.execute("alter database hostile set escape_string_warning = off")
    try:
        with fronts.front(stock.uri("hostile", tcp=True)) as running:
            yield running
    finally:
        with stock.connect() as session:
            session.execute("drop database hostile with (force)")


def test_postgresql(postgres_front: fronts.Front) -> None:
    with tables(postgres_front, "i int, v text") as client:
        assert stored(postgres_front, client, TEXTS) == 5 * len(TEXTS)
    with tables(postgres_front, "i int, v bytea") as client:
        assert stored(postgres_front, client, BYTES) == 5 * len(BYTES)


@pytest.mark.parametrize("encoding", ["EUC_JP", "LATIN1", "SQL_ASCII", "EUC_KR", "WIN1252"])
def test_a_postgresql_of_another_encoding(stock: pg.Cluster, encoding: str) -> None:
    with stock.connect() as session:
        session.execute(f"create database encoded encoding '{encoding}' locale 'C' template template0")
        session.execute("alter database encoded set standard_conforming_strings = off")
    try:
        with (
            fronts.front(stock.uri("encoded", tcp=True)) as front,
            tables(front, "i int, v text") as client,
        ):
            # 22P05: the database has no such character.
            count = stored(
                front,
                client,
                TEXTS,
                (psycopg.errors.UntranslatableCharacter, psycopg2.errors.UntranslatableCharacter, colonnade.Error),
            )
            assert count >= 5 * 20
    finally:
        with stock.connect() as session:
            session.execute("drop database encoded with (force)")


@pytest.fixture(params=["", "NO_BACKSLASH_ESCAPES", "ANSI,STRICT_ALL_TABLES"])
def maria_front(
    request: pytest.FixtureRequest, maria: mariadb.Server, in_maria: fronts.Front
) -> Iterator[fronts.Front]:
    """In front of a MariaDB whose sessions begin with these modes."""
    before = maria.run("select @@global.sql_mode").strip()
    maria.run(f"set global sql_mode = '{request.param}'")
    try:
        yield in_maria
    finally:
        maria.run(f"set global sql_mode = '{before}'")


@pytest.mark.parametrize("charset", ["utf8mb4", "gbk", "sjis", "big5", "latin1", "ucs2"])
def test_mariadb(maria_front: fronts.Front, charset: str) -> None:
    collation = "utf8mb4_bin" if charset == "utf8mb4" else f"{charset}_bin"
    with tables(maria_front, f"i int, v text character set {charset} collate {collation}") as client:
        client.execute("set sql_mode = concat(@@sql_mode, ',STRICT_ALL_TABLES')")
        # What the column cannot hold is an error in strict mode, in which the others are put as well.
        with fronts.connect(maria_front.server) as strict:
            strict.execute("set sql_mode = concat(@@sql_mode, ',STRICT_ALL_TABLES')")
            for value in TEXTS:
                try:
                    strict.execute("insert into hostile values (1, %s)", [value])
                except psycopg.Error:
                    assert charset != "utf8mb4"
                    continue
                # Trailing spaces are equal to none in MySQL's comparisons, not in its values.
                assert strict.execute("select v from hostile").fetchall() == [(value,)]
                strict.execute("delete from hostile")
    if charset == "utf8mb4":
        with tables(maria_front, f"i int, v longtext character set {charset} collate {collation}") as client:
            assert stored(maria_front, client, TEXTS) >= 4 * len(TEXTS) - 150
        with tables(maria_front, "i int, v longblob") as client:
            assert stored(maria_front, client, BYTES) >= 2 * len(BYTES)


def test_sqlite(in_sqlite: fronts.Front) -> None:
    with fronts.connect(in_sqlite.server) as client, colonnade.connect(in_sqlite.own_uri) as own:
        client.execute("create temp table hostile (i integer, v)")
        for value in [*TEXTS, *BYTES]:
            for form in ("%s", "%b"):
                assert client.execute(f"select {form}", [value]).fetchall() == [(value,)]
                client.execute(f"insert into hostile values (1, {form})", [value])
                assert client.execute(f"select v from hostile where v = {form}", [value]).fetchall() == [(value,)]
                client.execute("delete from hostile")
            assert own.query("select $1 as v", [value]).to_arrow()["v"].to_pylist() == [value]
        assert client.execute("select count(*) from t").fetchall() == [(3,)]


@pytest.mark.parametrize("fixture", ["in_postgres", "in_maria", "in_sqlite"])
def test_bytes_that_are_no_text_are_refused(request: pytest.FixtureRequest, fixture: str) -> None:
    front = request.getfixturevalue(fixture)
    with fronts.connect(front.server) as client:
        for value in (b"\xff", b"\xc0\xa7 or 1=1", b"\xbf'", b"\xe8\xa1", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"):
            for is_binary in (0, 1):
                for oid in (0, 25, 1043):
                    result = client.pgconn.exec_params(b"select $1", [value], [oid], [is_binary])
                    assert result.status == pq.ExecStatus.FATAL_ERROR, (value, is_binary, oid)
        # A text ends at a NUL in libpq, but not in the protocol.
        for value in (b"a\0b", b"\0"):
            result = client.pgconn.exec_params(b"select $1", [value], [25], [1])
            assert result.status == pq.ExecStatus.FATAL_ERROR or result.get_value(0, 0) == value
        assert client.execute("select 1").fetchall() == [(1,)]


#: Types by PostgreSQL's numbers, with texts of theirs.
TYPES: list[tuple[int, str, list[str]]] = [
    (16, "bool", ["t", "false", "yes"]),
    (17, "bytea", ["\\x00ff275c", "a\\\\b'", ""]),
    (18, '"char"', ["'", "\\134"]),
    (19, "name", ["it's \\"]),
    (20, "int8", ["-9223372036854775808", " 7 "]),
    (21, "int2", ["-32768"]),
    (23, "int4", ["2147483647"]),
    (25, "text", ["it's \\' -- 表"]),
    (26, "oid", ["4294967295"]),
    (114, "json", ['{"a": "it\'s \\\\ \\u0027"}']),
    (600, "point", ["(1.5,-2)"]),
    (650, "cidr", ["10.0.0.0/8"]),
    (700, "float4", ["0.1", "NaN", "-Infinity"]),
    (701, "float8", ["0.1", "5e-324", "-0"]),
    (829, "macaddr", ["08:00:2b:01:02:03"]),
    (869, "inet", ["10.0.0.1/8", "::1"]),
    (1000, "bool[]", ["{t,f,NULL}"]),
    (1001, "bytea[]", ['{"\\\\x00ff",NULL}']),
    (1007, "int4[]", ["{1,NULL,3}", "[0:1]={1,2}", "{{1},{2}}", "{}"]),
    (1009, "text[]", ['{"it\'s","\\\\","\\"",NULL,"NULL",""}']),
    (1042, "bpchar", ["a  '"]),
    (1043, "varchar", ["\\'"]),
    (1082, "date", ["2024-02-29", "0044-03-15 BC", "infinity", "5874897-12-31"]),
    (1083, "time", ["24:00:00", "01:02:03.000004"]),
    (1114, "timestamp", ["2024-02-29 01:02:03.5", "0044-03-15 00:00:00 BC", "-infinity"]),
    (1184, "timestamptz", ["2024-02-29 01:02:03.5+05:30", "infinity"]),
    (1186, "interval", ["1 year -2 mons +3 days -04:05:06.7", "-1 days +00:00:01"]),
    (1266, "timetz", ["01:02:03+05:30"]),
    (1560, "bit(4)", ["0101"]),
    (1562, "varbit", ["010111"]),
    (1700, "numeric", ["1e40", "-0.000000001", "NaN", "Infinity"]),
    (2950, "uuid", ["00112233-4455-6677-8899-aabbccddeeff"]),
    (3802, "jsonb", ['{"a": "it\'s \\\\"}']),
    (3904, "int4range", ["[1,5)", "empty"]),
]


@pytest.mark.parametrize(("oid", "name", "texts"), TYPES, ids=[name for _, name, _ in TYPES])
def test_each_type_comes_to_postgresql_as_it_was_sent(
    postgres_front: fronts.Front, stock: pg.Cluster, oid: int, name: str, texts: list[str]
) -> None:
    question = f"select ($1::{name})::text".encode()
    with stock.connect() as direct, fronts.connect(postgres_front.server) as client:
        for text in texts:
            expected = direct.pgconn.exec_params(question, [text.encode()], [oid])
            assert expected.status == pq.ExecStatus.TUPLES_OK, expected.error_message
            binary = direct.pgconn.exec_params(f"select $1::{name}".encode(), [text.encode()], [oid], None, 1)
            value = binary.get_value(0, 0)
            for given, is_binary in ((text.encode(), 0), (value, 1)):
                for given_oid in (oid, 0):
                    found = client.pgconn.exec_params(question, [given], [given_oid], [is_binary])
                    assert found.status == pq.ExecStatus.TUPLES_OK, (text, is_binary, found.error_message)
                    assert found.get_value(0, 0) == expected.get_value(0, 0), (text, is_binary)


@pytest.mark.parametrize("fixture", ["in_maria", "in_sqlite"])
@pytest.mark.parametrize(("oid", "name", "texts"), TYPES, ids=[name for _, name, _ in TYPES])
def test_each_type_comes_to_others_as_it_was_sent_or_is_refused(
    request: pytest.FixtureRequest, stock: pg.Cluster, fixture: str, oid: int, name: str, texts: list[str]
) -> None:
    front = request.getfixturevalue(fixture)
    with stock.connect() as direct, fronts.connect(front.server) as client:
        direct.execute("set timezone = 'UTC'")
        client.execute("select 1")
        for text in texts:
            value = direct.pgconn.exec_params(f"select $1::{name}".encode(), [text.encode()], [oid], None, 1).get_value(
                0, 0
            )
            canonical = direct.execute(f"select (%s::{name})::text", [text]).fetchone()
            assert canonical is not None and value is not None
            for given, is_binary in ((text.encode(), 0), (value, 1)):
                found = client.pgconn.exec_params(b"select $1", [given], [oid], [is_binary])
                if found.status == pq.ExecStatus.FATAL_ERROR:
                    assert found.error_field(pq.DiagnosticField.SQLSTATE) is not None
                    continue
                shown = (found.get_value(0, 0) or b"").decode()
                assert same(oid, shown, text, canonical[0]), (text, is_binary, shown)


def same(oid: int, shown: str, text: str, canonical: str) -> bool:
    if shown in (text, canonical):
        return True
    if oid == 16:
        return {"1": "true", "t": "true", "0": "false", "f": "false"}.get(shown) == canonical
    if oid in (20, 21, 23, 26, 700, 701, 1700):
        return decimal.Decimal(shown.strip()) == decimal.Decimal(canonical.strip())
    if oid == 17:
        return bytes.fromhex(shown.removeprefix("\\x")) == bytes.fromhex(canonical.removeprefix("\\x"))
    if oid in (1114, 1184):
        return shown.replace("+00:00", "+00").startswith(canonical.removesuffix("+00"))
    if oid == 1186:
        # What came in binary, for a database that has no intervals.
        return shown.startswith(("10 months 3 days -14706700000 ", "0 months -1 days 1000000 "))
    return (oid == 1083 and shown.startswith(canonical)) or (oid in (114, 3802) and shown == canonical)
