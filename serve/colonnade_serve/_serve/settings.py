"""The settings of a worker of `colonnade serve`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from .functions import Functions

if TYPE_CHECKING:
    from colonnade_serve._serve.options import ServerOptions

    from .private import PrivatePaths


@dataclass(frozen=True)
class Database:
    """A DuckDB database and its limits. The fields have the names of the command's options."""

    #: The file; None is a database in memory.
    path: str | None
    create: bool
    read_only: bool
    allow_files: bool
    #: In bytes; 0 is no limit.
    max_statement_bytes: int
    #: Of a result.
    max_columns: int
    #: In DuckDB's notation: `4GB`, `80%`. None is DuckDB's default, here and below.
    memory: str | None
    threads: int | None
    temp_directory: str | None
    temp_size: str | None
    #: None: there are no functions in Python.
    functions: Functions | None = None


@dataclass(frozen=True)
class Settings:
    """What a worker serves, and its options. They are passed as JSON, because the worker may not read files."""

    #: A DuckDB database, or the URI, with its password, of the database in front of which the server runs.
    engine: Database | str
    options: ServerOptions
    #: The server's temporary directory, which is removed at its end.
    scratch: str
    #: What functions must not read.
    private: PrivatePaths

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Settings:
        found = json.loads(text)
        engine = found.pop("engine")
        found["private"] = [(what, path) for what, path in found["private"]]
        if isinstance(engine, str):
            return cls(engine, **found)
        functions = engine.pop("functions")
        return cls(Database(**engine, functions=None if functions is None else Functions(**functions)), **found)


#: Bytes of the stack of each thread of the engine, which recurses over statements and values.
STACK_BYTES = 64 << 20
