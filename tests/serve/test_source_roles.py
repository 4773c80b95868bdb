"""Roles and prepared statements in front of a source: the server knows who the client is, the source has the roles."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors

from tests.support.fronts import Front, connect


def test_the_client_is_who_has_logged_in(in_postgres: Front, in_maria: Front) -> None:
    for front in (in_postgres, in_maria):
        with connect(front.server) as client:
            (name,) = client.execute("SHOW SESSION AUTHORIZATION").fetchone() or ()
            client.execute("SET SESSION AUTHORIZATION DEFAULT")
            client.execute(f"SET SESSION AUTHORIZATION {name}".encode())
            with pytest.raises(errors.InsufficientPrivilege, match="another"):
                client.execute("SET SESSION AUTHORIZATION another")
            client.execute("RESET SESSION AUTHORIZATION")


def test_roles_are_the_sources(in_postgres: Front) -> None:
    with connect(in_postgres.server) as client:
        client.execute("SET ROLE pg_monitor")
        assert client.execute("SELECT current_user").fetchone() == ("pg_monitor",)
        client.execute("SET ROLE NONE")
        assert client.execute("SELECT current_user").fetchone() != ("pg_monitor",)
        client.execute("SET CONSTRAINTS ALL IMMEDIATE")
        with pytest.raises(errors.InvalidParameterValue):
            client.execute("SET ROLE nobody_of_this_name")


def test_deallocate_all_reaches_the_source(in_postgres: Front) -> None:
    with connect(in_postgres.server) as client:
        client.execute("PREPARE one AS SELECT 1")
        for _ in range(2):
            assert client.execute("SELECT %s::int", [5], prepare=True).fetchone() == (5,)
        assert client.execute("DEALLOCATE ALL").statusmessage == "DEALLOCATE ALL"
        with pytest.raises(errors.InvalidSqlStatementName):
            client.execute("EXECUTE one")
        with psycopg.ClientCursor(client) as cursor:
            assert cursor.execute("SELECT %s::int", [6]).fetchone() == (6,)
        assert client.execute("SELECT %s::text", ["a"], prepare=True).fetchone() == ("a",)
