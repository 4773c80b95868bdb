"""Columns of a query as the features of a model: what they are, and the matrix that an estimator gets."""

from __future__ import annotations

import decimal
from typing import Any

import numpy

from .refused import ModelError

#: The category of NULL in a column of text. Unicode reserves this character for use within programs.
NULL_TEXT = "\ufdd0"
#: The most categories of a column of text.
MOST_CATEGORIES = 1000
#: Integers up to this one are exact in 64-bit floats.
LARGEST_INTEGER = 2**53
#: Rows of a matrix that are written together.
BLOCK = 4096
#: The numbers of the units of a second in which dates and times arrive.
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def parted(column: Any) -> tuple[numpy.ndarray, numpy.ndarray | None]:
    """The values of an argument, and which of them are NULL: None if there is no NULL."""
    if isinstance(column, numpy.ma.MaskedArray):
        mask = numpy.ma.getmaskarray(column)
        return numpy.asarray(column.data), mask if mask.any() else None
    return numpy.asarray(column), None


def kind_of(name: str, values: numpy.ndarray, mask: numpy.ndarray | None) -> str:
    """`number` or `text`; `nothing` for a column of objects that are all NULL."""
    if values.ndim == 1 and values.dtype.kind in "biufMm":
        return "number"
    found: set[str] = set()
    if values.ndim == 1 and values.dtype.kind == "O":
        present = values if mask is None else values[~mask]
        types = set(map(type, present.tolist()))
        if not types:
            return "nothing"
        if types == {str}:
            return "text"
        if types <= {int, decimal.Decimal}:
            return "number"
        found = {one.__name__ for one in types}
    shown = ", ".join(sorted(found)) or str(values.dtype)
    raise ModelError(f'column "{name}" has values of the type {shown}: cast it to a number or to VARCHAR')


def numbers(name: str, values: numpy.ndarray, mask: numpy.ndarray | None) -> numpy.ndarray:
    """A column of numbers as 64-bit floats; NULL is NaN. Dates are days, and times are seconds, since 1970."""
    kind = values.dtype.kind
    if kind in "iu" and values.dtype.itemsize == 8 and values.size:
        large = (values > LARGEST_INTEGER) if kind == "u" else (values > LARGEST_INTEGER) | (values < -LARGEST_INTEGER)
        if mask is not None:
            large &= ~mask
        if large.any():
            row = int(large.argmax())
            raise ModelError(
                f'column "{name}", row {row + 1}: {values[row]} is not exact as a feature, which is a 64-bit float; '
                "leave the column out, or cast it"
            )
    if kind in "Mm":
        unit = numpy.datetime_data(values.dtype)[0]
        nulls = numpy.isnat(values)
        found = values.astype(numpy.int64).astype(numpy.float64) / UNITS.get(unit, 1)
        mask = nulls if mask is None else mask | nulls
    elif kind == "O":
        present = numpy.ones(len(values), bool) if mask is None else ~mask
        found = numpy.zeros(len(values))
        found[present] = [float(value) for value in values[present].tolist()]
    else:
        found = values.astype(numpy.float64, copy=False)
    if mask is not None and mask.any():
        found = found.copy() if found is values else found
        found[mask] = numpy.nan
    # A sum is finite if each value is: only then is there nothing to look for.
    if found.size and not numpy.isfinite(found.sum()) and numpy.isinf(found).any():
        row = int(numpy.isinf(found).argmax())
        raise ModelError(f'column "{name}", row {row + 1}: an infinite value is no feature')
    return found


def texts(name: str, values: numpy.ndarray, mask: numpy.ndarray | None) -> list[str]:
    """A column of text, with the reserved text for NULL."""
    items = values.tolist()
    if mask is not None:
        for row in numpy.flatnonzero(mask).tolist():
            items[row] = None
    if NULL_TEXT in items:
        row = items.index(NULL_TEXT)
        raise ModelError(f'column "{name}", row {row + 1}: the text U+FDD0 is reserved for NULL')
    return [NULL_TEXT if item is None else item for item in items]


def feature(name: str, column: Any) -> dict[str, Any]:
    """What a model keeps of a column that it is trained with: the median in place of NULL, or the categories."""
    values, mask = parted(column)
    if kind_of(name, values, mask) == "number":
        found = numbers(name, values, mask)
        present = found[~numpy.isnan(found)]
        return {"name": name, "kind": "number", "fill": float(numpy.median(present)) if len(present) else 0.0}
    categories = sorted(set(texts(name, values, mask)))
    if len(categories) > MOST_CATEGORIES:
        raise ModelError(
            f'column "{name}" has {len(categories)} different texts, and a feature at most {MOST_CATEGORIES}; '
            "leave the column out, or group its texts"
        )
    return {"name": name, "kind": "text", "categories": categories}


def chosen(columns: dict[str, Any], features: list[dict[str, Any]]) -> list[Any]:
    """The columns of the features, by their names; upper and lower case count only where both exist."""
    folded: dict[str, list[str]] = {}
    for name in columns:
        folded.setdefault(name.casefold(), []).append(name)
    found = []
    for one in features:
        name = one["name"]
        if name not in columns:
            same = folded.get(name.casefold(), [])
            if len(same) != 1:
                raise ModelError(f'the model needs the column "{name}"; the query has {", ".join(columns) or "none"}')
            name = same[0]
        found.append(columns[name])
    return found


def as_kind(one: dict[str, Any], column: Any) -> numpy.ndarray:
    """A column as a feature's values: floats with NaN for NULL, or objects with the reserved text for NULL."""
    values, mask = parted(column)
    kind = kind_of(one["name"], values, mask)
    if mask is not None and one.get("nulls") is False:
        raise ModelError(
            f'column "{one["name"]}" is NULL in row {int(mask.argmax()) + 1}, and the model takes no NULL in it'
        )
    if kind == "nothing":
        empty = numpy.nan if one["kind"] == "number" else NULL_TEXT
        return numpy.full(len(values), empty, numpy.float64 if one["kind"] == "number" else object)
    if kind != one["kind"]:
        raise ModelError(f'column "{one["name"]}" is a {kind}, and the model was trained with a {one["kind"]}')
    if kind == "number":
        return numbers(one["name"], values, mask)
    return numpy.array(texts(one["name"], values, mask), object)


def matrix(columns: list[Any], features: list[dict[str, Any]], dtype: Any) -> numpy.ndarray:
    """The rows that an estimator gets: numbers, the median in place of NULL, and the number of each text's category, -1
    for one that the training did not have."""
    rows = len(columns[0])
    prepared = []
    for one, column in zip(features, columns, strict=True):
        values = as_kind(one, column)
        if one["kind"] == "text":
            codes = {text: code for code, text in enumerate(one["categories"])}
            values = numpy.fromiter((codes.get(text, -1) for text in values.tolist()), numpy.float64, rows)
        elif not numpy.isfinite(values.sum()):
            # No value is infinite, so that only NaN and a sum that is too large come here.
            values = numpy.where(numpy.isnan(values), one["fill"], values)
        prepared.append(values)
    found = numpy.empty((rows, len(features)), dtype)
    # By blocks, whose rows stay in the processor's cache while their columns are written.
    for start in range(0, rows, BLOCK):
        for at, values in enumerate(prepared):
            found[start : start + BLOCK, at] = values[start : start + BLOCK]
    return found
