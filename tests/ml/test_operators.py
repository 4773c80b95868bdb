"""What operators decide: who installs the functions, who trains and predicts, and which estimators there are. And the
formats of models that ONNX does not have."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not here; make test-ml runs this")
pytest.importorskip("onnxruntime", reason="onnxruntime is not here; make test-ml runs this")

from tests.support.users import add_user
from tests.testbed.serving import Server, function_options, serve

PRELOAD = "sklearn.svm,sklearn.pipeline,onnxruntime,skl2onnx"
GAUSSIAN = "sklearn.gaussian_process.GaussianProcessRegressor"
#: SQLSTATE 55000.
REFUSED = psycopg.errors.ObjectNotInPrerequisiteState
TRAIN = "INSERT INTO models BY NAME SELECT * FROM train((SELECT a, b, y FROM points), '{}', '{}', '{}', '{}')"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    users: Path = tmp_path_factory.mktemp("users") / "users"
    add_user(users, "operator", "secret", "--functions")
    add_user(users, "writer", "secret")
    add_user(users, "reader", "secret", "--read-only")
    with serve("--users", users, *function_options(), "--udf-preload", PRELOAD) as server:
        with session(server, "operator") as operator:
            operator.execute("CREATE TABLE points AS SELECT i % 7 AS a, i % 5 AS b, i % 7 > 3 AS y FROM range(70) t(i)")
        yield server


def uri_of(server: Server, user: str) -> str:
    return f"postgresql://{user}:secret@{server.host}:{server.port}/memory"


def session(server: Server, user: str) -> psycopg.Connection[Any]:
    """It commits each statement."""
    return psycopg.connect(uri_of(server, user), autocommit=True)


def install(server: Server, user: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "colonnade", "ml", "install", *options, uri_of(server, user)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_operators_install_writers_train_and_readers_predict(server: Server) -> None:
    for user in ("writer", "reader"):
        refused = install(server, user)
        assert refused.returncode == 1 and "Traceback" not in refused.stderr
    assert install(server, "operator").returncode == 0
    predict = "SELECT count(*) FILTER (label = y) FROM predict((FROM points), 'tree')"
    score = "SELECT value FROM score((FROM points), 'tree') WHERE metric = 'accuracy'"
    train = TRAIN.format("sklearn.tree.DecisionTreeClassifier", "{}", "tree", "auto")
    with session(server, "writer") as writer, session(server, "reader") as reader:
        with pytest.raises(psycopg.Error):
            reader.execute(train)
        assert reader.execute("SELECT count(*) FROM models").fetchall() == [(0,)]
        writer.execute(train)
        assert reader.execute("SELECT name, created_by FROM models").fetchall() == [("tree", "writer")]
        for one in (writer, reader):
            assert one.execute(predict).fetchall() == [(70,)]
            assert one.execute(score).fetchall() == [(1.0,)]
            assert one.execute("SELECT predict_row('{\"a\": 5, \"b\": 1}'::JSON, 'tree')").fetchall() == [("true",)]


def test_the_operator_allows_another_estimator(server: Server) -> None:
    with session(server, "writer") as writer:
        train = f"SELECT algorithm FROM train((SELECT a, b, a + b AS y FROM points), '{GAUSSIAN}', '{{}}', 'gp')"
        assert install(server, "operator").returncode == 0
        with pytest.raises(REFUSED, match="colonnade ml install --allow"):
            writer.execute(train.encode())
        assert install(server, "operator", "--allow", GAUSSIAN).returncode == 0
        assert writer.execute(train.encode()).fetchall() == [(GAUSSIAN,)]


def test_a_model_that_onnx_does_not_have_is_a_pickle(server: Server) -> None:
    assert install(server, "operator").returncode == 0
    notices: list[str] = []
    with session(server, "writer") as writer:
        writer.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
        writer.execute(TRAIN.format("sklearn.svm.LinearSVC", "{}", "line", "auto").encode())
        assert [found for found in notices if "line: stored as a pickle, because" in found]
        assert writer.execute("SELECT format FROM models WHERE name = 'line'").fetchall() == [("pickle",)]
        query = "SELECT count(*) FILTER (label = y) > 60 FROM predict((FROM points), 'line')"
        assert writer.execute(query).fetchall() == [(True,)]
        with pytest.raises(REFUSED, match=r"no equal in ONNX .*use the format 'pickle'"):
            writer.execute(TRAIN.format("sklearn.svm.LinearSVC", "{}", "line", "onnx").encode())
        assert writer.execute("SELECT count(*) FROM models WHERE name = 'line'").fetchall() == [(1,)]


def test_a_training_is_repeated_exactly(server: Server) -> None:
    """`random_state` is 0 unless the parameters have another one."""
    assert install(server, "operator").returncode == 0
    chances = "SELECT a, b, confidence FROM predict_proba((SELECT a, b FROM points), '{}') ORDER BY ALL"
    found = {}
    with session(server, "writer") as writer:
        for name, own in {"none": {}, "zero": {"random_state": 0}, "other": {"random_state": 5}}.items():
            parameters = json.dumps({"n_estimators": 3, "max_depth": 1, **own})
            writer.execute(TRAIN.format("sklearn.ensemble.ExtraTreesClassifier", parameters, name, "onnx").encode())
            found[name] = writer.execute(chances.format(name).encode()).fetchall()
    assert found["none"] == found["zero"] != found["other"]
