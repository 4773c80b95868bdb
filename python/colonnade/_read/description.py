"""What a query returns, without a change of the database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from colonnade._core import Connection as CoreConnection
from colonnade._errors import DatabaseError, Error, InterfaceError, NotSupportedError
from colonnade._sources.arrow import ArrowSource
from colonnade._sources.pushed import around, in_from

if TYPE_CHECKING:
    from colonnade._connection import Connection
    from colonnade._core import Source
    from colonnade._frames.result import Result
    from colonnade._options.query import Params, QueryOptions

T = TypeVar("T")

_IN_FROM = "SELECT * FROM (\n{}\n) AS q WHERE 1 = 0"
#: What tells the columns of a query without running it, by dialect. In FROM, DuckDB renames columns with equal names,
#: and `colonnade serve` gives columns without a name another one.
_DESCRIPTIONS = {
    "postgresql": _IN_FROM,
    "duckdb": "(\n{}\n) LIMIT 0",
    "mysql": _IN_FROM,
    "mysql-no-backslash-escapes": _IN_FROM,
}
#: Begins a transaction that changes no data.
_READ_ONLY = "start transaction read only"
#: The SQLSTATE of a statement that would change data in it.
_REFUSED = "25006"


def described(
    connection: Connection, query: str, params: Params | None, options: QueryOptions, take: Callable[[Result], T]
) -> tuple[T, str | None]:
    """Asks for the columns of a query. If the database can tell them only by starting it, it does so in a transaction
    that changes nothing.

    Args:
        connection: It must have no open transaction.
        query: The query.
        params: As for `Connection.query`.
        options: As for `Connection.query`.
        take: Takes what is needed of a result with these columns, but no rows.

    Returns:
        What `take` returns, and the query in FROM with the name q; None if it must be sent as it is.

    Raises:
        InterfaceError: A transaction is open.
        Error: As for `Connection.query`.
    """
    dialect = connection._source.dialect

    def started(sql: str) -> tuple[T, list[str]]:
        with connection.query(sql, params, **options) as result:
            made, names = take(result), result.schema.names
            # PostgreSQL describes a statement before it refuses to run it.
            next(iter(result), None)
            return made, names

    with _without_effect(connection):
        if dialect not in _DESCRIPTIONS:
            with connection.query(query, params, **options) as result:
                return take(result), in_from(query)
        try:
            made, names = started(_DESCRIPTIONS[dialect].format(query))
            if _DESCRIPTIONS[dialect] != _IN_FROM and not differ_only_in_case(names):
                started(around(dialect, in_from(query), names, "1 = 0"))
            return made, in_from(query)
        except DatabaseError:
            # The statement or its columns' names cannot stand in FROM, or it is wrong. Then the database says so in its
            # own positions.
            connection.execute("rollback")
            connection.execute(_READ_ONLY)
        try:
            return started(query)[0], None
        except DatabaseError as error:
            if error.sqlstate == _REFUSED:
                error.hint = "only its columns were asked for, which changes nothing: read_sql and execute run it"
            raise


def differ_only_in_case(names: Iterable[str]) -> bool:
    """Whether names that differ only in case are among these."""
    names = list(names)
    return len({name.casefold() for name in names}) < len(names)


@contextmanager
def _without_effect(connection: Connection) -> Iterator[None]:
    """A transaction that is rolled back, and that changes nothing where the database has such transactions."""
    source = connection._source
    if _is_in_transaction(source):
        raise InterfaceError(
            "a transaction is open, in which columns cannot be asked for without an effect",
            hint="commit it or roll it back before, or give a URI",
            source=source.name,
        )
    end = _begun(connection)
    try:
        yield
    except BaseException:
        # The error of the query says more.
        with suppress(Error):
            end()
        raise
    end()


def _is_in_transaction(source: Source) -> bool:
    if isinstance(source, ArrowSource):
        return source.is_in_transaction
    return isinstance(source, CoreConnection) and source.transaction in ("open", "failed")


def _begun(connection: Connection) -> Callable[[], object]:
    """Begins the transaction, if there can be one. Returns the function that ends it."""
    source = connection._source
    if source.dialect in _DESCRIPTIONS:
        connection.execute(_READ_ONLY)
        return lambda: connection.execute("rollback")
    # SQLite's files are opened to read only.
    if not isinstance(source, ArrowSource):
        return lambda: None

    def end() -> None:
        # Some drivers begin a transaction with its first change, and refuse to end none.
        with suppress(DatabaseError):
            source.end(commit=False)

    try:
        source.begin()
    except NotSupportedError:
        return lambda: None
    return end
