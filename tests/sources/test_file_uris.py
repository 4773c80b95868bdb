"""`duckdb:` and `sqlite:` URIs: which file they name, and that reading creates none."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import colonnade
import duckdb
import pytest
from sqlalchemy.engine import make_url

from tests.testbed.serving import serve


def make(scheme: str, path: Path) -> None:
    """A database with one table."""
    if scheme == "duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.execute("create table t as select 42 as a")
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("create table t as select 42 as a")


@pytest.fixture(params=["duckdb", "sqlite"])
def scheme(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a database `lab.db` in the current directory."""
    make(request.param, tmp_path / "lab.db")
    monkeypatch.chdir(tmp_path)
    return request.param


def answer(uri: str) -> object:
    return colonnade.read_sql(uri, "select a from t", return_type="arrow").column(0)[0].as_py()


def test_paths_are_what_sqlalchemy_reads(scheme: str, tmp_path: Path) -> None:
    for uri in (f"{scheme}:///lab.db", f"{scheme}:////{str(tmp_path)[1:]}/lab.db", f"{scheme}:///./lab.db"):
        assert Path(str(make_url(uri).database)).samefile(tmp_path / "lab.db")
        assert answer(uri) == 42
        with colonnade.connect(uri) as connection:
            assert connection.name == uri
    assert answer(f"{scheme}:lab.db") == answer(f"{scheme}:{tmp_path}/lab.db") == 42


def test_the_other_kind_of_path_is_named_if_it_is_that_of_a_file(scheme: str, tmp_path: Path) -> None:
    rest = str(tmp_path / "lab.db")[1:]
    for wrong, right in (
        (f"{scheme}:///{rest}", f"{scheme}:////{rest}"),
        (f"{scheme}:////lab.db", f"{scheme}:///lab.db"),
    ):
        with pytest.raises(colonnade.OperationalError, match="there is no such file") as caught:
            colonnade.connect(wrong)
        assert caught.value.hint is not None and caught.value.hint.endswith(f" write {right}")
        assert caught.value.source == wrong
        assert answer(right) == 42


def test_reading_creates_no_file(scheme: str, tmp_path: Path) -> None:
    for uri in (f"{scheme}:///nofile.db", f"{scheme}:nofile.db", f"{scheme}:///{tmp_path}/nofile.db"):
        with pytest.raises(colonnade.OperationalError, match=r"there is no such file.*none is created"):
            colonnade.read_sql(uri, "select 1")
        done = subprocess.run(
            [sys.executable, "-m", "colonnade", "read", uri, "select 1"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert "there is no such file" in done.stderr
    with pytest.raises(colonnade.OperationalError, match="directory"):
        colonnade.connect(f"{scheme}:///.")
    assert [path.name for path in tmp_path.iterdir()] == ["lab.db"]


def test_a_host_is_refused_with_what_to_write(scheme: str) -> None:
    with pytest.raises(colonnade.InterfaceError, match="names no host") as caught:
        colonnade.connect(f"{scheme}://lab.db")
    assert caught.value.hint == (
        f"write {scheme}:///lab.db for a relative path, {scheme}:////lab.db for an absolute one"
    )


def test_a_duckdb_file_to_read_only(tmp_path: Path) -> None:
    make("duckdb", tmp_path / "lab.db")
    uri = f"duckdb:///{tmp_path}/lab.db"
    for mode in ("read_only", "READ_ONLY"):
        with colonnade.connect(f"{uri}?access_mode={mode}") as connection:
            with pytest.raises(colonnade.Error, match="read-only"):
                connection.execute("insert into t values (1)")
            # Others may read it meanwhile, in other processes too.
            script = "import duckdb, sys; print(duckdb.connect(sys.argv[1], read_only=True).sql('from t').fetchall())"
            command = [sys.executable, "-c", script, str(tmp_path / "lab.db")]
            assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[(42,)]\n"
    with colonnade.connect(f"{uri}?access_mode=read_write") as connection:
        assert connection.execute("insert into t values (1)") == 1
        script = "import colonnade, sys; colonnade.connect(sys.argv[1])"
        done = subprocess.run([sys.executable, "-c", script, uri], capture_output=True, text=True, check=False)
        assert (
            "Hint: several processes can read the file if all of them open it with ?access_mode=read_only"
            in done.stderr
        )
    for wrong in ("access_mode=none", "mode=ro", "access_mode="):
        with pytest.raises(colonnade.InterfaceError, match=rf"no parameter {wrong}.*access_mode=read_only"):
            colonnade.connect(f"{uri}?{wrong}")


def test_an_sqlite_file_is_none_of_duckdb(tmp_path: Path) -> None:
    # DuckDB would download an extension for it.
    path = tmp_path / "lab.db"
    make("sqlite", path)
    with pytest.raises(colonnade.OperationalError, match="the file is an SQLite database") as caught:
        colonnade.connect(f"duckdb:///{path}")
    assert caught.value.hint == f"write sqlite:///{path}"
    assert answer(f"sqlite:///{path}") == 42
    with (
        pytest.raises(RuntimeError, match="is an SQLite database: serve it by --source sqlite:"),
        serve(path),
    ):
        pass


def test_serving_creates_a_file_only_when_told_to(tmp_path: Path) -> None:
    path = tmp_path / "new.duckdb"
    for options in ((), ("--read-only",), ("--read-only", "--create")):
        with pytest.raises(RuntimeError, match=rf"there is no file {path}"), serve(path, *options):
            pass
    assert list(tmp_path.iterdir()) == []
    with serve(path, "--create") as server:
        assert colonnade.read_sql(f"postgresql://{server.host}:{server.port}/", "select 1 as a")["a"].tolist() == [1]
    assert path.exists()
    with serve(path):
        pass


def test_serving_a_file_refuses_another_databases_name(tmp_path: Path) -> None:
    make("duckdb", tmp_path / "lab.duckdb")
    with serve(tmp_path / "lab.duckdb") as server:
        place = f"postgresql://ada@{server.host}:{server.port}"
        # libpq sends the user's name where no database is named.
        for name in ("", "/", "/lab", "/LAB", "/ada"):
            assert answer(place + name) == 42
        for name in ("nosuch", "main", "lab.duckdb"):
            with pytest.raises(colonnade.Error, match=f'database "{name}" does not exist') as caught:
                colonnade.connect(f"{place}/{name}")
            assert caught.value.sqlstate == "3D000"
            assert caught.value.hint == 'This server has the database "lab".'
    # A database in memory has no name that anybody could know.
    with serve() as server:
        assert colonnade.read_sql(f"postgresql://{server.host}:{server.port}/any", "select 1 as a")["a"].tolist() == [1]


def test_a_key_that_is_no_column_is_refused_where_nothing_is_cut(scheme: str, uri: str) -> None:
    for source in (f"{scheme}:///lab.db", uri):
        sql = "select 1 as a, 2 as b"
        for number in (1, 2) if source == uri or scheme == "duckdb" else (1,):
            table = colonnade.read_sql(source, sql, partition_on="A", partition_num=number, return_type="arrow")
            assert table.num_rows == 1
            with pytest.raises(colonnade.InterfaceError, match=r'no column "nosuch".*it has "a", "b"'):
                colonnade.read_sql(source, sql, partition_on="nosuch", partition_num=number)
