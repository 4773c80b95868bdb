"""Types: as literals, from a table, in a schema without a run, in a table's schema, and bound (`queries/type/`)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from adbc_driver_manager import dbapi

from tests.adbc.databases import Database

#: MariaDB's names of types that differ.
MARIADB = {
    "bytea": "varbinary(100)",
    "real": "float",
    "double precision": "double",
    "timestamp": "datetime(6)",
    "timestamptz": "timestamp(6) null",
    "time": "time(6)",
    **{f"timestamp({digits})": f"datetime({digits})" for digits in range(7)},
}
UTC = dt.UTC
MOMENTS = [dt.datetime(2023, 5, 15, 13, 45, 30), dt.datetime(2000, 1, 1), dt.datetime(1969, 7, 20, 20, 17, 40)]
PRECISE = dt.datetime(2023, 5, 15, 13, 45, 30, 123456)
DECIMALS = [Decimal("123.45"), Decimal("0.00"), Decimal("-99999999.99")]


@dataclass(frozen=True)
class Type:
    """Values of a type of SQL, and what arrives. A text is the literal that the databases have for it."""

    sql: str
    values: list[Any]
    arrow: pa.DataType
    literals: list[str]


def quoted(values: list[Any], zone: str = "") -> list[str]:
    return [f"'{value}{zone}'" for value in values]


def fraction(digits: int) -> Type:
    value = PRECISE.replace(microsecond=int("123456"[:digits].ljust(6, "0")))
    return Type(f"timestamp({digits})", [value], pa.timestamp("us"), quoted([value]))


def plain(sql: str, values: list[Any], arrow: pa.DataType) -> Type:
    return Type(sql, values, arrow, [str(value) for value in values])


TEXTS = ["hello", "", "Special: äöü ß 中文 🎉", "it's"]
DATES = [dt.date(2023, 5, 15), dt.date(1000, 1, 1), dt.date(9999, 12, 31)]
TIMES = [dt.time(13, 45, 31), dt.time(), dt.time(23, 59, 59, 999999)]
ZONED = [value.replace(tzinfo=UTC) for value in MOMENTS]
TYPES = {
    "binary": Type("bytea", [b"\x12\x34", b"", b"\xff\0"], pa.binary(), [r"'\x1234'", r"'\x'", r"'\xff00'"]),
    "boolean": plain("boolean", [True, False], pa.bool_()),
    "date": Type("date", DATES, pa.date32(), quoted(DATES)),
    "decimal": plain("numeric(10, 2)", DECIMALS, pa.decimal128(10, 2)),
    "float32": plain("real", [3.25, -0.5, 0.0], pa.float32()),
    "float64": plain("double precision", [3.141592653589793, 1e300, 0.0], pa.float64()),
    "int16": plain("smallint", [42, -32768, 32767], pa.int16()),
    "int32": plain("int", [42, -(2**31), 2**31 - 1], pa.int32()),
    "int64": plain("bigint", [42, -(2**63), 2**63 - 1], pa.int64()),
    "string": Type("text", TEXTS, pa.utf8(), quoted([text.replace("'", "''") for text in TEXTS])),
    "time": Type("time", TIMES, pa.time64("us"), quoted(TIMES)),
    "timestamp": Type("timestamp", [*MOMENTS, PRECISE], pa.timestamp("us"), quoted([*MOMENTS, PRECISE])),
    "timestamptz": Type("timestamptz", ZONED, pa.timestamp("us", "UTC"), quoted(MOMENTS, "+00")),
    **{f"timestamp{digits}": fraction(digits) for digits in range(7)},
}
SERVERS = ["postgresql", "extension", "served", "mariadb_server"]
#: Types for which a database has no such values: MariaDB and DuckDB write bytes in another form; MariaDB's boolean is a
#: number, its time is a duration, and its literals have no zone; DuckDB has other types for fewer digits.
OTHER = {
    "served": {"binary", "timestamp0", "timestamp1", "timestamp2", "timestamp3"},
    "mariadb_server": {"binary", "boolean", "time", "timestamptz"},
}
CASES = [(server, name) for server in SERVERS for name in TYPES if name not in OTHER.get(server, ())]


@dataclass(frozen=True)
class Server:
    """A database by the name of its fixture, and a connection to it."""

    name: str
    connection: dbapi.Connection

    def type(self, sql: str) -> str:
        return MARIADB.get(sql, sql) if self.name == "mariadb_server" else sql

    def run(self, sql: str, rows: pa.Table | None = None) -> pa.Table:
        with self.connection.cursor() as cursor:
            return cursor.execute(sql, rows).fetch_arrow_table()


@pytest.fixture(scope="module")
def servers(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Server]]:
    """Opens each database once, with a table of each type: its values in order, and NULL."""
    with ExitStack() as opened:

        @cache
        def open_server(fixture: str) -> Server:
            database: Database = request.getfixturevalue(fixture)
            server = Server(fixture, opened.enter_context(database.connect()))
            for name in (name for other, name in CASES if other == fixture):
                case = TYPES[name]
                server.run(f"create table adbc_case_{name} (idx int, res {server.type(case.sql)})")
                opened.callback(server.run, f"drop table adbc_case_{name}")
                rows = ", ".join(f"({idx}, {literal})" for idx, literal in enumerate([*case.literals, "null"]))
                server.run(f"insert into adbc_case_{name} values {rows}")
            return server

        yield open_server


@pytest.fixture
def tested(request: pytest.FixtureRequest, servers: Callable[[str], Server]) -> Server:
    return servers(request.param)


@pytest.mark.parametrize(("tested", "name"), CASES, indirect=["tested"])
def test_select(tested: Server, name: str) -> None:
    found = tested.run(f"select res from adbc_case_{name} order by idx")
    found.validate(full=True)
    assert found.schema.types == [TYPES[name].arrow]
    assert found["res"].to_pylist() == [*TYPES[name].values, None]


@pytest.mark.parametrize(("tested", "name"), CASES, indirect=["tested"])
def test_select_execute_schema(tested: Server, name: str) -> None:
    sql = f"select res from adbc_case_{name} order by idx"
    with tested.connection.cursor() as cursor:
        schema = cursor.adbc_execute_schema(sql)
    assert schema.types == [TYPES[name].arrow]
    assert tested.run(sql).schema.equals(schema, check_metadata=True)


@pytest.mark.parametrize(("tested", "name"), CASES, indirect=["tested"])
def test_select_get_table_schema(tested: Server, name: str) -> None:
    assert tested.connection.adbc_get_table_schema(f"adbc_case_{name}").field("res").type == TYPES[name].arrow


#: MariaDB casts to types of other names.
CASTS = [case for case in CASES if case[0] != "mariadb_server"]


@pytest.mark.parametrize(("tested", "name"), CASTS, indirect=["tested"])
def test_literal(tested: Server, name: str) -> None:
    case = TYPES[name]
    for literal, value in zip(case.literals, case.values, strict=True):
        found = tested.run(f"select cast({literal} as {case.sql}) as res")
        assert found.schema.types == [case.arrow]
        assert found["res"].to_pylist() == [value]


#: The bound array, the type of the column, and what arrives if it is not the same.
BOUND: dict[str, tuple[pa.Array, str, list[Any]]] = {
    "binary": (pa.array([b"\0\xff", b"", None]), "bytea", [b"\0\xff", b"", None]),
    "binary_view": (pa.array([b"\0\xff", None], pa.binary_view()), "bytea", [b"\0\xff", None]),
    "boolean": (pa.array([True, False, None]), "boolean", [True, False, None]),
    "date": (pa.array([dt.date(1969, 12, 31), None]), "date", [dt.date(1969, 12, 31), None]),
    "decimal": (pa.array([*DECIMALS, None], pa.decimal128(10, 2)), "numeric(10, 2)", [*DECIMALS, None]),
    "dictionary_encoded": (pa.array(["a", "b", None, "a"]).dictionary_encode(), "text", ["a", "b", None, "a"]),
    "fixed_size_binary": (pa.array([b"abc", None], pa.binary(3)), "bytea", [b"abc", None]),
    "float16": (pa.array([1.5, None], pa.float16()), "real", [1.5, None]),
    "float32": (pa.array([3.25, None], pa.float32()), "real", [3.25, None]),
    "float64": (pa.array([0.1, None]), "double precision", [0.1, None]),
    "int16": (pa.array([-32768, 32767, None], pa.int16()), "smallint", [-32768, 32767, None]),
    "int32": (pa.array([-(2**31), 2**31 - 1, None], pa.int32()), "int", [-(2**31), 2**31 - 1, None]),
    "int64": (pa.array([-(2**63), 2**63 - 1, None]), "bigint", [-(2**63), 2**63 - 1, None]),
    "large_binary": (pa.array([b"\0\xff", None], pa.large_binary()), "bytea", [b"\0\xff", None]),
    "large_string": (pa.array(["ß 🎉", None], pa.large_utf8()), "text", ["ß 🎉", None]),
    "string": (pa.array(["ß 🎉", "", None]), "text", ["ß 🎉", "", None]),
    "string_view": (pa.array(["ß 🎉", None], pa.string_view()), "text", ["ß 🎉", None]),
    **{
        f"time_{kind.unit}": (pa.array([dt.time(1, 2, 3), None], kind), "time", [dt.time(1, 2, 3), None])
        for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))
    },
    **{
        f"timestamp_{unit}": (pa.array([MOMENTS[2], None], pa.timestamp(unit)), "timestamp", [MOMENTS[2], None])
        for unit in ("s", "ms", "us", "ns")
    },
    **{
        f"timestamptz_{unit}": (
            pa.array([MOMENTS[0].replace(tzinfo=UTC), None], pa.timestamp(unit, "UTC")),
            "timestamptz",
            [MOMENTS[0].replace(tzinfo=UTC), None],
        )
        for unit in ("s", "ms", "us", "ns")
    },
}  # fmt: skip


def bound(server: Server, array: pa.Array, sql: str) -> list[Any]:
    server.run(f"create table adbc_bound (idx int, res {server.type(sql)})")
    try:
        rows = pa.table({"idx": list(range(len(array))), "res": array})
        server.run("insert into adbc_bound values ($1, $2)", rows)
        return server.run("select res from adbc_bound order by idx")["res"].to_pylist()
    finally:
        server.run("drop table adbc_bound")


@pytest.mark.parametrize("tested", SERVERS, indirect=True)
@pytest.mark.parametrize("kind", BOUND)
def test_bind(tested: Server, kind: str) -> None:
    array, sql, expected = BOUND[kind]
    if tested.name == "mariadb_server" and sql == "time":
        expected = [dt.timedelta(hours=1, minutes=2, seconds=3), None]
    assert bound(tested, array, sql) == expected


#: pyarrow makes no dictionaries of these.
PLAIN_ONLY = {"binary_view", "dictionary_encoded", "float16", "string_view"}


@pytest.mark.parametrize("tested", SERVERS, indirect=True)
@pytest.mark.parametrize("kind", [kind for kind in BOUND if kind not in PLAIN_ONLY])
def test_bind_dictionary(tested: Server, kind: str) -> None:
    """A dictionary is bound like its values."""
    array, sql, _ = BOUND[kind]
    assert bound(tested, array.dictionary_encode(), sql) == bound(tested, array, sql)
