"""The package adbc-driver-colonnade, as it is installed."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import adbc_driver_colonnade
import adbc_driver_manager
import colonnade
import duckdb
import pytest
from adbc_driver_colonnade import ReadOptions, dbapi
from colonnade._cli.main import main

from tests.adbc.databases import Database

ROOT = Path(__file__).parents[2]


def test_one_version() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert adbc_driver_colonnade.__version__ == workspace == colonnade.__version__


def test_one_wheel_for_all_versions_of_python() -> None:
    text = metadata.distribution("adbc-driver-colonnade").read_text("WHEEL") or ""
    [tag] = re.findall("^Tag: (.*)$", text, re.MULTILINE)
    assert re.fullmatch(r"py3-none-(many|musl)linux_\w+", tag)


def test_the_options_are_the_drivers() -> None:
    source = (ROOT / "client/adbc/src/options.rs").read_text()
    [prefix] = re.findall(r'^const PREFIX: &str = "(.*)";$', source, re.MULTILINE)
    [names] = re.findall(r"^const NAMES: [^=]* = \[(.*?)\];$", source, re.MULTILINE | re.DOTALL)
    assert {prefix + name for name in re.findall('"(.*)"', names)} == {option.value for option in ReadOptions}


def test_a_connection_of_dbapi(database: Database) -> None:
    options = {ReadOptions.CHUNK_ROWS.value: "10"}
    with dbapi.connect(database.uri, options, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(database.series.format(25))
        assert [len(batch) for batch in cursor.fetch_record_batch()] == [10, 10, 5]
        with pytest.raises(dbapi.ProgrammingError) as failed:
            cursor.execute("select * from adbc_absent")
        assert failed.value.sqlstate == database.missing


def test_a_connection_of_dbapi_has_transactions(postgresql: Database) -> None:
    with dbapi.connect(postgresql.uri) as connection, connection.cursor() as cursor:
        cursor.execute("create temp table adbc_package (i int)")
        connection.rollback()
        with pytest.raises(dbapi.ProgrammingError):
            cursor.execute("select * from adbc_package")


def test_the_objects_of_adbc(postgresql: Database) -> None:
    opened = adbc_driver_colonnade.connect(postgresql.uri, {ReadOptions.NUMERIC.value: "38,9"})
    with opened as database, adbc_driver_manager.AdbcConnection(database) as connection:
        assert connection.get_option(ReadOptions.NUMERIC.value) == "38,9"


def test_duckdb_reads_a_stream(database: Database) -> None:
    with dbapi.connect(database.uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(database.series.format(100_000))
        reader = cursor.fetch_record_batch()
        with duckdb.connect() as memory:
            memory.register("stream", reader)
            assert memory.execute("select count(*), sum(i) from stream").fetchall() == [(100_000, 5_000_050_000)]


def test_the_command_installs_the_packages_library(
    postgresql: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert main(["adbc", "install"]) == 0
    manifest = tomllib.loads((tmp_path / "adbc/drivers/colonnade.toml").read_text())
    assert Path(manifest["Driver"]["shared"]) == adbc_driver_colonnade.driver_path().resolve()
    connected = adbc_driver_manager.dbapi.connect(driver="colonnade", uri=postgresql.uri, autocommit=True)
    with connected as connection, connection.cursor() as cursor:
        assert cursor.execute("select 7 as n").fetchall() == [(7,)]
