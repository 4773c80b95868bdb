"""The error for a statement that clients may not run."""

from __future__ import annotations

from typing import NoReturn

from colonnade_serve._core import Refused


def refuse(what: str) -> NoReturn:
    raise Refused(f"{what}: not allowed for clients of this server", "42501", None)
