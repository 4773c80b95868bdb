"""A function's body as the block of a `def`, and back, byte for byte.

The block is indented by four blanks. What cannot be seen in the block is its `Layout`: the blank lines before it, the
indentation that the body has in the database, and the blanks after it. Lines that begin within a string are never
changed, because their indentation is a part of the string.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from typing import Any

INDENT = "    "
#: What Python takes for blanks and ends of lines. `str.splitlines` knows more ends than Python's tokenizer.
BLANKS = " \t\f\r\n"
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
LINE_END = re.compile(r"\r\n|\r")
#: The tokens of f-strings and t-strings, which are tokens of their own since Python 3.12 and 3.14.
OPENING = {getattr(tokenize, name, -1) for name in ("FSTRING_START", "TSTRING_START")} - {-1}
CLOSING = {getattr(tokenize, name, -1) for name in ("FSTRING_END", "TSTRING_END")} - {-1}


class BodyError(ValueError):
    """A body that cannot be a block, or a block that cannot be a body."""


@dataclass(frozen=True)
class Layout:
    """What a body has in the database, and a block has not."""

    #: Blank lines before the first line.
    before: str = "\n"
    #: The indentation of its first statement. None: the block is the body, unchanged.
    indent: str | None = INDENT
    #: Blanks behind the last line.
    after: str = "\n"


def to_block(body: str) -> tuple[str, Layout]:
    """The block of a body, and its layout.

    Raises `BodyError` if this Python cannot read the body, or if no block has the same statements.
    """
    wanted = dump(body)
    lines = split(body)
    first = next((at for at, line in enumerate(lines) if line.strip(BLANKS)), len(lines))
    before = "".join(lines[:first])
    core = body[len(before) :].rstrip(BLANKS)
    after = body[len(before) + len(core) :]
    indent = indentation(core)
    for layout in (Layout(before, indent, after), Layout(before, None, after)):
        block = core if layout.indent is None else reindented(core, indent, INDENT, inside(core))
        try:
            if to_body(block, layout) == body and dump(block) == wanted and indentation(block):
                return block, layout
        except BodyError:
            continue
    raise BodyError("its indentation cannot be that of a block: it has a form feed, or mixes tabs and blanks")


def to_body(block: str, layout: Layout) -> str:
    """The body of a block. Raises `BodyError` if this Python cannot read the block."""
    core = block.rstrip(BLANKS)
    if layout.indent is not None:
        core = reindented(core, INDENT, layout.indent, inside(core))
    return layout.before + core + layout.after


def split(text: str) -> list[str]:
    """The lines with their ends, as Python's tokenizer counts them."""
    return LINE.findall(text)


def indentation(core: str) -> str:
    """The indentation of the first line with code."""
    for line in split(core):
        code = line.strip(BLANKS)
        if code and not code.startswith("#"):
            return leading(line)[1]
    raise BodyError("it has no statement")


def leading(line: str) -> tuple[str, str, str]:
    """What precedes a line's indentation (Python counts anew after a form feed), the indentation, and the rest."""
    blanks = line[: len(line) - len(line.lstrip(" \t\f"))]
    start = blanks.rfind("\f") + 1
    return blanks[:start], blanks[start:], line[len(blanks) :]


def reindented(core: str, old: str, new: str, fixed: set[int]) -> str:
    """The lines with another indentation, except those that are fixed, blank, or indented less."""
    found = []
    for number, line in enumerate(split(core), 1):
        head, indent, rest = leading(line)
        if number not in fixed and rest.strip(BLANKS) and indent.startswith(old):
            line = head + new + indent[len(old) :] + rest
        found.append(line)
    return "".join(found)


def inside(text: str) -> set[int]:
    """The numbers, from 1, of the lines that begin within a string."""
    found: set[int] = set()
    opened: list[int] = []
    for token in tokens(text):
        (first, _), (last, _) = token.start, token.end
        if token.type == tokenize.STRING:
            found.update(range(first + 1, last + 1))
        elif token.type in OPENING:
            opened.append(first)
        elif token.type in CLOSING and opened:
            found.update(range(opened.pop() + 1, last + 1))
    return found


def tokens(text: str) -> list[tokenize.TokenInfo]:
    """The tokens of a text. Raises `BodyError` if this Python cannot read it."""
    read = io.StringIO(LINE_END.sub("\n", text) + "\n").readline
    try:
        return list(tokenize.generate_tokens(read))
    except (tokenize.TokenError, SyntaxError) as error:
        raise BodyError(f"this Python cannot read it: {error}") from None


def statements(text: str) -> list[ast.stmt]:
    """The statements of a body, which may be indented as a whole. Raises `BodyError` if it is not valid."""
    shift = "if 1:\n" if indentation(text) else ""
    try:
        found: list[Any] = ast.parse(shift + text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BodyError(f"this Python cannot read it: {error}") from None
    if shift and (len(found) != 1 or found[0].orelse):
        raise BodyError("its indentation ends before its last line")
    return found[0].body if shift else found


def dump(text: str) -> list[str]:
    """The statements as texts that are equal if and only if the statements are."""
    try:
        return [ast.dump(statement) for statement in statements(text)]
    except RecursionError as error:
        raise BodyError(f"this Python cannot read it: {error}") from None
