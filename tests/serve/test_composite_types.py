"""Composite types are PostgreSQL's: their catalog, their texts and bytes, as parameters, literals and in COPY."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.types.composite import CompositeInfo, register_composite

from tests.testbed import postgres as pg
from tests.testbed.serving import Server, connected, own_server, serve

server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)

MAKE = """
    create type mood as enum ('sad', 'o k');
    create type item as (a integer, b text);
    create type whole as ("x Y" item, items item[], m mood, moods mood[], d bytea, t timestamptz, n numeric(9,2));
    create table kept (i item, l item[], w whole)
"""
DROP = "drop table if exists kept; drop type if exists whole; drop type if exists item; drop type if exists mood"
#: Texts of an item, of which DuckDB reads most in another way.
TEXTS = [
    "(1,x)",
    "(,)",
    '(,"")',
    "( 1 , x )",
    '(1,"a""b")',
    "(1,null)",
    '(1,"NULL")',
    r"(1,a\,b)",
    r'(1,"a\\b\"c")',
    "(1,it''s)",
    '(1,"({[,]})")',
    '(1,a"b,c"d)',
    ' \t("7",é)\n',
]
WHOLE = r"""'("(1,""a b"")","{""(2,)"",NULL}","o k","{sad,NULL}","\\x00ff","2024-02-29 01:02:03+00",1.50)'::whole"""
#: The header of COPY's binary format without flags, and its end.
BINARY_COPY, END_OF_COPY = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"


@pytest.fixture(autouse=True)
def types(connection: psycopg.Connection) -> None:
    connection.execute(DROP)
    connection.execute(MAKE)
    connection.execute("set timezone = 'UTC'")


@pytest.fixture
def postgres(stock: pg.Cluster) -> Iterator[psycopg.Connection]:
    with stock.connect() as connection:
        connection.execute(DROP)
        connection.execute(MAKE)
        connection.execute("set timezone = 'UTC'")
        yield connection


def raw(connection: psycopg.Connection, sql: str, *, binary: bool = False) -> list[bytes | None]:
    """The first row, as it is sent. Numbers of users' types in it are those of their order."""
    result = connection.cursor(binary=binary).execute(sql).pgresult
    assert result is not None
    row = [result.get_value(0, at) for at in range(result.nfields)]
    if not binary:
        return row
    # Other tests have types of these names in other schemas.
    known = """select oid, typarray from pg_type
               where typname in ('item', 'mood', 'whole') and pg_type_is_visible(oid) order by typname"""
    numbers = [number for pair in connection.execute(known).fetchall() for number in pair]
    for place, number in enumerate(numbers):
        row = [value and value.replace(struct.pack("!I", number), b"<%3d" % place) for value in row]
    return row


@pytest.mark.parametrize("binary", [False, True])
def test_psycopgs_composites(connection: psycopg.Connection, binary: bool) -> None:
    info = CompositeInfo.fetch(connection, "item")
    assert info is not None and info.array_oid != 0 and info.regtype == "item"
    assert (list(info.field_names), list(info.field_types)) == (["a", "b"], [23, 25])
    register_composite(info, connection)
    made = info.python_type
    assert made is not None
    place = "%b" if binary else "%t"
    row = (made(1, 'a "b", c'), [made(None, ""), None, made(2, None)])
    connection.execute(f"insert into kept (i, l) values ({place}, {place})", row)
    found = connection.cursor(binary=binary).execute("select i, l from kept")
    assert [column.type_code for column in found.description or ()] == [info.oid, info.array_oid]
    assert found.fetchall() == [row]
    # Nothing else says what the parameter is.
    assert connection.execute(f"select {place}, pg_typeof({place})", [row[0], row[0]]).fetchall() == [(row[0], "item")]
    query = f"select (i).a, (l[3]).a, (i).b from kept where i = {place}"
    assert connection.execute(query, row[:1], binary=binary).fetchall() == [(1, 2, 'a "b", c')]


def test_the_catalog_is_postgresqls(connection: psycopg.Connection, postgres: psycopg.Connection) -> None:
    queries = [
        """select typname, typtype, typcategory, typlen, typbyval, typdelim, typinput::text, typsend::text,
                  typelem <> 0, typarray <> 0, typrelid <> 0, oid::regtype::text
           from pg_type where typname in ('item', 'whole', '_item') order by typname""",
        """select relname, relkind, relnatts, reltype = t.oid, c.oid::regclass::text
           from pg_class c join pg_type t on typname = relname where relkind = 'c' order by relname""",
        """select t.typname, attname, attnum, format_type(atttypid, atttypmod), attnotnull, attisdropped
           from pg_attribute join pg_type t on t.typrelid = attrelid
           where t.typname in ('item', 'whole') and attnum > 0 order by t.typname, attnum""",
        """select attname, format_type(atttypid, atttypmod) from pg_attribute
           where attrelid = 'kept'::regclass and attnum > 0 order by attnum""",
        "select to_regtype('item') is not null, to_regtype('item[]') is not null, 'public.item'::regtype::text",
        """select column_name, data_type, udt_name from information_schema.columns
           where table_name = 'kept' order by ordinal_position""",
        "select pg_typeof(i), pg_typeof(l), pg_typeof((w).items) from kept right join (select 1) t on true",
    ]
    for query in queries:
        assert connection.execute(query).fetchall() == postgres.execute(query).fetchall(), query


@pytest.mark.parametrize("binary", [False, True])
def test_values_are_sent_as_postgresql_sends_them(
    connection: psycopg.Connection, postgres: psycopg.Connection, binary: bool
) -> None:
    for sql in (
        *(f"select '{text}'::item" for text in TEXTS),
        f"select {WHOLE}",
        f"select array[{WHOLE}, null], ({WHOLE}).items, ({WHOLE}).m, array[row(1, 'x')::item, null]",
        "select row(1, 'x')::item, row(null, null)::item, null::item",
        r"""select '{"(1,\"a b\")",NULL,"(,)"}'::item[], cast('(1,x)' as item), '{}'::item[]""",
    ):
        assert raw(connection, sql, binary=binary) == raw(postgres, sql, binary=binary), sql


@pytest.mark.parametrize("text", TEXTS)
def test_each_way_of_a_text_gives_the_same(connection: psycopg.Connection, text: str) -> None:
    text = text.replace("''", "'")
    literal = text.replace("'", "''")
    (sent,) = raw(connection, f"select '{literal}'::item", binary=True)
    assert sent is not None
    ((number,),) = connection.execute("select 'item'::regtype::oid").fetchall()
    connection.execute(f"insert into kept (i) values ('{literal}')")
    connection.execute(f"insert into kept (i) values ($${text}$$)")
    connection.execute(f"update kept set i = '{literal}' where i = '{literal}'")
    connection.execute("insert into kept (i) values (%s)", [text])
    connection.execute("insert into kept (i) values (%s::item)", [text])
    for value, is_binary in ((text.encode(), 0), (sent, 1)):
        result = connection.pgconn.exec_params(b"insert into kept (i) values ($1)", [value], [number], [is_binary])
        assert result.status == psycopg.pq.ExecStatus.COMMAND_OK, result.error_message
    connection.execute("insert into kept (i) select unnest(%s::item[])", [[text]])
    with connection.cursor().copy("copy kept (i) from stdin") as copy:
        copy.write_row((text,))
    with connection.cursor().copy("copy kept (i) from stdin (format csv, delimiter '|', quote '~')") as copy:
        copy.write("~" + text + "~\n")
    with connection.cursor().copy("copy kept (i) from stdin (format binary)") as copy:
        copy.write(BINARY_COPY + struct.pack("!hi", 1, len(sent)) + sent + END_OF_COPY)
    query = "select i, count(*)::int4 from kept group by i"
    assert raw(connection, query, binary=True) == [sent, struct.pack("!i", 10)]
    assert connection.execute("select count(*) from kept").fetchall() == [(10,)]


def test_literals_with_a_cast_within_definitions(connection: psycopg.Connection) -> None:
    literals = (
        r"""'(1,"a""b")'::item, cast('(1,"a""b")' as public.item), """
        r"""('{"(1,\"a\"\"b\")"}'::item[])[1], '(1,"a""b")'::text"""
    )
    for definition in (f"create or replace view v as select {literals}", f"prepare p as select {literals}"):
        connection.execute(definition)
    rows = [connection.execute(query).fetchall() for query in ("from v", "execute p")]
    assert rows == [[('(1,"a""b")',) * 4]] * 2
    connection.execute("""create or replace table kept (i item default '(1,"a""b")'::item)""")
    connection.execute("insert into kept default values")
    assert connection.execute("select (i).b from kept").fetchall() == [('a"b',)]
    connection.execute("drop view v; deallocate p")


@pytest.mark.parametrize("options", ["", "(format csv)", "(format binary)"])
def test_copy_is_postgresqls(connection: psycopg.Connection, postgres: psycopg.Connection, options: str) -> None:
    def copied(session: psycopg.Connection) -> bytes:
        session.execute(f"""insert into kept select '(1,"a ""b")', array[row(2, null)::item, null], {WHOLE}""")
        out = io.BytesIO()
        with session.cursor().copy(f"copy kept to stdout {options}") as copy:
            out.writelines(copy)
        with session.cursor().copy(f"copy kept from stdin {options}") as copy:
            copy.write(out.getvalue())
        query = "select i, l, w, count(*) from kept group by i, l, w"
        assert [row[-1] for row in session.execute(query).fetchall()] == [2]
        return out.getvalue()

    found, expected = copied(connection), copied(postgres)
    assert len(found) == len(expected)
    assert options == "(format binary)" or found == expected


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("1,x)", "Missing left parenthesis."),
        ("(1)", "Too few columns."),
        ("(1,x,y)", "Too many columns."),
        ("(1,x", "Unexpected end of input."),
        ("(1,x)y", "Junk after right parenthesis."),
        ("(y,x)", None),
    ],
)
def test_errors_are_postgresqls(
    connection: psycopg.Connection, postgres: psycopg.Connection, text: str, detail: str | None
) -> None:
    for each in (connection, postgres):
        with pytest.raises(psycopg.errors.InvalidTextRepresentation) as caught:
            each.execute("insert into kept (i) values (%s)", [text])
        assert caught.value.diag.message_detail == detail
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        connection.execute(f"insert into kept (i) values ('{text}')" if text[0] == "(" else "select 'x'::int")


def test_bytes_of_another_row_are_refused(connection: psycopg.Connection) -> None:
    ((number,),) = connection.execute("select 'item'::regtype::oid").fetchall()
    field = struct.pack("!IiI", 23, 4, 1)
    text = struct.pack("!Ii", 25, -1)
    for value, sqlstate in [
        (struct.pack("!i", 1) + field, "42804"),
        (struct.pack("!i", 2) + struct.pack("!IiQ", 20, 8, 1) + text, "42804"),
        (struct.pack("!i", 2) + field, "22P03"),
        (struct.pack("!i", 2) + field + text + b"x", "22P03"),
    ]:
        result = connection.pgconn.exec_params(b"insert into kept (i) values ($1)", [value], [number], [1])
        assert result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) == sqlstate.encode()
    assert connection.execute("select count(*) from kept").fetchall() == [(0,)]


def test_texts_in_another_encoding(connection: psycopg.Connection) -> None:
    connection.execute("set client_encoding = 'latin1'")
    info = CompositeInfo.fetch(connection, "item")
    assert info is not None
    register_composite(info, connection)
    for place, binary in (("%b", True), ("%t", False)):
        row = [info.python_type(1, "é"), [info.python_type(2, "à")]]
        connection.execute(f"insert into kept (i, l) values ({place}, {place})", row)
        assert connection.execute("select i, l from kept", binary=binary).fetchall() == [tuple(row)]
        assert connection.execute("select length((i).b) from kept").fetchall() == [(1,)]
        connection.execute("delete from kept")


def test_a_type_is_known_at_once_and_after_a_restart(tmp_path: Path) -> None:
    database = tmp_path / "shop.duckdb"

    def described(server: Server) -> tuple[int, int]:
        with psycopg.connect(server.dsn) as session:
            found = session.execute("select i from kept", prepare=False).description or ()
            ((number,),) = session.execute("select 'item'::regtype::oid").fetchall()
            return found[0].type_code, number

    with serve(database, "--create") as server, psycopg.connect(server.dsn, autocommit=True) as session:
        session.execute("create table kept (i struct(a integer, b varchar))")
        assert (session.execute("select i from kept").description or ())[0].type_code == 2249
        with psycopg.connect(server.dsn, autocommit=True) as other:
            other.execute("create type item as (a integer, b text)")
        code, number = described(server)
        assert (session.execute("select i from kept").description or ())[0].type_code == code == number
        session.execute("comment on type item is 'a comment'")
    with serve(database) as server:
        code, number = described(server)
        assert code == number > 16384


def test_types_of_the_same_attributes_have_the_number_of_the_oldest(connection: psycopg.Connection) -> None:
    connection.execute("drop type if exists later; create type later as (a integer, b text)")
    numbers = dict(connection.execute("select typname, oid from pg_type where typname in ('item', 'later')").fetchall())
    found = connection.execute("select row(1, 'x')::later, row(1, 'x')::item").description or ()
    assert [column.type_code for column in found] == [numbers["item"]] * 2
    result = connection.pgconn.exec_params(b"select $1", [b"(1,x)"], [numbers["later"]])
    assert result.get_value(0, 0) == b"(1,x)"
    connection.execute("drop type later")


def test_definitions(connection: psycopg.Connection) -> None:
    connection.execute('create schema if not exists s; drop type if exists s."T"')
    connection.execute(
        'create type s."T" as (a int, "b c" varchar(3), d double precision[], e timestamp with time zone)'
    )
    ((text,),) = connection.execute("""select '(1,x,"{1.5}",)'::s."T"::text""").fetchall()
    assert text == "{'a': 1, 'b c': x, 'd': [1.5], 'e': NULL}"
    connection.execute('drop type s."T"')
    connection.execute('drop type if exists s."T"')
    for statement in ("drop type item", "drop type item cascade"):
        with pytest.raises(psycopg.errors.DependentObjectsStillExist):
            connection.execute(statement)
    for statement in (
        "alter type item add attribute c integer",
        "alter type item rename to other",
        "create type e as ()",
        "create type r as range (subtype = float8)",
    ):
        with pytest.raises(psycopg.errors.FeatureNotSupported) as caught:
            connection.execute(statement)
        assert caught.value.diag.message_hint


def test_types_that_are_nested_deep(connection: psycopg.Connection) -> None:
    connection.execute("drop type if exists n20")
    names = [f"n{depth}" for depth in range(1, 21)]
    connection.execute("create type n0 as (v integer)")
    try:
        for below, name in zip(["n0", *names], names, strict=False):
            connection.execute(f"create type {name} as (v {below}[])")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            connection.execute("select null::n20")
        assert connection.execute("select count(*) from pg_attribute join pg_type on typrelid = attrelid").fetchall()
    finally:
        for name in [*reversed(names), "n0"]:
            connection.execute(f"drop type if exists {name}")
