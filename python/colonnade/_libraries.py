"""Optional libraries, imported when they are needed."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from ._system.names import IS_LINUX, NEEDS_LINUX


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


def must_be_of_one_version(purpose: str) -> None:
    """Raises an ImportError if `colonnade_serve` is of another version than this package, as after an upgrade of one of
    them alone. Then each import of it may fail, or find what does something else."""
    try:
        own, server = (
            importlib.import_module(f"{name}._core").__version__ for name in ("colonnade", "colonnade_serve")
        )
    except ModuleNotFoundError:
        return
    if own != server:
        text = f"{purpose} needs colonnade_serve {own}, and {server} is installed: pip install -U 'colonnade[serve]'"
        raise ImportError(text, name="colonnade_serve")


def server_part(module: str, purpose: str, extra: str = "serve") -> Any:
    """A module of the package `colonnade_serve`, whose wheel for Linux comes with the extra `serve`."""
    if not IS_LINUX:
        raise ImportError(f"{purpose} {NEEDS_LINUX}", name="colonnade_serve")
    must_be_of_one_version(purpose)
    return require(f"colonnade_serve.{module}", purpose, extra)
