"""A value of 900 MB: it arrives as it is, or is refused with what to do."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import colonnade
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.testbed import postgres as pg

pytestmark = pytest.mark.long

SIZE = 900_000_000


def the_cell(uri: str, query: str) -> pa.Scalar:
    """The one value of a query's answer."""
    [row] = [batch for batch in colonnade.connect(uri).query(query) if batch.num_rows]
    return pa.record_batch(row).column(0)[0]


def test_postgresql(either: pg.Cluster) -> None:
    """Nearly the largest that PostgreSQL has room for."""
    cell = the_cell(either.uri(), f"select repeat('x', {SIZE}) as t")
    assert cell.as_buffer().equals(pa.py_buffer(b"x" * SIZE))


def test_postgresqls_limit_is_an_error(either: pg.Cluster) -> None:
    """A text may have 1 GB, a row may not have two of them."""
    with pytest.raises(colonnade.Error, match=r"max_message_bytes|out of memory"):
        the_cell(either.uri(), f"select repeat('x', {SIZE}) as t, repeat('y', {SIZE}) as u")


def test_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "large.sqlite"
    sqlite3.connect(path).close()
    cell = the_cell(f"sqlite:{path}", f"select zeroblob({SIZE}) as b")
    assert pc.binary_length(cell).as_py() == SIZE


def test_the_server(uri: str) -> None:
    """Nothing is larger than the message that the client is ready to take."""
    query = f"select repeat('x', {SIZE}) as t"
    assert pc.binary_length(the_cell(uri, query)).as_py() == SIZE
    with pytest.raises(colonnade.Error, match="max_message_bytes"), colonnade.connect(uri) as connection:
        connection.query(query, max_message_bytes=SIZE).to_arrow()
