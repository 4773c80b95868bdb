"""Forests predict what scikit-learn's own methods give, bit for bit, without the tasks that it makes for its trees."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not here; make test-ml runs this")

from colonnade_serve.ml._bodies.forests import forest_outputs
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
FORESTS = [*CLASSIFIERS, RandomForestRegressor, ExtraTreesRegressor]


def fitted(forest: Any, seed: int = 0, classes: int = 3, features: int = 4) -> tuple[Any, np.ndarray]:
    """The forest, which learns rows of a matrix, and the matrix."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(200, features)).astype(np.float32)
    label = np.floor(rows[:, 0] * classes + random.random(200)) % classes
    return forest.fit(rows, label.astype(int) if hasattr(forest, "predict_proba") else label / 7), rows


@pytest.mark.parametrize("kind", FORESTS)
@given_any(
    st.integers(0, 1000), st.integers(1, 30), st.sampled_from([1, 2, 9]), st.sampled_from([None, 1]), st.integers(2, 5)
)
@settings(deadline=None, max_examples=15)
def test_as_the_methods_of_the_forest(kind: Any, seed: int, trees: int, depth: int, jobs: int | None, of: int) -> None:
    forest, rows = fitted(kind(trees, max_depth=depth, random_state=seed, n_jobs=jobs), seed, of)
    for given in (rows, rows[:1], rows[::3], np.asfortranarray(rows)):
        found = forest_outputs(forest, given)
        assert found is not None
        assert found[0].tobytes() == forest.predict(given).tobytes()
        assert found[0].dtype == forest.predict(given).dtype
        if kind in CLASSIFIERS:
            assert found[1].tobytes() == forest.predict_proba(given).tobytes()
        else:
            assert found[1] is None


def test_values_that_are_missing() -> None:
    """A forest may have learned NaN."""
    rows = np.random.default_rng(1).normal(size=(200, 3)).astype(np.float32)
    rows[::5, 1] = np.nan
    forest = RandomForestClassifier(5, random_state=0).fit(rows, rows[:, 0] > 0)
    found = forest_outputs(forest, rows)
    assert found is not None
    assert found[1].tobytes() == forest.predict_proba(rows).tobytes()


class Own(RandomForestClassifier):
    """A class of an operator's, which may predict in another way."""


@pytest.mark.parametrize("model", [Own(3), DecisionTreeClassifier(), RandomForestClassifier(3, n_jobs=2)])
def test_other_models_predict_themselves(model: Any) -> None:
    found, rows = fitted(model)
    assert forest_outputs(found, rows) is None


def test_other_matrices_and_several_values_are_for_the_forest_itself() -> None:
    forest, rows = fitted(RandomForestClassifier(3))
    assert forest_outputs(forest, rows.astype(np.float64)) is None
    assert forest_outputs(forest, rows.tolist()) is None
    several = RandomForestRegressor(3).fit(rows, rows[:, :2])
    assert forest_outputs(several, rows) is None


@pytest.mark.parametrize("kind", FORESTS)
def test_a_matrix_of_another_width_is_refused(kind: Any) -> None:
    """Also if only the trees know their width: no tree reads beyond a row."""
    forest, rows = fitted(kind(3))
    forged = pickle.loads(pickle.dumps(forest))
    forged.n_features_in_ = 2
    for model in (forest, forged):
        with pytest.raises(ValueError, match="has 2 features"):
            forest_outputs(model, np.ascontiguousarray(rows[:, :2]))
