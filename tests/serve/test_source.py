"""`colonnade serve --source`: the server in front of real databases, for colonnade's client and for PostgreSQL's."""

from __future__ import annotations

import asyncio
import datetime as dt
import subprocess
import uuid
from decimal import Decimal
from typing import Any

import asyncpg
import colonnade
import psycopg
import pytest

from tests.support.fronts import Front, connect
from tests.testbed import postgres as pg

ROWS = (
    "select 1 as i, 'it''s ß漢🧀' as t, 2.5 as f union all select 2, null, -0.25 union all select 3, '', 0 order by 1"
)


def test_rows_come_as_from_the_source(front: Front) -> None:
    with colonnade.connect(front.uri) as source, colonnade.connect(front.own_uri) as client:
        for sql in (ROWS, f"select * from ({ROWS}) x where i > 7"):
            expected, found = source.query(sql).to_arrow(), client.query(sql).to_arrow()
            assert found.schema.equals(expected.schema, check_metadata=True)
            assert found == expected
    with connect(front.server) as client:
        rows = client.execute(ROWS).fetchall()
        assert [(int(i), t) for i, t, _ in rows] == [(1, "it's ß漢🧀"), (2, None), (3, "")]
        assert [Decimal(str(f)) for _, _, f in rows] == [Decimal("2.5"), Decimal("-0.25"), 0]
        # With PREPARE's messages, too, whose columns are told when it runs.
        assert client.execute(ROWS, prepare=True).fetchall() == rows
        with client.cursor().copy(f"COPY ({ROWS}) TO STDOUT (FORMAT csv)") as copy:
            assert b"".join(map(bytes, copy)).count(b"\n") == 3


def test_every_type_of_postgresql(in_postgres: Front) -> None:
    sql = """
        select true as a, 1::int2 as b, 2::int4 as c, 3::int8 as d, 4.5::float4 as e, 0.1::float8 as f,
               6.70::numeric(9, 2) as g, 1e40::numeric as h, 'NaN'::numeric as i, 'x'::text as j, 'y'::varchar(3) as k,
               'z'::char(3) as l, '\\x00ff'::bytea as m, date '2024-02-29' as n, time '01:02:03.5' as o,
               timestamp '2024-02-29 01:02:03' as p, timestamptz '2024-02-29 01:02:03+00' as q,
               interval '1 day 2 hours' as r, '00112233-4455-6677-8899-aabbccddeeff'::uuid as s,
               '{"a": [1]}'::json as t, '{"a": [1]}'::jsonb as u, array[1, 2] as v, array['a "b"', null] as w,
               null::int as x, '10.0.0.1'::inet as y, row(1, 'a') as z
        from generate_series(1, 3)
    """
    with colonnade.connect(in_postgres.uri) as source, colonnade.connect(in_postgres.own_uri) as client:
        narrow = sql.replace(", row(1, 'a') as z", "")
        expected, found = source.query(narrow).to_arrow(), client.query(narrow).to_arrow()
        assert found.schema.equals(expected.schema, check_metadata=True)
        assert found == expected
    # What Arrow has as text alone is text to them.
    for column in (", row(1, 'a') as z", ", '10.0.0.1'::inet as y", "::uuid", "::jsonb", "::json"):
        sql = sql.replace(column, "")
    with psycopg.connect(in_postgres.uri) as source, connect(in_postgres.server) as client:
        # What the client is told of is the source's own.
        assert client.info.parameter_status("TimeZone") == source.info.parameter_status("TimeZone")
        for binary in (False, True):
            expected_rows = source.execute(sql, binary=binary).fetchall()
            found_rows = client.execute(sql, binary=binary).fetchall()
            for found_row, expected_row in zip(found_rows, expected_rows, strict=True):
                assert [*map(repr, found_row)] == [*map(repr, expected_row)]


@pytest.mark.parametrize(
    ("value", "from_postgres", "from_maria", "from_sqlite"),
    [
        (7, 7, 7, 7),
        (-(2**62), -(2**62), -(2**62), -(2**62)),
        (0.1, 0.1, 0.1, 0.1),
        ("it's \\ ; -- ` \" $1 ß", ..., ..., ...),
        ("", "", "", ""),
        (None, None, None, None),
        (b"\0\xff'\\", b"\0\xff'\\", b"\0\xff'\\", b"\0\xff'\\"),
        (True, True, 1, 1),
        (Decimal("-12.340"), Decimal("-12.340"), Decimal("-12.340"), -12.34),
        (dt.date(2024, 2, 29), dt.date(2024, 2, 29), "2024-02-29", "2024-02-29"),
        (uuid.UUID(int=0xAB), str(uuid.UUID(int=0xAB)), str(uuid.UUID(int=0xAB)), str(uuid.UUID(int=0xAB))),
        ([1, None, 3], [1, None, 3], None, None),
    ],
    ids=str,
)
def test_parameters_are_written_as_the_source_writes_them(
    in_postgres: Front,
    in_maria: Front,
    in_sqlite: Front,
    value: Any,
    from_postgres: Any,
    from_maria: Any,
    from_sqlite: Any,
) -> None:
    for front, expected in ((in_postgres, from_postgres), (in_maria, from_maria), (in_sqlite, from_sqlite)):
        with connect(front.server) as client:
            for form in ("%s", "%b", "%t"):
                if value is None and form != "%s":
                    continue
                if isinstance(value, list) and front is not in_postgres:
                    with pytest.raises(psycopg.Error, match=r"has no (lists|arrays)"):
                        client.execute(f"select {form}", [value])
                    continue
                ((found,),) = client.execute(f"select {form}", [value]).fetchall()
                assert found == (value if expected is ... else expected), front.uri
            # The server has no position of its own for what stands in quotes of the source's.
            assert client.execute("select %s as a, 'it''s $9 $1'", [1]).fetchall() == [(1, "it's $9 $1")]


@pytest.mark.parametrize("fixture", ["in_adbc", "in_odbc"])
def test_parameters_are_refused_where_nobody_can_write_them(request: pytest.FixtureRequest, fixture: str) -> None:
    front = request.getfixturevalue(fixture)
    with connect(front.server) as client:
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="parameters are not passed"):
            client.execute("select %s", [1])
        assert psycopg.ClientCursor(client).execute("select %s", ["it's"]).fetchall() == [("it's",)]
    with colonnade.connect(front.own_uri) as client, pytest.raises(colonnade.InterfaceError, match="is unknown"):
        client.query("select $1", ["x"])


def test_colonnades_client_knows_whose_literals_to_write(in_maria: Front, in_sqlite: Front, in_postgres: Front) -> None:
    text = "\\' or 1=1 -- "
    for front in (in_maria, in_sqlite, in_postgres):
        with colonnade.connect(front.own_uri) as client:
            assert client.query("select $1 as v", [text]).to_arrow().to_pylist() == [{"v": text}]
    # A driver of PostgreSQL's writes backslashes as they are, and names in double quotes.
    with colonnade.connect(in_maria.own_uri) as client:
        assert client.query("select '\\' as \"a $1\", $1 as v", [text]).to_arrow().to_pylist() == [
            {"a $1": "\\", "v": text}
        ]


def test_statements_are_never_cut_wrongly(
    in_maria: Front, in_sqlite: Front, in_postgres: Front, in_adbc: Front
) -> None:
    with connect(in_maria.server) as client:
        with pytest.raises(psycopg.errors.SyntaxErrorOrAccessRuleViolation):
            client.execute(r"select '\'; drop table t; -- ' as a")
        assert client.execute(r"select '; \', '\'';' as a").fetchall() == [("; \\", "\\';")]
        assert client.execute("select 1 as `a;b`").description[0].name == "a;b"
        with pytest.raises(psycopg.errors.SyntaxErrorOrAccessRuleViolation):
            client.execute("select 1 as `a;b`; select 2")
        with client.cursor().copy(r"COPY (select '\'') TO STDOUT (FORMAT csv)' as `x)`) TO STDOUT") as copy:
            assert list(copy.rows()) == [("\\') TO STDOUT (FORMAT csv)",)]
    with connect(in_postgres.server) as client:
        client.execute("create function f() returns int language sql begin atomic select 1; select 7; end; ")
        assert client.execute("select f()").fetchall() == [(7,)]
        client.execute("drop function f")
        with pytest.raises(psycopg.errors.SyntaxError, match="multiple commands"):
            client.execute("select $$;$$; select 2")
    with connect(in_sqlite.server) as client:
        assert client.execute("select ';' as [a;b]").fetchall() == [(";",)]
        with pytest.raises(psycopg.Error, match="more than one statement"):
            client.execute("select 1 as [a;b]; select 2")
    with (
        connect(in_adbc.server) as client,
        pytest.raises(psycopg.errors.FeatureNotSupported, match="where the statements"),
    ):
        client.execute("select 1 as [a;b]; select 2")


def test_several_statements_are_one_transaction(in_postgres: Front, in_maria: Front) -> None:
    for front in (in_postgres, in_maria):
        with connect(front.server) as client:
            client.execute("create table several (i int)")
            try:
                with pytest.raises(psycopg.Error):
                    client.execute("insert into several values (1); select nonsense; insert into several values (2)")
                assert client.execute("select count(*) from several").fetchall() == [(0,)]
                cursor = client.execute("insert into several values (1), (2); select i from several order by i")
                assert cursor.statusmessage == "INSERT 0 2"
                assert cursor.nextset()
                assert cursor.fetchall() == [(1,), (2,)]
                with client.pipeline():
                    client.execute("insert into several values (3)")
                    client.execute("update several set i = i + 1")
                assert client.execute("select sum(i) from several").fetchall() == [(9,)]
            finally:
                client.execute("drop table several")


def test_transactions_are_the_sources(in_postgres: Front, in_maria: Front) -> None:
    idle, open_, failed = (
        psycopg.pq.TransactionStatus.IDLE,
        psycopg.pq.TransactionStatus.INTRANS,
        psycopg.pq.TransactionStatus.INERROR,
    )
    for front in (in_postgres, in_maria):
        with connect(front.server, autocommit=False) as client, connect(front.server) as other:
            other.execute("create table moved (i int)")
            try:
                client.execute("insert into moved values (1)")
                assert client.info.transaction_status == open_
                assert other.execute("select count(*) from moved").fetchall() == [(0,)]
                client.commit()
                assert client.info.transaction_status == idle
                client.execute("savepoint a")
                client.execute("insert into moved values (2)")
                client.execute("rollback to savepoint a")
                with pytest.raises(psycopg.Error):
                    client.execute("select nonsense")
                # MySQL goes on where PostgreSQL does not.
                assert client.info.transaction_status == (failed if front is in_postgres else open_)
                client.rollback()
                assert other.execute("select count(*) from moved").fetchall() == [(1,)]
            finally:
                other.execute("drop table moved")


def test_an_implicit_commit_is_seen(in_maria: Front) -> None:
    with connect(in_maria.server) as client:
        client.execute("start transaction")
        assert client.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        client.execute("create table implied (i int)")
        assert client.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        client.execute("drop table implied")


def test_effects_are_counted_and_run_once(in_postgres: Front, in_maria: Front, in_adbc: Front, in_odbc: Front) -> None:
    for front in (in_postgres, in_maria, in_adbc, in_odbc):
        with connect(front.server) as client:
            client.execute("create table counted (i int)")
            try:
                inserted = client.execute("insert into counted values (1), (2), (3)").statusmessage
                assert inserted in ("INSERT 0 3", "INSERT") and (front is in_odbc or inserted != "INSERT")
                client.execute("update counted set i = i + 1 where i > 1")
                assert client.execute("select i from counted order by i").fetchall() == [(1,), (3,), (4,)]
            finally:
                client.execute("drop table counted")
    with connect(in_postgres.server) as client:
        client.execute("create table counted (i int)")
        assert client.execute("insert into counted values (7) returning i").fetchall() == [(7,)]
        assert client.execute("insert into counted select %s returning i", [8]).fetchall() == [(8,)]
        assert client.execute("delete from counted where i = %s", [8]).statusmessage == "DELETE 1"
        assert client.execute("explain select 1").fetchall() != []
        client.execute("drop table counted")
    with connect(in_maria.server) as client:
        client.execute("create procedure effect() begin set @done = ifnull(@done, 0) + 1; end")
        try:
            client.execute("call effect()")
            assert client.execute("select @done").fetchall() == [(1,)]
        finally:
            client.execute("drop procedure effect")


def test_errors_are_passed_on(
    in_postgres: Front, in_maria: Front, in_sqlite: Front, in_adbc: Front, in_odbc: Front
) -> None:
    for front, state in (
        (in_postgres, "42P01"),
        (in_maria, "42S02"),
        (in_sqlite, "42000"),
        (in_adbc, None),
        (in_odbc, "42P01"),
    ):
        with connect(front.server) as client:
            with pytest.raises(psycopg.Error, match="nowhere") as caught:
                client.execute("select * from nowhere")
            assert state in (None, caught.value.sqlstate), caught.value
            assert client.execute("select 1").fetchall() == [(1,)]
        with colonnade.connect(front.own_uri) as client, pytest.raises(colonnade.Error, match="nowhere"):
            client.query("select * from nowhere").to_arrow()
    with connect(in_postgres.server) as client:
        with pytest.raises(psycopg.errors.DivisionByZero):
            client.execute("select 1 / (5000 - i) from generate_series(1, 10000) i").fetchall()
        with pytest.raises(psycopg.errors.UniqueViolation, match="duplicate key") as caught:
            client.execute("create temp table u (i int primary key); insert into u values (1), (1)")
        assert "already exists" in (caught.value.diag.message_detail or "")


def test_postgresqls_catalog_is_missed_by_name(in_maria: Front, in_sqlite: Front) -> None:
    for front in (in_maria, in_sqlite):
        with connect(front.server) as client, pytest.raises(psycopg.Error) as caught:
            client.execute("select relname from pg_catalog.pg_class")
        assert "has no pg_catalog" in (caught.value.diag.message_hint or "")


def test_what_is_not_passed_is_refused_by_name(in_postgres: Front, in_sqlite: Front) -> None:
    with connect(in_postgres.server) as client:
        refused = pytest.raises(psycopg.errors.FeatureNotSupported, match="FROM STDIN is not supported in front")
        with refused, client.cursor().copy("copy t from stdin"):
            pass
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="LISTEN is not supported in front"):
            client.execute("listen here")
        client.execute("begin")
        for chained in ("commit and chain", "rollback and chain"):
            with pytest.raises(psycopg.errors.FeatureNotSupported, match="AND CHAIN in front of a source"):
                client.execute(chained.encode())
        assert client.execute("rollback").statusmessage == "ROLLBACK"
        assert client.execute("notify here, 'x'").statusmessage == "NOTIFY"
        assert client.execute("unlisten *").statusmessage == "UNLISTEN"
        assert client.execute("select 1").fetchall() == [(1,)]
    with connect(in_sqlite.server) as client:
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            client.execute("insert into t values (4, 'y')")
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="DISCARD ALL"):
            client.execute("discard all")


def test_settings_and_the_catalog_are_postgresqls_own(in_postgres: Front, stock: pg.Cluster) -> None:
    with connect(in_postgres.server) as client, stock.connect() as direct:
        assert client.info.server_version == direct.info.server_version
        client.execute("set work_mem = '5MB'")
        assert client.execute("show work_mem").fetchall() == [("5MB",)]
        client.execute("set timezone = 'Asia/Tokyo'; set extra_float_digits = 3")
        assert client.execute("select timestamptz '2024-01-01 00:00:00+00'::text").fetchall() == [
            ("2024-01-01 09:00:00+09",)
        ]
        # The session with the source stays in UTF-8.
        client.execute("set client_encoding = 'latin1'")
        result = client.pgconn.exec_params(
            b"select $1 || '\xe9' as \"\xe8\", $2", [b"\xe0", b"\xe0"], param_types=[25, 25], param_formats=[0, 1]
        )
        assert [result.fname(0), result.get_value(0, 0), result.get_value(0, 1)] == [b"\xe8", b"\xe0\xe9", b"\xe0"]
        client.execute("discard all")
        assert client.execute("show work_mem").fetchall() == direct.execute("show work_mem").fetchall()
        assert client.execute("show transaction isolation level").fetchall() == [("read committed",)]
    psql = ["psql", "-X", "-A", "-t", in_postgres.server.dsn, "-c", "\\dn public"]
    assert "public|" in subprocess.run(psql, capture_output=True, text=True, check=True).stdout


def test_cursors_of_the_source_and_of_the_server(in_postgres: Front, in_maria: Front) -> None:
    for front, query in (
        (in_postgres, "select * from generate_series(1, 10)"),
        (in_maria, "select seq from seq_1_to_10"),
    ):
        with connect(front.server, autocommit=False) as client, client.cursor("c") as cursor:
            cursor.execute(query)
            assert cursor.fetchmany(3) == [(1,), (2,), (3,)]
            assert client.execute("select 'between'").fetchall() == [("between",)]
            assert len(cursor.fetchall()) == 7


def test_a_client_that_asks_before_it_runs(in_postgres: Front, in_maria: Front) -> None:
    async def ask(front: Front) -> None:
        server = front.server
        connection = await asyncpg.connect(
            host=server.host, port=server.port, user="tester", database="test", ssl=False
        )
        try:
            rows = await connection.fetch("select $1::int + 1 as a, $2 as b", 41, "it's")
            assert [tuple(row) for row in rows] == [(42, "it's")]
            statement = await connection.prepare(
                "select i, i::numeric / 4 as q from generate_series(1, $1) i where i > $2"
            )
            assert [parameter.name for parameter in statement.get_parameters()] == ["int4", "int4"]
            assert [attribute.type.name for attribute in statement.get_attributes()] == ["int4", "numeric"]
            assert [tuple(row) for row in await statement.fetch(4, 3)] == [(4, Decimal("1.0000000000000000"))]
            async with connection.transaction():
                assert len([row async for row in connection.cursor("select * from generate_series(1, 300)")]) == 300
            with pytest.raises(asyncpg.UndefinedTableError):
                await connection.fetch("select * from nowhere where i = $1", 1)
            assert await connection.execute("create temp table asked (i int, t text)") == "CREATE TABLE"
            assert await connection.execute("insert into asked values ($1, $2)", 1, None) == "INSERT 0 1"
            assert await connection.fetchval("update asked set i = i + $1 returning i", 5) == 6
        finally:
            await connection.close()

    asyncio.run(ask(in_postgres))
    with pytest.raises(asyncpg.FeatureNotSupportedError, match="known only once it has run"):
        asyncio.run(ask(in_maria))
