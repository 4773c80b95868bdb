"""ODBC's catalog functions, by unixODBC's driver manager (https://learn.microsoft.com/sql/odbc/reference/syntax/)."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Iterator
from contextlib import contextmanager

_SUCCESS, _SUCCESS_WITH_INFO, _NO_DATA = 0, 1, 100
_ENVIRONMENT, _CONNECTION, _STATEMENT = 1, 2, 3
_ODBC_VERSION, _ODBC_3 = 200, 3
_TEXT, _NULL, _TERMINATED = 1, -1, -3
_INDEX_ALL, _QUICK = 1, 0

Row = tuple[str | None, ...]


class Catalog:
    """A connection that is asked about tables."""

    def __init__(self, library: ctypes.CDLL, connection: ctypes.c_void_p) -> None:
        self._odbc, self._connection = library, connection

    def primary_keys(self, schema: str, table: str) -> list[Row]:
        return self._rows("SQLPrimaryKeys", None, schema, table)

    def foreign_keys(self, schema: str, table: str) -> list[Row]:
        """Those of a table."""
        return self._rows("SQLForeignKeys", None, None, None, None, schema, table)

    def referring_keys(self, schema: str, table: str) -> list[Row]:
        """Those that refer to a table."""
        return self._rows("SQLForeignKeys", None, schema, table, None, None, None)

    def statistics(self, schema: str, table: str) -> list[Row]:
        return self._rows("SQLStatistics", None, schema, table, more=(_INDEX_ALL, _QUICK))

    def _rows(self, function: str, *names: str | None, more: tuple[int, ...] = ()) -> list[Row]:
        statement = handle(self._odbc, _STATEMENT, self._connection)
        try:
            arguments: list[object] = []
            for name in names:
                arguments += [name and name.encode(), ctypes.c_short(_TERMINATED if name else 0)]
            arguments += [ctypes.c_ushort(number) for number in more]
            check(self._odbc, getattr(self._odbc, function)(statement, *arguments), _STATEMENT, statement)
            return list(self._fetched(statement))
        finally:
            self._odbc.SQLFreeHandle(_STATEMENT, statement)

    def _fetched(self, statement: ctypes.c_void_p) -> Iterator[Row]:
        count = ctypes.c_short()
        check(self._odbc, self._odbc.SQLNumResultCols(statement, ctypes.byref(count)), _STATEMENT, statement)
        while (code := self._odbc.SQLFetch(statement)) != _NO_DATA:
            check(self._odbc, code, _STATEMENT, statement)
            yield tuple(self._value(statement, column) for column in range(1, count.value + 1))

    def _value(self, statement: ctypes.c_void_p, column: int) -> str | None:
        room, length = ctypes.create_string_buffer(256), ctypes.c_ssize_t()
        place = (ctypes.c_ushort(column), ctypes.c_short(_TEXT), room, ctypes.c_ssize_t(256), ctypes.byref(length))
        check(self._odbc, self._odbc.SQLGetData(statement, *place), _STATEMENT, statement)
        return None if length.value == _NULL else room.value.decode()


@contextmanager
def connected(options: str) -> Iterator[Catalog]:
    """By a connection string."""
    odbc = ctypes.CDLL(ctypes.util.find_library("odbc") or "libodbc.so.2")
    environment = handle(odbc, _ENVIRONMENT, ctypes.c_void_p())
    odbc.SQLSetEnvAttr(environment, _ODBC_VERSION, ctypes.c_void_p(_ODBC_3), 0)
    connection = handle(odbc, _CONNECTION, environment)
    try:
        arguments = (
            None,
            options.encode(),
            ctypes.c_short(_TERMINATED),
            None,
            ctypes.c_short(0),
            None,
            ctypes.c_ushort(0),
        )
        check(odbc, odbc.SQLDriverConnect(connection, *arguments), _CONNECTION, connection)
        try:
            yield Catalog(odbc, connection)
        finally:
            odbc.SQLDisconnect(connection)
    finally:
        odbc.SQLFreeHandle(_CONNECTION, connection)
        odbc.SQLFreeHandle(_ENVIRONMENT, environment)


def handle(odbc: ctypes.CDLL, kind: int, parent: ctypes.c_void_p) -> ctypes.c_void_p:
    made = ctypes.c_void_p()
    assert odbc.SQLAllocHandle(ctypes.c_short(kind), parent, ctypes.byref(made)) == _SUCCESS
    return made


def check(odbc: ctypes.CDLL, code: int, kind: int, failed: ctypes.c_void_p) -> None:
    if code in (_SUCCESS, _SUCCESS_WITH_INFO):
        return
    state, text = ctypes.create_string_buffer(6), ctypes.create_string_buffer(1024)
    place = (ctypes.c_short(kind), failed, ctypes.c_short(1), state, ctypes.byref(ctypes.c_int()), text)
    odbc.SQLGetDiagRec(*place, ctypes.c_short(1024), ctypes.byref(ctypes.c_short()))
    raise RuntimeError(f"{state.value.decode()}: {text.value.decode()}")
