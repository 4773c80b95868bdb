"""Tools that are not run here: the statements that they send, recorded or from their sources, all run for readers and
writers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tooling import USERS, Shop, shop

STATEMENTS = Path(__file__).with_name("clients") / "statements"


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
