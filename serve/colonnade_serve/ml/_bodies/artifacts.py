"""Artifacts: what is stored of a model, and what is checked before it is used again."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable
from typing import Any

import numpy

from .columns import as_kind
from .graphs import LARGEST_DIFFERENCE, converted_graph, graph_difference, graph_session
from .pickled import pickled_model, unpickled_model
from .refused import ModelError

FORMATS = ("auto", "onnx", "pickle")


def library_versions() -> dict[str, str]:
    """The versions of the libraries that are here."""
    from importlib import metadata

    found = {}
    for name in ("scikit-learn", "numpy", "scipy", "skl2onnx", "onnx", "onnxruntime"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def new_artifact(
    model: Any,
    spec: dict[str, Any],
    format: str,
    columns: list[Any],
    rows: Any,
    convert: Callable[[Any, dict[str, Any], str], bytes] = converted_graph,
) -> tuple[str, bytes]:
    """The format and the artifact of a trained model. `auto` is ONNX if the converted model predicts the same."""
    if format not in FORMATS:
        raise ModelError(f"the format {format!r} does not exist: use {', '.join(FORMATS)}")
    reasons: list[str] = []
    # Trees compare 32-bit floats, and other estimators compute with 64 bits, for which not all have a conversion.
    for dtype in () if format == "pickle" else dict.fromkeys((spec["dtype"], "float32")):
        try:
            if dtype != spec["dtype"]:
                check_rounding(spec, columns)
            artifact = convert(model, spec, dtype)
            running, _ = graph_session(artifact)
            reasons.append(graph_difference(running, model, spec, columns, rows))
            if not reasons[-1]:
                return "onnx", artifact
        except ImportError as error:
            reasons.append(f"{error.name} is not installed")
        except Exception as error:
            reasons.append(f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}")
    if format == "onnx":
        raise ModelError(f"the model has no equal in ONNX ({reasons[-1]}); use the format 'pickle'")
    if reasons:
        spec["reason"] = reasons[-1]
    try:
        return "pickle", pickled_model(model, spec)
    except ModelError as error:
        raise ModelError(f"{error}. It has no equal in ONNX: {reasons[-1]}" if reasons else str(error)) from None


def check_rounding(spec: dict[str, Any], columns: list[Any]) -> None:
    """Refuse 32-bit floats if they change a feature by more than a part of its standard deviation: seconds since 1970
    differ by a minute. The rows of the comparison, with which the model was trained, need not show it."""
    for one, column in zip(spec["features"], columns, strict=True):
        if one["kind"] != "number":
            continue
        values = as_kind(one, column)
        values = values[~numpy.isnan(values)]
        if not len(values) or values.min() == values.max():
            continue
        with numpy.errstate(over="ignore", invalid="ignore"):
            change = numpy.abs(values - values.astype(numpy.float32)).max()
            is_small = change <= LARGEST_DIFFERENCE * values.std()
        if not is_small:
            raise ModelError(f'32-bit floats, which ONNX has for it, change the column "{one["name"]}" by {change:.2g}')


def opened_artifact(
    name: str, row: dict[str, Any], open_graph: Callable[[bytes], tuple[Any, dict[str, Any]]] = graph_session
) -> tuple[Any, dict[str, Any]]:
    """The stored model and its description, after its bytes and the versions were checked. In ONNX it is a session of
    onnxruntime, otherwise scikit-learn's estimator."""
    artifact = row["artifact"]
    if hashlib.sha256(artifact).hexdigest() != row["sha256"]:
        raise ModelError(
            f"{name}: the artifact is damaged, its SHA-256 is not the stored one; restore it or train again"
        )
    if row["format"] == "onnx":
        model, spec = open_graph(artifact)
    elif row["format"] == "pickle":
        check_versions(name, row["python"] or "", versions_of(row["libraries"]))
        model, spec = unpickled_model(artifact)
    else:
        raise ModelError(f"{name}: the format {row['format']!r} is unknown")
    if not is_description(spec, row["format"] == "pickle"):
        raise ModelError(f"{name}: the artifact has no description; store it with train or colonnade.ml.save")
    return model, spec


def is_description(spec: Any, is_pickle: bool) -> bool:
    """Whether a model's description has all that predictions read of it."""
    if not isinstance(spec, dict) or spec.get("task") not in ("classification", "regression"):
        return False
    classes, features = spec.get("classes"), spec.get("features")
    is_list = isinstance(classes, list) and {type(one) for one in classes} in ({str}, {bool}, {int}, {float})
    if spec["task"] == "classification" and not is_list:
        return False
    if not isinstance(features, list) or not features or not isinstance(spec.get("coded"), bool):
        return False
    if spec.get("dtype") not in ("float32", "float64"):
        return False
    is_matrix = is_pickle and spec.get("takes") != "frame"
    return all(isinstance(one, dict) and is_feature(one, is_matrix) for one in features)


def is_feature(one: dict[str, Any], is_matrix: bool) -> bool:
    """Whether a feature has a name, a kind, and what a matrix needs: a number for NULL, or categories."""
    if not isinstance(one.get("name"), str) or one.get("kind") not in ("number", "text"):
        return False
    if not is_matrix:
        return True
    if one["kind"] == "number":
        return isinstance(one.get("fill"), float)
    return isinstance(one.get("categories"), list) and all(isinstance(text, str) for text in one["categories"])


def versions_of(libraries: Any) -> dict[str, str]:
    """The column `libraries`, which anybody who may write to the table can change."""
    try:
        found = json.loads(libraries or "{}")
    except ValueError:
        found = None
    return {name: str(version) for name, version in found.items()} if isinstance(found, dict) else {}


def check_versions(name: str, python: str, libraries: dict[str, str]) -> None:
    """Refuse a pickle of another minor version of Python or scikit-learn, or of another major version of numpy."""
    here = {"Python": platform.python_version(), **library_versions()}
    for library, parts in (("Python", 2), ("scikit-learn", 2), ("numpy", 1)):
        stored = python if library == "Python" else libraries.get(library, "")
        found = here.get(library, "none")
        if stored.split(".")[:parts] != found.split(".")[:parts]:
            raise ModelError(
                f"{name} was made with {library} {stored or 'unknown'}, and {found} is here: "
                "train it again, or train it with the format 'onnx', which does not depend on versions"
            )
