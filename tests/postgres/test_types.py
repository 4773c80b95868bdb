"""Every PostgreSQL row of spec/TYPES.md on a real server, and what surrounds the types: nesting, options, refusals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import colonnade
import psycopg
import pyarrow as pa
import pytest

from tests.support.types_table import Row, of, python_values, shown
from tests.testbed import postgres as pg

SCHEMA = """
create schema types;
set search_path to types, public;
create type mood as enum ('sad', 'ok');
alter type mood add value 'between' before 'ok';
create domain short as varchar(3);
create domain texts as text[];
create domain positive as int check (value > 0);
create type pair as (a int, b text);
create type nested as (p pair, l int[], m mood);
create type mixed as (a int, i inet, t text[], b bool, m mood, f float8, y bytea, r int4range[]);
create extension hstore schema types;
"""
LETTERS = {"T": "int32", "V": "string", "p": "12", "s": "3", "n": "5"}

#: For each row of the table: the type in SQL, what else its letters stand for, and literals with what must arrive.
#: Dates, times and timestamps arrive as integers, decimals and floats are compared as text.
ROWS: dict[str, list[tuple[str, dict[str, str], list[tuple[str, Any]]]]] = {
    "bool": [("bool", {}, [("true", True), ("false", False)])],
    "int2": [("int2", {}, [("-32768", -32768), ("32767", 32767)])],
    "int4": [("int4", {}, [("-2147483648", -(2**31)), ("2147483647", 2**31 - 1)])],
    "int8": [("int8", {}, [("'-9223372036854775808'", -(2**63)), ("9007199254740993", 9007199254740993)])],
    "oid": [("oid", {}, [("4294967295", 2**32 - 1), ("0", 0)])],
    "float4": [("float4", {}, [("0.1", "0.10000000149011612"), ("'-infinity'", "-inf"), ("'-0'", "-0.0")])],
    "float8": [("float8", {}, [("0.1", "0.1"), ("5e-324", "5e-324"), ("'NaN'", "nan"), ("'infinity'", "inf")])],
    "numeric(p,s), p ≤ 38": [
        ("numeric(12,3)", {}, [("-999999999.999", "-999999999.999"), ("0.001", "0.001"), ("1e3", "1000.000")]),
        ("numeric(38,0)", {"p": "38", "s": "0"}, [("99999999999999999999999999999999999999", "9" * 38)]),
        ("numeric(38,38)", {"p": "38", "s": "38"}, [("-0." + "9" * 38, "-0." + "9" * 38)]),
        ("numeric(4)", {"p": "4", "s": "0"}, [("10000 / 2", "5000"), ("0", "0")]),
    ],
    "numeric(p,s), p ≤ 76": [
        ("numeric(39,1)", {"p": "39", "s": "1"}, [("-" + "1" * 38 + ".5", "-" + "1" * 38 + ".5")]),
        ("numeric(76,38)", {"p": "76", "s": "38"}, [("9" * 38 + "." + "9" * 38, "9" * 38 + "." + "9" * 38)]),
    ],
    "numeric(p,s), p > 76 or s < 0 or s > p": [
        ("numeric(77,0)", {}, [("9" * 77, "9" * 77), ("'NaN'", "NaN")]),
        ("numeric(3,-2)", {}, [("12345", "12300")]),
        ("numeric(2,4)", {}, [("0.00987", "0.0099")]),
    ],
    "numeric": [("numeric", {}, [("1.10", "1.10"), ("-1e-30", "-0." + "0" * 29 + "1"), ("'infinity'", "Infinity")])],
    "money": [("money", {"s": "2"}, [("'-92233720368547758.08'", "-92233720368547758.08"), ("0.01", "0.01")])],
    "text": [("text", {}, [("'漢 😀'", "漢 😀"), ("''", ""), ("repeat('x', 9000)", "x" * 9000)])],
    "varchar(n)": [("varchar(5)", {}, [("'abc  '", "abc  ")])],
    "char(n)": [("char(5)", {}, [("'ab'", "ab   "), ("''", "     ")])],
    '"char"': [('"char"', {}, [("'x'", "x"), ("''", "")])],
    "name": [("name", {}, [("'pg'", "pg"), ("repeat('n', 63)", "n" * 63)])],
    "bytea": [("bytea", {}, [(r"'\x00ff'", b"\x00\xff"), ("''", b"")])],
    "date": [
        ("date", {}, [("'1582-10-10'", -141432), ("'infinity'", 2**31 - 1), ("'-infinity'", -(2**31) + 1)]),
        ("date", {}, [("'4713-01-01 BC'", -2440550), ("'5874897-12-31'", 2145042905)]),
    ],
    "time": [("time", {}, [("'23:59:59.999999'", 86399999999), ("'24:00'", 86400000000)])],
    "timetz": [("timetz", {}, [("'01:02:03.4+05:30'", "01:02:03.4+05:30"), ("'24:00-15:59'", "24:00:00-15:59")])],
    "timestamp": [
        ("timestamp", {}, [("'1969-12-31 23:59:59.999999'", -1), ("'infinity'", 2**63 - 1)]),
        ("timestamp(0)", {}, [("'-infinity'", -(2**63) + 1), ("'294246-12-31'", 9223371158400000000)]),
    ],
    "timestamptz": [("timestamptz", {}, [("'2024-01-01 05:30:01.5+05:30'", 1704067201500000)])],
    "interval": [
        (
            "interval",
            {},
            [("'14 months -3 days 1 us'", [14, -3, 1000]), ("'-2562046 h'", [0, 0, -2562046 * 36 * 10**11])],
        )
    ],
    "uuid": [("uuid", {}, [("'A0EEBC99-9c0b4ef8bb6d6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")])],
    "json": [("json", {}, [("""'{"a":  1e400}'""", '{"a":  1e400}')])],
    "jsonb": [("jsonb", {}, [("""'{"b":  1, "a": [1.0]}'""", '{"a": [1.0], "b": 1}')])],
    "T[]": [
        ("int[]", {}, [("'{1,NULL}'", [1, None]), ("'{}'", [])]),
        ("texts[]", {"T": "list<string>"}, [('\'{"{a,b}",NULL,"{}"}\'', [["a", "b"], None, []]), ("null", None)]),
    ],
    "enum": [("mood", {}, [("'ok'", "ok"), ("'sad'", "sad"), ("'between'", "between")])],
    "domain over T": [
        ("positive", {}, [("7", 7)]),
        ("short", {"T": "string"}, [("'abc'", "abc")]),
        ("texts", {"T": "list<string>"}, [("'{a,NULL}'", ["a", None]), ("'{}'", [])]),
    ],
    "composite (a T, b V)": [("pair", {}, [("(1,'x')", {"a": 1, "b": "x"}), ("(NULL,'')", {"a": None, "b": ""})])],
    "range, multirange": [
        ("int4range", {}, [("'[1,5]'", "[1,6)"), ("'empty'", "empty")]),
        ("nummultirange", {}, [("'{[1.5,2),[3,)}'", "{[1.5,2),[3,)}")]),
        ("tsrange", {}, [("'[2024-01-02,)'", '["2024-01-02 00:00:00",)')]),
    ],
    "inet": [("inet", {}, [("'192.168.1.5/24'", "192.168.1.5/24"), ("'::1'", "::1")])],
    "cidr": [("cidr", {}, [("'10.0.0.0/8'", "10.0.0.0/8")])],
    "macaddr, macaddr8": [
        ("macaddr", {}, [("'08002b010203'", "08:00:2b:01:02:03")]),
        ("macaddr8", {}, [("'08002b0102030405'", "08:00:2b:01:02:03:04:05")]),
    ],
    "bit(n), varbit": [("bit(5)", {}, [("B'00101'", "00101")]), ("varbit", {}, [("B''", ""), ("B'1'", "1")])],
    "xml": [("xml", {}, [("'<a>漢</a>'", "<a>漢</a>")])],
    "tsvector, tsquery": [
        ("tsvector", {}, [("'b:2 a:1'", "'a':1 'b':2")]),
        ("tsquery", {}, [("'a & !b'", "'a' & !'b'")]),
    ],
    "point, line, lseg, box, path, polygon, circle": [
        ("point", {}, [("'(0.1,1e300)'", "(0.1,1e+300)")]),
        ("line", {}, [("'{1,2,3}'", "{1,2,3}")]),
        ("lseg", {}, [("'[(0,0),(1,1)]'", "[(0,0),(1,1)]")]),
        ("box", {}, [("'(0,0),(1,1)'", "(1,1),(0,0)")]),
        ("path", {}, [("'[(0,0),(1,1)]'", "[(0,0),(1,1)]")]),
        ("polygon", {}, [("'((0,0),(1,1),(1,0))'", "((0,0),(1,1),(1,0))")]),
        ("circle", {}, [("'<(0,0),1.5>'", "<(0,0),1.5>")]),
    ],
    "hstore": [("hstore", {}, [("'a=>1, b=>NULL'", '"a"=>"1", "b"=>NULL')])],
    "pg_lsn": [("pg_lsn", {}, [("'16/B374D848'", "16/B374D848")])],
    "any other": [
        ("regclass", {}, [("'pg_catalog.pg_class'", "pg_class")]),
        ("tid", {}, [("'(5,6)'", "(5,6)")]),
        ("xid8", {}, [("'12345678901'", "12345678901")]),
        ("jsonpath", {}, [("'$.a'", '$."a"')]),
        ("int2vector", {}, [("'1 2'", "1 2")]),
    ],
}
CASES = [
    pytest.param(row, *case, id=f"{row.database}: {case[0]}") for row in of("PostgreSQL") for case in ROWS[row.database]
]
#: A document of the table's rows says refused within a note, so these are listed here: value, SQLSTATE.
REFUSED = [
    ("'NaN'::numeric(5,2)", "22003"),
    ("'294276-12-31'::timestamp", "22008"),
    # Its number is that of infinity.
    ("'294247-01-10 04:00:54.775807'::timestamp", "22008"),
    ("array['294247-01-10 04:00:54.775807+00'::timestamptz]", "22008"),
    ("'294276-12-31'::timestamptz", "22008"),
    ("'2562048 hours'::interval", "22008"),
    ("'-2562048 hours'::interval", "22008"),
    ("'{{1,2},{3,4}}'::int[]", "0A000"),
    ("'[2:3]={1,2}'::int[]", "0A000"),
    ("array['294276-12-31'::timestamp]", "22008"),
    ("'{{::1},{::2}}'::inet[]", "0A000"),
    ("'[0:1]={::1,::2}'::inet[]", "0A000"),
    ("row(1, 'NaN')::types.priced", "22003"),
]


@pytest.fixture(scope="module")
def postgres(either: pg.Cluster) -> pg.Cluster:
    return either


@pytest.fixture(scope="module", autouse=True)
def schema(postgres: pg.Cluster) -> Iterator[None]:
    with postgres.connect() as session:
        session.execute(SCHEMA)
        session.execute("create type priced as (a int, price numeric(5,2))")
        yield
        session.execute("set client_min_messages to warning; drop schema types cascade")


@pytest.fixture
def connection(postgres: pg.Cluster) -> Iterator[colonnade.Connection]:
    with colonnade.connect(postgres.uri(options="-c search_path=types,public")) as opened:
        yield opened


def column(connection: colonnade.Connection, sql: str, **options: Any) -> tuple[pa.Field, pa.ChunkedArray]:
    table = connection.query(sql, **options).to_arrow()
    return table.schema.field(0), table.column(0)


def test_every_row_of_the_table_has_a_case() -> None:
    assert [row.database for row in of("PostgreSQL")] == list(ROWS)


@pytest.mark.parametrize(("row", "sql", "letters", "values"), CASES)
def test_postgres_sends_what_the_table_says(
    connection: colonnade.Connection, session: psycopg.Connection, row: Row, sql: str, letters: dict, values: list
) -> None:
    rows = ", ".join(f"({number}, ({literal})::{sql})" for number, (literal, _) in enumerate(values))
    # Cast once more: VALUES forgets what stands in a type's parentheses.
    query = f"select v::{sql} as v from (values {rows}, (99, null)) as t (i, v) order by i"
    field, found = column(connection, query)
    letters = {**LETTERS, **letters}
    arrow = re.sub(r"\b[TVpn]\b|(?<!\[)\bs\b", lambda letter: letters[letter.group()], row.arrow)
    assert shown(field.type) == arrow
    assert python_values(found.slice(0, len(values)), row.wire) == [value for _, value in values]
    assert found[len(values)].as_py() is None

    session.execute(f"set search_path to types, public; create temp table probe (v {sql})")
    [(type_,)] = session.execute(
        "select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'probe'::regclass and attnum = 1"
    ).fetchall()
    assert database_type(field) == (type_ if row.how == "text" else None)


@pytest.mark.parametrize(("value", "sqlstate"), REFUSED)
def test_a_value_without_a_form_is_refused_and_text_is_the_way_out(
    connection: colonnade.Connection, session: psycopg.Connection, value: str, sqlstate: str
) -> None:
    query = f"select {value} as odd from generate_series(1, 3)"
    with pytest.raises(colonnade.Error, match=r'column "odd(\.price)?"') as caught:
        connection.query(query).to_arrow()
    assert caught.value.sqlstate == sqlstate
    assert "as_text" in (caught.value.hint or "")
    session.execute("set search_path to types, public")
    [(text,)] = session.execute(f"select format('%s', {value})").fetchall()
    assert column(connection, query, as_text=["odd"])[1].to_pylist() == [text] * 3


# --- nesting ----------------------------------------------------------------------------------------------------------

NESTED = [
    ("array[row(1, 'x'), null, row(null, '')]::pair[]", [{"a": 1, "b": "x"}, None, {"a": None, "b": ""}]),
    ("row(row(1, 'x'), '{1,NULL}', 'ok')::nested", {"p": {"a": 1, "b": "x"}, "l": [1, None], "m": "ok"}),
    ("row(null, null, null)::nested", {"p": None, "l": None, "m": None}),
    ("array[row(null, '{}', 'sad')]::nested[]", [{"p": None, "l": [], "m": "sad"}]),
    ("'{sad,NULL,ok}'::mood[]", ["sad", None, "ok"]),
    ("'{1,2}'::positive[]", [1, 2]),
    ("'{t,f,NULL}'::bool[]", [True, False, None]),
    ('\'{a,"b,c",NULL,"NULL",""}\'::text[]', ["a", "b,c", None, "NULL", ""]),
    ("'{10.0.0.1,::1}'::inet[]", ["10.0.0.1", "::1"]),
    ("'{1.10,NaN}'::numeric[]", ["1.10", "NaN"]),
    ("'{ab}'::char(3)[]", ["ab "]),
    (r"""'{"\\x00"}'::bytea[]""", [b"\x00"]),
    ("array['(1,1),(0,0)'::box, null]", ["(1,1),(0,0)", None]),
    ("array[B'101'::bit(3), B'000']", ["101", "000"]),
    ("'{NULL,\"[1,2)\"}'::int4range[]", [None, "[1,2)"]),
    ("'{}'::inet[]", []),
    (
        """array[row(1,'::1', array['a "q" \\', '', null, 'NULL'],true,'ok',0.1,'\\x00ff',null), null]::mixed[]""",
        [
            {
                "a": 1,
                "i": "::1",
                "t": ['a "q" \\', "", None, "NULL"],
                "b": True,
                "m": "ok",
                "f": 0.1,
                "y": b"\x00\xff",
                "r": None,
            },
            None,
        ],
    ),
    ("array(select generate_series(1, 100000))", list(range(1, 100001))),
]


@pytest.mark.parametrize(("value", "expected"), NESTED, ids=[value[:40] for value, _ in NESTED])
def test_nested_values(connection: colonnade.Connection, value: str, expected: Any) -> None:
    _, found = column(connection, f"select case when i % 2 = 1 then {value} end from generate_series(1, 4) i")
    assert found.to_pylist() == [expected, None, expected, None]


def test_a_record_without_a_type_is_text(connection: colonnade.Connection) -> None:
    field, found = column(connection, "select row(1, 'x y', null) as r")
    assert (field.type, database_type(field)) == (pa.utf8(), "record")
    assert found.to_pylist() == ['(1,"x y",)']


def test_a_row_of_a_table_with_a_dropped_column(connection: colonnade.Connection, session: psycopg.Connection) -> None:
    session.execute("create table types.holey (a int, gone text, b text); insert into types.holey values (1, 'x', 'y')")
    session.execute("alter table types.holey drop column gone")
    field, found = column(connection, "select h from holey h")
    assert field.type == pa.struct([("a", pa.int32()), ("b", pa.utf8())])
    assert found.to_pylist() == [{"a": 1, "b": "y"}]


def test_an_enum_of_many_labels(connection: colonnade.Connection, session: psycopg.Connection) -> None:
    labels = [f"label {number}" for number in range(300)]
    session.execute(f"create type types.many as enum ({', '.join(map(repr, labels))})")
    field, found = column(connection, "select unnest(enum_range(null::many))")
    assert field.type == pa.dictionary(pa.uint16(), pa.utf8(), ordered=True)
    assert found.to_pylist() == labels


def test_statistics_hold_every_type(connection: colonnade.Connection) -> None:
    """Columns of the pseudo-type anyarray, as in pg_stats."""
    field, _ = column(connection, "select most_common_vals, histogram_bounds from pg_stats")
    assert (field.type, database_type(field)) == (pa.utf8(), "anyarray")


# --- options ----------------------------------------------------------------------------------------------------------


def test_unconstrained_numerics_as_decimals(connection: colonnade.Connection) -> None:
    query = "select v from (values (1.5), (-0.00001), (null), (12345)) as t (v)"
    field, found = column(connection, query, numeric=(20, 5))
    assert field.type == pa.decimal128(20, 5)
    assert [v and str(v) for v in found.to_pylist()] == ["1.50000", "-0.00001", None, "12345.00000"]
    assert column(connection, query, numeric=(50, 10))[0].type == pa.decimal256(50, 10)
    constrained, _ = column(connection, "select 1.5::numeric(3,1) as v", numeric=(20, 5))
    assert constrained.type == pa.decimal128(3, 1)


@pytest.mark.parametrize("value", ["1.000001", "1e16", "'NaN'::numeric", "'-infinity'::numeric"])
def test_a_numeric_that_does_not_fit_is_refused_never_rounded(connection: colonnade.Connection, value: str) -> None:
    with pytest.raises(colonnade.DataError, match='column "v"') as caught:
        connection.query(f"select {value} as v", numeric=(20, 5)).to_arrow()
    assert caught.value.sqlstate == "22003"


def test_columns_as_text(connection: colonnade.Connection) -> None:
    query = """select 1 as a, '2024-01-01'::date as "Odd, name", '{{1}}'::int[] as "q""uote", 1.5::float8 as b"""
    table = connection.query(query, as_text=["Odd, name", 'q"uote', "b"]).to_arrow()
    assert table.schema.types == [pa.int32(), pa.utf8(), pa.utf8(), pa.utf8()]
    assert table.to_pylist() == [{"a": 1, "Odd, name": "2024-01-01", 'q"uote': "{{1}}", "b": "1.5"}]
    assert [database_type(field) for field in table.schema] == [None, "date", "integer[]", "double precision"]


def test_as_text_names_columns_of_the_result(connection: colonnade.Connection) -> None:
    with pytest.raises(colonnade.Error, match="typo") as caught:
        connection.query("select 1 as a", as_text=["a", "typo"])
    assert caught.value.sqlstate in ("22023", "42703")


def test_names_may_repeat_and_be_odd(connection: colonnade.Connection) -> None:
    table = connection.query("""select 1 as a, 2 as a, 3 as " ", 4 as "käse 🧀", 5""").to_arrow()
    assert table.column_names == ["a", "a", " ", "käse 🧀", "?column?"]
    assert [column[0].as_py() for column in table.columns] == [1, 2, 3, 4, 5]


def database_type(field: pa.Field) -> str | None:
    """PostgreSQL's name of the type of a column that arrives as text."""
    name = (field.metadata or {}).get(b"colonnade.type")
    return None if name is None else name.decode()
