"""The wheels for Windows in a Python for Windows that wine runs. The servers are this machine's.

wine does not show how fast something is, and its sockets and files are Linux's below (`tests/testbed/wine.py`).
"""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import colonnade
import pyarrow as pa
import pytest

from tests.dist import windows_programs as programs
from tests.dist.shipped import VERSION, orders
from tests.dist.windows_wheels import DRIVER, PACKAGE, with_wheels
from tests.support.certificates import Authority
from tests.testbed import mariadb, wine
from tests.testbed import postgres as pg
from tests.testbed.serving import Server, own_server
from tools.release import windows as release

HOST = "db.shop.example"
PASSWORD = "not: that\\secret"
#: Over TCP, with passwords by SCRAM for one user.
RULES = """
local   all all                    trust
host    all by_scram  127.0.0.1/32 scram-sha-256
host    all all       127.0.0.1/32 trust
"""
MILLION = 1_000_000

server = pytest.fixture(own_server, scope="module")


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> wine.Windows:
    """A Python with the wheels."""
    return with_wheels(tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[pg.Cluster]:
    """PostgreSQL with TLS, a user with a password, and a table."""
    with pg.scratch() as directory, pg.cluster(pg.stock()) as running:
        authority = Authority(directory / "ca", "Ours")
        pair = authority.sign("server", f"DNS:{HOST}", "IP:127.0.0.1")
        data = running.directory / "data"
        for source, name in ((pair.certificate, "server.crt"), (pair.key, "server.key")):
            shutil.copyfile(source, data / name)
            (data / name).chmod(0o600)
            pg.give(data / name)
        shutil.copyfile(authority.certificate, running.directory / "ca.crt")
        (data / "pg_hba.conf").write_text(RULES)
        with running.connect() as session:
            session.execute(programs.POSTGRES_TABLE)
            session.execute("alter system set ssl = on")
            quoted = PASSWORD.replace("'", "''")
            session.execute(f"create role by_scram login password '{quoted}'")
            session.execute("grant select on kinds to by_scram")
            session.execute("select pg_reload_conf()")
        yield running


@pytest.fixture(scope="module")
def maria() -> Iterator[mariadb.Server]:
    with mariadb.server() as running:
        running.run(programs.MARIA_TABLE, mariadb.DATABASE)
        yield running


@pytest.fixture
def uris(cluster: pg.Cluster, maria: mariadb.Server, server: Server, tmp_path: Path) -> dict[str, str]:
    """The sources by their names. Paths are as Windows writes them."""
    folder = tmp_path / "ä b"
    folder.mkdir()
    file = wine.windows_path(orders(folder / "é.sqlite"))
    return {
        "postgresql": cluster.uri(tcp=True),
        "mysql": maria.uri(),
        "serve": f"postgresql://tester@{server.host}:{server.port}/memory",
        "sqlite": f"sqlite:///{file}",
    }


def run(windows: wine.Windows, program: str, *arguments: object, **variables: str) -> str:
    """Runs a program with `colonnade` and `sys` imported."""
    start = "import colonnade, sys\n"
    return windows.run("-c", start + textwrap.dedent(program), *arguments, env=variables)


def command(windows: wine.Windows, *arguments: object, status: int = 0, **variables: str) -> str:
    """Runs the command `colonnade`. Returns its standard output, or after an error its standard error."""
    found, out, err = windows.ended("-m", "colonnade", *arguments, env={"PYTHONIOENCODING": "", **variables})
    assert found == status, f"{out}\n{err}"
    return err if status else out


@pytest.mark.parametrize("wheel", [PACKAGE, DRIVER], ids=lambda wheel: wheel.name.split("-")[0])
def test_wheels(wheel: Path) -> None:
    assert "win_amd64" in release.check(wheel)


def test_it_is_windows(windows: wine.Windows) -> None:
    program = "import platform; print(colonnade.__version__, platform.system(), platform.machine())"
    assert run(windows, program).split() == [VERSION, "Windows", "AMD64"]


@pytest.mark.parametrize("source", ["postgresql", "mysql", "serve", "sqlite"])
def test_every_kind_of_result(windows: wine.Windows, uris: dict[str, str], source: str) -> None:
    query = programs.QUERIES[source]
    assert run(windows, programs.EVERY_RESULT, uris[source], query).split() == ["arrow", "pandas", "polars", "numpy"]


def test_a_million_rows_are_those_of_linux(windows: wine.Windows, cluster: pg.Cluster, tmp_path: Path) -> None:
    """All values of all types."""
    uri, query, file = cluster.uri(tcp=True), programs.million(MILLION), tmp_path / "there.arrow"
    run(windows, programs.KEPT, uri, query, wine.windows_path(file))
    here = colonnade.read_sql(uri, query, return_type="arrow")
    with pa.memory_map(str(file)) as opened:
        there = pa.ipc.open_file(opened).read_all()
    assert here.num_rows == MILLION
    assert there.equals(here)


def test_passwords_and_certificates(windows: wine.Windows, cluster: pg.Cluster) -> None:
    """SCRAM over TLS with the authority's certificate, and errors for another name and another password."""
    info = f"hostaddr=127.0.0.1 port={cluster.port} user=by_scram dbname=postgres"
    certificate = wine.windows_path(cluster.directory / "ca.crt").replace("\\", "\\\\")
    verified = f"{info} sslmode=verify-full sslrootcert='{certificate}' channel_binding=require"
    run(windows, programs.SCRAM, f"{verified} host={HOST}", f"{verified} host=other.example", PASSWORD)


def test_files_of_the_user(windows: wine.Windows, cluster: pg.Cluster, tmp_path: Path) -> None:
    r"""The password, the service and the authorities in %APPDATA%\postgresql."""
    folder = tmp_path / "postgresql"
    folder.mkdir()
    escaped = PASSWORD.replace("\\", "\\\\").replace(":", "\\:")
    (folder / "pgpass.conf").write_text(f"*:*:*:by_scram:{escaped}\n")
    service = f"[shop]\nhost={HOST}\nhostaddr=127.0.0.1\nport={cluster.port}\nuser=by_scram\ndbname=postgres\n"
    (folder / ".pg_service.conf").write_text(service)
    shutil.copyfile(cluster.directory / "ca.crt", folder / "root.crt")
    program = """
        import os
        os.environ["APPDATA"] = sys.argv[1]
        query = "select ssl, current_user::text as name from pg_stat_ssl where pid = pg_backend_pid()"
        table = colonnade.read_sql("service=shop sslmode=verify-full", query, return_type="arrow")
        assert table.to_pylist() == [{"ssl": True, "name": "by_scram"}], table
    """
    run(windows, program, wine.windows_path(tmp_path))


@pytest.mark.parametrize("source", ["postgresql", "mysql", "serve", "sqlite"])
def test_writes(windows: wine.Windows, uris: dict[str, str], source: str) -> None:
    run(windows, programs.WRITE, uris[source])


@pytest.mark.parametrize("name", ["DBAPI", "AIO", "SCAN", "PARTITIONS", "INTERRUPTED"])
def test_ways_to_use_it(windows: wine.Windows, uris: dict[str, str], name: str) -> None:
    run(windows, getattr(programs, name), uris["postgresql"])


def test_duckdb(windows: wine.Windows, tmp_path: Path) -> None:
    run(windows, programs.DUCKDB, wine.windows_path(tmp_path / "ä b.duckdb"))


def test_the_adbc_driver(windows: wine.Windows, uris: dict[str, str]) -> None:
    """By its package, and by its name from the user's folder of manifests."""
    for uri in (uris["sqlite"], uris["postgresql"]):
        run(windows, programs.ADBC, uri)
    shown = command(windows, "adbc", "show").splitlines()
    assert shown[0].endswith("\\AppData\\Local\\ADBC\\Drivers\t")
    assert shown[1] == "system\tHKEY_LOCAL_MACHINE\\SOFTWARE\\ADBC\\Drivers\\colonnade\t"
    run(windows, programs.ADBC_INSTALLED, uris["sqlite"])


def test_the_command(windows: wine.Windows, uris: dict[str, str], tmp_path: Path) -> None:
    assert command(windows, "--version").strip() == f"colonnade {VERSION}"
    assert "orders" in command(windows, "tables", uris["sqlite"])
    # The code page of a pipe lacks this character.
    assert "käse 漢" in command(windows, "read", uris["postgresql"], "select 'käse 漢' as name")
    for kind in ("parquet", "csv", "arrow", "ndjson"):
        file = tmp_path / f"ö.{kind}"
        for _ in range(2):
            # The second one replaces the first.
            command(windows, "read", uris["sqlite"], "select * from orders", "-o", wine.windows_path(file))
        assert [path.name for path in tmp_path.glob(f"*{kind}*")] == [file.name]
    with colonnade.connect(uris["postgresql"]) as connection:
        for kind in ("parquet", "arrow"):
            command(windows, "write", wine.windows_path(tmp_path / f"ö.{kind}"), uris["postgresql"], f"from_{kind}")
            found = connection.query(f"select count(*) as n, sum(id)::int8 as s from from_{kind}").to_arrow()
            assert found.to_pylist() == [{"n": 1000, "s": 500500}]
    folder = tmp_path / "parts"
    query = "select id, id % 3 as third from orders"
    command(windows, "read", uris["sqlite"], query, "-o", wine.windows_path(folder), "--partition-by", "third")
    assert sorted(path.name for path in folder.iterdir()) == [f"third={number}" for number in range(3)]


def test_the_command_reports(windows: wine.Windows, uris: dict[str, str]) -> None:
    state = json.loads(command(windows, "doctor", "--json", uris["postgresql"]))
    assert state["installation"]["memory"] is None
    assert "windows" in state["installation"]["platform"].lower()
    told = command(
        windows, "bench", uris["postgresql"], "select * from kinds", "--rounds", "1", "--clients", "colonnade"
    )
    assert "the system is not Linux" in told


@pytest.mark.parametrize("name", ["serve", "user", "udf", "ml"])
def test_the_server_runs_elsewhere(windows: wine.Windows, name: str) -> None:
    error = command(windows, name, "--help", status=1)
    assert error.startswith(f"colonnade: colonnade {name} runs on Linux only: use WSL 2")
