"""The functions in Python that a database has: those of `colonnade serve`, and PostgreSQL's in plpython3u."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .declaration import from_definition
from .file import FunctionFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from colonnade._connection import Connection

FUNCTIONS = """
SELECT n.nspname AS schema, p.proname AS name, l.lanname AS language, p.prosrc AS body,
       pg_catalog.pg_get_functiondef(p.oid) AS definition
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
JOIN pg_catalog.pg_language l ON l.oid = p.prolang
WHERE l.lanname IN ('python', 'python_map', 'plpython3u') AND p.prokind <> 'p'"""


class Conflict(ValueError):
    """A function that was changed in the database since it was pulled."""


@dataclass(frozen=True)
class DatabaseFunction:
    """A function that the database has. `file.pulled` is its own id."""

    schema: str
    name: str
    language: str
    file: FunctionFile

    @property
    def id(self) -> str:
        return self.file.id

    @property
    def signature(self) -> str:
        """Schema, name and types, as they identify the function."""
        return f"{self.schema}.{self.name}({', '.join(self.file.declaration.types)})"


def functions(connection: Connection, names: Iterable[str] = ()) -> list[DatabaseFunction]:
    """The functions, ordered by signature. With names, only these: `schema.name` or `name`.

    Raises `ValueError` for a name that no function has.
    """
    found = [from_row(row) for row in connection.query(FUNCTIONS).to_arrow().to_pylist()]
    found.sort(key=lambda function: (function.schema, function.name, function.signature))
    wanted = list(names)
    for name in wanted:
        if not any(is_named(function, name) for function in found):
            raise ValueError(f"the database has no function {name} in Python; `colonnade udf list` shows those it has")
    return [function for function in found if not wanted or any(is_named(function, name) for name in wanted)]


def from_row(row: dict[str, Any]) -> DatabaseFunction:
    try:
        head = from_definition(row["definition"], row["body"])
    except ValueError as error:
        raise ValueError(f"function {row['schema']}.{row['name']}: {error}") from None
    file = FunctionFile(head, row["body"])
    return DatabaseFunction(row["schema"], row["name"], row["language"], replace(file, pulled=file.id))


def is_named(function: DatabaseFunction, name: str) -> bool:
    return name in (function.name, f"{function.schema}.{function.name}", function.signature)


def statement(file: FunctionFile, *, is_replaced: bool) -> str:
    """The CREATE statement of a file."""
    word = "CREATE OR REPLACE" if is_replaced else "CREATE"
    number = 0
    while f"$body{number}" in file.body:
        number += 1
    quote = f"$body{number}$"
    return f"{word} {file.declaration.rest} AS {quote}{file.body}{quote}"


def push(connection: Connection, files: list[FunctionFile], *, force: bool) -> list[FunctionFile]:
    """Create or replace the functions of files in one transaction. Returns what the database then has.

    A function that was changed or dropped since it was pulled is a `Conflict`, and nothing is pushed; `force` replaces
    it.
    """
    connection.execute("BEGIN")
    try:
        pushed = push_all(connection, files, force=force) if files else []
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return pushed


def push_all(connection: Connection, files: list[FunctionFile], *, force: bool) -> list[FunctionFile]:
    """Create or replace the functions of files. Returns those that the database then has."""
    # The catalog says what a name has become: types are written in other ways there. Listing takes the longest, so it
    # is done once for all names that a single file has.
    counts = Counter(file.declaration.name.lower() for file in files)
    first = before = functions(connection)
    made: list[FunctionFile | None] = []
    for file in files:
        connection.execute(statement(file, is_replaced=must_replace(file, before, force=force)))
        if counts[file.declaration.name.lower()] == 1:
            made.append(None)
            continue
        after = functions(connection)
        made.append(made_by(file, before, after))
        before = after
    after = functions(connection)
    pairs = zip(files, made, strict=True)
    return [known if known is not None else made_by(file, first, after) for file, known in pairs]


def made_by(file: FunctionFile, before: list[DatabaseFunction], after: list[DatabaseFunction]) -> FunctionFile:
    """The function that the statement of a file has made, which was the only one with this name between both lists."""
    name = file.declaration.name.lower()
    then, now = ([function for function in one if function.name.lower() == name] for one in (before, after))
    added = Counter(function.id for function in now) - Counter(function.id for function in then)
    made = [function.file for function in now if function.id in added]
    if not made:
        # The function is what it was.
        made = [function.file for function in now if function.id in (file.id, file.pulled)]
    if len(made) != 1:
        raise ValueError(f"function {file.declaration.signature} is not in the catalog after it was created")
    return made[0]


def must_replace(file: FunctionFile, existing: list[DatabaseFunction], *, force: bool) -> bool:
    """Whether a file's function is replaced; otherwise it is created, and must not exist."""
    if force:
        return True
    if file.pulled is None:
        return False
    if not any(function.id == file.pulled for function in existing):
        raise Conflict(
            f"function {file.declaration.signature} was changed or dropped in the database since it was pulled; "
            "`colonnade udf diff` shows the difference, --force replaces it"
        )
    return True
