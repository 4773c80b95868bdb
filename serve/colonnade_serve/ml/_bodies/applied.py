# pyright: reportMissingImports=false
"""Predictions of a model that has been opened."""

from __future__ import annotations

from typing import Any

import numpy
import pyarrow

from .columns import BLOCK, all_values, as_kind, chosen, matrix, stacked
from .forests import forest_outputs
from .graphs import graph_inputs, graph_outputs
from .labels import as_classes
from .refused import ModelError


def applied(model: Any, spec: dict[str, Any], columns: dict[str, Any], chances: bool) -> tuple[Any, Any]:
    """The predictions for the rows of these columns, as a column, and the probabilities of the classes in their order,
    if they are asked for. Other columns than the features have no effect."""
    found = chosen(columns, spec["features"])
    if chances and spec["task"] == "regression":
        raise ModelError("the model predicts numbers, which have no probabilities: use predict")
    count = len(found[0])
    if count <= BLOCK or not (hasattr(model, "steps") and takes_matrix(model, spec)):
        return predicted(model, spec, inputs_of(model, spec, found), count, chances)
    # Each step of a pipeline reads and writes the matrix. A block of rows stays in the processor's cache meanwhile, and
    # its memory is that of the block before.
    parts = all_values(found, spec["features"])
    blocks = []
    for start in range(0, count, BLOCK):
        rows = stacked([part[start : start + BLOCK] for part in parts], spec["features"], spec["dtype"])
        blocks.append(predicted(model, spec, rows, len(rows), chances))
    predictions, probabilities = zip(*blocks, strict=True)
    return pyarrow.concat_arrays(predictions), numpy.concatenate(probabilities) if chances else None


def predicted(model: Any, spec: dict[str, Any], rows: Any, count: int, chances: bool) -> tuple[Any, Any]:
    """As `applied`, for the rows as the model gets them, and their number."""
    found, probabilities = outputs_of(model, spec, rows, chances)
    # An artifact that was written by hand may give anything.
    if len(found) != count:
        raise ModelError(f"the artifact gives {len(found)} predictions for {count} rows")
    if probabilities is not None:
        probabilities = numpy.asarray(probabilities)
        if probabilities.shape != (count, len(spec["classes"])) or probabilities.dtype.kind != "f":
            raise ModelError("the artifact gives no probability for each class")
    return found, probabilities


def outputs_of(model: Any, spec: dict[str, Any], rows: Any, chances: bool) -> tuple[Any, Any]:
    """The predictions, and the probabilities if they are asked for, as the model gives them."""
    # In ONNX, a model without probabilities has distances in their place.
    if chances and not spec.get("chances", True):
        raise ModelError("the model has no probabilities: use predict")
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
        of_forest = forest_outputs(model, rows)
        if of_forest is not None:
            predictions, probabilities = of_forest[0], of_forest[1] if chances else None
        elif chances and hasattr(model, "predict_proba"):
            probabilities = model.predict_proba(rows)
            if isinstance(model, voting_trees()):
                # What their `predict` does too. For an SVC it is not the same.
                predictions = model.classes_[numpy.argmax(probabilities, axis=1)]
            else:
                predictions = model.predict(rows)
        else:
            predictions = model.predict(rows)
    if chances and probabilities is None:
        raise ModelError("the model has no probabilities: use predict")
    if spec["task"] == "regression":
        return pyarrow.array(numpy.asarray(predictions, numpy.float64).reshape(-1)), None
    if spec["coded"]:
        return as_classes(predictions, spec["classes"]), probabilities
    return pyarrow.array(numpy.asarray(predictions).reshape(-1)), probabilities


def voting_trees() -> tuple[Any, ...]:
    from sklearn import ensemble, tree

    return (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier, tree.DecisionTreeClassifier)


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
