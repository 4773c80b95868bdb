"""Functions in the server's own process: the same as in other processes, and only where nobody else can call them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.functions.plans import Caller
from tests.functions.sessions import connected
from tests.functions.type_values import NESTED, VALUES
from tests.testbed.serving import Server, serve


@pytest.mark.parametrize("type_", [*VALUES, *NESTED])
def test_a_value_comes_back(anywhere: Caller, type_: str) -> None:
    anywhere.define("same", {"x": type_}, type_, "return x", volatility="v")
    anywhere.define("strict", {"x": type_}, type_, "return x", strict=True)
    listed = ", ".join(f"(CAST({value} AS {type_}))" for value in [*(VALUES | NESTED)[type_], "NULL"])
    rows = anywhere.rows(f"SELECT x::VARCHAR, same(x)::VARCHAR, strict(x)::VARCHAR FROM (VALUES {listed}) t(x)")
    assert all(given == found == again for given, found, again in rows)


def test_rows_groups_and_errors(anywhere: Caller) -> None:
    anywhere.define("rest", {"x": "INTEGER"}, "INTEGER", "return x % 100")
    anywhere.define("total", {"x": "INTEGER"}, "BIGINT", "return numpy.bincount(aggr_group, x)", kind="aggregate")
    anywhere.define("largest", {"x": "INTEGER"}, "INTEGER", "return x.max()", kind="aggregate_per_group")
    anywhere.define("fails", {"x": "INTEGER"}, "INTEGER", "if x[0] < 0:\n  raise ValueError('no')\nreturn 1 / x")
    source = "FROM (SELECT x::INTEGER AS x FROM range(100000) t(x))"
    assert anywhere.value(f"SELECT sum(rest(x)) {source}") == 4_950_000
    groups = anywhere.rows(f"SELECT x % 3, total(x), largest(x) {source} GROUP BY 1 ORDER BY 1")
    assert groups == [(0, 1666683333, 99999), (1, 1666616667, 99997), (2, 1666650000, 99998)]
    failure = anywhere.failure("SELECT fails(-1)")
    assert (failure["code"], failure["message"], failure["line"]) == ("38000", "ValueError: no", 2)
    assert failure["context"] == 'function "main.fails", line 2'
    assert anywhere.failure("SELECT fails(0)")["code"] == "22003"


def test_printed_text_is_a_notice(anywhere: Caller, capfd: pytest.CaptureFixture[str]) -> None:
    anywhere.define("says", {"x": "INTEGER"}, "INTEGER", "print('x is', x[0]); return x", volatility="v")
    assert anywhere.value("SELECT says(3)") == 3
    assert anywhere.session.take_notices() == "x is 3\n"
    assert capfd.readouterr().out == ""


def test_functions_have_variables_of_their_own(anywhere: Caller) -> None:
    anywhere.define("counts", {"x": "INTEGER"}, "INTEGER", "global n\nn = globals().get('n', 0) + 1\nreturn n")
    anywhere.define("other", {"x": "INTEGER"}, "BOOLEAN", "return 'n' in globals()")
    anywhere.connection.execute("SET threads = 1")
    assert [anywhere.value(f"SELECT counts({x})") for x in range(3)] == [1, 2, 3]
    assert anywhere.value("SELECT other(1)") is False


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve("--udf", "--udf-isolation", "none", "--udf-preload", "json") as made:
        yield made


def run(connection: psycopg.Connection, source: str) -> object:
    connection.execute(
        b"CREATE OR REPLACE FUNCTION one(x INTEGER) RETURNS VARCHAR LANGUAGE PYTHON_MAP AS $$" + source.encode() + b"$$"
    )
    row = connection.execute(b"SELECT one(x) FROM (VALUES (1)) t(x)").fetchone()
    assert row is not None
    return row[0]


def test_they_run_in_the_server(server: Server) -> None:
    with connected(server) as connection:
        assert run(connection, "import os; return [str(os.getpid())]") == str(server.worker)
        assert run(connection, "import wave, json; return [wave.__name__]") == "wave", "a library that was not loaded"
        with pytest.raises(psycopg.Error, match="run no queries with --udf-isolation=none"):
            run(connection, "_conn.execute('SELECT 1')")
        with pytest.raises(psycopg.Error, match="PermissionError"):
            run(connection, "return open('/etc/hostname').read()")
        with pytest.raises(psycopg.Error) as caught:
            run(connection, "raise SystemExit(3)")
        assert caught.value.sqlstate == "38000"
        assert run(connection, "return ['still there']") == "still there"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--users", "users.toml"), "goes without --users"),
        (("--listen", "0.0.0.0:0"), "goes with a loopback address"),
        (("--udf-python", sys.executable), "--udf-python is for processes"),
        (("--udf-user", "nobody"), "--udf-user is for processes"),
        (("--udf-read", "/usr"), "--udf-read is for processes"),
    ],
)
def test_what_does_not_go_with_it(options: tuple[str, ...], reason: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "colonnade", "serve", "--udf", "--udf-isolation", "none", *options]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
    assert ended.returncode == 1
    assert reason in ended.stderr
