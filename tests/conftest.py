"""A server and connections to it, and an environment without a user's settings."""

from __future__ import annotations

from collections.abc import Iterator

import colonnade
import psycopg
import pytest

from testbed import mariadb
from testbed import postgres as pg
from testbed.serving import Server, serve
from tests.support import fronts
from tests.support import shop as shops
from tests.support.sqlite_files import make


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server over an empty database in memory, on a TCP port and a unix socket. Tests share it: they make no tables
    of a common name and leave none locked."""
    directory = tmp_path_factory.mktemp("server")
    with serve("--listen", "127.0.0.1:0", "--unix", directory / "socket") as running:
        yield running


@pytest.fixture(scope="session")
def uri(server: Server) -> str:
    """The server over TCP."""
    return f"postgresql://tester@{server.host}:{server.port}/test"


@pytest.fixture(scope="session")
def unix_uri(server: Server) -> str:
    """The server over its unix socket."""
    return f"postgresql://tester@/test?host={server.unix}"


@pytest.fixture(params=["tcp", "unix", "duckdb"])
def connection(request: pytest.FixtureRequest) -> Iterator[colonnade.Connection]:
    """A connection of each kind that this version knows."""
    if request.param == "duckdb":
        uri = "duckdb:///:memory:"
    else:
        uri = request.getfixturevalue("uri" if request.param == "tcp" else "unix_uri")
    with colonnade.connect(uri) as opened:
        yield opened


@pytest.fixture
def remote(uri: str) -> Iterator[colonnade.Connection]:
    """A connection over TCP."""
    with colonnade.connect(uri) as opened:
        yield opened


@pytest.fixture(scope="session")
def installation() -> Iterator[pg.Installation]:
    """PostgreSQL with the extension's files."""
    with pg.installed() as found:
        yield found


@pytest.fixture(scope="session")
def extended(installation: pg.Installation) -> Iterator[pg.Cluster]:
    """A cluster with the extension in its database `postgres`, not preloaded. Tests share it: they keep what they make
    in a schema or a session of their own."""
    with pg.cluster(installation) as running:
        with running.connect() as session:
            session.execute("create extension colonnade")
        yield running


@pytest.fixture(scope="session")
def stock() -> Iterator[pg.Cluster]:
    """A cluster of PostgreSQL as it is. Tests share it likewise."""
    with pg.cluster(pg.stock()) as running:
        yield running


@pytest.fixture(scope="session", params=["extension", "stock"])
def either(request: pytest.FixtureRequest) -> pg.Cluster:
    """Each of the two: what arrives must not depend on it."""
    return request.getfixturevalue("extended" if request.param == "extension" else "stock")


@pytest.fixture(scope="session")
def postgres(extended: pg.Cluster) -> pg.Cluster:
    """The cluster that a module's tests are about; another one in modules that say so."""
    return extended


@pytest.fixture
def database(postgres: pg.Cluster) -> Iterator[colonnade.Connection]:
    """A connection to PostgreSQL."""
    with colonnade.connect(postgres.uri()) as opened:
        yield opened


@pytest.fixture
def session(postgres: pg.Cluster) -> Iterator[psycopg.Connection]:
    """A session of psycopg's beside it."""
    with postgres.connect() as opened:
        yield opened


def _values(type_name: str, *literals: str) -> tuple[str, str]:
    """One column with the values, some NULLs, and the values again."""
    values = [f"({literal})::{type_name}" for literal in literals]
    rows = [*values, f"NULL::{type_name}", *values, f"NULL::{type_name}"]
    return type_name, " union all ".join(f"select {index} as k, {value} as v" for index, value in enumerate(rows))


#: A type's name, and a query for some of its values in a column `v`, in the order of a column `k`.
EVERY_TYPE = [
    ('"NULL"', "select 0 as k, null as v union all select 1, null"),
    _values("BOOLEAN", "true", "false"),
    _values("TINYINT", "-128", "0", "127"),
    _values("SMALLINT", "-32768", "0", "32767"),
    _values("INTEGER", "-2147483648", "0", "2147483647"),
    _values("BIGINT", "'-9223372036854775808'", "0", "9223372036854775807"),
    _values("HUGEINT", "'-9999999999999999999999999999999999999'", "0", "99999999999999999999999999999999999999"),
    _values("UTINYINT", "0", "255"),
    _values("USMALLINT", "0", "65535"),
    _values("UINTEGER", "0", "4294967295"),
    _values("UBIGINT", "0", "18446744073709551615"),
    _values("UHUGEINT", "0", "'340282366920938463463374607431768211455'"),
    _values("BIGNUM", "0", "'123456789012345678901234567890123456789012345678901234567890'"),
    _values("FLOAT", "0", "'-0'", "1.5", "'nan'", "'inf'", "'-inf'", "3.4028235e38", "1e-45"),
    _values("DOUBLE", "0", "'-0'", "0.1", "'nan'", "'inf'", "'-inf'", "1.7976931348623157e308", "5e-324"),
    _values("DECIMAL(4,1)", "-999.9", "0", "0.1"),
    _values("DECIMAL(9,3)", "-999999.999", "0", "0.001"),
    _values("DECIMAL(18,2)", "-9999999999999999.99", "0", "0.01"),
    _values("DECIMAL(38,10)", "'-9999999999999999999999999999.9999999999'", "0", "'0.0000000001'"),
    _values("VARCHAR", "''", "'a'", "'käse 🧀'", "'a' || chr(0) || 'b'", "repeat('x', 10000)"),
    _values("BLOB", "''", "'\\x00\\xFF'", "repeat('ab', 5000)"),
    _values("BIT", "'0'", "'00101'", "'1111111111111111111'"),
    _values("DATE", "'0001-01-01'", "'1970-01-01'", "'9999-12-31'", "'1582-10-15'"),
    _values("TIME", "'00:00:00'", "'23:59:59.999999'"),
    _values("TIME_NS", "'00:00:00'", "'23:59:59.999999999'"),
    _values("TIMETZ", "'00:00:00+00'", "'12:34:56.789+05:30'", "'23:59:59-15:59'"),
    _values("TIMESTAMP_S", "'1970-01-01 00:00:00'", "'2262-04-11 23:47:16'"),
    _values("TIMESTAMP_MS", "'1970-01-01 00:00:00.001'", "'2262-04-11 23:47:16.854'"),
    _values("TIMESTAMP", "'0001-01-01 00:00:00'", "'1970-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'"),
    _values("TIMESTAMP_NS", "'1970-01-01 00:00:00.000000001'", "'2262-04-11 23:47:16.854775806'"),
    _values("TIMESTAMPTZ", "'1970-01-01 00:00:00+00'", "'2024-02-29 12:00:00.5+05:30'"),
    _values("INTERVAL", "'0 days'", "'1 month'", "'-3 years 5 days 4 microseconds'", "'2562046 hours'"),
    _values("UUID", "'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"),
    _values("ENUM('red', 'green', 'blue')", "'red'", "'blue'"),
    _values("JSON", """'{"a": [1, null]}'""", "'null'"),
    _values("INTEGER[]", "[]", "[1]", "[NULL, 2, NULL]", "range(100)"),
    _values("VARCHAR[][]", "[]", "[[]]", "[['a'], NULL, ['b', NULL, '']]"),
    _values("INTEGER[3]", "[1, 2, 3]", "[NULL, 5, NULL]"),
    _values("STRUCT(a INTEGER, b VARCHAR)", "{'a': 1, 'b': 'x'}", "{'a': NULL, 'b': NULL}"),
    _values("STRUCT(a STRUCT(b INTEGER[]))", "{'a': {'b': [1, NULL]}}", "{'a': NULL}"),
    _values("MAP(VARCHAR, INTEGER)", "map {}", "map {'a': 1, 'b': NULL}"),
    _values("MAP(INTEGER, VARCHAR[])", "map {1: ['x', NULL]}"),
    _values("UHUGEINT[]", "['340282366920938463463374607431768211455']"),
]


@pytest.fixture(scope="session")
def maria() -> Iterator[mariadb.Server]:
    """A MariaDB. Tests share it: they keep what they make under names of their own."""
    with mariadb.server() as running:
        yield running


@pytest.fixture
def mysql(maria: mariadb.Server) -> Iterator[colonnade.Connection]:
    """A connection to it over TCP."""
    with colonnade.connect(maria.uri()) as opened:
        yield opened


@pytest.fixture(scope="session")
def stock_place(stock: pg.Cluster) -> shops.Place:
    """The tables of `shop.py` in PostgreSQL."""
    return shops.in_postgres(stock)


@pytest.fixture(scope="session")
def duckdb_place(tmp_path_factory: pytest.TempPathFactory) -> shops.Place:
    return shops.in_duckdb(tmp_path_factory.mktemp("drop-in"))


@pytest.fixture(scope="session")
def mysql_place(maria: mariadb.Server) -> shops.Place:
    return shops.in_mysql(maria)


@pytest.fixture(scope="session")
def sqlite_place(tmp_path_factory: pytest.TempPathFactory) -> shops.Place:
    return shops.in_sqlite(tmp_path_factory.mktemp("drop-in"))


@pytest.fixture(params=["stock", "duckdb", "mysql", "sqlite"])
def place(request: pytest.FixtureRequest) -> shops.Place:
    """Each source that has the tables. A further one is a fixture and a name here."""
    return request.getfixturevalue(f"{request.param}_place")


@pytest.fixture
def shop(stock_place: shops.Place) -> str:
    """PostgreSQL's URI."""
    return stock_place.uri


@pytest.fixture(scope="session")
def in_postgres(stock: pg.Cluster) -> Iterator[fronts.Front]:
    """`colonnade serve` in front of each source. Tests share them as they share what is behind."""
    with fronts.front(stock.uri()) as running:
        yield running


@pytest.fixture(scope="session")
def in_maria(maria: mariadb.Server) -> Iterator[fronts.Front]:
    with fronts.front(maria.uri()) as running:
        yield running


SMALL = "create table t (i INTEGER, v TEXT); insert into t values (1, 'x'), (2, NULL), (3, 'ß漢🧀')"


@pytest.fixture(scope="session")
def in_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[fronts.Front]:
    with fronts.front(make(tmp_path_factory.mktemp("source") / "a.sqlite", SMALL)) as running:
        yield running


@pytest.fixture(scope="session")
def in_adbc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[fronts.Front]:
    import adbc_driver_sqlite  # here, since the tests with pandas 2 read this file too and have no driver

    path = tmp_path_factory.mktemp("source") / "a.sqlite"
    make(path, SMALL)
    with fronts.front(f"adbc:{adbc_driver_sqlite._driver_path()}?uri={path}") as running:
        yield running


@pytest.fixture(scope="session")
def in_odbc(stock: pg.Cluster) -> Iterator[fronts.Front]:
    with fronts.front(fronts.odbc(stock)) as running:
        yield running


@pytest.fixture(params=["postgres", "maria", "sqlite", "adbc", "odbc"])
def front(request: pytest.FixtureRequest) -> fronts.Front:
    return request.getfixturevalue(f"in_{request.param}")
