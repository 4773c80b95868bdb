"""From a URI to a source."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING

from colonnade._core import connect

from .not_a_uri import unknown_scheme, unusable, unusable_text

if TYPE_CHECKING:
    from colonnade._core import Source

#: The schemes of the client library's own sources.
_OWN = ("postgresql", "postgres", "colonnade", "mysql", "mariadb", "sqlite")

#: Sources that use other libraries: module and class, by the scheme of the URI.
_LIBRARIES = {
    "duckdb": ("duckdb", "DuckdbSource"),
    "adbc": ("adbc", "AdbcSource"),
    "odbc": ("odbc.source", "OdbcSource"),
}

#: The beginning of libpq's keywords and values. A URI does not match, because its scheme ends in a colon.
_KEYWORDS = re.compile(r"\s*[A-Za-z_]+\s*=")


def is_keywords(uri: str) -> bool:
    """Whether it is libpq's other form, `host=… dbname=…`."""
    return _KEYWORDS.match(uri) is not None


def checked_uri(uri: object) -> str:
    """The text, if it has the form of a connection string."""
    if not isinstance(uri, str):
        raise unusable(uri)
    if not is_keywords(uri) and (":" not in uri or uri != uri.strip()):
        raise unusable_text(uri)
    return uri


def open_source(uri: str, *, only_reads: bool = False, transactions: bool = False) -> Source:
    """Opens the source of a URI. With `only_reads`, the caller does not begin or end transactions; with `transactions`,
    the caller does by `begin` and `end`, where the source is in this process."""
    if (own := client_uri(uri)) is not None:
        return connect(own)
    scheme, rest = _parted(uri)
    module, name = _LIBRARIES[scheme]
    kind = getattr(importlib.import_module(f".{module}", __package__), name)
    if scheme == "odbc":
        return kind.from_uri(rest, only_reads=only_reads, transactions=transactions)
    return kind.from_uri(rest)


def client_uri(uri: str) -> str | None:
    """The URI as the client library takes it; None if its source uses another library."""
    if is_keywords(checked_uri(uri)):
        return uri
    scheme, rest = _parted(uri)
    if len(scheme) == 1:
        # A drive of Windows: `C:\data\shop.db`.
        raise unusable_text(uri)
    if scheme not in (known := (*_OWN, *_LIBRARIES)):
        raise unknown_scheme(scheme, known)
    return None if scheme in _LIBRARIES else f"{scheme}:{rest}"


def _parted(uri: str) -> tuple[str, str]:
    """The scheme and the rest. A URI of SQLAlchemy also names a driver, which is ignored."""
    scheme, _, rest = uri.partition(":")
    return scheme.partition("+")[0].lower(), rest
