"""The crate `core/sql/` reads the values of strings as the databases do. What a database refuses is not compared."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from typing import Any

import colonnade
import duckdb
import psycopg
import pytest

from tests.sql.cutting import cuts
from tests.testbed import postgres as pg

#: What a string may be made of.
INNER = [
    "a",
    "\\",
    "\\\\",
    "''",
    "\\'",
    '""',
    "\\n",
    "\\x41",
    "\\101",
    "\\u00e9",
    "é",
    "\\%",
    "\\0",
    '"',
    "$",
    "--",
    "/*",
    "'\n'",
]


def strings(seed: int, count: int, quotes: Sequence[tuple[str, str]]) -> list[str]:
    source = random.Random(seed)
    return [
        f"{opening}{''.join(source.choices(INNER, k=source.randint(0, 5)))}{closing}"
        for opening, closing in source.choices(quotes, k=count)
    ]


def agree(texts: Sequence[str], found: Sequence[str | None], dialect: str) -> int:
    """Compares what a database has read, where it has read strings alone, with ours; how many texts that were."""
    compared = 0
    for text, value, cut in zip(texts, found, cuts(dialect, texts), strict=True):
        # DuckDB undoes the escapes of the second string as well, although it cuts it as one without.
        is_joined = dialect == "duckdb" and text.startswith("E") and len(cut.code) > 1
        if value is None or is_joined:
            continue
        compared += 1
        assert {token.kind for token in cut.code} == {"Text"} and not cut.faults, repr(text)
        # Some values are left to the database.
        values = [token.value for token in cut.code]
        assert None in values or "".join(filter(None, values)) == value, repr(text)
    return compared


QUOTES = {
    "duckdb": [("'", "'"), ("E'", "'"), ("$$", "$$"), ("$a$", "$a$")],
    "sqlite": [("'", "'")],
    "postgresql": [("'", "'"), ("E'", "'"), ("$$", "$$"), ("U&'", "'")],
    "postgresql-backslashes": [("'", "'"), ("E'", "'"), ("$$", "$$")],
    "mysql": [("'", "'"), ('"', '"'), ("n'", "'")],
    "mysql-no-backslash-escapes": [("'", "'"), ('"', '"'), ("n'", "'")],
}


def column(description: Any, row: Any) -> str | None:
    """The value of the one column, unless a part of the text has become its name."""
    return row[0] if description[0][0] == "value" and isinstance(row[0], str) else None


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_embedded_databases_read_the_same_strings(dialect: str) -> None:
    texts = strings(3, 1500, QUOTES[dialect])
    found: list[str | None] = []
    connection: Any = duckdb.connect() if dialect == "duckdb" else sqlite3.connect(":memory:")
    for text in texts:
        try:
            cursor = connection.execute(f"select {text} as value")
            found.append(column(cursor.description, cursor.fetchone()))
        except (duckdb.Error, sqlite3.Error):
            found.append(None)
    connection.close()
    assert agree(texts, found, dialect) > 300


@pytest.mark.parametrize("dialect", ["postgresql", "postgresql-backslashes"])
def test_postgresql_reads_the_same_strings(dialect: str, stock: pg.Cluster) -> None:
    texts = strings(3, 1500, QUOTES[dialect])
    found: list[str | None] = []
    with stock.connect() as connection:
        connection.autocommit = True
        connection.execute(f"set standard_conforming_strings = {'off' if 'backslashes' in dialect else 'on'}".encode())
        connection.execute("set escape_string_warning = off")
        for text in texts:
            try:
                cursor = connection.execute(f"select {text} as value".encode())
                found.append(column(cursor.description, cursor.fetchone()))
            except psycopg.Error:
                found.append(None)
    assert agree(texts, found, dialect) > 300


@pytest.mark.parametrize("dialect", ["mysql", "mysql-no-backslash-escapes"])
def test_mariadb_reads_the_same_strings(dialect: str, mysql: colonnade.Connection) -> None:
    texts = strings(3, 1500, QUOTES[dialect])
    found: list[str | None] = []
    mysql.execute(f"set sql_mode = '{'' if dialect == 'mysql' else 'NO_BACKSLASH_ESCAPES'}'")
    for text in texts:
        try:
            table = colonnade.read_sql(f"select {text} as value", mysql, return_type="arrow")
        except colonnade.Error:
            found.append(None)
        else:
            is_value = table.column_names == ["value"]
            found.append(table.column(0)[0].as_py() if is_value else None)
    assert agree(texts, found, dialect) > 300
