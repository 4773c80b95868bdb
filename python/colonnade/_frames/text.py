"""Arrow's values as text: the forms of CSV and NDJSON (docs/reference/files.md)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from colonnade._libraries import require

from . import variant

if TYPE_CHECKING:
    import pyarrow as pa

#: JSON has no numbers for these. The texts are those of PostgreSQL's `to_json`.
_NO_NUMBERS = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}
_CONTROL = r"[\x00-\x1f]"


def csv_schema(schema: pa.Schema) -> pa.Schema:
    """The columns as `csv_batch` gives them."""
    text = _library().large_string()
    return _library().schema([field.with_type(text if _lacks(field.type) else _in_utc(field.type)) for field in schema])


def csv_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with texts for lists, composites and bytes, which CSV lacks."""
    pairs = zip(batch.columns, batch.schema, strict=True)
    columns = [_csv_column(column, field) if _lacks(column.type) else _shown(column) for column, field in pairs]
    return _library().RecordBatch.from_arrays(columns, schema=csv_schema(batch.schema))


def json_lines(batch: pa.RecordBatch) -> bytes:
    """A line for each row: a JSON object with the columns in their order."""
    lines = _object(list(batch.schema), batch.columns, batch.num_rows)
    return "".join(f"{line}\n" for line in lines.to_pylist()).encode()


def _library() -> Any:
    require("pyarrow.compute", "writing text")
    return require("pyarrow", "writing text")


def _lacks(kind: pa.DataType) -> bool:
    """Whether CSV lacks the type."""
    types = _library().types
    return types.is_nested(kind) or types.is_string_view(kind) or _is_bytes(kind)


def _is_bytes(kind: pa.DataType) -> bool:
    types = _library().types
    kind = getattr(kind, "storage_type", kind)
    kinds = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_binary_view)
    return any(is_kind(kind) for is_kind in kinds)


def _csv_column(column: pa.Array, field: pa.Field) -> pa.Array:
    """NULL stays NULL. A value is bytes in hexadecimal digits, or JSON."""
    if _is_bytes(column.type):
        return _hexadecimal(column)
    pa = _library()
    if not pa.types.is_nested(column.type):
        return _text(column)
    return pa.compute.if_else(column.is_valid(), _json(column, field), pa.scalar(None, pa.large_string()))


def _hexadecimal(column: pa.Array) -> pa.Array:
    """PostgreSQL's form of bytes: `\\x` and two digits for each byte."""
    values = getattr(column, "storage", column).to_pylist()
    texts = [None if value is None else f"\\x{value.hex()}" for value in values]
    return _library().array(texts, _library().large_string())


def _text(column: pa.Array) -> pa.Array:
    return _shown(column).cast(_library().large_string())


def _shown(column: pa.Array) -> pa.Array:
    kind = _in_utc(column.type)
    return column if kind == column.type else column.cast(kind)


def _in_utc(kind: pa.DataType) -> pa.DataType:
    """A timestamp with another time zone is shown in UTC, as all others. The values stay."""
    pa = _library()
    return pa.timestamp(kind.unit, "UTC") if pa.types.is_timestamp(kind) and kind.tz is not None else kind


def _concatenated(*pieces: str | pa.Array) -> pa.Array:
    """The pieces of each row as one text; NULL if one of them is NULL."""
    pa = _library()
    texts = [pa.scalar(piece, pa.large_string()) if isinstance(piece, str) else piece for piece in (*pieces, "")]
    # The last argument separates the pieces.
    return pa.compute.binary_join_element_wise(*texts)


def _object(fields: list[pa.Field], columns: list[pa.Array], rows: int) -> pa.Array:
    """A JSON object for each row."""
    pa = _library()
    pieces: list[str | pa.Array] = []
    for number, (field, column) in enumerate(zip(fields, columns, strict=True)):
        pieces += [f"{', ' if number else '{'}{json.dumps(field.name, ensure_ascii=False)}: ", _json(column, field)]
    if not pieces:
        return pa.array(["{}"] * rows, pa.large_string())
    return _concatenated(*pieces, "}")


def _json(column: pa.Array, field: pa.Field) -> pa.Array:
    """The JSON text of each value; `null` for NULL."""
    pa = _library()
    types, kind = pa.types, column.type
    if (field.metadata or {}).get(b"ARROW:extension:name") == variant.NAME:
        texts = pa.array([variant.json_text(parts, field.name) for parts in column.to_pylist()], pa.large_string())
    elif _is_bytes(kind):
        texts = _quoted(_hexadecimal(column))
    elif hasattr(column, "storage"):
        return _json(column.storage, field)
    elif types.is_dictionary(kind):
        return _json(column.dictionary_decode(), field)
    elif types.is_struct(kind):
        texts = _object(list(kind), column.flatten(), len(column))
    elif types.is_map(kind):
        texts = _joined("{", _entries(column), column.offsets, "}")
    elif types.is_nested(kind):
        # This is for every kind of list, also views and lists of a fixed size.
        lengths = pa.compute.list_value_length(column).fill_null(0).cast(pa.int64())
        ends = pa.compute.cumulative_sum(lengths)
        texts = _joined("[", _json(column.flatten(), kind.value_field), pa.concat_arrays([pa.array([0]), ends]), "]")
    elif types.is_floating(kind):
        texts = _text(column)
        # Without a point, a reader would take it for an integer, and lose the sign of -0.
        is_whole = pa.compute.match_substring_regex(texts, r"^-?\d+$")
        texts = pa.compute.if_else(is_whole, _concatenated(texts, ".0"), texts)
        for text, name in _NO_NUMBERS.items():
            texts = pa.compute.if_else(pa.compute.equal(texts, text), name, texts)
    elif types.is_integer(kind) or types.is_boolean(kind) or types.is_null(kind) or types.is_duration(kind):
        texts = _text(column)
    else:
        # Decimals too, because most readers of JSON would round a number to a float.
        texts = _quoted(_text(column))
    return pa.compute.if_else(column.is_valid(), texts, "null")


def _joined(opening: str, values: pa.Array, offsets: pa.Array, closing: str) -> pa.Array:
    """One text of the values between two offsets."""
    pa = _library()
    lists = pa.LargeListArray.from_arrays(offsets.cast(pa.int64()), values)
    return _concatenated(opening, pa.compute.binary_join(lists, pa.scalar(", ", pa.large_string())), closing)


def _entries(maps: pa.Array) -> pa.Array:
    """The keys and values of maps as JSON, which requires that a key is a text."""
    compute = _library().compute
    keys = _json(maps.keys, maps.type.key_field)
    keys = compute.if_else(compute.starts_with(keys, '"'), keys, _quoted(keys))
    return _concatenated(keys, ": ", _json(maps.items, maps.type.item_field))


def _quoted(texts: pa.Array) -> pa.Array:
    """JSON's strings."""
    compute = _library().compute
    texts = compute.replace_substring(texts, "\\", "\\\\")
    texts = compute.replace_substring(texts, '"', '\\"')
    if compute.any(compute.match_substring_regex(texts, _CONTROL)).as_py():
        for code in range(0x20):
            texts = compute.replace_substring(texts, chr(code), f"\\u{code:04x}")
    return _concatenated('"', texts, '"')
