"""A server over a file, with users who may write, only read, or create functions; and ways to send a statement."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import psycopg

from tests.support.users import add_user
from tests.testbed.serving import TIMEOUT, Server, serve

PASSWORD = "not that secret"


@dataclass(frozen=True)
class Target:
    """A server, the file that it serves, and who may come in."""

    server: Server
    file: Path

    def connect(self, user: str, **options: object) -> psycopg.Connection:
        where = {"host": self.server.host, "port": self.server.port, "user": user, "password": PASSWORD}
        return psycopg.connect(**where, autocommit=True, **options)  # type: ignore[arg-type]

    def canary(self) -> tuple[object, ...] | None:
        """The canary, as a new session reads it: from the worker that is there once there is memory for it, or from the
        next one when that one dies."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                with self.connect("reader") as other:
                    return other.execute("select c from canary").fetchone()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise


@contextmanager
def target(directory: Path, *options: str) -> Iterator[Target]:
    file, users = directory / "shop.duckdb", directory / "users"
    with duckdb.connect(str(file)) as database:
        database.execute(
            "create table t as select 1 as i; create sequence s; create table canary as select 'alive' as c"
        )
    for name, role in (("writer", ()), ("reader", ("--read-only",)), ("author", ("--functions",))):
        add_user(users, name, PASSWORD, *role)
    with serve(file, "--users", users, *options) as server:
        yield Target(server, file)


Way = Callable[[psycopg.Connection, str], object]


def simple(connection: psycopg.Connection, statement: str) -> object:
    return connection.execute(statement)


def extended(connection: psycopg.Connection, statement: str) -> object:
    return connection.execute(statement, prepare=True)


def among_others(connection: psycopg.Connection, statement: str) -> object:
    return connection.execute(f"select 1; {statement}; select 2")


def in_a_transaction(connection: psycopg.Connection, statement: str) -> object:
    connection.execute("begin")
    try:
        return connection.execute(statement)
    finally:
        connection.execute("rollback")


def copied(connection: psycopg.Connection, statement: str) -> object:
    with connection.cursor() as cursor, cursor.copy(f"copy ({statement}) to stdout") as copy:
        return list(copy)


def declared(connection: psycopg.Connection, statement: str) -> object:
    return connection.execute(f"declare c cursor with hold for {statement}")


def explained(connection: psycopg.Connection, statement: str) -> object:
    return connection.execute(f"explain analyze {statement}")


def prepared(connection: psycopg.Connection, statement: str) -> object:
    return connection.execute(f"prepare attack as {statement}")


def spooled(connection: psycopg.Connection, statement: str) -> object:
    return connection.execute("select * from colonnade_spool(%s)", (statement,)).fetchall()


#: In how many ways a statement can be sent.
WAYS: dict[str, Way] = {
    way.__name__: way
    for way in (simple, extended, among_others, in_a_transaction, copied, declared, explained, prepared, spooled)
}


def upper(statement: str) -> str:
    """In upper case, but for what is quoted."""
    parts = statement.split("'")
    return "'".join(part.upper() if at % 2 == 0 and '"' not in part else part for at, part in enumerate(parts))


def commented(statement: str) -> str:
    return spaced(statement, "/* ' /* ( */ */ -- x\n")


def spaced(statement: str, space: str) -> str:
    """With something else for each space outside of quotes."""
    parts = statement.split("'")
    return "'".join(
        part.replace(" ", space) if at % 2 == 0 and '"' not in part else part for at, part in enumerate(parts)
    )


#: In how many forms a statement can be written.
FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "upper case": upper,
    "comments": commented,
    "lines": lambda statement: spaced(statement, "\r\n\t\x0b\x0c"),
    "no-break spaces": lambda statement: spaced(statement, "\u00a0"),
    "zero-width spaces": lambda statement: "\u200b" + spaced(statement, "\u200b"),
    "a byte order mark": lambda statement: "\ufeff" + statement,
}
