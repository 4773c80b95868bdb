"""Runs all tests of a program, because the environment of the tools has no pytest."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any


def run_all(names: Mapping[str, Any], run: Callable[[Any], object] = lambda done: done) -> None:
    """Calls each function with the name `test_…` in their order, says which ones fail, and exits. `run` gets what they
    return, such as coroutines."""
    failed = 0
    for name, test in names.items():
        if not name.startswith("test_") or not inspect.isfunction(test):
            continue
        try:
            run(test())
        except Exception:
            failed += 1
            print(f"{name} FAILED", traceback.format_exc(), sep="\n")
        else:
            print(f"{name} passed")
    sys.exit(failed != 0)
