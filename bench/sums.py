"""Compares a result with its source by some sums of each column, which are the same for every database and library.

Databases and libraries return one value in different types: a decimal as a float or as text, a date as text, a boolean
as a number. So each column is first converted to its type in the source and then summed. Sums of numbers are floats.
Their last digits depend on the order of the rows, so they are compared with a tolerance. These are compared exactly:
the number of values that are not NULL, dates and times in microseconds, and texts, each by a number from its MD5.
Values that were exchanged within a column are not detected.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

#: Values that are not NULL, their sum, and the sum of their absolute values.
Sum = tuple[int, float, float]
#: SQL that converts a value of each kind to a number; all except the first are integers.
VALUES = {
    "number": "CAST({} AS DOUBLE)",
    "time": "epoch_us(CAST({} AS TIMESTAMP))",
    "truth": "CAST(CAST({} AS BOOLEAN) AS INTEGER)",
    "text": "md5_number_lower(CAST({} AS VARCHAR)) % 1000003",
}
#: Relative to the sum of the absolute values.
TOLERANCE = 1e-9


def kind(type_: str) -> str:
    """The kind of one of DuckDB's types."""
    if type_ == "BOOLEAN":
        return "truth"
    if type_.startswith(("DATE", "TIMESTAMP")):
        return "time"
    is_number = type_.endswith("INT") or type_.startswith(("INTEGER", "DECIMAL", "FLOAT", "DOUBLE"))
    return "number" if is_number else "text"


def of(connection: duckdb.DuckDBPyConnection, relation: str, kinds: Sequence[str]) -> list[Sum]:
    """The sums of a relation whose columns are named c0, c1 and so on."""
    parts = []
    for number, one in enumerate(kinds):
        value = VALUES[one].format(f"c{number}")
        parts += [f"count(c{number})", f"coalesce(sum({value}), 0)", f"coalesce(sum(abs({value})), 0)"]
    connection.execute("SET TimeZone = 'UTC'")
    [row] = connection.execute(f"SELECT {', '.join(parts)} FROM {relation}").fetchall()
    return [(row[k], row[k + 1], row[k + 2]) for k in range(0, len(row), 3)]


def difference(found: Sequence[Sequence[float]], expected: Sequence[Sum]) -> str | None:
    """The first difference, as text."""
    if len(found) != len(expected):
        return f"{len(found)} columns, not {len(expected)}"
    for number, (one, other) in enumerate(zip(found, expected, strict=True), 1):
        if one[0] != other[0]:
            return f"{one[0]} values in column {number}, not {other[0]}"
        exact = isinstance(other[1], int)
        if abs(one[1] - other[1]) > (0 if exact else TOLERANCE * other[2]):
            return f"column {number} sums up to {one[1]}, not {other[1]}"
    return None
