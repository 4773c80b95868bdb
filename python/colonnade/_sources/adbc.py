"""Any ADBC driver, through the package adbc_driver_manager. <https://arrow.apache.org/adbc/current/format/specification.html>"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from colonnade._core import has_columns
from colonnade._errors import Error, InterfaceError, OperationalError, class_like
from colonnade._libraries import require
from colonnade._options.query import Params, QueryOptions

from .arrow import ArrowSource, NoRows
from .secrets import redacted, secrets

if TYPE_CHECKING:
    from colonnade._core import ArrowStream

#: Statements that return no rows unless `_RETURNS` occurs in them. Drivers count changed rows only if no rows are read.
_EFFECT = re.compile(
    r"\s*(?:insert|update|delete|replace|merge|create|drop|alter|truncate|begin|start|commit|end|rollback|savepoint"
    r"|release|set|grant|revoke)\b",
    re.IGNORECASE,
)
_RETURNS = re.compile(r"\b(?:returning|output)\b", re.IGNORECASE)

#: Prefixes of the options of a connection and of a statement. The others are the database's.
_CONNECTION, _STATEMENT = "adbc.connection.", "adbc.statement."
_AUTOCOMMIT = "adbc.connection.autocommit"


class AdbcSource(ArrowSource[tuple[str, "Sequence[Any] | None"]]):
    """One connection of a driver. Rows arrive as the driver exports them, with its types."""

    def __init__(self, driver: str, options: Mapping[str, str]) -> None:
        self._adbc = require("adbc_driver_manager", "an adbc: URI", "adbc")
        name = f"adbc:{driver}"
        self._secrets = secrets(options)
        self._statement: Any = None
        self._statement_options = {key: value for key, value in options.items() if key.startswith(_STATEMENT)}
        connection = {key: value for key, value in options.items() if key.startswith(_CONNECTION)}
        self._is_manual = connection.get(_AUTOCOMMIT, "true") != "true"
        database = {key: value for key, value in options.items() if key not in {*self._statement_options, *connection}}
        failed: Error | None = None
        try:
            self._database = self._adbc.AdbcDatabase(driver=driver, **database)
            try:
                self._connection = self._adbc.AdbcConnection(self._database, **connection)
            except BaseException:
                self._database.close()
                raise
        except self._adbc.Error as error:
            message = redacted(str(error), self._secrets)
            failed = OperationalError(message, sqlstate=_sqlstate(error), source=name)
        if failed is not None:
            # Outside of `except`, so that the library's error, which may contain a password, is not attached to it.
            raise failed
        super().__init__(name, self._software(driver))

    @classmethod
    def from_uri(cls, rest: str) -> AdbcSource:
        """The source of the URI `adbc:` and `rest`."""
        driver, _, query = rest.partition("?")
        if not driver:
            raise InterfaceError("an adbc: URI names a driver: write adbc:DRIVER?uri=…")
        pairs = [pair.partition("=") for pair in query.split("&") if pair]
        return cls(unquote(driver), {unquote(key): unquote(value) for key, _, value in pairs})

    def _software(self, driver: str) -> str:
        """The vendor's name and version, if the driver has them and pyarrow can read them."""
        codes = [self._adbc.AdbcInfoCode.VENDOR_NAME, self._adbc.AdbcInfoCode.VENDOR_VERSION]
        with suppress(ImportError, self._adbc.Error, ValueError):
            pa = require("pyarrow", "an ADBC driver's version")
            info = pa.RecordBatchReader.from_stream(self._connection.get_info(codes)).read_all().to_pylist()
            texts = {row["info_name"]: str(row["info_value"]) for row in info}
            return " ".join(texts[code] for code in codes if code in texts) or f"ADBC driver {Path(driver).stem}"
        return f"ADBC driver {Path(driver).stem}"

    def _bind(self, sql: str, params: Params | None) -> tuple[str, Sequence[Any] | None]:
        if isinstance(params, Mapping):
            raise InterfaceError("ADBC takes parameters in order: give a list", source=self.name)
        return sql, params

    def _prepared(self, query: tuple[str, Sequence[Any] | None]) -> Any:
        """A statement with its parameters, which the driver receives as a batch of one row."""
        sql, params = query
        self._end_statement()
        statement = self._adbc.AdbcStatement(self._connection)
        self._statement = statement
        if self._statement_options:
            statement.set_options(**self._statement_options)
        statement.set_sql_query(sql)
        if params:
            pa = require("pyarrow", "a query's parameters")
            # Some drivers bind parameters only to prepared statements. Others cannot prepare.
            with suppress(self._adbc.NotSupportedError):
                statement.prepare()
            arrays = [pa.array([value]) for value in params]
            statement.bind(pa.record_batch(arrays, names=[str(number) for number in range(len(arrays))]))
        return statement

    def _protect(self, query: tuple[str, Sequence[Any] | None]) -> Callable[[bool], object] | None:
        if self._is_manual:
            # The user controls the transaction.
            return None
        try:
            schema = self._prepared(query).execute_schema()
        except self._adbc.NotSupportedError:
            return self._transaction()
        if not has_columns(schema):
            raise NoRows(self.name)
        return None

    def _transaction(self) -> Callable[[bool], object] | None:
        """Begins a transaction, if the driver has transactions and none is open."""
        try:
            self._connection.set_autocommit(False)
        except self._adbc.Error:
            return None
        ended: list[bool] = []

        def finish(keep: bool) -> None:
            if ended:
                return
            ended.append(True)
            try:
                (self._connection.commit if keep else self._connection.rollback)()
            finally:
                self._connection.set_autocommit(True)

        return finish

    def _start(
        self, query: tuple[str, Sequence[Any] | None], options: QueryOptions
    ) -> tuple[ArrowStream, dict[int, str]]:
        stream, _ = self._prepared(query).execute_query()
        return stream, {}

    def _effect(self, query: tuple[str, Sequence[Any] | None]) -> int | None:
        rows = self._prepared(query).execute_update()
        return rows if rows >= 0 else None

    def _is_effect(self, sql: str) -> bool:
        return _EFFECT.match(sql) is not None and _RETURNS.search(sql) is None

    def _interrupt(self) -> None:
        # The statement may have ended, and some drivers cannot cancel.
        with suppress(self._adbc.Error):
            if self._statement is not None:
                self._statement.cancel()

    def _end(self) -> None:
        self._end_statement()
        self._connection.close()
        self._database.close()

    def _end_statement(self) -> None:
        statement, self._statement = self._statement, None
        if statement is not None:
            statement.close()

    def _translated(self, error: BaseException) -> Error | None:
        if not isinstance(error, self._adbc.Error):
            return None
        if getattr(error, "status_code", None) == self._adbc.AdbcStatusCode.CANCELLED:
            return OperationalError("the query was cancelled", sqlstate="57014", source=self.name)
        kind = class_like(self._adbc, error)
        return kind(redacted(str(error), self._secrets), sqlstate=_sqlstate(error), source=self.name)


def _sqlstate(error: Any) -> str | None:
    """The SQLSTATE of the driver's error, if it has one."""
    state = error.sqlstate
    return state if state and state.strip("\0") and state != "00000" else None
