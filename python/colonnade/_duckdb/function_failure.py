"""Errors of functions in Python, and of statements about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from colonnade._core import Refused

if TYPE_CHECKING:
    from colonnade._core import FunctionFailure


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
