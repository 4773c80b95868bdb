"""Models as rows of a database: train and apply them in SQL, and move them between the database and Python.

`colonnade ml install` creates the functions and the table (docs/reference/ml.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from colonnade._connection import Connection
from colonnade._libraries import require

from ._bodies.refused import ModelError
from ._bodies.stored import artifact_of, next_version, row_of
from ._functions import COLUMNS
from ._model import Model
from ._model_store import model_store
from ._saved import row_of_model
from ._statements import quoted, statements

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Model", "ModelError", "install", "load", "models", "save"]


def install(connection: str | Connection, *, schema: str = "main", allow: Sequence[str] = ()) -> None:
    """Creates the functions and, if it is missing, the table of models, in one transaction.

    Functions of an earlier installation are replaced.

    Args:
        connection: A URI or an open connection of `colonnade serve --udf`, without an open transaction.
        schema: The schema of the functions and of the table.
        allow: Estimators that `train` may use in addition to scikit-learn's common ones, such as
            `"sklearn.gaussian_process.GaussianProcessRegressor"`.

    Raises:
        ProgrammingError: The server has no functions, or this user may not create them (SQLSTATE 42501).
        ValueError: A name in `allow` is no class.
    """
    wanted = statements(schema, allow)
    with model_store(connection, schema) as there:
        there.connection.execute("BEGIN")
        try:
            for statement in wanted:
                there.connection.execute(statement)
        except BaseException:
            if there.connection.is_open:
                there.connection.execute("ROLLBACK")
            raise
        there.connection.execute("COMMIT")


def models(connection: str | Connection, *, schema: str = "main") -> pd.DataFrame:
    """Lists the stored models, with everything but their artifacts.

    Args:
        connection: A URI or an open connection.
        schema: The schema of the table of models.

    Returns:
        A pandas.DataFrame with a row for each version, in the order of names and versions. `size` is that of the
        artifact in bytes.

    Raises:
        ProgrammingError: There is no table of models.
    """
    require("pandas", "models()")
    names = ", ".join(quoted(name) for name in COLUMNS if name != "artifact")
    with model_store(connection, schema) as there:
        query = (
            f'SELECT {names}, system.main.octet_length(artifact) AS "size" FROM {there.table} ORDER BY name, version'
        )
        return there.connection.query(query).to_pandas()


def load(name: str, connection: str | Connection, *, schema: str = "main") -> Model:
    """Reads a stored model into this process.

    A model in ONNX has no code and reads no files. A pickle can call only classes of scikit-learn, numpy and SciPy that
    models consist of, and cannot change them, but they do not check all of their contents. Load pickles only from
    tables whose writers you trust.

    Args:
        name: Its name, for the newest version, or `name@version`.
        connection: A URI or an open connection.
        schema: The schema of the table of models.

    Returns:
        The model. `session` is onnxruntime's, or `estimator` is scikit-learn's.

    Raises:
        ModelError: There is no such model, its artifact is damaged, it names something that models do not consist of,
            or it was made with other versions of Python, scikit-learn or numpy.
        ImportError: The library of its format is not installed.
    """
    require("numpy", "colonnade.ml")
    with model_store(connection, schema) as there:
        row = row_of(there, there.table, name)
        row["artifact"] = artifact_of(there, there.table, row)
    require("onnxruntime" if row["format"] == "onnx" else "sklearn", "load()", "ml")
    return Model(row)


def save(
    model: Any,
    name: str,
    X_sample: Any,
    connection: str | Connection,
    *,
    format: str = "auto",
    parameters: dict[str, Any] | None = None,
    metrics: dict[str, float] | None = None,
    schema: str = "main",
) -> int:
    """Stores a trained model, which SQL can use at once: `SELECT * FROM predict((FROM people), 'name')`.

    Args:
        model: A classifier, a regressor or a pipeline of scikit-learn that was fitted.
        name: The model's name. If there are models of this name, it becomes their newest version.
        X_sample: Some of the rows with which it was fitted, in the same form: a frame whose columns are the features,
            or a matrix, whose columns are then named `x0`, `x1` and so on. The model in ONNX is compared with the
            original on these rows.
        connection: A URI or an open connection.
        format: `"auto"`: ONNX if it predicts the same, otherwise a pickle. `"onnx"`: ONNX or an error. `"pickle"`.
        parameters: What is stored as the model's parameters. None: those of the estimator.
        metrics: What is stored as its metrics.
        schema: The schema of the table of models.

    Returns:
        The version.

    Raises:
        ModelError: The model has no equal in the format, it predicts several values for a row, or the sample does not
            fit it.
        IntegrityError: Another session has stored this version meanwhile.
    """
    require("sklearn", "save()", "ml")
    pa = require("pyarrow", "save()")
    row = row_of_model(model, name, X_sample, format, parameters, metrics)
    with model_store(connection, schema) as there:
        row["version"] = next_version(there, there.table, name)
        row["created_by"] = there.execute("SELECT current_user AS who")["who"][0]
        types = {"artifact": pa.binary(), "created_at": pa.timestamp("us", "UTC")}
        types |= dict.fromkeys(("features", "classes"), pa.list_(pa.string()))
        types |= dict.fromkeys(("version", "rows"), pa.int64())
        table = pa.table({key: pa.array([row[key]], types.get(key, pa.string())) for key in COLUMNS})
        # PostgreSQL's catalog, in which a write looks for its table, has DuckDB's schema `main` as `public`.
        there.connection.write(table, "models", schema="public" if schema == "main" else schema, if_exists="append")
    return row["version"]
