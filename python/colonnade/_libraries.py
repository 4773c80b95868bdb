"""Optional libraries, imported when they are needed."""

from __future__ import annotations

import functools
import importlib
from typing import Any


@functools.cache
def require(module: str, purpose: str, extra: str | None = None) -> Any:
    """The module, or an ImportError that says how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if error.name not in (top, module):
            raise
        wanted = f"colonnade[{extra or top}]" if extra != "" else top
        raise ImportError(f"{purpose} needs {top}: pip install '{wanted}'", name=top) from None


def server_part(module: str, purpose: str) -> Any:
    """A module of the package `colonnade_serve`, whose wheel comes with the extra `serve`."""
    return require(f"colonnade_serve.{module}", purpose, "serve")
