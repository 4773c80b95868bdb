"""Runs all tests of a program: the environment of the tools has no pytest."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping


def run_all(names: Mapping[str, object], run: Callable[[object], object] = lambda done: done) -> None:
    """Calls each function with the name `test_…`, in their order, and tells which ones fail."""
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
