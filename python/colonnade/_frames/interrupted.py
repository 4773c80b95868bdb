"""Ctrl-C while a result is read."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")


class Closable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)


def cancelled_by_interrupt(method: Callable[Concatenate[C, P], T]) -> Callable[Concatenate[C, P], T]:
    """Ctrl-C during the method cancels the query, also before a row is read, as while a library is imported. The
    traceback would keep the result otherwise, and with it the connection."""

    @functools.wraps(method)
    def read(self: C, *arguments: P.args, **named: P.kwargs) -> T:
        try:
            return method(self, *arguments, **named)
        except KeyboardInterrupt:
            self.close()
            raise

    return read
