"""COPY … FROM that is interrupted at any step, its last one included: it is an error, or it is done."""

from __future__ import annotations

import threading

import duckdb
import pyarrow as pa
import pytest
from colonnade._duckdb.engine import Engine, Session


@pytest.fixture
def session() -> Session:
    session = Engine(":memory:").session()
    session.execute("CREATE TABLE kept (i BIGINT)", 1000, 1 << 20, None)
    return session


def rows(session: Session) -> int:
    answer = session.execute("SELECT count(*) AS n FROM kept", 1000, 1 << 20, None)
    assert answer.stream is not None
    return pa.RecordBatchReader.from_stream(answer.stream).read_all()["n"][0].as_py()


def run(session: Session, sql: str) -> None:
    session.execute(sql, 1000, 1 << 20, None)


def test_an_insert_that_is_said_to_be_done_has_not_aborted_its_transaction(session: Session) -> None:
    batch = pa.record_batch({"i": pa.array([1, 2, 3])})
    is_over, done, interrupted = threading.Event(), 0, 0

    def interrupt() -> None:
        while not is_over.wait(20e-6):
            session.interrupt()

    for _ in range(20_000):
        if done >= 200 and interrupted >= 200:
            break
        is_over.clear()
        run(session, "BEGIN")
        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            count = session.insert("INSERT INTO kept SELECT i FROM copied", "copied", pa.Table.from_batches([batch]))
        except duckdb.InterruptException:
            count = None
        finally:
            is_over.set()
            thread.join()
        if count is None:
            interrupted += 1
            run(session, "ROLLBACK")
        else:
            done += 1
            # DuckDB refuses all statements in a transaction that is aborted.
            assert (count, rows(session)) == (3, 3 * done)
            run(session, "COMMIT")
    else:
        pytest.fail(f"of 20,000 COPYs {done} were done, and {interrupted} were interrupted")
