"""Which table or view of the catalog a name in FROM means, with its numbers in `pg_class` and `pg_attribute`."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .library import Library

#: All relations with a name. Its case is compared in `folded`, because DuckDB ignores that of ASCII letters alone.
QUERY = """
SELECT database_name, schema_name, table_name, table_oid, internal, system.main.current_database(),
       system.main.current_setting('search_path'), column_name
FROM system.main.duckdb_columns() WHERE system.main.lower(table_name) = system.main.lower($1)
ORDER BY database_name, schema_name, table_name, column_index
"""
#: A schema of the search path, as DuckDB writes it: its database may be in front of it.
PLACE = re.compile(r'((?:"(?:[^"]|"")*"|[^",.])+)(?:\.((?:"(?:[^"]|"")*"|[^",.])+))?(?:,|$)')
#: What DuckDB looks up before the search path, and after it.
BEFORE, BEHIND = [("temp", "main")], [("system", "main"), ("system", "pg_catalog")]
#: The largest number of PostgreSQL's type `oid`.
MAX_OID = 2**32 - 1


class Relation(NamedTuple):
    """A table or a view."""

    database: str
    schema: str
    name: str
    #: Its number in `pg_class`; 0 if it has none there.
    oid: int
    #: In the order of `pg_attribute`, which numbers them from 1.
    columns: tuple[str, ...]


def folded(name: str) -> str:
    """A name as DuckDB compares it."""
    return name.encode().lower().decode()


def relation(library: Library, path: Sequence[str]) -> Relation | None:
    """The relation with this name, in front of which its schema and its database may stand. None if there is none, or
    if several may be meant."""
    rows = library.connection.execute(QUERY, [path[-1]]).fetchall()
    *places, name = map(folded, path)
    found: dict[tuple[str, str], Relation] = {}
    for key, columns in groupby((row for row in rows if folded(row[2]) == name), lambda row: row[:6]):
        database, schema, written, oid, internal, current = key
        is_numbered = not internal and database in (current, "temp") and oid <= MAX_OID
        named = Relation(database, schema, written, oid if is_numbered else 0, tuple(row[-1] for row in columns))
        found[folded(database), folded(schema)] = named
    match places:
        case [] if rows:
            path_places = [*BEFORE, *search_path(rows[0][6], rows[0][5]), *BEHIND]
            return next((found[place] for place in path_places if place in found), None)
        case [first]:
            # It is a schema, or a database.
            fitting = [place for place in found if first == place[1] or place == (first, "main")]
        case [database, schema]:
            fitting = [place for place in found if place == (database, schema)]
        case _:
            return None
    return found[fitting[0]] if len(fitting) == 1 else None


def search_path(written: str, database: str) -> list[tuple[str, str]]:
    """The databases and schemas of a search path. `main` of the current database is at its end."""
    current = folded(database)
    parts = [(_name(first), _name(second)) for first, second in PLACE.findall(written)]
    return [*((first, second) if second else (current, first) for first, second in parts), (current, "main")]


def _name(written: str) -> str:
    written = written.strip()
    return folded(written[1:-1].replace('""', '"') if written.startswith('"') else written)
