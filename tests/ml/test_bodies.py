"""The text that an installation sends, and what bodies refuse before a library of machine learning is needed."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from colonnade._udf.compiled import compile_body
from colonnade.ml import ModelError
from colonnade.ml._bodies.columns import NULL_TEXT, as_kind, chosen, feature, matrix
from colonnade.ml._bodies.labels import classes_of, present, targets_of
from colonnade.ml._bodies.pickled import unpickled_model
from colonnade.ml._bodies.stored import identity, quoted
from colonnade.ml._functions import ALLOWED, functions
from colonnade.ml._statements import body, statements

from tests.ml import people


@pytest.mark.parametrize("function", functions(), ids=lambda one: one.name)
def test_a_body_is_whole(function: Any) -> None:
    """It compiles as in a worker, and imports nothing of this package."""
    text = body(function.part, function.last, "main.models", ALLOWED)
    compile_body(text, "<function>", ["features", "model"])
    imports = [node for node in ast.walk(ast.parse(f"def f():\n{indented(text)}")) if isinstance(node, ast.ImportFrom)]
    assert imports
    assert not [node for node in imports if node.level or (node.module or "").startswith("colonnade")]
    assert len(text) < 1 << 20


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def test_the_operators_list_is_in_the_bodies() -> None:
    path = "sklearn.gaussian_process.GaussianProcessRegressor"
    assert not [text for text in statements() if path in text]
    assert len([text for text in statements(allow=[path]) if f"'{path}'" in text]) >= 18
    for wrong in ("os", "os.system('x')", "a..b", "x; DROP"):
        with pytest.raises(ValueError, match=r"package\.module\.Class"):
            statements(allow=[wrong])


def test_the_command_shows_its_statements() -> None:
    command = [sys.executable, "-m", "colonnade", "ml", "install", "--show", "--schema", 'a"b']
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert 'CREATE TABLE IF NOT EXISTS "a""b"."models"' in shown
    assert 'CREATE OR REPLACE FUNCTION "a""b".train_random_forest(*) RETURNS TABLE(' in shown


class Call:
    """What pickles of others do."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize(
    "forged",
    [
        pickle.dumps(Call(eval, "1")),
        pickle.dumps({"model": Call(subprocess.run, ["true"]), "spec": {}}),
        # A name with dots, that begins in a module of scikit-learn.
        b"\x80\x04\x8c\x0csklearn.base\x8c\x09os.system\x93\x8c\x04true\x85R.",
        b"\x80\x04\x8c\x05numpy\x8c\x04load\x93\x8c\x04true\x85R.",
        b"cnumpy.f2py.diagnose\nrun\n(tR.",
        b"",
        b"no pickle at all",
        pickle.dumps({"model": 1})[:-3],
        pickle.dumps([1]),
    ],
)
def test_a_forged_pickle_is_not_run(forged: bytes) -> None:
    with pytest.raises(ModelError, match=r"do not consist of|cannot be read"):
        unpickled_model(forged)


def test_numbers_become_floats() -> None:
    given = people.columns(50)
    age = as_kind({"name": "age", "kind": "number"}, given["age"])
    assert np.isnan(age[given["age"].mask]).all()
    assert (age[~given["age"].mask] == given["age"].compressed()).all()
    days = as_kind({"name": "registered", "kind": "number"}, given["registered"])
    assert (days == given["registered"].astype(int)).all()
    second = np.array(["1970-01-01T00:00:01.5"], "datetime64[us]")
    assert as_kind({"name": "t", "kind": "number"}, second).tolist() == [1.5]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.array([1, 2**53 + 1]), r'column "x", row 2: 9007199254740993 is not exact'),
        (np.array([1.0, np.inf]), r'column "x", row 2: an infinite value'),
        (np.array([b"a"], object), r'column "x" has values of the type bytes: cast it'),
        (np.array([[1, 2]]), r'column "x" has values of the type int64'),
        (np.array([NULL_TEXT], object), r'column "x", row 1: the text U\+FDD0 is reserved'),
        (np.array([str(at) for at in range(1001)], object), r'column "x" has 1001 different texts'),
    ],
)
def test_what_is_no_feature_is_named(column: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        feature("x", column)


def test_null_is_the_median_or_a_category() -> None:
    age = np.ma.MaskedArray([10, 20, 90, 7], [False, False, False, True])
    sex = np.ma.MaskedArray(np.array(["m", None, "", "m"], object), [False, True, False, False])
    features = [feature("age", age), feature("sex", sex)]
    assert features[1]["categories"] == ["", "m", NULL_TEXT]
    assert matrix([age, sex], features, "float64").tolist() == [[10, 1], [20, 2], [90, 0], [20, 1]]
    unknown = np.array(["other"], object)
    assert matrix([np.array([5]), unknown], features, "float64").tolist() == [[5, -1]]
    nothing = np.ma.MaskedArray(np.array([None], object), [True])
    assert matrix([nothing, nothing], features, "float64").tolist() == [[20, 2]]


def test_features_are_found_by_name() -> None:
    features = [{"name": "age", "kind": "number"}]
    assert chosen({"Age": 1, "x": 2}, features) == [1]
    assert chosen({"Age": 1, "age": 2}, features) == [2]
    with pytest.raises(ModelError, match='needs the column "age"; the query has AGE, Age'):
        chosen({"AGE": 1, "Age": 2}, features)
    with pytest.raises(ModelError, match='column "age" is a text, and the model was trained with a number'):
        as_kind(features[0], np.array(["1"], object))


def test_labels() -> None:
    codes, classes = classes_of("y", np.array(["b", "a", "b"], object))
    assert (codes.tolist(), classes) == ([1, 0, 1], ["a", "b"])
    assert classes_of("y", np.array([True, False]))[1] == [False, True]
    for column, message in (
        (np.array([]), "no rows"),
        (np.ma.MaskedArray([1, 2], [False, True]), r'the label "y" is NULL in row 2'),
    ):
        with pytest.raises(ModelError, match=message):
            present("y", column)
    for wrong, message in (
        (np.array(["a", "a"], object), "all 2 rows have the class 'a'"),
        (np.array([1.5, 2.5]), "is no class"),
        (np.arange(1001), "1001 classes"),
    ):
        with pytest.raises(ModelError, match=message):
            classes_of("y", wrong)
    for wrong, message in (
        (np.array(["a"], object), "is no number"),
        (np.array([True]), "is no number"),
        (np.array([1.0, np.nan]), "NaN in row 2"),
    ):
        with pytest.raises(ModelError, match=message):
            targets_of("y", wrong)


def test_names_are_quoted() -> None:
    assert quoted("it's") == "'it''s'"
    assert identity("rf@12") == ("rf", 12)
    for wrong in ("rf@", "rf@x", "a@b@-1"):
        with pytest.raises(ModelError, match="name@version"):
            identity(wrong)
