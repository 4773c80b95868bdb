"""PostgreSQL's catalog beside the served database: how it is made, found, and shown to clients."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from . import fences
from .exact import literal, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from duckdb import DuckDBPyConnection, DuckDBPyRelation
    from duckdb.sqltypes import DuckDBPyType

    from colonnade._core import Fence

    from .fences import ReadOnlyConnection

#: The database that holds what `catalog.sql` and its companions make.
CATALOG = "colonnade_catalog"
# Read before the process gives up its access to files.
CATALOG_SQL = [
    Path(__file__).with_name(part).read_text()
    for part in ("catalog.sql", "catalog_functions.sql", "information_schema.sql")
]


def attach_catalog(
    root: DuckDBPyConnection, database: str, home: str, fence: Fence | None, scratch: Path | None = None
) -> None:
    """Make PostgreSQL's catalog, for all sessions to come and none of them to change: memory cannot be attached
    read-only, a file can. `home` is what `main` is called there. With a fence, files are hidden there. In `scratch` it
    stays for the next process."""
    if scratch is not None:
        path = scratch / "catalog.duckdb"
        if not path.exists():
            make_catalog(root, database, home, path, fence)
        root.execute(f"ATTACH {literal(str(path))} AS {CATALOG} (READ_ONLY)")
        return
    with tempfile.TemporaryDirectory(prefix="colonnade-") as directory:
        path = Path(directory) / "catalog.duckdb"
        make_catalog(root, database, home, path, fence)
        # Open files stay where their names do not.
        root.execute(f"ATTACH {literal(str(path))} AS {CATALOG} (READ_ONLY)")


def make_catalog(root: DuckDBPyConnection, database: str, home: str, path: Path, fence: Fence | None) -> None:
    # Under another name until it is whole: the process may die meanwhile.
    draft = path.with_name("draft.duckdb")
    draft.unlink(missing_ok=True)
    root.execute(f"ATTACH {literal(str(draft))} AS {CATALOG} (READ_WRITE)")
    root.execute(f"USE {CATALOG}")
    root.execute(f"CREATE MACRO home() AS {literal(home)}")
    for part in CATALOG_SQL:
        root.execute(part)
    if fence is not None:
        fences.hide_files(root, fence, CATALOG)
    root.execute(f"USE {quoted(database)}")
    root.execute(f"DETACH {CATALOG}")
    draft.rename(path)


def search_path(connection: DuckDBPyConnection | ReadOnlyConnection) -> str:
    ((path,),) = connection.execute("SELECT system.main.current_setting('search_path')").fetchall()
    return path


def keep_catalog(connection: DuckDBPyConnection | ReadOnlyConnection) -> None:
    """Put PostgreSQL's catalog at the end of the search path, if it is not there."""
    path = search_path(connection)
    if f"{CATALOG}.main" not in path:
        path = path or "main"
        connection.execute(f"SET search_path = {literal(f'{path},{CATALOG}.main')}")


#: The catalog's type of functions (`catalog.sql`).
REGPROC = "UNION(regproc VARCHAR, oid BIGINT)"
#: DuckDB's types of the catalog's vectors and arrays of names (`catalog.sql`), which users' lists can have, too, and
#: PostgreSQL's names of them.
LISTS = {"USMALLINT[]": "int2vector", "UINTEGER[]": "oidvector", "VARCHAR[]": "name[]"}
#: Those that leave as texts.
VECTORS = ("USMALLINT[]", "UINTEGER[]")
#: With these variables vectors are arrays of a fixed size, and names are JSON. A user's list stays what it is, and so
#: does a list of a vector's items.
PROBES = {
    "colonnade_vectors": "[0]::USMALLINT[1]",
    "colonnade_oids": "[0]::UINTEGER[1]",
    "colonnade_names": "NULL::JSON",
}


@dataclass(frozen=True)
class CatalogColumns:
    """The columns of a statement that have types of PostgreSQL's catalog."""

    #: Positions and DuckDB's types of those that leave as texts.
    texts: dict[int, str] = field(default_factory=dict)
    #: Positions and PostgreSQL's types of all.
    types: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        connection: DuckDBPyConnection | ReadOnlyConnection,
        sql: str,
        types: Sequence[DuckDBPyType],
        values: dict[str, object] | None,
    ) -> CatalogColumns:
        """Those of a statement that DuckDB has bound with these `types`. It does not run."""
        names = list(map(str, types))
        found = cls()
        for position, name in enumerate(names):
            if name == REGPROC:
                found.texts[position], found.types[position] = name, "VARCHAR"
        if any(name in LISTS for name in names):
            others = other_types(connection, sql, values) or names
            for position, (name, other) in enumerate(zip(names, others, strict=True)):
                if name in LISTS and name != other:
                    found.types[position] = LISTS[name]
                    if name in VECTORS:
                        found.texts[position] = name
        return found

    def shown(self, types: Iterable[object]) -> tuple[str, ...]:
        """The types of all columns as clients are told of them."""
        return tuple(self.types.get(position, str(type_)) for position, type_ in enumerate(types))

    def as_texts(self, relation: DuckDBPyRelation) -> DuckDBPyRelation:
        """The same rows, with the texts."""
        if not self.texts:
            return relation
        columns = enumerate(relation.columns)
        return relation.project(", ".join(f"{self._text(position)} AS {quoted(name)}" for position, name in columns))

    def _text(self, position: int) -> str:
        source = f"#{position + 1}"
        match self.texts.get(position):
            case None:
                return source
            case type_ if type_ in VECTORS:
                # Numbers with spaces between them.
                return f"CASE WHEN {source} IS NOT NULL THEN coalesce(array_to_string({source}, ' '), '') END"
            case _:
                return f"CAST({source} AS VARCHAR)"


def other_types(
    connection: DuckDBPyConnection | ReadOnlyConnection, sql: str, values: dict[str, object] | None
) -> list[str] | None:
    """The types of a statement's columns if the catalog's were others; None if DuckDB does not take it then."""
    for name, value in PROBES.items():
        connection.execute(f"SET VARIABLE {name} = {value}")
    types, failed = None, None
    try:
        types = list(map(str, connection._bind(sql, with_type=True, with_writes=True, values=values)[1]))
    except duckdb.Error as error:
        failed = error
    try:
        for name in PROBES:
            connection.execute(f"RESET VARIABLE {name}")
    except duckdb.TransactionException as error:
        # The error before has aborted the transaction.
        raise failed or error from None
    if isinstance(failed, (duckdb.OutOfMemoryException, duckdb.InterruptException)):
        # It says nothing of the types.
        raise failed
    return types
