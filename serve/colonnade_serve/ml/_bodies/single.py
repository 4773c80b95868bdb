"""Calls of `predict_row`: a row is a JSON object."""

from __future__ import annotations

import datetime
import json
import math
import re
from typing import Any

import numpy
import pyarrow

from .applied import inputs_of, predicted, takes_matrix
from .columns import LARGEST_INTEGER, NULL_TEXT, SECONDS, feature_values, named, refuse_large
from .refused import ModelError
from .stored import model_of

#: Years beyond 9999 have more digits, and are no moments here.
MOMENT = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)([ T](?P<time>\d\d:\d\d:\d\d)(\.(?P<fraction>\d{1,9}))?(?P<zone>[+-]\d\d(:\d\d)?|Z)?)?",
    re.ASCII,
)
TIME = re.compile(r"(?P<time>\d\d:\d\d:\d\d)(\.(?P<fraction>\d{1,9}))?(?P<day>)(?P<zone>)", re.ASCII)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


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
        wide = [[number_of(one, given) for one in features] for given in objects]
        try:
            with numpy.errstate(over="raise"):
                inputs = numpy.array(wide, numpy.float64).reshape(len(objects), len(features)).astype(spec["dtype"])
        except FloatingPointError:
            refuse_large(features[int(numpy.abs(wide).max(axis=0).argmax())])
    else:
        plain = {**spec, "features": [without_unit(one) for one in features]}
        inputs = inputs_of(opened, plain, [column_of(one, objects) for one in features])
    predictions, _ = predicted(opened, spec, inputs, len(objects), False)
    return [str(one).lower() if isinstance(one, bool) else str(one) for one in predictions.to_pylist()]


def value_of(one: dict[str, Any], given: dict[str, Any]) -> Any:
    """A feature's value in a row: a float, a text or None."""
    name, unit = one["name"], one.get("unit", one["kind"])
    value = given[name if name in given else named(name, given, "", "object")]
    if value is None:
        return None
    if unit in ("date", "timestamp", "time") and isinstance(value, str):
        return moment(one, value)
    if not isinstance(value, (bool, int, float) if unit == "number" else (str,)) or unit not in ("number", "text"):
        raise ModelError(f'"{name}" is {json.dumps(value)[:80]}, and the model was trained with a {unit}')
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        raise ModelError(f'"{name}" is {str(value)[:80]}, which is not exact as a feature, a 64-bit float')
    return float(value) if unit == "number" else value


def moment(one: dict[str, Any], text: str) -> float:
    """A date or a time as DuckDB writes it in JSON, in the unit of `columns.numbers`, with the same bits if
    microseconds since 1970 are exact in a 64-bit float."""
    found = (TIME if one["unit"] == "time" else MOMENT).fullmatch(text)
    try:
        if found is None:
            raise ValueError
        day, time, zone = found["day"] or "1970-01-01", found["time"] or "00:00:00", found["zone"] or "+00:00"
        since = datetime.datetime.fromisoformat(f"{day}T{time}{zone}") - EPOCH
    except ValueError:
        raise ModelError(f'"{one["name"]}" is {json.dumps(text)[:80]}, which is no {one["unit"]}') from None
    fraction = found["fraction"] or ""
    digits = 9 if len(fraction) > 6 else 6
    count = since // datetime.timedelta(seconds=1) * 10**digits + int(fraction.ljust(digits, "0"))
    seconds = float(count) / 10**digits
    return seconds / SECONDS if one["unit"] == "date" else seconds


def number_of(one: dict[str, Any], given: dict[str, Any]) -> float:
    """What `columns.matrix` makes of a feature's value."""
    value = value_of(one, given)
    if one["kind"] == "number" and (value is None or math.isfinite(value)):
        return one["fill"] if value is None else value
    if one["kind"] == "text" and value in one["categories"] and value != NULL_TEXT:
        return float(one["categories"].index(value))
    # Whatever is refused there.
    return float(feature_values(without_unit(one), column_of(one, [given]))[0])


def without_unit(one: dict[str, Any]) -> dict[str, Any]:
    """The feature for values that `value_of` has read, which are numbers also for dates."""
    return {**one, "unit": one["kind"]}


def column_of(one: dict[str, Any], objects: list[dict[str, Any]]) -> Any:
    """A feature's values in all rows."""
    kind = pyarrow.float64() if one["kind"] == "number" else pyarrow.string()
    return pyarrow.array([value_of(one, given) for given in objects], kind)
