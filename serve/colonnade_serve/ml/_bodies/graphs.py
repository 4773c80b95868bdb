# pyright: reportMissingImports=false
"""Models as ONNX: one input for each feature, with its name and type, then the preparation, then the estimator."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any

import numpy

from .columns import as_kind, refuse_large
from .refused import ModelError

#: Of what is compared, and the largest difference: of probabilities, and of a regression's numbers relative to them.
LARGEST_DIFFERENCE = 1e-5
#: Rows on which a converted model is compared with the original.
MOST_COMPARED = 10_000
#: The key of the description in a model's metadata.
DESCRIPTION = "colonnade"
#: What the preparation of columns makes, and the estimator takes.
MATRIX = "colonnade/matrix"


def column_graph(features: list[dict[str, Any]], dtype: str, opsets: list[Any], ir_version: int) -> Any:
    """The graph that makes the estimator's matrix of the features."""
    from onnx import TensorProto, helper

    nodes, inputs, constants, joined = [], [], [], []
    to = TensorProto.FLOAT if dtype == "float32" else TensorProto.DOUBLE
    for at, one in enumerate(features):
        name, made = one["name"], f"colonnade/{at}"
        if one["kind"] == "number":
            inputs.append(helper.make_tensor_value_info(name, TensorProto.DOUBLE, [None, 1]))
            constants.append(helper.make_tensor(f"{made}/fill", TensorProto.DOUBLE, [1], [one["fill"]]))
            nodes.append(helper.make_node("IsNaN", [name], [f"{made}/null"]))
            nodes.append(helper.make_node("Where", [f"{made}/null", f"{made}/fill", name], [f"{made}/filled"]))
            before = f"{made}/filled"
        else:
            inputs.append(helper.make_tensor_value_info(name, TensorProto.STRING, [None, 1]))
            codes = [float(code) for code in range(len(one["categories"]))]
            before = f"{made}/code"
            nodes.append(
                helper.make_node(
                    "LabelEncoder",
                    [name],
                    [before],
                    domain="ai.onnx.ml",
                    keys_strings=one["categories"],
                    values_floats=codes,
                    default_float=-1.0,
                )
            )
        nodes.append(helper.make_node("Cast", [before], [f"{made}/cast"], to=to))
        joined.append(f"{made}/cast")
    nodes.append(helper.make_node("Concat", joined, [MATRIX], axis=1))
    output = helper.make_tensor_value_info(MATRIX, to, [None, len(features)])
    graph = helper.make_graph(nodes, "columns", inputs, [output], constants)
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)


def converted_graph(model: Any, spec: dict[str, Any], dtype: str) -> bytes:
    """The model as ONNX, computed in floats of this type. An exception says that some part of it has no conversion."""
    from onnx import compose, helper

    core = estimator_graph(model, spec, dtype)
    versions = {one.domain: one.version for one in core.opset_import}
    # The encoder of texts needs the third version; what the first two have is unchanged in it.
    versions["ai.onnx.ml"] = max(versions.get("ai.onnx.ml", 0), 3)
    opsets = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    del core.opset_import[:]
    core.opset_import.extend(opsets)
    before = column_graph(spec["features"], dtype, opsets, core.ir_version)
    # All names of the estimator's graph get a prefix, so that a feature can have any name.
    core = compose.add_prefix(core, "estimator/")
    whole = compose.merge_models(before, core, io_map=[(MATRIX, "estimator/X")])
    helper.set_model_props(whole, {DESCRIPTION: json.dumps(graph_description(spec))})
    return whole.SerializeToString()


def estimator_graph(model: Any, spec: dict[str, Any], dtype: str) -> Any:
    """The graph from the matrix to the predictions."""
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    kind = FloatTensorType if dtype == "float32" else DoubleTensorType
    types = [("X", kind([None, len(spec["features"])]))]
    with histogram_nodes():
        return converted_estimator(model, spec, types, convert_sklearn)


def converted_estimator(model: Any, spec: dict[str, Any], types: list[Any], convert: Any) -> Any:
    """The estimator as skl2onnx converts it."""
    if spec["task"] == "classification":
        final = model.steps[-1][1] if hasattr(model, "steps") else model
        try:
            # Probabilities as a matrix instead of dictionaries. An estimator without probabilities has no such option.
            return convert(model, initial_types=types, options={id(final): {"zipmap": False}}, target_opset=18)
        except NameError:
            pass
    return convert(model, initial_types=types, target_opset=18)


@contextlib.contextmanager
def histogram_nodes() -> Iterator[None]:
    """While trees over histograms are converted: skl2onnx 1.20 gives leaves booleans, where onnx takes integers."""
    from skl2onnx.common import tree_ensemble

    original = tree_ensemble.add_node

    def add_node(*given: Any, nodes_missing_value_tracks_true: Any = 0, **named: Any) -> Any:
        return original(*given, nodes_missing_value_tracks_true=int(nodes_missing_value_tracks_true), **named)

    tree_ensemble.add_node = add_node
    try:
        yield
    finally:
        tree_ensemble.add_node = original


def graph_description(spec: dict[str, Any]) -> dict[str, Any]:
    """The description without what the graph itself contains."""
    kept = ("name", "kind", "unit", "nulls")
    features = [{key: value for key, value in one.items() if key in kept} for one in spec["features"]]
    return {**spec, "features": features}


def graph_session(artifact: bytes, threads: int = 1) -> tuple[Any, dict[str, Any]]:
    """What runs a model in ONNX, and the model's description."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Tensors in files beside the model, whose names are in the artifact, are not read: nothing can be below a device.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.devnull)
    try:
        found = onnxruntime.InferenceSession(artifact, options, providers=["CPUExecutionProvider"])
        spec = json.loads(found.get_modelmeta().custom_metadata_map[DESCRIPTION])
    except Exception as error:
        raise ModelError(f"onnxruntime cannot read the artifact: {str(error).partition(chr(10))[0]}") from None
    return found, spec


def graph_inputs(running: Any, spec: dict[str, Any], columns: list[Any]) -> dict[str, Any]:
    """An array for each feature."""
    inputs = running.get_inputs()
    if [one.name for one in inputs] != [one["name"] for one in spec["features"]]:
        raise ModelError("the artifact's inputs are not the model's features")
    found = {}
    for one, given, column in zip(spec["features"], inputs, columns, strict=True):
        values = as_kind(one, column).reshape(-1, 1)
        # A pipeline that chooses columns by their names may be converted in floats of 32 bits.
        if given.type == "tensor(float)" and one["kind"] == "number":
            try:
                with numpy.errstate(over="raise"):
                    values = values.astype(numpy.float32)
            except FloatingPointError:
                refuse_large(one)
        found[given.name] = values
    return found


def graph_outputs(running: Any, spec: dict[str, Any], rows: Any, with_probabilities: bool) -> tuple[Any, Any]:
    """The numbers of the classes with their probabilities, or the numbers of a regression and None. The rows are the
    matrix, if the description names one, or an array for each feature."""
    given = {spec["matrix"]: rows} if "matrix" in spec else rows
    names = [one.name for one in running.get_outputs()]
    wanted = names[:2] if with_probabilities and len(names) > 1 else names[:1]
    try:
        found = running.run(wanted, given)
    except Exception as error:
        raise ModelError(f"onnxruntime: {str(error).partition(chr(10))[0]}") from None
    if spec["task"] == "regression":
        return numpy.asarray(found[0], numpy.float64).reshape(-1), None
    return numpy.asarray(found[0]).reshape(-1), found[1] if len(found) > 1 else None


def graph_difference(running: Any, model: Any, spec: dict[str, Any], columns: list[Any], rows: numpy.ndarray) -> str:
    """How the converted model differs from the original on some of the rows; empty if it does not."""
    few = [column[:MOST_COMPARED] for column in columns]
    original = rows[:MOST_COMPARED]
    found, chances = graph_outputs(running, spec, graph_inputs(running, spec, few), with_probabilities=True)
    wanted = model.predict(original)
    if spec["task"] == "classification":
        wrong = int((found != wanted).sum())
        if wrong:
            return f"{wrong} of {len(original)} rows get another class"
        if hasattr(model, "predict_proba") and chances is not None:
            largest = float(numpy.abs(chances - model.predict_proba(original)).max())
            return f"a probability differs by {largest:.2g}" if not largest <= LARGEST_DIFFERENCE else ""
        return ""
    scale = numpy.maximum(numpy.abs(wanted), numpy.abs(wanted).mean() + 1e-300)
    largest = float((numpy.abs(found - wanted) / scale).max())
    return f"a number differs by {largest:.2g} of itself" if not largest <= LARGEST_DIFFERENCE else ""
