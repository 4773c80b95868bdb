"""The width of a result, which is limited before the server works on its columns. `bench/limits.py` measures what they
take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._sources.duckdb_types.exact import EXACT_TYPES

from colonnade_serve._core import Refused

from .batch_rows import children

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb.sqltypes import DuckDBPyType

NESTED = frozenset(("list", "array", "map", "struct", "tuple", "union"))
#: Levels of nested types, which programs read by recursion.
MAX_LEVELS = 250
#: Columns, and fields of nested types, whose values a query of the server's converts. DuckDB plans this query in
#: quadratic time if the columns have equal names.
MAX_CONVERTED = 1664
#: Characters of all names. A column of a subquery may have a name of megabytes, and may be selected often.
MAX_NAMES = 64 << 20

FEWER = "Select fewer columns, or read them by COPY (…) TO STDOUT (FORMAT colonnade), as colonnade.read_sql does."
LESS = "Select less, or ask the operator for a higher --max-columns."
CAST = "Select fewer of INTERVAL, BIT, TIMETZ, UHUGEINT and BIGNUM, or cast them to VARCHAR, under different names."


def check_width(names: Sequence[str], types: Sequence[DuckDBPyType], columns: int, most: int) -> None:
    """Refuse a result of more columns than its form has (`columns`), or of more columns or fields than `most`."""
    if len(types) > min(columns, most):
        refuse(f"target lists can have at most {min(columns, most)} entries", FEWER if columns < most else LESS)
    if sum(map(len, names)) > MAX_NAMES:
        raise Refused(f"the names of a result's columns can have at most {MAX_NAMES} characters", "54000", None)
    fields, level = 0, [type_ for type_ in types if type_.id in NESTED]
    for _ in range(MAX_LEVELS):
        if not level:
            return
        below: list[DuckDBPyType] = []
        for type_ in level:
            below += children(type_)
            if fields + len(below) > most:
                refuse(f"the types of a result can have at most {most} fields", LESS)
        fields, level = fields + len(below), [type_ for type_ in below if type_.id in NESTED]
    raise Refused(f"the types of a result can have at most {MAX_LEVELS} levels", "54001", None)


def check_converted(names: Sequence[str], types: Sequence[DuckDBPyType]) -> None:
    """Refuse a result of which too many columns must be converted. `check_width` comes before."""
    converted, level = 0, list(types)
    while level:
        converted += sum(type_.id not in EXACT_TYPES and type_.id not in NESTED for type_ in level)
        level = [child for type_ in level if type_.id in NESTED for child in children(type_)]
    repeated = len(names) - len(set(map(str.lower, names)))
    if converted and max(converted, repeated) > MAX_CONVERTED:
        refuse(f"at most {MAX_CONVERTED} columns of a result can be converted, or have equal names beside one", CAST)


def refuse(message: str, hint: str) -> None:
    raise Refused(message, "54011", None, None, hint)
