"""Annotated bytes: annotators divide a message into pieces, so that every byte is counted exactly once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

#: The use of a byte. `row` is repeated with each row, `batch` with each batch of rows. `columns` describes the columns
#: once, `ends` begins and ends the answer. `compressed` is a mixture of these.
Kind = Literal["value", "length", "null", "row", "batch", "padding", "columns", "ends", "compressed"]
#: The kinds that belong to the rows themselves.
OF_ROWS: tuple[Kind, ...] = ("value", "length", "null", "row", "batch", "padding")
KINDS: tuple[Kind, ...] = (*OF_ROWS, "columns", "ends", "compressed")
BYTES_A_LINE = 16


class Malformed(Exception):
    """The bytes do not follow the protocol. The message says where."""


@dataclass(frozen=True)
class Piece:
    #: From the start of the annotated bytes.
    offset: int
    bytes: bytes
    what: str
    kind: Kind


@dataclass(frozen=True)
class Annotated:
    """All bytes of an answer, in order, and the rows that they represent."""

    pieces: list[Piece]
    rows: list[tuple[Any, ...]]
    #: The decompressed bytes of a compressed answer.
    inside: list[Piece] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """A place where a message carries a part of a stream with its own meaning, as HTTP/2's frames do."""

    at: int
    length: int
    #: The numbers of the pieces that frame it.
    frame: range


class Reader:
    """Reads bytes and annotates them. No byte is read twice, and none may remain at the end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.pieces: list[Piece] = []
        self.places: list[Place] = []
        self._end = len(data)

    @property
    def left(self) -> int:
        return self._end - self.at

    def malformed(self, what: str) -> Malformed:
        return Malformed(f"byte {self.at}: {what}")

    def take(self, count: int, what: str, kind: Kind) -> bytes:
        if not 0 <= count <= self.left:
            raise self.malformed(f"{what} needs {count} bytes, but {self.left} are left")
        taken = self.data[self.at : self.at + count]
        if count:
            self.pieces.append(Piece(self.at, taken, what, kind))
        self.at += count
        return taken

    def integer(
        self, count: int, what: str, kind: Kind, order: Literal["big", "little"] = "big", *, signed: bool = False
    ) -> int:
        value = int.from_bytes(self.take(count, what, kind), order, signed=signed)
        self.say(f"{what} {value}")
        return value

    def expect(self, wanted: bytes, what: str, kind: Kind) -> None:
        found = self.take(len(wanted), what, kind)
        if found != wanted:
            raise self.malformed(f"{what} before it is {found.hex(' ')}, not {wanted.hex(' ')}")

    def until(self, end: bytes, what: str, kind: Kind) -> bytes:
        """The bytes before `end`. `end` is consumed too."""
        found = self.data.find(end, self.at, self._end)
        if found < 0:
            raise self.malformed(f"{what} has no end")
        return self.take(found + len(end) - self.at, what, kind)[: -len(end)]

    def say(self, what: str, kind: Kind | None = None) -> None:
        """Changes the annotation of the last piece."""
        self.pieces[-1] = replace(self.pieces[-1], what=what, kind=kind or self.pieces[-1].kind)

    def carry(self, frame_from: int) -> bytes:
        """The rest of this message is a part of a stream. Its frame is the pieces from this number on."""
        self.places.append(Place(self.at, self.left, range(frame_from, len(self.pieces))))
        part = self.data[self.at : self._end]
        self.at = self._end
        return part

    @contextmanager
    def within(self, count: int, what: str) -> Iterator[None]:
        """The block must read exactly the next `count` bytes."""
        if not 0 <= count <= self.left:
            raise self.malformed(f"{what} needs {count} bytes, but {self.left} are left")
        outer, self._end = self._end, self.at + count
        yield
        if self.left:
            raise self.malformed(f"{self.left} bytes are left over of {what}")
        self._end = outer

    def finish(self, carried: Sequence[Piece] = ()) -> list[Piece]:
        """All pieces, including those of the carried stream."""
        if self.left:
            raise self.malformed(f"{self.left} bytes are left over")
        pieces = list(self.pieces)
        for place, parts in zip(self.places, spread(carried, self.places), strict=True):
            # A frame has the kind of its contents.
            kinds = {part.kind for part in parts}
            kind: Kind = "row" if "row" in kinds else "batch"
            if parts and not kinds & set(OF_ROWS):
                kind = parts[0].kind
            for number in place.frame:
                pieces[number] = replace(pieces[number], kind=kind)
            pieces += parts
        return sorted(pieces, key=lambda piece: piece.offset)


def spread(stream: Sequence[Piece], places: Iterable[Place]) -> list[list[Piece]]:
    """The pieces of a stream at their places in the messages that carry it, for each message."""
    found = []
    streamed = 0
    waiting = iter(stream)
    piece = next(waiting, None)
    for place in places:
        parts: list[Piece] = []
        end = streamed + place.length
        while piece is not None and piece.offset < end:
            start, stop = max(piece.offset, streamed), min(piece.offset + len(piece.bytes), end)
            cut = piece.bytes[start - piece.offset : stop - piece.offset]
            what = piece.what if start == piece.offset else f"{piece.what}, continued"
            if cut:
                parts.append(Piece(place.at + start - streamed, cut, what, piece.kind))
            if piece.offset + len(piece.bytes) > end:
                break
            piece = next(waiting, None)
        found.append(parts)
        streamed = end
    return found


def check(annotated: Annotated, data: bytes) -> None:
    """Refuses an annotation that omits a byte or contains one twice."""
    at = 0
    for piece in annotated.pieces:
        if piece.offset != at or data[at : at + len(piece.bytes)] != piece.bytes:
            raise Malformed(f"byte {at}: the annotation continues at {piece.offset}")
        at += len(piece.bytes)
    if at != len(data):
        raise Malformed(f"byte {at}: {len(data) - at} bytes are not annotated")


def sums(pieces: Iterable[Piece]) -> dict[Kind, int]:
    """The number of bytes of each kind."""
    found: dict[Kind, int] = dict.fromkeys(KINDS, 0)
    for piece in pieces:
        found[piece.kind] += len(piece.bytes)
    return found


def dump(pieces: Iterable[Piece]) -> str:
    """One line for each piece, or several for a long one: its position, its bytes, its kind and its meaning."""
    lines = []
    for piece in pieces:
        for start in range(0, len(piece.bytes), BYTES_A_LINE):
            part = piece.bytes[start : start + BYTES_A_LINE].hex(" ")
            label = f"{piece.kind:<8} {piece.what}" if start == 0 else ""
            lines.append(f"{piece.offset + start:04x}  {part:<{BYTES_A_LINE * 3}} {label}".rstrip())
    return "\n".join(lines)
