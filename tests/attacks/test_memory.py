"""Statements of one line that take memory without end: an error or a new worker, within the memory there is."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.attacks.attackers import Target, target

#: What DuckDB's own limit does not see: the rows of one list, the text of one value, the plan of a statement.
EXCESS = {
    "lists for each row": "select range(100000) from range(16384)",
    "a list of lists": "select [range(1000000) for x in range(1000)]",
    "a padded number": "select printf('%2000000000d', 1)",
    "a repeated text": "select repeat('x', 4000000000)",
    "an aggregated list": "select list(repeat('x', 100000)) from range(100000)",
    "a million columns": "select " + ",".join(["1"] * 1_000_000),
    "functions in functions": "select " + "list_transform([1], lambda x: " * 100 + "1" + ")" * 100,
    "pivots in pivots": "from (" + "pivot (" * 100 + "select 1 as i" + ") on i in (1) using count(*)" * 100 + ")",
    "a cross product": "select max(r) over () from (select random() as r from range(100000) a, range(9999) b)",
}
#: The worker has ended; no memory, no temporary space, cancelled by the limit of time, too complex, too many columns.
NAMED = {"57P02", "53200", "53100", "53400", "57014", "54001", "54011", "54000"}
MEMORY = 500 << 20
#: 1.25 times the memory, what docs/reference/server.md says is added, and what the test's sessions and threads have.
MOST = MEMORY * 5 // 4 + (4 << 30) + 8 * (64 << 20)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    options = ("--memory", "500MB", "--threads", "2", "--temp-size", "100MB", "--statement-timeout", "3")
    with target(tmp_path_factory.mktemp("memory"), *options) as running:
        yield running


@pytest.mark.parametrize("name", EXCESS)
def test_memory_ends(attacked: Target, name: str) -> None:
    try:
        with attacked.connect("reader") as reader:
            # The server sets all rows aside.
            reader.execute(f"declare c cursor with hold for {EXCESS[name]}")
    except psycopg.Error as error:
        # Without a name the session is over: the statement did not stop in time, or the worker died.
        assert error.sqlstate is None or error.sqlstate in NAMED, error
    assert attacked.canary() == ("alive",)
    assert attacked.server.memory("VmHWM") < MOST
