"""PostgreSQL's catalog next to the served database: it is filled, put on the search path, and shown to clients."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import duckdb
from colonnade._sources.duckdb_types.exact import cast_target, literal, quoted
from colonnade._sources.duckdb_types.failures import is_passing

from .batch_rows import have_no_bytes
from .catalog_columns import missing
from .named_types import is_numbered
from .qualified import ENGINE, SCHEMA, QualifiedCatalog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from duckdb import DuckDBPyConnection, DuckDBPyRelation
    from duckdb.sqltypes import DuckDBPyType

    from .library import Bound, Library
    from .read_only_connection import ReadOnlyConnection

#: The name of the database with the catalog.
CATALOG = "colonnade_catalog"
# They are read on import, because the process gives up its access to files later.
SQL = {
    part: Path(__file__).with_name(f"{part}.sql").read_text()
    for part in (
        *("catalog_types", "composite_types", "user_types", "catalog", "catalog_functions", "catalog_names"),
        *("advisory_locks", "notifications", "sessions"),
        *("catalog_settings", "postgres_functions", "information_schema", "range_functions"),
    )
}
#: The same for databases without the functions `colonnade_…`, which need the session of their statement, and without
#: the types of `keyed.rs`.
NO_SESSIONS = {
    **dict.fromkeys(("advisory_locks", "notifications", "range_functions"), ""),
    "composite_types": (
        "CREATE VIEW composites AS SELECT 0 AS oid, 0 AS relid, '' AS name, 0 AS namespace, '' AS schema, "
        "'' AS duckdb, [{'name': '', 'type': ''}] AS fields LIMIT 0"
    ),
    "sessions": "CREATE VIEW transaction_settings AS SELECT '' AS name, '' AS setting LIMIT 0",
}


def fill_catalog(connection: DuckDBPyConnection, main_name: str) -> QualifiedCatalog:
    """Create the catalog's objects in the empty database `CATALOG`. Returns what knows them."""
    # In one transaction, it takes half of the time.
    connection.execute("BEGIN")
    for schema in (SCHEMA, ENGINE, "information"):
        connection.execute(f"CREATE SCHEMA {CATALOG}.{schema}")
    catalog = QualifiedCatalog(connection, CATALOG)
    lacks = missing()
    query = "SELECT count(*) FROM duckdb_functions() WHERE function_name = 'colonnade_signal'"
    ((has_functions,),) = connection.execute(query).fetchall()
    parts = SQL if has_functions else SQL | NO_SESSIONS
    sql = (f"CREATE MACRO main_name() AS {literal(main_name)}", *parts.values())
    catalog.create(";".join(sql), lacks.columns)
    # They name only types of DuckDB's.
    views = (f"CREATE VIEW {CATALOG}.{schema}.{name} AS {query}" for (schema, name), query in lacks.views.items())
    connection.execute(";".join(views))
    connection.execute("COMMIT")
    return catalog


def create_stand_ins(connection: DuckDBPyConnection) -> None:
    """Create the catalog's functions in a database in memory, where the log of a file finds them."""
    connection.execute(f"ATTACH ':memory:' AS {CATALOG}")
    catalog = fill_catalog(connection, "public")
    connection.execute("USE memory")
    for statement in catalog.stand_ins():
        connection.execute(statement)


class CatalogNames(NamedTuple):
    """What clients may name with the schema `pg_catalog`."""

    relations: list[str]
    functions: list[str]
    #: DuckDB's functions with the schemas that have them.
    engine_functions: list[tuple[str, str]]
    types: list[str]
    engine_types: list[str]


def catalog_names(root: DuckDBPyConnection) -> CatalogNames:
    here = f"database_name = '{CATALOG}' AND schema_name = '{SCHEMA}'"
    query = (
        f"SELECT table_name FROM system.main.duckdb_tables() WHERE {here} "
        f"UNION ALL SELECT view_name FROM system.main.duckdb_views() WHERE {here}"
    )
    relations = [name for (name,) in root.execute(query).fetchall()]
    query = (
        "SELECT DISTINCT database_name, schema_name, function_name FROM system.main.duckdb_functions() "
        f"WHERE database_name = 'system' OR {here} ORDER BY schema_name"
    )
    functions = root.execute(query).fetchall()
    own = [name for database, _, name in functions if database == CATALOG]
    # A name in `pg_catalog` comes before the same in `main`.
    others = [(name, schema) for database, schema, name in functions if database != CATALOG]
    query = (
        "SELECT DISTINCT database_name, type_name FROM system.main.duckdb_types() "
        f"WHERE database_name = 'system' OR NOT internal AND {here}"
    )
    types = root.execute(query).fetchall()
    own_types = [name for database, name in types if database == CATALOG]
    return CatalogNames(relations, own, others, own_types, [name for database, name in types if database != CATALOG])


def search_path(connection: DuckDBPyConnection | ReadOnlyConnection) -> str:
    ((path,),) = connection.execute("SELECT system.main.current_setting('search_path')").fetchall()
    return path


def keep_catalog(connection: DuckDBPyConnection | ReadOnlyConnection) -> None:
    """Append PostgreSQL's catalog to the search path, if it is missing there."""
    path = search_path(connection)
    if f"{CATALOG}.{SCHEMA}" not in path:
        path = path or "main"
        connection.execute(f"SET search_path = {literal(f'{path},{CATALOG}.{SCHEMA}')}")


#: The type of functions in `catalog_types.sql`.
REGPROC = "UNION(regproc VARCHAR, oid BIGINT)"
#: PostgreSQL's names of the catalog's vectors and arrays of names and numbers, by their DuckDB types in
#: `catalog_types.sql`. Users' lists can have the same DuckDB types.
LISTS = {"USMALLINT[]": "int2vector", "UINTEGER[]": "oidvector", "UBIGINT[]": "oid[]", "VARCHAR[]": "name[]"}
#: The types of `LISTS` that clients receive as text.
VECTORS = ("USMALLINT[]", "UINTEGER[]")
#: With these variables set, the catalog's vectors are arrays of a fixed size, and its names are JSON. A user's list
#: keeps its type, and so does a list of a vector's items.
PROBES = {
    "colonnade_vectors": "system.main.array_value(0::USMALLINT)",
    "colonnade_oids": "system.main.array_value(0::UINTEGER)",
    "colonnade_oid_arrays": "system.main.array_value(0::UBIGINT)",
    "colonnade_names": "NULL::system.main.json",
}


@dataclass(frozen=True)
class CatalogColumns:
    """The columns of a statement that have types of PostgreSQL's catalog."""

    #: The columns that clients receive as text: positions and DuckDB types.
    texts: dict[int, str] = field(default_factory=dict)
    #: All of these columns: positions and PostgreSQL types.
    types: dict[int, str] = field(default_factory=dict)
    #: Whether a column has, or may get, the number of a user's type.
    may_be_numbered: bool = False

    @classmethod
    def of(cls, library: Library, statement: Bound, values: dict[str, object] | None) -> CatalogColumns:
        """The columns of a statement. It does not run."""
        names = list(map(str, statement.types))
        found = cls(may_be_numbered=any(map(is_numbered, names)))
        for position, name in enumerate(names):
            if name == REGPROC:
                found.texts[position], found.types[position] = name, "VARCHAR"
            elif (shown := library.named_types.shown(name)) != name:
                found.types[position] = shown
        if any(name in LISTS for name in names):
            others = other_types(library, statement.sql, values) or names
            for position, (name, other) in enumerate(zip(names, others, strict=True)):
                if name in LISTS and name != other:
                    found.types[position] = LISTS[name]
                    if name in VECTORS:
                        found.texts[position] = name
        return found

    @classmethod
    def of_late(cls, library: Library, types: Iterable[object]) -> CatalogColumns:
        """The columns of a statement that has run."""
        return cls(types={at: library.named_types.shown(str(type_)) for at, type_ in enumerate(types)})

    def shown(self, types: Iterable[object]) -> tuple[str, ...]:
        """The types of all columns, as clients see them."""
        return tuple(self.types.get(position, str(type_)) for position, type_ in enumerate(types))

    def as_texts(self, relation: DuckDBPyRelation) -> DuckDBPyRelation:
        """The same rows, with the columns of `texts` as text."""
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
                # PostgreSQL's text of a vector: its numbers, separated by spaces. DuckDB's is `[1, 2]`.
                return f"system.main.translate(CAST({source} AS VARCHAR), '[],', '')"
            case _:
                return f"CAST({source} AS VARCHAR)"


def other_types(library: Library, sql: str, values: dict[str, object] | None) -> list[str] | None:
    """The types of a statement's columns when the catalog has the types of `PROBES`; None if DuckDB then refuses it."""
    for name, value in PROBES.items():
        library.connection.execute(f"SET VARIABLE {name} = {value}")
    types, failed = None, None
    try:
        types = list(map(str, library.bind(sql, values).types))
    except duckdb.Error as error:
        failed = error
    try:
        for name in PROBES:
            library.connection.execute(f"RESET VARIABLE {name}")
    except duckdb.TransactionException as error:
        # The error before has aborted the transaction.
        raise failed or error from None
    if failed is not None and is_passing(failed):
        # It says nothing of the types.
        raise failed
    return types


def needs_no_conversion(statement: Bound, catalog: CatalogColumns) -> bool:
    """Whether it is a query that only reads and whose columns need no conversion."""
    if statement.kind != "select" or statement.is_late or statement.changes or have_no_bytes(statement.types):
        return False
    columns = enumerate(zip(statement.columns, statement.types, strict=True))
    return all(position not in catalog.texts and is_exported_exactly(*column) for position, column in columns)


def is_exported_exactly(name: str, type_: DuckDBPyType) -> bool:
    return str(type_) not in VECTORS and type_.id != "interval" and cast_target(type_, name) is None
