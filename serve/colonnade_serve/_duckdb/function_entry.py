"""A function in Python as the database keeps it.

The name is a macro of DuckDB, whose comment has the definitions: one for each overload, signed with the server's key.
So they begin and end with the macro, in the transaction that creates or drops it. `catalog.sql` reads the same
comments.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from colonnade._sources.duckdb_types.exact import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

Kind = Literal["scalar", "aggregate", "table"]
Language = Literal["python", "python_map"]
#: IMMUTABLE, STABLE, VOLATILE.
Volatility = Literal["i", "s", "v"]
#: PARALLEL SAFE, RESTRICTED, UNSAFE.
ParallelSafety = Literal["s", "r", "u"]
#: PARAMETER STYLE: whether arguments are arrays of NumPy or of pyarrow.
Style = Literal["numpy", "arrow"]

#: The type of `*`: of parameters that take any arguments, and of a result that has any columns. Their name is `*` too.
ANY = "ANY"

#: The beginning of the comment of a macro that is a function in Python.
PREFIX = '{"colonnade_functions":'


@dataclass(frozen=True)
class Name:
    """The name of a macro, with DuckDB's name of the schema."""

    database: str
    schema: str
    name: str

    @property
    def sql(self) -> str:
        return f"{quoted(self.database)}.{quoted(self.schema)}.{quoted(self.name)}"


@dataclass(frozen=True)
class Parameter:
    """A parameter. The type is DuckDB's name of it; the default is a constant in SQL."""

    name: str
    type: str
    default: str | None = None
    #: Whether it is one value for the whole query.
    scalar: bool = False


@dataclass(frozen=True)
class Definition:
    """A function. It never changes: another definition has another id."""

    schema: str
    name: str
    kind: Kind
    language: Language
    parameters: tuple[Parameter, ...]
    #: The columns of the result: name and type. A scalar function or an aggregate has one, without a name.
    results: tuple[tuple[str, str], ...]
    volatility: Volatility
    strict: bool
    parallel: ParallelSafety
    source: str
    style: Style = "numpy"

    def fields(self) -> dict[str, Any]:
        """The fields. A style that is not declared is left out, so that definitions without one keep their ids."""
        found = asdict(self)
        if self.style == "numpy":
            del found["style"]
        return found

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(parameter.type for parameter in self.parameters)

    @property
    def is_variadic(self) -> bool:
        """Whether it takes any arguments."""
        return any(parameter.type == ANY for parameter in self.parameters)

    @property
    def takes_columns(self) -> bool:
        """Whether it gets whole columns and gives one."""
        return self.kind == "scalar" and self.language == "python"

    @property
    def has_any_columns(self) -> bool:
        """Whether the columns of its result depend on the rows."""
        return any(type_ == ANY for _, type_ in self.results)

    @cached_property
    def id(self) -> str:
        """64 bits of SHA-256 of the definition, in 16 hexadecimal digits."""
        return hashlib.sha256(canonical(self.fields())).hexdigest()[:16]

    @property
    def signature(self) -> str:
        types = ("*" if type_ == ANY else type_ for type_ in self.types)
        return f"{self.name}({', '.join(types)})"


@dataclass(frozen=True)
class Entry:
    """A definition in the database: who made it and when, and the signature of all this."""

    definition: Definition
    created_by: str
    #: In ISO 8601, UTC.
    created_at: str
    mac: str = ""

    def signed(self, key: bytes) -> Entry:
        return replace(self, mac=self._mac(key))

    def is_trusted(self, key: bytes) -> bool:
        # As bytes: of texts, it compares ASCII only.
        return hmac.compare_digest(self.mac.encode(), self._mac(key).encode())

    def _mac(self, key: bytes) -> str:
        unsigned = asdict(replace(self, mac="")) | {"definition": self.definition.fields()}
        return hmac.new(key, canonical(unsigned), hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class Macro:
    """The functions of one name."""

    entries: tuple[Entry, ...]
    #: The comment of a user.
    comment: str | None = None
    #: DuckDB's number of the macro; None before it exists.
    oid: int | None = field(default=None, compare=False)

    @property
    def is_table(self) -> bool:
        return self.entries[0].definition.kind == "table"

    @cached_property
    def digest(self) -> str:
        """What tells these functions from others: 128 bits in hexadecimal. Signing them does not change it."""
        return hashlib.sha256(canonical([entry.definition.id for entry in self.entries])).hexdigest()[:32]

    def to_comment(self) -> str:
        """The macro's comment."""
        functions = []
        for entry in self.entries:
            found = entry.definition.fields()
            del found["schema"], found["name"]
            about = {"created_by": entry.created_by, "created_at": entry.created_at, "mac": entry.mac}
            functions.append({"id": entry.definition.id} | found | about)
        # The order of the keys matters: `PREFIX` comes first.
        return json.dumps(
            {"colonnade_functions": functions, "comment": self.comment}, ensure_ascii=False, separators=(",", ":")
        )

    @classmethod
    def from_comment(cls, schema: str, name: str, comment: str | None, oid: int | None = None) -> Macro | None:
        """The functions of a macro; None if its comment is none that this module writes."""
        if comment is None or not comment.startswith(PREFIX):
            return None
        try:
            found = json.loads(comment)
            entries = tuple(read_entry(schema, name, function) for function in found["colonnade_functions"])
            text = found["comment"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        if not (text is None or is_text(text)):
            return None
        # The functions of one name are of one kind, by which they are loaded and called.
        if len({(entry.definition.kind, entry.definition.takes_columns) for entry in entries}) != 1:
            return None
        return cls(entries, text, oid)


def read_entry(schema: str, name: str, found: Any) -> Entry:
    """An entry of a comment. ValueError, KeyError or TypeError if it is not valid; users can write anything."""
    if not isinstance(found, dict):
        raise TypeError
    about = {key: found.pop(key) for key in ("created_by", "created_at", "mac")}
    identity = found.pop("id")
    parameters = tuple(Parameter(**parameter) for parameter in found.pop("parameters"))
    results = tuple((column, type_) for column, type_ in found.pop("results"))
    definition = Definition(schema, name, parameters=parameters, results=results, **found)
    if not is_valid(definition) or not all(map(is_text, about.values())):
        raise ValueError
    if identity != definition.id:
        raise ValueError
    return Entry(definition, **about)


def is_valid(definition: Definition) -> bool:
    """Whether all fields have their types."""
    texts: list[object] = [definition.source, *(text for column in definition.results for text in column)]
    flags: list[object] = [definition.strict]
    for parameter in definition.parameters:
        texts += [parameter.name, parameter.type, parameter.default or ""]
        flags.append(parameter.scalar)
    choices = (
        (definition.kind, Kind),
        (definition.language, Language),
        (definition.volatility, Volatility),
        (definition.parallel, ParallelSafety),
        (definition.style, Style),
    )
    return (
        all(map(is_text, texts))
        and all(isinstance(flag, bool) for flag in flags)
        and all(value in get_args(type_) for value, type_ in choices)
        and (definition.kind == "table" or len(definition.results) == 1)
    )


def is_text(value: object) -> bool:
    """Whether a value of JSON is a text that has UTF-8. Half of a surrogate pair has none."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def canonical(value: object) -> bytes:
    """One form for each value, to hash."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()


def macros(connection: DuckDBPyConnection) -> Iterator[Macro]:
    """The functions in Python of the connection's database."""
    query = (
        "SELECT DISTINCT schema_name, function_name, comment, function_oid FROM system.main.duckdb_functions() "
        "WHERE database_name = system.main.current_database() AND system.main.starts_with(comment, $1) ORDER BY ALL"
    )
    for row in connection.execute(query, [PREFIX]).fetchall():
        macro = Macro.from_comment(*row)
        if macro is not None:
            yield macro
