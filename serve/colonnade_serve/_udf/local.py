"""Functions in the server's own process (`--udf-isolation none`): nothing is between them and the server.

The ring, the conversions and the records of errors are those of function processes. Neither side waits: the caller runs
the interpreter on its own thread. The ring has its largest size from the start, and `_conn` is refused, because nobody
could enlarge the ring or run a query during a call.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any, NoReturn

from .failures import Failures
from .requests import Printed, Requests
from .ring import ALIGNMENT, ANSWER_NUMBER, REQUEST_HEAD, REQUEST_NUMBER, Ring


class LocalRing(Ring):
    """A ring of which both sides are in this process. It is as large as it can be."""

    def wake(self) -> None:
        numbers = self.numbers
        numbers[ANSWER_NUMBER // 4] = numbers[REQUEST_NUMBER // 4]

    def reserve(self, size: int) -> int:
        end = (self.at + size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        if end > self.capacity:
            raise MemoryError(f"the result needs {end} bytes in the memory that is shared with the server")
        at, self.at = self.at, end
        return at


class NoConnection:
    """What functions have as `_conn`: a query would have to run within the call, on the same thread."""

    def execute(self, sql: str) -> NoReturn:
        raise RuntimeError("functions run no queries with --udf-isolation=none; start the server with =sandbox")


class LocalInterpreter:
    """An interpreter in the server's process, over the memory at an address."""

    def __init__(self, address: int, size: int) -> None:
        self.ring = LocalRing(address, size)
        self.numbers = self.ring.numbers
        # The server's own output is nothing for users. As in function processes: a division by zero in a function warns
        # nobody. Their code has this module's name.
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="__main__")
        own_print = functools.partial(print, file=Printed(self.ring))
        names: dict[str, Any] = {"print": own_print, "_conn": NoConnection()}
        self.requests = Requests(self.ring, Failures(), names)

    def handle(self) -> None:
        """Do what the request in the ring asks."""
        self.requests.handle(self.numbers[REQUEST_HEAD // 4])
