"""Any ODBC data source, through the package arrow-odbc.

ODBC's description of a result is less exact than its values, and arrow-odbc relies on the description: it cuts off
digits beyond the described scale, unsigned numbers overflow, and doubles become floats. So columns are requested in
types that lose nothing, and are checked when they are cast to the types of `spec/TYPES.md`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, Unpack

from colonnade._core import count_statements
from colonnade._errors import DataError, Error, InterfaceError, NotSupportedError, OperationalError, class_by_sqlstate
from colonnade._libraries import require
from colonnade._options.query import Params, SourceOptions
from colonnade._options.write import WriteTarget
from colonnade._secrets import redacted, secrets
from colonnade._sources.arrow import RELEASE_SECONDS, ArrowSource, NoRows, SeveralStatements
from colonnade._sources.calls import Abandoned, Calls

from .columns import BrokenStream, ColumnReader, asked_type, given_type
from .describe import Describer

if TYPE_CHECKING:
    import pyarrow as pa

    from colonnade._core import ArrowStream, Stream
    from colonnade._sources.duckdb_types.exact import FieldNotes

T = TypeVar("T")

#: The longest value of a column without a limit, in bytes, unless `max_message_bytes` is given.
_VALUE_BYTES = 1 << 20
#: The largest size of a batch.
_BATCH_BYTES, _BATCH_ROWS = 32 << 20, 65535
#: The parts of a connection string that a source's name shows.
_SHOWN = ("dsn", "driver", "server", "servername", "host", "port", "database", "dbq")
_CANCELLED = "the query was cancelled; the server may still run it"
_SEVERAL = "the statement returns more than one result: let it return one, or run its statements one by one"
_SEVERAL_HAVE_RUN = "the statement returns more than one result, and it has run"
#: MariaDB's driver says that times and timestamps are as wide as without a fraction, a sign and a third digit of hours.
#: So their text is cut off, but not their bytes.
_CUTS_TEXT = "libmaodbc"
#: PostgreSQL's driver, and its text of an infinite timestamp.
_HIDES_INFINITY, _INFINITY = "psqlodbc", "9999-12-31 23:59:59"
_STATE = re.compile(r"State: (\w{5})")
_PART = re.compile(r"\s*([^=;]+?)\s*=\s*(\{(?:[^}]|\}\})*\}|[^;]*)")


class OdbcSource(ArrowSource[tuple[str, "list[str | None] | None"]]):
    """One connection. arrow-odbc does not offer ODBC's SQLCancel. So an abandoned query continues, and the connection
    can be used again after it ends."""

    has_as_text = True
    stream_errors: ClassVar[dict[str, tuple[str, str]]] = {
        _CANCELLED: ("57014", _CANCELLED),
        _SEVERAL: ("0A000", _SEVERAL),
        _SEVERAL_HAVE_RUN: ("0A000", _SEVERAL_HAVE_RUN),
    }

    def __init__(self, text: str, *, only_reads: bool = False, transactions: bool = False) -> None:
        """With `only_reads`, only this class ends transactions, so it can roll them back. With `transactions`, only
        `end` does."""
        self._odbc = require("arrow_odbc", "an odbc: URI", "odbc")
        self._pa = require("pyarrow", "an odbc: URI", "odbc")
        parts = {key.lower(): value for key, value in _PART.findall(text)}
        if not parts:
            raise InterfaceError("an odbc: URI is a connection string: write odbc:DSN=name;UID=user;PWD=password")
        name = "odbc:" + ";".join(f"{key}={parts[key]}" for key in _SHOWN if key in parts)
        self._secrets = secrets({**parts, "whole": text})
        failed: Error | None = None
        self._calls = Calls()
        try:
            self._connection = self._calls.run(
                lambda: self._odbc.connect(text, autocommit=not (only_reads or transactions))
            )
        except self._odbc.Error as error:
            state, message = _told(error)
            failed = OperationalError(redacted(message, self._secrets), sqlstate=state, source=name)
        if failed is not None:
            # Outside of `except`, so that the library's error, which may contain a password, is not attached to it.
            raise failed
        self._only_reads = only_reads
        self._has_transactions = transactions
        self._describer = Describer(text)
        super().__init__(name, f"ODBC {parts.get('driver', parts.get('dsn', '')).strip('{}')}".rstrip())

    @classmethod
    def from_uri(cls, rest: str, *, only_reads: bool = False, transactions: bool = False) -> OdbcSource:
        """The source of the URI `odbc:` and the connection string `rest`, which has no escapes."""
        return cls(rest, only_reads=only_reads, transactions=transactions)

    @property
    def is_in_transaction(self) -> bool:
        return self._has_transactions

    def _begin(self) -> None:
        # A transaction begins with its first statement.
        if not self._has_transactions:
            raise NotSupportedError("arrow-odbc cannot switch autocommit off on an open connection", source=self.name)

    def _finish(self, *, commit: bool) -> None:
        self._calls.run(self._connection.commit if commit else self._connection.rollback)

    def write(self, rows: Stream, **target: Unpack[WriteTarget]) -> int:
        raise NotSupportedError(
            "rows are not written through ODBC: arrow-odbc tells neither how many rows the database has stored nor what"
            " its columns did to the values",
            sqlstate="0A000",
            hint="write to the database by its own URI, such as postgresql://… or mysql://…",
            source=self.name,
        )

    def tables(self) -> Stream:
        raise NotSupportedError(
            "arrow-odbc does not list the tables of a data source",
            hint="query the database's catalog, such as information_schema.tables",
            source=self.name,
        )

    def _bind(self, sql: str, params: Params | None) -> tuple[str, list[str | None] | None]:
        if isinstance(params, Mapping) or not all(value is None or isinstance(value, str) for value in params or ()):
            raise InterfaceError(
                "ODBC takes text for each ? in the query: give a list of str, and cast, as in CAST(? AS INTEGER)",
                source=self.name,
            )
        return sql, list(params) if params else None

    def _protect(self, query: tuple[str, Sequence[str | None] | None]) -> Callable[[bool], object] | None:
        """arrow-odbc cannot describe a statement before it runs. Where the user may have begun a transaction, another
        connection describes it; if that is impossible, NoRows reports that the statement has run."""
        if not self._only_reads:
            if self._calls.run(lambda: self._describer.gives_rows(query[0])) is False:
                raise NoRows(self.name)
            return None
        connection = self._connection
        ended: list[bool] = []

        def finish(keep: bool) -> None:
            # After an abandoned call, the transaction ends with the connection.
            if not ended and self._calls.wait(0):
                ended.append(True)
                self._calls.run(connection.commit if keep else connection.rollback)

        return finish

    def _start(
        self, query: tuple[str, Sequence[str | None] | None], options: SourceOptions
    ) -> tuple[ArrowStream, FieldNotes]:
        sql, params = query
        # Where only the database can tell, `_batches` finds a second result.
        if (count_statements(sql, "") or 1) > 1:
            raise SeveralStatements(self.name)
        as_text = set(options.get("as_text") or ())
        described: list[pa.Schema] = []
        infinity = ""

        def asked(schema: pa.Schema) -> pa.Schema:
            nonlocal infinity
            described.append(schema)
            pa = self._pa
            wide = [pa.types.is_time(field.type) or pa.types.is_timestamp(field.type) for field in schema]
            driver = self._describer.driver() if any(wide) else ""
            infinity = _INFINITY if driver.startswith(_HIDES_INFINITY) else ""
            moment = pa.binary() if driver.startswith(_CUTS_TEXT) else pa.utf8()
            return pa.schema(
                [
                    field.with_type(
                        moment if is_wide else pa.utf8() if field.name in as_text else asked_type(pa, field.type)
                    )
                    for field, is_wide in zip(schema, wide, strict=True)
                ]
            )

        room = options.get("max_message_bytes") or _VALUE_BYTES
        connection = self._connection
        reader = self._calls.run(
            lambda: connection.read_arrow_batches(
                sql,
                parameters=params,
                batch_size=min(options.get("chunk_rows") or _BATCH_ROWS, _BATCH_ROWS),
                max_bytes_per_batch=max(options.get("chunk_bytes") or _BATCH_BYTES, room),
                max_text_size=room,
                max_binary_size=room,
                falliable_allocations=True,
                map_schema=asked,
                # A thread of this package already reads ahead. A second one would double the memory.
                fetch_concurrently=False,
            )
        )
        told = described[0]
        if len(told) == 0:
            raise NoRows(self.name, has_run=not self._only_reads)
        if missing := as_text - set(told.names):
            raise InterfaceError(
                f"as_text names a column {missing.pop()!r}, which the result does not have", source=self.name
            )
        pa = self._pa
        fields = [field.with_type(pa.utf8() if field.name in as_text else given_type(pa, field.type)) for field in told]
        notes = {(at,): ("colonnade.type", str(field.type)) for at, field in enumerate(told) if field.name in as_text}
        schema = pa.schema(fields)
        readers = [ColumnReader(pa, field, of.type, infinity) for field, of in zip(schema, told, strict=True)]
        return pa.RecordBatchReader.from_batches(schema, self._batches(reader, schema, readers)), notes

    def _batches(self, reader: Any, schema: pa.Schema, readers: list[ColumnReader]) -> Iterator[pa.RecordBatch]:
        rows = 0
        while (batch := self._ask(reader.reader.next_batch)) is not None:
            arrays = [of.read(column, rows) for column, of in zip(batch.columns, readers, strict=True)]
            yield self._pa.record_batch(arrays, schema=schema)
            rows += batch.num_rows
        while self._ask(reader.reader.more_results):
            # A result without columns reports an effect, such as the end of MySQL's CALL.
            if len(self._ask(reader.reader.schema)) > 0:
                raise BrokenStream(_SEVERAL if self._only_reads else _SEVERAL_HAVE_RUN)

    def _ask(self, call: Callable[[], T]) -> T:
        """Calls the driver for a stream. An error ends the stream."""
        try:
            return self._calls.run(call)
        except Abandoned:
            raise BrokenStream(_CANCELLED) from None
        except self._odbc.Error as error:
            told = self._told(error)
            raise BrokenStream(": ".join(filter(None, (told.message, told.hint)))) from None

    def _effect(self, query: tuple[str, Sequence[str | None] | None]) -> int | None:
        sql, params = query
        connection = self._connection
        self._calls.run(lambda: connection.execute(sql, params))
        if self._only_reads:
            self._calls.run(connection.commit)
        return None

    def _wait_for_abandoned(self) -> None:
        if not self._calls.wait(RELEASE_SECONDS):
            raise InterfaceError(
                "the driver still runs an abandoned query, which cannot be stopped: open a second connection",
                source=self.name,
            )

    def _interrupt(self) -> None:
        self._calls.abandon()

    def _end(self) -> None:
        # Python may keep the library's connection for a while, and with it what the transaction has locked.
        if self._has_transactions and self._calls.wait(0):
            with suppress(self._odbc.Error, Abandoned):
                self._calls.run(self._connection.rollback)
        del self._connection
        if self._calls.wait(0):
            self._describer.close()
        else:
            # An abandoned call may use it.
            Thread(target=self._close_describer, name="colonnade-close", daemon=True).start()

    def _close_describer(self) -> None:
        while not self._calls.wait(RELEASE_SECONDS):
            pass
        self._describer.close()

    def _translated(self, error: BaseException) -> Error | None:
        if isinstance(error, Abandoned):
            return OperationalError(_CANCELLED, sqlstate="57014", source=self.name)
        return self._told(error) if isinstance(error, self._odbc.Error) else None

    def _told(self, error: BaseException) -> Error:
        state, message = _told(error)
        message = redacted(message, self._secrets)
        if "without truncation" in message:
            return DataError(
                message,
                hint="allow longer values: max_message_bytes=…, or an option of psqlODBC, MaxLongVarcharSize",
                source=self.name,
            )
        # HYC00: the driver lacks an optional feature.
        kind = NotSupportedError if state == "HYC00" else class_by_sqlstate(state)
        return kind(message, sqlstate=state, source=self.name)


def _told(error: BaseException) -> tuple[str | None, str]:
    """The SQLSTATE and the message of ODBC's diagnostics."""
    text = str(error)
    state = _STATE.search(text)
    _, found, message = text.partition("Message: ")
    return (state[1] if state else None), (message if found else text).strip()
