"""Models in a server: SQL, the Python module and the command."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import colonnade
import numpy as np
import psycopg
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not here; make test-ml runs this")
pytest.importorskip("onnxruntime", reason="onnxruntime is not here; make test-ml runs this")

import pandas as pd
from colonnade import ml
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from tests.ml import people
from tests.ml.labelled import REFUSED, TRAIN, rows, uri_of
from tests.testbed.serving import Server


def test_a_model_is_a_row(connection: psycopg.Connection) -> None:
    connection.execute(TRAIN.format("row").encode())
    query = (
        "SELECT version, created_by, task, algorithm, format, features, classes, rows FROM models WHERE name = 'row'"
    )
    [(*found, features, classes, count)] = rows(connection, query)
    assert found == [1, "tester", "classification", "sklearn.ensemble.RandomForestClassifier", "onnx"]
    assert (features, classes, count) == (["age", "sex", "party"], ["DEM", "NONE", "REP"], people.ROWS // 2)
    query = "SELECT sha256(artifact) = sha256, created_at BETWEEN now() - INTERVAL 1 MINUTE AND now() FROM models"
    assert set(rows(connection, query)) == {(True, True)}


def test_a_training_that_is_rolled_back_leaves_no_model(server: Server, connection: psycopg.Connection) -> None:
    with psycopg.connect(server.dsn) as other:
        other.execute(TRAIN.format("undone").encode())
        assert rows(other, "SELECT count(*) FROM models WHERE name = 'undone'") == [(1,)]
        assert rows(connection, "SELECT count(*) FROM models WHERE name = 'undone'") == [(0,)]
        score = "SELECT value FROM score((SELECT age, sex, party, vote FROM labelled), 'undone') WHERE metric = 'f1'"
        assert len(rows(other, score)) == 1
        other.rollback()
    assert rows(connection, "SELECT count(*) FROM models WHERE name = 'undone'") == [(0,)]
    with pytest.raises(REFUSED, match="there is no model 'undone'"):
        connection.execute(score.encode())


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT age, vote FROM labelled WHERE false", "the query has no rows to train with"),
        ("SELECT age, vote FROM labelled WHERE vote = 'DEM'", "have the class 'DEM' in \"vote\""),
        ("SELECT voter, CASE WHEN voter <> 5 THEN vote END AS vote FROM labelled ORDER BY voter", "NULL in row 6"),
        ("SELECT vote FROM labelled", "training needs features"),
        ("SELECT [age] AS ages, vote FROM labelled", 'column "ages" has values of the type'),
        ("SELECT age, income FROM labelled", 'the label "income" is no class'),
        ("SELECT voter::VARCHAR AS voter, vote FROM labelled", "2000 different texts"),
        ("SELECT 9007199254740993 + voter AS n, vote FROM labelled", "is not exact as a feature"),
    ],
)
def test_rows_that_cannot_be_learnt_from_are_named(connection: psycopg.Connection, query: str, message: str) -> None:
    with pytest.raises(REFUSED, match=message):
        connection.execute(f"SELECT name FROM train_decision_tree(({query}), '{{}}', 'bad')".encode())


def test_two_sessions_train_at_once(server: Server) -> None:
    """Both get the same version; the second INSERT is refused by the key of the table."""
    with psycopg.connect(server.dsn) as one, psycopg.connect(server.dsn) as other:
        one.execute(TRAIN.format("at once").encode())
        other.execute(TRAIN.format("at once").encode())
        one.commit()
        with pytest.raises(psycopg.errors.UniqueViolation, match="duplicate key") as refused:
            other.commit()
        assert refused.value.diag.message_hint is not None
        assert "Repeat the transaction" in refused.value.diag.message_hint
        other.rollback()
        other.execute(TRAIN.format("at once").encode())
        assert rows(other, "SELECT max(version) FROM models WHERE name = 'at once'") == [(2,)]


def test_two_sessions_predict_while_a_third_one_trains(server: Server, connection: psycopg.Connection) -> None:
    """Each prediction is wholly that of a committed version, and never of an older one than the session's last."""
    train = TRAIN.replace("labelled WHERE training", "labelled WHERE training AND voter < {}")
    counted = (
        "SELECT count(*), count(*) FILTER (label = 'DEM') FROM predict((SELECT age, sex, party FROM labelled), '{}')"
    )
    limits = (400, 700, 1_000, 1_500)
    failures: list[BaseException] = []
    is_over = threading.Event()
    seen: list[list[tuple[int, int]]] = [[], []]

    def predict(found: list[tuple[int, int]]) -> None:
        try:
            with psycopg.connect(server.dsn, autocommit=True) as session:
                while not is_over.is_set() or len(found) < 3:
                    found += rows(session, counted.format("shared"))
        except BaseException as error:
            failures.append(error)

    connection.execute(train.format(limits[0], "shared").encode())
    threads = [threading.Thread(target=predict, args=(found,)) for found in seen]
    for thread in threads:
        thread.start()
    for limit in limits[1:]:
        connection.execute(train.format(limit, "shared").encode())
    is_over.set()
    for thread in threads:
        thread.join()
    assert not failures
    of_versions = [rows(connection, counted.format(f"shared@{version}"))[0] for version in range(1, len(limits) + 1)]
    assert len(set(of_versions)) == len(limits)
    for found in seen:
        versions = [of_versions.index(one) for one in found]
        assert versions == sorted(versions)


def test_models_are_compared_by_metrics(connection: psycopg.Connection) -> None:
    query = """
        SELECT metric, avg(value) FROM cross_validate((SELECT age, sex, vote FROM labelled WHERE training),
            'sklearn.tree.DecisionTreeClassifier', '{"max_depth": 5}', 3) GROUP BY metric
    """
    found = dict(rows(connection, query))
    assert set(found) == {"accuracy", "precision", "recall", "f1", "log_loss"}
    assert 0.5 < found["accuracy"] <= 1


def test_the_module_lists_and_loads_models(server: Server, connection: psycopg.Connection) -> None:
    connection.execute(TRAIN.format("loaded").encode())
    with colonnade.connect(uri_of(server)) as opened:
        frame = ml.models(opened)
        model = ml.load("loaded", opened)
        labelled = colonnade.read_sql("SELECT * FROM labelled WHERE NOT training", opened, dtype_backend="pyarrow")
    row = frame[frame["name"] == "loaded"].iloc[0]
    assert (row["version"], row["size"] > 1000, "artifact" in frame) == (1, True, False)
    assert (model.task, model.format, model.features, model.classes) == (
        "classification",
        "onnx",
        ["age", "sex", "party"],
        ["DEM", "NONE", "REP"],
    )
    assert model.session is not None
    assert (model.predict(labelled) == labelled["vote"].to_numpy()).mean() > 0.7
    chances = model.predict_proba(labelled)
    assert chances.shape == (len(labelled), 3)
    assert np.allclose(chances.sum(axis=1), 1, atol=1e-5)
    with pytest.raises(ml.ModelError, match="there is no model"):
        ml.load("loaded@9", uri_of(server))


@pytest.mark.parametrize("form", ["onnx", "pickle"])
def test_a_saved_pipeline_is_used_by_sql(server: Server, connection: psycopg.Connection, form: str) -> None:
    frame = colonnade.read_sql("SELECT income, sex, vote FROM labelled WHERE training", uri_of(server))
    features = frame[["income", "sex"]]
    steps = ColumnTransformer([("n", StandardScaler(), ["income"]), ("c", OneHotEncoder(), ["sex"])])
    model = make_pipeline(steps, LogisticRegression()).fit(features, frame["vote"])
    assert ml.save(model, f"mine {form}", features, uri_of(server), format=form, metrics={"accuracy": 0.5}) == 1
    assert ml.save(model, f"mine {form}", features, uri_of(server), format=form) == 2
    [row] = rows(
        connection, f"SELECT format, classes, metrics, algorithm FROM models WHERE name = 'mine {form}' AND version = 1"
    )
    assert row == (form, ["DEM", "NONE", "REP"], {"accuracy": 0.5}, "sklearn.linear_model.LogisticRegression")
    query = f"SELECT * FROM score((SELECT income, sex, vote FROM labelled WHERE training), 'mine {form}')"
    accuracy = dict(rows(connection, query))["accuracy"]
    assert accuracy == pytest.approx(model.score(features, frame["vote"]))
    again = ml.load(f"mine {form}", uri_of(server))
    assert (again.predict(features) == model.predict(features)).all()
    assert np.allclose(again.predict_proba(features), model.predict_proba(features), atol=1e-5)
    nulls = pd.DataFrame({"income": [1.0, 2.0], "sex": ["f", None]})
    with pytest.raises(ml.ModelError, match='column "sex" is NULL in row 2'):
        again.predict(nulls)


def test_matrices_and_numbers_are_saved(server: Server) -> None:
    random = np.random.default_rng(3)
    matrix = random.normal(size=(200, 3))
    model = LinearRegression().fit(matrix, matrix @ [1, 2, 3] + 4)
    ml.save(model, "linear", matrix, uri_of(server))
    again = ml.load("linear", uri_of(server))
    assert (again.features, again.task) == (["x0", "x1", "x2"], "regression")
    assert np.allclose(again.predict(matrix), model.predict(matrix))
    forest = RandomForestClassifier(5, random_state=0).fit(matrix, matrix[:, 0] > 0)
    ml.save(forest, "forest", matrix, uri_of(server))
    assert (ml.load("forest", uri_of(server)).predict(matrix) == forest.predict(matrix)).all()


def test_what_cannot_be_saved_is_named(server: Server) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 0.0, 1.0]})
    model = make_pipeline(FunctionTransformer(np.log1p), LinearRegression()).fit(frame[["a"]], frame["b"])
    with pytest.raises(ml.ModelError, match=r"the pickle names numpy\.log1p"):
        ml.save(model, "m", frame[["a"]], uri_of(server), format="pickle")
    with pytest.raises(ml.ModelError, match="the sample has"):
        ml.save(model, "m", frame[["b"]], uri_of(server))
    with pytest.raises(ml.ModelError, match="without @"):
        ml.save(model, "m@1", frame[["a"]], uri_of(server))
    with pytest.raises(ml.ModelError, match="format 'joblib' does not exist"):
        ml.save(model, "m", frame[["a"]], uri_of(server), format="joblib")
    with pytest.raises(ml.ModelError, match="neither a classifier nor a regressor"):
        ml.save(StandardScaler().fit(frame), "m", frame, uri_of(server))


def test_the_command_installs_and_lists(server: Server) -> None:
    def command(*words: str) -> str:
        whole = [sys.executable, "-m", "colonnade", "ml", *words]
        return subprocess.run(whole, capture_output=True, text=True, check=True, timeout=120).stdout

    assert "functions and the table main.models" in command("install", uri_of(server))
    ml.save(LinearRegression().fit([[1.0], [2.0]], [1, 2]), "listed", np.array([[1.0], [2.0]]), uri_of(server))
    listed = {row["name"]: row for row in json.loads(command("list", "--json", uri_of(server)))}
    assert listed["listed"]["algorithm"] == "sklearn.linear_model.LinearRegression"
    assert "listed" in command("list", uri_of(server))


def test_a_forged_pickle_is_not_run(connection: psycopg.Connection) -> None:
    """A user who may write to the table can put any bytes into it, with their hash."""
    connection.execute(TRAIN.format("forged").encode())
    forged = b"cos\nsystem\n(S'true'\ntR."
    query = "UPDATE models SET format = 'pickle', artifact = %s, sha256 = sha256(%s::BLOB) WHERE name = 'forged'"
    connection.execute(query, (forged, forged))
    with pytest.raises(REFUSED, match=r"the pickle names os\.system"):
        connection.execute("SELECT * FROM score((SELECT age, sex, party, vote FROM labelled), 'forged')")


def test_columns_have_any_name_and_dates_are_moments(server: Server, connection: psycopg.Connection) -> None:
    """Names that the functions' text uses too. A frame of pandas has timestamps for dates."""
    features = 'voter AS id, registered::DATE AS len, age AS "READY", sex AS "_columns", income AS matrix'
    connection.execute(
        f"INSERT INTO models BY NAME SELECT * FROM train_decision_tree((SELECT {features}, vote FROM labelled), "
        "'{}', 'names', 'onnx')".encode()
    )
    moments = features.replace("DATE", "TIMESTAMPTZ")
    for given in (features, moments):
        query = f"SELECT count(*) FILTER (label = vote) FROM predict((SELECT {given}, vote FROM labelled), 'names')"
        assert rows(connection, query) == [(people.ROWS,)]
        single = f"SELECT predict_row(to_json(q), 'names') = vote AS same FROM (SELECT {given}, vote FROM labelled) q"
        query = f"SELECT count(*) FILTER (same) FROM ({single})"
        assert rows(connection, query) == [(people.ROWS,)]
    frame = colonnade.read_sql(f"SELECT {features}, vote FROM labelled", uri_of(server))
    assert frame["len"].dtype.kind == "M"
    assert (ml.load("names", uri_of(server)).predict(frame) == frame["vote"].to_numpy()).all()
    wrong = f"SELECT label FROM predict((SELECT {features.replace('registered::DATE', '5')} FROM labelled), 'names')"
    with pytest.raises(REFUSED, match='column "len" is a number, and the model was trained with a date'):
        connection.execute(wrong.encode())


def test_section_9(connection: psycopg.Connection) -> None:
    """The statements of the design: train, predict and count, the highest confidence of two models."""
    for name, trainer in (("rf", "random_forest"), ("nb", "naive_bayes")):
        connection.execute(
            f"INSERT INTO models BY NAME SELECT * FROM train_{trainer}((SELECT age, sex, party, vote FROM labelled "
            f"WHERE training), '{{}}', '{name}')".encode()
        )
    test = "(SELECT voter, precinct, age, sex, party FROM labelled WHERE NOT training)"
    counted = f"SELECT precinct, count(*) FILTER (WHERE label = 'DEM') FROM predict({test}, 'rf') GROUP BY 1"
    found = dict(rows(connection, counted))
    assert sorted(found) == list(range(7))
    assert 0.2 < sum(found.values()) / (people.ROWS // 2) < 0.8
    both = (
        f"SELECT voter, arg_max(label, confidence) AS label FROM (SELECT * FROM predict_proba({test}, 'rf') "
        f"UNION ALL SELECT * FROM predict_proba({test}, 'nb')) GROUP BY voter"
    )
    each = f"SELECT voter, label, confidence FROM predict_proba({test}, '{{}}')"
    forest, bayes = ({voter: one for voter, *one in rows(connection, each.format(name))} for name in ("rf", "nb"))
    ensemble = dict(rows(connection, both))
    assert len(ensemble) == people.ROWS // 2
    for voter, label in ensemble.items():
        assert (
            label == max(forest[voter], bayes[voter], key=lambda one: one[1])[0] or forest[voter][1] == bayes[voter][1]
        )
    vote = both.replace("arg_max(label, confidence)", "mode(label)")
    for voter, label in rows(connection, vote):
        assert label in (forest[voter][0], bayes[voter][0])
    connection.execute(
        "UPDATE models SET metrics = (SELECT json_group_object(metric, value) FROM "
        "score((SELECT age, sex, party, vote FROM labelled WHERE NOT training), 'rf')) WHERE name = 'rf'"
    )
    best = "SELECT name FROM models ORDER BY (metrics->>'accuracy')::DOUBLE DESC NULLS LAST LIMIT 1"
    assert rows(connection, best) == [("rf",)]
