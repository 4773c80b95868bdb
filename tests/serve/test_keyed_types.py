"""Ranges, multiranges and network addresses are what PostgreSQL has: texts, bytes, order, operators."""

from __future__ import annotations

import io
import ipaddress
import struct
from collections.abc import Iterator

import colonnade
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.range import Range, RangeInfo

from tests.testbed import postgres as pg
from tests.testbed.serving import Server, connected, own_server

server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)


@pytest.fixture(scope="module")
def postgres(stock: pg.Cluster) -> Iterator[psycopg.Connection]:
    with stock.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        yield connection


#: The header of COPY's binary format without flags, and its end.
BINARY_COPY, END_OF_COPY = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"

VALUES = {
    "int4range": ["[1,4)", "empty", "(,)", "[1,3]", "(-5,)", "[-2147483648,0)"],
    "int8range": ["[1,4]", "(,9223372036854775807)"],
    "numrange": ["[1.5,2.25]", "(-12345.678,0)", "[-Infinity,NaN)", "empty", "[0.0001,10000]"],
    "daterange": ["[2024-02-28,2024-02-29]", '["0044-03-15 BC",infinity]', "(,2000-01-01)"],
    "tsrange": ['["2024-02-29 01:02:03.5","2024-03-01 00:00:00")', "(-infinity,)"],
    "tstzrange": ['["2024-02-29 01:00:00+05:30",)'],
    "int4multirange": ["{}", "{[1,3),[3,5),[7,8)}", "{(,1),[9,)}"],
    "nummultirange": ["{[1.5,2),(2,3)}"],
    "datemultirange": ["{[2024-01-01,2024-01-02],[2024-01-03,2024-01-04)}"],
    "tstzmultirange": ['{["2024-01-01 00:00:00+00",)}'],
    "inet": ["192.168.0.1", "10.1.2.3/8", "::1", "2001:db8::ff00:42:8329/64", "::ffff:1.2.3.4", "::1.2.3.4", "10.1/16"],
    "cidr": ["10", "192.168.1.0/24", "2001:db8::/32", "172.16"],
    "macaddr": ["08:00:2b:01:02:03", "08002b-010203"],
    "macaddr8": ["08:00:2b:01:02:03", "08:00:2b:01:02:03:04:05"],
}


def raw(connection: psycopg.Connection, sql: str, *, binary: bool) -> list[list[tuple[int, bytes | None]]]:
    """Each value's type and bytes, as they are sent."""
    result = connection.cursor(binary=binary).execute(sql).pgresult
    assert result is not None
    return [
        [(result.ftype(at), result.get_value(row, at)) for at in range(result.nfields)] for row in range(result.ntuples)
    ]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("name", VALUES)
def test_values_are_sent_as_postgresql_sends_them(
    connection: psycopg.Connection, postgres: psycopg.Connection, name: str, binary: bool
) -> None:
    for value in VALUES[name]:
        sql = f"select '{value}'::{name}, null::{name}, array['{value}'::{name}, null]"
        assert raw(connection, sql, binary=binary) == raw(postgres, sql, binary=binary), value


@pytest.mark.parametrize("name", VALUES)
def test_each_way_of_a_value_gives_the_same(connection: psycopg.Connection, name: str) -> None:
    connection.execute(f"drop table if exists ways; create table ways (n int, v {name})")
    for value in VALUES[name]:
        (expected,) = raw(connection, f"select '{value}'::{name}", binary=True)
        ((number, binary),) = expected
        assert binary is not None
        connection.execute("delete from ways")
        connection.execute(f"insert into ways values (1, '{value}')")
        connection.execute("insert into ways values (2, %s)", [value])
        result = connection.pgconn.exec_params(b"insert into ways values (3, $1)", [binary], [number], [1])
        assert result.status == psycopg.pq.ExecStatus.COMMAND_OK, result.error_message
        with connection.cursor().copy("copy ways from stdin") as copy:
            copy.write_row((4, value))
        with connection.cursor().copy("copy ways from stdin (format binary)") as copy:
            copy.write(BINARY_COPY + struct.pack("!hiii", 2, 4, 5, len(binary)) + binary + END_OF_COPY)
        found = raw(connection, "select v from ways order by n", binary=True)
        assert found == [expected] * 5
        counts = connection.execute("select count(distinct v), count(*) from ways where v = %s", [value])
        assert counts.fetchall() == [(1, 5)]


def test_order_is_postgresqls(connection: psycopg.Connection, postgres: psycopg.Connection) -> None:
    for name, values in VALUES.items():
        rows = ", ".join(f"('{value}'::{name})" for value in values)
        sql = f"select v, v < '{values[0]}'::{name}, v = '{values[-1]}'::{name} from (values {rows}) t(v) order by v"
        assert raw(connection, sql, binary=False) == raw(postgres, sql, binary=False)


@pytest.mark.parametrize(
    ("value", "sqlstate"),
    [
        ("'x'::int4range", "22P02"),
        ("'[1,2'::int4range", "22P02"),
        ("'[2,1]'::int4range", "22000"),
        ("int4range(2, 1)", "22000"),
        ("'[1,2147483647]'::int4range", "22003"),
        ("'1.2.3.4/33'::inet", "22P02"),
        ("'1.2.3.4/24'::cidr", "22P02"),
        ("'[1,5)'::int4range + '[6,7)'::int4range", "22000"),
    ],
)
def test_errors_have_postgresqls_codes(
    connection: psycopg.Connection, postgres: psycopg.Connection, value: str, sqlstate: str
) -> None:
    for each in (connection, postgres):
        with pytest.raises(psycopg.Error) as caught:
            each.execute(f"select {value}")
        assert caught.value.sqlstate == sqlstate
    assert connection.execute("select 1").fetchall() == [(1,)]


def test_a_bound_without_an_offset_is_refused(connection: psycopg.Connection) -> None:
    """A cast does not know the session's time zone."""
    with pytest.raises(psycopg.Error, match="needs its offset from UTC"):
        connection.execute("select '[2024-01-01,)'::tstzrange")


BOUNDS = st.one_of(st.none(), st.integers(-3, 3))
RANGES = st.one_of(
    st.just("empty"),
    st.tuples(BOUNDS, BOUNDS, st.sampled_from("[("), st.sampled_from(")]")).map(
        lambda parts: (
            f"{parts[2]}{'' if parts[0] is None else min(parts[0], parts[0] if parts[1] is None else parts[1])},"
            f"{'' if parts[1] is None else max(parts[1], parts[1] if parts[0] is None else parts[0])}{parts[3]}"
        )
    ),
)
TESTS = "isempty(a), lower_inc(a), upper_inc(a), lower_inf(a), upper_inf(a)"
OPERATORS = ("@>", "<@", "&&", "-|-", "<<", ">>", "=", "<", "<=")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pairs=st.lists(st.tuples(RANGES, RANGES), min_size=1, max_size=40), name=st.sampled_from(["int4range", "numrange"])
)
def test_functions_and_operators(
    connection: psycopg.Connection, postgres: psycopg.Connection, pairs: list[tuple[str, str]], name: str
) -> None:
    rows = ", ".join(f"({number}, '{a}'::{name}, '{b}'::{name})" for number, (a, b) in enumerate(pairs))
    compared = ", ".join(f"a {operator} b" for operator in OPERATORS)
    sql = f"select a, b, {TESTS}, {compared}, a * b, range_merge(a, b) from (values {rows}) t(n, a, b) order by n"
    assert raw(connection, sql, binary=False) == raw(postgres, sql, binary=False)
    for a, b in pairs[:3]:
        for operator in "+-":
            operation = f"select '{a}'::{name} {operator} '{b}'::{name}"
            assert outcome(connection, operation) == outcome(postgres, operation)


def outcome(connection: psycopg.Connection, sql: str) -> object:
    try:
        return raw(connection, sql, binary=False)
    except psycopg.DataError as error:
        return error.sqlstate


def test_elements(connection: psycopg.Connection, postgres: psycopg.Connection) -> None:
    for sql in (
        "select '[1,5)'::int4range @> 4, '[1,5)'::int4range @> 5, 1 <@ '(1,5)'::int4range",
        "select 9::bigint <@ '[1,)'::int8range",
        "select '[2024-01-01,2025-01-01)'::daterange @> '2024-06-01'::date",
        "select 'infinity'::date <@ '[2024-01-01,)'::daterange",
        "select '[2024-01-01,2025-01-01)'::tsrange @> '2024-06-01 10:00'::timestamp",
        "select int4range(1, 5), int4range(1, 5, '[]'), numrange(1.5, null), daterange('2024-01-01', null, '()')",
        "select int4multirange(int4range(1, 3), int4range(2, 5)), nummultirange()",
    ):
        assert raw(connection, sql, binary=False) == raw(postgres, sql, binary=False)
    assert connection.execute("select lower_bound('[1,5)'::int4range), upper_bound('(,)'::daterange)").fetchall() == [
        (1, None)
    ]


def test_a_text_beside_a_range_is_a_range(connection: psycopg.Connection) -> None:
    connection.execute("drop table if exists beside; create table beside (r int4range)")
    connection.execute("insert into beside values ('[1,5)'), ('[7,9)'), (null)")
    for condition, parameters in (
        ("r @> '[1,2)'", ()),
        ("'[2,3)' <@ r", ()),
        ("r <@ '[0,6)'", ()),
        ("r @> %s", (Range(1, 3),)),
        ("r @> %s", ("[1,3)",)),
        ("r @> %s", (3,)),
        ("r @> 3::bigint and 3::smallint <@ r", ()),
        ("r && '[4,5]'", ()),
    ):
        found = connection.execute(f"select r from beside where {condition}", parameters).fetchall()
        assert found == [(Range(1, 5, "[)"),)], condition
    assert connection.execute("select r @> null from beside").fetchall() == [(None,)] * 3
    with pytest.raises(psycopg.Error, match="contains no values of type DOUBLE"):
        connection.execute("select r @> 1.5::double from beside")


def test_casts_between_types(connection: psycopg.Connection, postgres: psycopg.Connection) -> None:
    for sql in (
        "select '10.1.2.3/24'::inet::cidr, '10.0.0.0/8'::cidr::inet, '10.0.0.0/8'::inet = '10.0.0.0/8'::cidr",
        "select '08:00:2b:01:02:03'::macaddr::macaddr8, '08:00:2b:ff:fe:01:02:03'::macaddr8::macaddr",
        "select '[1,4)'::int4range::int4multirange, 'empty'::daterange::datemultirange",
    ):
        assert raw(connection, sql, binary=False) == raw(postgres, sql, binary=False)
    connection.execute("drop table if exists addresses; create table addresses (a inet)")
    connection.execute("insert into addresses values ('10.0.0.0/8'::cidr)")


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("other", ["json", "bit", "uuid", "blob"])
def test_other_types_are_not_taken_for_keys(connection: psycopg.Connection, name: str, other: str) -> None:
    """DuckDB would store their bytes."""
    value = {"json": "'\"abcdef\"'::json", "bit": "'0101'::bit", "uuid": "gen_random_uuid()", "blob": "'\\x00'::blob"}
    for expression in (f"{value[other]}::{name}", f"'{VALUES[name][0]}'::{name}::{other}"):
        if other == "json" and expression.endswith("json"):
            assert connection.execute(f"select ({expression})::text like '\"%\"'").fetchall() == [(True,)]
            continue
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(f"select {expression}")
        assert caught.value.sqlstate == "42846", expression


def test_maps_and_fixed_arrays(connection: psycopg.Connection, server: Server) -> None:
    select = "select map {'k': '[1,3]'::int4range} as m, ['::1'::inet]::inet[1] as a"
    for binary in (False, True):
        found = connection.cursor(binary=binary).execute(select).fetchall()
        assert found == [([("k", "[1,4)" if not binary else Range(1, 4, "[)"))], [ipaddress.ip_address("::1")])]
    table = colonnade.read_sql(f"postgresql://tester@{server.host}:{server.port}", select, return_type="arrow")
    assert table.to_pylist() == [{"m": [("k", "[1,4)")], "a": ["::1"]}]


def test_a_range_is_a_key(connection: psycopg.Connection) -> None:
    connection.execute("drop table if exists keys; create table keys (r daterange primary key, i inet unique)")
    connection.execute("insert into keys values ('[2024-01-01,2024-02-01)', '10.0.0.1'), ('[2024-02-01,)', '10.0.0.2')")
    with pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute("insert into keys values ('[2024-01-01,2024-01-31]', '10.0.0.3')")
    found = connection.execute("select i::text from keys where r @> '2024-05-05'::date").fetchall()
    assert found == [("10.0.0.2",)]


def test_the_catalog_knows_them(connection: psycopg.Connection, postgres: psycopg.Connection) -> None:
    ranges = "from pg_range where rngtypid < 10000"
    numbers = f"(select rngtypid {ranges} union select rngmultitypid {ranges})"
    columns = "oid::int8, typname, typtype, typcategory, typlen, typarray::int8"
    for sql in (
        f"select {columns} from pg_type where oid in {numbers} order by oid",
        f"select rngtypid::int8, rngsubtype::int8, rngmultitypid::int8 {ranges} order by 1",
        f"select {columns} from pg_type where typname in ('inet', 'cidr') order by oid",
        "select format_type(3904, -1), format_type(1041, -1)",
    ):
        assert connection.execute(sql).fetchall() == postgres.execute(sql).fetchall()
    info = RangeInfo.fetch(connection, "daterange")
    assert info is not None and (info.oid, info.subtype_oid) == (3912, 1082)


def test_columnar_formats_have_texts(connection: psycopg.Connection, server: Server) -> None:
    uri = f"postgresql://tester@{server.host}:{server.port}"
    connection.execute("drop table if exists columnar; create table columnar (r int4range, l inet[])")
    connection.execute("insert into columnar values ('[1,3]', '{1.2.3.4,::1}'), (null, null)")
    table = colonnade.read_sql(uri, "select r, l, {'r': r} as s from columnar", return_type="arrow")
    rows = [{"r": "[1,4)", "l": ["1.2.3.4", "::1"], "s": {"r": "[1,4)"}}, {"r": None, "l": None, "s": {"r": None}}]
    assert table.to_pylist() == rows
    colonnade.write_sql(table.select(["r", "l"]), uri, "columnar", if_exists="append")
    assert connection.execute("select count(*) from columnar where r = '[1,4)' and l = '{1.2.3.4,::1}'").fetchall() == [
        (2,)
    ]
    data = io.BytesIO()
    with connection.cursor().copy("copy (select r from columnar where r is not null) to stdout (format csv)") as copy:
        for part in copy:
            data.write(part)
    assert data.getvalue() == b'"[1,4)"\n"[1,4)"\n'


def test_rows_have_them_too(connection: psycopg.Connection) -> None:
    found = connection.execute("select row(r, i) from (select '[1,2)'::int4range r, '::1'::inet i)").fetchall()
    assert found == [(("[1,2)", "::1"),)]
    assert connection.execute("select %s::int4range", [Range(1, 3)]).fetchall() == [(Range(1, 3, "[)"),)]


def test_a_literal_beside_a_parameter_has_its_type(connection: psycopg.Connection) -> None:
    assert connection.execute("select '{1,2}' = %s", [[1, 2]]).fetchall() == [(True,)]
