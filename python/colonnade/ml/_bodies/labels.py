"""The label: what a model is trained to predict."""

from __future__ import annotations

import datetime
from typing import Any

import numpy

from .columns import kind_of, numbers, parted
from .refused import ModelError

#: The most classes of a classifier.
MOST_CLASSES = 1000


def present(name: str, column: Any) -> numpy.ndarray:
    """The label's values, without a NULL."""
    values, mask = parted(column)
    if not len(values):
        raise ModelError("the query has no rows to train with")
    if mask is not None:
        row = int(mask.argmax()) + 1
        raise ModelError(f'the label "{name}" is NULL in row {row}: leave such rows out (WHERE {name} IS NOT NULL)')
    return values


def classes_of(name: str, values: numpy.ndarray) -> tuple[numpy.ndarray, list[Any]]:
    """The number of each row's class, and the classes in their order: integers, booleans or texts."""
    kind = values.dtype.kind
    if values.ndim == 1 and kind in "biu":
        found, codes = numpy.unique(values, return_inverse=True)
        classes = found.tolist()
    else:
        items = values.tolist()
        types = set(map(type, items))
        if values.ndim != 1 or not (types == {str} or types == {datetime.date} or types == {int}):
            raise ModelError(
                f'the label "{name}" is no class: a classifier needs integers, booleans or texts; cast it to VARCHAR '
                "or INTEGER, or use an estimator for numbers"
            )
        items = [str(item) for item in items] if types == {datetime.date} else items
        classes = sorted(set(items))
        numbered = {one: code for code, one in enumerate(classes)}
        codes = numpy.fromiter((numbered[item] for item in items), numpy.int64, len(items))
    if len(classes) == 1:
        raise ModelError(
            f'all {len(values)} rows have the class {classes[0]!r} in "{name}": training needs two or more'
        )
    if len(classes) > MOST_CLASSES:
        raise ModelError(f'the label "{name}" has {len(classes)} classes, and a classifier at most {MOST_CLASSES}')
    return codes, classes


def targets_of(name: str, values: numpy.ndarray) -> numpy.ndarray:
    """The numbers that a regression predicts."""
    if values.dtype.kind in "bMm" or kind_of(name, values, None) != "number":
        raise ModelError(f'the label "{name}" is no number: cast it to DOUBLE, or use a classifier')
    found = numbers(name, values, None)
    if numpy.isnan(found).any():
        raise ModelError(f'the label "{name}" is NaN in row {int(numpy.isnan(found).argmax()) + 1}')
    return found


def as_classes(codes: numpy.ndarray, classes: list[Any]) -> numpy.ndarray:
    """The classes by their numbers."""
    known = numpy.array(classes, object if isinstance(classes[0], str) else None)
    return known[numpy.asarray(codes, numpy.int64)]
