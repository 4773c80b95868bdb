"""Calls of `score`."""

from __future__ import annotations

from typing import Any

from .arguments import divided
from .measured import scored
from .stored import model_of


def score_call(given: dict[str, Any], connection: Any, table: str) -> dict[str, Any]:
    """`score(query, name)`."""
    columns, constants = divided(given, ["name"])
    model, spec = model_of(connection, table, constants.get("name"))
    return scored(model, spec, columns)
