"""What `colonnade serve` was asked for, as both of its processes know it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse


@dataclass(frozen=True)
class Settings:
    """The options by their names. Times are in seconds, sizes in bytes; 0 is no limit."""

    #: The DuckDB file; None is a database in memory, or another one behind `source`.
    database: str | None
    create: bool
    #: The URI of the database in front of which the server stands, its password in it.
    source: str | None
    listen: str | None
    unix: str | None
    read_only: bool
    encode_cpu: float
    users: str | None
    tls_certificate: str | None
    tls_key: str | None
    tls_client_ca: str | None
    allow_files: bool
    max_connections: int
    max_user_connections: int
    max_address_logins: int
    login_timeout: float
    statement_timeout: float
    idle_timeout: float
    idle_transaction_timeout: float
    max_result_bytes: int
    max_session_memory: int
    max_statement_bytes: int
    #: DuckDB's own words for these: `4GB`, `80%`.
    memory: str | None
    threads: int | None
    temp_directory: str | None
    temp_size: str | None
    #: `temp_size` in bytes, if it is that.
    spool_bytes: int
    #: Where results are set aside; None is the session's memory.
    spool_directory: str | None
    log: str | None
    log_statements: bool
    metrics: str | None
    grace: float
    #: A directory of the server's own, which is gone with it.
    scratch: str

    @classmethod
    def of(cls, arguments: argparse.Namespace, **others: Any) -> Settings:
        """Take them from the command line, but for `others`."""
        names = [field.name for field in fields(cls) if field.name not in others]
        given = {name: getattr(arguments, name) for name in names}
        return cls(
            **{name: str(value) if isinstance(value, Path) else value for name, value in given.items()}, **others
        )

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Settings:
        return cls(**json.loads(text))


#: Bytes of the stack of each of the engine's own threads: it recurses over statements and values.
STACK = 64 << 20

UNITS = {"": 1, "b": 1, "bytes": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def size(text: str) -> int:
    """The bytes that `10GB` and `1.5 GiB` are. ValueError or KeyError if it is no size."""
    text = text.lower().replace(" ", "")
    number = text.rstrip("bytekmgi")
    return int(float(number) * UNITS[text.removeprefix(number)])
