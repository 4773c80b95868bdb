"""Calls of `predict_row`: a row is a JSON object."""

from __future__ import annotations

import json
from typing import Any

import pyarrow

from .applied import applied
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
    columns = {one["name"]: column_of(one, objects) for one in spec["features"]}
    predictions, _ = applied(opened, spec, columns, False)
    return [str(one).lower() if isinstance(one, bool) else str(one) for one in predictions.to_pylist()]


def column_of(one: dict[str, Any], objects: list[dict[str, Any]]) -> Any:
    """A feature's values in all rows."""
    name, kind = one["name"], (bool, int, float) if one["kind"] == "number" else (str,)
    found = []
    for given in objects:
        if name not in given:
            raise ModelError(f'the model needs "{name}"; the object has {", ".join(given) or "nothing"}')
        value = given[name]
        if value is not None and not isinstance(value, kind):
            raise ModelError(f'"{name}" is {json.dumps(value)[:80]}, and the model was trained with a {one["kind"]}')
        found.append(float(value) if value is not None and one["kind"] == "number" else value)
    return pyarrow.array(found, pyarrow.float64() if one["kind"] == "number" else pyarrow.string())
