# pyright: reportMissingImports=false
"""Arrow's types as Spark's."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as spark

from colonnade._errors import NotSupportedError

_SIMPLE: list[tuple[pa.DataType, spark.DataType]] = [
    (pa.null(), spark.NullType()),
    (pa.bool_(), spark.BooleanType()),
    (pa.int8(), spark.ByteType()),
    (pa.int16(), spark.ShortType()),
    (pa.int32(), spark.IntegerType()),
    (pa.int64(), spark.LongType()),
    # Spark's integers have a sign.
    (pa.uint8(), spark.ShortType()),
    (pa.uint16(), spark.IntegerType()),
    (pa.uint32(), spark.LongType()),
    (pa.uint64(), spark.DecimalType(20, 0)),
    (pa.float16(), spark.FloatType()),
    (pa.float32(), spark.FloatType()),
    (pa.float64(), spark.DoubleType()),
    (pa.string(), spark.StringType()),
    (pa.large_string(), spark.StringType()),
    (pa.string_view(), spark.StringType()),
    (pa.binary(), spark.BinaryType()),
    (pa.large_binary(), spark.BinaryType()),
    (pa.binary_view(), spark.BinaryType()),
    (pa.date32(), spark.DateType()),
]
#: The most digits of Spark's decimals.
_DIGITS = 38


def spark_schema(schema: pa.Schema) -> spark.StructType:
    """Spark's types of the columns.

    Args:
        schema: Columns without dictionaries.

    Raises:
        NotSupportedError: Spark has no type that represents all values of a column.
    """
    return spark.StructType([spark.StructField(field.name, _of(field.type, field.name)) for field in schema])


def _of(kind: pa.DataType, column: str) -> spark.DataType:
    for known, made in _SIMPLE:
        if kind.equals(known):
            return made
    if pa.types.is_decimal(kind) and 0 <= kind.scale <= kind.precision <= _DIGITS:
        return spark.DecimalType(kind.precision, kind.scale)
    if pa.types.is_fixed_size_binary(kind):
        return spark.BinaryType()
    if pa.types.is_timestamp(kind):
        return spark.TimestampNTZType() if kind.tz is None else spark.TimestampType()
    if pa.types.is_duration(kind):
        return spark.DayTimeIntervalType()
    if pa.types.is_time(kind) and hasattr(spark, "TimeType"):
        return spark.TimeType(6)
    if pa.types.is_map(kind):
        return spark.MapType(_of(kind.key_type, column), _of(kind.item_type, column))
    if pa.types.is_struct(kind):
        return spark.StructType([spark.StructField(field.name, _of(field.type, column)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return spark.ArrayType(_of(kind.value_type, column))
    raise NotSupportedError(
        f"column {column!r} has the type {kind}, for which Spark has none",
        hint="cast it to text in the query",
    )
