"""Ctrl-C at each line that a query or a transaction passes: all of it arrives or nothing, and the connection works
afterwards."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest
from colonnade import dbapi

from tests.sources.every_source import Source

#: Files in whose lines Ctrl-C arrives.
PLACES = ("colonnade/_sources/", "colonnade/dbapi/", "colonnade/_connection.py", "/threading.py")


class Interrupt:
    """Raises KeyboardInterrupt once, at the line with a number, of those that this thread passes in the block."""

    def __init__(self, line: int) -> None:
        self._left = line
        self.has_raised = False
        #: Keeps the traceback, as an interactive Python does.
        self.error: BaseException | None = None

    def __enter__(self) -> Interrupt:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        sys.settrace(self._before)
        self.error = error
        return kind is KeyboardInterrupt

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if not any(place in frame.f_code.co_filename for place in PLACES):
            return None
        if event == "line":
            self._left -= 1
            if self._left < 0 and not self.has_raised:
                self.has_raised = True
                raise KeyboardInterrupt
        return self._trace


@pytest.fixture
def table(source: Source) -> Iterator[str]:
    with source.connect() as connection:
        connection.execute("create table interrupted (i int)")
        yield "interrupted"
        connection.execute("drop table interrupted")


@pytest.mark.parametrize("source", ["duckdb", "adbc-sqlite", "adbc-postgresql", "odbc"], indirect=True)
def test_ctrl_c_at_each_line_of_a_transaction(source: Source, table: str) -> None:
    with dbapi.connect(source.uri) as connection:

        def count() -> int:
            with connection.cursor() as cursor:
                ((rows,),) = cursor.execute(f"select count(*) from {table}").fetchall()
            connection.rollback()
            return int(rows)

        before, line, goes_on = 0, 0, True
        while goes_on:
            with Interrupt(line) as interrupt, connection.cursor() as cursor:
                cursor.execute(f"insert into {table} values (1)")
                cursor.execute(f"insert into {table} values (2)")
                connection.commit()
            connection.rollback()
            after = count()
            assert after - before in ((0, 2) if interrupt.has_raised else (2,)), line
            before, goes_on = after, interrupt.has_raised
            line += 1
        assert line > 100


def test_ctrl_c_at_each_line_of_a_query(source: Source) -> None:
    with source.connect() as connection:
        line, goes_on = 0, True
        while goes_on:
            with Interrupt(line) as interrupt:
                result = connection.query("select * from readings")
            if not interrupt.has_raised:
                result.close()
            assert connection.query("select 7 as n").to_arrow().to_pylist() == [{"n": 7}], line
            goes_on = interrupt.has_raised
            line += 1
        assert line > 5
