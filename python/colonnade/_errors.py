"""The exceptions of the package, with the names of PEP 249. The extension module raises them too."""

from __future__ import annotations

from typing import Any

from ._core import SQLSTATE_CLASSES, printable
from ._secrets import without_logins


class Error(Exception):
    """The base class of all errors of this package. No text of an error contains a password.

    The attributes are as the database sent them. `str` shows control characters as escapes, such as `\\x1b`.
    """

    #: What happened.
    message: str

    #: The five characters of the SQLSTATE (PostgreSQL's manual, appendix A), or None.
    sqlstate: str | None
    #: More about what happened.
    detail: str | None
    #: What to do.
    hint: str | None
    #: The line of the query with the error, and a line with a caret below the place.
    place: str | None
    #: The URI of the source, without its password.
    source: str | None

    def __init__(
        self,
        message: str = "",
        *,
        sqlstate: str | None = None,
        detail: str | None = None,
        hint: str | None = None,
        place: str | None = None,
        source: str | None = None,
    ) -> None:
        # An argument that is shown may be a URI in the wrong place.
        message = without_logins(message)
        super().__init__(message)
        self.message = message
        self.sqlstate = sqlstate
        self.detail = None if detail is None else without_logins(detail)
        self.hint = None if hint is None else without_logins(hint)
        self.place = None if place is None else without_logins(place)
        self.source = source

    def __str__(self) -> str:
        text = self.message
        if self.sqlstate is not None:
            text += f" (SQLSTATE {self.sqlstate})"
        if self.source is not None:
            text = f"{self.source}: {text}"
        if self.place is not None:
            text += f"\n{self.place}"
        if self.detail is not None:
            text += f"\nDetail: {self.detail}"
        if self.hint is not None:
            text += f"\nHint: {self.hint}"
        return printable(text)


class InterfaceError(Error):
    """The package was used wrongly: a URI, a parameter, a result that is read twice, a closed connection."""


class DatabaseError(Error):
    """The database reported an error."""


class OperationalError(DatabaseError):
    """The connection or the database's operation failed: unreachable, lost, out of memory, cancelled."""


class ProgrammingError(DatabaseError):
    """The query is wrong: its syntax, an unknown table, a missing privilege."""


class DataError(DatabaseError):
    """A value is wrong: a division by zero, a number out of range, a value that the destination cannot hold."""


class IntegrityError(DatabaseError):
    """A constraint was violated."""


class InternalError(DatabaseError):
    """The answer is damaged or incomplete, or the database reported an internal error."""


class NotSupportedError(DatabaseError):
    """The source, or this version, cannot do this."""


def class_by_sqlstate(sqlstate: str | None) -> type[DatabaseError]:
    """The class for a SQLSTATE, by its first two characters."""
    return globals()[SQLSTATE_CLASSES.get((sqlstate or "")[:2], "DatabaseError")]


def class_like(library: Any, error: BaseException) -> type[DatabaseError]:
    """The class with the name of the error's class in `library`, which follows PEP 249."""
    kinds = (NotSupportedError, ProgrammingError, DataError, IntegrityError, OperationalError, InternalError)
    return next((kind for kind in kinds if isinstance(error, getattr(library, kind.__name__))), DatabaseError)
