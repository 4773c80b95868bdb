"""Training and applying by scikit-learn and ONNX: the bodies over a local database."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not here; make test-ml runs this")
pytest.importorskip("onnxruntime", reason="onnxruntime is not here; make test-ml runs this")

from colonnade.ml import ModelError
from colonnade_serve.ml._functions import TRAINERS
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tests.ml import people
from tests.ml.local import Local
from tests.ml.trainers import SHORT, is_regression

PICKLED = ["random_forest", "logistic_regression", "neural_network", "support_vectors_regression"]


@pytest.mark.parametrize(
    ("trainer", "form"), [*((one, "auto") for one in TRAINERS), *((one, "pickle") for one in PICKLED)]
)
def test_a_trained_model_is_applied(trainer: str, form: str) -> None:
    local, given = Local(), people.columns(300)
    label = people.turnout(given) if is_regression(trainer) else people.votes(given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parameters = json.dumps(SHORT.get(trainer, {}))
        row = local.train(f"train_{trainer}", {**given, "y": label}, parameters, "m", form)
    assert row["format"] == ("pickle" if form == "pickle" else "onnx")
    assert (row["version"], row["rows"], row["features"]) == (1, 300, list(given))
    assert json.loads(row["libraries"])["scikit-learn"]
    found = local.call("predict", {**given, "id": np.arange(300)}, "m")
    assert list(found) == [*given, "id", "prediction" if is_regression(trainer) else "label"]
    if is_regression(trainer):
        assert row["classes"] is None
        assert np.corrcoef(found["prediction"], label)[0, 1] > 0.5 or trainer.startswith(("support", "neural"))
        with pytest.raises(ModelError, match="no probabilities"):
            local.call("predict_proba", given, "m")
    else:
        assert row["classes"] == ["DEM", "NONE", "REP"]
        assert (found["label"] == label).mean() > 0.45
        if trainer != "support_vectors":
            chances = local.call("predict_proba", given, "m")
            assert (chances["confidence"] >= 1 / 3 - 1e-6).all()
            assert (chances["confidence"] <= 1 + 1e-6).all()


def test_onnx_predicts_what_scikit_learn_does() -> None:
    local, given = Local(), people.columns(3_000)
    label = people.votes(given)
    for form in ("onnx", "pickle"):
        local.train("train_random_forest", {**given, "y": label}, '{"n_estimators": 20}', form, form)
    others = people.columns(3_000, seed=2)
    onnx = local.call("predict_proba", others, "onnx")
    original = local.call("predict_proba", others, "pickle")
    assert (onnx["label"] == original["label"]).all()
    assert np.abs(onnx["confidence"] - original["confidence"]).max() < 1e-5


@pytest.mark.parametrize("trainer", ["gradient_boosting", "gradient_boosting_regression"])
def test_histograms_predict_the_same_as_onnx(trainer: str) -> None:
    local, given = Local(), people.columns(3_000)
    label = people.turnout(given) if is_regression(trainer) else people.votes(given)
    for form in ("onnx", "pickle"):
        local.train(f"train_{trainer}", {**given, "y": label}, '{"max_iter": 30}', form, form)
    others = people.columns(3_000, seed=2)
    onnx, original = local.call("predict", others, "onnx"), local.call("predict", others, "pickle")
    if is_regression(trainer):
        assert np.abs(onnx["prediction"] - original["prediction"]).max() < 1e-5 * np.abs(original["prediction"]).max()
    else:
        assert (onnx["label"] == original["label"]).all()


def test_the_matrix_is_what_people_write_themselves() -> None:
    """The same forest as by hand: integers for categories, the median for NULL."""
    local, given = Local(), people.columns(1_000)
    label = people.votes(given)
    local.train("train_random_forest", {**given, "y": label}, '{"n_estimators": 10}', "rf")
    age = given["age"].astype(float).filled(np.median(given["age"].compressed()))
    party = np.where(given["party"].mask, "\ufdd0", given["party"].filled(""))
    by_hand = np.column_stack(
        [
            age,
            given["income"],
            np.unique(given["sex"], return_inverse=True)[1],
            np.unique(party, return_inverse=True)[1],
            given["registered"].astype(int),
            given["is_active"],
        ]
    )
    forest = RandomForestClassifier(10, random_state=0).fit(by_hand, label)
    assert (local.call("predict", given, "rf")["label"] == forest.predict(by_hand)).all()


def test_integers_and_booleans_stay_what_they_are() -> None:
    local, given = Local(), people.columns(300)
    for name, label in (("i", np.arange(300) % 3 + 7), ("b", given["age"].filled(0) > 40)):
        local.train("train_decision_tree", {**given, "y": label}, "{}", name)
        found = local.call("predict", given, name)["label"]
        assert found.dtype.kind == label.dtype.kind
        assert (found == label).mean() > 0.9


def test_versions_and_names() -> None:
    local, given = Local(), people.columns(200)
    for _ in range(2):
        local.train("train_naive_bayes", {**given, "y": people.votes(given)}, None, "it's")
    assert local.execute("SELECT version FROM models ORDER BY 1")["version"].tolist() == [1, 2]
    for name in ("it's", "it's@1", "it's@2"):
        assert len(local.call("predict", given, name)["label"]) == 200
    for name, message in (("it's@3", "there is no model"), ("other", "there is no model"), (None, "name of a model")):
        with pytest.raises(ModelError, match=message):
            local.call("predict", given, name)
    with pytest.raises(ModelError, match="without @"):
        local.train("train_naive_bayes", {**given, "y": people.votes(given)}, None, "a@1")


def test_arguments_by_name() -> None:
    local, given = Local(), people.columns(200)
    label = people.votes(given)
    row = local.train(
        "train",
        {**given, "y": label},
        estimator="sklearn.ensemble.ExtraTreesClassifier",
        parameters='{"n_estimators": 3}',
        name="et",
        query="FROM people",
    )
    assert (row["algorithm"], row["query"]) == ("sklearn.ensemble.ExtraTreesClassifier", "FROM people")
    assert json.loads(row["parameters"]) == {"n_estimators": 3}


@pytest.mark.parametrize(
    ("estimator", "parameters", "message"),
    [
        (
            "sklearn.ensemble.RandomForestClasifier",
            "{}",
            r"not on this database's list; allowed are .*RandomForestClassifier",
        ),
        ("os.system", "{}", "not on this database's list"),
        ("sklearn.gaussian_process.GaussianProcessRegressor", "{}", "colonnade ml install --allow sklearn.gauss"),
        ("sklearn.tree.DecisionTreeClassifier", "{", "no JSON"),
        ("sklearn.tree.DecisionTreeClassifier", "[1]", "no JSON object"),
        ("sklearn.tree.DecisionTreeClassifier", '{"depth": 1}', "no parameter 'depth'; it has criterion"),
        ("sklearn.tree.DecisionTreeClassifier", '{"max_depth": -1}', "DecisionTreeClassifier: .*max_depth"),
    ],
)
def test_what_is_not_allowed_is_named(estimator: str, parameters: str, message: str) -> None:
    given = people.columns(50)
    with pytest.raises(ModelError, match=message):
        Local().train("train", {**given, "y": people.votes(given)}, estimator, parameters, "m")


def test_the_operator_extends_the_list() -> None:
    path = "sklearn.linear_model.BayesianRidge"
    local, given = Local([path]), people.columns(100)
    assert local.train("train", {**given, "y": people.turnout(given)}, path, "{}", "m")["task"] == "regression"


def test_an_artifact_is_checked() -> None:
    local, given = Local(), people.columns(100)
    for form in ("onnx", "pickle"):
        local.train("train_decision_tree", {**given, "y": people.votes(given)}, "{}", form, form)

    def refused(change: str, name: str, message: str) -> None:
        local.database.execute("BEGIN")
        local.database.execute(f"UPDATE models SET {change} WHERE name = '{name}'")
        with pytest.raises(ModelError, match=message):
            local.call("predict", given, name)
        local.database.execute("ROLLBACK")
        assert len(local.call("predict", given, name)["label"]) == 100

    for name in ("onnx", "pickle"):
        refused("artifact = artifact[1:100] || 'x'::BLOB || artifact[102:]", name, "SHA-256 is not the stored one")
        refused("artifact = 'x'::BLOB, sha256 = sha256('x'::BLOB)", name, "cannot read|cannot be read")
        refused("format = 'joblib'", name, "format 'joblib' is unknown")
    refused("python = '3.9.1'", "pickle", r"pickle@1 was made with Python 3\.9\.1, and .*train it again")
    refused("libraries = '{}'", "pickle", "made with scikit-learn unknown")
    old = '{"scikit-learn": "0.24.1", "numpy": "2.0"}'
    refused(f"libraries = '{old}'", "pickle", r"made with scikit-learn 0\.24\.1, and .* format 'onnx'")
    # ONNX does not depend on them.
    local.database.execute(f"UPDATE models SET python = '3.9', libraries = '{old}' WHERE name = 'onnx'")
    assert len(local.call("predict", given, "onnx")["label"]) == 100


def test_columns_of_a_prediction_are_checked() -> None:
    local, given = Local(), people.columns(100)
    for form in ("onnx", "pickle"):
        local.train("train_decision_tree", {**given, "y": people.votes(given)}, "{}", form, form)
        without = {name: column for name, column in given.items() if name != "age"}
        with pytest.raises(ModelError, match='needs the column "age"; the query has income, sex'):
            local.call("predict", without, form)
        with pytest.raises(ModelError, match='column "sex" is a number, and the model was trained with a text'):
            local.call("predict", {**given, "sex": given["income"]}, form)
        with pytest.raises(ModelError, match='the query has a column "label"'):
            local.call("predict", {**given, "label": given["income"]}, form)
        nothing = {name: column[:0] for name, column in given.items()}
        assert len(local.call("predict_proba", nothing, form)["label"]) == 0
        nulls = {name: np.ma.MaskedArray(column, True) for name, column in given.items()}
        assert len(set(local.call("predict", nulls, form)["label"])) == 1


@pytest.mark.parametrize("form", ["onnx", "pickle"])
def test_scores(form: str) -> None:
    local, given = Local(), people.columns(1_000)
    label = people.votes(given)
    local.train("train_decision_tree", {**given, "y": label}, '{"max_depth": 6}', "c", form)
    found = local.call("score", {**given, "y": label}, "c")
    measured = dict(zip(found["metric"], found["value"], strict=True))
    assert measured["accuracy"] == (local.call("predict", given, "c")["label"] == label).mean()
    assert set(measured) == {"accuracy", "precision", "recall", "f1", "log_loss"}
    # A class that the training did not have is never right.
    other = np.where(label == "NONE", "NEW", label).astype(object)
    found = local.call("score", {**given, "y": other}, "c")
    assert found["value"][0] < measured["accuracy"]
    local.train("train_linear_regression", {**given, "y": people.turnout(given)}, "{}", "r", form)
    found = local.call("score", {**given, "y": people.turnout(given)}, "r")
    assert found["metric"] == ["r2", "mean_absolute_error", "root_mean_squared_error"]
    assert found["value"][0] > 0.9


def test_cross_validation() -> None:
    local, given = Local(), people.columns(300)
    path = "sklearn.tree.DecisionTreeClassifier"
    found = local.call("cross_validate", {**given, "y": people.votes(given)}, path, '{"max_depth": 5}', 4)
    assert sorted(set(found["fold"])) == [1, 2, 3, 4]
    assert sum(rows for rows, metric in zip(found["rows"], found["metric"], strict=True) if metric == "accuracy") == 300
    accuracies = [value for value, metric in zip(found["value"], found["metric"], strict=True) if metric == "accuracy"]
    assert min(accuracies) > 0.7
    numbers = local.call("cross_validate", {**given, "y": people.turnout(given)}, "sklearn.linear_model.Ridge")
    assert set(numbers["fold"]) == {1, 2, 3, 4, 5}
    with pytest.raises(ModelError, match="2 to 100"):
        local.call("cross_validate", {**given, "y": people.votes(given)}, path, "{}", 1)


def test_pipelines_can_be_pickled() -> None:
    """Those that notebooks store with `save`."""
    from colonnade_serve.ml._bodies.pickled import pickled_model, unpickled_model

    given = people.columns(100)
    matrix = np.column_stack([given["income"], given["is_active"]])
    steps = ColumnTransformer([("n", StandardScaler(), [0]), ("c", OneHotEncoder(), [1])])
    model = make_pipeline(steps, LogisticRegression()).fit(matrix, people.votes(given))
    again, spec = unpickled_model(pickled_model(model, {"a": 1}))
    assert spec == {"a": 1}
    assert (again.predict(matrix) == model.predict(matrix)).all()
    assert clone(again) is not None
