"""The folder of a project's functions: `udf/SCHEMA/NAME.py`, one function in a file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .body import BodyError
from .catalog import DatabaseFunction
from .file import FileError, FunctionFile

if TYPE_CHECKING:
    from collections.abc import Iterable

#: What a file's name has of a function's name. The rest is written as %XX, so that no name leaves the folder.
PLAIN = re.compile(r"[A-Za-z0-9_-]")


@dataclass(frozen=True)
class LocalFunction:
    """A file of the folder."""

    path: Path
    #: From the path, as the database has them.
    schema: str
    name: str
    #: None if the file cannot be read.
    file: FunctionFile | None
    error: FileError | None = None

    @property
    def function(self) -> FunctionFile:
        """The function. Raises `FileError` with the file's name."""
        if self.file is None:
            assert self.error is not None
            raise ValueError(f"{self.path}: {self.error}")
        return self.file

    @property
    def types(self) -> tuple[str, ...] | None:
        return None if self.file is None else self.file.declaration.types


def read(folder: Path) -> list[LocalFunction]:
    """The files of a folder, ordered by path."""
    return [read_file(path) for path in sorted(folder.glob("*/*.py"))]


def read_file(path: Path) -> LocalFunction:
    """A file of a folder."""
    schema, name = decoded(path.parent.name), decoded(path.stem.partition(".")[0])
    try:
        return LocalFunction(path, schema, name, FunctionFile.read(text_of(path)))
    except FileError as error:
        return LocalFunction(path, schema, name, None, error)


def text_of(path: Path) -> str:
    """A file's text, with the ends of lines that it has."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        raise FileError(1, "the file is not UTF-8") from None


def chosen(local: list[LocalFunction], names: Iterable[str], folder: Path) -> list[LocalFunction]:
    """The files with these names: a path, `schema.name` or `name`; all without names."""
    wanted = list(names)
    found: list[LocalFunction] = []
    for name in wanted:
        match = [
            one
            for one in local
            if name in (one.name, f"{one.schema}.{one.name}") or Path(name).resolve() == one.path.resolve()
        ]
        if not match:
            raise ValueError(f"{folder} has no file of a function {name}; `colonnade udf pull` writes it")
        found += [one for one in match if one not in found]
    return found if wanted else local


def partner(function: DatabaseFunction, local: list[LocalFunction]) -> LocalFunction | None:
    """The file of a function: the one with its signature, or the one that was pulled from it."""
    same = [one for one in local if (one.schema, one.name) == (function.schema, function.name)]
    for one in same:
        if one.types == function.file.declaration.types:
            return one
    return next((one for one in same if one.file is not None and one.file.pulled == function.id), None)


def path_for(function: DatabaseFunction, folder: Path, taken: set[Path]) -> Path:
    """The path of a function that has no file. Overloads are numbered from 2."""
    number = 1
    while True:
        suffix = "" if number == 1 else f".{number}"
        path = folder / encoded(function.schema) / f"{encoded(function.name)}{suffix}.py"
        if path not in taken:
            return path
        number += 1


def write(path: Path, file: FunctionFile) -> bool:
    """Write a file, at once or not at all. Returns whether it has changed."""
    try:
        data = file.text().encode()
    except BodyError as error:
        raise ValueError(f"function {file.declaration.signature} cannot be a file: {error}") from None
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.write_bytes(data)
    new.replace(path)
    return True


def encoded(name: str) -> str:
    """A name as a part of a path."""
    return "".join(
        letter if PLAIN.fullmatch(letter) else "".join(f"%{byte:02X}" for byte in letter.encode()) for letter in name
    )


def decoded(part: str) -> str:
    text = re.sub(rb"%([0-9A-F]{2})", lambda match: bytes([int(match[1], 16)]), part.encode("utf-8", "surrogateescape"))
    return text.decode("utf-8", "replace")
