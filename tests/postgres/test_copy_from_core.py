"""COPY FROM STDIN (FORMAT colonnade) compared with (FORMAT binary): everything that follows from a row is core's."""

from __future__ import annotations

import psycopg
import pytest

from tests.postgres.copying import cut, send, stream_of
from tests.testbed import postgres as pg

FORMATS = ["binary", "colonnade"]
SETUP = """
create table source as select i as id, 'note ' || i as note, i % 10 as part from generate_series(1, 3000) i;
create table log (line text);
create function note() returns trigger language plpgsql as $$ begin
    if tg_level = 'STATEMENT' then insert into log values (tg_when || ' ' || tg_op); return null; end if;
    if tg_when <> 'AFTER' then new.note := new.note || '!'; end if;
    if new.id % 1000 = 0 then insert into log values (tg_when || ' ' || new.id); end if;
    return case when new.id % 7 = 0 and tg_when = 'BEFORE' then null else new end;
end $$;
create function seen() returns trigger language plpgsql as $$ begin
    insert into log select 'transition ' || count(*) || ' ' || min(note) from added; return null;
end $$;
"""


@pytest.fixture
def session(in_own_schema: psycopg.Connection) -> psycopg.Connection:
    """A session in a schema of its own, with tables."""
    in_own_schema.execute(SETUP)
    return in_own_schema


def outcome(session: psycopg.Connection, kind: str, table: str, query: str, setup: str, after: str) -> object:
    """What comes of copying the query's rows into the table: the tag or the error, and then the rows of `after`."""
    stream = stream_of_any(session, f"copy ({query}) to stdout (format {kind})")
    for statement in ("begin", setup):
        session.execute(statement)
    statement = f"copy {table.replace(' where', f' from stdin (format {kind}{{}}) where', 1)}"
    if " where" not in table:
        statement = f"copy {table} from stdin (format {kind}{{}})"
    freeze = ", freeze" if "create table frozen" in setup else ""
    try:
        told: object = send(session, statement.format(freeze), cut(stream, 10_000))
        told = (told, session.execute(after).fetchall())
    except psycopg.Error as error:
        diag = error.diag
        told = (diag.sqlstate, diag.message_primary, diag.message_detail, diag.context, diag.column_name)
    session.execute("rollback")
    return told


def stream_of_any(session: psycopg.Connection, statement: str) -> bytes:
    if "colonnade" in statement:
        return stream_of(session, statement)
    with session.cursor() as cursor, cursor.copy(statement) as copy:
        return b"".join(bytes(piece) for piece in copy)


ALL = "select id, note, part from source"
#: What is copied, into which table that is made how, and what is looked at.
CASES = {
    "plain": (ALL, "t", "create table t (like source)", "select count(*), sum(id), min(note) from t"),
    "columns": (
        "select note, id from source",
        "t (note, id)",
        "create table t (id int, note text, at int default 5)",
        "select min(id), min(note), min(at), count(*) from t",
    ),
    "defaults": (
        "select note from source",
        "t (note)",
        """create sequence s;
        create table t (id int default nextval('s'), r int default (random() * 0)::int, note text, k serial)""",
        "select sum(id), sum(r), count(distinct note), sum(k) from t",
    ),
    "identity": (
        "select note from source",
        "t (note)",
        "create table t (id int generated always as identity, note text)",
        "select sum(id), count(*) from t",
    ),
    "identity given": (
        ALL,
        "t",
        "create table t (id int generated always as identity, note text, part int)",
        "select sum(id) from t",
    ),
    "generated": (
        ALL,
        "t",
        "create table t (id int, twice int generated always as (id * 2) stored, note text, part int)",
        "select sum(twice) from t",
    ),
    "triggers": (
        ALL,
        "t",
        """create table t (like source);
        create trigger a before insert on t for each row execute function note();
        create trigger b after insert on t for each row execute function note();
        create trigger c before insert on t execute function note();
        create trigger d after insert on t execute function note();
        create trigger e after insert on t referencing new table as added execute function seen()""",
        "select count(*), min(note), (select array_agg(line) from log) from t",
    ),
    "view": (
        ALL,
        "v",
        """create table t (like source); create view v as table t;
        create function through() returns trigger language plpgsql as $$ begin
            insert into t values (new.*); return new; end $$;
        create trigger a instead of insert on v for each row execute function through()""",
        "select count(*), sum(id) from t",
    ),
    "view without a trigger": (ALL, "v", "create view v as table source", "select 1"),
    "partitions": (
        ALL,
        "t",
        """create table t (id int, note text, part int) partition by list (part);
        create table t_a (part int, gone int, id int, note text); alter table t_a drop gone;
        alter table t attach partition t_a for values in (0, 1, 2);
        create table t_b partition of t for values in (3, 4, 5, 6, 7, 8, 9);
        create trigger a before insert on t_b for each row execute function note()""",
        "select tableoid::regclass::text, count(*), sum(id), min(note) from t group by 1 order by 1",
    ),
    "no partition": (
        ALL,
        "t",
        """create table t (id int, note text, part int) partition by list (part);
        create table t_a partition of t for values in (1)""",
        "select 1",
    ),
    "foreign table": (
        ALL,
        "f",
        "create extension if not exists file_fdw; create server s foreign data wrapper file_fdw; "
        "create foreign table f (id int, note text, part int) server s options (filename '/dev/null')",
        "select 1",
    ),
    "where": (
        ALL,
        "t where id % 3 = 0 and note <> 'note 9'",
        "create table t (like source)",
        "select count(*), sum(id) from t",
    ),
    "where not boolean": (ALL, "t where id", "create table t (like source)", "select 1"),
    "where with a subquery": (ALL, "t where id in (select 1)", "create table t (like source)", "select 1"),
    "frozen": (
        ALL,
        "frozen",
        "create table frozen (like source)",
        "select count(*), count(*) filter (where xmin::text = '2') from frozen",
    ),
    "check": (ALL, "t", "create table t (id int check (id <> 2500), note text, part int)", "select 1"),
    "not null": ("select nullif(id, 17) id from source", "t (id)", "create table t (id int not null)", "select 1"),
    "unique": ("select id % 2900 id from source", "t (id)", "create table t (id int primary key)", "select 1"),
    "index": (
        ALL,
        "t",
        "create table t (like source); create index on t (note); create index on t ((id + 1))",
        "select count(*) from t where note = 'note 77'",
    ),
    "foreign key": (
        "select id from source",
        "t (id)",
        "create table p (id int primary key); insert into p values (1); create table t (id int references p)",
        "select 1",
    ),
    "domain": (
        "select id from source",
        "t (id)",
        "create domain small as int check (value < 2000); create table t (id small)",
        "select 1",
    ),
    "domain not null": (
        "select nullif(id, 20) id from source",
        "t (id)",
        "create domain there as int not null; create table t (id there)",
        "select 1",
    ),
    "domain default": (
        "select id from source",
        "t (id)",
        "create domain there as int not null; create table t (id int, d there)",
        "select 1",
    ),
    "transaction aborted": (ALL, "t", "create table t (like source, check (id < 100))", "select 1"),
    "system view": ("select 't'::name as tablename", "pg_stats (tablename)", "select 1", "select 1"),
    "sequence": ("select 1::bigint as last_value", "s (last_value)", "create sequence s", "select 1"),
    "materialized view": (ALL, "m", "create materialized view m as table source", "select 1"),
    "absent": (ALL, "nothing", "select 1", "select 1"),
}


@pytest.mark.parametrize("case", CASES)
def test_as_binary(session: psycopg.Connection, case: str) -> None:
    query, table, setup, after = CASES[case]
    told = {kind: outcome(session, kind, table, query, setup, after) for kind in FORMATS}
    assert told["colonnade"] == told["binary"]


def test_errors_name_row_and_column(session: psycopg.Connection) -> None:
    session.execute("create table t (k int, n numeric(76, 2), s varchar(3), d timestamp(3))")
    for column, sent, message in [
        ("s", "'four'", "value too long for type character varying(3)"),
        ("d", "timestamp '2024-01-01 00:00:00.0001'", "a fraction of a second has more than 3 digits"),
    ]:
        query = f"select i as k, case when i = 1234 then {sent} end as {column} from generate_series(1, 3000) i"
        with pytest.raises(psycopg.Error) as caught:
            send(
                session,
                f"copy t (k, {column}) from stdin (format colonnade)",
                [stream_of(session, f"copy ({query}) to stdout (format colonnade, chunk_rows 500)")],
            )
        assert (caught.value.diag.message_primary, caught.value.diag.context) == (
            message,
            f"COPY t, line 1234, column {column}",
        )
    assert session.execute("select count(*) from t").fetchone() == (0,)


def test_foreign_table(session: psycopg.Connection, preloaded: pg.Cluster) -> None:
    """Rows go through postgres_fdw into a table of the same server."""
    session.execute("create table t (like source); create extension if not exists postgres_fdw")
    options = f"host '{preloaded.directory}', port '{preloaded.port}', dbname 'postgres'"
    session.execute(f"create server loopback foreign data wrapper postgres_fdw options ({options})")
    session.execute("create user mapping for current_user server loopback options (user 'tester')")
    session.execute("create foreign table f (id int, note text, part int) server loopback options (table_name 't')")
    try:
        stream = stream_of(session, "copy source to stdout (format colonnade)")
        assert send(session, "copy f from stdin (format colonnade) where part < 5", cut(stream, 10_000)) == 1500
        assert session.execute("select count(*), sum(part), count(distinct note) from t").fetchone() == (
            1500,
            3000,
            1500,
        )
    finally:
        session.execute("drop server loopback cascade")


# --- rights, and what an operator sees --------------------------------------------------------------------------------


def test_rights(session: psycopg.Connection, preloaded: pg.Cluster) -> None:
    """As for binary: INSERT on the columns, and no way around row-level security."""
    session.execute("create role writer login; grant usage on schema own to writer")
    session.execute("create table t (a int, b text); create table r (a int); alter table r enable row level security")
    session.execute("grant insert (a) on t to writer; grant insert on r to writer")
    try:
        stream = stream_of(session, "copy (select 1 as a) to stdout (format colonnade)")
        with preloaded.connect(user="writer") as writer:
            writer.execute("set search_path to own")
            assert send(writer, "copy t (a) from stdin (format colonnade)", [stream]) == 1
            for kind in FORMATS:
                for statement, sqlstate in [
                    (f"copy t from stdin (format {kind})", "42501"),
                    (f"copy t (b) from stdin (format {kind})", "42501"),
                    (f"copy r from stdin (format {kind})", "0A000"),
                    (f"copy source from stdin (format {kind})", "42501"),
                ]:
                    with pytest.raises(psycopg.Error) as caught:
                        send(writer, statement, [stream if kind == "colonnade" else b""])
                    assert caught.value.diag.sqlstate == sqlstate, statement
    finally:
        session.execute("drop owned by writer; drop role writer")


def test_read_only(session: psycopg.Connection) -> None:
    session.execute("create table t (a int); create temp table passing (a int)")
    stream = stream_of(session, "copy (select 1 as a) to stdout (format colonnade)")
    session.execute("set default_transaction_read_only to on")
    with pytest.raises(
        psycopg.errors.ReadOnlySqlTransaction, match="cannot execute COPY FROM in a read-only transaction"
    ):
        send(session, "copy t from stdin (format colonnade)", [stream])
    assert send(session, "copy passing from stdin (format colonnade)", [stream]) == 1
    session.execute("set default_transaction_read_only to off")


@pytest.mark.parametrize(
    "statement, sqlstate, message",
    [
        (
            "copy t from '/etc/passwd' (format colonnade)",
            "0A000",
            "COPY FROM a file is not possible with FORMAT colonnade",
        ),
        (
            "copy t from program 'cat' (format colonnade)",
            "0A000",
            "COPY FROM a program is not possible with FORMAT colonnade",
        ),
        (
            "copy t from stdin (format colonnade, compression plain)",
            "22023",
            'COPY option "compression" is not available in COPY FROM with FORMAT colonnade',
        ),
        (
            "copy t from stdin (format colonnade, header)",
            "22023",
            'COPY option "header" is not available in COPY FROM with FORMAT colonnade',
        ),
        (
            "copy t from stdin (format colonnade, version 2)",
            "22023",
            'COPY option "version" cannot be "2"; it must be a number from 1 to 1',
        ),
        (
            "copy t from stdin (format colonnade, freeze, freeze)",
            "42601",
            'conflicting or redundant options: "freeze" is given twice',
        ),
        ("copy t from stdin (format colonnade, freeze 5)", "42601", "freeze requires a Boolean value"),
        (
            "do $$ begin execute 'copy t from stdin (format colonnade)'; end $$",
            "0A000",
            "cannot COPY to/from client in PL/pgSQL",
        ),
    ],
)
def test_refused(session: psycopg.Connection, statement: str, sqlstate: str, message: str) -> None:
    session.execute("create table t (a int)")
    stream = stream_of(session, "copy (select 1 as a) to stdout (format colonnade)")
    with pytest.raises(psycopg.Error) as caught:
        send(session, statement, [stream])
    assert (caught.value.diag.sqlstate, caught.value.diag.message_primary) == (sqlstate, message)
    assert send(session, "copy t from stdin (format colonnade, version 1)", [stream]) == 1
