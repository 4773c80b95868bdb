"""Errors of functions in Python, and of statements about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from colonnade_serve._core import Refused

if TYPE_CHECKING:
    from duckdb import DependencyException

    from colonnade_serve._core import FunctionFailure


@dataclass(frozen=True)
class Failure:
    """The error of a function, for the client."""

    code: str
    message: str
    detail: str | None = None
    hint: str | None = None
    #: The calls that led there, one in each line.
    context: str = ""
    #: The body of the function, and the position in it, in characters from 0.
    body: str = ""
    position: int | None = None


def not_python(found: FunctionFailure) -> Refused:
    """The error of a body that is no Python. The position counts in the body."""
    position = found["position"] - 1 if found["position"] > 0 else None
    return Refused(found["message"], found["code"], position, found["detail"] or None, None)


def refused(message: str, code: str, hint: str) -> Refused:
    """A refusal with a hint."""
    return Refused(message, code, None, None, hint)


def used_by_tables(error: DependencyException) -> Refused:
    """The error of a macro on which tables depend."""
    lines = [line for line in str(error).splitlines()[1:] if line.startswith("table")]
    detail = "\n".join(lines).replace("macro function", "function") or None
    hint = "Drop the default of the column first, by ALTER TABLE … ALTER … DROP DEFAULT, or the table."
    return Refused("the function cannot change, because tables use it", "2BP01", None, detail, hint)
