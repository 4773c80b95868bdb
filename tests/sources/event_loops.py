"""A limit of time for tests of `colonnade.aio`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


def within(work: Coroutine[Any, Any, Any]) -> Any:
    """The outcome. A test that hangs is an error."""

    async def limited() -> Any:
        async with asyncio.timeout(120):
            return await work

    return asyncio.run(limited())
