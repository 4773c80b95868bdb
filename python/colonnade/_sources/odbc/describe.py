"""Asks an ODBC driver for its name, and whether a statement returns rows, without running it. arrow-odbc has no
functions for this.

<https://learn.microsoft.com/sql/odbc/reference/syntax/sqlnumresultcols-function>,
<https://learn.microsoft.com/sql/odbc/reference/syntax/sqlgetinfo-function>
"""

from __future__ import annotations

import ctypes

from colonnade._system.drivers import odbc_manager

_SUCCESS = (0, 1)
_ENVIRONMENT, _CONNECTION, _STATEMENT = 1, 2, 3
_ODBC_VERSION, _ODBC_3 = 200, 3
_AUTOCOMMIT, _OFF, _ROLLBACK = 102, 0, 1
_DRIVER_NAME = 6


class Describer:
    """A second connection to a data source, opened on first use. It prepares statements and then rolls back, because
    some drivers run a statement to prepare it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._odbc: ctypes.CDLL | None = None
        self._environment, self._connection = ctypes.c_void_p(), ctypes.c_void_p()
        self._failed = False

    def gives_rows(self, sql: str) -> bool | None:
        """None if the driver cannot tell, for example because this connection does not see uncommitted tables."""
        if not self._is_connected() or self._odbc is None:
            return None
        statement, count = ctypes.c_void_p(), ctypes.c_short(-1)
        if self._odbc.SQLAllocHandle(_STATEMENT, self._connection, ctypes.byref(statement)) not in _SUCCESS:
            return None
        try:
            characters, length = _wide(sql)
            prepared = self._odbc.SQLPrepareW(statement, characters, ctypes.c_int(length)) in _SUCCESS
            if not prepared or self._odbc.SQLNumResultCols(statement, ctypes.byref(count)) not in _SUCCESS:
                return None
            return count.value > 0
        finally:
            self._odbc.SQLFreeHandle(_STATEMENT, statement)
            self._odbc.SQLEndTran(_CONNECTION, self._connection, _ROLLBACK)

    def driver(self) -> str:
        """The file name of the driver in lower case, such as `libmaodbc.so`; empty if it does not tell."""
        text, length = ctypes.create_string_buffer(256), ctypes.c_short()
        if not self._is_connected() or self._odbc is None:
            return ""
        told = self._odbc.SQLGetInfoW(
            self._connection, _DRIVER_NAME, text, ctypes.c_short(len(text)), ctypes.byref(length)
        )
        return text.raw[: length.value].decode("utf-16-le", "replace").lower() if told in _SUCCESS else ""

    def close(self) -> None:
        if self._odbc is None:
            return
        self._odbc.SQLDisconnect(self._connection)
        self._odbc.SQLFreeHandle(_CONNECTION, self._connection)
        self._odbc.SQLFreeHandle(_ENVIRONMENT, self._environment)
        self._odbc = None

    def _is_connected(self) -> bool:
        if self._odbc is None and not self._failed:
            self._failed = not self._connect()
        return not self._failed

    def _connect(self) -> bool:
        try:
            odbc = ctypes.CDLL(odbc_manager())
        except OSError:
            return False
        if odbc.SQLAllocHandle(_ENVIRONMENT, None, ctypes.byref(self._environment)) not in _SUCCESS:
            return False
        odbc.SQLSetEnvAttr(self._environment, _ODBC_VERSION, ctypes.c_void_p(_ODBC_3), 0)
        odbc.SQLAllocHandle(_CONNECTION, self._environment, ctypes.byref(self._connection))
        odbc.SQLSetConnectAttrW(self._connection, _AUTOCOMMIT, ctypes.c_void_p(_OFF), 0)
        characters, length = _wide(self._text)
        output = (None, ctypes.c_short(0), None, ctypes.c_ushort(0))
        if odbc.SQLDriverConnectW(self._connection, None, characters, ctypes.c_short(length), *output) in _SUCCESS:
            self._odbc = odbc
            return True
        odbc.SQLFreeHandle(_CONNECTION, self._connection)
        odbc.SQLFreeHandle(_ENVIRONMENT, self._environment)
        return False


def _wide(text: str) -> tuple[bytes, int]:
    """Text as ODBC's wide characters, and their number."""
    encoded = text.encode("utf-16-le")
    return encoded + b"\0\0", len(encoded) // 2
