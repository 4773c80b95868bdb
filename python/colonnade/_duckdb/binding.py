"""When a session may bind a statement: `known_functions.py` asks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from .session import Session

P = ParamSpec("P")
T = TypeVar("T")


def binding(method: Callable[Concatenate[Session, P], T]) -> Callable[Concatenate[Session, P], T]:
    """While this method runs, the session may bind a statement."""

    @functools.wraps(method)
    def counted(self: Session, *arguments: P.args, **named: P.kwargs) -> T:
        self.binding_calls += 1
        try:
            return method(self, *arguments, **named)
        finally:
            self.binding_calls -= 1

    return counted
