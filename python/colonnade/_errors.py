"""What colonnade raises. The names are PEP 249's; the extension module raises these classes."""

from __future__ import annotations

from ._core import printable


class Error(Exception):
    """Anything that goes wrong. No text here ever holds a password.

    The attributes are as the database sent them. `str` shows what would steer a terminal as escapes, such as `\\x1b`.
    """

    #: The five characters of PostgreSQL's appendix A, if the database gave them.
    sqlstate: str | None
    #: More about what happened.
    detail: str | None
    #: What to do about it.
    hint: str | None
    #: The source's name.
    source: str | None

    def __init__(
        self,
        message: str = "",
        *,
        sqlstate: str | None = None,
        detail: str | None = None,
        hint: str | None = None,
        source: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.sqlstate = sqlstate
        self.detail = detail
        self.hint = hint
        self.source = source

    def __str__(self) -> str:
        text = self.message
        if self.sqlstate is not None:
            text += f" (SQLSTATE {self.sqlstate})"
        if self.source is not None:
            text = f"{self.source}: {text}"
        if self.detail is not None:
            text += f"\nDetail: {self.detail}"
        if self.hint is not None:
            text += f"\nHint: {self.hint}"
        return printable(text)


class InterfaceError(Error):
    """A wrong use of this library: a URI, a parameter, a result read twice, a closed connection."""


class DatabaseError(Error):
    """The database reported an error."""


class OperationalError(DatabaseError):
    """The connection, or the database's operation: unreachable, lost, out of memory, cancelled."""


class ProgrammingError(DatabaseError):
    """A query that is wrong: syntax, an unknown table, a missing privilege."""


class DataError(DatabaseError):
    """A value that is wrong: a division by zero, a number out of range."""


class IntegrityError(DatabaseError):
    """A constraint that does not hold."""


class InternalError(DatabaseError):
    """The answer was damaged, or the database found a defect in itself."""


class NotSupportedError(DatabaseError):
    """Something that the source or this version cannot do."""
