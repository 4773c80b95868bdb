"""Predictions in a server, by SQL."""

from __future__ import annotations

import json

import psycopg
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not here; make test-ml runs this")
pytest.importorskip("onnxruntime", reason="onnxruntime is not here; make test-ml runs this")


from tests.ml import people
from tests.ml.labelled import REFUSED, TRAIN, rows
from tests.testbed.serving import Server


def test_arguments_have_names(connection: psycopg.Connection) -> None:
    query = """
        INSERT INTO models BY NAME SELECT * FROM train((SELECT age, sex, turnout FROM labelled),
            estimator => 'sklearn.ensemble.ExtraTreesRegressor', parameters => '{"n_estimators": 3}', name => 'named')
    """
    connection.execute(query.encode())
    found = rows(connection, "SELECT prediction FROM predict((SELECT age, sex FROM labelled), name => 'named')")
    assert len(found) == people.ROWS
    assert isinstance(found[0][0], float)
    with pytest.raises(REFUSED, match="is not on this database's list"):
        connection.execute("SELECT name FROM train((SELECT age, vote FROM labelled), 'os.system', '{}', 'x')")


def test_other_columns_of_a_prediction_stay_what_they_are(connection: psycopg.Connection) -> None:
    connection.execute(TRAIN.format("passed").encode())
    columns = """
        voter, age, sex, party, registered, is_active, 1.25::DECIMAL(9, 2) AS d,
        TIMESTAMPTZ '2025-01-01 10:00:00+02' AS tz, INTERVAL '1 month 2 days' AS iv, NULL::DATE AS n,
        TIME '10:00:01' AS t, TIMESTAMP '2025-01-01 10:00:00' AS ts, uuid() AS u,
        '\\x00\\x01'::BLOB AS b, [1, NULL] AS l, CASE WHEN voter = 7 THEN 1.5 END AS rare, MAP {voter: sex} AS m,
        {'a': voter, 'b': [sex]} AS r, (['low', 'high'])[voter % 2 + 1]::ENUM('low', 'high') AS e
    """
    connection.execute(f"CREATE TEMP TABLE given AS SELECT {columns} FROM labelled".encode())
    connection.execute("CREATE TEMP TABLE found AS SELECT * EXCLUDE (label) FROM predict((FROM given), 'passed')")
    assert rows(connection, "SELECT count(*) FROM (FROM given EXCEPT FROM found)") == [(0,)]
    types = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = '{}' ORDER BY 1"
    given, found = (dict(rows(connection, types.format(name))) for name in ("given", "found"))
    assert given == found


def test_a_prediction_names_what_is_missing(connection: psycopg.Connection) -> None:
    connection.execute(TRAIN.format("strict").encode())
    with pytest.raises(REFUSED, match='the model needs the column "sex"; the query has age, party'):
        connection.execute("SELECT * FROM predict((SELECT age, party FROM labelled), 'strict')")
    with pytest.raises(REFUSED, match='column "age" is a text, and the model was trained with a number'):
        connection.execute("SELECT * FROM predict((SELECT age::VARCHAR AS age, sex, party FROM labelled), 'strict')")
    nothing = (
        "SELECT label, confidence FROM predict_proba((SELECT age, sex, party FROM labelled WHERE false), 'strict')"
    )
    assert rows(connection, nothing) == []
    nulls = "SELECT DISTINCT label FROM predict((SELECT NULL::INTEGER AS age, NULL AS sex, NULL AS party), 'strict')"
    assert len(rows(connection, nulls)) == 1


def test_a_row_is_predicted_in_an_expression(connection: psycopg.Connection) -> None:
    connection.execute(TRAIN.format("single").encode())
    query = """
        SELECT count(*), sum((predict_row(to_json(p), 'single') = label)::INTEGER)
        FROM predict((SELECT age, sex, party FROM labelled), 'single') p
    """
    assert rows(connection, query) == [(people.ROWS, people.ROWS)]
    given = json.dumps({"age": 50, "sex": None, "party": "DEM"})
    [(label,)] = connection.execute("SELECT predict_row(%s::JSON, 'single')", (given,), prepare=True).fetchall()
    assert label in ("DEM", "REP", "NONE")
    assert rows(connection, "SELECT predict_row(NULL, 'single')") == [(None,)]
    for wrong, message in (
        ('{"age": 1}', 'needs "sex"'),
        ('{"age": "x", "sex": "m", "party": ""}', '"age" is "x"'),
        ("1", "JSON object"),
    ):
        with pytest.raises(REFUSED, match=message):
            connection.execute("SELECT predict_row(%s::JSON, 'single')", (wrong,))


def test_a_replaced_model_is_used_at_once(server: Server) -> None:
    """Sessions keep the row of a model that they have looked up. Whatever another one does to it, nobody sees an older
    one than its transaction does."""

    def train(session: psycopg.Connection, old: str, young: str) -> None:
        query = f"SELECT age, CASE WHEN age > 50 THEN '{old}' ELSE '{young}' END AS vote FROM labelled WHERE age > 0"
        call = f"train_decision_tree(({query}), '{{}}', 'replaced')"
        session.execute(f"INSERT INTO models BY NAME SELECT * FROM {call}".encode())

    def single(session: psycopg.Connection) -> set[object]:
        """The predictions for a row: twice, so that what is kept is used."""
        return {rows(session, """SELECT predict_row('{"age": 90}'::JSON, 'replaced')""")[0][0] for _ in range(2)}

    def predicted(session: psycopg.Connection) -> set[object]:
        """As `single`, for a query."""
        query = "SELECT label FROM predict((SELECT 90 AS age), 'replaced')"
        return {rows(session, query)[0][0] for _ in range(2)}

    def found(session: psycopg.Connection) -> set[object]:
        return single(session) | predicted(session)

    def scored(session: psycopg.Connection, label: str) -> object:
        """How often the model gives a label, by a function that sees the session's transaction."""
        query = f"SELECT value FROM score((SELECT 90 AS age, '{label}' AS vote), 'replaced') WHERE metric = 'accuracy'"
        return {rows(session, query)[0][0] for _ in range(2)}

    with (
        psycopg.connect(server.dsn, autocommit=True) as first,
        psycopg.connect(server.dsn, autocommit=True) as second,
        psycopg.connect(server.dsn) as snapshot,
    ):
        train(first, "old", "young")
        assert found(second) == found(snapshot) == {"old"}
        assert scored(snapshot, "old") == {1.0}
        train(first, "other", "young")
        assert found(second) == found(first) == {"other"}
        # predict and predict_row see what is committed, unless their transaction has changed something.
        assert found(snapshot) == {"other"}
        assert scored(snapshot, "old") == {1.0}
        snapshot.commit()
        assert scored(snapshot, "other") == {1.0}
        first.execute("BEGIN")
        train(first, "third", "young")
        assert found(second) == {"other"}
        assert [predicted(first), single(first)] == [{"third"}, {"other"}]
        assert scored(first, "third") == scored(second, "other") == {1.0}
        first.execute("ROLLBACK")
        assert found(first) == found(second) == {"other"}
        assert scored(first, "other") == {1.0}
        second.execute("DELETE FROM models WHERE name = 'replaced' AND version = 2")
        assert found(first) == found(second) == {"old"}
        second.execute("DELETE FROM models WHERE name = 'replaced'")
        with pytest.raises(REFUSED, match="there is no model 'replaced'"):
            found(first)


def test_a_transaction_predicts_with_its_own_models(server: Server) -> None:
    """Also many rows, which threads would predict otherwise, and only until it is rolled back."""
    train = """
        INSERT INTO models BY NAME SELECT * FROM train_decision_tree(
            (SELECT age, CASE WHEN age > 50 THEN 'b' ELSE 'a' END AS vote FROM labelled), '{}', 'own')
    """
    predict = """
        SELECT count(*), min(label), max(label), count(DISTINCT id)
        FROM predict((SELECT id, id % 90 AS age FROM range({}) t(id)), 'own')
    """
    # A batch has 122,880 rows.
    counts = (0, 1, 122_880, 300_000)
    with psycopg.connect(server.dsn) as first, psycopg.connect(server.dsn, autocommit=True) as second:
        first.execute(train.encode())
        for count in counts:
            labels = ("a" if count else None, "b" if count > 90 else "a" if count else None)
            assert rows(first, predict.format(count)) == [(count, *labels, count)]
        with pytest.raises(REFUSED, match="there is no model 'own'"):
            second.execute(predict.format(1).encode())
        first.execute("DELETE FROM models WHERE name = 'own'")
        with pytest.raises(REFUSED, match="there is no model 'own'"):
            first.execute(predict.format(1).encode())
        first.rollback()
        with pytest.raises(REFUSED, match="there is no model 'own'"):
            first.execute(predict.format(1).encode())
        first.rollback()
        first.execute(train.encode())
        first.commit()
        assert rows(second, predict.format(300_000)) == [(300_000, "a", "b", 300_000)]


def test_versions_of_other_libraries_are_refused(connection: psycopg.Connection) -> None:
    connection.execute(TRAIN.replace("'{}')", "'{}', 'pickle')").format("old").encode())
    predict = "SELECT count(*) FROM predict((SELECT age, sex, party FROM labelled), 'old')"
    assert rows(connection, predict) == [(people.ROWS,)]
    connection.execute("UPDATE models SET libraries = '{\"scikit-learn\": \"0.24.1\"}' WHERE name = 'old'")
    with pytest.raises(REFUSED, match=r"old@1 was made with scikit-learn 0\.24\.1.*train it again") as refused:
        connection.execute(predict.encode())
    # The function's text is not sent.
    assert refused.value.diag.internal_query is None
    connection.execute("UPDATE models SET artifact = artifact[1:50] || artifact[52:] WHERE name = 'old'")
    with pytest.raises(REFUSED, match="the artifact is damaged"):
        connection.execute(predict.encode())
