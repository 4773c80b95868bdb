"""The label: what a model is trained to predict."""

from __future__ import annotations

import decimal
from typing import Any

import numpy
import pyarrow

from .columns import kind_of, numbers
from .refused import ModelError

#: The most classes of a classifier.
MOST_CLASSES = 1000


def present(name: str, column: Any) -> Any:
    """The label's column, which has rows and no NULL."""
    if not len(column):
        raise ModelError("the query has no rows to train with or to measure")
    if column.null_count:
        row = int(column.is_null().to_numpy(zero_copy_only=False).argmax()) + 1
        raise ModelError(f'the label "{name}" is NULL in row {row}: leave such rows out (WHERE "{name}" IS NOT NULL)')
    return column


def classes_of(name: str, column: Any) -> tuple[numpy.ndarray, list[Any]]:
    """The number of each row's class, and the classes in their order: integers, booleans or texts."""
    codes, different = class_codes(name, column)
    classes = sorted(different)
    if len(classes) == 1:
        raise ModelError(
            f'all {len(column)} rows have the class {classes[0]!r} in "{name}": training needs two or more'
        )
    if len(classes) > MOST_CLASSES:
        raise ModelError(f'the label "{name}" has {len(classes)} classes, and a classifier at most {MOST_CLASSES}')
    order = {one: code for code, one in enumerate(classes)}
    return numpy.array([order[one] for one in different], numpy.int64)[codes], classes


def class_codes(name: str, column: Any) -> tuple[numpy.ndarray, list[Any]]:
    """The numbers of the rows' classes, and the classes in any order."""
    kind, types = column.type, pyarrow.types
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_date32(kind)
    is_integer = types.is_integer(kind) or types.is_boolean(kind) or (types.is_decimal(kind) and kind.scale == 0)
    if not (is_text or is_integer):
        raise ModelError(
            f'the label "{name}" is no class: a classifier needs integers, booleans or texts; cast it to VARCHAR '
            "or INTEGER, or use an estimator for numbers"
        )
    return encoded(column)


def encoded(column: Any) -> tuple[numpy.ndarray, list[Any]]:
    """The numbers of the rows' values, and the different values. Dates are texts, and integers of any width are
    Python's."""
    if pyarrow.types.is_date32(column.type):
        column = column.cast(pyarrow.string())
    found = column.dictionary_encode()
    different = found.dictionary.to_pylist()
    if pyarrow.types.is_decimal(column.type) and column.type.scale == 0:
        different = [int(one) for one in different]
    return found.indices.to_numpy(), different


def targets_of(name: str, column: Any) -> numpy.ndarray:
    """The numbers that a regression predicts."""
    kind, types = column.type, pyarrow.types
    if types.is_boolean(kind) or types.is_temporal(kind) or kind_of(name, column) != "number":
        raise ModelError(f'the label "{name}" is no number: cast it to DOUBLE, or use a classifier')
    found = numbers(name, column).astype(numpy.float64, copy=False)
    if numpy.isnan(found).any():
        raise ModelError(f'the label "{name}" is NaN in row {int(numpy.isnan(found).argmax()) + 1}')
    return found


def as_classes(codes: numpy.ndarray, classes: list[Any]) -> Any:
    """The classes by their numbers."""
    is_large = not isinstance(classes[0], str) and not all(-(2**63) <= one < 2**63 for one in classes)
    known = (
        pyarrow.array(list(map(decimal.Decimal, classes)), pyarrow.decimal256(39, 0))
        if is_large
        else pyarrow.array(classes)
    )
    try:
        return known.take(pyarrow.array(numpy.asarray(codes, numpy.int64)))
    except IndexError:
        wrong = next(code for code in codes if not 0 <= code < len(classes))
        raise ModelError(f"the model returned class index {wrong}, but it has {len(classes)} classes") from None
