# pyright: reportMissingImports=false
"""Predictions of scikit-learn's forests: the mean of their trees' predictions."""

from __future__ import annotations

from typing import Any

import numpy


def forest_outputs(model: Any, rows: Any) -> tuple[Any, Any] | None:
    """The predictions of a forest and its probabilities, which a regression does not have (None), as its own `predict`
    and `predict_proba` compute them with one job: the sum of the trees' predictions in their order, divided by their
    number. scikit-learn makes a task of joblib for each tree, and reads the matrix once more to find values that are
    not finite. For 300,000 rows and ten trees, that is a tenth of its CPU time; for one row it is most of it.

    None if the model is no such forest, if it has several jobs, or if the matrix is not what its trees take."""
    from sklearn import ensemble

    is_classifier = type(model) in (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier)
    if not is_classifier and type(model) not in (ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor):
        return None
    if model.n_jobs not in (None, 1) or model.n_outputs_ != 1:
        return None
    if not isinstance(rows, numpy.ndarray) or rows.dtype != numpy.float32:
        return None
    mean = numpy.zeros((len(rows), model.n_classes_) if is_classifier else len(rows))
    for tree in model.estimators_:
        # Each tree still compares the number of columns with that of its training.
        mean += (tree.predict_proba if is_classifier else tree.predict)(rows, check_input=False)
    mean /= len(model.estimators_)
    return (model.classes_.take(mean.argmax(axis=1)), mean) if is_classifier else (mean, None)
