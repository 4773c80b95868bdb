"""Calls of `predict_row`: a row is a JSON object."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy
import pyarrow

from .applied import inputs_of, predicted, takes_matrix
from .columns import NULL_TEXT, feature_values
from .refused import ModelError
from .stored import model_of


def row_call(rows: Any, model: str | None, connection: Any, table: str) -> list[str]:
    """The prediction for each object, as text."""
    opened, spec = model_of(connection, table, model)
    objects = []
    for text in rows.tolist():
        found = json.loads(text)
        if not isinstance(found, dict):
            raise ModelError("a row is a JSON object: {'age': 41}::JSON, or to_json(t) for the row of a table t")
        objects.append(found)
    features = spec["features"]
    if takes_matrix(opened, spec):
        # Without an array for each feature, which takes longer than a forest for a row.
        inputs = numpy.array([[number_of(one, given) for one in features] for given in objects], spec["dtype"])
        inputs = inputs.reshape(len(objects), len(features))
    else:
        inputs = inputs_of(opened, spec, [column_of(one, objects) for one in features])
    predictions, _ = predicted(opened, spec, inputs, False)
    return [str(one).lower() if isinstance(one, bool) else str(one) for one in predictions.to_pylist()]


def value_of(one: dict[str, Any], given: dict[str, Any]) -> Any:
    """A feature's value in a row: a float, a text or None."""
    name, kind = one["name"], (bool, int, float) if one["kind"] == "number" else (str,)
    if name not in given:
        raise ModelError(f'the model needs "{name}"; the object has {", ".join(given) or "nothing"}')
    value = given[name]
    if value is not None and not isinstance(value, kind):
        raise ModelError(f'"{name}" is {json.dumps(value)[:80]}, and the model was trained with a {one["kind"]}')
    return float(value) if value is not None and one["kind"] == "number" else value


def number_of(one: dict[str, Any], given: dict[str, Any]) -> float:
    """What `columns.matrix` makes of a feature's value."""
    value = value_of(one, given)
    if one["kind"] == "number" and (value is None or math.isfinite(value)):
        return one["fill"] if value is None else value
    if one["kind"] == "text" and value in one["categories"] and value != NULL_TEXT:
        return float(one["categories"].index(value))
    return float(feature_values(one, column_of(one, [given]))[0])


def column_of(one: dict[str, Any], objects: list[dict[str, Any]]) -> Any:
    """A feature's values in all rows."""
    kind = pyarrow.float64() if one["kind"] == "number" else pyarrow.string()
    return pyarrow.array([value_of(one, given) for given in objects], kind)
