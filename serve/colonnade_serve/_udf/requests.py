"""What a function process does with the requests in its ring."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from . import ring as layout
from .calls import Call, define

if TYPE_CHECKING:
    from collections.abc import Callable

    from .failures import Failures
    from .ring import Ring


class Requests:
    """The functions of this process, which it defines and calls as the server asks."""

    def __init__(self, ring: Ring, failures: Failures, names: dict[str, Any]) -> None:
        self.ring = ring
        self.failures = failures
        #: Global names of all functions.
        self.names = names
        self.functions: dict[int, Call] = {}
        #: Does the last call once more.
        self.again: Callable[[], bool] | None = None

    def handle(self, kind: int) -> None:
        """Do what the request of this kind asks, and answer."""
        try:
            if kind == layout.CALL_AGAIN and self.again is not None and self.again():
                return
            ring = self.ring
            kind, number, rows, groups_at, groups, data_end, ring.capacity, words = ring.head()
            ring.at = data_end
            self.again = None
            if kind == layout.DEFINE:
                if words:
                    self.forget(groups)
                description = json.loads(bytes(ring.memory[layout.DATA : layout.DATA + rows]))
                call = self.functions[number] = define(description, self.failures)
                call.globals.update(self.names)
                ring.answer(layout.DONE)
            else:
                ring.is_called = True
                call = self.functions[number]
                call.call(ring, rows, groups_at, groups, words)
                self.again = call.repetition(ring)
        except BaseException as error:
            try:
                record = self.failures.record_of(error)
            except BaseException:
                record = self.failures.record("38000", f"{type(error).__name__} (its text could not be made)")
            del error
            self.ring.fail(record)

    def forget(self, number: int) -> None:
        """Free the memory of a function."""
        call = self.functions.pop(number, None)
        if call is not None:
            call.release()
            self.failures.sources.pop(call.function.__code__.co_filename, None)


class Printed(io.TextIOBase):
    """What functions print. It becomes a notice of the statement."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() takes a str, not {type(text).__name__}")
        if not self.ring.printed:
            self.size = 0
        room = layout.MAX_NOTICES - self.size
        if room > 0 and text:
            self.ring.printed.append(text[:room])
            self.size += len(text)
        return len(text)
