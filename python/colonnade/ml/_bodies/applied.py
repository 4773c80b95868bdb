"""Predictions of a model that has been opened."""

from __future__ import annotations

from typing import Any

import numpy
import pyarrow

from .columns import as_kind, chosen, matrix
from .graphs import graph_outputs
from .labels import as_classes
from .refused import ModelError


def applied(model: Any, spec: dict[str, Any], columns: dict[str, Any], chances: bool) -> tuple[Any, Any]:
    """The predictions for the rows of these columns, as a column, and the probabilities of the classes in their order,
    if they are asked for. Other columns than the features have no effect."""
    found = chosen(columns, spec["features"])
    if chances and spec["task"] == "regression":
        raise ModelError("the model predicts numbers, which have no probabilities: use predict")
    if hasattr(model, "get_inputs"):
        predictions, probabilities = graph_outputs(model, spec, found, chances)
    else:
        rows = inputs_of(model, spec, found)
        probabilities = None
        if not len(rows):
            # scikit-learn refuses a matrix without rows.
            if spec["task"] == "regression":
                return pyarrow.array([], pyarrow.float64()), None
            codes = numpy.empty(0, numpy.int64)
            return as_classes(codes, spec["classes"]), numpy.empty((0, len(spec["classes"])))
        if chances and hasattr(model, "predict_proba"):
            probabilities = model.predict_proba(rows)
            predictions = numpy.argmax(probabilities, axis=1)
            predictions = predictions if spec["coded"] else model.classes_[predictions]
        else:
            predictions = model.predict(rows)
    if chances and probabilities is None:
        raise ModelError("the model has no probabilities: use predict")
    if spec["task"] == "regression":
        return pyarrow.array(numpy.asarray(predictions, numpy.float64).reshape(-1)), None
    if spec["coded"]:
        return as_classes(predictions, spec["classes"]), probabilities
    return pyarrow.array(numpy.asarray(predictions).reshape(-1)), probabilities


def inputs_of(model: Any, spec: dict[str, Any], columns: list[Any]) -> Any:
    """The rows as an estimator of scikit-learn gets them: a matrix, or a frame if it was fitted with one."""
    if spec.get("takes") != "frame":
        return matrix(columns, spec["features"], spec["dtype"])
    try:
        import pandas
    except ImportError:
        raise ModelError(
            "the model was fitted with a frame of pandas, which the functions' interpreter lacks"
        ) from None
    pairs = zip(spec["features"], columns, strict=True)
    return pandas.DataFrame({one["name"]: as_kind(one, found) for one, found in pairs})
