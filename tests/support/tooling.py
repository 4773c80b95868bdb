"""A server over a small shop, for tools: a user who may write and one who may only read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import psycopg

from tests.support.users import add_user
from tests.testbed.serving import Server, serve

PASSWORD = "secret"
USERS = ("writer", "reader")
#: Tables with keys, an index, comments and a view.
SHOP = """
    CREATE TABLE customers (id integer PRIMARY KEY, name varchar NOT NULL, joined date);
    CREATE TABLE orders (
        id integer PRIMARY KEY, customer integer NOT NULL REFERENCES customers (id), total decimal(9, 2) DEFAULT 0,
        placed timestamp, note varchar CHECK (length(note) < 100)
    );
    CREATE INDEX orders_placed ON orders (placed);
    CREATE VIEW spent AS SELECT customer, sum(total) AS total FROM orders GROUP BY customer;
    CREATE SEQUENCE numbers;
    COMMENT ON TABLE orders IS 'What was ordered';
    COMMENT ON COLUMN orders.note IS 'For the driver';
    INSERT INTO customers VALUES (1, 'Ann', '2020-01-02'), (2, 'Bob', NULL);
    INSERT INTO orders VALUES
        (1, 1, 12.50, '2021-03-04 05:06:07', NULL), (2, 1, 7.25, '2021-03-05', 'ring twice'), (3, 2, NULL, NULL, '');
"""


@dataclass(frozen=True)
class Shop:
    """A server over the shop, called `shop`."""

    server: Server

    def uri(self, user: str) -> str:
        return f"postgresql://{user}:{PASSWORD}@{self.server.host}:{self.server.port}/shop"

    def connect(self, user: str) -> psycopg.Connection:
        return psycopg.connect(self.uri(user), autocommit=True)

    def environment(self, user: str) -> dict[str, str]:
        """For libpq and what is like it."""
        where = {"PGHOST": str(self.server.host), "PGPORT": str(self.server.port), "PGDATABASE": "shop"}
        return where | {"PGUSER": user, "PGPASSWORD": PASSWORD}


@contextmanager
def shop(directory: Path) -> Iterator[Shop]:
    file, users = directory / "shop.duckdb", directory / "users"
    with duckdb.connect(str(file)) as database:
        database.execute(SHOP)
    for name in USERS:
        role = ["--read-only"] if name == "reader" else []
        add_user(users, name, PASSWORD, *role)
    with serve(file, "--users", users) as server:
        yield Shop(server)
