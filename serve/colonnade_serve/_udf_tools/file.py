"""A function of a database as a file.

The first line is a comment with the function's CREATE statement up to its body, the second one a comment with the id of
what was pulled. Then comes a `def`, whose block is the body.
"""

from __future__ import annotations

import ast
import hashlib
import json
import keyword
import re
import tokenize
from dataclasses import dataclass, replace
from functools import cached_property

from .body import BodyError, Layout, split, statements, to_block, to_body, tokens
from .declaration import Declaration

#: Names that the server gives a body in addition to its parameters.
SPECIALS = ("aggr_group", "_columns", "_types", "_conn")
ID = re.compile(r"# id ([0-9a-f]{16}|new)(?: layout (\[.*\]))?")
QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
POSTGRES = re.compile(r"\bLANGUAGE plpython3u\b", re.IGNORECASE)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
#: In the first two lines of a file, Python reads this as the name of an encoding.
CODING = re.compile(r"coding(?=[:=])")


class FileError(ValueError):
    """A file that is no function, with the line that is wrong."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


@dataclass(frozen=True)
class FunctionFile:
    """A function as text: a declaration and a body."""

    #: CREATE FUNCTION or CREATE AGGREGATE up to its body.
    head: str
    body: str
    #: The id of the function that was pulled; None if it is new.
    pulled: str | None = None
    #: The lines of the file at which `def` and its block begin, from 1.
    def_line: int = 0

    @property
    def id(self) -> str:
        """64 bits of SHA-256 of declaration and body, in 16 hexadecimal digits."""
        return hashlib.sha256(f"{self.head}\0{self.body}".encode()).hexdigest()[:16]

    @cached_property
    def declaration(self) -> Declaration:
        """The parts of the first line."""
        return Declaration.read(self.head)

    @property
    def is_of_postgres(self) -> bool:
        """Whether it is one of an ordinary PostgreSQL."""
        return POSTGRES.search(QUOTED.sub("", self.head)) is not None

    @property
    def is_changed(self) -> bool:
        """Whether it differs from what was pulled."""
        return self.pulled != self.id

    def text(self) -> str:
        """The file's text. Raises `BodyError` if the body cannot be a block."""
        block, layout = to_block(self.body)
        about = f"# id {self.pulled or 'new'}"
        if layout != Layout():
            about += f" layout {json.dumps([layout.before, layout.indent, layout.after])}"
        names = [name for name in self.declaration.names if is_name(name)]
        used = mentioned(statements(self.body))
        parameters = [*names, *(name for name in SPECIALS if name in used and name not in names)]
        # PL/Python imports nothing.
        has_numpy = "numpy" in used and "numpy" not in names and not self.is_of_postgres
        imported = "import numpy\n" if has_numpy else ""
        name = self.declaration.name if is_name(self.declaration.name) else "function"
        text = f"# {escaped(self.head)}\n{about}\n{imported}def {name}({', '.join(parameters)}):\n{block}\n"
        if FunctionFile.read(text) != replace(self, def_line=3 + bool(imported)):
            raise BodyError("no file has the same bytes")
        return text

    @classmethod
    def read(cls, text: str) -> FunctionFile:
        """Read a file. Raises `FileError`."""
        lines = split(text)
        if not lines or not re.match(r"# CREATE\s", lines[0], re.IGNORECASE):
            raise FileError(1, "expected a comment with CREATE FUNCTION or CREATE AGGREGATE up to the body")
        head = unescaped(lines[0][2:].strip())
        pulled, layout = None, Layout()
        if len(lines) > 1 and lines[1].startswith("# id "):
            pulled, layout = read_id(lines[1].rstrip())
        try:
            line, block = read_def(text)
            found = cls(head, to_body(block, layout), pulled, line)
        except BodyError as error:
            raise FileError(1, str(error)) from None
        try:
            found.declaration  # noqa: B018
        except ValueError as error:
            raise FileError(1, str(error)) from None
        return found


def read_id(line: str) -> tuple[str | None, Layout]:
    found = ID.fullmatch(line)
    if found is None:
        raise FileError(2, "expected `# id` with 16 hexadecimal digits, or `# id new`")
    identity, layout = found.groups()
    identity = None if identity == "new" else identity
    if layout is None:
        return identity, Layout()
    try:
        before, indent, after = json.loads(layout)
        blank = [before, indent or "", after]
        if all(isinstance(part, str) and not part.strip(" \t\f\r\n") for part in blank):
            return identity, Layout(before, indent, after)
    except (ValueError, TypeError, RecursionError):
        pass
    raise FileError(2, "the layout is a JSON array of blanks: those before the body, of its indentation, behind it")


def read_def(text: str) -> tuple[int, str]:
    """The line of the one `def`, and the text of its block."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise FileError(error.lineno or 1, error.msg) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise FileError(1, f"Python cannot read the file: {error}") from None
    found = None
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and found is None:
            found = statement
        elif not is_import_of_numpy(statement):
            raise FileError(statement.lineno, "only one def is pushed; move this into it")
    if found is None:
        raise FileError(1, "there is no def")
    if found.decorator_list:
        raise FileError(found.decorator_list[0].lineno, "a decorator is not a part of the body")
    if found.body[0].lineno <= found.lineno or found != tree.body[-1]:
        raise FileError(found.lineno, "the block of the def stands on lines of its own, at the end of the file")
    line = end_of_head(text, found.lineno)
    return found.lineno, "".join(split(text)[line:])


def end_of_head(text: str, line: int) -> int:
    """The number of the line with the colon of a `def` that begins in `line`."""
    depth, is_after_colon = 0, False
    for token in tokens(text):
        if token.start[0] < line:
            continue
        if token.type == tokenize.NEWLINE and is_after_colon:
            return token.start[0]
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            is_after_colon = token.string == ":" and depth == 0
    raise FileError(line, "the block of the def stands on lines of its own")


def is_import_of_numpy(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import) and [(name.name, name.asname) for name in statement.names] == [
        ("numpy", None)
    ]


def is_name(name: str) -> bool:
    """Whether Python's code can use this name."""
    return name.isidentifier() and not keyword.iskeyword(name)


def mentioned(body: list[ast.stmt]) -> set[str]:
    """The names that code reads, without those that it declares global: a parameter cannot be global."""
    names, declared = set[str](), set[str]()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.Global):
                declared.update(node.names)
    return names - declared


def escaped(head: str) -> str:
    """A declaration as one line of a comment."""
    head = head.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return CODING.sub("cod\\\\ing", head)


def unescaped(line: str) -> str:
    return ESCAPED.sub(lambda match: {"n": "\n", "r": "\r"}.get(match[1], match[1]), line)
