"""MariaDB's ODBC driver against a real server."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import colonnade
import pyarrow as pa
import pytest

from tests.testbed import mariadb


def maria_odbc(server: mariadb.Server, **more: str) -> str:
    parts = {
        "Driver": "{MariaDB Unicode}",
        "Server": "127.0.0.1",
        "Port": str(server.port),
        "Database": mariadb.DATABASE,
        "UID": mariadb.USER,
        "PWD": f"{{{mariadb.PASSWORD}}}",
        **more,
    }
    return "odbc:" + ";".join(f"{key}={value}" for key, value in parts.items())


#: A column's declaration, a value of it, its Arrow type, and what arrives or the text of the refusal.
MARIA: list[tuple[str, str, pa.DataType, Any]] = [
    ("tinyint", "-128", pa.int16(), -128),
    ("tinyint unsigned", "255", pa.int16(), 255),
    ("smallint unsigned", "65535", pa.int32(), 65535),
    ("mediumint unsigned", "16777215", pa.int64(), 16777215),
    ("int unsigned", "4294967295", pa.int64(), 2**32 - 1),
    ("int zerofill", "7", pa.int64(), 7),
    ("bigint", "-9223372036854775808", pa.int64(), -(2**63)),
    ("bigint unsigned", "18446744073709551615", None, "a value that int64 does not hold"),
    ("float", "0.1", pa.float64(), 0.10000000149011612),
    ("double", "1.7976931348623157e308", pa.float64(), 1.7976931348623157e308),
    ("decimal(10,2)", "12.34", pa.decimal128(10, 2), Decimal("12.34")),
    ("decimal(38,10)", "-1.0000000001", pa.decimal128(38, 10), Decimal("-1.0000000001")),
    ("decimal(50,10)", "1.5", pa.utf8(), "1.5000000000"),
    ("bit(1)", "b'1'", pa.bool_(), True),
    ("bit(1)", "b'0'", pa.bool_(), False),
    ("bit(9)", "b'100000001'", pa.binary(), b"\1\1"),
    ("year", "2024", pa.int32(), 2024),
    ("date", "'9999-12-31'", pa.date32(), dt.date(9999, 12, 31)),
    ("datetime(6)", "'9999-12-31 23:59:59.999999'", pa.timestamp("us"), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
    ("timestamp(3)", "'2024-01-01 01:02:03.456'", pa.timestamp("us"), dt.datetime(2024, 1, 1, 1, 2, 3, 456000)),
    ("time(6)", "'12:34:56.789123'", pa.time64("us"), dt.time(12, 34, 56, 789123)),
    ("time", "'-100:00:00'", None, 'column "v", row 1: a value that time32'),
    ("time", "'-01:02:03'", None, 'column "v", row 1: a value that time32'),
    ("time(6)", "'100:30:15.5'", None, 'column "v", row 1: a value that time64'),
    ("time(3)", "'-01:02:03.5'", None, 'column "v", row 1: a value that time32'),
    ("time(3)", "'23:59:59.999'", pa.time32("ms"), dt.time(23, 59, 59, 999000)),
    ("datetime(2)", "'2024-02-29 01:02:03.25'", pa.timestamp("us"), dt.datetime(2024, 2, 29, 1, 2, 3, 250000)),
    ("datetime", "'0001-01-01 00:00:00'", pa.timestamp("us"), dt.datetime(1, 1, 1)),
    ("char(4)", "'a'", pa.utf8(), "a"),
    ("varchar(9)", "'käse 🧀'", pa.utf8(), "käse 🧀"),
    ("text", "repeat('ä', 65535 div 2)", pa.utf8(), "ä" * 32767),
    ("binary(3)", "x'00ff'", pa.binary(), b"\0\xff\0"),
    ("varbinary(3)", "x'00ff'", pa.binary(), b"\0\xff"),
    ("blob", "x'00ff'", pa.binary(), b"\0\xff"),
    ("enum('x', 'y')", "'y'", pa.utf8(), "y"),
    ("json", "'[1, 2]'", pa.utf8(), "[1, 2]"),
    ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", pa.utf8(), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
]


@pytest.mark.parametrize(("declared", "literal", "arrow", "expected"), MARIA, ids=[f"{m[0]} {m[1]}" for m in MARIA])
def test_marias_value_is_exact_or_refused(
    maria: mariadb.Server, declared: str, literal: str, arrow: pa.DataType | None, expected: Any
) -> None:
    with colonnade.connect(maria_odbc(maria)) as connection:
        connection.execute(f"create or replace table odbc_v (k int primary key, v {declared} null)")
        connection.execute(f"insert into odbc_v values (1, {literal}), (2, null), (3, {literal})")
        if arrow is None:
            with pytest.raises(colonnade.DatabaseError, match=expected):
                connection.query("select v from odbc_v order by k").to_arrow()
        else:
            table = connection.query("select v from odbc_v order by k").to_arrow()
            table.validate(full=True)
            assert table.schema.field("v").type == arrow
            assert table.column("v").to_pylist() == [expected, None, expected]
        connection.execute("drop table odbc_v")


#: An expression, and its text in the server.
TEXTS = [
    ("cast('-01:02:03' as time)", "-01:02:03"),
    ("cast('100:30:15.5' as time(6))", "100:30:15.500000"),
    ("cast('-838:59:59.999999' as time(6))", "-838:59:59.999999"),
    ("cast('2024-01-01 01:02:03.25' as datetime(2))", "2024-01-01 01:02:03.25"),
    ("cast('2024-00-00' as datetime(6))", "2024-00-00 00:00:00.000000"),
]


@pytest.mark.parametrize(("expression", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_a_time_that_is_none_is_refused_and_has_its_whole_text(
    maria: mariadb.Server, expression: str, text: str
) -> None:
    sql = f"select if(seq = 2, null, {expression}) as v, x'00' as b from seq_1_to_3"
    with colonnade.connect(maria_odbc(maria)) as connection:
        connection.execute("set sql_mode = ''")
        if expression.endswith("datetime(2))"):
            (first, *_) = connection.query(sql).to_arrow()["v"].to_pylist()
            assert first == dt.datetime(2024, 1, 1, 1, 2, 3, 250000)
        else:
            with pytest.raises(colonnade.DatabaseError, match=r"column \"v\", row 1: a value.*as_text=\['v'\]"):
                connection.query(sql).to_arrow()
        table = connection.query(sql, as_text=["v"]).to_arrow()
        assert table["v"].to_pylist() == [text, None, text]
        assert table["b"].to_pylist() == [b"\0"] * 3


def test_marias_procedure_returns_one_result(maria: mariadb.Server) -> None:
    conn = maria_odbc(maria)
    with colonnade.connect(conn) as connection:
        for name, body in (("odbc_one", "select 1 as a"), ("odbc_two", "select 1 as a; select 2 as b")):
            connection.execute(f"create or replace procedure {name}() begin {body}; end")
        # Its driver has another result for the end of a procedure, without columns.
        assert colonnade.read_sql(conn, "call odbc_one()", return_type="arrow").to_pylist() == [{"a": 1}]
        with pytest.raises(colonnade.NotSupportedError, match="more than one result"):
            colonnade.read_sql(conn, "call odbc_two()")
        for name in ("odbc_one", "odbc_two"):
            connection.execute(f"drop procedure {name}")


def test_marias_destinations_and_parameters(maria: mariadb.Server) -> None:
    conn = maria_odbc(maria)
    query = "select seq as i, cast(seq as char) as t from seq_1_to_100000"
    table = colonnade.read_sql(conn, query, return_type="arrow")
    assert table.column("i").to_pylist() == list(range(1, 100_001))
    assert table.column("t").to_pylist()[-1] == "100000"
    with colonnade.connect(conn) as connection:
        assert connection.server == "ODBC MariaDB Unicode"
        assert connection.query("select seq as i from seq_1_to_9 where seq = ?", ["5"]).to_arrow().to_pylist() == [
            {"i": 5}
        ]
        batches = iter(connection.query("select seq as i from seq_1_to_200000", chunk_rows=1000))
        assert next(batches).num_rows == 1000
        del batches
        for sql, kind, state in [
            # Its driver prepares what it does not know, and says that it gives no rows.
            ("selec", colonnade.NotSupportedError, "0A000"),
            ("select from", colonnade.ProgrammingError, "42000"),
            ("select * from nowhere", colonnade.ProgrammingError, "42S02"),
            ("select (select 1 union select 2)", colonnade.DatabaseError, "21000"),
        ]:
            with pytest.raises(kind) as caught:
                connection.query(sql).to_arrow()
            assert caught.value.sqlstate == state
        with pytest.raises(colonnade.DatabaseError, match="without truncation"):
            connection.query("select repeat('x', 3000000) as v").to_arrow()
    with pytest.raises(colonnade.OperationalError) as refused:
        colonnade.connect(maria_odbc(maria, PWD="{hunter2;!}"))
    assert refused.value.sqlstate == "28000"
    assert "hunter2" not in str(refused.value)
