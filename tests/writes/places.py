"""A database that is written to, and what is in its tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import colonnade
import pyarrow as pa


@dataclass(frozen=True)
class Place:
    uri: str
    #: Whether it is `colonnade serve`, whose SQL is DuckDB's.
    is_serve: bool = False

    @property
    def is_sqlite(self) -> bool:
        return self.uri.startswith("sqlite:")

    @property
    def is_mariadb(self) -> bool:
        return self.uri.startswith("mysql:")

    @property
    def is_duckdb(self) -> bool:
        """Whether DuckDB stores the rows, in a file or in the server."""
        return self.is_serve or self.uri.startswith("duckdb:")

    @property
    def database(self) -> str:
        """Its column in spec/TYPES.md."""
        if self.is_duckdb:
            return "DuckDB"
        return "SQLite" if self.is_sqlite else "MySQL/MariaDB" if self.is_mariadb else "PostgreSQL"

    def execute(self, sql: str) -> None:
        """Runs a statement; SQLite by Python's library, because queries of this package cannot write."""
        if self.is_sqlite:
            import sqlite3
            from contextlib import closing
            from urllib.parse import unquote

            with closing(sqlite3.connect(unquote(self.uri.removeprefix("sqlite:///")))) as connection:
                connection.executescript(sql)
            return
        with colonnade.connect(self.uri) as connection:
            connection.execute(sql)

    def table(self, name: str = "t") -> pa.Table:
        quote = "`" if self.is_mariadb else '"'
        quoted = quote + name.replace(quote, 2 * quote) + quote
        return colonnade.read_sql(self.uri, f"select * from {quoted}", return_type="arrow")

    def rows(self, name: str = "t") -> list[dict[str, Any]]:
        return self.table(name).to_pylist()

    def exists(self, name: str = "t") -> bool:
        try:
            self.table(name)
        except colonnade.ProgrammingError:
            return False
        return True
