"""Tools that are not run here: the statements that they send, recorded or from their sources, all run for readers and
writers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.tooling import USERS, Shop, shop

STATEMENTS = Path(__file__).parent / "statements"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop(tmp_path_factory.mktemp("tools")) as running:
        yield running


def recorded(source: Path) -> list[str]:
    """One a line, after a line that says where they are from."""
    title, _, *statements = source.read_text().splitlines()
    assert title.startswith("-- ")
    assert all(statement.endswith(";") for statement in statements)
    return statements


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("source", sorted(STATEMENTS.glob("*.sql")), ids=lambda source: source.stem)
def test_recorded_statements_run(running: Shop, source: Path, user: str) -> None:
    failed = []
    with running.connect(user) as connection:
        for statement in recorded(source):
            try:
                # As they are, by the simple protocol.
                connection.execute(statement.encode())
            except psycopg.Error as error:
                failed.append(f"{error}\n    {statement}")
    assert not failed, "\n".join(failed)


def test_grafanas_builder_lists_tables(running: Shop) -> None:
    (statement,) = (one for one in recorded(STATEMENTS / "grafana.sql") if "generate_series" in one)
    with running.connect("reader") as connection:
        tables = connection.execute(statement.encode()).fetchall()
    assert {("customers",), ("orders",), ("spent",)} <= set(tables)


#: Of psql, with what is in their answers.
COMMANDS = {
    r"\d+": "public|orders|table|",
    r"\d+ orders": "For the driver",
    r"\d+ spent": "customer|integer",
    r"\dt+": "What was ordered",
    r"\db": "pg_default",
    r"\det": "",
    r"\des": "",
    r"\dew": "",
    r"\dC": "",
    r"\do": "",
    r"\dc": "",
    r"\da": "",
    r"\dD": "",
    r"\dA": "btree",
    r"\dy": "",
    r"\dP": "",
    r"\df+": "twice",
    r"\sf twice": "CREATE OR REPLACE FUNCTION public.twice(x)",
    r"\sv spent": "SELECT customer",
    r"\l+": "shop",
    r"\dn+": "public",
    r"\di+": "orders_placed",
    r"\ds+": "numbers",
    r"\dRp": "",
    r"\dRs": "",
    r"\dRs+": "",
    r"\dL": "",
    r"\dL+": "",
    r"\dLS": "sql",
    r"\dL sql": "sql",
    r"\dO": "",
    r"\dO+": "",
    r"\dOS": "",
    r"\dX": "",
}


@pytest.mark.parametrize("user", USERS)
def test_psql_commands(running: Shop, user: str) -> None:
    with running.connect("writer") as connection:
        connection.execute("CREATE OR REPLACE MACRO twice(x) AS x + x")
    for command, expected in COMMANDS.items():
        arguments = ["psql", "--no-psqlrc", "--no-align", "--tuples-only", "--command", command]
        environment = os.environ | running.environment(user)
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.stderr == "", command
        assert expected in done.stdout, command
