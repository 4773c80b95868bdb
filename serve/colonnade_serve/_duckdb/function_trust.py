"""Signs the functions of a database file that comes from elsewhere, for `colonnade udf trust`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import duckdb
from colonnade._sources.duckdb_types.exact import literal, quoted
from colonnade._sources.duckdb_types.failures import is_passing
from colonnade._sources.duckdb_types.opening import NO_EXTENSIONS, opened

from .function_entry import ANY, macros
from .function_key import server_key
from .parse_tree import query_nodes

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from .function_entry import Definition, Entry


class FunctionFile:
    """A database file that nobody else has open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = opened(str(path), NO_EXTENSIONS)

    def __enter__(self) -> FunctionFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def untrusted(self) -> list[Entry]:
        """The functions that are not signed with the key of this file."""
        key = server_key(str(self._path), make=False)
        entries = [entry for macro in macros(self._connection) for entry in macro.entries]
        return [entry for entry in entries if key is None or not entry.is_trusted(key)]

    def sign(self) -> None:
        """Sign all functions. ValueError if a type or a default of one is something else, which would become SQL."""
        for entry in self.untrusted():
            if not has_plain_texts(entry.definition):
                name = f"{entry.definition.schema}.{entry.definition.signature}"
                raise ValueError(f"{name} has a type or a default that is none: nothing was signed, drop its macro")
        key = server_key(str(self._path), make=True)
        assert key is not None
        self._connection.execute("BEGIN")
        for macro in list(macros(self._connection)):
            definition = macro.entries[0].definition
            signed = replace(macro, entries=tuple(entry.signed(key) for entry in macro.entries))
            name = f"{quoted(definition.schema)}.{quoted(definition.name)}"
            kind = "MACRO TABLE" if macro.is_table else "MACRO"
            self._connection.execute(f"COMMENT ON {kind} {name} IS {literal(signed.to_comment())}")
        self._connection.execute("COMMIT")


def has_plain_texts(definition: Definition) -> bool:
    """Whether types and defaults are such, and do not end what is around them when the server writes SQL of them."""
    types = {*definition.types, *(type_ for _, type_ in definition.results)} - {ANY}
    defaults = {parameter.default for parameter in definition.parameters if parameter.default is not None}
    casts = [("NULL", type_) for type_ in types] + [(default, "INTEGER") for default in defaults]
    with duckdb.connect(config={"enable_external_access": "false"}) as parser:
        return all(is_cast(parser, value, type_) for value, type_ in casts)


def is_cast(parser: duckdb.DuckDBPyConnection, value: str, type_: str) -> bool:
    """Whether DuckDB reads a cast of one value to one type."""
    try:
        # The ends of lines end comments.
        (node,) = query_nodes(parser, f"SELECT CAST({value}\n AS {type_}\n)")
        (item,) = node["select_list"]
        return item["class"] == "CAST" and "alias" not in item and node["from_table"]["type"] == "EMPTY"
    except (LookupError, TypeError, ValueError, RecursionError, duckdb.Error) as error:
        if is_passing(error):
            raise
        return False
