"""What `read_sql` and `COPY … TO` refuse leaves no trace, at every source."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import adbc_driver_postgresql
import adbc_driver_sqlite
import colonnade
import duckdb
import psycopg
import pytest

from tests.support import fronts
from tests.testbed import mariadb
from tests.testbed import postgres as pg
from tests.testbed.serving import Server

TABLE = "refused_t"
MAKE, DROP, COUNT = f"create table {TABLE} (i int)", f"drop table {TABLE}", f"select count(*) from {TABLE}"
#: Statements that give no rows, with a comment in front too: nothing may depend on a statement's first word.
PLAIN = (
    f"insert into {TABLE} values (1)",
    f"/* a note */ insert into {TABLE} values (1)",
    f"with w as (select 1 as i) insert into {TABLE} select i from w",
    "create table refused_u (i int)",
    f"update {TABLE} set i = 2",
    f"delete from {TABLE}",
)


@dataclass(frozen=True)
class Asked:
    """A source with a table of one row, which another connection looks at."""

    uri: str
    count: Callable[[], int]


@contextmanager
def in_postgres(cluster: pg.Cluster, uri: str) -> Iterator[Asked]:
    def count() -> int:
        with cluster.connect() as session:
            row = session.execute(COUNT).fetchone()
            assert row is not None
            assert session.execute("select to_regclass('refused_u')").fetchone() == (None,)
            return row[0]

    with cluster.prepared(f"{MAKE}; insert into {TABLE} values (7)", DROP):
        yield Asked(uri, count)


@contextmanager
def in_maria_table(server: mariadb.Server, uri: str) -> Iterator[Asked]:
    server.run(f"{MAKE}; insert into {TABLE} values (7)", mariadb.DATABASE)
    try:
        yield Asked(uri, lambda: int(server.run(COUNT, mariadb.DATABASE, "--skip-column-names")))
    finally:
        server.run(f"{DROP}; drop procedure if exists refused_p", mariadb.DATABASE)


@contextmanager
def in_sqlite(path: Path, uri: str) -> Iterator[Asked]:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"{MAKE}; insert into {TABLE} values (7)")

    def count() -> int:
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute(COUNT).fetchone()[0]

    yield Asked(uri, count)


@contextmanager
def in_duckdb(path: Path, uri: str) -> Iterator[Asked]:
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"{MAKE}; insert into {TABLE} values (7)")

    def count() -> int:
        with duckdb.connect(str(path)) as connection:
            return connection.sql(COUNT).fetchall()[0][0]

    yield Asked(uri, count)


SOURCES = (
    *("stock", "extension", "maria", "sqlite", "duckdb", "adbc-sqlite", "adbc-postgres", "odbc", "serve"),
    *("front-postgres", "front-maria", "front-sqlite", "front-adbc"),
)


@pytest.fixture(params=SOURCES)
def asked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Asked]:
    path, get = tmp_path / "a.db", request.getfixturevalue
    match request.param:
        case "stock":
            context = in_postgres(get("stock"), get("stock").uri())
        case "extension":
            context = in_postgres(get("extended"), get("extended").uri())
        case "maria":
            context = in_maria_table(get("maria"), get("maria").uri())
        case "sqlite":
            context = in_sqlite(path, f"sqlite:///{path}")
        case "duckdb":
            context = in_duckdb(path, f"duckdb:///{path}")
        case "adbc-sqlite":
            context = in_sqlite(path, f"adbc:{adbc_driver_sqlite._driver_path()}?uri={path}")
        case "adbc-postgres":
            uri = f"adbc:{adbc_driver_postgresql._driver_path()}?uri={get('stock').uri(tcp=True)}"
            context = in_postgres(get("stock"), uri.replace("tester@", "tester:hunter2@"))
        case "odbc":
            context = in_postgres(get("stock"), fronts.odbc(get("stock")))
        case "serve":
            context = in_server(get("server"))
        case "front-postgres":
            context = in_postgres(get("stock"), get("in_postgres").own_uri)
        case "front-maria":
            context = in_maria_table(get("maria"), get("in_maria").own_uri)
        case "front-sqlite":
            context = fronted(in_sqlite(path, f"sqlite:///{path}"))
        case _:
            context = fronted(in_sqlite(path, f"adbc:{adbc_driver_sqlite._driver_path()}?uri={path}"))
    with context as found:
        yield found


@contextmanager
def in_server(server: Server) -> Iterator[Asked]:
    with psycopg.connect(server.dsn, autocommit=True) as session:
        session.execute(MAKE)
        session.execute(f"insert into {TABLE} values (7)")

        def count() -> int:
            row = session.execute(COUNT).fetchone()
            assert row is not None
            return row[0]

        try:
            yield Asked(fronts.colonnade_uri(server), count)
        finally:
            session.execute(DROP)


@contextmanager
def fronted(behind: Any) -> Iterator[Asked]:
    with behind as found, fronts.front(found.uri) as front:
        yield Asked(front.own_uri, found.count)


@pytest.mark.parametrize("statement", PLAIN)
def test_a_statement_without_rows_has_not_run(asked: Asked, statement: str) -> None:
    with pytest.raises(colonnade.Error):
        colonnade.read_sql(asked.uri, statement, return_type="arrow")
    assert asked.count() == 1


def test_nor_is_a_list_of_them_begun(asked: Asked) -> None:
    with pytest.raises(colonnade.Error):
        colonnade.read_sql(asked.uri, [PLAIN[0], PLAIN[0]], return_type="arrow")
    assert asked.count() == 1


def test_the_session_goes_on(asked: Asked) -> None:
    with colonnade.connect(asked.uri) as connection:
        for statement in PLAIN:
            with pytest.raises(colonnade.Error):
                connection.query(statement)
        assert connection.query(COUNT).to_arrow().column(0)[0].as_py() == 1
    assert asked.count() == 1


@pytest.mark.parametrize("front", ["postgres", "maria", "sqlite", "adbc", "odbc"], indirect=True)
def test_copy_says_so(front: fronts.Front) -> None:
    with fronts.connect(front.server) as client, pytest.raises(psycopg.Error) as caught:
        client.execute("copy (insert into t values (1)) to stdout")
    assert caught.value.sqlstate in ("0A000", "42000", "42P01", "42S02", "HV000")


RETURNING = f"insert into {TABLE} values (1) returning i"
#: What COPY refuses in itself, and what it refuses when the columns are known.
OPTIONS = (
    "format nothing",
    "format csv, delimiter 'ab'",
    "format csv, force_quote (nothere)",
    "format csv, force_null (i)",
    "format colonnade, chunk_rows 0",
    "nothing 1",
)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("asked", ["serve", "front-postgres", "front-maria"], indirect=True)
def test_copy_with_an_option_that_is_refused_has_not_run(asked: Asked, options: str) -> None:
    with psycopg.connect(asked.uri.split("?")[0], autocommit=True) as client:
        for _ in range(2):
            with pytest.raises(psycopg.Error) as caught:
                client.execute(f"copy ({RETURNING}) to stdout with ({options})".encode())
            assert caught.value.sqlstate in ("22023", "0A000", "42P10", "42601"), caught.value
        assert asked.count() == 1
        with client.cursor().copy(f"copy ({RETURNING}) to stdout with (format csv, force_quote (i))".encode()) as rows:
            assert b"".join(rows) == b'"1"\n'
    assert asked.count() == 2


@pytest.mark.parametrize("form", ["text", "csv", "binary"])
def test_copy_of_a_type_that_a_format_lacks_has_not_run(form: str, server: Server) -> None:
    with in_server(server) as asked, psycopg.connect(asked.uri, autocommit=True) as client:
        client.execute("create temp sequence refused_s")
        for query in (
            f"insert into {TABLE} values (1) returning i::variant as v",
            f"with w as (insert into {TABLE} values (1) returning i) select [i::variant] as v from w",
            "select nextval('refused_s')::variant as v",
        ):
            with pytest.raises(psycopg.errors.FeatureNotSupported, match='column "v"'):
                client.execute(f"copy ({query}) to stdout (format {form})".encode())
        assert asked.count() == 1
        assert client.execute("select nextval('refused_s')").fetchone() == (1,)


# --- what gives rows, and is kept -------------------------------------------------------------------------------------


def test_what_gives_rows_is_kept(asked: Asked) -> None:
    is_read_only = asked.uri.startswith("sqlite:")
    try:
        table = colonnade.read_sql(asked.uri, RETURNING, return_type="arrow")
    except colonnade.Error as error:
        assert is_read_only or "readonly" in str(error) or "read-only" in str(error)
        assert asked.count() == 1
        return
    assert table.num_rows == 1
    assert asked.count() == 2


def test_a_type_that_cannot_be_read_is_refused_first(tmp_path: Path, stock: pg.Cluster) -> None:
    with in_duckdb(tmp_path / "a.db", f"duckdb:///{tmp_path}/a.db") as asked:
        with pytest.raises(colonnade.NotSupportedError, match='column "u"'):
            colonnade.read_sql(asked.uri, f"insert into {TABLE} values (1) returning union_value(a := i) as u")
        assert asked.count() == 1
    with in_postgres(stock, stock.uri()) as asked:
        with pytest.raises(colonnade.Error, match="nothere"):
            colonnade.read_sql(asked.uri, RETURNING, as_text=["nothere"])
        assert asked.count() == 1


def test_a_served_type_that_cannot_be_read_is_refused_first(server: Server) -> None:
    with in_server(server) as asked:
        with pytest.raises(colonnade.NotSupportedError, match='column "u"'):
            colonnade.read_sql(asked.uri, f"insert into {TABLE} values (1) returning union_value(a := i) as u")
        assert asked.count() == 1


# --- MySQL: what a procedure gives is known when it has run -----------------------------------------------------------

PROCEDURES = {
    "no rows": "begin insert into refused_t values (1); end",
    "two results": "begin insert into refused_t values (1); select 1 as a; select 2 as b; end",
    "an error": "begin insert into refused_t values (1); signal sqlstate '45000' set message_text = 'stop'; end",
}


@pytest.mark.parametrize("body", PROCEDURES.values(), ids=PROCEDURES)
def test_a_procedure_that_is_refused_is_undone(maria: mariadb.Server, body: str) -> None:
    with in_maria_table(maria, maria.uri()) as asked:
        maria.run(f"delimiter //\ncreate procedure refused_p() {body}//\n", mariadb.DATABASE)
        with pytest.raises(colonnade.Error) as caught:
            colonnade.read_sql(asked.uri, "call refused_p()", return_type="arrow")
        assert "has run" not in str(caught.value)
        assert asked.count() == 1
        # Within a transaction of the user's, which goes on.
        with colonnade.connect(asked.uri) as connection:
            connection.execute("begin")
            connection.execute(f"insert into {TABLE} values (8)")
            with pytest.raises(colonnade.Error):
                connection.query("call refused_p()").to_arrow()
            assert connection.query(COUNT).to_arrow().column(0)[0].as_py() == 2
            connection.execute("commit")
        assert asked.count() == 2
        with colonnade.connect(asked.uri) as connection:
            connection.execute("set autocommit = 0")
            with pytest.raises(colonnade.Error):
                connection.query("call refused_p()").to_arrow()
            connection.execute("commit")
        assert asked.count() == 2


def test_a_procedure_that_does_not_exist_has_not_run(maria: mariadb.Server) -> None:
    with colonnade.connect(maria.uri()) as connection:
        for begin in ("do 0", "begin"):
            connection.execute(begin)
            with pytest.raises(colonnade.Error, match=r"PROCEDURE shop.refused_p does not exist \(SQLSTATE") as caught:
                connection.query("call refused_p()")
            assert caught.value.sqlstate == "42000"


def test_copy_of_a_procedure_that_is_refused_is_undone(maria: mariadb.Server, in_maria: fronts.Front) -> None:
    with in_maria_table(maria, in_maria.own_uri) as asked, fronts.connect(in_maria.server) as client:
        body = f"begin insert into {TABLE} values (1); select 1 as a; select 2 as b; end"
        maria.run(f"delimiter //\ncreate procedure refused_p() {body}//\n", mariadb.DATABASE)
        with pytest.raises(psycopg.Error, match="nothere"):
            client.execute("copy (call refused_p()) to stdout (format csv, force_quote (nothere))")
        assert asked.count() == 1
        assert client.execute("select 3").fetchone() == (3,)


def test_a_procedure_that_gives_rows_is_kept(maria: mariadb.Server) -> None:
    with in_maria_table(maria, maria.uri()) as asked:
        body = f"begin insert into {TABLE} values (1); select 5 as a; end"
        maria.run(f"delimiter //\ncreate procedure refused_p() {body}//\n", mariadb.DATABASE)
        table = colonnade.read_sql(asked.uri, "call refused_p()", return_type="arrow")
        assert table.to_pylist() == [{"a": 5}]
        assert asked.count() == 2


@pytest.mark.parametrize(
    "body",
    ["begin insert into refused_t values (1); commit; end", "begin insert into refused_m values (1); end"],
    ids=["commits", "has no transactions"],
)
def test_what_cannot_be_undone_says_so(maria: mariadb.Server, body: str) -> None:
    maria.run("create table refused_m (i int) engine = MyISAM", mariadb.DATABASE)
    try:
        with in_maria_table(maria, maria.uri()) as asked:
            maria.run(f"delimiter //\ncreate procedure refused_p() {body}//\n", mariadb.DATABASE)
            for own in (True, False):
                with (
                    colonnade.connect(asked.uri) as connection,
                    pytest.raises(colonnade.Error, match=r"has run and could not be undone"),
                ):
                    if not own:
                        connection.execute("begin")
                    connection.query("call refused_p()").to_arrow()
    finally:
        maria.run("drop table refused_m", mariadb.DATABASE)


# --- ADBC, ODBC: the driver's transactions ----------------------------------------------------------------------------


def test_adbc_within_a_transaction_says_what_has_run(tmp_path: Path) -> None:
    with in_sqlite(tmp_path / "a.db", f"adbc:{adbc_driver_sqlite._driver_path()}?uri={tmp_path}/a.db") as asked:
        with colonnade.connect(asked.uri) as connection:
            connection.execute("begin")
            with pytest.raises(colonnade.Error, match="has run"):
                connection.query(PLAIN[1])
            connection.execute("rollback")
        assert asked.count() == 1


def test_adbc_that_is_given_up_is_undone(tmp_path: Path) -> None:
    with in_sqlite(tmp_path / "a.db", f"adbc:{adbc_driver_sqlite._driver_path()}?uri={tmp_path}/a.db") as asked:
        with colonnade.connect(asked.uri + "&adbc.sqlite.query.batch_rows=1") as connection:
            connection.query(f"insert into {TABLE} values (1), (2), (3), (4), (5), (6) returning i").close()
            assert connection.query(RETURNING).to_arrow().num_rows == 1
        assert asked.count() == 2


@pytest.mark.parametrize("statement", PLAIN)
def test_odbc_asks_the_driver(stock: pg.Cluster, statement: str) -> None:
    with in_postgres(stock, fronts.odbc(stock)) as asked, colonnade.connect(asked.uri) as connection:
        with pytest.raises(colonnade.Error) as caught:
            connection.query(statement)
        assert "has run" not in str(caught.value)
        assert asked.count() == 1
        assert connection.query(f"/* insert */ {RETURNING}").to_arrow().num_rows == 1
        assert asked.count() == 2


def test_odbc_says_what_has_run(stock: pg.Cluster) -> None:
    with colonnade.connect(fronts.odbc(stock)) as connection:
        # Another connection does not see it.
        connection.execute("create temp table refused_own (i int)")
        with pytest.raises(colonnade.Error, match="has run"):
            connection.query("insert into refused_own values (1)")
        assert connection.query("select i from refused_own").to_arrow().num_rows == 1
