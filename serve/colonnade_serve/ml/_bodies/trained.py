# pyright: reportMissingImports=false
"""Training: the rows of a query become a row of the table of models."""

from __future__ import annotations

import datetime
import json
import platform
import warnings
from typing import Any

import numpy

from .artifacts import library_versions, new_artifact
from .columns import feature, matrix
from .estimators import dtype_of, new_estimator, parsed_parameters, task_of, with_class_weights, with_preparation
from .labels import classes_of, present, targets_of
from .refused import ModelError
from .stored import digest, next_version, rows_of


def data_of(columns: dict[str, Any], path: str, estimator: Any) -> tuple[list[Any], Any, dict[str, Any]]:
    """The features, the target and the description of a model. The label is the last column."""
    names = list(columns)
    if len(names) < 2:
        raise ModelError(
            f"the query has {len(names)} columns: training needs features, and the label as the last column"
        )
    *features, label = names
    values = present(label, columns[label])
    spec: dict[str, Any] = {"task": task_of(estimator), "label": label, "coded": True}
    if spec["task"] == "classification":
        target, spec["classes"] = classes_of(label, values)
    else:
        target = targets_of(label, values)
    spec["dtype"] = dtype_of(path)
    spec["features"] = [feature(name, columns[name]) for name in features]
    return [columns[name] for name in features], target, spec


def fitted(path: str, estimator: Any, spec: dict[str, Any], rows: numpy.ndarray, target: numpy.ndarray) -> Any:
    """The estimator with its preparation, trained."""
    if spec["task"] == "classification":
        estimator = with_class_weights(estimator, spec["classes"])
    model = with_preparation(path, estimator, spec["features"])
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            model.fit(rows, target)
        # Some estimators can be trained with fewer rows than they need for a prediction.
        model.predict(rows[:1])
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        raise ModelError(f"{path.rpartition('.')[2]}: {error}") from None
    report(found)
    return model


def report(found: list[warnings.WarningMessage]) -> None:
    """Print the first lines of warnings, which the server sends as notices: that a training did not converge is one.
    Not those of joblib, which counts the processor's cores."""
    import joblib

    (folder,) = joblib.__path__
    elsewhere = [one for one in found if not one.filename.startswith(folder)]
    for text in dict.fromkeys(f"{one.category.__name__}: {one.message}".partition("\n")[0] for one in elsewhere):
        print(text)


def trained(
    connection: Any,
    table: str,
    allowed: list[str],
    columns: dict[str, Any],
    path: str,
    parameters: str | None,
    name: str,
    format: str,
    query: str | None,
) -> dict[str, Any]:
    """A row of the table of models."""
    if not name or "@" in name:
        raise ModelError("a model needs a name, without @")
    given = parsed_parameters(parameters)
    estimator = new_estimator(path, given, allowed)
    features, target, spec = data_of(columns, path, estimator)
    rows = matrix(features, spec["features"], spec["dtype"], "F")
    model = fitted(path, estimator, spec, rows, target)
    spec["chances"] = hasattr(model, "predict_proba")
    format, artifact = new_artifact(model, spec, format, features, rows)
    if spec.get("reason"):
        print(f"{name}: stored as a pickle, because the model has no equal in ONNX ({spec['reason']})")
    found = {
        "name": name,
        "version": next_version(connection, table, name),
        "created_at": numpy.datetime64(datetime.datetime.now(datetime.UTC).replace(tzinfo=None), "us"),
        "created_by": rows_of(connection.execute("SELECT current_user AS who"))["who"],
        "task": spec["task"],
        "algorithm": path,
        "format": format,
        "artifact": artifact,
        "sha256": digest(artifact),
        "parameters": json.dumps(given),
        "metrics": "{}",
        "features": [one["name"] for one in spec["features"]],
        "classes": [str(one) for one in spec["classes"]] if "classes" in spec else None,
        "rows": len(target),
        "query": query,
        "python": platform.python_version(),
        "libraries": json.dumps(library_versions()),
    }
    return {key: [value] for key, value in found.items()}
