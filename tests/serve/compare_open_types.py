"""Compares `colonnade serve` with PostgreSQL: the types of parameters, the types of columns, and the results.

    python -m tests.serve.compare_open_types [--count 20000] [--seed 2]

It starts both servers, and ends with an error if a statement differs. `make test-open-types` runs it.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import pq

from tests.serve.open_statements import SETUP, VALUES, OpenStatement, statements
from tests.testbed import postgres
from tests.testbed.serving import serve

#: The types as which DuckDB's results have another number, with the same values (docs/reference/clients.md).
NUMBERS = {20, 21, 23, 700, 701, 1700}
TEXT = 25
#: Of a parameter whose places need different types.
AMBIGUOUS = "42P08"
#: Another text may follow, but no digits alone, which would be those of a fraction.
WHOLE = re.compile(rb"^(-?\d+)\.0(?!\d+$)")


@dataclass(frozen=True)
class Prepared:
    """What a server says of a statement before it runs."""

    error: str = ""
    parameters: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()


class Side:
    """A session of one of the servers."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._pg = connection.pgconn
        connection.execute(SETUP)

    def prepare(self, sql: str) -> Prepared:
        result = self._pg.prepare(b"", sql.encode())
        if result.status != pq.ExecStatus.COMMAND_OK:
            return Prepared(error=_code(result))
        result = self._pg.describe_prepared(b"")
        parameters = tuple(result.param_type(at) for at in range(result.nparams))
        return Prepared("", parameters, tuple(result.ftype(at) for at in range(result.nfields)))

    def run(self, statement: OpenStatement, values: list[str]) -> object:
        """The rows, or the error. What it changes is undone."""
        self._connection.execute("BEGIN")
        try:
            result = self._pg.exec_params(statement.sql.encode(), [value.encode() for value in values])
            if result.status not in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
                return _code(result)
            if not statement.writes:
                return _rows(result)
            tables = [self._pg.exec_(f"SELECT * FROM {name} ORDER BY id".encode()) for name in ("t", "other")]
            return result.command_tuples, *map(_rows, tables)
        finally:
            self._connection.execute("ROLLBACK")


def _code(result: Any) -> str:
    return (result.error_field(pq.DiagnosticField.SQLSTATE) or b"?????").decode()


def _rows(result: Any) -> list[tuple[object, ...]]:
    types = [result.ftype(column) for column in range(result.nfields)]
    rows = range(result.ntuples)
    return [tuple(_value(types[at], result.get_value(row, at)) for at in range(len(types))) for row in rows]


def _value(type_: int, text: bytes | None) -> object:
    """Numbers are compared by their value, because sums and averages have other types."""
    if type_ == TEXT and text is not None:
        # The text of a whole number in a double: DuckDB's is `1000.0` (docs/reference/clients.md).
        return WHOLE.sub(rb"\1", text)
    if text is None or type_ not in NUMBERS or text in (b"NaN", b"Infinity", b"-Infinity"):
        return text
    if type_ in (700, 701):
        return float(f"{float(text):.{6 if type_ == 700 else 14}g}")
    return Decimal(text.decode()).normalize()


@contextmanager
def both(cluster: postgres.Cluster) -> Iterator[tuple[Side, Side]]:
    """A session in PostgreSQL, in a database of its own, and one of a server."""
    with cluster.connect() as admin:
        admin.autocommit = True
        admin.execute("DROP DATABASE IF EXISTS open_types")
        admin.execute("CREATE DATABASE open_types")
    with (
        serve() as server,
        psycopg.connect(cluster.dsn("open_types"), autocommit=True) as ours,
        psycopg.connect(server.dsn, autocommit=True) as served,
    ):
        for connection in (ours, served):
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("SET statement_timeout = '10s'")
        yield Side(ours), Side(served)


def difference(theirs: Side, served: Side, statement: OpenStatement, seed: int) -> str | None:
    """What differs, if anything does."""
    wanted, found = theirs.prepare(statement.sql), served.prepare(statement.sql)
    if wanted.error or found.error:
        # A parameter with several places is refused in other cases (docs/reference/clients.md).
        places = statement.sql.count("$")
        is_repeated = any(statement.sql.count(f"${number}") > 1 for number in range(1, places + 1))
        is_same = bool(wanted.error) == bool(found.error) or (is_repeated and found.error in ("", AMBIGUOUS))
        return None if is_same else f"prepare: {wanted.error or 'none'}, served: {found.error or 'none'}"
    if wanted.parameters != found.parameters:
        return f"parameters: {wanted.parameters}, served: {found.parameters}"
    choice = random.Random(seed)
    values = [choice.choice(VALUES.get(type_) or _items(type_)) for type_ in wanted.parameters]
    rows, served_rows = theirs.run(statement, values), served.run(statement, values)
    if isinstance(rows, str) or isinstance(served_rows, str):
        # An error is one in both, but for those of numbers out of range, which have other limits.
        is_same = isinstance(rows, str) and isinstance(served_rows, str)
        return None if is_same else f"{values}: {rows}, served: {served_rows}"
    if _comparable(rows) != _comparable(served_rows):
        return f"{values}: {rows}, served: {served_rows}"
    return None


def _items(array: int) -> list[str]:
    """Arrays of the values of a type."""
    items = {1005: 21, 1016: 20, 1231: 1700, 1022: 701, 1021: 700, 1182: 1082, 1115: 1114, 1185: 1184, 1183: 1083}
    items |= {2951: 2950, 1001: 17, 1187: 1186, 1000: 16, 1009: 25, 1007: 23}
    values = VALUES[items[array]]
    escaped = ['"' + value.replace("\\", "\\\\") + '"' for value in values]
    return ["{" + ",".join(escaped) + "}", "{NULL," + escaped[0] + "}", "{}"]


def _comparable(rows: object) -> object:
    # Rows that are equal in what they are sorted by have no order.
    return sorted(rows, key=repr) if isinstance(rows, list) else rows


def compare(cluster: postgres.Cluster, seed: int, count: int) -> tuple[list[str], Counter[str]]:
    """The differences, and how many statements ran."""
    differences: list[str] = []
    counts: Counter[str] = Counter()
    with both(cluster) as (theirs, served):
        for number, statement in enumerate(statements(seed, count)):
            counts["statements"] += 1
            if (found := difference(theirs, served, statement, seed + number)) is not None:
                differences.append(f"{statement.sql}\n    {found}")
    return differences, counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=2)
    given = parser.parse_args()
    with postgres.cluster(postgres.stock()) as cluster:
        differences, counts = compare(cluster, given.seed, given.count)
    for found in differences:
        print(found)
    print(f"{counts['statements']} statements, {len(differences)} differences")
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
