# pyright: reportMissingImports=false
"""`spark`.

A frame is in the JVM, so a plan that `spark` made lives as long as the process. A data source is a class for each plan,
which Spark pickles by value. There is no `pushFilters`: with Spark 4.3 a filter stays for the next queries of the
frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from colonnade._frames.gaps import PYTHON_YEARS, refuse
from colonnade._plan.part import Part
from colonnade._plan.plan import Plan

from ._fit import fitted, plain_schema
from ._spark_types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

#: The plans that are open until this process ends.
_kept: list[Plan] = []
#: Spark finds a source by its name at the moment at which a frame is made.
_registering = Lock()


def frame(session: SparkSession, plan: Plan, *, is_own: bool) -> DataFrame:
    """The frame. Spark's frames live in the JVM, so a plan of our own stays open until this process ends."""
    made = type(
        "Colonnade", (_Colonnade,), {"parts": tuple(plan.parts), "columns": spark_schema(plain_schema(plan.schema))}
    )
    with _registering:
        session.dataSource.register(made)
        loaded = session.read.format(made.name()).load()
    if is_own:
        _kept.append(plan)
    return loaded


class _Colonnade(DataSource):
    """A data source of which each plan makes a class of its own, which Spark sends to its workers."""

    parts: tuple[Part, ...]
    columns: StructType

    @classmethod
    def name(cls) -> str:
        return "colonnade"

    def schema(self) -> StructType:
        return self.columns

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader(self.parts, schema)


class _Partition(InputPartition):
    """A part, which travels to the worker that reads it."""

    def __init__(self, part: Part) -> None:
        super().__init__(part)


# Without pushFilters(): in Spark 4.3, a filter that was pushed stays for the next queries of the same frame.
class _Reader(DataSourceReader):
    """Reads parts as Arrow batches."""

    def __init__(self, parts: Sequence[Part], schema: StructType) -> None:
        self._parts = parts
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        return [_Partition(part) for part in self._parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        schema = to_arrow_schema(self._schema, timezone="UTC")
        for batch in fitted(_checked(partition.value), schema, "Spark"):
            if batch.num_rows:
                yield batch


def _checked(part: Part) -> Iterator[pa.RecordBatch]:
    for batch in part.batches():
        refuse(batch, "Spark", "cast the column to text in the query", midnight=True, years=PYTHON_YEARS)
        yield batch
