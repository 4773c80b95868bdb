"""Calls of `predict` and `predict_proba`."""

from __future__ import annotations

from typing import Any

import numpy
import pyarrow
import pyarrow.compute

from .applied import applied
from .arguments import divided
from .labels import as_classes
from .refused import ModelError
from .stored import model_of


def prediction_call(given: dict[str, Any], connection: Any, table: str, chances: bool) -> dict[str, Any]:
    """`predict(query, name)`: the columns of the query, which are passed on as they are, and the predictions."""
    columns, constants = divided(given, ["name"])
    model, spec = model_of(connection, table, constants.get("name"))
    found, probabilities = applied(model, spec, columns, chances)
    added: dict[str, Any] = {"prediction" if spec["task"] == "regression" else "label": found}
    if chances:
        classes = as_classes(numpy.arange(len(spec["classes"])), spec["classes"]).cast(found.type)
        options = pyarrow.compute.SetLookupOptions(value_set=classes)
        codes = pyarrow.compute.call_function("index_in", [found], options).to_numpy()
        confidences = numpy.asarray(probabilities, numpy.float64)[numpy.arange(len(codes)), codes]
        added["confidence"] = pyarrow.array(numpy.clip(confidences, 0, 1))
    folded = {name.casefold() for name in columns}
    for name in added:
        if name in folded:
            raise ModelError(f'the query has a column "{name}", which is also a column of the result: rename it')
    return {**columns, **added}
