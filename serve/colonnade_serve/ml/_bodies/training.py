"""Calls of `train` and `train_…`."""

from __future__ import annotations

from typing import Any

from .arguments import divided
from .trained import trained


def training_call(given: dict[str, Any], connection: Any, table: str, allowed: list[str], path: str) -> dict[str, Any]:
    """`train_…(query, parameters, name, format, query)`; without a path, the estimator comes before the parameters."""
    names = ["parameters", "name", "format", "query"]
    columns, constants = divided(given, names if path else ["estimator", *names])
    path = path or constants.get("estimator", "")
    parameters, name = constants.get("parameters"), constants.get("name")
    form = constants.get("format") or "auto"
    return trained(connection, table, allowed, columns, path, parameters, name or "", form, constants.get("query"))
