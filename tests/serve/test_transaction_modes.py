"""The modes of transactions, as PostgreSQL reads and shows them; READ ONLY refuses writes."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import errors

from tests.testbed import postgres as pg
from tests.testbed.serving import Server, connected

connection = pytest.fixture(connected)

SHOWN = """
    select current_setting('transaction_isolation'), current_setting('transaction_read_only'),
           current_setting('transaction_deferrable'), current_setting('default_transaction_isolation'),
           current_setting('default_transaction_read_only'), current_setting('default_transaction_deferrable')
"""
#: The server's own default, which PostgreSQL gets too.
DEFAULT = "set default_transaction_isolation = 'repeatable read'"


@pytest.fixture
def both(connection: psycopg.Connection, stock: pg.Cluster) -> Iterator[tuple[psycopg.Connection, psycopg.Connection]]:
    with psycopg.connect(stock.dsn(), autocommit=True) as theirs:
        theirs.execute(DEFAULT)
        yield connection, theirs


def outcome(connection: psycopg.Connection, statement: str) -> object:
    """What a statement gives: its rows or its tag, or the SQLSTATE of its error; and the warnings."""
    warnings: list[tuple[str | None, str | None]] = []

    def note(diagnostic: psycopg.errors.Diagnostic) -> None:
        warnings.append((diagnostic.sqlstate, diagnostic.message_primary))

    connection.add_notice_handler(note)
    try:
        cursor = connection.execute(statement.encode())
        return (cursor.fetchall() if cursor.description else cursor.statusmessage), warnings
    except psycopg.Error as error:
        return error.sqlstate, warnings
    finally:
        connection.remove_notice_handler(note)


@pytest.mark.parametrize(
    "statements",
    [
        ("begin isolation level read committed, read only, deferrable", "rollback"),
        ("begin read only; select 1; commit",),
        ("start transaction isolation level read uncommitted read write not deferrable", "commit"),
        ("set transaction read only",),
        ("set transaction_read_only = on", "set transaction_isolation = 'read committed'"),
        ("begin", "set transaction isolation level read committed, read only", "show transaction_read_only", "end"),
        ("begin", "set local transaction_isolation = 'read uncommitted'", "set transaction_deferrable = yes", "end"),
        ("begin read only", "set transaction read write", "rollback"),
        ("begin read only", "reset transaction_read_only", "rollback"),
        ("begin", "select 1", "set transaction isolation level read committed", "rollback"),
        ("begin", "select 1", "set transaction isolation level repeatable read", "rollback"),
        ("begin", "select 1", "set transaction deferrable", "rollback"),
        ("begin read only", "select 1", "set transaction read write", "rollback"),
        ("begin", "begin read only", "rollback"),
        ("begin", "select 1", "begin isolation level read committed", "rollback"),
        ("set default_transaction_read_only = on", "begin", "rollback", "begin read write", "rollback"),
        ("set default_transaction_isolation to 'READ committed'", "show transaction isolation level"),
        ("set default_transaction_deferrable = 1", "reset default_transaction_deferrable"),
        ("set session characteristics as transaction isolation level read committed, read only, deferrable", "begin"),
        ("begin", "set session characteristics as transaction read only", "rollback"),
        ("begin", "set local default_transaction_read_only = on", "commit"),
        ("set default_transaction_isolation = 'none'", "set default_transaction_read_only = maybe"),
        ("set default_transaction_read_only = of", "set default_transaction_read_only = o"),
        ("select set_config('default_transaction_read_only', 'on', false)",),
        ("begin", "select set_config('transaction_read_only', 'on', true)", "show transaction_read_only", "rollback"),
        ("select 1; set transaction isolation level read committed",),
        ("set transaction isolation level read committed; select 1",),
    ],
)
def test_modes_are_shown_as_by_postgresql(
    both: tuple[psycopg.Connection, psycopg.Connection], statements: tuple[str, ...]
) -> None:
    own, theirs = both
    for statement in statements:
        assert outcome(own, statement) == outcome(theirs, statement), statement
        if own.info.transaction_status != psycopg.pq.TransactionStatus.INERROR and "select 1" not in statements:
            assert outcome(own, SHOWN) == outcome(theirs, SHOWN), statement
            # That was a query.
            if own.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS and statement != statements[-1]:
                break


def test_options_of_a_login_are_the_defaults(server: Server, stock: pg.Cluster) -> None:
    options = r"-c default_transaction_read_only=true -c default_transaction_isolation=read\ committed"
    found = []
    for dsn in (server.dsn, stock.dsn()):
        with psycopg.connect(dsn, options=options) as client:
            found.append((client.execute(SHOWN).fetchall(), client.info.parameter_status(READ_ONLY)))
            client.rollback()
            client.execute("set default_transaction_read_only = off")
            client.execute("reset all")
            found.append((client.execute(SHOWN).fetchall(), client.info.parameter_status(READ_ONLY)))
    assert found[:2] == found[2:]
    assert found[0][1] == "on"


READ_ONLY = "default_transaction_read_only"


def test_a_change_is_reported(connection: psycopg.Connection) -> None:
    assert connection.info.parameter_status(READ_ONLY) == "off"
    connection.execute("set session characteristics as transaction read only")
    assert connection.info.parameter_status(READ_ONLY) == "on"
    connection.execute("discard all")
    assert connection.info.parameter_status(READ_ONLY) == "off"


def made(connection: psycopg.Connection) -> None:
    connection.execute("create or replace table kept as select 1 as i")
    connection.execute("prepare written as insert into kept values (2)")


#: Statements that write, each by another way through the server.
WRITES = (
    "insert into kept values (2)",
    "update kept set i = 2 returning i",
    "with a as (select 3 as i) insert into kept select * from a",
    "insert into kept values (3); select 1",
    "select 1; insert into kept values (3)",
    "vacuum; insert into kept values (4)",
    "create table other (i serial)",
    "create table other as select 1 as i",
    "drop table kept",
    "truncate kept",
    "alter table kept add column j int",
    "execute written",
    "merge into kept using (select 1 as i) s on kept.i = s.i when matched then delete",
)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("way", ["begin", "set", "default", "prepared"])
def test_a_read_only_transaction_refuses_writes(connection: psycopg.Connection, write: str, way: str) -> None:
    made(connection)
    if way == "prepared" and ";" in write:
        return
    if way == "begin":
        connection.execute("begin read only")
    elif way == "set":
        connection.execute("begin; set transaction read only")
    else:
        connection.execute("set default_transaction_read_only = on")
    with pytest.raises(errors.ReadOnlySqlTransaction):
        connection.execute(write.encode(), prepare=way == "prepared")
    connection.execute("rollback" if way in ("begin", "set") else "set default_transaction_read_only = off")
    assert connection.execute("select * from kept").fetchall() == [(1,)]
    assert connection.execute("select count(*) from pg_class where relname = 'other'").fetchall() == [(0,)]


@pytest.mark.parametrize("way", ["begin read only", "set default_transaction_read_only = on"])
def test_a_read_only_transaction_refuses_copies(connection: psycopg.Connection, way: str) -> None:
    made(connection)
    connection.execute(way.encode())
    with pytest.raises(errors.ReadOnlySqlTransaction), connection.cursor().copy("copy kept from stdin") as copy:
        copy.write("7\n")
    connection.execute("rollback")
    connection.execute("set default_transaction_read_only = off")
    assert connection.execute("select * from kept").fetchall() == [(1,)]


def test_a_read_only_session_reads_and_may_write_again(connection: psycopg.Connection) -> None:
    made(connection)
    connection.execute("set default_transaction_read_only = on")
    assert connection.execute("select i from kept").fetchall() == [(1,)]
    assert connection.execute("select i from kept where i = %s", [1]).fetchall() == [(1,)]
    with connection.pipeline(), connection.cursor() as cursor:
        assert cursor.execute("select i from kept").fetchall() == [(1,)]
    with connection.transaction(), connection.cursor("c") as cursor:
        cursor.execute("select i from kept")
        assert cursor.fetchall() == [(1,)]
    connection.execute("begin read write")
    connection.execute("insert into kept values (2)")
    connection.execute("commit")
    assert connection.execute("select count(*) from kept").fetchall() == [(2,)]
    # It sees what others commit meanwhile: no transaction stays open.
    connection.execute("set default_transaction_read_only = off")
    connection.execute("insert into kept values (3)")
    assert connection.execute("select count(*) from kept").fetchall() == [(3,)]


def test_serializable_is_refused_everywhere(connection: psycopg.Connection, server: Server) -> None:
    for statement in (
        "begin isolation level serializable",
        "set default_transaction_isolation = 'serializable'",
        "set session characteristics as transaction isolation level serializable",
        "set transaction_isolation = serializable",
    ):
        with pytest.raises(errors.FeatureNotSupported, match="serializable"):
            connection.execute(statement.encode())
    with connection.transaction(), pytest.raises(errors.FeatureNotSupported, match="serializable"):
        connection.execute("set transaction isolation level serializable")
    with pytest.raises(psycopg.OperationalError, match="serializable"):
        psycopg.connect(server.dsn, options="-c default_transaction_isolation=serializable")


def test_a_late_read_only_is_refused(connection: psycopg.Connection) -> None:
    connection.execute("begin")
    connection.execute("select 1")
    with pytest.raises(errors.ActiveSqlTransaction, match="must be the first statement"):
        connection.execute("set transaction read only")


@pytest.mark.parametrize(
    ("default", "first"),
    [
        ("off", "set transaction read only"),
        ("off", "set transaction_read_only = on"),
        ("off", "select set_config('transaction_read_only', 'on', false)"),
        ("on", "set default_transaction_read_only = off"),
        ("on", "reset all"),
    ],
)
def test_a_read_only_pipeline_refuses_writes(
    both: tuple[psycopg.Connection, psycopg.Connection], default: str, first: str
) -> None:
    """A SET is a part of the pipeline's transaction: it changes that one, or only the next ones."""
    for connection in both:
        connection.execute(f"set default_transaction_read_only = {default}".encode())
        with pytest.raises(errors.ReadOnlySqlTransaction), connection.pipeline():
            connection.execute(first.encode())
            connection.execute("create table pipelined as select 1 as i")
        connection.execute("set default_transaction_read_only = off")
        query = "select count(*) from pg_class where relname = 'pipelined'"
        assert connection.execute(query).fetchall() == [(0,)]


@pytest.mark.parametrize(
    "statements",
    [
        ("begin", "insert into chained values (1)", "commit and chain", "insert into chained values (2)", "rollback"),
        ("begin", "insert into chained values (1)", "rollback and chain", "insert into chained values (2)", "commit"),
        ("begin", "nonsense", "commit and chain", "insert into chained values (3)", "end and no chain"),
        ("begin", "nonsense", "abort work and chain", "insert into chained values (3)", "end and chain", "rollback"),
        ("begin read only", "commit and chain", "insert into chained values (4)", "rollback"),
        ("begin isolation level read committed", "end and chain", "show transaction_isolation", "rollback"),
        ("begin; insert into chained values (5); commit and chain; insert into chained values (6)", "rollback"),
        ("commit and chain", "rollback and chain", "select 1; commit and chain"),
        ("begin", "declare c cursor with hold for select 1", "commit and chain", "rollback", "fetch c", "close c"),
        ("begin", "savepoint a", "commit and chain", "rollback to a", "rollback"),
    ],
)
def test_and_chain_begins_the_next_transaction(
    both: tuple[psycopg.Connection, psycopg.Connection], statements: tuple[str, ...]
) -> None:
    own, theirs = both
    for connection in both:
        connection.execute("drop table if exists chained")
        connection.execute("create table chained (i int)")
    for statement in (*statements, "select * from chained order by i"):
        assert outcome(own, statement) == outcome(theirs, statement), statement
        assert own.info.transaction_status == theirs.info.transaction_status, statement
    for connection in both:
        connection.execute("drop table chained")


def test_and_chain_ends_the_transactions_locks(connection: psycopg.Connection, server: Server) -> None:
    connection.execute("begin")
    connection.execute("select pg_advisory_xact_lock(5)")
    with psycopg.connect(server.dsn, autocommit=True) as other:
        assert other.execute("select pg_try_advisory_lock(5)").fetchall() == [(False,)]
        connection.execute("commit and chain")
        assert other.execute("select pg_try_advisory_lock(5)").fetchall() == [(True,)]
