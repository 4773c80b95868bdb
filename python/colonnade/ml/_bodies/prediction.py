"""Calls of `predict` and `predict_proba`."""

from __future__ import annotations

from typing import Any

import numpy
import pyarrow

from .applied import applied
from .arguments import divided
from .refused import ModelError
from .stored import model_of


def prediction_call(given: dict[str, Any], connection: Any, table: str, chances: bool) -> dict[str, Any]:
    """`predict(query, name)`: the columns of the query, which are passed on as they are, and the predictions."""
    columns, constants = divided(given, ["name"])
    model, spec = model_of(connection, table, constants.get("name"))
    found, probabilities = applied(model, spec, columns, chances)
    added: dict[str, Any] = {"prediction" if spec["task"] == "regression" else "label": found}
    if chances:
        largest = numpy.asarray(probabilities, numpy.float64).max(axis=1, initial=0.0)
        added["confidence"] = pyarrow.array(numpy.clip(largest, 0, 1))
    for name in added:
        if name in columns:
            raise ModelError(f'the query has a column "{name}", which is also a column of the result: rename it')
    return {**columns, **added}
