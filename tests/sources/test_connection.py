"""`connect` and `Connection`: what they give and what they refuse."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import adbc_driver_sqlite
import colonnade
import polars as pl
import pyarrow as pa
import pytest
from sqlalchemy import create_engine

from tests.support.sqlite_files import make

# --- connect ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "error", "message"),
    [
        ("lineitem.duckdb", colonnade.InterfaceError, "not a URI"),
        ("lineitem.duckdb", colonnade.InterfaceError, "write duckdb:///lineitem.duckdb$"),
        ("/data/shop.db", colonnade.InterfaceError, "write sqlite:////data/shop.db or duckdb:////data/shop.db$"),
        ("50%?.sqlite3", colonnade.InterfaceError, "write sqlite:///50%25%3F.sqlite3$"),
        (__file__, colonnade.InterfaceError, "the path of a file, not a URI: write sqlite:///"),
        ("x" * 5000, colonnade.InterfaceError, "is not a URI"),
        (" postgresql://h/d", colonnade.InterfaceError, "white space: remove it"),
        ("postgresql://h/d\n", colonnade.InterfaceError, "white space: remove it"),
        (Path("shop.duckdb"), colonnade.InterfaceError, "is a path: write duckdb:///shop.duckdb$"),
        (None, colonnade.InterfaceError, "is a NoneType: give a URI"),
        (create_engine("sqlite://"), colonnade.InterfaceError, "an Engine: give a URI .*render_as_string"),
        ("oracle://h/d", colonnade.NotSupportedError, "oracle:.*\nHint: read it by its ODBC driver: odbc:"),
        ("mssql+pyodbc://h/d", colonnade.NotSupportedError, "mssql:.*\nHint: read it by its ODBC driver: odbc:"),
        ("snowflake://h/d", colonnade.NotSupportedError, "snowflake:.*\nHint: read it by its ADBC driver: adbc:"),
        ("redshift+psycopg2://h/d", colonnade.NotSupportedError, "redshift:.*\nHint: .* try postgresql://"),
        ("jdbc:postgresql://h/d", colonnade.NotSupportedError, "jdbc:.*\nHint: leave out jdbc:"),
        ("postgrseql://h/d", colonnade.NotSupportedError, r"postgrseql:.*\nHint: did you mean postgresql:\?"),
        ("http://h/d", colonnade.NotSupportedError, "http:.*\nHint: use postgresql://"),
        ("postgresql://h:port/d", colonnade.InterfaceError, "port"),
        ("postgresql://h/d?sslmode=always", colonnade.InterfaceError, "sslmode is not one of"),
        ("host=h sslmode=verify-full", colonnade.InterfaceError, "sslrootcert"),
        ("host=h colour=red", colonnade.InterfaceError, "colour"),
        ("postgresql://h/d?require_auth=scram", colonnade.InterfaceError, "require_auth"),
        ("postgresql://h/d?requirepeer=postgres", colonnade.NotSupportedError, "requirepeer"),
        ("duckdb://host/file", colonnade.InterfaceError, "duckdb URI names no host"),
        ("duckdb:////no/such/directory/file", colonnade.OperationalError, "no/such/directory"),
        ("postgresql://u@127.0.0.1:1/d", colonnade.OperationalError, "refused"),
        ("postgresql:///d?host=/no/such/socket", colonnade.OperationalError, "no such file"),
        ("postgresql://u@no-such-host.invalid/d", colonnade.OperationalError, "cannot connect"),
    ],
)
def test_what_cannot_be_connected_to(uri: Any, error: type[Exception], message: str) -> None:
    for use in (colonnade.connect, colonnade.tables):
        with pytest.raises(error, match=message):
            use(uri)


def test_a_uri_of_colonnade_serve(uri: str) -> None:
    own = uri.replace("postgresql://", "colonnade://")
    with colonnade.connect(own) as connection:
        connection.execute("create table uri_of_serve as select 1 as a")
        assert colonnade.read_sql_table("uri_of_serve", own, return_type="arrow")["a"].to_pylist() == [1]
        connection.execute("drop table uri_of_serve")


def test_no_password_in_any_error() -> None:
    for uri in ("postgresql://u:hunter2@127.0.0.1:1/d", "postgresql://u:hunter2@h:x/d", "postgresql://u:hun/ter2@h/d"):
        with pytest.raises(colonnade.Error) as caught:
            colonnade.connect(uri)
        shown = f"{caught.value} {caught.value!r} {caught.value.source} {caught.value.hint}"
        assert "ter2" not in shown


@pytest.mark.parametrize("uri", ["duckdb:", "duckdb://", "duckdb:///", "duckdb::memory:", "duckdb:///:memory:"])
def test_duckdb_in_memory(uri: str) -> None:
    with colonnade.connect(uri) as connection:
        assert connection.query("select 1").to_arrow().num_rows == 1
        assert connection.name == "duckdb:///:memory:"


# --- Connection -------------------------------------------------------------------------------------------------------


def test_execute_says_how_many_rows_it_touched(connection: colonnade.Connection) -> None:
    assert connection.execute("create temp table counted (a int)") is None
    assert connection.execute("insert into counted select * from range(7)") == 7
    assert connection.execute("update counted set a = $1 where a > $2", [0, 4]) == 2
    assert connection.query("select count(*) from counted where a = 0").to_arrow().column(0)[0].as_py() == 3


@pytest.mark.parametrize("source", ["duckdb", "adbc", "server"])
def test_chunks_are_within_their_limits(request: pytest.FixtureRequest, tmp_path: Path, source: str) -> None:
    if source == "adbc":
        make(tmp_path / "a.db", "create table t (i INTEGER)", "t", [(number,) for number in range(1000)])
        opened = colonnade.connect(f"adbc:{adbc_driver_sqlite._driver_path()}?uri={tmp_path}/a.db")
    else:
        opened = colonnade.connect("duckdb:" if source == "duckdb" else request.getfixturevalue("uri"))
        opened.execute("create temp table t as select i from range(1000) s(i)")
    with opened as connection:
        for options, most in (({"chunk_rows": 300}, 300), ({"chunk_bytes": 800}, 200), ({"chunk_rows": 1}, 1)):
            chunks = list(connection.query("select i from t order by i", **options))
            assert max(chunk.num_rows for chunk in chunks) <= most
            assert pa.Table.from_batches(chunks).column("i").to_pylist() == list(range(1000))


def test_an_error_half_way_is_an_error(connection: colonnade.Connection) -> None:
    sql = "select case when i < 999999 then i else error('half-way') end as n from range(1000000) t(i)"
    for read in (lambda r: r.to_arrow(), list, lambda r: r.column("n"), lambda r: r.to_pandas(), pl.DataFrame):
        # DuckDB in this process may run into it before the first batch.
        with pytest.raises(Exception, match="half-way"):
            read(connection.query(sql))
        assert connection.query("select 1").to_arrow().num_rows == 1


def test_threads_take_turns(uri: str) -> None:
    with colonnade.connect(uri) as connection:
        found: list[int] = []

        def read() -> None:
            for _ in range(20):
                with lock:
                    found.append(
                        connection.query("select sum(i) as s from range(1000) t(i)").to_arrow()["s"][0].as_py()
                    )

        lock = threading.Lock()
        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [499500] * 80
