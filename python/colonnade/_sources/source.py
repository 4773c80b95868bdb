"""What a connection is made of, and how a URI becomes one."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Protocol, Unpack

from colonnade import _core
from colonnade._errors import InterfaceError
from colonnade._options.query import Params, QueryOptions

if TYPE_CHECKING:
    from colonnade._core import Stream


class Source(Protocol):
    """What a connection is made of, whatever it leads to."""

    @property
    def name(self) -> str: ...
    @property
    def server(self) -> str: ...
    @property
    def is_open(self) -> bool: ...
    def query(self, sql: str, params: Params | None = None, **options: Unpack[QueryOptions]) -> Stream: ...
    def execute(self, sql: str, params: Params | None = None) -> int | None: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...


#: Sources that other libraries deliver as Arrow: their module here, and class.
_LIBRARIES = {
    "duckdb": ("duckdb", "DuckdbSource"),
    "adbc": ("adbc", "AdbcSource"),
    "odbc": ("odbc.source", "OdbcSource"),
}


#: How keywords and values begin. No URI does: its scheme ends in a colon.
_KEYWORDS = re.compile(r"\s*[A-Za-z_]+\s*=")


def is_keywords(uri: str) -> bool:
    """Whether it is libpq's `host=… dbname=…`."""
    return _KEYWORDS.match(uri) is not None


def open_source(uri: str, gateway: bool = False, *, only_reads: bool = False) -> Source:
    """`only_reads` says that nobody will begin or end transactions on it."""
    if is_keywords(uri):
        return _core.connect(uri, gateway)
    scheme, colon, rest = uri.partition(":")
    # SQLAlchemy's URIs name a driver, which does not matter here.
    scheme = scheme.partition("+")[0].lower()
    if not colon:
        raise InterfaceError(
            "the connection string is not a URI: write postgresql://host/database, host=… dbname=… or duckdb:///file"
        )
    if scheme in _LIBRARIES:
        module, name = _LIBRARIES[scheme]
        kind = getattr(importlib.import_module(f".{module}", __package__), name)
        return kind.from_uri(rest, only_reads=only_reads) if scheme == "odbc" else kind.from_uri(rest)
    return _core.connect(f"{scheme}:{rest}", gateway)
