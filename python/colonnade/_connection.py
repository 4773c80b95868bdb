"""`connect`, and what it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Unpack

from . import _core, _dtype
from ._errors import InterfaceError
from ._options import Params, QueryOptions
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
        self._source = source

    def query(self, sql: str, params: Params | None = None, **options: Unpack[QueryOptions]) -> Result:
        """Starts a query and returns when its columns are known.

        `params` are values for `$1`, `$2`, … (a list or tuple) or for `$name` (a mapping). `compression` is `"auto"`
        or pins a configuration: `"plain"`, `"light"`, `"light+fsst"`, each alone or with `"+lz4"` or `"+zstd-1"` …
        `"+zstd-22"`. `chunk_rows` and `chunk_bytes` bound a chunk, `max_message_bytes` what this process accepts.

        PostgreSQL has three options more. `numeric=(precision, scale)` makes decimals of numerics that were
        declared without either, which otherwise arrive as text; a value that does not fit is an error, never rounded.
        `as_text` names columns of the result that arrive as the text PostgreSQL has for them, such as arrays of several
        dimensions. `parallel` is `"auto"`, `"on"` (workers encode wherever the plan allows it) or `"off"`. Without the
        extension, `compression` and `parallel` have no effect.

        `dtype` gives columns other types: `{"price": "float64", "id": "int32", "note": "large_utf8"}`, with the names
        of spec/TYPES.md, or pyarrow's, NumPy's or pandas' objects. Text is read as numbers, dates and times. A value
        that would change is an error that names it; `lossy("float64")` in place of `"float64"` allows the nearest one.
        """
        dtype = options.pop("dtype", None)
        stream = self._source.query(sql, params, **options)
        if not dtype:
            return Result(stream)
        try:
            return Result(stream.converted(_dtype.conversions(stream.names, dtype)))
        except BaseException:
            stream.close()
            raise

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


def connect(uri: str) -> Connection:
    """Connects to a database.

    * `postgresql://user@host:port/database`: PostgreSQL, with the extension or as it is, or a Colonnade server
    * `postgresql:///database?host=/path`: the same on a unix socket (libpq's directory, or the socket file itself)
    * `duckdb:///absolute/path`, `duckdb:relative/path`, `duckdb:///:memory:`: DuckDB in this process
    """
    return Connection(_source(uri))


def _source(uri: str) -> Source:
    scheme, colon, rest = uri.partition(":")
    # SQLAlchemy's URIs name a driver, which does not matter here.
    scheme = scheme.partition("+")[0].lower()
    if not colon:
        raise InterfaceError("the connection string is not a URI: write postgresql://host/database or duckdb:file")
    if scheme == "duckdb":
        from ._duckdb import DuckdbSource

        return DuckdbSource.from_uri(rest)
    return _core.connect(f"{scheme}:{rest}")
