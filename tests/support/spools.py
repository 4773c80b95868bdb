"""Results of `colonnade serve` in parts, by ticket, as any client of PostgreSQL reads them."""

from __future__ import annotations

from typing import Any, NamedTuple

import psycopg
import pyarrow as pa


class Part(NamedTuple):
    """A row of colonnade_spool."""

    ticket: str
    part: int
    rows: int
    plain_bytes: int
    encoded_bytes: int


def spool(client: psycopg.Connection[Any], query: str, **options: object) -> list[Part]:
    """Runs a query once, with the options of colonnade_spool."""
    given = "".join(f", {name} => '{value}'" for name, value in options.items())
    rows = client.execute(f"SELECT * FROM colonnade_spool(%s{given})", (query,)).fetchall()
    return [Part(*row) for row in rows]


def part_bytes(client: psycopg.Connection[Any], ticket: str, part: int, options: str = "FORMAT colonnade") -> bytes:
    """What COPY sends of a part."""
    with client.cursor().copy(f"COPY colonnade_part('{ticket}', {part}) TO STDOUT ({options})") as copy:
        return b"".join(map(bytes, copy))


def part_table(client: psycopg.Connection[Any], ticket: str, part: int) -> pa.Table:
    """A part in Arrow's own format."""
    return pa.ipc.open_stream(part_bytes(client, ticket, part, "FORMAT arrow")).read_all()
