"""Mistakes on the command line: what may have been meant, and what to do."""

from __future__ import annotations

import socket
from pathlib import Path

import colonnade
import duckdb
import pytest

from tests.command_line.commands import run
from tests.testbed.serving import serve


@pytest.mark.parametrize(
    ("arguments", "usage", "meant"),
    [
        (("raed", "sqlite:", "select 1"), "colonnade", "read"),
        (("serv",), "colonnade", "serve"),
        (("udf", "psh"), "colonnade udf", "push"),
        (("write", "a.parquet", "sqlite:", "t", "--if-exists", "appned"), "colonnade write", "append"),
        (("serve", "x.duckdb", "--lisen", "5433"), "colonnade serve", "--listen"),
        (("serve", "x.duckdb", "--port", "5433"), "colonnade serve", "--listen 127.0.0.1:PORT"),
        (("serve", "--port=5433"), "colonnade serve", "--listen 127.0.0.1:PORT"),
        (("read", "sqlite:", "select 1", "--ouptut", "x"), "colonnade read", "--output"),
    ],
)
def test_what_was_meant_is_said(arguments: tuple[str, ...], usage: str, meant: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"usage: {usage} [-h]")
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"{usage}: error: ") and said.endswith(f"; did you mean {meant}?")


def test_what_resembles_nothing_has_no_suggestion() -> None:
    assert "did you mean" not in run("xyzzy").stderr
    assert "unrecognized arguments: more" in run("tables", "sqlite:", "more").stderr


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--listen", f"127.0.0.1:{port}")
        assert done.returncode == 1
        assert f"127.0.0.1:{port}" in done.stderr and "--listen" in done.stderr and "os error" not in done.stderr
    # Port 0 takes a free one, as the message says.
    with serve("--listen", "127.0.0.1:0") as running:
        assert running.port


def test_a_file_that_another_process_has(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    duckdb.connect(str(path)).close()
    with serve(path) as running:
        done = run("serve", path, "--listen", "127.0.0.1:0")
        assert done.returncode == 1
        assert "connect to it" in done.stderr and "Traceback" not in done.stderr
        with pytest.raises(colonnade.OperationalError) as caught:
            colonnade.connect(f"duckdb:///{path}")
        assert "connect to it" in (caught.value.hint or "")
        # What both say.
        assert colonnade.read_sql(f"postgresql://tester@{running.host}:{running.port}/shop", "select 1").shape == (1, 1)


def test_the_place_of_an_error_in_a_query_is_shown(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    for uri in (f"sqlite:///{tmp_path}/empty.db", "duckdb:///:memory:"):
        done = run("read", uri, "select 1\n form a nope")
        assert done.returncode == 1
        said, line, caret = done.stderr.splitlines()
        assert said.startswith("colonnade: ") and "syntax error" in said
        assert line.startswith("LINE 2:  form") and line[caret.index("^") :] in ("a nope", "nope")
