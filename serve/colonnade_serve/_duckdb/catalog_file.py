"""The file of PostgreSQL's catalog: it is made, found again, and attached."""

from __future__ import annotations

import sys
import tempfile
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
from colonnade._sources.duckdb_types.exact import literal

from colonnade_serve._core import register_session_functions, register_types

from .catalog import CATALOG, fill_catalog
from .hidden_files import hide_files
from .qualified import SCHEMA
from .statement_check import fence_for

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from colonnade_serve._core import Fence

#: What clients call DuckDB's `main`, unless another schema has this name.
PUBLIC = "public"


def catalog_path(directory: Path, main_name: str) -> Path:
    """Where a server's directory has the catalog in which `main` has this name."""
    return directory / f"catalog-{main_name}.duckdb"


def attach_catalog(root: DuckDBPyConnection, main_name: str, fence: Fence | None, scratch: Path | None = None) -> None:
    """Attach the catalog read-only, so that no session changes it. It is a file, because a database in memory cannot be
    attached read-only. With a fence, it hides files. It is made if `scratch` does not have it.
    """
    with nullcontext(scratch) if scratch is not None else tempfile.TemporaryDirectory(prefix="colonnade-") as directory:
        path = catalog_path(Path(directory), main_name)
        if not path.exists():
            make_catalog(main_name, path, fence)
        # A temporary file stays open after its directory is removed.
        root.execute(f"ATTACH {literal(str(path))} AS {CATALOG} (READ_ONLY)")


def make_catalog(main_name: str, path: Path, fence: Fence | None) -> None:
    """Write the catalog's file, by a connection that does not know the served database."""
    # The file gets its name only when it is complete, because the process may die before.
    draft = path.with_name("draft.duckdb")
    draft.unlink(missing_ok=True)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(f"ATTACH {literal(str(draft))} AS {CATALOG} (READ_WRITE)")
        fill_catalog(connection, main_name)
        if fence is not None:
            hide_files(connection, fence, f"{CATALOG}.{SCHEMA}")
        connection.execute("USE memory")
        connection.execute(f"DETACH {CATALOG}")
    draft.rename(path)


def make_public(directory: Path, *, files: bool) -> None:
    """Write the catalog's file as nearly all databases need it, in a process that has opened none."""
    register_for_sessions()
    with duckdb.connect() as connection:
        fence = None if files else fence_for(connection, sys.maxsize)
    make_catalog(PUBLIC, catalog_path(directory, PUBLIC), fence)


def register_for_sessions() -> None:
    """Give the databases of this process the functions and types of sessions, which the catalog names."""
    with suppress(NotImplementedError):
        register_session_functions()
        register_types()
