"""Signs the functions of a database file that comes from elsewhere, for `colonnade udf trust`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import duckdb

from .exact import literal, quoted
from .function_entry import macros
from .function_key import server_key

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from .function_entry import Entry


class FunctionFile:
    """A database file that nobody else has open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = duckdb.connect(str(path))

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
        """Sign all functions."""
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
