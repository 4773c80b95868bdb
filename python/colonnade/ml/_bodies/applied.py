"""Predictions of a model that has been opened."""

from __future__ import annotations

from typing import Any

import numpy
import pyarrow

from .columns import as_kind, chosen, matrix
from .graphs import graph_inputs, graph_outputs
from .labels import as_classes
from .refused import ModelError


def applied(model: Any, spec: dict[str, Any], columns: dict[str, Any], chances: bool) -> tuple[Any, Any]:
    """The predictions for the rows of these columns, as a column, and the probabilities of the classes in their order,
    if they are asked for. Other columns than the features have no effect."""
    found = chosen(columns, spec["features"])
    if chances and spec["task"] == "regression":
        raise ModelError("the model predicts numbers, which have no probabilities: use predict")
    return predicted(model, spec, inputs_of(model, spec, found), chances)


def predicted(model: Any, spec: dict[str, Any], rows: Any, chances: bool) -> tuple[Any, Any]:
    """As `applied`, for the rows as the model gets them."""
    if hasattr(model, "get_inputs"):
        predictions, probabilities = graph_outputs(model, spec, rows, chances)
    else:
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


def takes_matrix(model: Any, spec: dict[str, Any]) -> bool:
    """Whether the model gets the rows as the matrix of `columns.matrix`."""
    return "matrix" in spec or not (hasattr(model, "get_inputs") or spec.get("takes") == "frame")


def inputs_of(model: Any, spec: dict[str, Any], columns: list[Any]) -> Any:
    """The rows as a model gets them: a matrix, an array for each feature, or a frame if it was fitted with one."""
    if takes_matrix(model, spec):
        return matrix(columns, spec["features"], spec["dtype"])
    if hasattr(model, "get_inputs"):
        return graph_inputs(model, spec, columns)
    try:
        import pandas
    except ImportError:
        raise ModelError(
            "the model was fitted with a frame of pandas, which the functions' interpreter lacks"
        ) from None
    pairs = zip(spec["features"], columns, strict=True)
    return pandas.DataFrame({one["name"]: as_kind(one, found) for one, found in pairs})
