"""`colonnade doctor`, with real servers."""

from __future__ import annotations

import json
import os
import platform
import socket
import sqlite3
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import colonnade
import pytest
from colonnade._cli.advice import advice
from colonnade._cli.installation import installation, is_in_range
from colonnade._cli.source_check import SourceReport
from packaging.specifiers import SpecifierSet

from tests.command_line.commands import run
from tests.support.certificates import Authority, serve_options
from tests.support.users import add_user
from tests.testbed import mariadb
from tests.testbed import postgres as pg
from tests.testbed.serving import serve

PASSWORD = "correct horse/battery"
ESCAPED = "correct%20horse%2Fbattery"


def report(*arguments: object, status: int = 0, **options: Any) -> dict[str, Any]:
    """The JSON of the command, which ends with this status."""
    done = run("doctor", "--json", *arguments, **options)
    assert (done.returncode, done.stderr) == (status, "")
    assert PASSWORD not in done.stdout and ESCAPED not in done.stdout
    return json.loads(done.stdout)


def advised(found: dict[str, Any]) -> str:
    """What the report says to do, without what depends on this build of the package."""
    return "\n".join(one["how"] for one in found["advice"] if "debug assertions" not in one["what"])


# --- the installation -------------------------------------------------------------------------------------------------


def test_without_a_database() -> None:
    found = report()
    installed = found["installation"]
    assert (installed["colonnade"], installed["python"].split()[-1]) == (
        colonnade.__version__,
        platform.python_version(),
    )
    assert installed["location"] == str(Path(colonnade.__file__).parent)
    assert installed["cpus"] == len(os.sched_getaffinity(0))
    assert installed["libc"].split() == [*platform.libc_ver()]
    assert installed["packages"]["duckdb"] == metadata.version("duckdb")
    states = {extra["name"]: extra["state"] for extra in installed["extras"]}
    assert states["duckdb"] == states["pyarrow"] == "ready"
    assert found["source"] is None


def test_the_readable_form() -> None:
    done = run("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Installation\n")
    for text in (f"colonnade       {colonnade.__version__}, ", f"duckdb {metadata.version('duckdb')}", "extras   "):
        assert text in done.stdout
    assert "Database" not in done.stdout


def test_a_version_that_is_not_supported(tmp_path: Path) -> None:
    """Metadata of a package that comes first on the path, as after an upgrade."""
    (tmp_path / "duckdb-3.1.0.dist-info").mkdir()
    (tmp_path / "duckdb-3.1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: duckdb\nVersion: 3.1.0\n")
    path = os.pathsep.join([str(tmp_path), str(Path(colonnade.__file__).parents[1])])
    environment = os.environ | {"PYTHONPATH": path}
    extras = {extra["name"]: extra for extra in report(status=1, env=environment)["installation"]["extras"]}
    assert extras["duckdb"]["state"] == extras["serve"]["state"] == "unsupported"
    assert extras["duckdb"]["unsupported"] == ["duckdb 3.1.0 is not in >=2.0.1,<3"]
    assert extras["pyarrow"]["state"] == "ready"
    assert "unsupported     duckdb: duckdb 3.1.0 is not in >=2.0.1,<3\n" in run("doctor", env=environment).stdout


@pytest.mark.parametrize("range_", ["", ">=2.0", "<3,>=2.0", ">=2.0,<2.1", ">=25", "<2.1.0"])
def test_ranges_mean_what_pip_takes_them_for(range_: str) -> None:
    versions = "1.9 2 2.0 2.0.0 2.0.0rc1 2.0.0.dev4 2.0.0a1 2.0.1+cpu 2.0.post1 2.1 2.1rc1 2.1.0.1 2.10 3 3.0b2 25.0 99"
    for version in versions.split():
        assert is_in_range(version, range_) == SpecifierSet(range_).contains(version, prereleases=True), version


def test_a_range_of_another_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="none of >=, < and =="):
        is_in_range("2.0", "~=2.0")
    assert not is_in_range("unknown", "")


# --- servers ----------------------------------------------------------------------------------------------------------


def measured(source: dict[str, Any]) -> None:
    """Times and a throughput were measured, and nothing went wrong."""
    assert source["error"] is source["unfinished"] is None
    assert (source["reachable"], source["login"], source["remarks"]) == (True, "accepted", [])
    assert 0 < source["round_trip"]["lowest"] <= source["round_trip"]["median"]
    read = source["throughput"]
    assert read["bytes"] >= 65_536
    assert read["bytes_per_second"] == pytest.approx(read["bytes"] / read["seconds"])


def test_postgresql_as_it_is(stock: pg.Cluster) -> None:
    found = report(stock.uri(tcp=True))
    source = found["source"]
    measured(source)
    assert source["server"].startswith("PostgreSQL ")
    assert (source["stream_format"], source["socket"], source["tls"]) == (None, "loopback", None)
    assert source["extension"] == {"installed": None, "available": None}
    assert "make -C pg" in advised(found)
    assert report(stock.uri())["source"]["socket"] == "unix"


def test_the_extension_is_there(extended: pg.Cluster) -> None:
    found = report(extended.uri())
    source = found["source"]
    measured(source)
    assert source["stream_format"]["encoder"] == "extension"
    assert source["extension"]["installed"] == source["extension"]["available"] == colonnade.__version__
    assert advised(found) == ""
    assert "compressed columns from the extension, format " in run("doctor", extended.uri()).stdout


@pytest.fixture
def bare(extended: pg.Cluster) -> Iterator[str]:
    """A database without the extension, on a server that has its files."""
    with extended.connect() as session:
        session.execute("create database bare")
        yield "bare"
        session.execute("drop database bare with (force)")


def test_files_of_the_extension_without_the_extension(extended: pg.Cluster, bare: str) -> None:
    found = report(extended.uri(bare))
    assert found["source"]["extension"] == {"installed": None, "available": colonnade.__version__}
    assert found["source"]["stream_format"] is None
    assert "CREATE EXTENSION colonnade" in advised(found)
    with extended.connect(bare) as session:
        session.execute("create extension colonnade")
        # As after an upgrade of the files.
        session.execute("update pg_extension set extversion = '0.0.9' where extname = 'colonnade'")
    found = report(extended.uri(bare))
    assert found["source"]["extension"] == {"installed": "0.0.9", "available": colonnade.__version__}
    assert advised(found).endswith("ALTER EXTENSION colonnade UPDATE")


def test_colonnade_serve(uri: str, unix_uri: str) -> None:
    found = report(uri)
    measured(found["source"])
    assert found["source"]["stream_format"]["encoder"] == "server"
    assert (found["source"]["socket"], found["source"]["extension"], advised(found)) == ("loopback", None, "")
    assert report(unix_uri)["source"]["socket"] == "unix"


def test_mariadb(maria: mariadb.Server) -> None:
    found = report(maria.uri())
    measured(found["source"])
    assert found["source"]["server"].startswith("MariaDB ")
    assert (found["source"]["stream_format"], found["source"]["extension"]) == (None, None)
    assert ("partition_num" in advised(found)) == (len(os.sched_getaffinity(0)) > 1)


@pytest.mark.parametrize("library", ["sqlite", "duckdb"])
def test_a_database_in_this_process(tmp_path: Path, library: str) -> None:
    sqlite3.connect(tmp_path / "a.db").close()
    uri = f"sqlite:///{tmp_path}/a.db" if library == "sqlite" else "duckdb:///:memory:"
    source = report(uri)["source"]
    assert (source["login"], source["socket"], source["round_trip"]) == ("accepted", None, None)
    assert "from a library in this process" in run("doctor", uri).stdout


def test_encryption_logins_and_passwords(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ca", "Root")
    options = serve_options(tmp_path, authority, "server")
    users = Path(options[options.index("--users") + 1])
    add_user(users, "ada", PASSWORD)
    with serve(*options, "--listen", "127.0.0.1:0") as server:
        address = f"ada:{ESCAPED}@127.0.0.1:{server.port}/memory"
        roots = f"sslmode=verify-full&sslrootcert={authority.certificate}"
        source = report(f"postgresql://{address}?{roots}")["source"]
        measured(source)
        assert source["tls"] == {"version": "TLSv1.3", "cipher": source["tls"]["cipher"], "verified": True}
        assert source["tls"]["cipher"].startswith("TLS13_")
        assert "TLSv1.3 (TLS13_" in run("doctor", f"postgresql://{address}?{roots}").stdout
        assert report(f"postgresql://{address}?sslmode=require")["source"]["tls"]["verified"] is False
        # The same by keywords and by the environment.
        words = f"host=127.0.0.1 port={server.port} user=ada dbname=memory sslmode=require"
        assert report(f"{words} password='{PASSWORD}'")["source"]["login"] == "accepted"
        report(words, env=os.environ | {"PGPASSWORD": PASSWORD})
        refused = report(f"postgresql://eve:{ESCAPED}@127.0.0.1:{server.port}/memory?sslmode=require", status=1)
        source = refused["source"]
        assert (source["reachable"], source["login"], source["error"]["sqlstate"]) == (True, "refused", "28P01")
        assert source["name"] == f"postgresql://eve@127.0.0.1:{server.port}/memory"


# --- faults -----------------------------------------------------------------------------------------------------------


def test_nothing_is_reachable() -> None:
    uri = f"postgresql://ada:{ESCAPED}@127.0.0.1:1/shop"
    source = report(uri, status=1)["source"]
    assert (source["name"], source["reachable"], source["login"]) == ("postgresql://ada@127.0.0.1:1/shop", False, None)
    assert "refused" in source["error"]["message"] and source["error"]["hint"]
    done = run("doctor", uri)
    assert (done.returncode, done.stderr) == (1, "")
    assert "reachable       no\n" in done.stdout
    assert "hint            check that the server runs" in done.stdout


def test_a_server_that_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"postgresql://ada:{ESCAPED}@127.0.0.1:{silent.getsockname()[1]}/shop"
        source = report("--timeout", 0.5, uri, status=1)["source"]
        assert source["unfinished"] == "connecting did not end within 0.5 s"
        assert "no answer       connecting did not end" in run("doctor", "--timeout", 0.5, uri).stdout


@pytest.mark.parametrize(
    "uri", ["nonsense", "oracle://ada@db/shop", "duckdb:///no/such/file.duckdb", "odbc:", "mysql://[::1"]
)
def test_a_uri_that_names_nothing(uri: str) -> None:
    source = report(uri, status=1)["source"]
    assert source["error"]["message"]
    assert (source["reachable"], source["login"]) == (None, None)


def test_a_port_of_another_protocol(maria: mariadb.Server) -> None:
    source = report(f"postgresql://ada@127.0.0.1:{maria.port}/shop?sslmode=disable", status=1)["source"]
    assert (source["reachable"], source["login"]) == (True, None)
    assert source["error"]["message"]


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_a_time_limit_that_is_none(seconds: str) -> None:
    done = run("doctor", f"--timeout={seconds}")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--timeout must be a number of seconds above 0" in done.stderr


# --- advice -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bytes_per_second", "kind", "encoder", "expected"),
    [
        (10e6, "tcp", None, True),
        (200e6, "tcp", None, False),
        (10e6, "loopback", None, False),
        (10e6, "tcp", "server", False),
        (None, "tcp", None, False),
    ],
)
def test_a_server_near_the_database(
    bytes_per_second: float | None, kind: str, encoder: str | None, expected: bool
) -> None:
    """It is advised only where rows come over a slow link. Such a link would need the rights of root."""
    read = bytes_per_second and {"bytes": 1e6, "seconds": 1e6 / bytes_per_second, "bytes_per_second": bytes_per_second}
    source = SourceReport(
        name="mysql://ada@db/shop",
        reachable=True,
        login="accepted",
        socket=kind,
        throughput=read or None,
        stream_format=encoder and {"encoder": encoder, "version": 1},
    )
    how = [one.how for one in advice(installation(), source)]
    assert any("colonnade serve --source" in text for text in how) is expected


def test_no_advice_about_a_database_that_cannot_be_read() -> None:
    source = SourceReport(error={"message": "x", "sqlstate": None, "hint": None}, extension={"installed": None})
    assert [one.what for one in advice(installation(), source)] == [one.what for one in advice(installation(), None)]
