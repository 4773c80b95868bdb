"""ADBC drivers as sources."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

import adbc_driver_postgresql
import adbc_driver_sqlite
import colonnade
import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from colonnade import dbapi
from colonnade._core import count_statements

from tests.support.sqlite_files import make
from tests.testbed import postgres as pg

SQLITE = adbc_driver_sqlite._driver_path()
POSTGRES = adbc_driver_postgresql._driver_path()


def uri(driver: str, **options: str) -> str:
    pairs = "&".join(f"{key}={quote(value, safe='')}" for key, value in options.items())
    return f"adbc:{quote(driver)}?{pairs}"


@pytest.fixture
def shop(tmp_path: Path) -> str:
    script = "create table t (i INTEGER, v TEXT); insert into t values (1, 'x'), (2, NULL), (3, 'ß漢🧀')"
    make(tmp_path / "a db.sqlite", script)
    return uri(SQLITE, uri=str(tmp_path / "a db.sqlite"))


def test_every_destination(shop: str) -> None:
    table = colonnade.read_sql(shop, "select * from t", return_type="arrow")
    assert table.to_pylist() == [{"i": 1, "v": "x"}, {"i": 2, "v": None}, {"i": 3, "v": "ß漢🧀"}]
    assert list(colonnade.read_sql(shop, "select i from t")["i"]) == [1, 2, 3]
    assert colonnade.read_sql(shop, "select i from t", return_type="polars")["i"].to_list() == [1, 2, 3]
    with colonnade.connect(shop) as connection:
        assert connection.name == f"adbc:{SQLITE}"
        assert connection.server.startswith("SQLite 3.")


@pytest.mark.parametrize("return_type", ["pandas", "polars", "arrow"])
def test_a_text_that_is_not_utf8_is_refused(tmp_path: Path, return_type: Any) -> None:
    """SQLite's driver passes it on, and polars would take it for a text of Rust's."""
    script = "create table t (i, v TEXT); insert into t values (1, 'ä'), (2, NULL), (3, cast(x'ff41' as text))"
    make(tmp_path / "bytes.sqlite", script)
    shop = uri(SQLITE, uri=str(tmp_path / "bytes.sqlite"))
    with pytest.raises(colonnade.DataError, match='column "v", row 3: a text that is not UTF-8') as caught:
        colonnade.read_sql(shop, "select v from t order by i", return_type=return_type)
    assert caught.value.sqlstate == "22021"
    table = colonnade.read_sql(shop, "select cast(v as blob) as v from t order by i", return_type="arrow")
    assert table.column("v").to_pylist() == ["ä".encode(), None, b"\xffA"]


def test_statements_and_parameters(shop: str) -> None:
    with colonnade.connect(shop) as connection:
        assert connection.execute("insert into t values (4, 'y'), (5, 'z')") in (2, None)
        assert connection.execute("update t set v = ? where i = ?", ["new", 4]) in (1, None)
        assert connection.query("select v from t where i = ?", [4]).to_arrow().to_pylist() == [{"v": "new"}]
        with pytest.raises(colonnade.InterfaceError, match="parameters in order"):
            connection.query("select :a", {"a": 1})
        with pytest.raises(colonnade.NotSupportedError, match="as_text is for PostgreSQL"):
            connection.query("select 1", as_text=["x"])


@pytest.mark.parametrize(
    ("sql", "product", "count"),
    [
        ("", "SQLite", 0),
        ("select 1; select 2", "SQLite", 2),
        ("select 1; select 2", "a new one", 2),
        ("select 1 ; -- a tail; of it\n;", "SQLite", 1),
        ("select 1 ; -- a tail; of it\n;", "a new one", 1),
        ("select [a;b]", "SQLite", 1),
        ("select `a;b`; select 2", "SQLite", 2),
        ("select $$a;b$$", "PostgreSQL", 1),
        ("select $$a;b$$", "duckdb", 1),
        ("select [a;b]", "a new one", None),
        ("select $$a;b$$", "a new one", None),
        # With one setting of the session two statements, with the other one.
        (r"select '\'; select 2 --'", "PostgreSQL", None),
        (r"select '\'; select 2 -- '", "MySQL", None),
        (r"select '\\'; select 2", "MySQL", 2),
    ],
)
def test_statements_are_counted_by_the_products_rules(sql: str, product: str, count: int | None) -> None:
    assert count_statements(sql, product) == count


def test_no_statement_is_left_out(shop: str) -> None:
    two = "insert into t values (4, 'y'); insert into t values (5, 'z')"
    with colonnade.connect(shop) as connection:
        for sql in (two, f"{two};", "insert into t values (4, `;`); select 1"):
            with pytest.raises(colonnade.ProgrammingError, match="more than one statement") as caught:
                connection.execute(sql)
            assert caught.value.sqlstate == "42601"
        assert connection.query("select count(*) as n from t").to_arrow().to_pylist() == [{"n": 3}]
        assert connection.query("select 'a;b' as [a;b] /* ; */ ; -- ;").to_arrow().to_pylist() == [{"a;b": "a;b"}]


def test_each_placeholder_has_its_value(shop: str) -> None:
    with colonnade.connect(shop) as connection:
        for sql, params, message in [
            ("select ?", None, "the query has placeholder 1, but no value is given for it"),
            ("select ?, ?", [1], "the query has placeholder 2, but no value is given for it"),
            ("select $2", [1], r"the query has \$2, but no value is given for it"),
            ("select $0", [1], r"the query has \$0, but no value is given for it"),
            ("select $2", [1, 2], r"the query has no \$1 for a given value"),
            ("select 1", [1], r"the query has no \$1 for a given value"),
            ("update t set v = ?", [], "the query has placeholder 1"),
        ]:
            ask = connection.execute if sql.startswith("update") else connection.query
            with pytest.raises(colonnade.InterfaceError, match=message):
                ask(sql, params)
        assert connection.query("select $2 as a, $1 as b, $2 as c", [1, 2]).to_arrow().to_pylist() == [
            {"a": 2, "b": 1, "c": 2}
        ]
        assert connection.query("select count(v) as n from t").to_arrow().to_pylist() == [{"n": 2}]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (pd.Timestamp("2024-01-01 00:00:00.000000001"), "the Timestamp would become"),
        (pd.Timestamp(np.datetime64("20000-03-01", "s")), "the Timestamp has no form"),
        (pd.Timedelta(1), "the Timedelta would become"),
        (pd.NaT, "the NaTType has no form"),
        (dt.time(1, tzinfo=dt.UTC), "the time would become"),
        (np.datetime64(5, "2s"), "the datetime64 would become"),
        ({1}, "the set would become"),
        (2**64, "the int has no form"),
        (float("nan"), "no NaN"),
        (np.float32("nan"), "no NaN"),
    ],
)
def test_a_parameter_that_would_change_is_refused(shop: str, value: Any, message: str) -> None:
    with colonnade.connect(shop) as connection:
        with pytest.raises(colonnade.InterfaceError, match=rf"parameter \$2: .*{message}"):
            connection.query("select $1, $2", [1, value])
        assert connection.query("select $1 as a, $2 as b", [1.5, "x"]).to_arrow().to_pylist() == [{"a": 1.5, "b": "x"}]


def test_errors(shop: str) -> None:
    with colonnade.connect(shop) as connection:
        with pytest.raises(colonnade.Error, match="no such table: nowhere") as caught:
            connection.query("select * from nowhere")
        assert caught.value.source == f"adbc:{SQLITE}"
    for missing in ("no_such_driver_at_all", "adbc_driver_at_all"):
        with pytest.raises(colonnade.OperationalError, match=missing) as unknown:
            colonnade.connect(f"adbc:{missing}")
        assert unknown.value.hint is not None and "adbc:adbc_driver_snowflake?" in unknown.value.hint
    # The driver was loaded.
    with pytest.raises(colonnade.OperationalError) as unreachable:
        colonnade.connect(uri(SQLITE, uri="file:/no/such/folder/file?mode=ro"))
    assert unreachable.value.hint is None
    with pytest.raises(colonnade.InterfaceError, match="names a driver"):
        colonnade.connect("adbc:?uri=x")


@pytest.mark.parametrize(
    ("package", "options", "server"),
    [
        ("adbc_driver_sqlite", {"uri": ":memory:"}, "SQLite"),
        ("adbc_driver_duckdb", {"entrypoint": "duckdb_adbc_init", "path": ":memory:"}, "duckdb"),
    ],
)
def test_a_driver_is_named_by_its_package(package: str, options: dict[str, str], server: str) -> None:
    with colonnade.connect(uri(package, **options)) as connection:
        assert connection.name == f"adbc:{package}"
        assert connection.server.startswith(server)
        assert connection.query("select 1 as n").to_arrow().to_pylist() == [{"n": 1}]


def test_options_go_where_they_belong(shop: str) -> None:
    with colonnade.connect(shop + "&adbc.connection.autocommit=true") as connection:
        assert connection.query("select 1").to_arrow().num_rows == 1
    for wrong in ["adbc.connection.nonsense=1", "nonsense=1"]:
        with pytest.raises(colonnade.OperationalError):
            colonnade.connect(f"{shop}&{wrong}")
    with (
        colonnade.connect(shop + "&adbc.statement.nonsense=1") as connection,
        pytest.raises(colonnade.Error, match="nonsense"),
    ):
        connection.query("select 1")


def test_types_pass_as_the_driver_gives_them() -> None:
    """Those too that the wire does not have: nothing is encoded here."""
    path = duckdb.__file__
    from adbc_driver_duckdb import driver_path

    sql = """select union_value(a := 1) as u, 12.5::decimal(5, 2) as d, interval '1 day' as i, [1, NULL]::int[] as l,
                    'a'::enum('a', 'b') as e, 7::uhugeint as h, map {'k': 1} as m"""
    table = colonnade.read_sql(uri(driver_path(), entrypoint="duckdb_adbc_init"), sql, return_type="arrow")
    assert path and pa.types.is_union(table.schema.field("u").type)
    assert table.column("d").to_pylist() == [Decimal("12.50")]
    assert table.column("l").to_pylist() == [[1, None]]
    assert table.num_rows == 1


def test_polars_lacks_a_type_of_a_driver() -> None:
    """polars ends by a panic, which `except Exception` would not catch."""
    from adbc_driver_duckdb import driver_path

    with colonnade.connect(uri(driver_path(), entrypoint="duckdb_adbc_init")) as connection:
        with pytest.raises(colonnade.NotSupportedError, match=r"polars lacks a type of the result: .*Union") as caught:
            connection.query("select union_value(a := 1) as u").to_polars()
        assert caught.value.hint is not None and "cast the column" in caught.value.hint
        assert connection.query("select 1 as n").to_polars()["n"].to_list() == [1]


def test_decimals_of_32_and_64_bits() -> None:
    """polars 2.1 takes the bytes behind such a value for its upper half."""
    from adbc_driver_duckdb import driver_path

    sql = """select d, e, [d] as l, {'e': e} as s from (values (1.50::decimal(5, 2), 12345678.5::decimal(10, 1)),
             (null, null), (-2.25, -0.1)) t(d, e)"""
    expected = [
        {"d": d, "e": e, "l": [d], "s": {"e": e}}
        for d, e in ((Decimal("1.50"), Decimal("12345678.5")), (None, None), (Decimal("-2.25"), Decimal("-0.1")))
    ]
    with colonnade.connect(uri(driver_path(), entrypoint="duckdb_adbc_init")) as connection:
        # Before this version, DuckDB gives decimals of 128 bits.
        connection.execute("set arrow_output_version = '1.5'")
        table = connection.query(sql).to_arrow()
        assert table.schema.field("d").type == pa.decimal128(5, 2)
        assert table.schema.field("l").type.value_type == pa.decimal128(5, 2)
        assert table.to_pylist() == expected
        assert connection.query(sql).to_polars().to_dicts() == expected
        frame = colonnade.read_sql(connection, sql)
        assert frame["d"].tolist()[::2] == [1.5, -2.25] and frame["e"].tolist()[::2] == [12345678.5, -0.1]


# --- PostgreSQL -------------------------------------------------------------------------------------------------------


def test_postgres(stock: pg.Cluster) -> None:
    conn = uri(POSTGRES, uri=stock.uri())
    table = colonnade.read_sql(conn, "select i, i::text as t from generate_series(1, 100000) i", return_type="arrow")
    assert table.column("i").to_pylist() == list(range(1, 100_001))
    with colonnade.connect(conn) as connection:
        assert connection.server.startswith("PostgreSQL")
        with pytest.raises(colonnade.Error, match="division by zero") as caught:
            connection.query("select 1 / (i - 50000) from generate_series(1, 100000) i").to_arrow()
        connection.execute("create temp table two (i int); insert into two values (1); insert into two values (2)")
        assert connection.query("select count(*) as n from two where i < 3").to_arrow().to_pylist() == [{"n": 2}]
        assert connection.query("select $1::int8 + 1 as n", [41]).to_arrow().to_pylist() == [{"n": 42}]
        with pytest.raises(colonnade.ProgrammingError, match="nowhere") as caught:
            connection.query("select * from nowhere")
        assert caught.value.sqlstate == "42P01"


CHANGED = {
    "oid": "4294967295::oid",
    "money": "'12.50'::money",
    "_int4": "array[[1, 2], [3, 4]]",
    "_text": "array['x']",
    "_oid": "array[4294967295::oid]",
}


@pytest.mark.parametrize(("kind", "expression"), CHANGED.items())
def test_a_type_whose_values_postgresqls_driver_changes_is_refused(
    stock: pg.Cluster, kind: str, expression: str
) -> None:
    with stock.prepared("create table changed (a int)", "drop table changed"):
        with colonnade.connect(uri(POSTGRES, uri=stock.uri())) as connection:
            for sql in (
                f"select 1 as one, {expression} as v",
                f"insert into changed values (1) returning {expression} as v",
            ):
                with pytest.raises(colonnade.NotSupportedError, match=f'column "v" of type {kind}') as caught:
                    connection.query(sql)
                assert (caught.value.sqlstate, "read postgresql:// instead" in str(caught.value)) == ("0A000", True)
            assert connection.query("select count(*) as n from changed").to_arrow().to_pylist() == [{"n": 0}]
            as_text = f"select ({expression})::text as v"
            ours = colonnade.read_sql(stock.uri(), as_text, return_type="arrow")
            assert connection.query(as_text).to_arrow()["v"].to_pylist() == ours["v"].to_pylist()
        with (
            pytest.raises(colonnade.NotSupportedError, match=f'column "v" of type {kind}'),
            dbapi.connect(uri(POSTGRES, uri=stock.uri())) as session,
            session.cursor() as cursor,
        ):
            cursor.execute(f"insert into changed values (1) returning {expression} as v")


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
@pytest.mark.parametrize("value", ["infinity", "-infinity"])
def test_an_infinite_date_is_not_another_date(stock: pg.Cluster, kind: str, value: str) -> None:
    sql = "select (case when i = 70000 then '{}' else '{}' end)::{} as v from generate_series(1, 70001) i"
    with colonnade.connect(uri(POSTGRES, uri=stock.uri())) as connection:
        with pytest.raises(colonnade.DataError, match='column "v", row 70000: an infinite value') as caught:
            connection.query(sql.format(value, "2024-02-29", kind)).to_arrow()
        assert caught.value.sqlstate == "22008" and "read postgresql:// instead" in str(caught.value)
        # The first and the last values are not infinite.
        for first in ("4713-01-01 BC", "9999-12-31"):
            assert connection.query(sql.format(first, "0001-01-01", kind)).to_arrow().num_rows == 70001


@pytest.mark.parametrize("backend", ["numpy", "numpy_nullable"])
def test_extension_types_in_pandas(stock: pg.Cluster, backend: Any) -> None:
    """pandas has no type for them: their stored values arrive, as texts, bytes and objects."""
    sql = """select '{"a": 1}'::json as j, 1.50::numeric as n, timetz '00:00:01+00' as t,
                    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid as u union all select null, null, null, null"""
    frame = colonnade.read_sql(uri(POSTGRES, uri=stock.uri()), sql, dtype_backend=backend)
    stored = struct.pack(">qi", 1_000_000, 0)
    assert list(frame.iloc[0]) == ['{"a": 1}', "1.50", stored, UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")]
    assert frame.iloc[1].isna().all()
    assert isinstance(frame["j"].dtype, pd.StringDtype)


@pytest.mark.parametrize(
    "options",
    [
        {"uri": "postgresql://tester:hunter2%21@127.0.0.1:1/x"},
        {"uri": "host=127.0.0.1 port=1 password=hunter2! user=tester"},
        {"uri": "host=127.0.0.1 password=hunter2! hunter2! port"},
        {"uri": "postgresql://127.0.0.1:hunter2!/x?password=hunter2!"},
        {"uri": "postgresql://127.0.0.1:1/x", "password": "hunter2!"},
        {"uri": "postgresql://127.0.0.1:1/x", "adbc.connection.auth_token": "hunter2!"},
    ],
)
def test_no_error_holds_a_password(options: dict[str, str]) -> None:
    with pytest.raises(colonnade.OperationalError) as caught:
        colonnade.connect(uri(POSTGRES, **options))
    assert "hunter2" not in str(caught.value) + repr(caught.value.__context__) + repr(caught.value.__cause__)
