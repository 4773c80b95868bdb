"""A column of `numeric` without digits keeps a value as it is, or refuses it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import colonnade
import psycopg
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.testbed import postgres as pg
from tests.testbed.serving import Server, connected, own_server

server = pytest.fixture(own_server, scope="module")
connection = pytest.fixture(connected)

#: Without zeros at the end, which PostgreSQL keeps.
VALUES = ["0", "1.5", "-0.0000000001", "12345678901234567890.25", "999999999999999999999999999.9999999999", "1e3", "7"]
TOO_FINE = "0.12345678901"


@pytest.fixture(scope="module")
def postgres(stock: pg.Cluster) -> Iterator[psycopg.Connection]:
    with stock.connect() as connection:
        yield connection


@pytest.fixture
def table(connection: psycopg.Connection) -> str:
    connection.execute("drop table if exists prices; create table prices (id int, price numeric)")
    return "prices"


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("spelling", ["numeric", "DECIMAL", "dec", '"numeric"', 'pg_catalog."numeric"'])
def test_values_are_sent_as_postgresql_sends_them(
    connection: psycopg.Connection, postgres: psycopg.Connection, spelling: str, binary: bool
) -> None:
    found = []
    for one in (connection, postgres):
        one.execute(f"create temp table kept (place int, n {spelling}, list {spelling}[])")
        for at, value in enumerate(VALUES):
            one.execute("insert into kept values (%s, %s, %s)", [at, Decimal(value), [Decimal(value), None]])
            one.execute(f"insert into kept values ({at}, {value}, array[{value}])")
        result = (
            one.cursor(binary=binary).execute("select n, list from kept order by place, cardinality(list)").pgresult
        )
        assert result is not None
        types = [(result.ftype(at), result.fmod(at)) for at in range(2)]
        found.append((types, [[result.get_value(row, at) for at in range(2)] for row in range(result.ntuples)]))
        one.execute("drop table kept")
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "statement",
    [
        f"insert into prices values (2, {TOO_FINE})",
        f"insert into prices values (2, '{TOO_FINE}')",
        f"insert into prices values (2, '{TOO_FINE}'::numeric)",
        f"insert into prices select 2, {TOO_FINE}::numeric(20, 15)",
        f"insert into prices select 2, '{TOO_FINE}'::text",
        "insert into prices select 2, avg(n) from (values (1), (1), (2)) v(n)",
        "insert into prices values (2, 1e27)",
        "insert into prices values (2, 'NaN')",
        "update prices set price = price / 3",
        f"update prices set price = price * {TOO_FINE}",
        "alter table fine alter n type numeric",
    ],
)
def test_what_would_be_rounded_is_refused(connection: psycopg.Connection, table: str, statement: str) -> None:
    connection.execute(
        f"insert into prices values (1, 1.1); drop table if exists fine; create table fine as select {TOO_FINE} as n"
    )
    with pytest.raises(psycopg.errors.NumericValueOutOfRange, match="numeric"):
        connection.execute(statement)
    assert connection.execute("select * from prices").fetchall() == [(1, Decimal("1.1"))]


@pytest.mark.parametrize("binary", [False, True])
def test_parameters_and_copies_are_exact(connection: psycopg.Connection, table: str, binary: bool) -> None:
    form = "%b" if binary else "%t"
    rows = [(at, Decimal(value)) for at, value in enumerate(VALUES)]
    connection.cursor().executemany(f"insert into prices values ({form}, {form})", rows)
    with connection.cursor().copy(f"copy prices from stdin (format {'binary' if binary else 'text'})") as copy:
        copy.set_types(["int4", "numeric"])
        for row in rows:
            copy.write_row(row)
    assert connection.execute("select * from prices order by id").fetchall() == [row for row in rows for _ in range(2)]
    with pytest.raises(psycopg.errors.NumericValueOutOfRange, match=r"has 11: declare numeric\(p, s\)"):
        connection.execute(f"insert into prices values (9, {form})", [Decimal(TOO_FINE)])
    with (
        pytest.raises(psycopg.errors.NumericValueOutOfRange),
        connection.cursor().copy(f"copy prices from stdin (format {'binary' if binary else 'text'})") as copy,
    ):
        copy.set_types(["int4", "numeric"])
        copy.write_row((9, Decimal(TOO_FINE)))
    for condition, value, count in [("=", "1.5000", 2), ("<", TOO_FINE, 4)]:
        sql = f"select count(*) from prices where price {condition} {form}"
        assert connection.execute(sql, [Decimal(value)]).fetchone() == (count,)


def test_it_computes_as_a_decimal(connection: psycopg.Connection, table: str) -> None:
    connection.execute("insert into prices values (1, 19.99), (2, 0.01), (3, null)")
    sums = "sum(price), max(price), sum(price * id), round(sum(price * 1.075), 2), count(distinct price)"
    sql = f"select {sums} from prices"
    assert connection.execute(sql).fetchone() == (20, Decimal("19.99"), Decimal("20.01"), Decimal("21.50"), 2)
    connection.execute("create index by_price on prices (price); update prices set price = price * 2 where price > 1")
    assert connection.execute("select id from prices where price = 39.98").fetchall() == [(1,)]
    assert connection.execute("select price::text, coalesce(price, 0) + 1 from prices order by id").fetchall() == [
        ("39.98", Decimal("40.98")),
        ("0.01", Decimal("1.01")),
        (None, 1),
    ]


def test_the_catalog_shows_no_digits(connection: psycopg.Connection, postgres: psycopg.Connection, table: str) -> None:
    postgres.execute("create temp table prices (id int, price numeric)")
    sql = (
        "select a.attname, format_type(atttypid, atttypmod), atttypid, atttypmod from pg_attribute a "
        "where attrelid = 'prices'::regclass and attnum > 0 order by attnum"
    )
    columns = (
        "select column_name, data_type, numeric_precision, numeric_scale, udt_name from information_schema.columns "
        "where table_name = 'prices' order by ordinal_position"
    )
    for statement in (sql, columns):
        assert connection.execute(statement).fetchall() == postgres.execute(statement).fetchall()


def test_a_cast_has_ten_digits_behind_the_point(connection: psycopg.Connection) -> None:
    casts = "x::numeric, cast(x as decimal), '0.123456789012'::numeric, round((x / 3)::numeric, 2)"
    found = connection.execute(f"select {casts} from (select 2.5::double precision) t(x)").fetchone()
    assert found == (Decimal("2.5"), Decimal("2.5"), Decimal("0.123456789012"), Decimal("0.83"))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(value=st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**25), max_value=10**25, places=12))
def test_a_value_comes_back_as_it_is_or_not_at_all(connection: psycopg.Connection, value: Decimal) -> None:
    connection.execute("create table if not exists generated (n numeric); delete from generated")
    try:
        connection.execute("insert into generated values (%s)", [value])
    except psycopg.errors.NumericValueOutOfRange:
        assert format(value, "f").rstrip("0").partition(".")[2][10:]
    else:
        assert connection.execute("select n from generated").fetchone() == (value,)


def test_it_is_a_decimal_in_arrow(server: Server, connection: psycopg.Connection, table: str) -> None:
    uri = f"postgresql://tester@{server.host}:{server.port}"
    connection.execute("insert into prices values (1, 1.5), (2, null)")
    found = colonnade.read_sql(uri, "select price from prices order by id", return_type="arrow")
    assert found.schema.field("price").type == pa.decimal128(37, 10)
    assert found.to_pydict() == {"price": [Decimal("1.5"), None]}
    more = pa.table({"id": [3], "price": pa.array([Decimal("2.25")], pa.decimal128(9, 4))})
    colonnade.write_sql(more, uri, "prices", if_exists="append")
    finer = pa.table({"id": [4], "price": pa.array([Decimal(TOO_FINE)], pa.decimal128(20, 11))})
    with pytest.raises(colonnade.Error, match="no exact form"):
        colonnade.write_sql(finer, uri, "prices", if_exists="append")
    assert connection.execute("select sum(price), count(*) from prices").fetchone() == (Decimal("3.75"), 3)


@pytest.mark.parametrize(
    "value",
    [
        "row(1.23456)::struct(a numeric)",
        'cast(row(1.23456) as struct(a "numeric"))',
        "{'a': [1.23456]}::struct(a numeric[])",
        "map([1.23456], [1])::map(numeric, integer)",
        "1.23456::price_of_shop",
    ],
)
def test_digits_stay_within_other_types(connection: psycopg.Connection, value: str) -> None:
    connection.execute("drop type if exists price_of_shop; create type price_of_shop as numeric")
    ((text,),) = connection.execute(f"select ({value})::text").fetchall()
    assert "1.23456" in text
