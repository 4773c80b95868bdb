"""Errors of functions as records for the server."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

#: The most characters of each text of a record.
MAX_TEXT = 4000
#: The most exceptions of a group whose texts are shown, and how many levels of groups and causes.
MAX_MEMBERS, MAX_LEVELS = 10, 4
#: The most frames of a traceback; of a deeper recursion the innermost ones are shown.
MAX_FRAMES = 20

#: The characters of a query that its errors show.
MAX_SHOWN = 200

#: The SQLSTATEs that an exception may have as its attribute: a value that is not valid, and a wrong state of something.
OWN_STATES = ("22023", "55000")
#: Where Python ends a line.
LINE_END = re.compile(r"\r\n|\r|\n")


class Fault(Exception):
    """A result that is not valid, with its SQLSTATE, and the number of its row from 0, if it is one row's."""

    def __init__(self, state: str, message: str, row: int | None = None) -> None:
        super().__init__(message if row is None else f"row {row + 1}: {message}")
        self.state = state
        self.message = message
        self.row = row

    def of(self, row_of: Callable[[int], int]) -> Fault:
        """The same, for the row that has this row among its items."""
        return self if self.row is None else Fault(self.state, self.message, row_of(self.row))


def wrong_result(message: str, row: int | None = None) -> Fault:
    """A result of a wrong shape, length or type."""
    return Fault("39000", message, row)


def wrong_type(row: int, item: object, type_name: str) -> Fault:
    """A value of a wrong type."""
    return wrong_result(f"the function returned a {type(item).__name__} for {type_name}", row)


class SourceError(Exception):
    """A body that is not valid Python. Line and column count from 1, the column in characters."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class QueryError(Exception):
    """A query of a function has failed. If the function does not catch it, its statement fails with this SQLSTATE."""

    def __init__(self, sqlstate: str, message: str, detail: str, hint: str, context: str, query: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        self.detail = detail
        self.hint = hint
        #: Where it happened: the calls within the query, and the query itself.
        self.context = "\n".join(filter(None, (context, f'SQL statement "{query[:MAX_SHOWN]}"')))


@dataclass
class Source:
    """The body of a function."""

    name: str
    text: str
    lines: list[str] = field(init=False)
    #: The position of each line's first character.
    starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        ends = [match.end() for match in LINE_END.finditer(self.text)]
        self.starts = [0, *ends]
        self.lines = LINE_END.split(self.text)

    def line(self, number: int) -> str:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def position(self, line: int, column: int) -> int:
        """The position in the body from 1, of a line and a column from 1; 0 if the line does not exist."""
        if not 0 < line <= len(self.lines):
            return 0
        return self.starts[line - 1] + min(max(column, 1), len(self.lines[line - 1]) + 1)


def text_of(error: BaseException, level: int = 1) -> str:
    """The text of an exception, with its notes, its causes and those of its group: a traceback would show them, and
    nobody sees it."""
    lines = [f"{type(error).__name__}: {error}" if str(error) else type(error).__name__]
    lines += [note for note in getattr(error, "__notes__", ()) if isinstance(note, str)]
    if level < MAX_LEVELS:
        if isinstance(error, BaseExceptionGroup):
            lines += [f"- {text_of(member, level + 1)}" for member in error.exceptions[:MAX_MEMBERS]]
        if error.__cause__ is not None:
            lines.append(f"caused by {text_of(error.__cause__, level + 1)}")
    return "\n".join(lines)


class Failures:
    """Makes records, with the source of each function that the process has."""

    def __init__(self) -> None:
        #: By the file name of their code.
        self.sources: dict[str, Source] = {}

    def record(
        self, state: str, message: str, *, detail: str = "", context: str = "", line: int = 0, position: int = 0
    ) -> bytes:
        """The bytes that `check::record` reads."""
        parts = bytearray()
        for text in (state, message, detail, context):
            encoded = text[:MAX_TEXT].encode("utf-8", "replace")
            parts += struct.pack("<I", len(encoded)) + encoded
        return bytes(parts + struct.pack("<II", line, position))

    def record_of(self, error: BaseException) -> bytes:
        """The record of an error, with the frames of functions only."""
        if isinstance(error, SourceError):
            source = next(reversed(self.sources.values()))
            position = source.position(error.line, error.column)
            detail = source.line(error.line).strip()
            return self.record("42601", str(error), detail=detail, line=error.line, position=position)
        frames = self.frames(error.__traceback__)
        context = "\n".join(text for text, _, _, _ in reversed(frames[-MAX_FRAMES:]))
        detail, line, position = "", 0, 0
        if frames:
            _, source, line, column = frames[-1]
            detail, position = source.line(line).strip(), source.position(line, column)
        if isinstance(error, Fault):
            # The frames, if there are any, are not at fault: the result is.
            return self.record(error.state, str(error), context=context)
        if isinstance(error, QueryError):
            detail = "\n".join(filter(None, (error.detail, error.hint))) or detail
            context = "\n".join(filter(None, (error.context, context)))
            return self.record(error.sqlstate, str(error), detail=detail, context=context, line=line, position=position)
        own = getattr(error, "sqlstate", None)
        if own in OWN_STATES:
            # The function refuses its arguments, and its message says what to do. Its text would only distract.
            return self.record(own, str(error), context=context)
        state = "53200" if isinstance(error, MemoryError) else "38000"
        return self.record(state, text_of(error), detail=detail, context=context, line=line, position=position)

    def frames(self, traceback: TracebackType | None) -> list[tuple[str, Source, int, int]]:
        """The frames of functions, the outermost first: a text, the source, the line and the column from 1."""
        found = []
        while traceback is not None:
            code = traceback.tb_frame.f_code
            source = self.sources.get(code.co_filename)
            if source is not None:
                line = traceback.tb_lineno
                place = "" if code.co_name == BODY_NAME else f", in {code.co_name}"
                text = f'function "{source.name}", line {line}{place}'
                found.append((text, source, line, self.column(traceback, source)))
            traceback = traceback.tb_next
        return found

    @staticmethod
    def column(traceback: TracebackType, source: Source) -> int:
        """The column of the expression that runs, in characters from 1."""
        positions = list(traceback.tb_frame.f_code.co_positions())
        at = traceback.tb_lasti // 2
        line, _, column, _ = positions[at] if 0 <= at < len(positions) else (None, None, None, None)
        if line is None or column is None or line != traceback.tb_lineno:
            return 1
        # Python counts bytes of UTF-8.
        return len(source.line(line).encode()[:column].decode("utf-8", "ignore")) + 1


#: The name of the Python function that a body becomes.
BODY_NAME = "<body>"
