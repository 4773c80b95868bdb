"""COPY … FROM that is interrupted at any step, its last one included: it is an error, or it is done."""

from __future__ import annotations

import random
import threading
import time

import duckdb
import pyarrow as pa
import pytest
from colonnade_serve._duckdb.engine import Engine
from colonnade_serve._duckdb.session import Session


@pytest.fixture
def session() -> Session:
    session = Engine(":memory:").session()
    session.execute(session.statement_check.allowed("CREATE TABLE kept (i BIGINT)"), 1000, 1 << 20, None)
    return session


def rows(session: Session) -> int:
    answer = session.execute(session.statement_check.allowed("SELECT count(*) AS n FROM kept"), 1000, 1 << 20, None)
    assert answer.stream is not None
    return pa.RecordBatchReader.from_stream(answer.stream).read_all()["n"][0].as_py()


def run(session: Session, sql: str) -> None:
    session.execute(session.statement_check.allowed(sql), 1000, 1 << 20, None)


def insert(session: Session) -> int:
    return session.insert(
        session.statement_check.allowed("INSERT INTO kept SELECT i FROM copied"), "copied", pa.table({"i": [1, 2, 3]})
    )


def test_an_insert_that_is_said_to_be_done_has_not_aborted_its_transaction(session: Session) -> None:
    chance, started = random.Random(7), time.perf_counter()
    for _ in range(20):
        insert(session)
    usual, done, interrupted = (time.perf_counter() - started) / 20, 20, 0

    def interrupt(after: float) -> None:
        time.sleep(after)
        session.interrupt()

    # At any step: some interruptions come early enough, others too late.
    for _ in range(20_000):
        if done >= 300 and interrupted >= 300:
            return
        run(session, "BEGIN")
        thread = threading.Thread(target=interrupt, args=[chance.uniform(0, 2 * usual)])
        thread.start()
        try:
            count = insert(session)
        except duckdb.InterruptException:
            count = None
        finally:
            thread.join()
        if count is None:
            interrupted += 1
            run(session, "ROLLBACK")
        else:
            done += 1
            # DuckDB refuses all statements in a transaction that is aborted.
            assert (count, rows(session)) == (3, 3 * done)
            run(session, "COMMIT")
    pytest.fail(f"of 20,000 COPYs {done} were done, and {interrupted} were interrupted")
