"""A `colonnade serve --source` in front of a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.testbed import postgres as pg
from tests.testbed.serving import Server, serve


@dataclass(frozen=True)
class Front:
    """A server in front of a database, and that database's own URI."""

    server: Server
    uri: str

    @property
    def own_uri(self) -> str:
        """The server's, for colonnade."""
        return colonnade_uri(self.server)


@contextmanager
def front(uri: str) -> Iterator[Front]:
    with serve("--source", uri) as server:
        yield Front(server, uri)


def odbc(server: pg.Cluster) -> str:
    parts = {"Driver": "{PostgreSQL Unicode}", "Server": "127.0.0.1", "Port": server.port, "Database": "postgres"}
    parts |= {"UID": pg.SUPERUSER, "PWD": "hunter2"}
    return "odbc:" + ";".join(f"{key}={value}" for key, value in parts.items())


def colonnade_uri(server: Server) -> str:
    return f"postgresql://tester@{server.host}:{server.port}/test"


def connect(server: Server, **options: Any) -> psycopg.Connection[Any]:
    return psycopg.connect(server.dsn, **{"autocommit": True, **options})
