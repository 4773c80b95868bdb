"""Opens database files, also those whose log DuckDB cannot replay while it opens them.

DuckDB 2.0.1 makes ALTER, COMMENT ON COLUMN and DROP of a table that refers to another one again from its log after a
crash, and binds the expressions of the table for it. It does so before it has loaded its own functions, because
`core_functions`, `json` and `icu` are extensions that are linked statically. So a file does not open after
`ALTER TABLE t ALTER x TYPE INTEGER USING round(x)`, nor after an ALTER of a table with `CHECK (abs(x) < 10)`.
A database in memory has these functions, and makes the changes in the log of a file that it attaches.

If a client of `colonnade serve` has made the changes, their expressions may also call functions of PostgreSQL's catalog
(`USING to_date(x, 'DD.MM.YYYY')`), which are in a database next to the served one. DuckDB makes the changes in a log
without a search path, and finds only the functions of the file, of the database in memory, and its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from colonnade._libraries import server_part

from .exact import literal, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from duckdb import DuckDBPyConnection

#: Extensions are code, which would run with the rights of this process.
NO_EXTENSIONS = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}


def opened(path: str, config: Mapping[str, str]) -> DuckDBPyConnection:
    """A connection to a database file, or in memory. `config` has DuckDB's settings.

    Raises `duckdb.Error`, with a note that says what to do if it is for the log. Then both files are as they were.
    """
    try:
        return duckdb.connect(path, config=dict(config))
    except duckdb.Error as error:
        if "replaying WAL" not in str(error) or not Path(f"{path}.wal").exists():
            raise
        if config.get("access_mode") == "read_only":
            error.add_note("open it once for writing, which writes the changes in its log into the file")
            raise
        try:
            try:
                write_log_into_file(path, config)
            except duckdb.Error:
                catalog = server_part("_duckdb.catalog", "PostgreSQL's functions in this log")
                write_log_into_file(path, config, catalog.create_stand_ins)
        except (duckdb.Error, ImportError) as second:
            reason = str(second).partition("\n")[0]
            error.add_note(f"the changes in {path}.wal cannot be made with all functions of DuckDB either: {reason}")
            raise error from None
    return duckdb.connect(path, config=dict(config))


def write_log_into_file(
    path: str, config: Mapping[str, str], add_functions: Callable[[DuckDBPyConnection], None] | None = None
) -> None:
    """Make the changes in the log of a file, and write them into the file."""
    own = {"access_mode": "automatic", "temp_directory": f"{path}.tmp"}
    with duckdb.connect(config={**config, **own}) as connection:
        if add_functions is not None:
            add_functions(connection)
        try:
            # Expressions may have the name that the file has as a database by itself.
            connection.execute(f"ATTACH {literal(path)} (READ_WRITE)")
        except duckdb.BinderException:
            # The file may be called as the database in memory.
            connection.execute(f"ATTACH {literal(path)} AS file (READ_WRITE)")
        query = "SELECT database_name FROM system.main.duckdb_databases() WHERE path IS NOT NULL"
        ((name,),) = connection.execute(query).fetchall()
        connection.execute(f"CHECKPOINT {quoted(name)}")


def hint(error: BaseException) -> str | None:
    """What to do, if `opened` knows it."""
    return "\n".join(getattr(error, "__notes__", ())) or None
