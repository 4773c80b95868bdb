"""Memory that is gone at any step of a transaction: what a client was told of it is so."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from tests.attacks.attackers import Target, target


@contextmanager
def without_memory(target: Target) -> Iterator[None]:
    """The operating system gives the worker no more memory. What its allocators have kept is left to it."""
    worker = target.server.worker
    before = resource.prlimit(worker, resource.RLIMIT_DATA)
    resource.prlimit(worker, resource.RLIMIT_DATA, (1, before[1]))
    try:
        yield
    finally:
        # The engine's own code may not stand it, which ends the worker. Then there is another one.
        with suppress(ProcessLookupError):
            resource.prlimit(worker, resource.RLIMIT_DATA, before)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with target(tmp_path_factory.mktemp("memory"), "--memory", "500MB", "--threads", "1") as running:
        with running.connect("writer") as writer:
            writer.execute("create table done (i int)")
        yield running


def rows(attacked: Target) -> set[int]:
    with attacked.connect("reader") as reader:
        return {row for (row,) in reader.execute("select i from done")}


#: Statements in turn; each is one simple query.
TRANSACTIONS = {
    "commit": ["begin", "insert into done values ({row})", "commit"],
    "rollback": ["begin", "insert into done values ({row})", "rollback"],
    "several statements": ["insert into done values ({row}); select 1"],
    "one statement": ["insert into done values ({row})"],
    "numbered columns": ["create temp table own_{row} (i serial)", "insert into done values ({row})"],
}
STEPS = [(name, step) for name, statements in TRANSACTIONS.items() for step in range(len(statements))]


@pytest.mark.parametrize("number", range(len(STEPS)), ids=[f"{name} {step}" for name, step in STEPS])
def test_a_transaction_is_what_the_client_was_told(attacked: Target, number: int) -> None:
    name, at = STEPS[number]
    row, marker = 2 * number, 2 * number + 1
    with attacked.connect("writer") as session:
        failed = []
        for step, statement in enumerate(TRANSACTIONS[name]):
            try:
                if step == at:
                    with without_memory(attacked):
                        session.execute(statement.format(row=row))
                else:
                    session.execute(statement.format(row=row))
            except psycopg.Error as error:
                failed.append((step, error.sqlstate))
                break
        assert not failed or failed[0][0] == at, failed
        if not session.closed and session.info.transaction_status == TransactionStatus.IDLE:
            # No transaction is open: another session sees this at once.
            session.execute("insert into done values (%s)", [marker])
            assert marker in rows(attacked)
    assert attacked.canary() == ("alive",)
    # Without an answer to a statement that commits, nobody can tell whether it has.
    is_unknown = failed and failed[0][1] is None and at == len(TRANSACTIONS[name]) - 1 and name != "rollback"
    assert is_unknown or (row in rows(attacked)) == (name != "rollback" and not failed), failed


def test_a_readers_next_statement_sees_what_was_committed_meanwhile(attacked: Target) -> None:
    with attacked.connect("reader") as reader, attacked.connect("writer") as writer:
        for row in (1000, 1001):
            with without_memory(attacked), pytest.raises(psycopg.Error) as error:
                reader.execute("select count(*) from done")
            if reader.closed:
                assert error.value.sqlstate in (None, "57P02")
                return
            writer.execute("insert into done values (%s)", [row])
            found = reader.execute("select count(*) from done where i = %s", [row]).fetchone()
            assert found == (1,)


def test_what_the_server_needs_for_a_message_is_there(attacked: Target) -> None:
    """It belongs to the session's budget, and is no error: the code around the engine cannot go on without it."""
    with attacked.connect("reader") as reader:
        worker = attacked.server.worker
        with without_memory(attacked):
            for size in (100_000, 1_000_000, 10_000_000):
                reader.execute("show server_version")
                assert reader.execute(f"/* {'x' * size} */ show server_version").fetchone() is not None
        assert attacked.server.worker == worker
