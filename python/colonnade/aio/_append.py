"""`Append`: rows that are written part by part, for asyncio."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade._rows.append import Append as SyncAppend
    from colonnade._rows.data import Rows
    from colonnade._rows.writing import WriteStats

    from ._connection import Connection


class Append:
    """Rows on their way into a table, made by `Connection.append`: a `colonnade.Append` for `async with`.

    A task that is cancelled while it waits for `write` rolls back. One that is cancelled at the end of the block has
    written all rows or none.
    """

    def __init__(self, connection: Connection, rows: SyncAppend) -> None:
        self._connection = connection
        self._rows = rows

    async def write(self, rows: Rows) -> None:
        """Adds rows. It returns when the writer has room for them."""
        await self._connection._run(lambda: self._rows.write(rows), stop=self._rows.abandon)

    @property
    def stats(self) -> WriteStats:
        """What was written, after the block."""
        return self._rows.stats

    async def __aenter__(self) -> Append:
        self._rows.__enter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self._connection._run(lambda: self._rows.__exit__(kind, error, traceback))
        except asyncio.CancelledError as cancelled:
            # If this has not begun, nothing else ends the writer.
            self._connection._post(partial(self._rows.__exit__, type(cancelled), cancelled, None))
            raise
