"""Rows of the table that somebody has written by hand: artifacts, hashes, versions and descriptions."""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not here; make test-ml runs this")
pytest.importorskip("onnx", reason="onnx is not here; make test-ml runs this")
pytest.importorskip("onnxruntime", reason="onnxruntime is not here; make test-ml runs this")

import onnx
from colonnade.ml import ModelError
from colonnade_serve.ml._bodies.graphs import DESCRIPTION, graph_session
from colonnade_serve.ml._bodies.matrix_graphs import opened_graph
from colonnade_serve.ml._bodies.pickled import pickled_model, unpickled_model
from colonnade_serve.ml._model import Model
from onnx import TensorProto, helper
from sklearn.preprocessing import OneHotEncoder

from tests.ml.local import Local
from tests.ml.pickles import changing

GIVEN = {"x": np.arange(60), "t": np.array(["p", "q"] * 30, object)}
LABEL = np.where(np.arange(60) > 30, "late", "early").astype(object)


def stored(form: str, label: Any = LABEL) -> tuple[Local, dict[str, Any]]:
    local = Local()
    return local, local.train("train_decision_tree", {**GIVEN, "y": label}, "{}", "m", form)


def replace(local: Local, artifact: bytes) -> None:
    local.database.execute(
        "UPDATE models SET artifact = ?, sha256 = ?", [artifact, hashlib.sha256(artifact).hexdigest()]
    )


def test_a_pickle_opens_no_file(tmp_path: Path) -> None:
    """`numpy.memmap` is a class of numpy's which writes."""
    target = tmp_path / "kept"
    target.write_text("kept")

    class Forged:
        def __reduce__(self) -> Any:
            return np.memmap, (str(target), "uint8", "w+", 0, (1,))

    with pytest.raises(ModelError, match=r"the pickle names numpy\.memmap"):
        unpickled_model(pickle.dumps({"model": Forged(), "spec": {}}))
    assert target.read_text() == "kept"
    for name in ("vectorize", "memmap", "matrix", "recarray", "errstate", "nditer", "poly1d", "ufunc"):
        with pytest.raises(ModelError, match=f"names numpy.{name}"):
            unpickled_model(f"cnumpy\n{name}\n.".encode())


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("sklearn.tree._classes", "DecisionTreeClassifier"),
        ("sklearn.pipeline", "Pipeline"),
        ("sklearn._loss.link", "IdentityLink"),
        ("sklearn.utils._bunch", "Bunch"),
        ("sklearn.neighbors._kd_tree", "newObj"),
    ],
)
def test_a_model_does_not_change_others(module: str, name: str) -> None:
    """A state for a class of scikit-learn's could give all its models another method."""
    target = getattr(importlib.import_module(module), name)
    kept = target.__doc__
    with pytest.raises(ModelError, match="which other models may use"):
        unpickled_model(changing(module, name, "__doc__"))
    assert target.__doc__ == kept


@pytest.mark.parametrize("module", ["sklearn.conftest", "sklearn.tree.tests.test_tree", "sklearn.experimental.x"])
def test_only_modules_of_estimators_are_imported(module: str) -> None:
    with pytest.raises(ModelError, match="do not consist of"):
        unpickled_model(f"c{module}\nanything\n.".encode())
    assert module not in sys.modules


def test_types_of_numpy_are_read() -> None:
    coder = OneHotEncoder(dtype=np.float32).fit([["a"], ["b"]])
    assert unpickled_model(pickled_model(coder, {}))[0].dtype is np.float32


@pytest.mark.parametrize("form", ["onnx", "pickle"])
def test_the_hash_of_another_model_is_damage(form: str) -> None:
    """Also if this process has opened the other one."""
    local, _ = stored(form)
    local.train("train_decision_tree", {**GIVEN, "y": LABEL[::-1].copy()}, "{}", "other", form)
    for name in ("m", "other"):
        local.call("predict", GIVEN, name)
    local.database.execute(
        "UPDATE models SET sha256 = (SELECT sha256 FROM models WHERE name = 'other') WHERE name = 'm'"
    )
    with pytest.raises(ModelError, match="m@1: the artifact is damaged"):
        local.call("predict", GIVEN, "m")


@pytest.mark.parametrize("change", ["python = NULL", "libraries = NULL", "libraries = '[1]'", "libraries = 'null'"])
def test_versions_that_are_unknown_are_others(change: str) -> None:
    local, _ = stored("pickle")
    local.database.execute(f"UPDATE models SET {change}")
    with pytest.raises(ModelError, match=r"m@1 was made with .* unknown, and .* is here: train it again"):
        local.call("predict", GIVEN, "m")


@pytest.mark.parametrize("change", ["sha256 = NULL", "artifact = NULL", "format = NULL"])
def test_a_row_without_its_parts_is_named(change: str) -> None:
    local, _ = stored("onnx")
    local.database.execute(f"UPDATE models SET {change}")
    with pytest.raises(ModelError, match=r"damaged|has no artifact|the format None is unknown"):
        local.call("predict", GIVEN, "m")


DESCRIPTIONS: list[Any] = [
    [],
    None,
    {"task": "classification"},
    {"features": []},
    {"features": [1, 2]},
    {"features": [{"name": 1, "kind": "number"}]},
    {"features": [{"name": "x", "kind": "other"}]},
    {"classes": []},
    {"classes": ["a", 1]},
    {"classes": [["a"], ["b"]]},
    {"coded": None},
    {"dtype": "object"},
]


@pytest.mark.parametrize("form", ["onnx", "pickle"])
def test_a_description_is_checked(form: str) -> None:
    local, row = stored(form)
    # The type of the matrix is read from the graph in ONNX.
    for wrong in DESCRIPTIONS if form == "pickle" else DESCRIPTIONS[:-1]:

        def changed(spec: dict[str, Any], wrong: Any = wrong) -> Any:
            return {**spec, **wrong} if isinstance(wrong, dict) and wrong.keys() != {"task"} else wrong

        if form == "onnx":
            model = onnx.load_model_from_string(row["artifact"])
            (entry,) = (one for one in model.metadata_props if one.key == DESCRIPTION)
            entry.value = json.dumps(changed(json.loads(entry.value)))
            replace(local, model.SerializeToString())
        else:
            model, spec = unpickled_model(row["artifact"])
            replace(local, pickled_model(model, changed(spec)))
        with pytest.raises(ModelError, match="the artifact has no description"):
            local.call("predict", GIVEN, "m")
        forged = local.database.sql("SELECT * FROM models").to_arrow_table().to_pylist()[0]
        with pytest.raises(ModelError, match="the artifact has no description"):
            Model(forged)


def test_a_class_that_is_not_there_is_named() -> None:
    for form in ("onnx", "pickle"):
        local, row = stored(form, np.arange(60) % 3)
        if form == "onnx":
            model = onnx.load_model_from_string(row["artifact"])
            (entry,) = (one for one in model.metadata_props if one.key == DESCRIPTION)
            entry.value = json.dumps({**json.loads(entry.value), "classes": [0]})
            replace(local, model.SerializeToString())
        else:
            model, spec = unpickled_model(row["artifact"])
            replace(local, pickled_model(model, {**spec, "classes": [0]}))
        with pytest.raises(ModelError, match="but it has 1 classes"):
            local.call("predict", GIVEN, "m")
        with pytest.raises(ModelError, match=r"but it has 1 classes|no probability for each class"):
            local.call("predict_proba", GIVEN, "m")


def graph(node: Any, constants: list[Any], outputs: list[Any]) -> bytes:
    """A model over the number `x`, whose only node is this one."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.DOUBLE, [None, 1])]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("other", 1)]
    whole = helper.make_graph([node], "g", inputs, outputs, constants)
    model = helper.make_model(whole, opset_imports=opsets, ir_version=9)
    feature = {"name": "x", "kind": "number", "unit": "number"}
    spec = {"task": "regression", "features": [feature], "coded": True, "dtype": "float64"}
    helper.set_model_props(model, {DESCRIPTION: json.dumps(spec)})
    return model.SerializeToString()


OUTPUT = helper.make_tensor_value_info("y", TensorProto.DOUBLE, [None, 1])


def outside(location: str) -> Any:
    """A tensor whose values are in a file."""
    tensor = TensorProto(name="w", data_type=TensorProto.DOUBLE, dims=[1, 1], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", "0"), ("length", "8")):
        tensor.external_data.add(key=key, value=value)
    return tensor


@pytest.mark.parametrize("opened", [graph_session, opened_graph])
@pytest.mark.parametrize("location", ["secret", "{}/secret", "../{name}/secret", "/etc/passwd"])
def test_onnx_reads_no_files(
    opened: Callable[[bytes], Any], location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_bytes(np.ones(1).tobytes())
    monkeypatch.chdir(tmp_path)
    for operation in ("MatMul", "Add"):
        node = helper.make_node(operation, ["x", "w"], ["y"])
        artifact = graph(node, [outside(location.format(tmp_path, name=tmp_path.name))], [OUTPUT])
        with pytest.raises(ModelError, match=r"onnxruntime cannot read the artifact.*External data path"):
            opened(artifact)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (helper.make_node("Evil", ["x"], ["y"], domain="other"), "is not a registered function/op"),
        (helper.make_node("Add", ["x", "y"], ["y"]), "cannot read the artifact"),
        (helper.make_node("Add", ["x", "nothing"], ["y"]), "cannot read the artifact"),
    ],
)
def test_graphs_that_are_none_are_named(node: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        opened_graph(graph(node, [], [OUTPUT]))


def test_a_graph_that_gives_other_rows_is_refused() -> None:
    local, _ = stored("onnx")
    local.database.execute("UPDATE models SET format = 'onnx', task = 'regression'")
    constant = helper.make_tensor("w", TensorProto.DOUBLE, [2, 1], [1.0, 2.0])
    replace(local, graph(helper.make_node("Concat", ["x", "w"], ["y"], axis=0), [constant], [OUTPUT]))
    with pytest.raises(ModelError, match="the artifact gives 62 predictions for 60 rows"):
        local.call("predict", GIVEN, "m")
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3))
    replace(local, buffer.getvalue())
    with pytest.raises(ModelError, match="onnxruntime cannot read the artifact"):
        local.call("predict", GIVEN, "m")
