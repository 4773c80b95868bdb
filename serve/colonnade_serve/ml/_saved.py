# pyright: reportMissingImports=false
"""Models of scikit-learn that were trained in this process, as rows of the table."""

from __future__ import annotations

import datetime
import json
import platform
from typing import Any

from colonnade._libraries import require

from ._bodies.artifacts import library_versions, new_artifact
from ._bodies.columns import kind_of
from ._bodies.estimators import task_of
from ._bodies.graphs import DESCRIPTION, converted_graph, graph_description, histogram_nodes
from ._bodies.refused import ModelError
from ._bodies.stored import digest
from ._frames import columns_of


def description_of(model: Any, sample: Any) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """The description of a trained model, the sample's columns, and the sample as the model takes it."""
    numpy = require("numpy", "colonnade.ml")
    columns = columns_of(sample)
    spec: dict[str, Any] = {"task": task_of(model), "coded": False, "dtype": "float64", "features": []}
    for name, column in columns.items():
        kind = kind_of(name, column)
        if kind == "nothing":
            raise ModelError(f'all values of the sample\'s column "{name}" are NULL: give a sample with values')
        one: dict[str, Any] = {"name": name, "kind": kind}
        # The model itself decides what it does with NaN; for texts there is nothing that all pipelines take for NULL.
        one |= {"fill": float("nan")} if kind == "number" else {"nulls": False}
        spec["features"].append(one)
    if spec["task"] == "classification":
        spec["classes"] = numpy.asarray(model.classes_).tolist()
        spec["chances"] = hasattr(model, "predict_proba")
    spec["takes"] = "frame" if hasattr(model, "feature_names_in_") else "matrix"
    names = list(columns)
    if spec["takes"] == "frame" and list(model.feature_names_in_) != names:
        raise ModelError(f"the model was fitted with {list(model.feature_names_in_)}, and the sample has {names}")
    if spec["takes"] == "matrix" and any(one["kind"] == "text" for one in spec["features"]):
        raise ModelError("a model with texts must be fitted with a frame, and not with a matrix")
    return spec, columns, sample


def graph_of(model: Any, spec: dict[str, Any], dtype: str) -> bytes:
    """The model as ONNX: over one matrix, or if it chooses columns by names, with an input for each."""
    if all(one["kind"] == "number" for one in spec["features"]):
        try:
            return converted_graph(model, spec, dtype)
        except Exception:
            # A transformer of columns by their names has no conversion over a matrix.
            if spec["takes"] == "matrix":
                raise
    from onnx import helper
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType

    number = FloatTensorType if dtype == "float32" else DoubleTensorType
    kinds = {"number": number, "text": StringTensorType}
    types = [(one["name"], kinds[one["kind"]]([None, 1])) for one in spec["features"]]
    options = None
    if spec["task"] == "classification":
        options = {id(model.steps[-1][1] if hasattr(model, "steps") else model): {"zipmap": False}}
    with histogram_nodes():
        whole: Any = convert_sklearn(model, initial_types=types, options=options, target_opset=18)
    helper.set_model_props(whole, {DESCRIPTION: json.dumps(graph_description(spec))})
    return whole.SerializeToString()


def row_of_model(
    model: Any, name: str, sample: Any, format: str, parameters: dict[str, Any] | None, metrics: dict[str, float] | None
) -> dict[str, Any]:
    """The row of a trained model, without its version and its author."""
    if not name or "@" in name:
        raise ModelError("a model needs a name, without @")
    numpy = require("numpy", "colonnade.ml")
    spec, columns, rows = description_of(model, sample)
    if len(next(iter(columns.values()))) == 0:
        raise ModelError("the sample has no rows: give some of those with which the model was fitted")
    if numpy.size(model.predict(rows[:1])) != 1:
        raise ModelError("the model predicts several values for a row: save a model for each of them")
    format, artifact = new_artifact(model, spec, format, list(columns.values()), rows, graph_of)
    final = model.steps[-1][1] if hasattr(model, "steps") else model
    kind = type(final)
    return {
        "name": name,
        "created_at": datetime.datetime.now(datetime.UTC),
        "task": spec["task"],
        "algorithm": f"{public_module(kind)}.{kind.__name__}",
        "format": format,
        "artifact": artifact,
        "sha256": digest(artifact),
        "parameters": json.dumps(parameters if parameters is not None else plain(final.get_params(deep=False))),
        "metrics": json.dumps(metrics or {}),
        "features": list(columns),
        "classes": [str(one) for one in spec["classes"]] if "classes" in spec else None,
        "rows": None,
        "query": None,
        "python": platform.python_version(),
        "libraries": json.dumps(library_versions()),
    }


def public_module(kind: type) -> str:
    """The module by whose name people import a class: scikit-learn's own begin with an underscore."""
    parts = kind.__module__.split(".")
    return ".".join(part for part in parts if not part.startswith("_"))


def plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that JSON has."""
    kinds = (str, int, float, bool, type(None))
    finite = {name: value for name, value in parameters.items() if isinstance(value, kinds) and value == value}
    return {name: value for name, value in finite.items() if value not in (float("inf"), float("-inf"))}
