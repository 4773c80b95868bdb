"""Batches in the types of an engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from colonnade._errors import DataError


def plain(kind: pa.DataType) -> pa.DataType:
    """The type without dictionaries: workers have different ones for one enumeration, and few engines join them."""
    if pa.types.is_dictionary(kind):
        return plain(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(plain(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_field.with_type(plain(kind.key_type)), kind.item_field.with_type(plain(kind.item_type)))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(plain(kind.value_type)), kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        make = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return make(kind.value_field.with_type(plain(kind.value_type)))
    return kind


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema without dictionaries."""
    return pa.schema([field.with_type(plain(field.type)) for field in schema], schema.metadata)


def fitted(batches: Iterable[pa.RecordBatch], schema: pa.Schema, engine: str) -> Iterator[pa.RecordBatch]:
    """The batches with the types of `schema`, which has their columns in their order.

    Raises:
        DataError: A value is not exact in the new type; it names the column and the row of the part, from 1.
    """
    rows = 0
    for batch in batches:
        columns = [
            column if column.type.equals(field.type) else _cast(column, field, rows, engine)
            for field, column in zip(schema, batch.columns, strict=True)
        ]
        # Without columns, a batch only counts its rows, and from_arrays would make it empty.
        yield pa.RecordBatch.from_arrays(columns, schema=schema) if columns else batch
        rows += batch.num_rows


def _cast(column: pa.Array, field: pa.Field, before: int, engine: str) -> pa.Array:
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid:
        row = _first_inexact(column, field.type)
        raise DataError(
            f"column {field.name!r}, row {before + row + 1} of the part: {column[row].as_py()} is not exact as"
            f" {field.type}, which {engine} has for the column",
            hint="cast the column in the query, for example to text",
        ) from None


def _first_inexact(column: pa.Array, kind: Any) -> int:
    """The first row that cannot be cast, by halves."""
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            column.slice(low, middle - low).cast(kind)
        except pa.ArrowInvalid:
            high = middle
        else:
            low = middle
    return low
