# pyright: reportMissingImports=false
"""The part of a model in ONNX that comes after the preparation of its columns.

onnxruntime takes as long for the preparation as for a forest of ten trees, because it writes each value of a row alone.
`columns.matrix` makes the same matrix in a tenth of this time.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

from .graphs import DESCRIPTION, MATRIX, column_graph, graph_session

#: Larger artifacts keep their preparation: in a message of protobuf they would be in memory twice more.
LARGEST_CUT = 64 << 20


def opened_graph(artifact: bytes) -> tuple[Any, dict[str, Any]]:
    """What runs a model in ONNX, and the model's description. If that names a `matrix`, the only input is the matrix of
    `columns.matrix` with `features` and `dtype`."""
    found = None
    if len(artifact) <= LARGEST_CUT:
        # An artifact without this preparation ends here too. Whatever else is wrong, onnxruntime says below.
        with contextlib.suppress(Exception):
            import onnx

            model = onnx.load_model_from_string(artifact)
            texts = {one.key: one.value for one in model.metadata_props}
            found = after_preparation(model, json.loads(texts[DESCRIPTION])["features"])
    if found is None:
        return graph_session(artifact)
    model, features, dtype = found
    running, spec = graph_session(model.SerializeToString())
    return running, {**spec, "features": features, "dtype": dtype, "matrix": MATRIX}


def after_preparation(model: Any, features: list[dict[str, Any]]) -> tuple[Any, list[dict[str, Any]], str] | None:
    """The model without its preparation, the features with what the preparation says of them, and the type of the
    matrix. None unless the preparation is exactly the one of `column_graph`."""
    from onnx import TensorProto

    graph = model.graph
    inputs = [one for one in graph.value_info if one.name == MATRIX]
    fills = {one.name: one.double_data[0] for one in graph.initializer if one.double_data}
    coders = {node.output[0]: node for node in graph.node if node.op_type == "LabelEncoder"}
    described = []
    for at, one in enumerate(features):
        if one["kind"] == "number":
            described.append({**one, "fill": fills[f"colonnade/{at}/fill"]})
            continue
        (texts,) = (each.strings for each in coders[f"colonnade/{at}/code"].attribute if each.name == "keys_strings")
        described.append({**one, "categories": [text.decode() for text in texts]})
    dtypes = {TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64"}
    dtype = dtypes.get(inputs[0].type.tensor_type.elem_type) if inputs else None
    if dtype is None:
        return None
    expected = column_graph(described, dtype, list(model.opset_import), model.ir_version).graph
    count = len(expected.node)
    constants = [one for one in graph.initializer if one.name.startswith("colonnade/")]
    found = (graph.node[:count], constants, graph.input)
    for here, there in zip(found, (expected.node, expected.initializer, expected.input), strict=True):
        # As bytes, because NaN does not equal itself.
        if [one.SerializeToString() for one in here] != [one.SerializeToString() for one in there]:
            return None
    nodes = list(graph.node[count:])
    others = [one for one in graph.initializer if not one.name.startswith("colonnade/")]
    del graph.node[:], graph.initializer[:], graph.input[:]
    graph.node.extend(nodes)
    graph.initializer.extend(others)
    graph.input.extend(inputs)
    return model, described, dtype
