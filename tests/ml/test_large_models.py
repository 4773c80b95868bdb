"""Models of some hundred megabytes: they are trained, applied and loaded, or the error names the limit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import colonnade
import numpy as np
import psycopg
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not here; make test-ml runs this")

from colonnade import ml
from sklearn.neighbors import KNeighborsClassifier

from tests.testbed.serving import Server, function_options, serve

ROWS, COLUMNS = 700_000, 90
#: A model of nearest neighbors is the table itself.
LARGE = ROWS * COLUMNS * 8
TRAIN = """
    INSERT INTO models BY NAME SELECT * FROM train_nearest_neighbors(
        (FROM large), '{"algorithm": "brute", "n_neighbors": 1}', 'large', 'pickle')
"""
PREDICT = "SELECT count(*), sum((label = y)::INTEGER)::INTEGER FROM predict((SELECT * FROM large LIMIT 20), 'large')"


def uri_of(server: Server) -> str:
    return f"postgresql://tester@{server.host}:{server.port}/large"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file of half a gigabyte, which is not kept."""
    file = tmp_path_factory.mktemp("large") / "large.duckdb"
    yield file
    file.unlink(missing_ok=True)


def test_a_model_of_500_megabytes(database: Path) -> None:
    columns = ", ".join(f"(i * {2 * at + 3} % 1009)::DOUBLE AS x{at}" for at in range(COLUMNS))
    with serve(database, "--create", *function_options(), "--udf-memory", "8GiB") as server:
        ml.install(uri_of(server))
        with psycopg.connect(server.dsn, autocommit=True) as session:
            session.execute(f"CREATE TABLE large AS SELECT {columns}, i % 2 AS y FROM range({ROWS}) t(i)".encode())
            session.execute(TRAIN.encode())
            [(size, is_whole)] = session.execute(
                "SELECT octet_length(artifact), sha256(artifact) = sha256 FROM models"
            ).fetchall()
            assert size > LARGE > 500_000_000 and is_whole
            assert session.execute(PREDICT.encode()).fetchall() == [(20, 20)]
        model = ml.load("large", uri_of(server))
        sample = colonnade.read_sql("SELECT * EXCLUDE (y) FROM large LIMIT 5", uri_of(server))
        assert model.predict(sample).tolist() == [0, 1, 0, 1, 0]
    # A server whose functions may not have so much memory says so, and nothing has changed.
    with (
        serve(database, *function_options(), "--udf-memory", "512MiB") as server,
        psycopg.connect(server.dsn, autocommit=True) as session,
    ):
        for statement in (PREDICT, TRAIN):
            with pytest.raises(psycopg.errors.OutOfMemory, match="more memory than --udf-memory=536870912"):
                session.execute(statement.encode())
        assert session.execute("SELECT count(*) FROM models").fetchall() == [(1,)]


def test_an_artifact_that_is_too_large_to_send_is_refused() -> None:
    """The limit of a message is 256 MiB."""
    matrix = np.zeros((400_000, COLUMNS))
    model = KNeighborsClassifier(1, algorithm="brute").fit(matrix, np.arange(len(matrix)) % 2)
    with serve(*function_options()) as server:
        ml.install(uri_of(server))
        with pytest.raises(colonnade.Error) as refused:
            ml.save(model, "too large", matrix[:1], uri_of(server), format="pickle")
        assert refused.value.sqlstate == "54000"
        assert len(ml.models(uri_of(server))) == 0
