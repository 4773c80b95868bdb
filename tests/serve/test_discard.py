"""DISCARD and RESET ALL, after which a pool gives a session to another client: nothing of the first one is left."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import errors

from tests.support.users import add_user
from tests.testbed.serving import Server, function_options, serve

#: Each depends on one before it, or has the name of one.
TEMPORARY = (
    "CREATE TEMP TABLE parent (i INTEGER PRIMARY KEY)",
    "CREATE TEMP TABLE child (i INTEGER REFERENCES parent (i))",
    "CREATE TEMP SEQUENCE counted",
    "CREATE TEMP TABLE numbered (i INTEGER DEFAULT nextval('counted'))",
    "CREATE TEMP TYPE mood AS ENUM ('good')",
    'CREATE TEMP TABLE "of type" (m mood)',
    "CREATE TEMP VIEW seen AS FROM parent",
    "CREATE TEMP MACRO one(x) AS x",
    "CREATE TEMP MACRO several(x) AS TABLE SELECT x",
)
LEFT = (
    *TEMPORARY,
    "SET VARIABLE own = 'secret'",
    "SET VARIABLE \"another one\" = 'secret'",
    "SET VARIABLE colonnade_user = 'someone'",
    "PREPARE own AS SELECT 'secret'",
    "SET ieee_floating_point_ops = false",
    "SET integer_division = true",
    "SET TimeZone = 'Asia/Tokyo'",
    "USE beside",
)
OBJECTS = """
SELECT table_name FROM duckdb_tables() WHERE temporary UNION ALL
SELECT view_name FROM duckdb_views() WHERE database_name = 'temp' AND NOT internal UNION ALL
SELECT sequence_name FROM duckdb_sequences() WHERE temporary UNION ALL
SELECT type_name FROM duckdb_types() WHERE database_name = 'temp' AND NOT internal UNION ALL
SELECT function_name FROM duckdb_functions() WHERE database_name = 'temp' AND NOT internal
"""
STATE = """
SELECT current_user, current_schema(), current_setting('TimeZone'), current_setting('search_path'), 1 / 2,
       current_setting('ieee_floating_point_ops'), getvariable('own'), getvariable('another one')
"""


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "functions"])
def pooled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    users = tmp_path_factory.mktemp("pooled") / "users"
    add_user(users, "writer", "secret")
    add_user(users, "reader", "secret", "--read-only")
    with serve("--users", users, *(function_options() if request.param else ())) as server:
        with connected(server, "writer") as writer:
            writer.execute("CREATE SCHEMA beside")
        yield server


def connected(server: Server, user: str, **options: str) -> psycopg.Connection:
    uri = f"postgresql://{user}:secret@{server.host}:{server.port}/"
    return psycopg.connect(uri, autocommit=True, **options)


@pytest.mark.parametrize("options", ["", "-c TimeZone=Europe/Berlin -c search_path=beside"], ids=["", "options"])
@pytest.mark.parametrize("prepare", [False, True])
@pytest.mark.parametrize("user", ["writer", "reader"])
def test_discard_all_leaves_a_new_session(pooled: Server, user: str, prepare: bool, options: str) -> None:
    with connected(pooled, user, options=options) as client:
        new = client.execute(STATE).fetchall()
        for statement in LEFT:
            client.execute(statement.encode(), prepare=prepare)
        client.execute("BEGIN")
        client.execute("DECLARE held CURSOR WITH HOLD FOR SELECT 'secret'")
        client.execute("COMMIT")
        assert len(client.execute(OBJECTS).fetchall()) == len(TEMPORARY)
        assert client.execute(STATE).fetchall() != new
        assert client.execute("DISCARD ALL", prepare=prepare).statusmessage == "DISCARD ALL"
        assert client.execute(OBJECTS).fetchall() == []
        assert client.execute(STATE).fetchall() == new
        with pytest.raises(psycopg.Error, match="own"):
            client.execute("EXECUTE own")
        with pytest.raises(errors.InvalidCursorName):
            client.execute("FETCH held")
        # The names are free.
        for statement in TEMPORARY:
            client.execute(statement.encode(), prepare=prepare)
        client.execute("DISCARD ALL")


@pytest.mark.parametrize("what", ["TEMP", "TEMPORARY"])
def test_discard_temp_drops_temporary_objects_only(pooled: Server, what: str) -> None:
    with connected(pooled, "reader") as client:
        before = client.execute(STATE).fetchall()
        for statement in LEFT:
            client.execute(statement.encode())
        state = client.execute(STATE).fetchall()
        assert state != before
        # In a transaction too, which can be rolled back.
        client.execute("BEGIN")
        client.execute(f"DISCARD {what}".encode())
        assert client.execute(OBJECTS).fetchall() == []
        client.execute("ROLLBACK")
        assert len(client.execute(OBJECTS).fetchall()) == len(TEMPORARY)
        assert client.execute(f"DISCARD {what}".encode()).statusmessage == f"DISCARD {what}"
        assert client.execute(OBJECTS).fetchall() == []
        assert client.execute(STATE).fetchall() == state


def test_reset_all_resets_settings_only(pooled: Server) -> None:
    with connected(pooled, "writer") as client:
        new = client.execute(STATE).fetchone() or ()
        for statement in LEFT:
            client.execute(statement.encode())
        assert client.execute("RESET ALL").statusmessage == "RESET"
        after = client.execute(STATE).fetchone() or ()
        assert after[1:6] == new[1:6]
        assert after[6:] == ("secret", "secret")
        assert len(client.execute(OBJECTS).fetchall()) == len(TEMPORARY)


def test_only_a_statement_of_its_own_discards(pooled: Server) -> None:
    with connected(pooled, "writer") as client:
        client.execute("CREATE TEMP TABLE kept AS SELECT 1 AS i")
        for statement in (
            "COPY (DISCARD ALL) TO STDOUT",
            "DECLARE c CURSOR WITH HOLD FOR DISCARD ALL",
            "EXPLAIN DISCARD ALL",
        ):
            with pytest.raises(psycopg.Error), client.cursor() as cursor:
                cursor.execute(statement.encode())
            assert client.execute("FROM kept").fetchall() == [(1,)]
