"""spec/TYPES.md's table, and values in the form in which tests compare them."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

TABLE = Path(__file__).parents[2] / "spec" / "TYPES.md"
HEADER = ["source", "database type", "wire type", "Arrow type", "notes"]
FIXED_INTEGERS = {"date32": pa.int32(), "time64": pa.int64(), "timestamp": pa.int64()}


@dataclass(frozen=True)
class Row:
    source: str
    database: str
    wire: str
    arrow: str
    notes: str

    @property
    def how(self) -> str:
        """exact, text or refused."""
        return re.match(r"[a-z]+", self.notes).group()


def rows() -> list[Row]:
    return [Row(*row) for row in table(HEADER)]


def table(header: list[str]) -> list[list[str]]:
    """The rows of the table with these column titles."""
    lines = TABLE.read_text("utf-8").splitlines()
    begin = lines.index(f"| {' | '.join(header)} |")
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in itertools.takewhile(lambda line: line.startswith("|"), lines[begin:])
    ]
    assert set(cells[1]) == {"---"}
    return cells[2:]


def of(source: str) -> list[Row]:
    return [row for row in rows() if row.source == source]


def shown(arrow_type: pa.DataType) -> str:
    """Arrow's name of a type as the table writes it: without the names of list items, which mean nothing."""
    text = re.sub(r"list<[^:<>]*: ", "list<", str(arrow_type))
    return re.sub(r"map<(\w+), (\w+)( \([^)]*\))?>", r"map<\1, \2>", text).replace(" not null", "")


def python_values(column: pa.ChunkedArray, wire: str) -> list:
    array = column.combine_chunks()
    base = wire.split("(")[0]
    if base in FIXED_INTEGERS:  # Python's datetime has neither infinity nor nanoseconds
        return array.view(FIXED_INTEGERS[base]).to_pylist()
    if base == "interval_month_day_nano":
        return [[*value] for value in array.to_pylist()]
    if base.startswith(("float", "decimal")):
        return [str(value) for value in array.to_pylist()]
    return array.to_pylist()
