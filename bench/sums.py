"""What a result is compared with its source by: a few sums of each column, the same in every database and library.

Databases and libraries give one value in different types: a decimal as a float or as text, a date as text, a truth as
a number. So each column is first made what the source's type says, and then summed up. Sums of numbers are floats,
which depend on the order of the rows in their last digits, and are compared with a tolerance; counts of what is not
NULL, dates and times in microseconds, and texts, each by a number made of its MD5, are compared exactly. What this
cannot see is values that have changed places within their column.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

#: Values that are not NULL, their sum, and the sum of their magnitudes.
Sum = tuple[int, float, float]
#: A kind's value as a number; all but the first are whole.
VALUES = {
    "number": "CAST({} AS DOUBLE)",
    "time": "epoch_us(CAST({} AS TIMESTAMP))",
    "truth": "CAST(CAST({} AS BOOLEAN) AS INTEGER)",
    "text": "md5_number_lower(CAST({} AS VARCHAR)) % 1000003",
}
#: Of the sum of the magnitudes.
TOLERANCE = 1e-9


def kind(type_: str) -> str:
    """That of one of DuckDB's types."""
    if type_ == "BOOLEAN":
        return "truth"
    if type_.startswith(("DATE", "TIMESTAMP")):
        return "time"
    is_number = type_.endswith("INT") or type_.startswith(("INTEGER", "DECIMAL", "FLOAT", "DOUBLE"))
    return "number" if is_number else "text"


def of(connection: duckdb.DuckDBPyConnection, relation: str, kinds: Sequence[str]) -> list[Sum]:
    """The sums of a relation whose columns are called c0, c1 and so on."""
    parts = []
    for number, one in enumerate(kinds):
        value = VALUES[one].format(f"c{number}")
        parts += [f"count(c{number})", f"coalesce(sum({value}), 0)", f"coalesce(sum(abs({value})), 0)"]
    connection.execute("SET TimeZone = 'UTC'")
    [row] = connection.execute(f"SELECT {', '.join(parts)} FROM {relation}").fetchall()
    return [(row[k], row[k + 1], row[k + 2]) for k in range(0, len(row), 3)]


def difference(found: Sequence[Sequence[float]], expected: Sequence[Sum]) -> str | None:
    """Where the first two differ, in words."""
    if len(found) != len(expected):
        return f"{len(found)} columns, not {len(expected)}"
    for number, (one, other) in enumerate(zip(found, expected, strict=True), 1):
        if one[0] != other[0]:
            return f"{one[0]} values in column {number}, not {other[0]}"
        exact = isinstance(other[1], int)
        if abs(one[1] - other[1]) > (0 if exact else TOLERANCE * other[2]):
            return f"column {number} sums up to {one[1]}, not {other[1]}"
    return None
