"""A table whose rows move all the time, and what every reading of it gives."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import colonnade
import psycopg
import pyarrow as pa

ROWS = 200_000
QUERY = "select * from ledger"
#: PostgreSQL's numeric is text otherwise.
POSTGRES: Any = {"parts": 6, "numeric": (12, 2)}
#: The server cuts any result into equal parts.
SERVE: Any = {"parts": 6}

SETUP = f"""
    create table ledger as select
        i::bigint as id,
        case when i % 11 > 0 then (i % 1000)::numeric(12, 2) / 4 - 50 end::numeric(12, 2) as amount,
        timestamptz '2024-03-31 00:30:00.000001+00' + i * interval '1 minute' as seen,
        timestamp '1969-12-31 23:59:59.999999' + i * interval '1 second' as local,
        case when i % 5 > 0 then date '2024-02-29' + i::int % 4000 end as day,
        case when i % 7 > 0 then 'label ' || i || ' ß漢🧀' end as label,
        case when i % 13 > 0 then ('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid end as owner,
        i % 3 = 0 as flag,
        case when i % 17 > 0 then i / 8.0::double precision end as ratio
    from generate_series(1, {ROWS}) as t(i)
"""
#: Takes rows away and puts the same rows elsewhere, so that every state has the same rows at other places. The three
#: statements are a transaction.
_MOVE = (
    "create temporary table moved as select * from ledger where id between {0} and {0} + 2999",
    "delete from ledger where id between {0} and {0} + 2999",
    "insert into ledger select * from moved",
    "drop table moved",
)


@dataclass(frozen=True)
class Ledger:
    """A database with the table."""

    uri: str
    #: For psycopg.
    dsn: str
    #: The options of a plan.
    options: Any

    def direct(self, query: str = QUERY) -> pa.Table:
        """The rows as one connection reads them, in the order of `id`."""
        numeric = self.options.get("numeric")
        return colonnade.read_sql(self.uri, query, return_type="arrow", numeric=numeric).sort_by("id")

    @contextmanager
    def moving(self) -> Iterator[None]:
        """For the time of the block, rows move. Each move is a transaction, and at least two happen."""
        stop, moves = threading.Event(), [0]
        failed: list[BaseException] = []

        def move() -> None:
            try:
                with psycopg.connect(self.dsn, autocommit=True) as session:
                    while not stop.is_set() or moves[0] < 2:
                        with session.transaction():
                            for statement in _MOVE:
                                session.execute(statement.format(moves[0] * 3000 % ROWS + 1))
                        moves[0] += 1
            except BaseException as error:
                failed.append(error)

        mover = threading.Thread(target=move)
        mover.start()
        try:
            yield
        finally:
            stop.set()
            mover.join()
        assert failed == []


def same(found: pa.Table, expected: pa.Table) -> None:
    """Each row is there once, with the same values. Some engines have other widths of offsets and other time zones."""
    found = found.select(expected.column_names).cast(expected.schema.remove_metadata()).sort_by("id")
    assert found.num_rows == expected.num_rows
    for name in expected.column_names:
        assert found[name].equals(expected[name]), name
