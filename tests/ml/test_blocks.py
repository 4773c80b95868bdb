"""More rows than a pipeline of scikit-learn gets at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not here; make test-ml runs this")
pytest.importorskip("onnxruntime", reason="onnxruntime is not here; make test-ml runs this")

from colonnade.ml import ModelError
from colonnade_serve.ml._bodies.columns import BLOCK
from colonnade_serve.ml._bodies.stored import model_of

from tests.ml.local import Local

COUNT = 2 * BLOCK + 17


def given_rows() -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    given: dict[str, Any] = {name: random.normal(size=COUNT) * 10**at for at, name in enumerate("abcde")}
    return {**given, "i": random.integers(0, 9, COUNT)}


def trained(kind: str, given: dict[str, np.ndarray]) -> tuple[Local, Any]:
    """A database with a model of the first rows, and this model of scikit-learn's."""
    label = given["a"] + given["i"] if kind == "linear_regression" else np.where(given["i"] > 4, "high", "low")
    local, few = Local(), {name: one[:500] for name, one in {**given, "y": label.astype(object)}.items()}
    if kind == "linear_regression":
        few["y"] = label[:500]
    local.train(f"train_{kind}", few, "{}", "m", "pickle")
    return local, model_of(local, "main.models", "m")[0]


@pytest.mark.parametrize("kind", ["logistic_regression", "naive_bayes", "neural_network"])
def test_classes_and_probabilities(kind: str) -> None:
    given = given_rows()
    local, model = trained(kind, given)
    assert hasattr(model, "steps")
    matrix = np.column_stack([*given.values()])
    codes, chances = model.predict(matrix), model.predict_proba(matrix)
    assert (local.call("predict", given, "m")["label"] == np.array(["high", "low"])[codes]).all()
    found = local.call("predict_proba", given, "m")
    assert (found["label"] == np.array(["high", "low"])[codes]).all()
    # The library of linear algebra may add the products of the last rows of a matrix in another order.
    assert np.allclose(found["confidence"], chances[np.arange(COUNT), codes], rtol=1e-12, atol=0)


def test_numbers() -> None:
    given = given_rows()
    local, model = trained("linear_regression", given)
    found = local.call("predict", given, "m")["prediction"]
    assert np.allclose(found, model.predict(np.column_stack([*given.values()])), rtol=1e-12, atol=1e-12)


def test_the_row_of_a_value_in_a_later_block() -> None:
    given = given_rows()
    local, _ = trained("linear_regression", given)
    given["c"][BLOCK + 5] = np.inf
    with pytest.raises(ModelError, match=f'column "c", row {BLOCK + 6}: an infinite value'):
        local.call("predict", given, "m")
