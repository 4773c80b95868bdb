"""spec/TYPES.md's rows of MySQL: every type at its limits, and NULL, by both of the protocol's ways to a column."""

from __future__ import annotations

import datetime as dt
import re
import struct
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import colonnade
import pyarrow as pa
import pytest

from tests.support.types_table import of
from tests.testbed import mariadb

UTC = dt.UTC
NINES = "9" * 35 + "." + "9" * 30
LONGEST = dt.timedelta(hours=838, minutes=59, seconds=59)
#: SRID 4326, then WKB.
POINT = bytes.fromhex("e6100000 0101000000 000000000000f03f 0000000000000040")
#: What a literal such as 1 is: MySQL calls all of them bigint.
INTEGER = "int64" if mariadb.is_mysql() else "int32"
LATIN = "convert(x'e9' using latin1)"

# A row of TYPES.md, by its database type; what a column is declared as; literals; what arrives.
TYPES: list[tuple[str, str, list[tuple[str, Any]]]] = [
    ("tinyint", "tinyint", [("-128", -128), ("127", 127)]),
    ("tinyint", "tinyint(1)", [("2", 2)]),
    ("smallint", "smallint", [("-32768", -32768), ("32767", 32767)]),
    ("mediumint", "mediumint", [("-8388608", -8388608), ("8388607", 8388607)]),
    ("int", "int", [("-2147483648", -(2**31)), ("2147483647", 2**31 - 1)]),
    ("bigint", "bigint", [("-9223372036854775808", -(2**63)), ("9223372036854775807", 2**63 - 1)]),
    ("tinyint unsigned", "tinyint unsigned", [("255", 255)]),
    ("smallint unsigned", "smallint unsigned", [("65535", 65535)]),
    ("mediumint unsigned", "mediumint unsigned", [("16777215", 16777215)]),
    ("int unsigned", "int unsigned zerofill", [("4294967295", 2**32 - 1), ("7", 7)]),
    ("bigint unsigned", "bigint unsigned", [("18446744073709551615", 2**64 - 1)]),
    ("bit(1)", "bit(1)", [("b'1'", True), ("0", False)]),
    ("bit(n)", "bit(12)", [("b'100000000001'", 2049)]),
    ("bit(n)", "bit(64)", [("0xffffffffffffffff", 2**64 - 1)]),
    ("year", "year", [("1901", 1901), ("2155", 2155), ("0", 0)]),
    ("float", "float", [("1.17549435e-38", 1.1754943508222875e-38), ("-0.1", -0.10000000149011612)]),
    ("double", "double", [("1.7976931348623157e308", 1.7976931348623157e308), ("0.1", 0.1)]),
    ("decimal(p,s), p ≤ 38", "decimal(12,3)", [("-999999999.999", Decimal("-999999999.999")), ("0", Decimal("0.000"))]),
    ("decimal(p,s), p ≤ 38", "decimal(38,0)", [("9" * 38, Decimal("9" * 38))]),
    ("decimal(p,s), p > 38", "decimal(65,30)", [(NINES, Decimal(NINES)), ("-" + NINES, Decimal("-" + NINES))]),
    ("char(n)", "char(5)", [("'a '", "a"), ("''", "")]),
    ("varchar(n)", "varchar(20)", [("'漢 😀 '", "漢 😀 ")]),
    ("varchar(n)", "varchar(20) character set latin1", [(LATIN, "é")]),
    ("text", "longtext", [("'x\\ny'", "x\ny")]),
    ("text", "tinytext character set utf16", [("'漢'", "漢")]),
    ("binary(n)", "binary(3)", [("x'00ff'", b"\x00\xff\x00")]),
    ("varbinary(n)", "varbinary(5)", [("x'00ff'", b"\x00\xff"), ("''", b"")]),
    ("blob", "longblob", [("x'00ff'", b"\x00\xff")]),
    ("json", "json", [("""'{"a":  1}'""", '{"a":  1}')]),
    ("enum", "enum('sad', 'ok')", [("'ok'", "ok"), ("'sad'", "sad")]),
    ("set", "set('a', 'b', 'c')", [("'c,a'", "a,c"), ("''", "")]),
    ("date", "date", [("'0001-01-01'", dt.date(1, 1, 1)), ("'9999-12-31'", dt.date(9999, 12, 31))]),
    ("datetime(n)", "datetime", [("'1000-01-01 00:00:00'", dt.datetime(1000, 1, 1))]),
    ("datetime(n)", "datetime(6)", [("'9999-12-31 23:59:59.999999'", dt.datetime(9999, 12, 31, 23, 59, 59, 999999))]),
    ("timestamp(n)", "timestamp(6) null",
        [("'2038-01-19 03:14:07.999999'", dt.datetime(2038, 1, 19, 3, 14, 7, 999999, UTC))]),
    ("time(n)", "time", [("'-838:59:59'", -LONGEST), ("'00:00:00'", dt.timedelta())]),
    ("time(n)", "time(6)", [("'838:59:58.999999'", LONGEST - dt.timedelta(microseconds=1))]),
    ("uuid", "uuid", [("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")]),
    ("inet4, inet6", "inet6", [("'2001:db8::ff00:42:8329'", "2001:db8::ff00:42:8329")]),
    ("inet4, inet6", "inet4", [("'192.0.2.1'", "192.0.2.1")]),
    ("geometry", "point", [("ST_PointFromText('POINT(1 2)', 4326)", POINT)]),
    ("vector", "vector(2)", [("vec_fromtext('[1,2.5]')", struct.pack("<2f", 1, 2.5))]),
]  # fmt: skip
FOREIGN = {"point": "geometry", **{name: name for name in ("enum", "set", "inet6", "inet4", "vector")}}
#: What MySQL writes or stores in another way, by the column's declaration. With this reference system, its text gives
#: the latitude first; what it stores gives the longitude first.
IN_MYSQL: dict[str, list[tuple[str, Any]]] = {
    "json": [("""'{"a":  1}'""", '{"a": 1}')],
    "point": [("ST_PointFromText('POINT(2 1)', 4326)", POINT)],
    "vector(2)": [("string_to_vector('[1,2.5]')", struct.pack("<2f", 1, 2.5))],
}


def values_of(declared: str, values: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The literals, and what arrives, on this server."""
    return IN_MYSQL.get(declared, values) if mariadb.is_mysql() else values


def lacks(maria: mariadb.Server, declared: str) -> bool:
    """Whether this server has no such type: MySQL has none for addresses and UUIDs, MariaDB before 11.7 no vectors."""
    if mariadb.is_mysql():
        return declared in ("uuid", "inet4", "inet6")
    version = maria.run("select version()").split(".")
    return declared.startswith("vector") and (int(version[0]), int(version[1])) < (11, 7)


@pytest.fixture(scope="module")
def tables(maria: mariadb.Server) -> Iterator[None]:
    """A table a type, its values in their order and NULL at last."""
    statements = []
    for number, (_, declared, everywhere) in enumerate(TYPES):
        if lacks(maria, declared):
            continue
        values = values_of(declared, everywhere)
        null = declared.removesuffix(" null")
        statements.append(f"create table type_{number} (i int, v {null} null)")
        rows = [f"({row}, {literal})" for row, (literal, _) in enumerate(values)]
        statements.append(f"insert into type_{number} values {', '.join(rows)}, ({len(values)}, null)")
    maria.run(";\n".join(statements), "--default-character-set=utf8mb4", mariadb.DATABASE)
    yield
    maria.run(";".join(f"drop table if exists type_{number}" for number in range(len(TYPES))), mariadb.DATABASE)


def expected_type(row_name: str, declared: str) -> str:
    row = next(row for row in of("MySQL") if row.database == row_name)
    numbers = dict(zip("ps", re.findall(r"\d+", declared), strict=False)) if declared.startswith("decimal") else {}
    return re.sub(r"\b[ps]\b", lambda letter: numbers.get(letter[0], letter[0]), row.arrow)


@pytest.mark.parametrize("number", range(len(TYPES)), ids=[declared for _, declared, _ in TYPES])
def test_each_type_arrives_as_the_table_says(
    maria: mariadb.Server, mysql: colonnade.Connection, tables: None, number: int
) -> None:
    row_name, declared, everywhere = TYPES[number]
    if lacks(maria, declared):
        pytest.skip(f"this server has no type {declared}")
    values = values_of(declared, everywhere)
    table = mysql.query(f"select v from type_{number} order by i").to_arrow()
    assert str(table.schema.field("v").type) == expected_type(row_name, declared)
    assert table.column("v").to_pylist() == [value for _, value in values] + [None]
    # MariaDB does not tell a vector from other binary strings.
    tells = declared.split("(")[0] in FOREIGN and (mariadb.is_mysql() or "vector" not in declared)
    metadata = table.schema.field("v").metadata
    assert metadata == ({b"colonnade.type": FOREIGN[declared.split("(")[0]].encode()} if tells else None)


def test_every_row_of_the_table_is_tested() -> None:
    others = {"NULL"}
    assert {row.database for row in of("MySQL")} - others == {name for name, _, _ in TYPES}


def test_expressions_have_types_too(mysql: colonnade.Connection) -> None:
    table = mysql.query(
        "select null as n, 1 as i, 1.5 as d, 1e0 as f, 'x' as s, x'00' as b, sum(a) as total, count(*) as c, "
        "current_date as today, cast('10:11:12.5' as time(1)) as t from (select cast(1.25 as decimal(15,2)) as a) x"
    ).to_arrow()
    types = {field.name: str(field.type) for field in table.schema}
    assert types == {
        "n": "null", "i": INTEGER, "d": "decimal128(2, 1)", "f": "double", "s": "string", "b": "binary",
        "total": "decimal128(37, 2)", "c": "int64", "today": "date32[day]", "t": "duration[us]",
    }  # fmt: skip
    row = table.to_pylist()[0]
    assert (row["n"], row["d"], row["total"], row["c"]) == (None, Decimal("1.5"), Decimal("1.25"), 1)
    assert row["t"] == dt.timedelta(hours=10, minutes=11, seconds=12, milliseconds=500)


def test_dates_that_are_none_are_refused_and_have_text(maria: mariadb.Server, mysql: colonnade.Connection) -> None:
    maria.run(
        "set sql_mode = ''; create table zero (i int, d date, t datetime(3)); "
        "insert into zero values (0, '2024-02-29', '2024-02-29 01:02:03.456'), (1, '0000-00-00', '0000-00-00'), "
        "(2, '2024-00-10', '2024-01-00 01:02:03')",
        mariadb.DATABASE,
    )
    for column, value in (("d", "0000-00-00"), ("t", "0000-00-00")):
        with pytest.raises(colonnade.DataError, match=f'column "{column}" of type date.*: {value}') as caught:
            mysql.query(f"select {column} from zero order by i").to_arrow()
        assert caught.value.sqlstate == "22008"
        assert "as_text" in str(caught.value)
    table = mysql.query("select d, t from zero order by i", as_text=["d", "t"]).to_arrow()
    assert table.column("d").to_pylist() == ["2024-02-29", "0000-00-00", "2024-00-10"]
    assert table.column("t").to_pylist() == [
        "2024-02-29 01:02:03.456", "0000-00-00 00:00:00.000", "2024-01-00 01:02:03.000"
    ]  # fmt: skip
    assert table.schema.field("t").metadata == {b"colonnade.type": b"datetime(3)"}
    maria.run("drop table zero", mariadb.DATABASE)


def test_any_exact_column_has_text(mysql: colonnade.Connection) -> None:
    names = ["i", "u", "d", "s", "t"]
    columns = (
        "cast(-5 as signed) i, cast(18446744073709551615 as unsigned) u, 1.50 d, 'x' s, cast('-1:02:03' as time) t"
    )
    table = mysql.query(f"select {columns}", as_text=names).to_arrow()
    assert table.to_pylist() == [{"i": "-5", "u": "18446744073709551615", "d": "1.50", "s": "x", "t": "-01:02:03"}]
    with pytest.raises(colonnade.Error, match='column "f" of type double'):
        mysql.query("select 1e0 as f", as_text=["f"])
    with pytest.raises(colonnade.Error, match="not a column of the result"):
        mysql.query("select 1 as f", as_text=["g"])


def test_timestamps_are_in_utc(maria: mariadb.Server, mysql: colonnade.Connection) -> None:
    maria.run(
        "create table instants (t timestamp); insert into instants values (from_unixtime(86400))", mariadb.DATABASE
    )
    assert mysql.query("select t from instants").to_arrow().column(0).to_pylist() == [
        dt.datetime(1970, 1, 2, tzinfo=UTC)
    ]
    maria.run("drop table instants", mariadb.DATABASE)


@pytest.mark.parametrize("statement", ["set names latin1", "set names utf8mb3", "set character_set_results = utf16"])
def test_text_is_utf8_or_refused(mysql: colonnade.Connection, statement: str) -> None:
    mysql.execute(statement)
    with pytest.raises(colonnade.Error, match="character set is not utf8mb4"):
        mysql.query("select 'x' as s")
    mysql.execute("set names utf8mb4")
    assert mysql.query("select '😀' as s").to_arrow().to_pylist() == [{"s": "😀"}]


@pytest.mark.parametrize(
    "statement",
    [
        "set character_set_results = utf8mb4",
        "set names utf8mb4 collate utf8mb4_general_ci",
        "set names utf8mb4 collate utf8mb4_unicode_ci",
        "set names utf8mb4 collate utf8mb4_bin",
    ],
)
def test_text_in_other_collations_of_utf8(mysql: colonnade.Connection, statement: str) -> None:
    mysql.execute(statement)
    assert mysql.query("select '😀' as s").to_arrow().to_pylist() == [{"s": "😀"}]
    mysql.execute("set names utf8mb4")


def test_the_numbers_of_collations(mysql: colonnade.Connection) -> None:
    """Those that the client accepts belong to utf8mb4 in every server that has them."""
    sql = "select id, character_set_name as name from information_schema.collations where id in (45, 46, 224, 255)"
    found = mysql.query(sql).to_arrow().to_pylist()
    assert {45, 46, 224} <= {row["id"] for row in found}
    assert {row["name"] for row in found} == {"utf8mb4"}


def test_an_empty_result_has_its_types(mysql: colonnade.Connection) -> None:
    table = mysql.query("select 1 as i, 'x' as s from dual where 1 = 0").to_arrow()
    assert (table.num_rows, [str(field.type) for field in table.schema]) == (0, [INTEGER, "string"])
    assert isinstance(table, pa.Table)
