"""One form for the values of every destination, so that they compare with Arrow's.

A value's form is made of Arrow's type and the value: integers of days, nanoseconds and months for all that is time,
`repr` for floats (which knows NaN and the sign of zero), tuples for what is nested. None is NULL.
"""

from __future__ import annotations

import datetime as dt
import functools
import json
import re
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
from colonnade._frames import output

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
    if isinstance(value, Decimal):
        return str(value)
    if pa.types.is_interval(kind):
        return _interval(*value)
    return value


def _interval(months: int, days: int, nanoseconds: int) -> Form:
    """Without months it is a length of time, whose days have 24 hours: docs/how-to/drop-in.md."""
    return (months, days, nanoseconds) if months else days * 86_400 * 10**9 + nanoseconds


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
        days, rest = divmod(_moment(value), 86_400 * 10**9)
        return days if rest == 0 else days * 86_400 * 10**9 + rest
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
    if pa.types.is_interval(kind) and isinstance(value, (pd.Timedelta, np.timedelta64)):
        return _length(value)
    if pa.types.is_interval(kind) and isinstance(value, pd.DateOffset):
        parts = value.kwds
        small = parts.get("nanoseconds", 0) + 1000 * parts.get("microseconds", 0)
        return _interval(parts.get("months", 0), parts.get("days", 0), small)
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


def of_table(table: pa.Table) -> list[Form]:
    """The values of its only column."""
    return [of_arrow(value) for value in table.column(0)]


def result(table: pa.Table) -> colonnade.Result:
    """The rows as a source in this process gives them."""
    stream, _ = colonnade._core.Stream.from_arrow(table, "exactness", "Arrow", cancel=lambda: None)
    return colonnade.Result(stream, {})


#: Where decimals become the nearest float: docs/how-to/drop-in.md.
COERCING = {"pandas numpy", "pandas numpy_nullable", "pandas pyarrow", "pandas connectorx"}
#: Where NaN among floats is NULL.
BLIND = {"pandas numpy", "pandas exact", "pandas connectorx"}
#: Texts that are the digits of a number.
DIGITS = re.compile("(numeric|decimal|uhugeint|bignum)", re.IGNORECASE)
#: Infinity in microseconds, in nanoseconds.
INFINITY = (2**63 - 1) * 1000


def is_same(destination: str, field: pa.Field, found: Form, expected: Form) -> bool:
    """Whether a destination's value is what docs/how-to/drop-in.md says that becomes of Arrow's."""
    kind = field.type
    if found == expected:
        return True
    is_digits = DIGITS.match((field.metadata or {}).get(b"colonnade.type", b"").decode()) is not None
    is_number = is_digits or pa.types.is_decimal(kind) or pa.types.is_floating(kind)
    if pa.types.is_list(kind) and isinstance(found, tuple) and isinstance(expected, tuple):
        # Of nested numbers, only those of lists are converted.
        item = kind.value_field.with_metadata(field.metadata or kind.value_field.metadata or {})
        return len(found) == len(expected) and all(
            is_same(destination, item, one, other) for one, other in zip(found, expected, strict=True)
        )
    if destination == "pandas connectorx" and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        # Microseconds have an infinity of their own.
        last = 2**31 - 1 if pa.types.is_date(kind) else (2**63 - 1) * NANOSECONDS[kind.unit]
        return (found, expected) in ((INFINITY, last), (-INFINITY, -last))
    if expected is None or not is_number:
        return False
    if destination in COERCING and not pa.types.is_floating(kind):
        expected = repr(float(expected))
    return found == expected or (found is None and expected == "nan" and destination in BLIND)


def _in_pandas(backend: str) -> Callable[[pa.Table, Path], list[Form]]:
    def read(table: pa.Table, _: Path) -> list[Form]:
        kind = table.schema.field(0).type
        column = result(table).to_pandas(backend).iloc[:, 0]  # type: ignore[arg-type]
        if backend == "pyarrow":
            return [of_arrow(value) for value in pa.chunked_array(column.array.__arrow_array__())]
        if column.dtype == pd.Float64Dtype():
            # Digits arrive as text.
            kind = pa.float64()
        elif column.dtype.kind == "f":
            # NaN stands for NULL; and floats for integers beside a NULL, if they have room for all of them.
            values = [None if np.isnan(value) else value for value in column]
            if pa.types.is_integer(kind):
                assert None in values
                values = [value if value is None else round(value) for value in values]
            return [of_python(kind, value) for value in values]
        return [None if _is_missing(kind, value) else of_python(kind, value) for value in column]

    return read


def _is_missing(kind: pa.DataType, value: Any) -> bool:
    """Whether it is NaN that stands for NULL in a column of text."""
    return isinstance(value, float) and np.isnan(value) and not pa.types.is_floating(kind)


def _numpy(table: pa.Table, _: Path) -> list[Form]:
    kind = table.schema.field(0).type
    (values,) = result(table).to_numpy().values()
    if np.ma.isMaskedArray(values):
        return [
            None if is_null else of_python(kind, value) for value, is_null in zip(values.data, values.mask, strict=True)
        ]
    return [of_python(kind, value) for value in values]


def _polars(table: pa.Table, _: Path) -> list[Form]:
    series = result(table).to_polars().to_series(0)
    return [of_arrow(value) for value in series.to_arrow()]


def _duckdb(table: pa.Table, _: Path) -> list[Form]:
    # A length of time becomes an interval.
    found = result(table).to_duckdb(_engine()).to_arrow_table()
    return [of_arrow(value) for value in found.column(0)]


@functools.cache
def _engine() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def _in_file(suffix: str, read: Callable[[Path, pa.DataType], list[Form]]) -> Callable[..., list[Form]]:
    def write(table: pa.Table, directory: Path) -> list[Form]:
        path = directory / f"out{suffix}"
        made = result(table)
        # As the command line does.
        made._require_types(suffix[1:])
        output.write(path, output.FORMATS[output.format_of(path)], made.schema, made)
        return read(path, table.schema.field(0).type)

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
            found.append(_of_quoted(kind, text[1:end].replace('""', '"')))
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


def _of_quoted(kind: pa.DataType, cell: str) -> Form:
    if pa.types.is_nested(kind):
        return _of_json(kind, json.loads(cell))
    return _of_json(kind, cell)


def _ndjson(path: Path, kind: pa.DataType) -> list[Form]:
    lines = path.read_bytes().decode().removesuffix("\n").split("\n")
    rows = [json.loads(line) for line in lines if line]
    assert all(len(row) == 1 for row in rows)
    return [_of_json(kind, value) for row in rows for value in row.values()]


def _of_json(kind: pa.DataType, value: Any) -> Form:
    """The form of a value of JSON, given Arrow's type of it."""
    if value is None:
        return None
    if pa.types.is_dictionary(kind):
        return _of_json(kind.value_type, value)
    if pa.types.is_map(kind):
        key = (lambda text: text) if pa.types.is_string(kind.key_type) else json.loads
        pairs = [(key(name), item) for name, item in value.items()]
        return tuple((_of_json(kind.key_type, name), _of_json(kind.item_type, item)) for name, item in pairs)
    if pa.types.is_struct(kind):
        assert list(value) == [field.name for field in kind]
        return tuple(_of_json(field.type, value[field.name]) for field in kind)
    if pa.types.is_nested(kind):
        return tuple(_of_json(kind.value_type, item) for item in value)
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        assert value.startswith("\\x")
        return bytes.fromhex(value[2:])
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return value
    if pa.types.is_floating(kind):
        return repr(float(np.float32(value) if pa.types.is_float32(kind) else value))
    return value if value == "" else _from_csv(kind, str(value))


DESTINATIONS: dict[str, Callable[[pa.Table, Path], list[Form]]] = {
    **{
        f"pandas {backend}": _in_pandas(backend)
        for backend in ("numpy", "numpy_nullable", "pyarrow", "exact", "connectorx")
    },
    "polars": _polars,
    "numpy": _numpy,
    "duckdb": _duckdb,
    "csv": _in_file(".csv", _csv),
    "ndjson": _in_file(".ndjson", _ndjson),
    "parquet": _in_file(".parquet", _parquet),
}
