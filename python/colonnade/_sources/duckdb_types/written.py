"""Which DuckDB type a new column gets, and in which Arrow type values reach a column (spec/TYPES.md, "Writing").

DuckDB reads Arrow's types without a loss except for these: it cuts nanoseconds off durations and intervals, hours off
date64, and digits off decimals that are beyond their precision; it knows neither float16, decimal256 nor negative
scales; and an INSERT casts silently. So rows are converted before (`Stream.fitted`), to a type that DuckDB reads as the
column's own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from .exact import NAME_KEY, quoted

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


#: What stands in a field's metadata for an extension type that pyarrow does not know.
_EXTENSION, _EXTENSION_METADATA = b"ARROW:extension:name", b"ARROW:extension:metadata"
#: The new columns of Arrow's extension types.
_EXTENDED = {"arrow.uuid": "UUID", "arrow.json": "JSON", "arrow.parquet.variant": "VARIANT"}
#: DuckDB's types that hold all values of another one (`exact.type_names`), with DuckDB's quotes.
_STATED = re.compile(r"UUID|JSON|(ENUM|GEOMETRY)\('(?:[^']|'')*'(?:, '(?:[^']|'')*')*\)")


class Received(NamedTuple):
    """How a column receives values."""

    #: The type in which they reach DuckDB.
    type: pa.DataType
    #: What DuckDB stores for the value `{}`.
    expression: str = "{}"
    #: A condition that each value `{}` meets; it is an error in any other case.
    condition: str | None = None
    #: The metadata of the field with this type.
    metadata: dict[bytes, bytes] | None = None


def created(pa: Any, field: pa.Field, *, nested: bool = False) -> str | None:
    """The DuckDB type of a new column for values of an Arrow field; None if no type holds them exactly."""
    types = pa.types
    name, written = _extension(pa, field)
    if (known := _EXTENDED.get(name)) is not None:
        return known
    stated = (field.metadata or {}).get(NAME_KEY.encode(), b"").decode()
    if _STATED.fullmatch(stated) and _can_be(pa, name, written, stated):
        return stated
    if name == "geoarrow.wkb" and not _has_crs(field):
        return "GEOMETRY"
    if types.is_dictionary(written):
        return created(pa, field.with_type(written.value_type), nested=nested)
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
        item = created(pa, written.value_field, nested=True)
        return f"{item}[{written.list_size}]" if item is not None and written.list_size > 0 else None
    if _is_list(pa, written):
        item = created(pa, written.value_field, nested=True)
        return f"{item}[]" if item is not None else None
    if types.is_map(written):
        key, item = (created(pa, part, nested=True) for part in (written.key_field, written.item_field))
        return f"MAP({key}, {item})" if key is not None and item is not None else None
    if types.is_struct(written):
        parts = [(part.name, created(pa, part, nested=True)) for part in written]
        if not parts or any(part is None for _, part in parts):
            return None
        return f"STRUCT({', '.join(f'{quoted(name)} {part}' for name, part in parts)})"
    return _CREATED.get(str(written))


def _can_be(pa: Any, extension: str, written: pa.DataType, stated: str) -> bool:
    """Whether values of this type can be those of the type that a field's metadata states."""
    if stated.startswith("ENUM"):
        return pa.types.is_dictionary(written) and _is_text(pa, written.value_type)
    if stated.startswith("GEOMETRY"):
        return extension == "geoarrow.wkb"
    return _is_text(pa, written)


def _has_crs(field: pa.Field) -> bool:
    """Whether the geometries have a coordinate system, which DuckDB knows only if the type states it."""
    described = (field.metadata or {}).get(_EXTENSION_METADATA, b"") or b"{}"
    return described != b"{}"


def received(pa: Any, field: pa.Field, column: DuckDBPyType, *, nested: bool = False) -> Received | None:
    """How a column receives values of an Arrow field; None if it cannot hold them exactly. `Stream.fitted` checks
    single values."""
    types = pa.types
    name, storage = _extension(pa, field)
    is_dictionary = types.is_dictionary(storage)
    while types.is_dictionary(storage):
        storage = storage.value_type
    is_null, is_text = types.is_null(storage), _is_text(pa, storage)
    is_integer, is_number = types.is_integer(storage), types.is_floating(storage) or types.is_integer(storage)
    kind = column.id
    if kind in _INTEGERS:
        return Received(getattr(pa, _INTEGERS[kind])()) if is_integer or is_null else None
    match kind:
        case "hugeint" if is_integer or types.is_decimal(storage) or is_null:
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
        case "enum" if is_text or is_null:
            labels = f"{{}} = ANY(CAST(system.main.enum_range(CAST(NULL AS {column})) AS VARCHAR[]))"
            return Received(pa.string(), f"CAST({{}} AS {column})", labels)
        case "uuid" if name == "arrow.uuid" or is_text or is_null:
            return Received(pa.uuid())
        case "geometry" if name == "geoarrow.wkb" or is_null:
            given = field.metadata or {} if name else {}
            described = {_EXTENSION: b"geoarrow.wkb", _EXTENSION_METADATA: given.get(_EXTENSION_METADATA, b"")}
            return Received(pa.binary(), metadata=described)
        case "variant" if name == "arrow.parquet.variant" or is_null:
            described = {_EXTENSION: b"arrow.parquet.variant", _EXTENSION_METADATA: b""}
            parts = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
            return Received(parts, metadata=described)
        case "blob" if name in ("", "geoarrow.wkb") and (_is_bytes(pa, storage) or is_null):
            return Received(pa.binary() if is_null or is_dictionary else storage)
        case "date" if types.is_date(storage) or is_null:
            return Received(pa.date32())
        case "time" if types.is_time(storage) or is_null:
            return Received(pa.time64("us"))
        case "time_ns" if types.is_time(storage) or is_null:
            return Received(pa.time64("ns"))
        case "interval" if (types.is_duration(storage) or types.is_interval(storage) or is_null) and not nested:
            return Received(pa.duration("us") if types.is_duration(storage) else pa.month_day_nano_interval())
        case "list" | "array" | "map" | "struct":
            return _nested(pa, storage, column)
    if kind in _MOMENTS and (is_null or (types.is_timestamp(storage) and storage.tz is None)):
        return Received(pa.timestamp(_MOMENTS[kind]))
    if kind in _ZONED and (is_null or (types.is_timestamp(storage) and storage.tz is not None)):
        return Received(pa.timestamp(_ZONED[kind], "UTC"))
    return None


def _text(pa: Any, storage: pa.DataType, column: str, nested: bool) -> Received | None:
    plain = storage if _is_text(pa, storage) else pa.string()
    if column == "VARCHAR":
        return Received(plain)
    if column == "JSON":
        # DuckDB's reader of Arrow takes any text for JSON, and its cast takes JSON alone.
        checked = Received(pa.json_(), condition="system.main.json_valid({})")
        return Received(pa.string(), "CAST({} AS JSON)") if nested else checked
    return None


def _nested(pa: Any, storage: pa.DataType, column: DuckDBPyType) -> Received | None:
    children: list[tuple[str, Any]] = list(column.children)
    # An array's children are its item type and its size.
    size = children.pop()[1] if column.id == "array" else None
    names = [name for name, _ in children]
    parts = _parts(pa, storage, column.id, names, size)
    found = [received(pa, part, child, nested=True) for part, (_, child) in zip(parts, children, strict=False)]
    how = [part for part in found if part is not None]
    if len(how) != len(children):
        return None
    fields = [pa.field(name, part.type, metadata=part.metadata) for name, part in zip(names, how, strict=True)]
    match column.id:
        case "map":
            made = pa.map_(fields[0].with_nullable(False), fields[1])
        case "struct":
            made = pa.struct(fields)
        case _:
            made = pa.list_(fields[0], -1 if size is None else size)
    # DuckDB's cast refuses what is no value of a part.
    is_cast = any(part.expression != "{}" for part in how)
    return Received(made, f"CAST({{}} AS {column})" if is_cast else "{}")


def _parts(pa: Any, storage: pa.DataType, kind: str, names: list[str], size: int | None) -> list[pa.Field]:
    """The parts of nested values for a column with parts of these names; none if the column cannot hold them."""
    types = pa.types
    if types.is_null(storage):
        return [pa.field(name, storage) for name in names]
    if types.is_fixed_size_list(storage) and (kind == "list" or (kind == "array" and storage.list_size == size)):
        return [storage.value_field]
    if kind == "list" and _is_list(pa, storage):
        return [storage.value_field]
    if kind == "map" and types.is_map(storage):
        return [storage.key_field, storage.item_field]
    if kind == "struct" and types.is_struct(storage) and [part.name for part in storage] == names:
        return list(storage)
    return []


def _extension(pa: Any, field: pa.Field) -> tuple[str, pa.DataType]:
    """The name of a field's extension type, which is empty without one, and the type of the values."""
    if isinstance(field.type, pa.BaseExtensionType):
        return field.type.extension_name, field.type.storage_type
    return (field.metadata or {}).get(_EXTENSION, b"").decode(), field.type


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
