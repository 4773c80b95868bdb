"""What a user may see, and what an operator sees: as for core's COPY."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator

import colonnade
import psycopg
import pytest

from tests.postgres.copying import COLONNADE, copied, payloads
from tests.support.raw_client import wait_until
from tests.testbed import postgres as pg

SETUP = """
create role reader login;
create schema rights;
grant usage on schema rights to reader;
set search_path to rights;
create table secret (a int);
create table partly (a int, hidden text);
insert into partly values (1, 'x');
grant select (a) on partly to reader;
create table rows (a int, owner text);
insert into rows values (1, 'reader'), (2, 'tester'), (3, 'reader');
alter table rows enable row level security;
create policy own on rows using (owner = current_user);
grant select on rows to reader;
create table kept (a int);
insert into kept select generate_series(1, 1000);
grant select, insert on kept to reader;
create function secret_rows() returns setof rights.secret security definer language sql as 'table rights.secret';
insert into secret values (42);
"""


@pytest.fixture(scope="module")
def prepared(postgres: pg.Cluster) -> Iterator[pg.Cluster]:
    with postgres.prepared(SETUP, "drop schema rights cascade; drop role reader"):
        yield postgres


@pytest.fixture
def reader(prepared: pg.Cluster) -> Iterator[psycopg.Connection]:
    with prepared.connect(user="reader") as session:
        session.execute("set search_path to rights, public; select colonnade_version()")
        yield session


def refusal(session: psycopg.Connection, statement: str) -> tuple[str | None, str | None]:
    with pytest.raises(psycopg.Error) as caught, session.cursor() as cursor, cursor.copy(statement) as copy:
        list(copy)
    return caught.value.diag.sqlstate, caught.value.diag.message_primary


# --- rights -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what", ["secret", "(table secret)", "partly", "partly (a, hidden)", "(select hidden from partly)"]
)
def test_a_missing_privilege_is_refused_in_cores_words(reader: psycopg.Connection, what: str) -> None:
    ours = refusal(reader, f"copy {what} {COLONNADE})")
    assert ours == refusal(reader, f"copy {what} to stdout")
    assert ours[0] == "42501"


def test_privileges_of_columns(reader: psycopg.Connection) -> None:
    assert copied(reader, f"copy partly (a) {COLONNADE})") == {"a": [1]}
    assert copied(reader, f"copy (select a from partly) {COLONNADE})") == {"a": [1]}


def test_a_function_with_its_owners_rights(reader: psycopg.Connection) -> None:
    assert copied(reader, f"copy (select * from secret_rows()) {COLONNADE})") == {"a": [42]}


def test_row_level_security(reader: psycopg.Connection, prepared: pg.Cluster) -> None:
    for what in ("rows", "rows (a, owner)", "(select * from rows)"):
        assert copied(reader, f"copy {what} {COLONNADE})")["a"] == [1, 3]
    reader.execute("set row_security = off")
    assert refusal(reader, f"copy rows {COLONNADE})") == refusal(reader, "copy rows to stdout")
    with prepared.connect() as owner:
        owner.execute("select colonnade_version()")
        assert copied(owner, f"copy rights.rows {COLONNADE})")["a"] == [1, 2, 3]


def test_read_only_transactions(reader: psycopg.Connection) -> None:
    reader.execute("begin read only")
    assert copied(reader, f"copy (select count(*)::int as n from kept) {COLONNADE})") == {"n": [1000]}
    insert = "insert into kept values (1) returning a"
    ours = refusal(reader, f"copy ({insert}) {COLONNADE})")
    reader.execute("rollback; begin read only")
    assert ours == refusal(reader, f"copy ({insert}) to stdout")
    assert ours[0] == "25006"


# --- ends -------------------------------------------------------------------------------------------------------------

# In FROM, the function would first be run to its end.
ENDLESS = "select generate_series(1, 1000000000) as i, 'some text for every row' as t"
SILENT = "select count(*) from (select generate_series(1, 1000000000) as i offset 0) s where i % 7 = 8"


@pytest.mark.parametrize("query", [ENDLESS, SILENT])
def test_statement_timeout(prepared: pg.Cluster, query: str) -> None:
    with colonnade.connect(prepared.uri(options="-c statement_timeout=300")) as connection:
        with pytest.raises(colonnade.OperationalError, match="statement timeout") as caught:
            for _ in connection.query(query):
                pass
        assert caught.value.sqlstate == "57014"
        assert connection.query("select 1 as one").to_arrow().num_rows == 1


@pytest.mark.parametrize("query", [ENDLESS, SILENT])
@pytest.mark.parametrize("how", ["cancel", "terminate"])
def test_an_operator_can_stop_it(prepared: pg.Cluster, session: psycopg.Connection, query: str, how: str) -> None:
    victim = "from pg_stat_activity where application_name = 'victim' and state = 'active'"
    stop = threading.Timer(0.5, session.execute, [f"select pg_{how}_backend(pid) {victim}"])
    with colonnade.connect(prepared.uri(application_name="victim")) as connection:
        stop.start()
        with pytest.raises(colonnade.OperationalError) as caught:
            for _ in connection.query(query):
                pass
        stop.join()
        assert caught.value.sqlstate in (["57014"] if how == "cancel" else pg.TERMINATED)
        assert connection.is_open == (how == "cancel")
        if how == "cancel":
            assert connection.query("select 1 as one").to_arrow().num_rows == 1
    wait_until(lambda: session.execute(f"select 1 {victim}").fetchone() is None)


def test_the_client_can_stop_it(prepared: pg.Cluster, session: psycopg.Connection) -> None:
    with colonnade.connect(prepared.uri(application_name="giving up")) as connection:
        result = connection.query(ENDLESS)
        next(iter(result))
        result.close()
        assert connection.query("select 1 as one").to_arrow().num_rows == 1
        active = "select count(*) from pg_stat_activity where application_name = 'giving up' and state = 'active'"
        assert session.execute(active).fetchone() == (0,)


# --- what is seen -----------------------------------------------------------------------------------------------------


def test_progress_is_reported(prepared: pg.Cluster, session: psycopg.Connection) -> None:
    with colonnade.connect(prepared.uri(tcp=True)) as connection:
        result = connection.query(ENDLESS)
        next(iter(result))
        progress = "select command, type, bytes_processed, tuples_processed from pg_stat_progress_copy"
        time.sleep(0.2)
        command, type_, bytes_, tuples = session.execute(progress).fetchone()
        assert (command, type_) == ("COPY TO", "PIPE")
        assert tuples > 0
        assert bytes_ > 0
        result.close()
    wait_until(lambda: session.execute(progress).fetchone() is None)


def test_the_log_has_the_users_statement(installation: pg.Installation) -> None:
    settings = {
        "shared_preload_libraries": "colonnade,auto_explain",
        "log_min_duration_statement": "0",
        "auto_explain.log_min_duration": "0",
        "auto_explain.log_analyze": "on",
    }
    with pg.cluster(installation, settings) as logged:
        with colonnade.connect(logged.uri()) as connection:
            assert connection.query("select 7 as seven from generate_series(1, 10)").to_arrow().num_rows == 10
        text = logged.log.read_text()
    assert re.search(
        r"duration: [\d.]+ ms  statement: COPY \(\s*select 7 as seven[^)]*\)\s*\) TO STDOUT \(FORMAT colonn", text
    )
    # PostgreSQL 18 shows decimals of the rows.
    plan = r"plan:\s+Query Text: COPY .*?Function Scan on generate_series.*?rows=10(\.00)? loops=1"
    assert re.search(plan, text, re.DOTALL)
    assert "ERROR" not in text


@pytest.mark.parametrize("order", ["pg_stat_statements,colonnade", "colonnade,pg_stat_statements"])
def test_statistics_of_statements(installation: pg.Installation, order: str) -> None:
    with pg.cluster(installation, {"shared_preload_libraries": order}) as watched, watched.connect() as session:
        session.execute("create extension pg_stat_statements; select pg_stat_statements_reset()")
        copy = "copy (select i from generate_series(1, 123) i) to stdout"
        for _ in range(2):
            assert len(copied(session, f"{copy} (format colonnade)")["i"]) == 123
        with session.cursor() as cursor, cursor.copy(copy) as core:
            list(core)
        found = session.execute(
            "select query, calls, rows from pg_stat_statements where query ilike 'copy%' order by query"
        ).fetchall()
        assert [(query.lower(), calls, rows) for query, calls, rows in found] == [
            (copy, 1, 123),
            (f"{copy} (format colonnade)", 2, 246),
        ]


def test_another_hook_sees_the_statement(installation: pg.Installation) -> None:
    """auto_explain and pg_stat_statements hook in on either side; a nested COPY by a function is still core's."""
    with pg.cluster(installation, {"shared_preload_libraries": "pg_stat_statements,colonnade,auto_explain"}) as hooked:
        with hooked.connect() as session:
            function = """create function copies() returns int language plpgsql as
                $$ begin copy (select 1) to '/tmp/colonnade-never' (format csv); return 1; end $$"""
            session.execute(function)
            session.execute("create role plain login")
        with hooked.connect(user="plain") as session:
            ours = refusal(session, f"copy (select copies() as n) {COLONNADE})")
            assert ours == refusal(session, "copy (select copies() as n) to stdout")
            assert ours[0] == "42501"
            assert copied(session, f"copy (select 1 as one) {COLONNADE})") == {"one": [1]}


def test_a_copy_within_a_function_within_our_copy_is_not_ours(session: psycopg.Connection) -> None:
    session.execute("select colonnade_version()")
    session.execute("""
        create function pg_temp.twice(i int) returns int language plpgsql as $$
        begin
            create temp table if not exists inner_rows as select 1 as x;
            execute 'select count(*) from inner_rows';
            return i * 2;
        end $$""")
    query = "select pg_temp.twice(i) as n from generate_series(1, 5) i"
    assert copied(session, f"copy ({query}) {COLONNADE})") == {"n": [2, 4, 6, 8, 10]}


def test_a_format_that_is_refused_in_a_function(session: psycopg.Connection) -> None:
    """Core lets no function COPY to the client; neither do we, and no crash either."""
    session.execute("select colonnade_version()")
    body = "copy (select 1) to stdout"
    for options in ("", " (format colonnade)"):
        with pytest.raises(psycopg.Error) as caught:
            session.execute(f"do $$ begin {body}{options}; end $$")
        assert caught.value.diag.message_primary is not None
    assert payloads(session, f"copy (select 1 as one) {COLONNADE})")


def test_the_owner_of_a_database_creates_the_extension(postgres: pg.Cluster) -> None:
    """As every trusted extension: the right CREATE on the database is enough."""
    setup = "create role keeper login; create role taker login; create database kept owner keeper"
    with postgres.connect() as session:
        for statement in setup.split(";"):
            session.execute(statement)
        try:
            with postgres.connect("kept", "taker") as taker, pytest.raises(psycopg.Error) as caught:
                taker.execute("create extension colonnade")
            assert caught.value.sqlstate == "42501"
            with postgres.connect("kept", "keeper") as keeper:
                keeper.execute("create schema tools; grant usage on schema tools to taker")
                keeper.execute("create extension colonnade schema tools")
                keeper.execute("alter extension colonnade update")
            with colonnade.connect(postgres.uri("kept", "taker")) as connection:
                assert connection.query("select 1 as one").to_arrow().to_pylist() == [{"one": 1}]
                assert "with colonnade" in connection.server
            with postgres.connect("kept", "keeper") as keeper:
                keeper.execute("drop extension colonnade")
        finally:
            session.execute("drop database kept with (force)")
            session.execute("drop role keeper")
            session.execute("drop role taker")
