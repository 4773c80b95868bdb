"""A server with labelled rows, for tests of models by SQL and by the Python module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import colonnade
import numpy as np
import pandas as pd
import psycopg
from colonnade import ml

from tests.ml import people
from tests.testbed.serving import Server, function_options, serve

PRELOAD = "sklearn.ensemble,sklearn.pipeline,sklearn.compose,sklearn.metrics,onnxruntime,skl2onnx"
#: SQLSTATE 55000.
REFUSED = psycopg.errors.ObjectNotInPrerequisiteState
TRAIN = (
    "INSERT INTO models BY NAME SELECT * FROM train_random_forest((SELECT age, sex, party, vote FROM labelled "
    "WHERE training), '{{\"n_estimators\": 10}}', '{}')"
)


@contextmanager
def labelled_server() -> Iterator[Server]:
    """A server with the functions, people with their votes, and a forest."""
    with serve(*function_options(), "--udf-preload", PRELOAD) as server:
        ml.install(uri_of(server))
        given = people.columns()
        frame = pd.DataFrame({name: pd.Series(masked(column)) for name, column in given.items()})
        frame["vote"], frame["turnout"] = people.votes(given), people.turnout(given)
        frame.insert(0, "voter", np.arange(len(frame)))
        frame["precinct"] = np.arange(len(frame)) % 7
        frame["training"] = np.arange(len(frame)) % 2 == 0
        frame["age"] = frame["age"].astype("Int32")
        colonnade.write_sql(frame, uri_of(server), "labelled")
        yield server


def masked(column: Any) -> Any:
    if not isinstance(column, np.ma.MaskedArray):
        return column
    return [None if is_null else value for value, is_null in zip(column.data.tolist(), column.mask, strict=True)]


def uri_of(server: Server) -> str:
    return f"postgresql://tester@{server.host}:{server.port}/memory"


def rows(connection: psycopg.Connection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query.encode()).fetchall()
