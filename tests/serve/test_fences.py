"""What clients of `colonnade serve` may not do with DuckDB, tried."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest
from psycopg import errors

from tests.testbed.serving import Server, serve

REFUSED = "42501"


@pytest.fixture(scope="module")
def fenced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server over a file, as an operator would start it."""
    directory = tmp_path_factory.mktemp("fenced")
    with duckdb.connect(str(directory / "shop.duckdb")) as database:
        database.execute("create table t as select 1 as i")
    with duckdb.connect(str(directory / "other.duckdb")) as database:
        database.execute("create table precious as select 1 as i")
    with serve(directory / "shop.duckdb") as running:
        yield running


@pytest.fixture
def client(fenced: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(fenced.dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that the server's user may read."""
    path = tmp_path / "secret.csv"
    path.write_text("a,b\n1,top secret\n")
    return path


READING = [
    "select * from read_csv('{secret}')",
    "select * from read_text('{secret}')",
    "select * from read_blob('{secret}')",
    "select * from read_json('{secret}')",
    "select * from read_parquet('{secret}')",
    "select * from parquet_metadata('{secret}')",
    "select * from sniff_csv('{secret}')",
    "select * from glob('{secret}')",
    "select * from glob('/etc/*')",
    "select * from read_text('/proc/self/environ')",
    "select * from read_text('/dev/fd/0')",
    "select * from read_text('file://{secret}')",
    "from read_csv('{secret}') select a",
    "with x as (select * from read_text('{secret}')) select * from x",
    "with recursive x as (select content from read_text('{secret}')) select * from x",
    "select (select content from read_text('{secret}'))",
    "select 1 where exists (select * from read_text('{secret}'))",
    "select * from query('select * from read_text(''{secret}'')')",
    "explain analyze select * from read_text('{secret}')",
    "describe select * from read_csv('{secret}')",
    "summarize select * from read_csv('{secret}')",
    "create table stolen as select * from read_text('{secret}')",
    "create view stolen as select * from read_text('{secret}')",
    "create macro stolen() as table select * from read_text('{secret}')",
    "insert into t select length(content) from read_text('{secret}')",
    "prepare stolen as select * from read_text('{secret}')",
    "copy t from '{secret}'",
    "copy (select * from read_text('{secret}')) to stdout",
    "copy (select * from read_text('{secret}')) to stdout (format colonnade)",
    "select * from 'http://127.0.0.1:9/x.parquet'",
    "select * from read_text('s3://bucket/key')",
    "select * from duckdb_extensions()",
    "import database '{directory}'",
    "select * from read_duckdb('{directory}/other.duckdb')",
]

WRITING = [
    "copy t to '{directory}/out.csv'",
    "copy (select 1) to '{directory}/out.parquet' (format parquet)",
    "copy t to '/dev/stderr'",
    "explain analyze copy t to '{directory}/out.csv'",
    "export database '{directory}/out'",
    "attach '{directory}/out.duckdb'",
    "attach '{directory}/out.duckdb' as other (read_only)",
    "attach ':memory:' as other",
    "detach shop",
    "copy from database shop to temp",
]

CONFIGURING = [
    "set enable_external_access = true",
    "set allowed_directories = ['/']",
    "set allowed_paths = ['{secret}']",
    "set allowed_configs = ['enable_external_access']",
    "set lock_configuration = false",
    "pragma lock_configuration = false",
    "set session lock_configuration = false",
    "set global TimeZone = 'Asia/Tokyo'",
    "set /* x */ global TimeZone = 'Asia/Tokyo'",
    "reset global TimeZone",
    "set default_collation = 'nocase'",
    "set default_order = 'desc'",
    "set default_null_order = 'nulls_first'",
    "set threads = 1",
    "pragma threads = 1",
    "reset threads",
    "set memory_limit = '1TB'",
    "set temp_directory = '/'",
    "set home_directory = '/'",
    "set extension_directory = '{directory}'",
    "set custom_extension_repository = 'http://127.0.0.1:9'",
    "set allow_unsigned_extensions = true",
    "set autoload_known_extensions = true",
    "set python_enable_replacements = true",
    "set python_scan_all_frames = true",
    "set secret_directory = '{directory}'",
    "set log_query_path = '{directory}/log'",
    "set profiling_output = '{directory}/profile'",
    "pragma enable_profiling = 'json'",
    "pragma profiling_output = '{directory}/profile'",
    "call enable_logging(storage = 'file', storage_path = '{directory}/log')",
    "set file_search_path = '/etc'",
    "set http_proxy = 'http://127.0.0.1:9'",
    "install httpfs",
    "force install httpfs from 'http://127.0.0.1:9'",
    "load httpfs",
    "load '{directory}/evil.duckdb_extension'",
    "update extensions",
    "create secret s (type s3)",
    "create or replace persistent secret s in local_file (type s3)",
    "drop secret s",
]


def refused(client: psycopg.Connection, statement: str) -> str | None:
    with pytest.raises(psycopg.Error) as error:
        client.execute(statement)
    client.execute("select 1")
    return error.value.sqlstate


@pytest.mark.parametrize("statement", READING + WRITING + CONFIGURING)
def test_it_is_refused(client: psycopg.Connection, secret: Path, statement: str) -> None:
    statement = statement.format(secret=secret, directory=secret.parent)
    before = sorted(secret.parent.iterdir())
    assert refused(client, statement) == REFUSED
    # In the extended protocol, and next to others in one string.
    with pytest.raises(psycopg.Error) as error:
        client.execute(statement, prepare=True)
    assert error.value.sqlstate == REFUSED
    assert refused(client, f"select 1; {statement}; select 2") == REFUSED
    assert sorted(secret.parent.iterdir()) == before


@pytest.mark.parametrize("name", ["{secret}", "/etc/passwd", "/proc/self/environ", "{directory}/*.csv"])
@pytest.mark.parametrize(
    "query", ["select * from '{}'", "from '{}'", 'select * from "{}"', "create view w as from '{}'"]
)
def test_a_file_is_no_table(client: psycopg.Connection, secret: Path, name: str, query: str) -> None:
    """Where files could not be read in any case, a file's name is the name of a table that is not there."""
    name = name.format(secret=secret, directory=secret.parent)
    assert refused(client, query.format(name)) in ("42P01", REFUSED)


@pytest.mark.parametrize(
    "query",
    [
        # Variables of the server's own modules and functions, by which it runs the statement.
        *[f"select * from {name}" for name in ("statement", "self", "limits", "sql", "frame", "os", "server", "args")],
        "select getenv('HOME')",
        "select * from getvariable('sql')",
    ],
)
def test_the_servers_own_process_cannot_be_seen(client: psycopg.Connection, query: str) -> None:
    assert refused(client, query) in ("42P01", "42883", "42703")


def test_no_variable_of_the_environment_is_shown(client: psycopg.Connection) -> None:
    for row in client.execute("select name, value from duckdb_settings()"):
        assert os.environ["PATH"] not in str(row)


@pytest.mark.parametrize(
    "statement",
    [
        "set TimeZone = 'Europe/Berlin'",
        "set search_path = 'main'",
        "set schema = 'main'",
        "use main",
        "set integer_division = true",
        "set enable_progress_bar = false",
        "reset TimeZone",
        "set variable mine = 1",
        "pragma table_info('t')",
        "show tables",
        "checkpoint",
    ],
)
def test_what_concerns_a_session_alone_is_allowed(client: psycopg.Connection, statement: str) -> None:
    client.execute(statement)


OWN = [
    ("TimeZone", "Asia/Tokyo"),
    ("Calendar", "buddhist"),
    ("ieee_floating_point_ops", "false"),
    ("integer_division", "true"),
    ("order_by_non_integer_literal", "true"),
    ("scalar_subquery_error_on_multiple_rows", "false"),
]


@pytest.mark.parametrize(("name", "value"), OWN)
def test_and_reaches_no_other_session(fenced: Server, client: psycopg.Connection, name: str, value: str) -> None:
    query = f"select lower(current_setting('{name}')::varchar)"
    before = client.execute(query).fetchone()
    with psycopg.connect(fenced.dsn, autocommit=True) as other:
        other.execute(f"set {name} = '{value}'")
        assert other.execute(query).fetchone() == (value.lower(),) != before
        assert client.execute(query).fetchone() == before
        with psycopg.connect(fenced.dsn, autocommit=True) as third:
            assert third.execute(query).fetchone() == before


def test_files_are_allowed_if_the_operator_says_so(secret: Path) -> None:
    with serve("--allow-files") as server, psycopg.connect(server.dsn, autocommit=True) as client:
        assert client.execute(f"select * from '{secret}'").fetchall() == [(1, "top secret")]
        client.execute(f"copy (select 7 as i) to '{secret.parent}/out.csv'")
        assert (secret.parent / "out.csv").read_text() == "i\n7\n"
        # Files are not code, nor the process's variables, nor its configuration.
        for statement in ["install httpfs", "load httpfs", "set threads = 1", "set global TimeZone = 'UTC'"]:
            assert refused(client, statement) == REFUSED
        assert refused(client, "select * from statement") == "42P01"


def test_an_exported_database_can_be_imported(tmp_path: Path) -> None:
    with serve("--allow-files") as server, psycopg.connect(server.dsn, autocommit=True) as client:
        client.execute('create schema s; create table s.t as select 1 as x; create table "a\'b" (y int)')
        # A comment, because the server puts the name of the database behind it.
        client.execute(f"/* é */ export /* */ database -- '\n'{tmp_path}/one' (format parquet)")
        client.execute(f"export database memory to '{tmp_path}/two'")
    for directory in ("one", "two"):
        with duckdb.connect() as connection:
            connection.execute(f"import database '{tmp_path}/{directory}'")
            assert connection.execute("from s.t").fetchall() == [(1,)]
            query = "select table_name from duckdb_tables() order by 1"
            assert connection.execute(query).fetchall() == [("a'b",), ("t",)]


def test_memory_and_temporary_space_are_bounded(tmp_path: Path) -> None:
    limits = ("--memory", "100MB", "--threads", "1", "--temp-directory", tmp_path / "spill", "--temp-size", "20MB")
    with serve(*limits) as server, psycopg.connect(server.dsn, autocommit=True) as client:
        with pytest.raises((errors.OutOfMemory, errors.IoError)):
            client.execute("select count(*) from (select i, random() as r from range(20000000) t(i) order by r)")
        assert client.execute("select 1").fetchone() == (1,)
        assert client.execute("select current_setting('threads')").fetchone() == ("1",)
        # What fits into both spills where it may.
        query = "select count(*) from (select i, random() as r from range(100000) t(i) order by r)"
        assert client.execute(query).fetchone() == (100_000,)
