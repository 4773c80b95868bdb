"""Rows of queries of functions that a session keeps (`_duckdb/kept_rows.py`): which ones, and until when."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pyarrow as pa
import pytest
from colonnade_serve import _core
from colonnade_serve._duckdb.answers import Answer
from colonnade_serve._duckdb.engine import Engine
from colonnade_serve._duckdb.session import Session

from tests.functions import engines
from tests.functions.sessions import connected, serving, value
from tests.testbed.serving import Server

LIMITS = (122_880, 1 << 20)
NEWEST = "SELECT name, version FROM main.models WHERE name = 'm' ORDER BY version DESC LIMIT 1"


@pytest.fixture
def engine(processes: _core.FunctionProcesses) -> Iterator[Engine]:
    with engines.engine(processes) as made:
        session = made.session()
        run(session, "CREATE TABLE models (name VARCHAR, version BIGINT, made DATE DEFAULT current_date)")
        run(session, "INSERT INTO models (name, version) VALUES ('m', 1), ('n', 7)")
        session.close()
        yield made


@contextmanager
def two(engine: Engine) -> Iterator[tuple[Session, Session]]:
    """A session and another one that reads on its behalf, as functions within its plans do."""
    session = engine.session()
    sibling = engine.sibling(session)
    yield session, sibling
    sibling.close()
    session.close()


def run(session: Session, sql: str) -> list[dict[str, object]]:
    """Run a statement as the server does."""
    answer = session.execute(session.statement_check.allowed(sql), *LIMITS, None)
    found = [] if answer.stream is None else pa.RecordBatchReader.from_stream(answer.stream).read_all().to_pylist()
    session.finish()
    return found


def read(session: Session, sql: str) -> tuple[list[tuple[object, ...]], Answer]:
    """The rows of a query of a function, offered to the session as `serve/bridge/src/serve/rows.rs` does it."""
    answer = session.read(session.statement_check.allowed(sql), *LIMITS)
    assert answer.stream is not None
    table = pa.RecordBatchReader.from_stream(answer.stream).read_all()
    if answer.keep is not None:
        answer.keep(table)
    session.finish()
    return [tuple(row.values()) for row in table.to_pylist()], answer


def is_kept(session: Session, sql: str) -> bool:
    """Whether the rows come from memory."""
    first, _ = read(session, sql)
    again, answer = read(session, sql)
    assert first == again
    return isinstance(answer.stream, pa.Table)


@pytest.mark.parametrize(
    "sql",
    [
        NEWEST,
        "SELECT name FROM models",
        "SELECT NAME AS n, version, 1 AS one FROM memory.main.Models WHERE version > 0 AND name = 'm' OR version < 3",
    ],
)
def test_plain_queries_are_kept(engine: Engine, sql: str) -> None:
    with two(engine) as (_, sibling):
        assert is_kept(sibling, sql)


@pytest.mark.parametrize(
    "sql",
    [
        # Each may give other rows although no row of the table has changed.
        "SELECT name, current_timestamp FROM models",
        "SELECT name, current_user FROM models",
        "SELECT name FROM models WHERE made = current_date",
        "SELECT name, random() AS r FROM models",
        "SELECT name, version + 1 AS v FROM models",
        "SELECT name FROM models ORDER BY random()",
        "SELECT name FROM (SELECT name FROM models)",
        "SELECT name FROM models WHERE version = (SELECT max(version) FROM models)",
        "WITH models AS (SELECT random() AS name) SELECT name FROM models",
        "SELECT a.name FROM models a, models b",
        "SELECT name FROM models USING SAMPLE 1",
        "SELECT name FROM models UNION ALL SELECT name FROM models",
        "SELECT models.name FROM models",
        "SELECT * FROM models",
        "SELECT now FROM a_view",
        "SELECT r FROM generated",
        "SELECT t FROM a_macro()",
        "SELECT relname FROM pg_class",
        "SELECT table_name FROM duckdb_tables()",
        "SELECT i FROM range(3) t(i)",
        "SELECT name FROM two_meanings",
        "SELECT 1 AS one FROM models",
    ],
)
def test_other_queries_are_not(engine: Engine, sql: str) -> None:
    with two(engine) as (session, sibling):
        run(session, "CREATE VIEW a_view AS SELECT current_timestamp AS now FROM models")
        run(session, "CREATE TABLE generated (a INTEGER, r DOUBLE GENERATED ALWAYS AS (random()))")
        run(session, "CREATE MACRO a_macro() AS TABLE SELECT current_timestamp AS t")
        run(session, "CREATE SCHEMA other")
        run(session, "CREATE VIEW other.two_meanings AS SELECT random() AS name")
        run(session, "CREATE TABLE two_meanings (name DOUBLE)")
        run(session, "INSERT INTO generated (a) VALUES (1)")
        _, answer = read(sibling, sql)
        assert answer.keep is None


def test_temporary_tables_are_not_kept(engine: Engine) -> None:
    with two(engine) as (session, _):
        run(session, "CREATE TEMP TABLE mine AS SELECT 1 AS i")
        _, answer = read(session, "SELECT i FROM mine")
        assert answer.keep is None
        run(session, "CREATE TEMP VIEW models AS SELECT random() AS name")
        _, answer = read(session, "SELECT name FROM models")
        assert answer.keep is None


@pytest.mark.parametrize(
    "write",
    [
        "INSERT INTO models (name, version) VALUES ('m', 2)",
        "INSERT INTO models (name, version) VALUES ('m', 2) RETURNING name",
        "UPDATE models SET version = 5 WHERE name = 'm'",
        "DELETE FROM models WHERE name = 'm'",
        "TRUNCATE models",
        "MERGE INTO models USING (SELECT 'm' AS n) s ON n = models.name WHEN MATCHED THEN UPDATE SET version = 9",
        "EXPLAIN ANALYZE INSERT INTO models (name, version) VALUES ('m', 2)",
        "CREATE OR REPLACE TABLE models AS SELECT 'm' AS name, 12 AS version",
        "BEGIN; INSERT INTO models (name, version) VALUES ('m', 2); COMMIT",
        "BEGIN; INSERT INTO models (name, version) VALUES ('m', 2); ROLLBACK",
    ],
)
def test_a_write_of_another_session_is_seen(engine: Engine, write: str) -> None:
    with two(engine) as (session, sibling):
        third = engine.session()
        assert is_kept(sibling, NEWEST)
        for statement in write.split("; "):
            run(session, statement)
            assert read(sibling, NEWEST)[0] == [tuple(row.values()) for row in run(third, NEWEST)]
        assert is_kept(sibling, NEWEST)
        third.close()


def test_rows_that_are_still_being_written(engine: Engine) -> None:
    with two(engine) as (session, sibling):
        assert is_kept(sibling, NEWEST)
        answer = session.execute(
            session.statement_check.allowed("INSERT INTO models (name, version) VALUES ('m', 2) RETURNING version"),
            *LIMITS,
            None,
        )
        assert answer.must_finish and answer.stream is not None
        reader = pa.RecordBatchReader.from_stream(answer.stream)
        # The statement may end at any moment from now on.
        assert read(sibling, NEWEST)[1].keep is None
        reader.read_all()
        assert read(sibling, NEWEST)[0] == [("m", 2)]
        session.finish()
        assert is_kept(sibling, NEWEST)


def test_a_failed_write_ends(engine: Engine) -> None:
    with two(engine) as (session, sibling):
        run(session, "CREATE UNIQUE INDEX once ON models (name)")
        with pytest.raises(Exception, match=r"[Cc]onstraint"):
            run(session, "INSERT INTO models (name, version) VALUES ('m', 2)")
        assert is_kept(sibling, NEWEST)
        session.execute(
            session.statement_check.allowed("INSERT INTO models (name, version) VALUES ('x', 2) RETURNING version"),
            *LIMITS,
            None,
        )
    with two(engine) as (_, sibling):
        # That session is closed.
        assert is_kept(sibling, NEWEST)


def test_a_transaction_keeps_its_snapshot(engine: Engine) -> None:
    with two(engine) as (session, _):
        other = engine.session()
        run(session, "BEGIN")
        assert read(session, NEWEST)[0] == [("m", 1)]
        run(other, "INSERT INTO models (name, version) VALUES ('m', 2)")
        assert read(session, NEWEST)[0] == [("m", 1)]
        assert not is_kept(session, NEWEST)
        run(session, "COMMIT")
        assert read(session, NEWEST)[0] == [("m", 2)]
        # What the session itself has changed is seen by nobody else.
        run(session, "BEGIN")
        run(session, "INSERT INTO models (name, version) VALUES ('m', 3)")
        assert read(session, NEWEST)[0] == [("m", 3)]
        assert not is_kept(session, NEWEST)
        assert read(other, NEWEST)[0] == [("m", 2)]
        run(session, "ROLLBACK")
        assert read(session, NEWEST)[0] == [("m", 2)]
        assert is_kept(session, NEWEST)
        other.close()


def test_a_setting_changes_what_is_seen(engine: Engine) -> None:
    with two(engine) as (session, _):
        run(session, "CREATE SCHEMA other")
        run(session, "CREATE TABLE other.models AS SELECT 'm' AS name, 100 AS version")
        query = NEWEST.replace("main.", "")
        assert is_kept(session, query)
        run(session, "SET search_path = 'other'")
        assert read(session, query)[0] == [("m", 100)]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--udf-max-workers", "20") as server:
        with connected(server) as connection:
            connection.execute("CREATE TABLE models (name VARCHAR, version BIGINT)")
            connection.execute("INSERT INTO models VALUES ('m', 1)")
            query = "SELECT version FROM main.models WHERE name = 'm' ORDER BY version DESC LIMIT 1"
            found = f"found = _conn.execute({query!r})['version']; newest = found[0] if len(found) else 0"
            for name, returns, last in (
                ("within", "BIGINT LANGUAGE PYTHON_MAP", "numpy.full(len(x), newest)"),
                ("between", "TABLE(v BIGINT) LANGUAGE PYTHON", "{'v': [newest]}"),
            ):
                text = f"CREATE FUNCTION {name}(x INTEGER) RETURNS {returns} AS $f$ {found}; return {last} $f$"
                connection.execute(text.encode())
        yield server


def test_no_session_sees_old_rows(server: Server) -> None:
    """Sessions change rows and read them by functions, in any order, with and without transactions."""
    choice = random.Random(20261126)
    newest = "SELECT coalesce(max(version), 0) FROM models WHERE name = 'm'"
    with connected(server) as first, connected(server) as second, connected(server) as committed:
        sessions = {first: False, second: False}
        written: set[psycopg.Connection] = set()
        for step in range(400):
            session = choice.choice(list(sessions))
            action = choice.choice(["read", "read", "read", "write", "returning", "begin", "end", "delete"])
            if action == "begin" and not sessions[session]:
                session.execute("BEGIN")
                # Its snapshot is of this moment.
                value(session, newest)
                sessions[session] = True
            elif action == "end" and sessions[session]:
                session.execute(choice.choice(["COMMIT", "ROLLBACK"]).encode())
                sessions[session] = False
                written.discard(session)
            elif action in ("write", "returning", "delete") and not (written - {session}):
                end = " RETURNING version" if action == "returning" else ""
                sql = f"INSERT INTO models VALUES ('m', {step + 2}){end}"
                if action == "delete":
                    sql = "DELETE FROM models WHERE version = (SELECT max(version) FROM models)"
                try:
                    session.execute(sql.encode())
                except psycopg.errors.SerializationFailure:
                    session.execute("ROLLBACK")
                    sessions[session] = False
                    written.discard(session)
                    continue
                if sessions[session]:
                    written.add(session)
            elif action == "read":
                # Functions within a plan see what is committed; those between two statements are in the transaction.
                assert value(session, "SELECT within(1)") == value(committed, newest), step
                assert value(session, "SELECT v FROM between(1)") == value(session, newest), step
