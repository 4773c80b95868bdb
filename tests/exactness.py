"""One form for the values of every destination, so that they compare with Arrow's.

A value's form is made of Arrow's type and the value: integers of days, nanoseconds and months for all that is time,
`repr` for floats (which knows NaN and the sign of zero), tuples for what is nested. None is NULL.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import colonnade
import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from colonnade import _output

Form = Any
NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
EPOCH = dt.datetime(1970, 1, 1)


def of_arrow(value: pa.Scalar) -> Form:
    """The form of a value of Arrow's."""
    if not value.is_valid:
        return None
    kind = value.type
    if pa.types.is_dictionary(kind):
        return of_arrow(value.dictionary[value.index.as_py()])
    if pa.types.is_map(kind):
        return tuple((of_arrow(pair["key"]), of_arrow(pair["value"])) for pair in value.values)
    if pa.types.is_struct(kind):
        return tuple(of_arrow(value[index]) for index in range(kind.num_fields))
    if pa.types.is_nested(kind):
        return tuple(map(of_arrow, value.values))
    if pa.types.is_date(kind):
        return value.value if kind.bit_width == 32 else value.value // 86_400_000
    if pa.types.is_time(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return value.value * NANOSECONDS[kind.unit]
    return _plain(kind, value.as_py())


def _plain(kind: pa.DataType, value: Any) -> Form:
    if pa.types.is_floating(kind) or isinstance(value, float):
        return repr(float(value))
    if pa.types.is_interval(kind):
        return tuple(value)
    return str(value) if pa.types.is_decimal(kind) else value


def of_python(kind: pa.DataType, value: Any) -> Form:
    """The form of a value of Python's, NumPy's or pandas', given Arrow's type of it. NaN is not NULL."""
    if (
        value is None
        or value is pd.NA
        or value is pd.NaT
        or (isinstance(value, (np.datetime64, np.timedelta64)) and np.isnat(value))
    ):
        return None
    if pa.types.is_dictionary(kind):
        return of_python(kind.value_type, value)
    if pa.types.is_map(kind):
        pairs = value.items() if isinstance(value, dict) else value
        return tuple((of_python(kind.key_type, key), of_python(kind.item_type, item)) for key, item in pairs)
    if pa.types.is_struct(kind):
        assert list(value) == [field.name for field in kind]
        return tuple(of_python(field.type, value[field.name]) for field in kind)
    if pa.types.is_nested(kind):
        return tuple(of_python(kind.value_type, item) for item in value)
    if pa.types.is_date(kind):
        nanoseconds = _moment(value)
        assert nanoseconds % (86_400 * 10**9) == 0
        return nanoseconds // (86_400 * 10**9)
    if pa.types.is_timestamp(kind):
        return _moment(value)
    if pa.types.is_time(kind):
        return _clock(value)
    if pa.types.is_duration(kind):
        return _length(value)
    if pa.types.is_boolean(kind):
        assert isinstance(value, (bool, np.bool_))
        return bool(value)
    if pa.types.is_integer(kind):
        # A float with the same value is lucky.
        assert isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        return int(value)
    if pa.types.is_interval(kind) and isinstance(value, pd.DateOffset):
        parts = value.kwds
        return (
            parts.get("months", 0),
            parts.get("days", 0),
            parts.get("nanoseconds", 0) + 1000 * parts.get("microseconds", 0),
        )
    return _plain(kind, value)


def _moment(value: Any) -> int:
    """Nanoseconds from 1970 on."""
    if isinstance(value, pd.Timestamp):
        return int(value.asm8.view("int64")) * NANOSECONDS[value.unit]
    if isinstance(value, np.datetime64):
        unit, _ = np.datetime_data(value.dtype)
        return int(value.view("int64")) * (86_400 * 10**9 if unit == "D" else NANOSECONDS[unit])
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(dt.UTC).replace(tzinfo=None)
        return (value - EPOCH) // dt.timedelta(microseconds=1) * 1000
    assert isinstance(value, dt.date), type(value)
    return (value - EPOCH.date()).days * 86_400 * 10**9


def _clock(value: Any) -> int:
    if isinstance(value, np.timedelta64):
        return _length(value)
    if isinstance(value, str):
        hours, minutes, seconds = value.split(":")
        return int((int(hours) * 3600 + int(minutes) * 60 + Decimal(seconds)) * 10**9)
    assert isinstance(value, dt.time), type(value)
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 10**9 + value.microsecond * 1000


def _length(value: Any) -> int:
    if isinstance(value, pd.Timedelta):
        return int(value.asm8.view("int64")) * NANOSECONDS[value.unit]
    if isinstance(value, np.timedelta64):
        return int(value.view("int64")) * NANOSECONDS[np.datetime_data(value.dtype)[0]]
    return value // dt.timedelta(microseconds=1) * 1000


# --- destinations -----------------------------------------------------------------------------------------------------


def arrow(connection: colonnade.Connection, sql: str) -> tuple[pa.Field, list[Form]]:
    """The only column, and its values."""
    table = connection.query(sql).to_arrow()
    return table.schema.field(0), [of_arrow(value) for value in table.column(0)]


def expected(destination: str, field: pa.Field, form: Form) -> Form:
    """What docs/drop-in.md says that becomes of a value."""
    if destination == "pandas connectorx":
        numeric = (field.metadata or {}).get(b"colonnade.type", b"").startswith(b"numeric")
        form = _nearest(field.type, form, numeric=numeric and not pa.types.is_nested(field.type))
        return None if form == "nan" else form
    return _blind(form) if destination == "pandas numpy" else form


def _nearest(kind: pa.DataType, form: Form, *, numeric: bool) -> Form:
    """A decimal's float."""
    if form is None or pa.types.is_struct(kind) or pa.types.is_map(kind):
        return form
    if pa.types.is_list(kind) and pa.types.is_decimal(kind.value_type):
        return tuple(_nearest(kind.value_type, item, numeric=False) for item in form)
    return repr(float(form)) if numeric or pa.types.is_decimal(kind) else form


def _blind(form: Form) -> Form:
    """Where NaN stands for NULL."""
    if isinstance(form, tuple):
        return tuple(map(_blind, form))
    return None if form == "nan" else form


def _in_pandas(backend: str) -> Callable[[colonnade.Connection, str, Path], list[Form]]:
    def read(connection: colonnade.Connection, sql: str, _: Path) -> list[Form]:
        kind = connection.query(sql).to_arrow().schema.field(0).type
        column = connection.query(sql).to_pandas(backend).iloc[:, 0]  # type: ignore[arg-type]
        if backend == "pyarrow":
            return [of_arrow(value) for value in pa.chunked_array(column.array.__arrow_array__())]
        found = [of_python(kind, value) for value in column]
        if backend == "numpy":
            return [_blind(form) for form in found]
        return [None if backend == "connectorx" and form == "nan" else form for form in found]

    return read


def _numpy(connection: colonnade.Connection, sql: str, _: Path) -> list[Form]:
    kind = connection.query(sql).to_arrow().schema.field(0).type
    (values,) = connection.query(sql).to_numpy().values()
    if np.ma.isMaskedArray(values):
        return [
            None if is_null else of_python(kind, value) for value, is_null in zip(values.data, values.mask, strict=True)
        ]
    return [of_python(kind, value) for value in values]


def _polars(connection: colonnade.Connection, sql: str, _: Path) -> list[Form]:
    series = connection.query(sql).to_polars().to_series(0)
    return [of_arrow(value) for value in series.to_arrow()]


def _duckdb(connection: colonnade.Connection, sql: str, _: Path) -> list[Form]:
    with duckdb.connect() as other:
        found = connection.query(sql).to_duckdb(other)
        if found.types[0].id == "interval":
            # A duration becomes an interval.
            return [value and of_arrow(value) for value in found.to_arrow_table().column(0)]
        return [of_arrow(value) for value in found.to_arrow_table().column(0)]


def _in_file(suffix: str, read: Callable[[Path, pa.DataType], list[Form]]) -> Callable[..., list[Form]]:
    def write(connection: colonnade.Connection, sql: str, directory: Path) -> list[Form]:
        path = directory / f"out{suffix}"
        result = connection.query(sql)
        kind = result.schema.field(0).type
        _output.write(path, _output.writer_of(path), result.schema, result)
        return read(path, kind)

    return write


def _parquet(path: Path, kind: pa.DataType) -> list[Form]:
    return [of_arrow(value) for value in pyarrow.parquet.read_table(path).column(0)]


def _csv(path: Path, kind: pa.DataType) -> list[Form]:
    """One column: NULL is nothing, and text stands between quotes. A line may end within them."""
    text = path.read_bytes().decode()
    found: list[Form] = []
    text = text.split("\n", 1)[1]
    while text:
        if text.startswith('"'):
            end = 1
            while text[end] != '"' or text[end : end + 2] == '""':
                end += 2 if text[end] == '"' else 1
            found.append(text[1:end].replace('""', '"'))
            text = text[end + 2 :]
        else:
            cell, _, text = text.partition("\n")
            found.append(_from_csv(kind, cell))
    return found


def _from_csv(kind: pa.DataType, cell: str) -> Form:
    if cell == "":
        return None
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return json.loads(cell)
    if pa.types.is_float32(kind):
        return repr(float(np.float32(cell)))
    if pa.types.is_floating(kind):
        return repr(float(cell))
    if pa.types.is_duration(kind):
        return int(cell) * NANOSECONDS[kind.unit]
    if pa.types.is_time(kind):
        return _clock(cell)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        moment = int(np.datetime64(cell.removesuffix("Z").replace(" ", "T"), "us").view("int64")) * 1000
        if pa.types.is_timestamp(kind) and kind.unit == "ns":
            moment = int(np.datetime64(cell.replace(" ", "T"), "ns").view("int64"))
        return moment // (86_400 * 10**9) if pa.types.is_date(kind) else moment
    return cell


DESTINATIONS: dict[str, Callable[[colonnade.Connection, str, Path], list[Form]]] = {
    **{f"pandas {backend}": _in_pandas(backend) for backend in ("numpy", "numpy_nullable", "pyarrow", "connectorx")},
    "polars": _polars,
    "numpy": _numpy,
    "duckdb": _duckdb,
    "csv": _in_file(".csv", _csv),
    "parquet": _in_file(".parquet", _parquet),
}
