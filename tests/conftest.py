"""Servers and connections that the tests of several packages share."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterator

import colonnade
import pytest

from tests.support import fronts
from tests.support import shop as shops
from tests.support.sqlite_files import make
from tests.testbed import mariadb
from tests.testbed import postgres as pg
from tests.testbed.serving import Server, serve

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs so. Processes of tests would inherit it, and not notice Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds what a failed program said, which `CalledProcessError` keeps to itself."""
    report = yield
    if call.excinfo is not None and isinstance(failed := call.excinfo.value, subprocess.CalledProcessError):
        for name, said in (("stdout", failed.stdout), ("stderr", failed.stderr)):
            if said:
                report.sections.append((f"{name} of the program", said if isinstance(said, str) else repr(said)))
    return report


#: The seconds of each file of tests.
_seconds: Counter[str] = Counter()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid.partition("::")[0]] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keeps them for tools/check.py. With several processes, the first one gets all reports."""
    cache = getattr(session.config, "cache", None)
    if cache is not None and not hasattr(session.config, "workerinput"):
        known = cache.get("colonnade/seconds", {})
        cache.set("colonnade/seconds", known | {name: round(seconds, 2) for name, seconds in _seconds.items()})


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
    if sys.platform == "win32":
        pytest.skip("Windows has no unix sockets")
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
    with pg.extended(installation) as running:
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
