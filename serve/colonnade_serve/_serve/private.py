"""What of a server functions must not read."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade_serve._duckdb.function_key import key_path

if TYPE_CHECKING:
    from colonnade_serve._serve.options import Listening, ServerOptions

    from .settings import Database

#: Files and directories, each with its name for the operator.
PrivatePaths = list[tuple[str, str]]

#: What follows the database's name in the names of the files that DuckDB writes beside it, and of their directory.
BESIDE = (".wal", ".wal.checkpoint", ".wal.recovery", ".tmp")


def private_paths(database: Database, listening: Listening, options: ServerOptions, scratch: str) -> PrivatePaths:
    """All of them, whether they exist or not."""
    found: list[tuple[str, str | PathLike[str] | None]] = []
    if database.path not in (None, ":memory:"):
        found += [("database", f"{database.path}{suffix}") for suffix in ("", *BESIDE)]
        found.append(("key of functions", key_path(database.path)))
    found += [
        ("users file", listening["users"]),
        ("TLS key", listening["tls_key"]),
        ("log", listening["log"]),
        ("directory for temporary data", database.temp_directory),
        ("directory for suspended results", options["spool_directory"]),
        ("directory for spooled results", options["ticket_directory"]),
        ("own directory", scratch),
    ]
    return [(what, str(Path(path).absolute())) for what, path in found if path is not None and str(path) != "-"]


@dataclass(frozen=True)
class Boundary:
    """What functions may read, and what they must not."""

    readable: list[str]
    private: PrivatePaths

    def check(self) -> None:
        """Raises `ValueError` if they could read something private. Files may have become links since the last time."""
        # Only Linux has functions in processes.
        from colonnade_serve._core import check_private

        check_private(self.readable, self.private)
