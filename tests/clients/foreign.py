"""Clients in other languages: how their tests are told where the server is.

Their tests are ordinary ones of the language, in `tests/clients/`. They find the server by libpq's variables (PGHOST
and so on), which every client knows, so that they can be run by hand as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.support.certificates import Authority, serve_options
from tests.support.every_type import EVERY_TYPE
from tests.support.raw_client import wait_until
from tests.testbed.serving import Server, serve

CLIENTS = Path(__file__).parent
#: A test whose name has this word is run against a server that wants TLS and a password.
SECURE = "TLS"


@contextmanager
def places(directory: Path) -> Iterator[dict[bool, dict[str, str]]]:
    """The environment for tests, and another one for those over TLS. `COLONNADE_TYPES` names a file with a query for
    values of every type, and their texts."""
    authority = Authority(directory / "ca", "Root")
    with serve() as plain, serve(*serve_options(directory, authority, "server")) as secure:
        types = directory / "types.json"
        types.write_text(json.dumps(every_type(plain)))
        yield {
            False: environment(plain, "tester", PGSSLMODE="disable", COLONNADE_TYPES=str(types)),
            True: environment(
                secure, "alice", PGPASSWORD="secret", PGSSLMODE="verify-full", PGSSLROOTCERT=str(authority.certificate)
            ),
        }
        # No test leaves a session behind.
        for server in (plain, secure):
            wait_until(lambda server=server: server.connections() == 0)


def environment(server: Server, user: str, **more: str) -> dict[str, str]:
    return {"PGHOST": str(server.host), "PGPORT": str(server.port), "PGUSER": user, "PGDATABASE": "test"} | more


def every_type(server: Server) -> list[dict[str, object]]:
    """Names, queries, and the text of each value, as libpq has it from the server."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        found = []
        for name, query in EVERY_TYPE:
            query = f"{query} order by k"
            result = connection.pgconn.exec_(query.encode())
            assert result.status == psycopg.pq.ExecStatus.TUPLES_OK, result.error_message
            values = [result.get_value(row, 1) for row in range(result.ntuples)]
            texts = [None if value is None else value.decode() for value in values]
            found.append({"name": name, "query": query, "texts": texts})
        return found
