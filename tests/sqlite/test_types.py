"""spec/TYPES.md's rows for SQLite: declared types with every kind of value, and expressions, which declare nothing."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import colonnade
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.sqlite_files import fetched, make
from tests.support.types_table import of

UTC = UTC
TIMESTAMP = pa.timestamp("us")

#: A declaration, its Arrow type, and literals with what arrives, or the SQLSTATE that refuses them.
CASES: list[tuple[str, pa.DataType, list[tuple[str, Any]]]] = [
    (
        "INTEGER",
        pa.int64(),
        [
            ("-9223372036854775808", -(2**63)),
            ("'12'", 12),
            ("2.0", 2),
            ("1.5", "22005"),
            ("'x'", "22005"),
            ("x'31'", "22005"),
            ("9223372036854775808", "22005"),
        ],
    ),
    ("TINYINT(1)", pa.int64(), [("300", 300), ("NULL", None)]),
    ("REAL", pa.float64(), [("1", 1.0), ("0.1", 0.1), ("-9e999", -math.inf), ("'x'", "22005"), ("x'00'", "22005")]),
    ("DOUBLE PRECISION", pa.float64(), [("9007199254740993", 9007199254740992.0)]),
    (
        "TEXT",
        pa.utf8(),
        [
            ("'käse 🧀'", "käse 🧀"),
            ("''", ""),
            ("5", "5"),
            ("'a' || char(0) || 'b'", "a\0b"),
            ("x'61'", "22005"),
            ("cast(x'ff' as text)", "22021"),
        ],
    ),
    ("VARCHAR(2)", pa.utf8(), [("'longer'", "longer")]),
    ("BLOB", pa.binary(), [("x''", b""), ("x'00ff'", b"\0\xff"), ("'x'", "22005"), ("1", "22005"), ("0.5", "22005")]),
    ("VARBINARY(4)", pa.binary(), [("x'00'", b"\0"), ("'x'", "22005"), ("'1'", "22005")]),
    ("BOOLEAN", pa.bool_(), [("true", True), ("0", False), ("2", "22003"), ("'t'", "22005"), ("0.5", "22005")]),
    (
        "DECIMAL(10,2)",
        pa.decimal128(10, 2),
        [
            ("12.34", Decimal("12.34")),
            ("'-0.01'", Decimal("-0.01")),
            ("7", Decimal("7.00")),
            ("99999999.99", Decimal("99999999.99")),
            ("0.1 + 0.2", "22003"),
            ("1.005", "22003"),
            ("100000000", "22003"),
            ("9e999", "22003"),
            ("'x'", "22005"),
        ],
    ),
    ("NUMERIC(38, 10)", pa.decimal128(38, 10), [("9223372036854775807", Decimal(2**63 - 1)), ("1e5", Decimal(100000))]),
    ("DECIMAL(5)", pa.decimal128(5, 0), [("99999", Decimal(99999)), ("0.5", "22003")]),
    (
        "NUMERIC",
        pa.float64(),
        [("1", 1.0), ("0.5", 0.5), ("9007199254740992", 2.0**53), ("9007199254740993", "22003"), ("'x'", "22005")],
    ),
    (
        "DATE",
        pa.date32(),
        [
            ("'0000-01-01'", -719528),
            ("'9999-12-31'", 2932896),
            ("'1970-03-01'", 59),
            ("'2023-02-29'", "22008"),
            ("'2024-01-01 00:00:00'", "22008"),
            ("''", "22008"),
            ("20240101", "22005"),
            ("2460000.5", "22005"),
        ],
    ),
    (
        "TIME",
        pa.time64("us"),
        [("'23:59:59.999999'", time(23, 59, 59, 999999)), ("'12:34'", time(12, 34)), ("'24:00:00'", "22008")],
    ),
    (
        "DATETIME",
        TIMESTAMP,
        [
            ("'2024-01-02 03:04:05.678'", datetime(2024, 1, 2, 3, 4, 5, 678000)),
            ("'0001-01-01T00:00:00'", datetime(1, 1, 1)),
            ("'2024-01-02'", datetime(2024, 1, 2)),
            ("'2024-01-02 03:04:05.1234567'", "22008"),
            ("'2024-01-02 03:04:05Z'", "22008"),
            ("'2024-01-02 03:04:05+01:00'", "22008"),
            ("1704164645", "22005"),
            ("2460311.5", "22005"),
        ],
    ),
    (
        "TIMESTAMP WITH TIME ZONE",
        pa.timestamp("us", "UTC"),
        [
            ("'2024-01-02 03:04:05+01:30'", datetime(2024, 1, 2, 1, 34, 5, tzinfo=UTC)),
            ("'2024-01-02T03:04:05Z'", datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
            ("'2024-01-02 03:04:05'", "22008"),
        ],
    ),
    ("UUID", pa.utf8(), [("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")]),
    ("JSON", pa.utf8(), [("""'{"a":  1}'""", '{"a":  1}'), ("'42'", "22005")]),
    # Nothing that SQLite or this table knows: the values decide.
    ("STRING", pa.int64(), [("'42'", 42)]),
    ("STRING", pa.utf8(), [("'x'", "x")]),
    ("", pa.utf8(), [("'42'", "42")]),
    ("", pa.binary(), [("x'42'", b"B")]),
    ("", pa.null(), [("NULL", None)]),
]  # fmt: skip


def read(uri: str, sql: str, **options: Any) -> pa.Table:
    with colonnade.connect(uri) as connection:
        table = connection.query(sql, **options).to_arrow()
        table.validate(full=True)
        return table


def python(column: pa.ChunkedArray) -> list[Any]:
    """Dates as days: Python's begin with the year 1."""
    return column.cast(pa.int32()).to_pylist() if column.type == pa.date32() else column.to_pylist()


@pytest.mark.parametrize(
    ("declaration", "arrow", "values"), CASES, ids=lambda case: case if isinstance(case, str) else ""
)
def test_each_value_is_exact_or_refused(
    tmp_path: Path, declaration: str, arrow: pa.DataType, values: list[tuple[str, Any]]
) -> None:
    uri = make(tmp_path / "a.db", f"create table t (k integer primary key, v {declaration})")
    for literal, expected in values:
        make(tmp_path / "a.db", f"delete from t; insert into t values (1, NULL), (2, {literal}), (3, {literal})")
        if isinstance(expected, str) and len(expected) == 5 and expected.startswith("22"):
            with pytest.raises(colonnade.DataError, match='column "v", row 2: ') as caught:
                read(uri, "select * from t")
            assert caught.value.sqlstate == expected, literal
            assert caught.value.hint and "CAST(" in caught.value.hint
        else:
            table = read(uri, "select * from t")
            assert table.schema.field("v").type == arrow
            assert python(table.column("v")) == [None, expected, expected], literal


def test_the_table_has_the_tested_types() -> None:
    arrow = {row.database: row.arrow for row in of("SQLite")}
    for declaration, expected, values in CASES:
        if declaration in arrow and values[0][1] is not None:
            assert arrow[declaration] == str(expected).replace("10, 2", "p, s"), declaration
    assert {"BOOLEAN", "DATE", "TIME"} <= set(arrow)


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("1", "1"),
        ("0.1", "0.1"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("1e300", "1e300"),
        ("'x'", "x"),
        ("x'00ff'", "X'00FF'"),
        ("NULL", None),
    ],
)
def test_every_value_can_arrive_as_text(tmp_path: Path, literal: str, text: str | None) -> None:
    uri = make(tmp_path / "a.db", f"create table t (v DATE, w); insert into t values ({literal}, {literal})")
    table = read(uri, "select *, v as v from t", as_text=["v", "w"])
    assert table.schema.types == [pa.utf8()] * 3
    assert table.schema.field(0).metadata == {b"colonnade.type": b"DATE"}
    assert table.column(0).to_pylist() == [text]
    with pytest.raises(colonnade.InterfaceError, match='"x", which the result does not have'):
        read(uri, "select v from t", as_text=["x"])


# --- expressions ------------------------------------------------------------------------------------------------------


def test_an_expression_goes_by_its_values(tmp_path: Path) -> None:
    uri = make(tmp_path / "a.db", "create table t (a INTEGER); insert into t values (1), (2), (NULL)")
    sql = (
        "select a + 1 as i, a * 1.5 as r, a || '' as t, cast(a as blob) as b, iif(a = 1, 1, 0.5) as m, NULL as n from t"
    )
    table = read(uri, sql)
    assert table.schema.types == [pa.int64(), pa.float64(), pa.utf8(), pa.binary(), pa.float64(), pa.null()]
    assert table.column("m").to_pylist() == [1.0, 0.5, 0.5]
    assert table.column("i").to_pylist() == [2, 3, None]


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("select 1 as v union all select 'x'", "row 2: a TEXT value in a column whose first values made it INTEGER"),
        ("select 'x' as v union all select 1", "row 2: an INTEGER value in a column whose first values made it TEXT"),
        ("select x'00' as v union all select 'x'", "row 2: a TEXT value in a column whose first values made it BLOB"),
        ("select 9007199254740993 as v union all select 0.5", "row 2: a REAL after an INTEGER beyond 2\\^53"),
        ("select 0.5 as v union all select 9007199254740993", "row 2: an INTEGER beyond 2\\^53"),
    ],
)
def test_values_of_several_kinds_are_refused(tmp_path: Path, sql: str, what: str) -> None:
    uri = make(tmp_path / "a.db", "")
    with pytest.raises(colonnade.DataError, match=what):
        read(uri, sql)
    assert read(uri, sql, as_text=["v"]).num_rows == 2


SERIES = "with recursive s(i) as (select 1 union all select i + 1 from s where i < {rows}) select {what} as v, i from s"


def test_nulls_first(tmp_path: Path) -> None:
    """A million rows may pass before a value says what the column is; the batches until then wait for it."""
    uri = make(tmp_path / "a.db", "")
    table = read(uri, SERIES.format(rows=200_000, what="iif(i = 150000, 'x', NULL)"))
    assert table.schema.field("v").type == pa.utf8()
    assert table.column("v").null_count == 199_999
    assert table.column("v")[149_999].as_py() == "x"
    assert table.column("i").to_pylist() == list(range(1, 200_001))


def test_a_kind_is_not_changed_once_it_was_said(tmp_path: Path) -> None:
    uri = make(tmp_path / "a.db", "")
    with pytest.raises(colonnade.DataError, match='column "v", row 70000: a REAL value in a column whose first values'):
        read(uri, SERIES.format(rows=80_000, what="iif(i = 70000, 0.5, 1)"))
    with pytest.raises(
        colonnade.DataError, match='column "v", row 1050000: a TEXT value in a column whose first values'
    ):
        read(uri, SERIES.format(rows=1_050_000, what="iif(i = 1050000, 'x', NULL)"))


def test_a_batch_size_does_not_change_the_types(tmp_path: Path) -> None:
    uri = make(tmp_path / "a.db", "")
    sql = SERIES.format(rows=100, what="iif(i = 50, 0.5, 1)")
    with colonnade.connect(uri) as connection:
        result = connection.query(sql, chunk_rows=7)
        batches = list(result)
    assert {batch.schema.field("v").type for batch in batches} == {pa.float64()}
    assert [batch.num_rows for batch in batches] == [7] * 14 + [2]


# --- kinds of tables --------------------------------------------------------------------------------------------------


def test_views_and_subqueries_keep_the_declaration(tmp_path: Path) -> None:
    uri = make(
        tmp_path / "a.db",
        """create table t (d DATE, n DECIMAL(5,1)); insert into t values ('2024-01-01', 1.5);
           create view v as select * from t; create table w (d DATE, k TEXT, primary key (k)) without rowid;
           insert into w values ('2024-01-02', 'x');
           create table s (i INT, r REAL, t TEXT, b BLOB, a ANY) strict; insert into s values (1, 2, 'x', x'00', 'any');
           create table g (a INTEGER, b TEXT generated always as (a || '!') stored); insert into g values (1)""",
    )
    assert read(uri, "select * from v").schema.types == [pa.date32(), pa.decimal128(5, 1)]
    assert read(uri, "select d from (select * from t) union all select d from w").column("d").to_pylist() == [
        date(2024, 1, 1),
        date(2024, 1, 2),
    ]
    assert read(uri, "select * from s").to_pylist() == [{"i": 1, "r": 2.0, "t": "x", "b": b"\0", "a": "any"}]
    assert read(uri, "select rowid, * from g").to_pylist() == [{"a": 1, "b": "1!", "rowid": 1}]


def test_utf16_databases(tmp_path: Path) -> None:
    uri = make(
        tmp_path / "a.db", "pragma encoding = 'UTF-16le'; create table t (v TEXT); insert into t values ('käse 🧀')"
    )
    assert read(uri, "select v, length(v) as n from t").to_pylist() == [{"v": "käse 🧀", "n": 6}]


# --- properties -------------------------------------------------------------------------------------------------------

INTEGERS = st.integers(-(2**63), 2**63 - 1)
REALS = st.floats(allow_nan=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
STORED = st.one_of(INTEGERS, REALS, TEXTS, st.binary())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(*(st.one_of(st.none(), kind) for kind in (INTEGERS, REALS, TEXTS, st.binary(), st.booleans()))),
        max_size=40,
    )
)
def test_tables_arrive_as_sqlite3_returns_them(tmp_path: Path, rows: list[tuple[Any, ...]]) -> None:
    path = tmp_path / "a.db"
    script = "drop table if exists t; create table t (i INTEGER, r REAL, t TEXT, b BLOB, o BOOLEAN)"
    uri = make(path, script, "t", rows)
    table = read(uri, "select * from t")
    got = list(zip(*(table.column(index).to_pylist() for index in range(5)), strict=True))
    assert got == fetched(path, "select * from t")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.none(), STORED), min_size=1, max_size=20))
def test_untyped_values_are_exact_or_refused(tmp_path: Path, values: list[Any]) -> None:
    """Whatever is stored: the column arrives equal, as text, or not at all."""
    path = tmp_path / "a.db"
    uri = make(path, "drop table if exists t; create table t (v)", "t", [(value,) for value in values])
    stored = [value for (value,) in fetched(path, "select v from t")]
    kinds = {type(value) for value in stored if value is not None}
    whole = all(abs(value) <= 2**53 for value in stored if isinstance(value, int))
    if len(kinds) <= 1 or (kinds == {int, float} and whole):
        assert read(uri, "select v from t").column("v").to_pylist() == stored
    else:
        with pytest.raises(colonnade.DataError, match='column "v", row'):
            read(uri, "select v from t")
    texts = read(uri, "select v from t", as_text=["v"]).column("v").to_pylist()
    for text, value in zip(texts, stored, strict=True):
        match value:
            case float():
                assert float(text) == value
            case bytes():
                assert text == f"X'{value.hex().upper()}'"
            case _:
                assert text == (None if value is None else str(value))
