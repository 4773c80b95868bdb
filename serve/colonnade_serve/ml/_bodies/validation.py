"""Calls of `cross_validate`."""

from __future__ import annotations

from typing import Any

from .arguments import divided
from .measured import cross_validated
from .refused import ModelError


def validation_call(given: dict[str, Any], allowed: list[str]) -> dict[str, Any]:
    """`cross_validate(query, estimator, parameters, folds)`."""
    columns, constants = divided(given, ["estimator", "parameters", "folds"])
    folds: Any = 5 if constants.get("folds") is None else constants["folds"]
    if isinstance(folds, bool) or not isinstance(folds, int):
        raise ModelError(f"{folds!r} folds: write an integer")
    return cross_validated(columns, constants.get("estimator") or "", constants.get("parameters"), folds, allowed)
