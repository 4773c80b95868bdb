"""Columns of a query as the features of a model: what they are, and the matrix that an estimator gets.

Columns are arrays of pyarrow. A text is never an object of Python for each row: its column becomes numbers and a list
of the different texts."""

from __future__ import annotations

import decimal
from typing import Any, NoReturn

import numpy
import pyarrow
import pyarrow.compute

from .refused import ModelError

#: The category of NULL in a column of text. Unicode reserves this character for use within programs.
NULL_TEXT = "\ufdd0"
#: The most categories of a column of text.
MOST_CATEGORIES = 1000
#: The rows of a matrix that are written together.
BLOCK = 16384
#: Integers up to this one are exact in 64-bit floats.
LARGEST_INTEGER = 2**53
#: So are the powers of ten up to this one.
LARGEST_POWER = 22
#: The seconds of a day.
SECONDS = 24 * 60 * 60
#: The numbers of the units of a second in which dates and times arrive.
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def kind_of(name: str, column: Any) -> str:
    """`number` or `text`; `nothing` for a column of texts, or without a type, that are all NULL."""
    kind, types = column.type, pyarrow.types
    if types.is_null(kind):
        return "nothing"
    if types.is_string(kind) or types.is_large_string(kind):
        return "nothing" if column.null_count == len(column) else "text"
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)
    if is_number or (types.is_temporal(kind) and not types.is_interval(kind)):
        return "number"
    raise ModelError(f'column "{name}" has values of the type {kind}: cast it to a number or to VARCHAR')


def unit_of(column: Any) -> str:
    """What a number of the column counts: `date` for days since 1970, `timestamp` for seconds since then, `time` for
    those since midnight, and `number` for anything else."""
    kind, types = column.type, pyarrow.types
    if types.is_date(kind):
        return "date"
    return "timestamp" if types.is_timestamp(kind) else "time" if types.is_time(kind) else "number"


def numbers(name: str, column: Any, wanted: str | None = None) -> numpy.ndarray:
    """A column of numbers as NumPy's, which are exact as 64-bit floats: floats with NaN for NULL, if there is one.
    `wanted`: for dates `timestamp`, and for timestamps `date`, is the unit of the result."""
    kind, types, unit_here = column.type, pyarrow.types, unit_of(column)
    if types.is_integer(kind) and kind.bit_width == 64:
        check_integers(name, column)
    if types.is_temporal(kind):
        if types.is_date64(kind):
            kind, column = pyarrow.date32(), column.cast(pyarrow.date32())
        unit = 1 if types.is_date32(kind) else UNITS[kind.unit]
        counts = filled(column.view(pyarrow.int32() if kind.bit_width == 32 else pyarrow.int64()))
        found = counts.to_numpy() / unit
        if wanted == "timestamp" and unit_here == "date":
            found = found * SECONDS
        elif wanted == "date" and unit_here == "timestamp":
            found = found / SECONDS
    elif types.is_decimal(kind):
        check_decimals(name, column)
        found = decimals(filled(column))
    elif types.is_floating(kind) or types.is_boolean(kind) or not column.null_count:
        found = filled(column).to_numpy(zero_copy_only=False)
    else:
        found = filled(column).to_numpy().astype(numpy.float64)
    if column.null_count:
        found = found.astype(numpy.float64)
        found[column.is_null().to_numpy(zero_copy_only=False)] = numpy.nan
    # A sum is finite if each value is: only then is there nothing to look for.
    if found.dtype.kind == "f" and not numpy.isfinite(found.sum()) and numpy.isinf(found).any():
        row = int(numpy.isinf(found).argmax())
        raise ModelError(f'column "{name}", row {row + 1}: an infinite value is no feature')
    return found


def filled(column: Any) -> Any:
    """The column with zero for NULL."""
    if not column.null_count:
        return column
    if pyarrow.types.is_decimal(column.type):
        return column.fill_null(pyarrow.scalar(decimal.Decimal(0), column.type))
    return column.fill_null(pyarrow.scalar(0).cast(column.type))


def inexact(name: str, row: int, value: Any) -> ModelError:
    return ModelError(
        f'column "{name}", row {row + 1}: {value} is not exact as a feature, which is a 64-bit float; '
        "leave the column out, or cast it to DOUBLE"
    )


def check_integers(name: str, column: Any) -> None:
    """Refuse integers that are not exact as 64-bit floats."""
    values = filled(column).to_numpy()
    if not len(values) or (values.max() <= LARGEST_INTEGER and values.min() >= -LARGEST_INTEGER):
        return
    row = int(((values > LARGEST_INTEGER) | (values < -LARGEST_INTEGER)).argmax())
    raise inexact(name, row, values[row])


def check_decimals(name: str, column: Any) -> None:
    """The same for decimals without a fraction: a HUGEINT is one."""
    if column.type.scale > 0:
        return
    bounds = pyarrow.compute.call_function("min_max", [column])
    low, high = (bounds[each].as_py() for each in ("min", "max"))
    if low is None or (low >= -LARGEST_INTEGER and high <= LARGEST_INTEGER):
        return
    items = column.to_pylist()
    row = next(at for at, one in enumerate(items) if one is not None and abs(one) > LARGEST_INTEGER)
    raise inexact(name, row, items[row])


def decimals(column: Any) -> numpy.ndarray:
    """Decimals as the nearest 64-bit floats."""
    scale, words = column.type.scale, column.type.byte_width // 8
    if words > 1 and 0 <= scale <= LARGEST_POWER:
        buffer = column.buffers()[1]
        parts = numpy.frombuffer(buffer or b"", "<i8").reshape(-1, words)[column.offset :][: len(column)]
        low = parts[:, 0]
        is_low = (parts[:, 1:] == (low >> 63)[:, numpy.newaxis]).all() and (low >= -LARGEST_INTEGER).all()
        if is_low and (low <= LARGEST_INTEGER).all():
            # Both are exact, so their quotient is the nearest float.
            return low / float(10**scale)
    return numpy.array([float(value) for value in column.to_pylist()], numpy.float64)


def texts(name: str, column: Any) -> tuple[numpy.ndarray, list[str]]:
    """A column of text as the numbers of its rows' texts, and the different texts: the reserved one for NULL."""
    column = column.cast(pyarrow.string()) if pyarrow.types.is_null(column.type) else column
    found = column.dictionary_encode(null_encoding="encode")
    numbers, different = found.indices.to_numpy(), found.dictionary.to_pylist()
    if NULL_TEXT in different:
        refuse_reserved(name, numbers == different.index(NULL_TEXT))
    return numbers, [NULL_TEXT if text is None else text for text in different]


def refuse_reserved(name: str, rows: numpy.ndarray) -> NoReturn:
    raise ModelError(f'column "{name}", row {int(rows.argmax()) + 1}: the text U+FDD0 is reserved for NULL')


def feature(name: str, column: Any) -> dict[str, Any]:
    """What a model keeps of a column that it is trained with: the median in place of NULL, or the categories."""
    if kind_of(name, column) == "number":
        found = numbers(name, column).astype(numpy.float64, copy=False)
        present = found[~numpy.isnan(found)]
        fill = float(numpy.median(present)) if len(present) else 0.0
        return {"name": name, "kind": "number", "unit": unit_of(column), "fill": fill}
    categories = sorted(texts(name, column)[1])
    if len(categories) > MOST_CATEGORIES:
        raise ModelError(
            f'column "{name}" has {len(categories)} different texts, and a feature at most {MOST_CATEGORIES}; '
            "leave the column out, or group its texts"
        )
    return {"name": name, "kind": "text", "categories": categories}


def chosen(columns: dict[str, Any], features: list[dict[str, Any]]) -> list[Any]:
    """The columns of the features, by their names; upper and lower case count only where both exist."""
    return [columns[named(one["name"], columns)] for one in features]


def named(name: str, columns: Any, what: str = "the column ", place: str = "query") -> str:
    """The column of this name."""
    if name in columns:
        return name
    same = [one for one in columns if one.casefold() == name.casefold()]
    if len(same) != 1:
        raise ModelError(f'the model needs {what}"{name}"; the {place} has {", ".join(columns) or "nothing"}')
    return same[0]


def checked(one: dict[str, Any], column: Any) -> Any:
    """A column that has a feature's kind."""
    kind = kind_of(one["name"], column)
    if column.null_count and one.get("nulls") is False:
        row = int(column.is_null().to_numpy(zero_copy_only=False).argmax())
        raise ModelError(f'column "{one["name"]}" is NULL in row {row + 1}, and the model takes no NULL in it')
    if kind == "nothing":
        return pyarrow.nulls(len(column), pyarrow.float64() if one["kind"] == "number" else pyarrow.string())
    here, wanted = unit_of(column) if kind == "number" else kind, one.get("unit", one["kind"])
    # Models that were stored before features had units have none.
    is_same = kind == one["kind"] and ("unit" not in one or here == wanted or {here, wanted} == {"date", "timestamp"})
    if not is_same:
        raise ModelError(f'column "{one["name"]}" is a {here}, and the model was trained with a {wanted}')
    return column


def as_kind(one: dict[str, Any], column: Any) -> numpy.ndarray:
    """A column as a feature's values: floats with NaN for NULL, or objects with the reserved text for NULL."""
    column = checked(one, column)
    if one["kind"] == "number":
        return numbers(one["name"], column, one.get("unit")).astype(numpy.float64, copy=False)
    codes, different = texts(one["name"], column)
    return numpy.array(different, object)[codes]


def category_numbers(one: dict[str, Any], column: Any) -> numpy.ndarray:
    """A column of text as the numbers of its rows' categories, -1 for a text that the training did not have."""
    categories = one["categories"]
    # The reserved text is searched too, so that it is refused also if the training had no NULL.
    searched = categories if NULL_TEXT in categories else [*categories, NULL_TEXT]
    column = column.cast(pyarrow.string()) if pyarrow.types.is_null(column.type) else column
    options = pyarrow.compute.SetLookupOptions(value_set=pyarrow.array(searched, column.type))
    found = pyarrow.compute.call_function("index_in", [column], options)
    found = found.fill_null(-1).to_numpy() if found.null_count else found.to_numpy()
    reserved = searched.index(NULL_TEXT)
    is_reserved = found == reserved
    if is_reserved.any():
        refuse_reserved(one["name"], is_reserved)
    if column.null_count and searched is categories:
        found = numpy.where(column.is_null().to_numpy(zero_copy_only=False), reserved, found)
    return found


def feature_values(one: dict[str, Any], column: Any) -> numpy.ndarray:
    """A column as an estimator's numbers: the median in place of NULL, or the numbers of categories."""
    column = checked(one, column)
    if one["kind"] == "text":
        return category_numbers(one, column)
    values = numbers(one["name"], column, one.get("unit"))
    if values.dtype.kind == "f" and not numpy.isfinite(values.sum()):
        # No value is infinite, so that only NaN and a sum that is too large come here.
        values = numpy.where(numpy.isnan(values), one["fill"], values)
    return values


def matrix(columns: list[Any], features: list[dict[str, Any]], dtype: Any, order: Any = "C") -> numpy.ndarray:
    """The matrix that an estimator gets. In the order C, a row's values are side by side: predictions read rows. In the
    order F, a column's are: training reads columns."""
    return stacked(all_values(columns, features), features, dtype, order)


def all_values(columns: list[Any], features: list[dict[str, Any]]) -> list[numpy.ndarray]:
    """The columns of the matrix, each with a type of its own."""
    return [feature_values(one, column) for one, column in zip(features, columns, strict=True)]


def stacked(parts: list[numpy.ndarray], features: list[dict[str, Any]], dtype: Any, order: Any = "C") -> numpy.ndarray:
    """The matrix of these columns."""
    found = numpy.empty((len(parts[0]), len(parts)), dtype, order=order)
    # The rows of a block stay in the processor's cache while their columns are written.
    step = BLOCK if order == "C" else max(len(found), 1)
    at = 0
    try:
        with numpy.errstate(over="raise"):
            for start in range(0, len(found), step):
                rows = found[start : start + step]
                for at, values in enumerate(parts):
                    rows[:, at] = values[start : start + step]
    except FloatingPointError:
        refuse_large(features[at])
    return found


def refuse_large(one: dict[str, Any]) -> NoReturn:
    raise ModelError(f'column "{one["name"]}" has a value beyond 3.4e38: this model computes with 32-bit floats')
