# pyright: reportMissingImports=false
"""How good a model is: metrics on rows with a label, and cross-validation."""

from __future__ import annotations

from typing import Any

import numpy
import pyarrow

from .applied import applied
from .columns import feature, matrix
from .estimators import new_estimator, parsed_parameters
from .labels import encoded, present, targets_of
from .refused import ModelError
from .trained import data_of, fitted

MOST_FOLDS = 100


def metrics(task: str, wanted: Any, found: Any, chances: Any, classes: list[Any]) -> dict[str, float]:
    """The metrics of predictions. `classes`: those of the columns of the probabilities."""
    from sklearn import metrics as known

    if task == "regression":
        return {
            "r2": float(known.r2_score(wanted, found)) if len(wanted) > 1 else float("nan"),
            "mean_absolute_error": float(known.mean_absolute_error(wanted, found)),
            "root_mean_squared_error": float(known.mean_squared_error(wanted, found) ** 0.5),
        }
    # A class that is never predicted has the precision 0.
    mean: dict[str, Any] = {"average": "macro", "zero_division": 0}
    measured = {
        "accuracy": float(known.accuracy_score(wanted, found)),
        "precision": float(known.precision_score(wanted, found, **mean)),
        "recall": float(known.recall_score(wanted, found, **mean)),
        "f1": float(known.f1_score(wanted, found, **mean)),
    }
    if chances is not None and set(numpy.unique(wanted)) <= set(classes):
        # Sums of 32-bit floats may be a little more than 1.
        chances = numpy.clip(numpy.asarray(chances, numpy.float64), 0, 1)
        measured["log_loss"] = float(
            known.log_loss(wanted, chances / chances.sum(axis=1, keepdims=True), labels=classes)
        )
        if len(classes) == 2 and len(numpy.unique(wanted)) == 2:
            measured["roc_auc"] = float(known.roc_auc_score(wanted == classes[1], chances[:, 1]))
    return measured


def scored(model: Any, spec: dict[str, Any], columns: dict[str, Any]) -> dict[str, list[Any]]:
    """The metrics of a stored model on rows whose last column is the label."""
    if len(columns) < 2:
        raise ModelError("the query needs the model's features, and the label as the last column")
    label = list(columns)[-1]
    values = present(label, columns[label])
    features = {name: column for name, column in columns.items() if name != label}
    if spec["task"] == "regression":
        found, _ = applied(model, spec, features, False)
        measured = metrics("regression", targets_of(label, values), found, None, [])
    else:
        try:
            found, chances = applied(model, spec, features, True)
        except ModelError as error:
            if "no probabilities" not in str(error):
                raise
            (found, _), chances = applied(model, spec, features, False), None
        classes = spec["classes"]
        wanted = numbered(label, values, classes)
        measured = metrics(
            "classification", wanted, numbered(label, found, classes), chances, list(range(len(classes)))
        )
    return {"metric": list(measured), "value": list(measured.values())}


def numbered(name: str, values: Any, classes: list[Any]) -> numpy.ndarray:
    """The numbers of the rows' classes; a class that the model does not have gets the next number."""
    known = {one: code for code, one in enumerate(classes)}
    kind, types = values.type, pyarrow.types
    is_class = types.is_string(kind) or types.is_large_string(kind) or types.is_date32(kind) or types.is_decimal(kind)
    if not (is_class or types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise ModelError(f'the label "{name}" is no class: it has the type {kind}')
    codes, items = encoded(values)
    if items and isinstance(items[0], str) is not isinstance(classes[0], str):
        raise ModelError(f'the label "{name}" and the classes of the model have different types')
    return numpy.array([known.get(item, len(classes)) for item in items], numpy.int64)[codes]


def cross_validated(
    columns: dict[str, Any], path: str, parameters: str | None, folds: int, allowed: list[str]
) -> dict[str, list[Any]]:
    """The metrics of each fold. The folds of a classification have the classes in equal shares."""
    from sklearn.model_selection import KFold, StratifiedKFold

    if not 2 <= folds <= MOST_FOLDS:
        raise ModelError(f"{folds} folds: use 2 to {MOST_FOLDS}")
    given = parsed_parameters(parameters)
    features, target, spec = data_of(columns, path, new_estimator(path, given, allowed))
    if folds > len(target):
        raise ModelError(f"{folds} folds of {len(target)} rows: each fold needs a row")
    if spec["task"] == "classification" and folds > numpy.bincount(target).min():
        rare = spec["classes"][int(numpy.bincount(target).argmin())]
        raise ModelError(f"the class {rare!r} has {numpy.bincount(target).min()} rows: use no more folds")
    split = (StratifiedKFold if spec["task"] == "classification" else KFold)(folds, shuffle=True, random_state=0)
    result: dict[str, list[Any]] = {"fold": [], "rows": [], "metric": [], "value": []}
    for fold, (train, test) in enumerate(split.split(target, target), 1):
        # Medians and categories are part of the training, so they come from its rows only.
        known = [column.take(pyarrow.array(train)) for column in features]
        described = [feature(one["name"], column) for one, column in zip(spec["features"], known, strict=True)]
        rows = matrix(known, described, spec["dtype"], "F")
        model = fitted(path, new_estimator(path, given, allowed), {**spec, "features": described}, rows, target[train])
        rows = matrix([column.take(pyarrow.array(test)) for column in features], described, spec["dtype"])
        chances = model.predict_proba(rows) if hasattr(model, "predict_proba") else None
        classes = list(range(len(spec.get("classes", []))))
        for metric, value in metrics(spec["task"], target[test], model.predict(rows), chances, classes).items():
            for key, one in zip(result, (fold, len(test), metric, value), strict=True):
                result[key].append(one)
    return result
