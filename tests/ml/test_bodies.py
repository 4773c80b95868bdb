"""The text that an installation sends, and what bodies refuse before a library of machine learning is needed."""

from __future__ import annotations

import ast
import datetime
import decimal
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from colonnade.ml import ModelError
from colonnade_serve._udf.compiled import compile_body
from colonnade_serve.ml._bodies.columns import NULL_TEXT, as_kind, chosen, feature, matrix, numbers
from colonnade_serve.ml._bodies.labels import as_classes, classes_of, present, targets_of
from colonnade_serve.ml._bodies.pickled import unpickled_model
from colonnade_serve.ml._bodies.stored import identity, quoted
from colonnade_serve.ml._frames import array_of
from colonnade_serve.ml._functions import ALLOWED, functions
from colonnade_serve.ml._statements import body, statements
from hypothesis import given as given_any
from hypothesis import strategies as st

from tests.ml import people
from tests.ml.pickles import changing


@pytest.mark.parametrize("function", functions(), ids=lambda one: one.name)
def test_a_body_is_whole(function: Any) -> None:
    """It compiles as in a function process, and imports nothing of this package."""
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


def test_a_schema_cannot_end_a_body() -> None:
    with pytest.raises(ValueError, match="cannot have models"):
        statements('a"$colonnade$; DROP TABLE models; --')


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


def test_a_pickle_changes_no_class_and_no_function() -> None:
    """They are those of every model of the process."""
    from numpy.random import _pickle

    kept = _pickle.__randomstate_ctor.__doc__
    with pytest.raises(ModelError, match=r"changes a builtins\.function, which other models may use"):
        unpickled_model(changing("numpy.random._pickle", "__randomstate_ctor", "__doc__"))
    assert _pickle.__randomstate_ctor.__doc__ == kept
    with pytest.raises(ModelError, match=r"changes a builtins\.type"):
        unpickled_model(changing("numpy.random.mtrand", "RandomState", "changed"))


def test_a_pickle_changes_no_type_of_numpy() -> None:
    """Types of columns are shared too. numpy ignores a state for one of its own."""
    state = b"(K\x03\x8c\x01>NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t"
    own = b"\x80\x04\x8c\x05numpy\x8c\x05dtype\x93\x8c\x02f8\x85R" + state + b"b."
    with pytest.raises(ModelError, match="cannot be read"):
        unpickled_model(own)
    assert np.dtype("f8").isnative
    # numpy's own pickles make a copy, which gets it.
    swapped = np.dtype(">f8")
    assert unpickled_model(pickle.dumps({"model": swapped, "spec": {}}))[0] == swapped


def test_states_of_objects_are_read() -> None:
    generators = [np.random.RandomState(7), np.random.default_rng(7), np.random.SeedSequence(7)]
    arrays = [np.array(["a", None], object), np.zeros(2, [("a", "<i4"), ("b", ">f8")]), np.arange(1000.0)]
    found, _ = unpickled_model(pickle.dumps({"model": [*generators, *arrays], "spec": {}}, protocol=5))
    assert found[0].randint(1 << 30) == generators[0].randint(1 << 30)
    assert found[1].integers(1 << 30) == generators[1].integers(1 << 30)
    for one, given in zip(found[3:], arrays, strict=True):
        assert one.dtype == given.dtype and one.tolist() == given.tolist()


def test_numbers_become_floats() -> None:
    given = people.columns(50)
    age = as_kind({"name": "age", "kind": "number"}, array_of(given["age"]))
    assert np.isnan(age[given["age"].mask]).all()
    assert (age[~given["age"].mask] == given["age"].compressed()).all()
    days = as_kind({"name": "registered", "kind": "number"}, array_of(given["registered"]))
    assert (days == given["registered"].astype(int)).all()
    moment = np.datetime64("1970-01-01T00:00:01.500", "ms")
    for unit in ("ms", "us", "ns"):
        assert as_kind(
            {"name": "t", "kind": "number"}, array_of(moment[np.newaxis].astype(f"M8[{unit}]"))
        ).tolist() == [1.5]
    time = pa.array([datetime.time(1, 0, 0, 500_000), None], pa.time64("us"))
    assert numbers("t", time)[0] == 3600.5
    assert np.isnan(numbers("t", time)[1])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.array([1, 2**53 + 1]), r'column "x", row 2: 9007199254740993 is not exact'),
        (np.array([1.0, np.inf]), r'column "x", row 2: an infinite value'),
        (np.array([b"a"], object), r'column "x" has values of the type binary: cast it'),
        (np.array([[1, 2], None], object), r'column "x" has values of the type list<item: int64>'),
        (np.array([NULL_TEXT], object), r'column "x", row 1: the text U\+FDD0 is reserved'),
        (np.array([str(at) for at in range(1001)], object), r'column "x" has 1001 different texts'),
    ],
)
def test_what_is_no_feature_is_named(column: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        feature("x", array_of(column))


def test_null_is_the_median_or_a_category() -> None:
    age, sex = pa.array([10, 20, 90, None]), pa.array(["m", None, "", "m"])
    features = [feature("age", age), feature("sex", sex)]
    assert features[1]["categories"] == ["", "m", NULL_TEXT]
    assert matrix([age, sex], features, "float64").tolist() == [[10, 1], [20, 2], [90, 0], [20, 1]]
    assert matrix([pa.array([5]), pa.array(["other"])], features, "float64").tolist() == [[5, -1]]
    for nothing in (pa.nulls(1), pa.nulls(1, pa.string())):
        assert matrix([nothing, nothing], features, "float64").tolist() == [[20, 2]]


def test_features_are_found_by_name() -> None:
    features = [{"name": "age", "kind": "number"}]
    assert chosen({"Age": 1, "x": 2}, features) == [1]
    assert chosen({"Age": 1, "age": 2}, features) == [2]
    with pytest.raises(ModelError, match='needs the column "age"; the query has AGE, Age'):
        chosen({"AGE": 1, "Age": 2}, features)
    with pytest.raises(ModelError, match='column "age" is a text, and the model was trained with a number'):
        as_kind(features[0], pa.array(["1"]))


@given_any(
    st.integers(1, 38).flatmap(
        lambda digits: st.tuples(
            st.just(digits),
            st.integers(0, digits),
            st.lists(st.none() | st.integers(-(10**digits) + 1, 10**digits - 1), max_size=4),
        )
    ),
    st.integers(0, 2),
)
def test_decimals_become_the_nearest_floats(given: tuple[int, int, list[int | None]], skipped: int) -> None:
    digits, scale, numerators = given
    with decimal.localcontext(prec=40):
        items = [None if one is None else decimal.Decimal(one).scaleb(-scale) for one in numerators]
    column = pa.array([*items[:1] * skipped, *items], pa.decimal128(digits, scale)).slice(skipped * bool(items))
    # A HUGEINT is a decimal without a fraction.
    if scale == 0 and any(abs(one) > 2**53 for one in numerators if one is not None):
        with pytest.raises(ModelError, match="not exact"):
            numbers("x", column)
        return
    found = numbers("x", column)
    assert [None if np.isnan(one) else one for one in found] == [None if one is None else float(one) for one in items]
    wide = pa.array(items, pa.decimal256(digits + 1, scale))
    assert np.array_equal(numbers("x", wide), found, equal_nan=True)


def test_labels() -> None:
    codes, classes = classes_of("y", pa.array(["b", "a", "b"]))
    assert (codes.tolist(), classes) == ([1, 0, 1], ["a", "b"])
    assert as_classes(codes, classes).to_pylist() == ["b", "a", "b"]
    assert classes_of("y", pa.array([True, False]))[1] == [False, True]
    large = [2**70, -3]
    codes, classes = classes_of("y", pa.array(list(map(decimal.Decimal, large)), pa.decimal256(39, 0)))
    assert classes == [-3, 2**70]
    assert as_classes(codes, classes).to_pylist() == large
    assert classes_of("y", pa.array([datetime.date(2025, 1, 2), datetime.date(2025, 1, 1)]))[1] == [
        "2025-01-01",
        "2025-01-02",
    ]
    for column, message in (
        (np.array([]), "no rows"),
        (np.ma.MaskedArray([1, 2], [False, True]), r'the label "y" is NULL in row 2'),
    ):
        with pytest.raises(ModelError, match=message):
            present("y", array_of(column))
    for wrong, message in (
        (np.array(["a", "a"], object), "all 2 rows have the class 'a'"),
        (np.array([1.5, 2.5]), "is no class"),
        (np.arange(1001), "1001 classes"),
    ):
        with pytest.raises(ModelError, match=message):
            classes_of("y", array_of(wrong))
    for wrong, message in (
        (np.array(["a"], object), "is no number"),
        (np.array([True]), "is no number"),
        (np.array([1.0, np.nan]), "NaN in row 2"),
    ):
        with pytest.raises(ModelError, match=message):
            targets_of("y", array_of(wrong))


def test_names_are_quoted() -> None:
    assert quoted("it's") == "'it''s'"
    assert identity("rf@12") == ("rf", 12)
    for wrong in ("rf@", "rf@x", "a@b@-1"):
        with pytest.raises(ModelError, match="name@version"):
            identity(wrong)
