"""`_conn`: queries that a function runs while it is called. The server runs them; this process has no connection."""

from __future__ import annotations

import functools
import json
import struct
import threading
from typing import TYPE_CHECKING

from . import inbound
from . import ring as layout
from .failures import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from .ring import Ring


class Connection:
    """What functions have as `_conn`."""

    Error = QueryError

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._thread = threading.get_ident()

    def execute(self, sql: str) -> dict[str, np.ndarray]:
        """The rows of a query: an array for each column, by its name. Types are those of arguments. The arrays belong
        to the function, which may keep and change them.

        Raises `_conn.Error` with the attribute `sqlstate` if the query fails.
        """
        if not isinstance(sql, str):
            raise TypeError(f"execute() takes a str, not {type(sql).__name__}")
        if threading.get_ident() != self._thread or not self._ring.is_called:
            raise RuntimeError("_conn can be used only while the function is called, by the thread that runs it")
        text = sql.encode()
        if len(text) > layout.MAX_QUERY:
            raise ValueError(f"a query has at most {layout.MAX_QUERY} bytes, and this one has {len(text)}")
        parts: dict[str, list[inbound.Values]] = {}
        more = True
        request: bytes | None = text
        while more:
            try:
                more, start, end, words, description = self._ring.query(request)
            except layout.FailedReply as failed:
                raise QueryError(*error_texts(failed.args[0]), sql) from None
            request = None
            # A copy, because what follows overwrites the ring. Places are relative to its beginning.
            memory = memoryview(bytearray(self._ring.memory[start:end]))
            numbers = node_words(memory, words - start)
            for name, read in readers(description):
                parts.setdefault(name, []).append(read(memory, numbers))
        return {name: inbound.argument(inbound.joined(values)) for name, values in parts.items()}


@functools.lru_cache(maxsize=64)
def readers(description: bytes) -> list[tuple[str, inbound.Reader]]:
    """The names of columns, and what reads them. A function asks the same query at each call."""
    return [(name, inbound.reader(column_type)) for name, _, column_type, _ in json.loads(description)]


def node_words(memory: memoryview, at: int) -> Iterator[int]:
    """The words of nodes, of which the columns' types tell the number."""
    while True:
        yield from struct.unpack_from("<6Q", memory, at)
        at += 48


def error_texts(data: bytes) -> tuple[str, str, str, str, str]:
    """SQLSTATE, message, detail, hint and context; without data, the server had no room for them."""
    if not data:
        return "53200", "a query has failed, and there is no memory for its error", "", "", ""
    texts, at = [], 0
    for _ in range(5):
        (length,) = struct.unpack_from("<I", data, at)
        texts.append(data[at + 4 : at + 4 + length].decode("utf-8", "replace"))
        at += 4 + length
    sqlstate, message, detail, hint, context = texts
    return sqlstate, message, detail, hint, context
