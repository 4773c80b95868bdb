"""`colonnade tables`, `colonnade schema` and `colonnade completion`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.command_line.commands import failed, run
from tests.testbed import postgres as pg


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "create table orders as select i, 'x' as \"odd \x1b[31mname\", 1.5::decimal(10, 2) as total"
            " from range(7) t(i)"
        )
        connection.execute("create view latest as select * from orders")
    return f"duckdb:///{path}"


def test_tables(file: str) -> None:
    done = run("tables", file)
    assert (done.returncode, done.stderr) == (0, "")
    head, rule, *rows, count = done.stdout.splitlines()
    assert [cell.strip() for cell in head.split("|")] == ["catalog", "schema", "name", "type", "rows"]
    assert set(rule) == {"-", "+"}
    assert [[cell.strip() for cell in row.split("|")] for row in rows] == [
        ["a", "main", "latest", "view", ""],
        ["a", "main", "orders", "table", "~7"],
    ]
    assert count == "(2 rows)"


def test_tables_as_json(file: str) -> None:
    view, table = json.loads(run("tables", file, "--json").stdout)
    assert (view["name"], view["type"], view["estimated_rows"]) == ("latest", "view", None)
    assert table == {"catalog": "a", "schema": "main", "name": "orders", "type": "table", "estimated_rows": 7}


def test_schema(file: str) -> None:
    done = run("schema", file, "orders")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split("|")[-1].strip() for line in done.stdout.splitlines()[2:-1]] == [
        "int64",
        "string",
        "decimal128(10, 2)",
    ]
    assert "odd \\x1b[31mname" in done.stdout
    found = json.loads(run("schema", file, "orders", "--schema", "main", "--json").stdout)
    assert [column["name"] for column in found] == ["i", "odd \x1b[31mname", "total"]


def test_the_databases_own_type_of_a_text(stock: pg.Cluster) -> None:
    with stock.connect() as session:
        session.execute('create table "Own Types" (n int, p numeric, r int4range)')
    found = json.loads(run("schema", stock.uri(), "Own Types", "--json").stdout)
    assert [column["database_type"] for column in found] == [None, "numeric", "int4range"]
    assert "| int4range" in run("schema", stock.uri(), "Own Types", "--schema", "public").stdout


def test_a_reader_that_has_gone(file: str) -> None:
    command = [sys.executable, "-m", "colonnade", "tables", file]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (1, b"")


def test_what_is_not_there(file: str) -> None:
    assert "no_such_table" in failed("schema", file, "no_such_table")
    assert "refused" in failed("tables", "postgresql://127.0.0.1:1/")


def test_bash_completes_commands_and_options() -> None:
    pytest.importorskip("shtab")
    script = run("completion", "bash").stdout
    # As the shell does at Tab: the function of the command fills COMPREPLY.
    asked = (
        'COMP_WORDS=(colonnade %s); COMP_CWORD=%d; read -ra spec <<< "$(complete -p colonnade)"\n'
        'for i in "${!spec[@]}"; do [ "${spec[i]}" = -F ] && "${spec[i + 1]}"; done; echo "${COMPREPLY[@]}"'
    )

    def completed(words: str, position: int) -> list[str]:
        done = subprocess.run(
            ["bash", "-c", f"{script}\n{asked % (words, position)}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.stderr == ""
        return done.stdout.split()

    assert set(completed("", 1)) >= {"read", "tables", "schema", "serve", "doctor", "completion"}
    assert set(completed("doctor --", 2)) >= {"--json", "--timeout"}
    assert set(completed("read --part", 2)) == {"--partition-by", "--partition-num", "--partition-on"}


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells(shell: str) -> None:
    pytest.importorskip("shtab")
    assert "partition-by" in run("completion", shell).stdout
