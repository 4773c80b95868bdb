"""Models in ONNX from their matrix on, against the whole graphs that are stored."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not here; make test-ml runs this")
pytest.importorskip("onnx", reason="onnx is not here; make test-ml runs this")
pytest.importorskip("onnxruntime", reason="onnxruntime is not here; make test-ml runs this")

import onnx
from colonnade.ml import ModelError
from colonnade_serve.ml._bodies import matrix_graphs
from colonnade_serve.ml._bodies.applied import applied
from colonnade_serve.ml._bodies.columns import NULL_TEXT
from colonnade_serve.ml._bodies.graphs import graph_session
from colonnade_serve.ml._bodies.matrix_graphs import opened_graph
from colonnade_serve.ml._bodies.single import column_of, number_of, row_call
from colonnade_serve.ml._frames import columns_of
from colonnade_serve.ml._saved import row_of_model
from sklearn.ensemble import HistGradientBoostingClassifier

from tests.ml import people
from tests.ml.local import Local

TRAINERS = ["random_forest", "gradient_boosting", "logistic_regression", "ridge", "decision_tree_regression"]


def artifact(trainer: str = "random_forest") -> bytes:
    local, given = Local(), people.columns(500)
    is_regression = trainer in ("ridge", "decision_tree_regression")
    label = people.turnout(given) if is_regression else people.votes(given)
    return local.train(f"train_{trainer}", {**given, "y": label}, "{}", "m", "onnx")["artifact"]


def others() -> dict[str, Any]:
    """Rows with NULL in each column, and with texts that the training did not have."""
    given = people.columns(20_000, seed=3)
    given = {name: np.ma.MaskedArray(column) for name, column in given.items()}
    for at, column in enumerate(given.values()):
        column[at::100] = np.ma.masked
    given["sex"][7::50] = "other"
    return columns_of(given)


@pytest.mark.parametrize("trainer", TRAINERS)
def test_the_matrix_is_that_of_the_preparation(trainer: str) -> None:
    stored = artifact(trainer)
    whole, by_matrix = graph_session(stored), opened_graph(stored)
    assert [one.name for one in whole[0].get_inputs()] == list(people.columns(1))
    assert [one.name for one in by_matrix[0].get_inputs()] == [by_matrix[1]["matrix"]]
    given, chances = others(), by_matrix[1]["task"] == "classification"
    (labels, probabilities), (same, as_well) = (applied(*one, given, chances) for one in (whole, by_matrix))
    # Both matrices have the same bits. Sums of their products may be added in another order.
    if trainer == "ridge":
        assert np.allclose(labels.to_numpy(), same.to_numpy(), rtol=1e-12)
    else:
        assert labels.equals(same)
    if chances:
        assert np.allclose(probabilities, as_well, rtol=0, atol=1e-6)


def test_a_saved_model_decides_what_it_does_with_null() -> None:
    rows = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, np.nan], [5.0, 6.0]] * 25)
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5).fit(rows, ["a", "b", "a", "a"] * 25)
    row = row_of_model(model, "m", rows, "onnx", None, None)
    running, spec = opened_graph(row["artifact"])
    assert "matrix" in spec
    assert all(math.isnan(one["fill"]) for one in spec["features"])
    assert applied(running, spec, columns_of(rows), False)[0].to_pylist() == model.predict(rows).tolist()


def changed_fill(graph: Any) -> None:
    graph.initializer.add(name="other", data_type=onnx.TensorProto.DOUBLE, dims=[1], double_data=[1.0])
    next(node for node in graph.node if node.op_type == "Where").input[1] = "other"


def changed_default(graph: Any) -> None:
    node = next(node for node in graph.node if node.op_type == "LabelEncoder")
    next(one for one in node.attribute if one.name == "default_float").f = 0.0


def changed_order(graph: Any) -> None:
    node = next(node for node in graph.node if node.op_type == "Concat" and "colonnade/matrix" in node.output)
    names = list(node.input)
    node.input[:] = [names[1], names[0], *names[2:]]


def renamed(graph: Any) -> None:
    graph.input[0].name = "Age"
    for node in graph.node:
        node.input[:] = ["Age" if name == "age" else name for name in node.input]


@pytest.mark.parametrize("change", [changed_fill, changed_default, changed_order, renamed])
def test_another_preparation_is_run_as_it_is(change: Callable[[Any], None]) -> None:
    model = onnx.load_model_from_string(artifact())
    change(model.graph)
    running, spec = opened_graph(model.SerializeToString())
    assert "matrix" not in spec
    assert len(running.get_inputs()) == len(people.columns(1))


def test_large_and_damaged_artifacts(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = artifact()
    with pytest.raises(ModelError, match="onnxruntime cannot read the artifact"):
        opened_graph(stored[: len(stored) // 2])
    monkeypatch.setattr(matrix_graphs, "LARGEST_CUT", len(stored) - 1)
    assert "matrix" not in opened_graph(stored)[1]


@pytest.mark.parametrize("form", ["onnx", "pickle"])
def test_a_row_is_predicted_as_many_are(form: str) -> None:
    """Whatever is NULL or unknown in it."""
    local, given = Local(), people.columns(500)
    names = ["age", "income", "sex", "party", "is_active"]
    given = {name: given[name] for name in names}
    local.train("train_random_forest", {**given, "y": people.votes(people.columns(500))}, "{}", "m", form)
    wanted = people.columns(100, seed=4)
    wanted = {name: np.ma.MaskedArray(wanted[name]) for name in names}
    wanted["sex"][::9] = "other"
    for at, column in enumerate(wanted.values()):
        column[at::20] = np.ma.masked
    table = columns_of(wanted)
    objects = [
        dict(zip(names, row, strict=True)) for row in zip(*(table[name].to_pylist() for name in names), strict=True)
    ]
    found = row_call(np.array([json.dumps(row) for row in objects], object), "m", local, "main.models")
    assert found == local.call("predict", wanted, "m")["label"].tolist()


def test_what_no_row_may_have() -> None:
    number, text = {"name": "x", "kind": "number", "fill": 7.0}, {"name": "t", "kind": "text", "categories": ["a"]}
    assert (number_of(number, {"x": None}), number_of(number, {"x": math.nan})) == (7.0, 7.0)
    assert (number_of(number, {"x": True}), number_of(text, {"t": "a"}), number_of(text, {"t": "b"})) == (1, 0, -1)
    assert number_of(text, {"t": None}) == -1
    assert column_of(text, [{"t": None}]).null_count == 1
    with pytest.raises(ModelError, match="an infinite value"):
        number_of(number, {"x": math.inf})
    for one in (text, {**text, "categories": ["a", NULL_TEXT]}):
        with pytest.raises(ModelError, match=r"U\+FDD0 is reserved"):
            number_of(one, {"t": NULL_TEXT})
    assert number_of({**text, "categories": ["a", NULL_TEXT]}, {"t": None}) == 1
