"""A limit of time, and a cancelled task, for tests of `colonnade.aio`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest


def within(work: Coroutine[Any, Any, Any]) -> Any:
    """The outcome. A test that hangs is an error."""

    async def limited() -> Any:
        async with asyncio.timeout(120):
            return await work

    return asyncio.run(limited())


async def cancelled(work: Coroutine[Any, Any, Any]) -> None:
    """Cancels work that does not end by itself."""
    task = asyncio.create_task(work)
    done, _ = await asyncio.wait([task], timeout=0.3)
    assert not done
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
