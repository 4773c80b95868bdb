# pyright: reportMissingImports=false
"""Estimators by name, within the list that the operator allows, and the preparation of columns that each needs."""

from __future__ import annotations

import difflib
import importlib
import inspect
import json
import math
from typing import Any

from .refused import ModelError

#: Estimators over trees. They get the numbers of categories as they are; all others get scaled numbers, and a column
#: of zeros and ones for each category.
TREES = ("Tree", "Forest", "Trees", "Boosting")
#: scikit-learn's trees compare 32-bit floats; only the histograms have 64 bits.
WIDE_TREES = ("HistGradient",)


def parsed_parameters(parameters: str | None) -> dict[str, Any]:
    """An estimator's parameters from JSON."""

    def number(text: str) -> float:
        found = float(text)
        if not math.isfinite(found):
            # The table's column has the type JSON, which has no such value.
            raise ModelError(f"the parameters have the number {text}: JSON has finite ones only")
        return found

    try:
        found = json.loads(parameters or "{}", parse_float=number, parse_constant=number)
    except ModelError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelError(f"the parameters are no JSON: {error}") from None
    if not isinstance(found, dict):
        raise ModelError('the parameters are no JSON object: write {"name": value}')
    return found


def estimator_class(path: str, allowed: list[str]) -> Any:
    """The class of this name, if it is on the list."""
    if not path:
        raise ModelError("training needs the name of an estimator, such as 'sklearn.linear_model.Ridge'")
    if path not in allowed:
        near = difflib.get_close_matches(path, allowed, 3, 0.5)
        hint = f"; allowed are {', '.join(near)}" if near else ""
        raise ModelError(
            f"the estimator {path} is not on this database's list{hint}. The operator extends the list: "
            f"colonnade ml install --allow {path}"
        )
    module, _, name = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ModelError(f"the functions' interpreter has no {path}: {error}") from None
    if not (isinstance(found, type) and hasattr(found, "fit") and hasattr(found, "get_params")):
        raise ModelError(f"{path} is no estimator of scikit-learn's kind")
    return found


def new_estimator(path: str, parameters: dict[str, Any], allowed: list[str]) -> Any:
    """An estimator. `random_state` is 0 unless it is given, so that a training can be repeated."""
    found = estimator_class(path, allowed)
    known = list(inspect.signature(found).parameters)
    for name in parameters:
        if name not in known:
            raise ModelError(f"{path} has no parameter {name!r}; it has {', '.join(known)}")
    if "random_state" in known:
        parameters = {"random_state": 0, **parameters}
    # joblib's threads and processes need semaphores in /dev/shm, which the sandbox does not allow.
    return found(**{name: value for name, value in parameters.items() if name != "n_jobs"})


def with_class_weights(estimator: Any, classes: list[Any]) -> Any:
    """The estimator with the weights of classes by their numbers. JSON has them by the texts of the classes."""
    given = getattr(estimator, "class_weight", None)
    if not isinstance(given, dict):
        return estimator
    codes = {text_of_class(one): code for code, one in enumerate(classes)}
    for text in given:
        if text not in codes:
            raise ModelError(f"class_weight has {text!r}, and the label has {', '.join(list(codes)[:10])}")
    return estimator.set_params(class_weight={codes[text]: weight for text, weight in given.items()})


def text_of_class(one: Any) -> str:
    return str(one).lower() if isinstance(one, bool) else str(one)


def is_of_trees(path: str) -> bool:
    name = path.rpartition(".")[2].removesuffix("Classifier").removesuffix("Regressor")
    return name.endswith(TREES)


def dtype_of(path: str) -> str:
    """The type of the matrix that an estimator gets."""
    return "float32" if is_of_trees(path) and not path.rpartition(".")[2].startswith(WIDE_TREES) else "float64"


def with_preparation(path: str, estimator: Any, features: list[dict[str, Any]]) -> Any:
    """The estimator, or a pipeline with the preparation in front of it."""
    if is_of_trees(path):
        return estimator
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    texts = [at for at, one in enumerate(features) if one["kind"] == "text"]
    others = [at for at, one in enumerate(features) if one["kind"] == "number"]
    if not texts:
        # Choosing all columns would copy the matrix twice, which takes as long as scaling it.
        return Pipeline([("columns", StandardScaler()), ("estimator", estimator)])
    categories: Any = [[float(code) for code in range(len(features[at]["categories"]))] for at in texts]
    coder = OneHotEncoder(categories=categories, handle_unknown="ignore", sparse_output=False)
    steps: list[Any] = [("numbers", StandardScaler(), others)] if others else []
    steps.append(("texts", coder, texts))
    return Pipeline([("columns", ColumnTransformer(steps)), ("estimator", estimator)])


def task_of(estimator: Any) -> str:
    """`classification` or `regression`."""
    from sklearn.base import is_classifier, is_regressor

    if is_classifier(estimator):
        return "classification"
    if is_regressor(estimator):
        return "regression"
    raise ModelError(f"{type(estimator).__name__} is neither a classifier nor a regressor")
