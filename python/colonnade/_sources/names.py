"""Names of tables and columns in a source's SQL."""

from __future__ import annotations

from colonnade import _core
from colonnade._errors import NotSupportedError

from .uri import is_keywords

#: The extension module's names of dialects, by the scheme of a URI.
_DIALECTS = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "colonnade": "postgresql",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "mysql": "mysql",
    "mariadb": "mysql",
}


def dialect_of(uri: str) -> str:
    """The dialect of a URI's source, as far as the scheme tells."""
    scheme = "postgresql" if is_keywords(uri) else uri.partition(":")[0].partition("+")[0].lower()
    return _DIALECTS.get(scheme, "unknown")


def quoted(dialect: str, *names: str | None) -> str:
    """The names in quotes, with dots between them. None is left out.

    Raises:
        NotSupportedError: The dialect is unknown (ADBC and ODBC).
    """
    if dialect == "unknown":
        raise NotSupportedError("it is unknown how this source's database quotes names", hint="write a query")
    return ".".join(_core.quoted(name, dialect) for name in names if name is not None)
