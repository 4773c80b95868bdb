"""What was done with a login, as a reader and as a writer: each must be refused, in every form and by every way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import colonnade
import duckdb
import psycopg
import pytest
from psycopg import errors

from tests.attacks.attackers import FORMS, WAYS, Target, target
from tests.attacks.refused_statements import REFUSED_FOR_ALL

ROLES = ("reader", "writer")


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with target(tmp_path_factory.mktemp("attacked")) as running:
        yield running


@pytest.fixture(scope="module")
def sessions(attacked: Target) -> Iterator[dict[str, psycopg.Connection]]:
    with attacked.connect("reader") as reader, attacked.connect("writer") as writer:
        yield {"reader": reader, "writer": writer}


#: Refused for readers in addition.
READERS = ["checkpoint", "from checkpoint()", "vacuum", "analyze", "call pragma_version()"]

#: 42P01 and 3D000 where a name is that of no file then, 42601 and 0A000 where the form is none at all.
CODES = {"42501", "42P01", "42601", "0A000", "54001"}


def state(target: Target) -> object:
    """What no attack may change."""
    with target.connect("writer") as other:
        return (
            other.execute("select * from canary").fetchall(),
            other.execute("select * from t").fetchall(),
            other.execute("select current_setting('TimeZone'), current_setting('integer_division')").fetchall(),
            other.execute("select last_value from duckdb_sequences()").fetchall(),
            other.execute("select count(*) from duckdb_databases()").fetchall(),
            target.file.read_bytes()[:4096],
            sorted(path.name for path in target.file.parent.iterdir()),
        )


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("statement", REFUSED_FOR_ALL)
def test_it_is_refused_in_every_form(
    attacked: Target, sessions: dict[str, psycopg.Connection], role: str, statement: str
) -> None:
    before = state(attacked)
    statement = statement.format(file=attacked.file)
    for form, write in FORMS.items():
        for name, send in WAYS.items():
            with pytest.raises(psycopg.Error) as error:
                send(sessions[role], write(statement))
            assert error.value.sqlstate in CODES, (form, name, error.value)
            if name == "simple":
                assert error.value.sqlstate in ("42501", "42P01"), (form, error.value)
    assert sessions[role].execute("select 1").fetchone() == (1,)
    assert state(attacked) == before


@pytest.mark.parametrize("statement", READERS)
def test_readers_are_refused_more(sessions: dict[str, psycopg.Connection], statement: str) -> None:
    for write in FORMS.values():
        with pytest.raises(errors.InsufficientPrivilege):
            sessions["reader"].execute(write(statement))
    sessions["writer"].execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "insert into t values (666)",
        "with a as (insert into t values (666) returning i) select * from a",
        "explain analyze insert into t values (666)",
        "explain analyze with a as (delete from t returning i) select * from a",
        "create table mine as select 1",
        "update t set i = 666",
        "truncate t",
        "drop table t",
        "select nextval('s')",
        "select setval('s', 666)",
        "merge into t using (select 1 as i) u on t.i = u.i when matched then delete",
    ],
)
def test_a_reader_writes_nothing_in_or_out_of_a_transaction(
    attacked: Target, sessions: dict[str, psycopg.Connection], statement: str
) -> None:
    before, reader = state(attacked), sessions["reader"]
    for begin in (None, "begin", "start transaction", "begin read write", "/* x */ begin"):
        for ending in ("explain analyze commit", "explain (analyze) rollback", "prepare c as commit"):
            if begin is not None:
                reader.execute(begin)
            with pytest.raises(psycopg.Error):
                reader.execute(ending)
            with pytest.raises(psycopg.Error) as error:
                reader.execute(statement)
            assert error.value.sqlstate in ("25006", "25P02")
            reader.execute("rollback")
    # DuckDB reads a COMMIT here, and so does the server: what follows has a read-only transaction of its own.
    for ending in ("rollback", "\u200bcommit"):
        reader.execute("begin")
        if ending != "rollback":
            reader.execute(ending)
            assert reader.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with pytest.raises(errors.ReadOnlySqlTransaction):
            reader.execute(statement)
        reader.execute("rollback")
    assert state(attacked) == before


def test_a_prepared_write_of_a_reader_is_refused_when_it_runs(sessions: dict[str, psycopg.Connection]) -> None:
    reader = sessions["reader"]
    reader.execute("prepare writing as insert into t values (666)")
    for statement in ("execute writing", "explain analyze execute writing"):
        with pytest.raises(psycopg.Error) as error:
            reader.execute(statement)
        assert error.value.sqlstate in ("25006", "42501")
    reader.execute("deallocate writing")


def test_no_transaction_is_begun_behind_the_servers_back(sessions: dict[str, psycopg.Connection]) -> None:
    for connection in sessions.values():
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("explain analyze begin")
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        # DuckDB refuses to begin where one is open.
        connection.execute("begin")
        connection.execute("commit")


@pytest.mark.parametrize("begin", ["\u200bbegin", "\ufeffstart transaction", "\u00a0begin"])
def test_what_is_a_space_to_duckdb_is_one_to_the_server(sessions: dict[str, psycopg.Connection], begin: str) -> None:
    for connection in sessions.values():
        connection.execute(begin)
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        connection.execute("commit")
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        connection.execute("begin")
        connection.execute("commit")


@pytest.mark.parametrize(
    "statement",
    [
        "insert into copied values (42)",
        "update copied set i = 42",
        "delete from copied",
        "create table made as select 1",
        "create view made as select 1",
        "drop table copied",
        "with a as (select 42) insert into copied from a",
        "set TimeZone = 'Asia/Tokyo'",
    ],
)
def test_a_copy_of_a_statement_without_rows_runs_nothing(attacked: Target, statement: str) -> None:
    with attacked.connect("writer") as writer:
        writer.execute("create or replace table copied as select 7 as i")
        before = state(attacked)
        for options in ("", " (format csv)", " (format binary)", " (format colonnade)"):
            with pytest.raises(psycopg.Error), writer.cursor().copy(f"copy ({statement}) to stdout{options}") as copy:
                list(copy)
        uri = f"postgresql://writer@{attacked.server.host}:{attacked.server.port}/shop"
        with pytest.raises(colonnade.Error):
            colonnade.read_sql(uri.replace("writer@", "writer:not%20that%20secret@"), statement)
        with pytest.raises(psycopg.Error):
            writer.execute(f"declare c cursor with hold for {statement}")
        assert writer.execute("select * from copied").fetchall() == [(7,)]
        assert writer.execute("select current_setting('TimeZone')").fetchone() != ("Asia/Tokyo",)
        assert state(attacked) == before
        writer.execute("drop table copied")


def test_a_copy_of_a_statement_that_returns_rows_runs_once(attacked: Target) -> None:
    with attacked.connect("writer") as writer:
        writer.execute("create or replace table copied as select 7 as i")
        with writer.cursor().copy("copy (insert into copied values (42) returning i) to stdout") as copy:
            assert b"".join(map(bytes, copy)) == b"42\n"
        assert writer.execute("select i from copied order by 1").fetchall() == [(7,), (42,)]
        writer.execute("drop table copied")


@pytest.mark.parametrize("returning", ['true as "Success"', '5::bigint as "Count"'])
def test_rows_are_told_by_the_statement_and_not_by_their_columns_names(attacked: Target, returning: str) -> None:
    with attacked.connect("writer") as writer:
        writer.execute("create or replace table named (i integer)")
        rows = writer.execute(f"insert into named values (1), (2) returning {returning}").fetchall()
        assert len(rows) == 2
        writer.execute("drop table named")


@pytest.mark.parametrize("path", ["system", "system.main", "SYSTEM.main", '"system".main', "shop.main,system.main"])
def test_the_functions_that_open_files_stay_hidden(sessions: dict[str, psycopg.Connection], path: str) -> None:
    for connection in sessions.values():
        with pytest.raises(psycopg.Error):
            connection.execute(f"set search_path = '{path}'")
        with pytest.raises(psycopg.Error) as error:
            connection.execute("select * from 'x.csv'")
        assert error.value.sqlstate == "42501"


@pytest.mark.parametrize("name", ["served.csv", "served.parquet", "served.json", "served.db"])
def test_the_served_file_is_no_table_whatever_it_is_called(tmp_path: Path, name: str) -> None:
    """DuckDB lists it among the files that may be opened."""
    (tmp_path / "x").mkdir()
    with target(tmp_path / "x") as running:
        pass
    served = running.file.rename(tmp_path / name)
    from tests.testbed.serving import serve

    with serve(served) as server, psycopg.connect(server.dsn, autocommit=True) as client:
        for query in (
            f"from '{served}'",
            f'from "{served}"',
            f"from '{served.parent}/./{name}'",
            f"select * from {name}",
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                client.execute(query)


def test_the_database_is_still_one(tmp_path: Path) -> None:
    """After the attack that destroyed it."""
    with target(tmp_path) as running, running.connect("reader") as reader:
        for path in (running.file, f"{running.file}.wal"):
            with pytest.raises(errors.InsufficientPrivilege):
                reader.execute(f"copy (select 'garbage' as a) to '{path}' (format csv, use_tmp_file false)")
    with duckdb.connect(str(running.file)) as database:
        assert database.execute("select * from canary").fetchall() == [("alive",)]
