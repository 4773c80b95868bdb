"""The functions that `colonnade ml install` creates, and the estimators that they may use."""

from __future__ import annotations

from dataclasses import dataclass

#: `train_NAME` is `train` with this estimator.
TRAINERS = {
    "decision_tree": "sklearn.tree.DecisionTreeClassifier",
    "decision_tree_regression": "sklearn.tree.DecisionTreeRegressor",
    "gradient_boosting": "sklearn.ensemble.HistGradientBoostingClassifier",
    "gradient_boosting_regression": "sklearn.ensemble.HistGradientBoostingRegressor",
    "linear_regression": "sklearn.linear_model.LinearRegression",
    "logistic_regression": "sklearn.linear_model.LogisticRegression",
    "naive_bayes": "sklearn.naive_bayes.GaussianNB",
    "nearest_neighbors": "sklearn.neighbors.KNeighborsClassifier",
    "nearest_neighbors_regression": "sklearn.neighbors.KNeighborsRegressor",
    "neural_network": "sklearn.neural_network.MLPClassifier",
    "neural_network_regression": "sklearn.neural_network.MLPRegressor",
    "random_forest": "sklearn.ensemble.RandomForestClassifier",
    "random_forest_regression": "sklearn.ensemble.RandomForestRegressor",
    "ridge": "sklearn.linear_model.Ridge",
    "support_vectors": "sklearn.svm.SVC",
    "support_vectors_regression": "sklearn.svm.SVR",
}
#: What else `train` and `cross_validate` take, unless the operator's list is another.
ALLOWED = sorted(
    {
        *TRAINERS.values(),
        "sklearn.ensemble.AdaBoostClassifier",
        "sklearn.ensemble.ExtraTreesClassifier",
        "sklearn.ensemble.ExtraTreesRegressor",
        "sklearn.ensemble.GradientBoostingClassifier",
        "sklearn.ensemble.GradientBoostingRegressor",
        "sklearn.linear_model.ElasticNet",
        "sklearn.linear_model.HuberRegressor",
        "sklearn.linear_model.Lasso",
        "sklearn.linear_model.PoissonRegressor",
        "sklearn.linear_model.RidgeClassifier",
        "sklearn.linear_model.SGDClassifier",
        "sklearn.linear_model.SGDRegressor",
        "sklearn.naive_bayes.BernoulliNB",
        "sklearn.svm.LinearSVC",
        "sklearn.svm.LinearSVR",
    }
)
#: The columns of the table of models, with their types.
COLUMNS = {
    "name": "VARCHAR",
    "version": "BIGINT",
    "created_at": "TIMESTAMPTZ",
    "created_by": "VARCHAR",
    "task": "VARCHAR",
    "algorithm": "VARCHAR",
    "format": "VARCHAR",
    "artifact": "BLOB",
    "sha256": "VARCHAR",
    "parameters": "JSON",
    "metrics": "JSON",
    "features": "VARCHAR[]",
    "classes": "VARCHAR[]",
    "rows": "BIGINT",
    "query": "VARCHAR",
    "python": "VARCHAR",
    "libraries": "JSON",
}


@dataclass(frozen=True)
class Function:
    """A function, which is one over a query unless it has other parameters."""

    name: str
    #: The columns of the result, or the type of the value, in SQL.
    returns: str
    language: str
    #: The name of the part that has the body's last statement's function.
    part: str
    #: The last statement of the body.
    last: str
    comment: str
    parameters: str = "*"
    clauses: str = "PARAMETER STYLE ARROW"

    @property
    def result(self) -> str:
        """What stands behind RETURNS."""
        return f"TABLE({self.returns})" if self.parameters == "*" else self.returns


def functions() -> list[Function]:
    """All of them. In their bodies, `TABLE` is the table of models and `ALLOWED` the list of estimators."""
    row = ", ".join(f'"{name}" {kind}' for name, kind in COLUMNS.items())
    trainers = {"train": "", **{f"train_{name}": path for name, path in TRAINERS.items()}}
    return [
        *(
            Function(
                name,
                row,
                "PYTHON",
                "training",
                f"return training_call(_columns, _conn, TABLE, ALLOWED, {path!r})",
                f"Trains {path or 'an estimator'} with the rows of a query, and returns a row of the table of models",
            )
            for name, path in trainers.items()
        ),
        Function(
            "predict",
            "*",
            "PYTHON_MAP",
            "prediction",
            "return prediction_call(_columns, _conn, TABLE, False)",
            "The rows of a query with the predictions of a stored model",
        ),
        Function(
            "predict_proba",
            "*",
            "PYTHON_MAP",
            "prediction",
            "return prediction_call(_columns, _conn, TABLE, True)",
            "The rows of a query with the predictions of a stored model and their probabilities",
        ),
        Function(
            "predict_row",
            "VARCHAR",
            "PYTHON_MAP",
            "single",
            "return row_call(features, model, _conn, TABLE)",
            "The prediction of a stored model for a row, which is a JSON object, as text",
            "features JSON, model VARCHAR",
            "STRICT SCALAR (model)",
        ),
        Function(
            "score",
            "metric VARCHAR, value DOUBLE",
            "PYTHON",
            "scoring",
            "return score_call(_columns, _conn, TABLE)",
            "The metrics of a stored model on rows whose last column is the label",
        ),
        Function(
            "cross_validate",
            "fold INTEGER, rows BIGINT, metric VARCHAR, value DOUBLE",
            "PYTHON",
            "validation",
            "return validation_call(_columns, ALLOWED)",
            "The metrics of an estimator on each of several parts of a query's rows, trained with the others",
        ),
    ]
