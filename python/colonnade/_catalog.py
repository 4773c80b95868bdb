"""PostgreSQL's catalog beside the served database: how it is made, found, and shown to clients."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade import _fences
from colonnade._exact import literal, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection, DuckDBPyRelation
    from duckdb.sqltypes import DuckDBPyType

    from colonnade._core import Fence
    from colonnade._fences import ReadOnlyConnection

#: The database that holds what `_catalog.sql` and its companions make.
CATALOG = "colonnade_catalog"
# Read before the process gives up its access to files.
CATALOG_SQL = [
    Path(__file__).with_name(part).read_text()
    for part in ("_catalog.sql", "_catalog_functions.sql", "_information_schema.sql")
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
        _fences.hide_files(root, fence, CATALOG)
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


#: Columns of PostgreSQL's catalog whose lists are texts to its clients: numbers with spaces between them.
VECTORS = {"indkey": "USMALLINT[]", "indoption": "USMALLINT[]"}
VECTORS |= dict.fromkeys(("indclass", "indcollation", "proargtypes"), "UINTEGER[]")
#: The views that have them.
WITH_VECTORS = ("pg_index", "pg_proc")


#: The catalog's type of functions (`_catalog.sql`). Its name for each is what clients see.
REGPROC = "UNION(regproc VARCHAR, oid BIGINT)"


def vectors_of(sql: str) -> dict[str, str]:
    """Which columns of a statement's are such lists, if they have their types: in a statement that does not read these
    views, a column is what its table says, whatever it is called."""
    text = sql.lower()
    return VECTORS if any(view in text for view in WITH_VECTORS) else {}


def shown(names: Sequence[str], types: Sequence[DuckDBPyType], sql: str) -> list[tuple[str, str]]:
    """Columns and their types, as clients are to see them."""
    columns, vectors = zip(names, map(str, types), strict=True), vectors_of(sql)
    return [(name, "VARCHAR" if type_ in (vectors.get(name), REGPROC) else type_) for name, type_ in columns]


def with_vectors(relation: DuckDBPyRelation, sql: str) -> DuckDBPyRelation:
    """The same rows, with the texts of such lists and of functions."""
    names = [f"#{position + 1} AS {quoted(name)}" for position, name in enumerate(relation.columns)]
    texts, vectors = list(names), vectors_of(sql)
    for position, (name, type_) in enumerate(zip(relation.columns, relation.types, strict=True)):
        if vectors.get(name) == str(type_):
            texts[position] = f"array_to_string(#{position + 1}, ' ') AS {quoted(name)}"
        elif str(type_) == REGPROC:
            texts[position] = f"CAST(#{position + 1} AS VARCHAR) AS {quoted(name)}"
    return relation if texts == names else relation.project(", ".join(texts))
