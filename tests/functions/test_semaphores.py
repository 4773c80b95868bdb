"""How function processes wait for requests (`_udf/system.py`), with and without Python's class of semaphores."""

from __future__ import annotations

import ctypes
import threading

import pytest
from colonnade_serve._udf import system


@pytest.fixture
def address() -> int:
    """A semaphore of the C library with nothing posted. Its memory is never freed."""
    memory = ctypes.CDLL(None).malloc
    memory.restype = ctypes.c_void_p
    found = memory(64)
    assert found is not None and system.LIBRARY.sem_init(ctypes.c_void_p(found), 0, 0) == 0
    return found


@pytest.mark.parametrize("has_class", [True, False])
def test_a_wait_ends_when_somebody_posts(address: int, has_class: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if has_class:
        assert system.SemLock is not None
    else:
        monkeypatch.setattr(system, "SemLock", None)
    wait, post = system.semaphore(address)
    post()
    post()
    wait()
    wait()
    ended = threading.Event()
    # Both sides may have objects of their own.
    other, _ = system.semaphore(address)
    threading.Thread(target=lambda: (other(), ended.set()), daemon=True).start()
    assert not ended.wait(0.2)
    # This thread runs, so the lock of the interpreter is released by the one that waits.
    post()
    assert ended.wait(10)
