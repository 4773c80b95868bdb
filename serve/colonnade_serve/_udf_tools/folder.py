"""The folder of a project's functions: `udf/SCHEMA/NAME.py`, one function in a file."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade._files import new_file, refuse_links

from .body import BodyError
from .catalog import DatabaseFunction
from .file import FileError, FunctionFile

if TYPE_CHECKING:
    from collections.abc import Iterable

#: What a file's name has of a function's name. The rest is written as %XX, so that no name leaves the folder.
PLAIN = re.compile(r"[A-Za-z0-9_-]")
#: The most bytes of an encoded name: two of them, and what follows a function's name in names of other files, are a
#: name of 255 bytes at most, the limit of file systems.
MAX_ENCODED = 100
#: Between the beginning of a longer name and its hash. No encoded name has it.
CUT = "~"


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
    parts = path.parent.name.partition(".")[0], path.stem.partition(".")[0]
    schema, name = map(decoded, parts)
    try:
        file = FunctionFile.read(text_of(path))
    except FileError as error:
        return LocalFunction(path, schema, name, None, error)
    # Names that are too long for a path are only in the file.
    full = file.declaration.schema or schema, file.declaration.name
    schema, name = (
        long if encoded(long) == part else short for long, part, short in zip(full, parts, (schema, name), strict=True)
    )
    return LocalFunction(path, schema, name, file)


def text_of(path: Path) -> str:
    """A file's text, with the ends of lines that it has."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        raise FileError(1, "the file is not UTF-8") from None
    except OSError as error:
        raise FileError(1, f"the file cannot be read: {error.strerror}") from None


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
    """The path of a function that has no file. Overloads are numbered from 2, and so are names that differ only in
    their case, which some file systems do not distinguish."""
    schema, name = encoded(function.schema), encoded(function.name)
    others = {path.parent.name for path in taken if path.parent.name.partition(".")[0] != schema}
    folder /= numbered(schema, "", others)
    return folder / numbered(name, ".py", {path.name for path in taken if path.parent == folder})


def numbered(name: str, ending: str, taken: set[str]) -> str:
    """The first of `NAME.py`, `NAME.2.py`, … that is not taken in any case."""
    found, number, folded = f"{name}{ending}", 1, {one.casefold() for one in taken}
    while found.casefold() in folded:
        number += 1
        found = f"{name}.{number}{ending}"
    return found


def write(path: Path, file: FunctionFile, below: Path) -> bool:
    """Write a file below a directory, at once or not at all, and through no link. Returns whether it has changed."""
    try:
        data = file.text().encode()
    except BodyError as error:
        raise ValueError(f"function {file.declaration.signature} cannot be a file: {error}") from None
    refuse_links(path, below)
    if path.is_file() and path.read_bytes() == data:
        return False
    with new_file(path, below=below) as new:
        new.write_bytes(data)
    return True


def encoded(name: str) -> str:
    """A name as a part of a path. A longer one is cut, and has its hash."""
    found = "".join(
        letter if PLAIN.fullmatch(letter) else "".join(f"%{byte:02X}" for byte in letter.encode()) for letter in name
    )
    if len(found) <= MAX_ENCODED:
        return found
    end = CUT + hashlib.sha256(name.encode()).hexdigest()[:16]
    return re.sub("%.?$", "", found[: MAX_ENCODED - len(end)]) + end


def decoded(part: str) -> str:
    text = re.sub(rb"%([0-9A-F]{2})", lambda match: bytes([int(match[1], 16)]), part.encode("utf-8", "surrogateescape"))
    return text.decode("utf-8", "replace")
