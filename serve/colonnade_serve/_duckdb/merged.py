"""MERGE as the statements of its parts. DuckDB serializes the tree of these, but not that of a MERGE."""

from __future__ import annotations

from typing import NamedTuple

from colonnade_serve._core import Fence

CLOSERS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


class Piece(NamedTuple):
    """A part of the written statement, in bytes, or a text between such parts."""

    start: int
    end: int
    text: bytes = b""


class Token(NamedTuple):
    start: int
    end: int
    word: str
    #: How many brackets are open around it.
    depth: int


def parts(sql: str) -> list[list[Piece]]:
    """The statements of a MERGE, each from pieces of it. Empty for any other statement."""
    tokens = _tokens(sql)
    at = next((at for at, token in enumerate(tokens) if token.word == "merge" and token.depth == 0), len(tokens))
    if at + 1 >= len(tokens) or tokens[at + 1].word != "into" or (at > 0 and tokens[0].word != "with"):
        return []
    words = [token.word if token.depth == 0 else "" for token in tokens]
    if "using" not in words or "when" not in words:
        return []
    using, whens = words.index("using"), [position for position, word in enumerate(words) if word == "when"]
    on = next((position for position in range(using, whens[0]) if words[position] == "on"), None)
    end = next((position for position, word in enumerate(words) if word == "returning"), len(tokens))
    before = _piece(tokens, 0, at)
    target, source = _piece(tokens, at + 2, using), _piece(tokens, using + 1, on or whens[0])
    # The name without an alias, which an INSERT does not have before its columns.
    name_end = next(
        (position for position in range(at + 3, using) if words[position - 1] != "." != words[position]), using
    )
    name = _piece(tokens, at + 2, name_end)
    condition = _piece(tokens, on + 1, whens[0]) if on is not None else Piece(0, 0, b"true")
    found = [[before, _text("SELECT 1 FROM "), target, _text(" JOIN "), source, _text(" ON "), condition]]
    for start, stop in zip(whens, [*whens[1:], end], strict=True):
        then = next((position for position in range(start, stop) if words[position] == "then"), stop)
        also = next((position for position in range(start, then) if words[position] == "and"), None)
        where = [_text(" WHERE "), _piece(tokens, also + 1, then)] if also is not None else []
        action = words[then + 1 : stop]
        if action[:2] == ["update", "set"]:
            sets = _piece(tokens, then + 3, stop)
            found.append([before, _text("UPDATE "), target, _text(" SET "), sets, _text(" FROM "), source, *where])
        elif action[:1] == ["insert"] and "values" in action:
            values = then + 1 + action.index("values")
            columns, items = _piece(tokens, then + 2, values), _piece(tokens, values + 2, stop - 1)
            rows = [_text(" SELECT "), items, _text(" FROM "), source, *where]
            found.append([before, _text("INSERT INTO "), name, _text(" "), columns, *rows])
        elif where:
            found.append([before, _text("SELECT 1 FROM "), target, _text(", "), source, *where])
    return found


def joined(sql: bytes, pieces: list[Piece]) -> bytes:
    return b"".join(piece.text or sql[piece.start : piece.end] for piece in pieces)


def written_at(pieces: list[Piece], place: int) -> int | None:
    """The place in the MERGE of a place in the joined pieces."""
    for piece in pieces:
        length = len(piece.text) or piece.end - piece.start
        if place < length:
            return None if piece.text else piece.start + place
        place -= length
    return None


def _tokens(sql: str) -> list[Token]:
    found: list[Token] = []
    depth = 0
    for start, text in Fence.tokens(sql):
        if text.isspace() or text.startswith(("--", "/*")):
            continue
        change = CLOSERS.get(text, 0)
        depth += min(change, 0)
        found.append(Token(start, start + len(text.encode()), text.lower(), depth))
        depth += max(change, 0)
    return found


def _piece(tokens: list[Token], first: int, behind: int) -> Piece:
    if first >= behind:
        return _text(" ")
    return Piece(tokens[first].start, tokens[behind - 1].end)


def _text(text: str) -> Piece:
    return Piece(0, 0, text.encode())
