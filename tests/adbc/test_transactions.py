"""Transactions: with and without autocommit, failed ones, isolation."""

from __future__ import annotations

import pyarrow as pa
import pytest
from adbc_driver_manager import AdbcStatusCode, dbapi

from tests.adbc.databases import Database

ISOLATION = "adbc.connection.transaction.isolation_level"
LEVEL = "adbc.connection.transaction.isolation."


def rows(database: Database) -> int:
    """As another connection sees it."""
    return database.read("select count(*) as n from adbc_t")["n"].to_pylist()[0]


def test_what_is_committed_is_there_and_what_is_rolled_back_is_not(
    connection: dbapi.Connection, database: Database
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("insert into adbc_t values (1, 'a')")
        assert rows(database) == 0
        connection.commit()
        assert rows(database) == 1
        cursor.execute("insert into adbc_t values (2, 'a')")
        connection.rollback()
        assert cursor.execute("select count(*) from adbc_t").fetchall() == [(1,)]
    # Without a transaction there is nothing to do.
    connection.commit()
    connection.rollback()
    assert rows(database) == 1


def test_an_open_transaction_ends_with_its_connection(connection: dbapi.Connection, database: Database) -> None:
    with database.connect(autocommit=False) as other, other.cursor() as cursor:
        cursor.execute("insert into adbc_t values (1, 'a')")
    assert rows(database) == 0


def test_autocommit_that_is_switched_on_commits(connection: dbapi.Connection, database: Database) -> None:
    with connection.cursor() as cursor:
        cursor.execute("insert into adbc_t values (1, 'a')")
        connection.adbc_connection.set_autocommit(True)
        assert rows(database) == 1
        cursor.execute("insert into adbc_t values (2, 'a')")
        assert rows(database) == 2
        with pytest.raises(dbapi.ProgrammingError, match="autocommit is on"):
            connection.adbc_connection.commit()


def test_a_commit_of_a_failed_transaction_is_an_error(connection: dbapi.Connection, database: Database) -> None:
    if not database.fails_whole:
        pytest.skip("the database undoes the failed statement alone")
    with connection.cursor() as cursor:
        cursor.execute("insert into adbc_t values (1, 'a')")
        with pytest.raises(dbapi.Error):
            cursor.execute("select * from adbc_absent")
        with pytest.raises(dbapi.ProgrammingError, match="was rolled back") as failed:
            connection.commit()
        assert (failed.value.status_code, failed.value.sqlstate) == (AdbcStatusCode.INVALID_STATE, "25P02")
        assert cursor.execute("select count(*) from adbc_t").fetchall() == [(0,)]


def test_a_result_that_was_fetched_but_for_its_end_does_not_block_a_commit(
    connection: dbapi.Connection, database: Database
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("insert into adbc_t values (1, 'a'), (2, 'b')")
        cursor.execute("select i from adbc_t order by i")
        assert cursor.fetchone() == (1,)
        connection.commit()
        assert rows(database) == 2
        assert cursor.fetchall() == [(2,)]


def test_a_commit_waits_for_nobody_and_a_rollback_gives_results_up(
    connection: dbapi.Connection, database: Database
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("insert into adbc_t values (1, 'a')")
        cursor.execute(database.endless)
        assert cursor.fetchone() is not None
        with pytest.raises(dbapi.ProgrammingError, match="read it to its end"):
            connection.commit()
        assert rows(database) == 0
        connection.rollback()
        with pytest.raises(dbapi.ProgrammingError, match="rolled back"):
            while cursor.fetchmany(100_000):
                pass
        assert cursor.execute("select count(*) from adbc_t").fetchall() == [(0,)]


def test_several_executions_have_all_their_effects_or_none(connection: dbapi.Connection, database: Database) -> None:
    connection.adbc_connection.set_autocommit(True)
    with connection.cursor() as cursor:
        for run in (cursor.execute, cursor.executemany):
            with pytest.raises(dbapi.IntegrityError):
                run("insert into adbc_t values ($1, 'a')", pa.table({"i": [1, 2, 1]}))
            assert rows(database) == 0
        cursor.executemany("insert into adbc_t values ($1, 'a')", pa.table({"i": [1, 2, 3]}))
        assert rows(database) == 3


@pytest.mark.parametrize("name", ["postgresql", "extension"])
def test_the_level_of_isolation(request: pytest.FixtureRequest, name: str) -> None:
    database: Database = request.getfixturevalue(name)
    with database.connect(autocommit=False) as connection, connection.cursor() as cursor:
        for level in ("read_uncommitted", "read_committed", "repeatable_read", "serializable", "default"):
            connection.adbc_connection.set_options(**{ISOLATION: LEVEL + level})
            assert connection.adbc_connection.get_option(ISOLATION) == LEVEL + level
            expected = "read committed" if level == "default" else level.replace("_", " ")
            assert cursor.execute("select current_setting('transaction_isolation')").fetchall() == [(expected,)]
            with pytest.raises(dbapi.ProgrammingError, match="within a transaction"):
                connection.adbc_connection.set_options(**{ISOLATION: LEVEL + "serializable"})
            connection.rollback()


def test_levels_of_isolation_elsewhere(database: Database) -> None:
    with database.connect(autocommit=False) as connection, connection.cursor() as cursor:
        connection.adbc_connection.set_options(**{ISOLATION: LEVEL + "repeatable_read"})
        assert cursor.execute("select 1 as n").fetchall() == [(1,)]
        connection.rollback()
        with pytest.raises(dbapi.NotSupportedError, match="use one of"):
            connection.adbc_connection.set_options(**{ISOLATION: LEVEL + "linearizable"})


def test_a_result_that_is_released_early_does_not_lose_a_commit_in_silence(
    connection: dbapi.Connection, database: Database
) -> None:
    """PostgreSQL makes the transaction of a cancelled query fail."""
    with connection.cursor() as cursor:
        cursor.execute("insert into adbc_t values (1, 'a')")
    with connection.cursor() as cursor:
        cursor.execute(database.endless)
        assert cursor.fetchone() is not None
    try:
        connection.commit()
    except dbapi.ProgrammingError as error:
        assert error.sqlstate == "25P02"
        assert rows(database) == 0
    else:
        assert rows(database) == 1


def test_a_connection_that_only_reads(connection: dbapi.Connection, database: Database) -> None:
    connection.adbc_connection.set_options(**{"adbc.connection.readonly": "true"})
    assert connection.adbc_connection.get_option("adbc.connection.readonly") == "true"
    with connection.cursor() as cursor:
        for autocommit in (False, True):
            connection.adbc_connection.set_autocommit(autocommit)
            with pytest.raises(dbapi.ProgrammingError) as failed:
                cursor.execute("insert into adbc_t values (1, 'a')")
            assert failed.value.status_code == AdbcStatusCode.INVALID_STATE
            assert failed.value.sqlstate in ("25006", "25000")
            if not autocommit:
                with pytest.raises(dbapi.ProgrammingError, match="within a transaction"):
                    connection.adbc_connection.set_options(**{"adbc.connection.readonly": "false"})
                connection.rollback()
        connection.adbc_connection.set_options(**{"adbc.connection.readonly": "false"})
        cursor.execute("insert into adbc_t values (1, 'a')")
    assert rows(database) == 1
