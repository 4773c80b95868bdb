"""The memory that a function process shares with the server. The layout is that of `serve/udf/src/layout.rs`."""

from __future__ import annotations

import ctypes
import struct

from . import system

REQUEST_NUMBER = 0
REQUEST_SEMAPHORE = 16
ANSWER_NUMBER = 64
ANSWER_SEMAPHORE = 80
REQUEST_HEAD = 128
ANSWER_HEAD = 256
REQUEST_WORDS = 4096
ANSWER_WORDS = 65536
RECORD = 131072
NOTICES = 196608
DATA = 262144
MAX_ANSWER_WORDS = (RECORD - ANSWER_WORDS) // 8
MAX_RECORD = NOTICES - RECORD
MAX_NOTICES = DATA - NOTICES
ALIGNMENT = 64

#: The longest query of a function, in bytes.
MAX_QUERY = 1 << 20

DEFINE, CALL, GROWN, REFUSED, ROWS, QUERY_FAILED, CALL_AGAIN = 1, 2, 3, 4, 5, 6, 7
DONE, FAILED, GROW, QUERY, NEXT_ROWS = 1, 2, 3, 4, 5

HEAD = struct.Struct("<8Q")


class FailedReply(Exception):
    """The server has no rows."""


class Ring:
    """The ring, from the side of the function process. `memory` is longer than the file, which ends at `capacity`."""

    def __init__(self, address: int, limit: int) -> None:
        self.memory = memoryview((ctypes.c_char * limit).from_address(address)).cast("B")
        self.numbers = self.memory[:ANSWER_HEAD].cast("I")
        self.wait_request, _ = system.semaphore(address + REQUEST_SEMAPHORE)
        _, self.post_answer = system.semaphore(address + ANSWER_SEMAPHORE)
        #: The number of the last request.
        self.number = 0
        self.capacity = 0
        #: Where the next buffer of the result begins.
        self.at = DATA
        #: What is in the words of the answer.
        self.words = b""
        self.printed: list[str] = []
        #: Whether a call is not answered yet, so that the server serves queries.
        self.is_called = False
        #: What may give the same answer again: nothing in the ring has changed since it gave it last.
        self.repeated: object = None

    def wait(self) -> tuple[int, ...]:
        """Wait for the next request, and give its head."""
        self.wait_kind()
        return self.head()

    def head(self) -> tuple[int, ...]:
        """The head of the last request."""
        return HEAD.unpack_from(self.memory, REQUEST_HEAD)

    def wait_kind(self) -> int:
        """Wait for the next request, and give its kind."""
        numbers = self.numbers
        while True:
            self.wait_request()
            number = numbers[0]
            if number != self.number:
                self.number = number
                return numbers[REQUEST_HEAD // 4]

    def answer(self, kind: int, rows: int = 0, words: int = 0, record: int = 0, wanted: int = 0) -> None:
        """Answer the last request."""
        notices = self._write_printed() if self.printed else 0
        self.repeated = None
        if kind <= FAILED:
            self.is_called = False
        HEAD.pack_into(self.memory, ANSWER_HEAD, kind, rows, words, record, notices, wanted, 0, 0)
        self.wake()

    def wake(self) -> None:
        """Tell the server that the answer is there."""
        self.numbers[ANSWER_NUMBER // 4] = self.number
        self.post_answer()

    def _write_printed(self) -> int:
        text = "".join(self.printed).encode("utf-8", "replace")[:MAX_NOTICES]
        self.printed.clear()
        self.memory[NOTICES : NOTICES + len(text)] = text
        return len(text)

    def fail(self, record: bytes) -> None:
        """Answer with the record of an error."""
        self.memory[RECORD : RECORD + len(record)] = record
        self.answer(FAILED, record=len(record))

    def reserve(self, size: int) -> int:
        """Reserve bytes for the result, and give their place. The server makes the ring larger if it has to."""
        at = self.at
        end = (at + size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        if end > self.capacity:
            self.answer(GROW, wanted=end)
            kind, *_, capacity, _ = self.wait()
            if kind != GROWN:
                raise MemoryError(f"the result needs {end} bytes in the memory that is shared with the server")
            self.capacity = capacity
        self.at = end
        return at

    def query(self, text: bytes | None) -> tuple[bool, int, int, int, bytes]:
        """Have the server begin a query and give its first rows, or give the next ones. Gives whether there are more,
        where the rows begin and end, the place of the nodes' words, and the description. The next buffer overwrites
        the rows. FailedReply: the error's bytes."""
        start = self.at
        if text is None:
            self.answer(NEXT_ROWS, wanted=start)
        else:
            at = self.write(text)
            self.at = start
            self.answer(QUERY, record=len(text), wanted=at)
        kind, more, _, place, size, end, self.capacity, words = self.wait()
        description = bytes(self.memory[place : place + size])
        if kind != ROWS:
            raise FailedReply(description)
        return more == 1, start, end, words, description

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Write bytes of the result, and give their place."""
        at = self.reserve(len(data))
        self.memory[at : at + len(data)] = data
        return at

    def finish_any(self, rows: int, nodes: list[int], columns: list[tuple[str, str | int]]) -> None:
        """As `finish`, with the names of the columns, and for each its SQL type, or the number of the argument that it
        is."""
        record = bytearray(struct.pack("<I", len(columns)))
        for texts in columns:
            for text in texts:
                encoded = str(text).encode("utf-8", "replace")
                record += struct.pack("<I", len(encoded)) + encoded
        if len(record) > MAX_RECORD:
            raise ValueError(f"the names of {len(columns)} columns are too long for one result")
        self.memory[RECORD : RECORD + len(record)] = bytes(record)
        self.finish(rows, nodes, len(record))

    def finish(self, rows: int, nodes: list[int], record: int = 0) -> None:
        """Answer a call whose result is described by the words of `nodes`."""
        if len(nodes) > MAX_ANSWER_WORDS:
            raise ValueError(f"{len(nodes) // 6} columns and fields are too many for one result")
        words = struct.pack(f"<{len(nodes)}Q", *nodes)
        if words != self.words:
            self.memory[ANSWER_WORDS : ANSWER_WORDS + len(words)] = words
            self.words = words
        self.answer(DONE, rows, len(nodes), record)
