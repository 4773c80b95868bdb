"""Any ADBC driver, through the package adbc_driver_manager. <https://arrow.apache.org/adbc/current/format/specification.html>"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack
from urllib.parse import unquote

from colonnade._core import Stream, count_statements, has_columns
from colonnade._errors import Error, InterfaceError, NotSupportedError, OperationalError, class_like
from colonnade._libraries import require
from colonnade._options.query import Params, SourceOptions
from colonnade._options.write import WriteTarget
from colonnade._secrets import redacted, secrets

from . import adbc_postgresql
from .adbc_write import OWN, POSTGRESQL, AdbcWriter
from .arrow import CANCELLED, ArrowSource, NoRows, SeveralStatements
from .calls import Calls
from .commit_gate import CommitGate

if TYPE_CHECKING:
    import pyarrow as pa

    from colonnade._core import ArrowStream
    from colonnade._sources.duckdb_types.exact import FieldNotes

#: Statements that return no rows unless `_RETURNS` occurs in them. Drivers count changed rows only if no rows are read.
_EFFECT = re.compile(
    r"\s*(?:insert|update|delete|replace|merge|create|drop|alter|truncate|begin|start|commit|end|rollback|savepoint"
    r"|release|set|grant|revoke)\b",
    re.IGNORECASE,
)
_RETURNS = re.compile(r"\b(?:returning|output)\b", re.IGNORECASE)

#: The products whose drivers run all statements of a text for their effect. SQLite's driver runs only the first one.
_RUN_SEVERAL = ("PostgreSQL", "duckdb")
#: SQLite takes NULL where a placeholder has no value. Others refuse that.
_SQLITE = "SQLite"
#: A placeholder that says which value it takes.
_NUMBERED = re.compile(r"\$([0-9]+)")

#: Prefixes of the options of a connection and of a statement. The others are the database's.
_CONNECTION, _STATEMENT = "adbc.connection.", "adbc.statement."
_AUTOCOMMIT = "adbc.connection.autocommit"


#: How Python's packages of drivers are called.
_PACKAGE = "adbc_driver_"
_DRIVERS = (
    f"a driver is named by its Python package, such as adbc:{_PACKAGE}snowflake?… after pip install"
    " adbc-driver-snowflake, by its manifest, or by the path of its library"
)


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
        library, told = _library(driver), ("", "", "")
        try:
            # On the main thread, Ctrl-C would wait until the driver returns, and it may wait for a server.
            self._database, self._connection, told = Calls().run(
                lambda: self._opened(library, database, connection), undo=_close
            )
        except self._adbc.Error as error:
            message = redacted(str(error), self._secrets)
            # The driver manager could not load the driver.
            hint = _DRIVERS if "[Driver Manager]" in message else None
            failed = OperationalError(message, sqlstate=_sqlstate(error), hint=hint, source=name)
        if failed is not None:
            # Outside of `except`, so that the library's error, which may contain a password, is not attached to it.
            raise failed
        self._gate = CommitGate()
        #: The write that runs.
        self._writer: AdbcWriter | None = None
        #: The database's name and version and the driver's name, as far as the driver tells them.
        self._product, version, self._driver = told
        super().__init__(name, " ".join(filter(None, (self._product, version))) or f"ADBC driver {Path(driver).stem}")

    @classmethod
    def from_uri(cls, rest: str) -> AdbcSource:
        """The source of the URI `adbc:` and `rest`."""
        driver, _, query = rest.partition("?")
        if not driver:
            raise InterfaceError("an adbc: URI names a driver: write adbc:DRIVER?uri=…")
        pairs = [pair.partition("=") for pair in query.split("&") if pair]
        return cls(unquote(driver), {unquote(key): unquote(value) for key, _, value in pairs})

    def _opened(
        self, driver: str, database: Mapping[str, str], connection: Mapping[str, str]
    ) -> tuple[Any, Any, tuple[str, str, str]]:
        """The driver's database and connection, and what `_told_product` returns."""
        with ExitStack() as opened:
            of_driver = opened.enter_context(closing(self._adbc.AdbcDatabase(driver=driver, **database)))
            session = opened.enter_context(closing(self._adbc.AdbcConnection(of_driver, **connection)))
            result = (of_driver, session, self._told_product(session))
            opened.pop_all()
            return result

    def _told_product(self, connection: Any) -> tuple[str, str, str]:
        """The vendor's name and version and the driver's name, each empty if the driver lacks it or pyarrow cannot read
        it."""
        codes = self._adbc.AdbcInfoCode
        wanted = [codes.VENDOR_NAME, codes.VENDOR_VERSION, codes.DRIVER_NAME]
        with suppress(ImportError, self._adbc.Error, ValueError):
            pa = require("pyarrow", "an ADBC driver's version")
            info = pa.RecordBatchReader.from_stream(connection.get_info(wanted)).read_all().to_pylist()
            texts = {row["info_name"]: str(row["info_value"]) for row in info}
            name, version, driver = (texts.get(code, "") for code in wanted)
            return name, version, driver
        return "", "", ""

    @property
    def is_in_transaction(self) -> bool:
        return self._is_manual or self.has_begun

    def _begin(self) -> None:
        if not self._is_manual:
            self._connection.set_autocommit(False)

    def _finish(self, *, commit: bool) -> None:
        try:
            (self._connection.commit if commit else self._connection.rollback)()
        finally:
            if not self._is_manual:
                self._connection.set_autocommit(True)
            self.has_begun = False

    def write(self, rows: Stream, **target: Unpack[WriteTarget]) -> int:
        rows.check_target(target["if_exists"], target["key"])

        def work() -> int:
            writer = AdbcWriter(self._adbc, self._connection, self._driver, self.name, target)
            in_transaction = self._is_manual or self.has_begun
            writer.refuse(in_transaction=in_transaction)
            self._gate.open()
            self._writer = writer
            try:
                return self._written(writer, rows, in_transaction)
            finally:
                self._writer = None

        return self._run(work)

    def _written(self, writer: AdbcWriter, rows: Stream, in_transaction: bool) -> int:
        """Writes in a transaction of its own; this project's driver has one for each write."""
        if in_transaction or self._driver == OWN:
            return self._ingested(writer, rows)
        self._connection.set_autocommit(False)
        try:
            stored = self._ingested(writer, rows)
            if not self._gate.commit(self._connection.commit):
                raise self._cancelled()
        except BaseException:
            try:
                self._connection.rollback()
            except self._adbc.Error:
                # Autocommit would commit what is left.
                self.is_open = False
                self._end()
                self._has_ended = True
                raise
            self._connection.set_autocommit(True)
            raise
        self._connection.set_autocommit(True)
        return stored

    def _ingested(self, writer: AdbcWriter, rows: Stream) -> int:
        self._end_statement()

        def begun(statement: Any) -> None:
            self._statement = statement

        try:
            return writer.write(rows, begun)
        except Exception as error:
            if self._gate.is_stopped:
                raise self._cancelled() from error
            raise
        finally:
            self._end_statement()

    def tables(self) -> Stream:
        return self._run(lambda: Stream.from_arrow(self._tables(), self.name, self.server)[0])

    def _tables(self) -> pa.Table:
        """The driver's tables and views, without those of information_schema and of PostgreSQL's own schemas."""
        pa = require("pyarrow", "tables()")
        depth = self._adbc.GetObjectsDepth.TABLES
        objects = pa.RecordBatchReader.from_stream(self._connection.get_objects(depth)).read_all().to_pylist()
        found = [
            (catalog["catalog_name"], schema["db_schema_name"] or None, table["table_name"], table["table_type"], None)
            for catalog in objects
            for schema in catalog["catalog_db_schemas"] or ()
            for table in schema["db_schema_tables"] or ()
        ]
        # SQLite's driver lists indexes too.
        kinds = [row for row in found if any(kind in row[3].lower() for kind in ("table", "view"))]
        users = [row for row in kinds if not (row[1] or "").startswith(("information_schema", "pg_"))]
        names = ("catalog", "schema", "name", "type", "estimated_rows")
        columns = zip(*sorted(users, key=lambda row: (row[1] or "", row[2])), strict=True) if users else [()] * 5
        types = [*[pa.utf8()] * 4, pa.int64()]
        return pa.table([pa.array(column, kind) for column, kind in zip(columns, types, strict=True)], names=names)

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
        if params or self._product == _SQLITE:
            pa = require("pyarrow", "a query's parameters")
            # Some drivers bind parameters only to prepared statements. Others cannot prepare.
            with suppress(self._adbc.NotSupportedError):
                statement.prepare()
            for number, value in enumerate(params or (), 1):
                kept = _kept(pa, number, value)
                if self._product == _SQLITE and isinstance(kept, float) and kept != kept:
                    # The driver itself makes it NULL.
                    raise InterfaceError(f"parameter ${number}: SQLite has no NaN: pass None", source=self.name)
            arrays = [pa.array([value]) for value in self._in_drivers_order(statement, params or ())]
            if arrays:
                statement.bind(pa.record_batch(arrays, names=[str(number) for number in range(len(arrays))]))
        return statement

    def _in_drivers_order(self, statement: Any, params: Sequence[Any]) -> list[Any]:
        """A value for each placeholder that the driver counts: the second value for `$2`, wherever that stands. SQLite
        itself numbers placeholders by their first appearance, whatever they are called."""
        try:
            places = require("pyarrow", "a query's parameters").schema(statement.get_parameter_schema()).names
        except self._adbc.Error:
            # The driver cannot tell. It reports an error itself if there are too few or too many values.
            return list(params)
        numbers = [_NUMBERED.fullmatch(name) for name in places]
        chosen = [place if found is None else int(found[1]) - 1 for place, found in enumerate(numbers)]
        for place, index in zip(places, chosen, strict=True):
            if not 0 <= index < len(params):
                shown = place if _NUMBERED.fullmatch(place) else f"placeholder {index + 1}"
                raise InterfaceError(f"the query has {shown}, but no value is given for it", source=self.name)
        if unused := set(range(len(params))) - set(chosen):
            raise InterfaceError(f"the query has no ${min(unused) + 1} for a given value", source=self.name)
        return [params[index] for index in chosen]

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

    def _start(self, query: tuple[str, Sequence[Any] | None], options: SourceOptions) -> tuple[ArrowStream, FieldNotes]:
        # Some drivers would run only the first of several, others return only the last one's rows.
        self._refuse_several(query[0])
        statement = self._prepared(query)
        if self._driver == POSTGRESQL:
            adbc_postgresql.refuse(statement.execute_schema(), self.name)
        stream, _ = statement.execute_query()
        return stream, {}

    def _effect(self, query: tuple[str, Sequence[Any] | None]) -> int | None:
        if self._product not in _RUN_SEVERAL:
            self._refuse_several(query[0])
        rows = self._prepared(query).execute_update()
        return rows if rows >= 0 else None

    def _refuse_several(self, sql: str) -> None:
        count = count_statements(sql, self._product)
        if count is None:
            raise NotSupportedError(
                "cannot tell where the statements of this source's SQL end",
                sqlstate="0A000",
                hint="send one statement at a time, without a semicolon in it",
                source=self.name,
            )
        if count > 1:
            raise SeveralStatements(self.name)

    def _is_effect(self, sql: str) -> bool:
        return _EFFECT.match(sql) is not None and _RETURNS.search(sql) is None

    def _interrupt(self) -> None:
        self._gate.stop()
        if (writer := self._writer) is not None:
            writer.interrupt()
        # The statement may have ended, and some drivers cannot cancel.
        with suppress(self._adbc.Error):
            if self._statement is not None:
                self._statement.cancel()

    def _end(self) -> None:
        self._end_statement()
        self._connection.close()
        self._database.close()

    def _cancelled(self) -> OperationalError:
        sqlstate, message = CANCELLED
        return OperationalError(message, sqlstate=sqlstate, source=self.name)

    def _end_statement(self) -> None:
        statement, self._statement = self._statement, None
        if statement is not None:
            statement.close()

    def _translated(self, error: BaseException) -> Error | None:
        if not isinstance(error, self._adbc.Error):
            return None
        if getattr(error, "status_code", None) == self._adbc.AdbcStatusCode.CANCELLED:
            return self._cancelled()
        kind = class_like(self._adbc, error)
        return kind(redacted(str(error), self._secrets), sqlstate=_sqlstate(error), source=self.name)


def _library(driver: str) -> str:
    """The path of the library in a Python package of a driver, such as `adbc_driver_sqlite`. The driver manager finds
    drivers by other names."""
    if not driver.startswith(_PACKAGE) or not driver.isidentifier() or find_spec(driver) is None:
        return driver
    package = import_module(driver)
    # Arrow's packages call it `_driver_path`.
    path = getattr(package, "driver_path", None) or getattr(package, "_driver_path", None)
    return driver if path is None else str(path())


def _close(opened: tuple[Any, Any, object]) -> None:
    """Closes a database and its connection that nobody uses."""
    database, connection, _ = opened
    connection.close()
    database.close()


def _sqlstate(error: Any) -> str | None:
    """The SQLSTATE of the driver's error, if it has one."""
    state = error.sqlstate
    return state if state and state.strip("\0") and state != "00000" else None


def _kept(pa: Any, number: int, value: Any) -> Any:
    """A parameter as pyarrow keeps it. One that it would change is refused, such as pandas' nanoseconds."""
    try:
        kept = pa.array([value])[0].as_py()
        plain = value.tolist() if hasattr(value, "dtype") else list(value) if isinstance(value, tuple) else value
        is_same = bool(kept == plain) or (kept != kept and plain != plain)
    except Exception as error:  # of pyarrow, and of the value's own class
        raise InterfaceError(
            f"parameter ${number}: the {type(value).__name__} has no form in Arrow: {error}"
        ) from error
    if not is_same:
        raise InterfaceError(f"parameter ${number}: the {type(value).__name__} would become {kept!r}: pass it as text")
    return kept
