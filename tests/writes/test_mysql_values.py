"""What a column of MySQL's accepts, and where an error of a value was."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import colonnade
import pyarrow as pa
import pytest

from tests.writes.mysql_tables import DAY, append
from tests.writes.places import Place

MICROSECOND = datetime.datetime(2024, 1, 1, 0, 0, 0, 1)

#: A column, a value that it holds, and one that it would change.
EXISTING: list[tuple[str, pa.DataType, Any, Any]] = [
    ("tinyint", pa.int64(), -128, 128),
    ("tinyint unsigned", pa.int64(), 255, -1),
    ("tinyint(1)", pa.int64(), 7, 200),
    ("mediumint", pa.int32(), -8388608, 8388608),
    ("int(5) unsigned zerofill", pa.int64(), 4294967295, 4294967296),
    ("bigint", pa.uint64(), 2**63 - 1, 2**63),
    ("bigint unsigned", pa.int64(), 2**63 - 1, -1),
    ("bit(3)", pa.int64(), 7, 8),
    ("bit(64)", pa.uint64(), 2**64 - 1, None),
    ("bit(16)", pa.uint16(), 0x0A5C, None),
    ("year", pa.int64(), 2155, 2156),
    ("year", pa.int64(), 0, 70),
    ("float", pa.float64(), 0.5, 0.1),
    ("float", pa.int32(), 2**24, 2**24 + 1),
    ("double", pa.int64(), 2**53, 2**53 + 1),
    ("double", pa.float64(), 5e-324, float("inf")),
    ("double unsigned", pa.float64(), 0.1, -0.1),
    ("decimal(5,2)", pa.decimal128(10, 3), Decimal("123.450"), Decimal("123.456")),
    ("decimal(5,2)", pa.decimal128(10, 2), Decimal("-999.99"), Decimal("1000.00")),
    ("decimal(5,2) unsigned", pa.decimal128(10, 2), Decimal("0.01"), Decimal("-0.01")),
    ("decimal(5,2)", pa.int32(), 999, 1000),
    ("decimal(65,30)", pa.decimal256(65, 30), Decimal("9" * 35 + "." + "9" * 30), None),
    ("varchar(3)", pa.string(), "äö ", "abcd"),
    ("char(3)", pa.string(), "äö", "ab "),
    ("tinytext", pa.string(), "x" * 255, "ä" * 128),
    ("varchar(3) character set latin1", pa.string(), "ä€", "漢"),
    ("varchar(3) character set utf8mb3", pa.string(), "漢", "😀"),
    ("text character set utf16", pa.string(), "😀\\\t\n", None),
    ("enum('a','b c','1')", pa.string(), "1", "A"),
    ("enum('a','it''s')", pa.string(), "it's", "2"),
    ("set('x','y','z')", pa.string(), "x,z", "z,x"),
    ("binary(2)", pa.binary(), b"\0\\", b"x"),
    ("varbinary(2)", pa.binary(), b"\t\n", b"abc"),
    ("tinyblob", pa.binary(), bytes(range(255)), bytes(256)),
    ("uuid", pa.string(), "123e4567-e89b-12d3-a456-426614174000", "123E4567-e89b-12d3-a456-426614174000"),
    ("date", pa.date32(), datetime.date(9999, 12, 31), None),
    ("datetime", pa.timestamp("us"), DAY, MICROSECOND),
    ("datetime(6)", pa.timestamp("ns"), MICROSECOND, None),
    ("time(3)", pa.duration("us"), datetime.timedelta(hours=-838), datetime.timedelta(hours=839)),
    ("time", pa.duration("ms"), datetime.timedelta(seconds=1), datetime.timedelta(milliseconds=1)),
    ("timestamp(3)", pa.timestamp("us", "UTC"), DAY, MICROSECOND),
]


@pytest.mark.parametrize(("declared", "kind", "right", "wrong"), EXISTING, ids=lambda value: str(value)[:30])
def test_a_column_accepts_what_it_keeps(
    either_mariadb: Place, declared: str, kind: pa.DataType, right: Any, wrong: Any
) -> None:
    null = " null" if declared.startswith("timestamp") else ""
    either_mariadb.execute(f"create table t (a {declared}{null})")
    if wrong is not None:
        with pytest.raises(colonnade.DatabaseError) as caught:
            append(pa.table({"a": pa.array([right, wrong], kind)}), either_mariadb.uri)
        assert caught.value.sqlstate is not None and caught.value.sqlstate.startswith("22")
        # Only the server knows what another character set lacks; LOAD DATA says then where it is.
        assert "row 2" in str(caught.value)
        assert either_mariadb.rows() == []
    append(pa.table({"a": pa.array([right, None], kind)}), either_mariadb.uri)
    [first, second] = [row["a"] for row in either_mariadb.rows()]
    if declared.startswith("timestamp"):
        right = right.replace(tzinfo=datetime.UTC)
    assert (first, second) == (right, None)


@pytest.mark.parametrize(
    ("declared", "column"),
    [
        ("int", pa.array([1.0])),
        ("decimal(5,2)", pa.array([0.1])),
        ("text", pa.array([1])),
        ("text", pa.array([b"x"])),
        ("blob", pa.array(["x"])),
        ("float(7,2)", pa.array([0.5])),
        ("datetime", pa.array([DAY], pa.timestamp("us", "UTC"))),
        ("timestamp null", pa.array([DAY])),
        ("datetime", pa.array([datetime.date(2024, 1, 1)])),
        ("bit(1)", pa.array([1])),
        ("int", pa.array([True])),
        ("inet6", pa.array(["::1"])),
        ("point", pa.array([b""])),
        ("varchar(3) character set sjis", pa.array(["a"])),
        ("enum('a','b\\\\c')", pa.array(["a"])),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_column_refuses_other_types(in_mariadb: Place, declared: str, column: pa.Array) -> None:
    in_mariadb.execute(f"create table t (a {declared})")
    with pytest.raises(colonnade.NotSupportedError, match='column "a": the table\'s column of type') as caught:
        append(pa.table({"a": column}), in_mariadb.uri)
    assert caught.value.sqlstate == "0A000"


def test_a_refused_character_set_is_named(in_mariadb: Place) -> None:
    in_mariadb.execute("create table t (a varchar(3) character set sjis, b text character set sjis)")
    with pytest.raises(colonnade.NotSupportedError, match="with the collation sjis_japanese_ci") as caught:
        append(pa.table({"a": ["a"]}), in_mariadb.uri)
    assert caught.value.hint is not None and "CONVERT TO CHARACTER SET utf8mb4" in caught.value.hint
    # Another character set would not help.
    with pytest.raises(colonnade.NotSupportedError) as other:
        append(pa.table({"b": [1]}), in_mariadb.uri)
    assert "collation" not in str(other.value)


def test_booleans_go_into_a_tinyint(either_mariadb: Place) -> None:
    either_mariadb.execute("create table t (a boolean)")
    append(pa.table({"a": [True, False, None]}), either_mariadb.uri)
    assert [row["a"] for row in either_mariadb.rows()] == [1, 0, None]


def test_zero_is_no_request_for_a_number_and_null_is_refused(either_mariadb: Place) -> None:
    either_mariadb.execute(
        "create table t (a bigint primary key auto_increment, b timestamp not null default current_timestamp)"
    )
    append(pa.table({"a": [0, -1]}), either_mariadb.uri)
    assert sorted(row["a"] for row in either_mariadb.rows()) == [-1, 0]
    for column in ("a", "b"):
        kind = pa.int64() if column == "a" else pa.timestamp("us", "UTC")
        with pytest.raises(colonnade.IntegrityError, match=f'column "{column}", row 1: NULL') as caught:
            append(pa.table({column: pa.array([None], kind)}), either_mariadb.uri)
        assert caught.value.sqlstate == "23502" and len(either_mariadb.rows()) == 2


def test_large_values(either_mariadb: Place) -> None:
    table = pa.table({"a": [1, 2], "t": ["ä" * 5_000_000, "x"], "b": [b"\0\\\t\n" * 1_000_000, b""]})
    colonnade.write_sql(table, either_mariadb.uri, "t")
    assert either_mariadb.table().sort_by("a").equals(table)


def test_a_row_above_max_allowed_packet_is_refused(mariadb_insert_place: Place) -> None:
    table = pa.table({"b": ["x", "x" * (65 << 20)]})
    with pytest.raises(colonnade.DatabaseError, match="max_allowed_packet") as caught:
        colonnade.write_sql(table, mariadb_insert_place.uri, "large")
    assert caught.value.sqlstate == "54000" and not mariadb_insert_place.exists("large")


def test_the_server_says_where_a_value_was_refused(either_mariadb: Place) -> None:
    either_mariadb.execute("create table t (a int check (a < 300000), j json)")
    with pytest.raises(colonnade.IntegrityError) as caught:
        append(pa.table({"a": range(300_001)}), either_mariadb.uri)
    assert caught.value.sqlstate == "23000" and "row 300001" in str(caught.value)
    with pytest.raises(colonnade.DatabaseError) as caught:
        append(pa.table({"j": ["1", "{"]}), either_mariadb.uri)
    # INSERT reports the constraint, LOAD DATA the text.
    assert caught.value.sqlstate in ("22000", "23000")
    assert "row 2" in str(caught.value) and either_mariadb.rows() == []


def test_the_row_of_a_duplicate_is_named(either_mariadb: Place) -> None:
    either_mariadb.execute("create table t (a int primary key, b varchar(100))")
    many = pa.table({"a": range(1_200_000), "b": ["x" * 60] * 1_200_000})
    with pytest.raises(colonnade.IntegrityError, match="Duplicate entry '7'") as caught:
        # More than one file of LOAD DATA.
        append(pa.concat_tables([many, pa.table({"a": [7], "b": ["y"]}, many.schema)]), either_mariadb.uri)
    assert caught.value.sqlstate == "23000" and "row 1200001" in str(caught.value) and either_mariadb.rows() == []
