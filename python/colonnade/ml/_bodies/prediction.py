"""Calls of `predict` and `predict_proba`."""

from __future__ import annotations

import datetime
from typing import Any

import numpy

from .applied import applied
from .arguments import divided
from .refused import ModelError
from .stored import model_of


def prediction_call(
    given: dict[str, Any], types: dict[str, str], connection: Any, table: str, chances: bool
) -> dict[str, Any]:
    """`predict(query, name)`: the columns of the query, and the predictions."""
    columns, constants = divided(given, ["name"])
    model, spec = model_of(connection, table, constants.get("name"))
    found, probabilities = applied(model, spec, columns, chances)
    added: dict[str, Any] = {"prediction" if spec["task"] == "regression" else "label": found}
    if chances:
        added["confidence"] = numpy.clip(numpy.asarray(probabilities, numpy.float64).max(axis=1, initial=0.0), 0, 1)
    for name in added:
        if name in columns:
            raise ModelError(f'the query has a column "{name}", which is also a column of the result: rename it')
    passed = {name: with_type(column, types.get(name, "")) for name, column in columns.items()}
    return {**passed, **added}


def with_type(column: Any, sql_type: str) -> Any:
    """A column of the query for the result, which takes its type from the values. Two types need other values than
    those of arguments."""
    if sql_type not in ("TIME", "TIMESTAMP WITH TIME ZONE") or not isinstance(column, numpy.ndarray):
        return column
    nulls = numpy.ma.getmaskarray(column) | numpy.isnat(numpy.ma.getdata(column))
    found = numpy.empty(len(column), object)
    for row, value in enumerate(numpy.ma.getdata(column).astype("datetime64[us]").astype(object).tolist()):
        if not nulls[row]:
            found[row] = value.time() if sql_type == "TIME" else value.replace(tzinfo=datetime.UTC)
    return numpy.ma.MaskedArray(found, nulls) if nulls.any() else found
