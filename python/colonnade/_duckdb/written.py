"""Which DuckDB type a new column gets, and in which Arrow type values reach a column (spec/TYPES.md, "Writing").

DuckDB reads Arrow's types without a loss except for these: it cuts nanoseconds off durations and intervals, hours off
date64, and digits off decimals that are beyond their precision; it knows neither float16, decimal256 nor negative
scales; and an INSERT casts silently. So rows are converted before (`Stream.fitted`), to a type that DuckDB reads as the
column's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .exact import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb.sqltypes import DuckDBPyType

#: Arrow's names of types, and DuckDB's.
_CREATED = {
    "null": "VARCHAR",
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "halffloat": "FLOAT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "large_string": "VARCHAR",
    "string_view": "VARCHAR",
    "binary": "BLOB",
    "large_binary": "BLOB",
    "binary_view": "BLOB",
    "date32[day]": "DATE",
    "date64[ms]": "DATE",
    "time32[s]": "TIME",
    "time32[ms]": "TIME",
    "time64[us]": "TIME",
    "time64[ns]": "TIME_NS",
    "timestamp[s]": "TIMESTAMP_S",
    "timestamp[ms]": "TIMESTAMP_MS",
    "timestamp[us]": "TIMESTAMP",
    "timestamp[ns]": "TIMESTAMP_NS",
}
#: DuckDB's integers, and Arrow's.
_INTEGERS = {
    "tinyint": "int8",
    "smallint": "int16",
    "integer": "int32",
    "bigint": "int64",
    "utinyint": "uint8",
    "usmallint": "uint16",
    "uinteger": "uint32",
    "ubigint": "uint64",
}
#: Units of DuckDB's types of timestamps without and with a time zone.
_MOMENTS = {"timestamp_s": "s", "timestamp_ms": "ms", "timestamp": "us", "timestamp_ns": "ns"}
_ZONED = {"timestamp with time zone": "us", "timestamptz_ns": "ns"}
#: The largest precision of DuckDB's decimals, and of those of HUGEINT that Arrow can hold.
_DIGITS = 38


class Received(NamedTuple):
    """How a column receives values."""

    #: The type in which they reach DuckDB.
    type: pa.DataType
    #: What DuckDB stores for the value `{}`.
    expression: str = "{}"
    #: A condition that each value `{}` meets; it is an error in any other case.
    condition: str | None = None


def created(pa: Any, written: pa.DataType, *, nested: bool = False) -> str | None:
    """The DuckDB type of a new column for values of an Arrow type; None if no type holds them exactly."""
    types = pa.types
    if (extension := _extension(pa, written)) is not None:
        name, storage = extension
        # DuckDB's JSON takes any text. Within a nested type, nothing would check it.
        known = {"arrow.uuid": "UUID", "arrow.json": "VARCHAR" if nested else "JSON"}
        return known.get(name) or created(pa, storage, nested=nested)
    if types.is_dictionary(written):
        return created(pa, written.value_type, nested=nested)
    if types.is_decimal(written):
        precision, scale = _digits(written)
        return f"DECIMAL({precision},{scale})" if precision <= _DIGITS else None
    if types.is_fixed_size_binary(written):
        return "BLOB"
    if types.is_timestamp(written) and written.tz is not None:
        return "TIMESTAMPTZ_NS" if written.unit == "ns" else "TIMESTAMPTZ"
    if types.is_duration(written) or types.is_interval(written):
        # Within a nested type, an interval is refused when it is read.
        return None if nested else "INTERVAL"
    if types.is_fixed_size_list(written):
        item = created(pa, written.value_type, nested=True)
        return f"{item}[{written.list_size}]" if item is not None and written.list_size > 0 else None
    if _is_list(pa, written):
        item = created(pa, written.value_type, nested=True)
        return f"{item}[]" if item is not None else None
    if types.is_map(written):
        key, item = (created(pa, part, nested=True) for part in (written.key_type, written.item_type))
        return f"MAP({key}, {item})" if key is not None and item is not None else None
    if types.is_struct(written):
        parts = [(field.name, created(pa, field.type, nested=True)) for field in written]
        if not parts or any(part is None for _, part in parts):
            return None
        return f"STRUCT({', '.join(f'{quoted(name)} {part}' for name, part in parts)})"
    return _CREATED.get(str(written))


def received(pa: Any, written: pa.DataType, column: DuckDBPyType, *, nested: bool = False) -> Received | None:
    """How a column receives values of an Arrow type; None if it cannot hold them exactly. `Stream.fitted` checks single
    values."""
    types = pa.types
    name, storage = _extension(pa, written) or ("", written)
    while types.is_dictionary(storage):
        storage = storage.value_type
    is_null, is_text = types.is_null(storage), _is_text(pa, storage)
    is_integer, is_number = types.is_integer(storage), types.is_floating(storage) or types.is_integer(storage)
    kind = column.id
    if kind in _INTEGERS:
        return Received(getattr(pa, _INTEGERS[kind])()) if is_integer or is_null else None
    match kind:
        case "hugeint" if (is_integer or types.is_decimal(storage) or is_null) and not nested:
            return Received(pa.decimal128(_DIGITS, 0), "CAST({} AS HUGEINT)")
        case "boolean" if types.is_boolean(storage) or is_null:
            return Received(pa.bool_())
        case "float" if is_number or is_null:
            return Received(pa.float32())
        case "double" if is_number or is_null:
            return Received(pa.float64())
        case "decimal" if types.is_decimal(storage) or is_integer or is_null:
            children = dict(column.children)
            return Received(pa.decimal128(children["precision"], children["scale"]))
        case "varchar" if is_text or is_null:
            return _text(pa, storage, str(column), nested)
        case "enum" if (is_text or is_null) and not nested:
            labels = f"{{}} = ANY(CAST(system.main.enum_range(CAST(NULL AS {column})) AS VARCHAR[]))"
            return Received(pa.string(), f"CAST({{}} AS {column})", labels)
        case "uuid" if name == "arrow.uuid" or is_text or is_null:
            return Received(pa.uuid())
        case "blob" if name == "" and (_is_bytes(pa, storage) or is_null):
            return Received(pa.binary() if is_null or types.is_dictionary(written) else storage)
        case "date" if types.is_date(storage) or is_null:
            return Received(pa.date32())
        case "time" if types.is_time(storage) or is_null:
            return Received(pa.time64("us"))
        case "time_ns" if types.is_time(storage) or is_null:
            return Received(pa.time64("ns"))
        case "interval" if (types.is_duration(storage) or types.is_interval(storage) or is_null) and not nested:
            return Received(pa.duration("us") if types.is_duration(storage) else pa.month_day_nano_interval())
        case "list" | "array" | "map" | "struct":
            found = _nested(pa, storage, column)
            return Received(found) if found is not None else None
    if kind in _MOMENTS and (is_null or (types.is_timestamp(storage) and storage.tz is None)):
        return Received(pa.timestamp(_MOMENTS[kind]))
    if kind in _ZONED and (is_null or (types.is_timestamp(storage) and storage.tz is not None)):
        return Received(pa.timestamp(_ZONED[kind], "UTC"))
    return None


def _text(pa: Any, storage: pa.DataType, column: str, nested: bool) -> Received | None:
    plain = storage if _is_text(pa, storage) else pa.string()
    if column == "VARCHAR":
        return Received(plain)
    if column == "JSON" and not nested:
        return Received(pa.json_(), condition="system.main.json_valid({})")
    return None


def _nested(pa: Any, storage: pa.DataType, column: DuckDBPyType) -> pa.DataType | None:
    types = pa.types
    is_null = types.is_null(storage)
    children: list[tuple[str, Any]] = list(column.children)
    if column.id == "array":
        # An array's children are its item type and its size.
        size = children.pop()[1]
        is_alike = types.is_fixed_size_list(storage) and storage.list_size == size
        parts = [storage.value_type] if is_alike else None
        found = _received_parts(pa, parts, children) if is_alike or is_null else None
        return pa.list_(found[0], size) if found else None
    if column.id == "list":
        is_alike = types.is_fixed_size_list(storage) or _is_list(pa, storage)
        parts = [storage.value_type] if is_alike else None
        found = _received_parts(pa, parts, children) if is_alike or is_null else None
        return pa.list_(found[0]) if found else None
    if column.id == "map":
        is_alike = types.is_map(storage)
        parts = [storage.key_type, storage.item_type] if is_alike else None
        found = _received_parts(pa, parts, children) if is_alike or is_null else None
        return pa.map_(*found) if found else None
    names = [name for name, _ in children]
    is_alike = types.is_struct(storage) and [field.name for field in storage] == names
    parts = [field.type for field in storage] if is_alike else None
    found = _received_parts(pa, parts, children) if is_alike or is_null else None
    return pa.struct(list(zip(names, found, strict=True))) if found else None


def _received_parts(
    pa: Any, written: list[pa.DataType] | None, children: list[tuple[str, Any]]
) -> list[pa.DataType] | None:
    """How the parts of a nested column receive values; of type null without `written`. None if one of them cannot."""
    parts = written or [pa.null()] * len(children)
    found = [received(pa, part, child, nested=True) for part, (_, child) in zip(parts, children, strict=True)]
    types = [part.type for part in found if part is not None]
    return types if len(types) == len(found) else None


def _extension(pa: Any, written: pa.DataType) -> tuple[str, pa.DataType] | None:
    if not isinstance(written, pa.BaseExtensionType):
        return None
    return written.extension_name, written.storage_type


def _digits(written: pa.DataType) -> tuple[int, int]:
    """Precision and scale of a decimal, with a scale that is neither negative nor above the precision."""
    if written.scale < 0:
        return written.precision - written.scale, 0
    return max(written.precision, written.scale), written.scale


def _is_text(pa: Any, kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _is_bytes(pa: Any, kind: pa.DataType) -> bool:
    types = pa.types
    return (
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    )


def _is_list(pa: Any, kind: pa.DataType) -> bool:
    types = pa.types
    return (
        types.is_list(kind) or types.is_large_list(kind) or types.is_list_view(kind) or types.is_large_list_view(kind)
    )
