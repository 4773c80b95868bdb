"""`connect`, and what it gives."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Protocol, Unpack

from . import _core, _dtype, _expected
from ._errors import InterfaceError
from ._options import NAMES, Params, QueryOptions, bounded
from ._result import Result

if TYPE_CHECKING:
    from types import TracebackType

    from ._core import Stream


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


class Connection:
    """A connection to a database. One result at a time is read from it; it may be used from any thread.

    >>> with colonnade.connect("postgresql://localhost:5433/") as connection:  # doctest: +SKIP
    ...     table = connection.query("select * from lineitem where l_orderkey < $1", [1000]).to_arrow()
    """

    def __init__(self, source: Source) -> None:
        #: For the rest of this package too.
        self._source = source

    def query(self, sql: str, params: Params | None = None, **options: Unpack[QueryOptions]) -> Result:
        """Starts a query and returns when its columns are known.

        `params` are values for `$1`, `$2`, … (a list or tuple) or for `$name` (a mapping). `compression` is `"auto"`
        or pins a configuration: `"plain"`, `"light"`, `"light+fsst"`, each alone or with `"+lz4"` or `"+zstd-1"` …
        `"+zstd-22"`. `chunk_rows` and `chunk_bytes` bound a chunk, `max_message_bytes` what this process accepts,
        `max_result_bytes` all that is read of the result, from any source: a larger one is an error (SQLSTATE 54000).

        PostgreSQL has three options more. `numeric=(precision, scale)` makes decimals of numerics that were
        declared without either, which otherwise arrive as text; a value that does not fit is an error, never rounded.
        `as_text` names columns of the result that arrive as the text PostgreSQL has for them, such as arrays of several
        dimensions. `parallel` is `"auto"`, `"on"` (workers encode wherever the plan allows it) or `"off"`. Without the
        extension, a PostgreSQL has no use for `compression` and `parallel` and reads as it does without them. Other
        sources refuse what they cannot follow, by name: `compression` but `"auto"` and `"plain"`, `parallel` but
        `"auto"` and `"off"`, and `numeric`.

        SQLite, MySQL and ODBC have `as_text` too. ODBC takes text for each `?`, ADBC values for the database's own
        placeholders, both in order. ODBC's `max_message_bytes` is the longest value that it has room for.

        `dtype` gives columns other types: `{"price": "float64", "id": "int32", "note": "large_utf8"}`, with the names
        of spec/TYPES.md, or pyarrow's, NumPy's or pandas' objects. Text is read as numbers, dates and times. A value
        that would change is an error that names it; `lossy("float64")` in place of `"float64"` allows the nearest one.
        """
        _expected.refuse_unknown("query", options, NAMES)
        _expected.require(options)
        dtype = options.pop("dtype", None)
        named = _dtype.named(dtype, options.get("as_text"))
        stream = bounded(lambda: self._source.query(sql, params, **options), options)
        return Result(_dtype.converted(stream, dtype), named=named)

    def execute(self, sql: str, params: Params | None = None) -> int | None:
        """Runs a statement for its effect. Gives the number of rows it touched, if the database says one."""
        return self._source.execute(sql, params)

    def cancel(self) -> None:
        """Stops the query that runs now, from another thread; its reader gets an error. If none runs, so be it."""
        self._source.cancel()

    def close(self) -> None:
        """Ends the connection, and a query that runs on it."""
        self._source.close()

    @property
    def name(self) -> str:
        """The source, without any password."""
        return self._source.name

    @property
    def server(self) -> str:
        """The server's software, as it calls itself."""
        return self._source.server

    @property
    def is_open(self) -> bool:
        """Whether it can take another query, now or when the running one has ended."""
        return self._source.is_open

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<colonnade.Connection {self.name}{'' if self.is_open else ', closed'}>"


#: Sources that other libraries deliver as Arrow: their module here, and class.
_LIBRARIES = {
    "duckdb": ("_duckdb", "DuckdbSource"),
    "adbc": ("_adbc", "AdbcSource"),
    "odbc": ("_odbc", "OdbcSource"),
}


def connect(uri: str) -> Connection:
    """Connects to a database.

    * `postgresql://user@host:port/database`: PostgreSQL, with the extension or as it is, or a Colonnade server
    * `postgresql:///database?host=/path`: the same on a unix socket (libpq's directory, or the socket file itself)
    * `host=… dbname=… sslmode=verify-full`: the same in libpq's other form; with either, what is left out comes from a
      service file, the PG* variables and the password file (docs/postgresql.md lists the parameters)
    * `mysql://user@host:port/database`, `mariadb://…`: MySQL or MariaDB; `?unix_socket=/path` for its unix socket
      (docs/mysql.md lists the parameters)
    * `sqlite:///relative/path`, `sqlite:////absolute/path`: an SQLite file, to read; `?timeout=seconds` to wait for
      locks, `?immutable=1` if nobody writes to it
    * `duckdb:///relative/path`, `duckdb:////absolute/path`, `duckdb:///:memory:`: DuckDB in this process, with a file
      that is there; `?access_mode=read_only` to leave it to others as well
    * `adbc:DRIVER?option=value&…`: any ADBC driver, by its name or its library's path; options are the database's
      (`uri` is most drivers'), or the connection's and statement's if they begin with `adbc.connection.` or
      `adbc.statement.`
    * `odbc:DSN=name;UID=user;PWD=password`, `odbc:Driver={name};Server=host;…`: any ODBC data source, by ODBC's own
      connection string
    """
    return Connection(_source(uri))


#: How keywords and values begin. No URI does: its scheme ends in a colon.
_KEYWORDS = re.compile(r"\s*[A-Za-z_]+\s*=")


def is_keywords(uri: str) -> bool:
    """Whether it is libpq's `host=… dbname=…`."""
    return _KEYWORDS.match(uri) is not None


def _source(uri: str, gateway: bool = False, *, only_reads: bool = False) -> Source:
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
