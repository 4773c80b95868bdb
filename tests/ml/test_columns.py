"""Columns that queries have: names of any kind, dates and times in several types, large numbers, and labels."""

from __future__ import annotations

import datetime
import decimal
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not here; make test-ml runs this")
pytest.importorskip("onnxruntime", reason="onnxruntime is not here; make test-ml runs this")

import pandas as pd
from colonnade.ml import ModelError
from colonnade_serve.ml._bodies.columns import as_kind, feature, matrix, numbers
from colonnade_serve.ml._bodies.single import moment, row_call
from colonnade_serve.ml._model import Model
from colonnade_serve.ml._saved import row_of_model
from hypothesis import given as given_any
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from tests.ml.local import Local

#: scikit-learn 1.9 announces that SVC will have no probabilities.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")
ROWS = 200
DAYS = np.datetime64("2024-01-01", "D") + np.arange(ROWS)
#: A date is late after the hundredth day.
LATE = np.where(np.arange(ROWS) > 100, "late", "early").astype(object)
FORMS = ["onnx", "pickle"]

#: Names that the functions' own text uses: builtins, modules, parts, and what the server gives to a body.
NAMES = [
    *("id", "len", "list", "max", "type", "isinstance", "dict", "globals", "str", "ValueError", "print"),
    *("numpy", "pyarrow", "json", "Any", "answer", "_columns", "_conn", "_types"),
    *("TABLE", "ALLOWED", "READY", "NAMED", "matrix", "numbers", "texts", "model_of", "trained", "applied", "metrics"),
    *("x y", 'a"b', "Ünïcode", "class", "colonnade/0/fill", "estimator/X", "arg", "*", "1"),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_column_has_any_name(name: str) -> None:
    local = Local()
    given = {name: np.arange(ROWS), "other": np.arange(ROWS) % 3}
    # `auto` would hide that the conversion has failed; only names of ONNX's own graph may need a pickle.
    form = "auto" if "/" in name else "onnx"
    local.train("train_decision_tree", {**given, "y": LATE}, "{}", "m", form)
    assert local.call("predict", given, "m")["label"].tolist() == LATE.tolist()
    measured = local.call("score", {**given, "y": LATE}, "m")
    assert dict(zip(measured["metric"], measured["value"], strict=True))["accuracy"] == 1
    path = "sklearn.tree.DecisionTreeClassifier"
    assert set(local.call("cross_validate", {**given, "y": LATE}, path, "{}", 2)["fold"]) == {1, 2}


def test_a_column_is_no_list_of_estimators() -> None:
    """A query's column or argument of this name changes nothing of what the operator allows."""
    path = "sklearn.gaussian_process.GaussianProcessClassifier"
    for name in ("ALLOWED", "READY", "TABLE"):
        given = {"x": np.arange(ROWS), name: np.full(ROWS, path, object), "y": LATE}
        with pytest.raises(ModelError, match="is not on this database's list"):
            Local().call("train", given, path, "{}", "m")


def test_the_result_has_no_column_twice() -> None:
    local = Local()
    local.train("train_decision_tree", {"x": np.arange(ROWS), "y": LATE}, "{}", "m")
    for name in ("label", "LABEL"):
        with pytest.raises(ModelError, match='has a column "label"'):
            local.call("predict", {"x": np.arange(ROWS), name: LATE}, "m")


@pytest.mark.parametrize("form", FORMS)
def test_dates_and_timestamps_are_the_same_moments(form: str) -> None:
    local = Local()
    moments = {
        "date": DAYS,
        "timestamp": DAYS.astype("M8[us]"),
        "nanoseconds": DAYS.astype("M8[ns]"),
        "zone": pa.array(DAYS.astype("M8[us]")).cast(pa.timestamp("us", "UTC")),
    }
    for trained, column in moments.items():
        local.train("train_decision_tree", {"d": column, "y": LATE}, "{}", trained, form)
        for given in moments.values():
            assert local.call("predict", {"d": given}, trained)["label"].tolist() == LATE.tolist()
        times = pa.array([datetime.time(1)] * ROWS)
        for wrong, kind in ((np.arange(ROWS), "number"), (times, "time"), (LATE, "text")):
            with pytest.raises(
                ModelError, match=rf'column "d" is a {kind}, and the model was trained with a (date|ti)'
            ):
                local.call("predict", {"d": wrong}, trained)
    local.train("train_decision_tree", {"d": np.arange(ROWS), "y": LATE}, "{}", "numbers", form)
    with pytest.raises(ModelError, match='column "d" is a date, and the model was trained with a number'):
        local.call("predict", {"d": DAYS}, "numbers")


@pytest.mark.parametrize("form", FORMS)
def test_a_row_in_json_has_dates_as_texts(form: str) -> None:
    """As `to_json` writes them."""
    local = Local()
    times = pa.array(
        [(datetime.datetime(2024, 1, 1) + datetime.timedelta(minutes=5 * at)).time() for at in range(ROWS)]
    )
    given = {"d": DAYS, "ts": DAYS.astype("M8[us]"), "t": times}
    local.train("train_decision_tree", {**given, "y": LATE}, "{}", "m", form)
    local.database.register("rows", pa.table({**given, "tz": pa.array(DAYS).cast(pa.timestamp("us", "UTC"))}))
    local.database.execute("SET timezone = 'Asia/Kolkata'")
    for query in ("SELECT to_json(rows) AS r FROM rows", "SELECT to_json({'D': ts, 'TS': tz, 't': t}) AS r FROM rows"):
        assert row_call(local.execute(query)["r"], "m", local, "main.models") == LATE.tolist()
    days = ("x", "19990-01-01", "0044-03-15 (BC)", "2024-02-30", "20240101", 3, True)
    for wrong in (*({"d": day} for day in days), {"t": "2024-01-01"}, {"ts": "infinity"}):
        row = json.dumps({"d": None, "ts": None, "t": None, **wrong})
        with pytest.raises(ModelError, match=r"which is no|was trained with a"):
            row_call(np.array([row], object), "m", local, "main.models")


@given_any(
    st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2250, 1, 1)),
    st.sampled_from(["s", "ms", "us"]),
    st.sampled_from(["date", "timestamp"]),
)
def test_a_moment_in_json_has_the_bits_of_its_column(at: datetime.datetime, unit: str, wanted: str) -> None:
    column = pa.array([at], pa.timestamp("us")).cast(pa.timestamp(unit), safe=False)
    one = {"name": "t", "kind": "number", "unit": wanted}
    assert moment(one, str(column[0].as_py())) == numbers("t", column, wanted)[0]


@pytest.mark.parametrize("form", FORMS)
def test_a_row_in_json_is_found_and_checked_as_columns_are(form: str) -> None:
    local = Local()
    local.train("train_decision_tree", {"x": np.arange(ROWS), "s": LATE, "y": LATE}, "{}", "m", form)

    def single(text: str) -> str:
        return row_call(np.array([text], object), "m", local, "main.models")[0]

    assert single('{"X": 150, "S": "late"}') == "late"
    for text, message in (
        ('{"x": 9007199254740993, "s": "late"}', "is not exact as a feature"),
        ('{"x": 1' + "0" * 400 + ', "s": "late"}', "is not exact as a feature"),
        ('{"x": 1e400, "s": "late"}', "infinite"),
        ('{"x": 1e300, "s": "late"}', 'column "x" has a value beyond 3.4e38'),
        ('{"x": 1, "X": 2}', 'needs "s"; the object has x, X'),
        ('{"x": 1, "s": 2}', "was trained with a text"),
    ):
        with pytest.raises(ModelError, match=message):
            single(text)
    with pytest.raises(ModelError, match=r'column "x" has a value beyond 3\.4e38'):
        local.call("predict", {"s": LATE, "x": np.full(ROWS, 1e300)}, "m")


def test_integers_in_decimals_are_exact() -> None:
    """HUGEINT arrives as a decimal."""
    for kind in (pa.decimal256(39, 0), pa.decimal128(18, 0)):
        whole = pa.array([decimal.Decimal(2**53), None, decimal.Decimal(-(2**53))], kind)
        assert numbers("x", whole)[[0, 2]].tolist() == [2**53, -(2**53)]
        with pytest.raises(ModelError, match='column "x", row 2: 9007199254740993 is not exact'):
            numbers("x", pa.array([None, decimal.Decimal(2**53 + 1)], kind))
    assert matrix([pa.array([1e300])], [feature("x", pa.array([1.0]))], "float64").tolist() == [[1e300]]
    assert as_kind(feature("d", pa.array(DAYS)), pa.array(DAYS).cast(pa.timestamp("s")))[0] == 19723


@pytest.mark.parametrize("trainer", ["support_vectors", "RidgeClassifier", "SGDClassifier"])
def test_distances_are_no_probabilities(trainer: str) -> None:
    """ONNX has a second output for them."""
    local, given = Local(), {"x": np.arange(ROWS), "y": LATE}
    if trainer == "support_vectors":
        local.train("train_support_vectors", given, "{}", "m", "onnx")
    else:
        local.train("train", given, f"sklearn.linear_model.{trainer}", "{}", "m", "onnx")
    with pytest.raises(ModelError, match="no probabilities: use predict"):
        local.call("predict_proba", {"x": np.arange(ROWS)}, "m")
    assert local.call("score", given, "m")["metric"] == ["accuracy", "precision", "recall", "f1"]


@pytest.mark.parametrize("form", FORMS)
def test_the_label_is_that_of_predict(form: str) -> None:
    """For an SVC with probabilities, it is not always the class of the largest one."""
    random = np.random.default_rng(3)
    matrix = random.normal(size=(60, 2))
    label = np.where(random.random(60) < 0.5, "a", "b").astype(object)
    given = {"p": matrix[:, 0], "q": matrix[:, 1]}
    local = Local()
    local.train("train_support_vectors", {**given, "y": label}, '{"probability": true}', "m", form)
    labels = local.call("predict", given, "m")["label"]
    both = local.call("predict_proba", given, "m")
    original = make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)).fit(matrix, label)
    assert labels.tolist() == both["label"].tolist() == original.predict(matrix).tolist()
    chances = original.predict_proba(matrix)
    assert (original.classes_[chances.argmax(axis=1)] != labels).any()
    wanted = chances[np.arange(60), np.searchsorted(original.classes_, labels.astype(str))]
    assert np.allclose(both["confidence"], wanted, atol=1e-5)
    measured = local.call("score", {**given, "y": label}, "m")
    found = dict(zip(measured["metric"], measured["value"], strict=True))
    assert found["accuracy"] == accuracy_score(label, labels)
    assert found["f1"] == pytest.approx(f1_score(label, labels, average="macro"))
    assert found["log_loss"] == pytest.approx(log_loss(label, chances), abs=1e-5)


def test_classes_have_weights_by_their_texts() -> None:
    random = np.random.default_rng(5)
    x = random.normal(size=ROWS)
    for label, names in (
        (np.where(x + random.normal(size=ROWS) > 1, "rare", "often").astype(object), {"rare": 9, "often": 1}),
        (np.where(x + random.normal(size=ROWS) > 1, 7, 3), {"7": 9, "3": 1}),
        (x + random.normal(size=ROWS) > 1, {"true": 9, "false": 1}),
    ):
        local = Local()
        parameters = json.dumps({"class_weight": names, "max_depth": 2, "n_estimators": 5})
        row = local.train("train_random_forest", {"x": x, "y": label}, parameters, "m")
        assert json.loads(row["parameters"])["class_weight"] == names
        known = dict(zip(map(str.lower, map(str, np.unique(label))), np.unique(label).tolist(), strict=True))
        weights: Any = {known[name]: weight for name, weight in names.items()}
        forest = RandomForestClassifier(5, max_depth=2, class_weight=weights, random_state=0).fit(x[:, None], label)
        found = local.call("predict", {"x": x}, "m")["label"]
        assert (found == forest.predict(x[:, None])).all()
        plain = RandomForestClassifier(5, max_depth=2, random_state=0).fit(x[:, None], label)
        assert (found != plain.predict(x[:, None])).any()
        with pytest.raises(ModelError, match="class_weight has 'other', and the label has"):
            local.call("train_random_forest", {"x": x, "y": label}, '{"class_weight": {"other": 1}}', "m")


@pytest.mark.parametrize(
    ("trainer", "parameters", "message"),
    [
        ("nearest_neighbors", '{"n_neighbors": 900}', "Expected n_neighbors <= n_samples_fit"),
        ("random_forest", '{"max_depth": 1' + "0" * 30 + "}", "int too large"),
        ("logistic_regression", '{"C": 1e400}', "the number 1e400: JSON has finite ones only"),
        ("logistic_regression", '{"C": NaN}', "the number NaN"),
        ("decision_tree", "[" * 100_000, "the parameters are no JSON"),
        ("decision_tree", 5, "the argument parameters is 5: write a text"),
        ("decision_tree", {"max_depth": 2}, "the argument parameters is .*: write a text"),
    ],
)
def test_parameters_that_cannot_be_used_are_named(trainer: str, parameters: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Local().call(f"train_{trainer}", {"x": np.arange(ROWS), "y": LATE}, parameters, "m", "pickle")


def test_arguments_of_other_types_are_named() -> None:
    local, given = Local(), {"x": np.arange(ROWS), "y": LATE}
    local.train("train_decision_tree", given, "{}", "m")
    path = "sklearn.tree.DecisionTreeClassifier"
    with pytest.raises(ModelError, match="the argument name is 5"):
        local.call("predict", given, 5)
    for folds in ("3", 2.5, True):
        with pytest.raises(ModelError, match="folds: write an integer"):
            local.call("cross_validate", given, path, "{}", folds)
    with pytest.raises(ModelError, match="needs the name of an estimator"):
        local.call("cross_validate", given)
    for label in (pa.array([["a"]] * ROWS), DAYS.astype("M8[us]")):
        with pytest.raises(ModelError, match='the label "y" is no class: it has the type'):
            local.call("score", {**given, "y": label}, "m")


def test_a_pipeline_that_fills_in_is_onnx() -> None:
    """onnxruntime has its transformer of missing numbers for floats of 32 bits only."""
    random = np.random.default_rng(2)
    values = np.where(random.random(ROWS) < 0.2, np.nan, random.normal(size=ROWS))
    frame = pd.DataFrame({"x": values, "s": random.choice(["a", "b"], ROWS)})
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    steps = ColumnTransformer([("n", numbers, ["x"]), ("s", OneHotEncoder(handle_unknown="ignore"), ["s"])])
    model = make_pipeline(steps, LogisticRegression()).fit(frame, LATE)
    found = Model({**row_of_model(model, "m", frame, "onnx", None, None), "version": 1})
    assert found.predict(frame).tolist() == model.predict(frame).tolist()
    assert np.allclose(found.predict_proba(frame), model.predict_proba(frame), atol=1e-5)
    with pytest.raises(ModelError, match=r'column "x" has a value beyond 3\.4e38'):
        found.predict(frame.assign(x=1e300))


def test_floats_of_32_bits_do_not_change_a_feature(capsys: pytest.CaptureFixture[str]) -> None:
    """ONNX has trees over histograms for these only. Rows between those of the training show the difference."""
    hours = np.datetime64("2024-01-01", "us") + np.arange(2_000) * np.timedelta64(3_600_000_000, "us")
    random = np.random.default_rng(1)
    seconds = hours[0] + random.integers(0, 2_000 * 3_600, 50_000) * np.timedelta64(1_000_000, "us")
    label = np.where(np.arange(2_000) // 7 % 2 == 0, "a", "b").astype(object)
    local = Local()
    for name, column in (("moments", hours), ("dates", hours.astype("M8[D]")), ("same", np.full(2_000, 0.1))):
        other = {"t": column, "one": np.full(2_000, 0.1)}
        row = local.train("train_gradient_boosting", {**other, "y": label}, '{"max_iter": 20}', name)
        assert row["format"] == ("pickle" if name == "moments" else "onnx")
    assert "moments: stored as a pickle, because the model has no equal in ONNX" in capsys.readouterr().out
    found = local.call("predict", {"t": seconds, "one": np.zeros(50_000)}, "moments")["label"]
    given = np.column_stack([seconds.astype(int) / 1e6, np.zeros(50_000)])
    original = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    original.fit(np.column_stack([hours.astype(int) / 1e6, np.full(2_000, 0.1)]), label)
    assert (found == original.predict(given)).all()


def test_what_has_several_values_for_a_row_is_not_saved() -> None:
    matrix = np.arange(40.0).reshape(20, 2)
    for model in (LinearRegression().fit(matrix, matrix), RandomForestClassifier(2).fit(matrix, matrix > 20)):
        for form in ("auto", "pickle"):
            with pytest.raises(ModelError, match="predicts several values for a row"):
                row_of_model(model, "m", matrix, form, None, None)


def test_a_calibrated_model_is_a_pickle_too() -> None:
    matrix = np.arange(ROWS)[:, None]
    model = CalibratedClassifierCV(LogisticRegression()).fit(matrix, LATE)
    found = Model({**row_of_model(model, "m", matrix, "pickle", None, None), "version": 1})
    assert np.array_equal(found.predict_proba(matrix), model.predict_proba(matrix))


def test_several_jobs_are_one() -> None:
    local, given = Local(), {"x": np.arange(ROWS), "y": LATE}
    row = local.train("train_random_forest", given, '{"n_jobs": 4, "n_estimators": 3}', "m", "pickle")
    assert json.loads(row["parameters"]) == {"n_jobs": 4, "n_estimators": 3}
    assert b"n_jobs\x94K\x04" not in row["artifact"]


def test_a_training_that_does_not_converge_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(1)
    given = {f"x{at}": random.normal(size=ROWS) for at in range(5)}
    Local().train("train_logistic_regression", {**given, "y": LATE}, '{"max_iter": 1}', "m", "pickle")
    assert "ConvergenceWarning: lbfgs failed to converge" in capsys.readouterr().out


def test_folds_know_nothing_of_the_rows_that_they_are_measured_with() -> None:
    """Medians too come from the other folds. scikit-learn's own cross-validation of the same pipeline."""
    random = np.random.default_rng(4)
    values = random.exponential(size=60)
    label = np.where(values + random.normal(size=60) / 2 > 1, 1, 0)
    is_null = random.random(60) < 0.4
    column = np.ma.MaskedArray(values, is_null)
    path = "sklearn.linear_model.LogisticRegression"
    found = Local().call("cross_validate", {"x": column, "y": label}, path, "{}", 4)
    losses = [one for metric, one in zip(found["metric"], found["value"], strict=True) if metric == "log_loss"]
    pipeline = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), LogisticRegression())
    matrix = column.filled(np.nan)[:, None]
    split = StratifiedKFold(4, shuffle=True, random_state=0)
    assert losses == pytest.approx(
        (-cross_val_score(pipeline, matrix, label, cv=split, scoring="neg_log_loss")).tolist()
    )
