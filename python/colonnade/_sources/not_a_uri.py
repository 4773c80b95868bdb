"""What to write in place of a connection string that is none."""

from __future__ import annotations

import difflib
import os
from contextlib import suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from colonnade._errors import InterfaceError, NotSupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence

_ALL = "use postgresql://, colonnade://, mysql://, sqlite:, duckdb:, adbc: or odbc:"
_ODBC = "read it by its ODBC driver: odbc:Driver={name of the driver};Server=host;…"
_ADBC = "read it by its ADBC driver: adbc:DRIVER?uri=…"
_POSTGRESQL = "for a database with PostgreSQL's protocol, try postgresql://user@host/database"
#: Schemes of SQLAlchemy and of other libraries for databases that have none here.
_ELSEWHERE = {
    **dict.fromkeys(("mssql", "sqlserver", "oracle", "db2", "ibm_db_sa", "teradatasql", "hana"), _ODBC),
    **dict.fromkeys(("snowflake", "bigquery", "databricks", "grpc", "flightsql"), _ADBC),
    **dict.fromkeys(("redshift", "cockroachdb", "psql", "timescaledb"), _POSTGRESQL),
    "jdbc": "leave out jdbc:, and write the user before the host: postgresql://user@host/database",
}
#: How files of databases usually end.
_ENDINGS = (".db", ".db3", ".sqlite", ".sqlite3", ".duckdb", ".ddb")


def unknown_scheme(scheme: str, known: Sequence[str]) -> NotSupportedError:
    """The error for a URI with this scheme, which is none of the known ones."""
    near = difflib.get_close_matches(scheme, known, 1, 0.8)
    hint = _ELSEWHERE.get(scheme) or (f"did you mean {near[0]}:? Otherwise {_ALL}" if near else _ALL)
    return NotSupportedError(f"there is no source for {scheme}: in this version", hint=hint)


def unusable(given: object) -> InterfaceError:
    """The error for a connection that is no text."""
    if isinstance(given, os.PathLike):
        return InterfaceError(f"the connection is a path: {_forms(os.fsdecode(given))}")
    kind = type(given).__name__
    return InterfaceError(
        f"the connection is {'an' if kind[0] in 'AEIOUaeiou' else 'a'} {kind}: give a URI or a colonnade.Connection"
        " (of an SQLAlchemy engine, engine.url.render_as_string(hide_password=False))"
    )


def unusable_text(text: str) -> InterfaceError:
    """The error for a text that is no URI. It shows only the path of a file: another text may contain a password."""
    if text != text.strip():
        return InterfaceError("the connection string begins or ends with white space: remove it")
    if text.lower().endswith(_ENDINGS) or _is_file(text):
        return InterfaceError(f"the connection string is the path of a file, not a URI: {_forms(text)}")
    return InterfaceError(
        "the connection string is not a URI: write postgresql://host/database, host=… dbname=… or duckdb:///file"
    )


def _is_file(text: str) -> bool:
    # A text may be longer than a name can be, or have a NUL.
    with suppress(OSError, ValueError):
        return Path(text).is_file()
    return False


def _forms(path: str) -> str:
    """The URIs of a file, which could be of DuckDB or of SQLite."""
    ending = PurePath(path).suffix.lower()
    named = ["duckdb"] if ending == ".ddb" else [kind for kind in ("duckdb", "sqlite") if kind in ending]
    escaped = path.replace("%", "%25").replace("?", "%3F")
    return f"write {' or '.join(f'{kind}:///{escaped}' for kind in named or ('sqlite', 'duckdb'))}"
