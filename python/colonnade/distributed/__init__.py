"""Results as frames of Dask, Ray, Spark and Daft, whose workers read the parts of a plan. An engine is imported on use.

Each function takes a URI and a query, or a `Plan`. It plans the query once (see `colonnade.plan`), so all workers see
one state of the database: each row of the result is in the frame once, also if the table changes while they read, and
also if a part is read again after a failure.

With a URI, the plan ends when the frame, and what was derived from it, is dropped in this process; with Spark, when
this process ends. With a `Plan`, the caller ends it. A part whose reading begins later is a `colonnade.Error` with the
SQLSTATE 42704.

Workers connect as `Part` says: without a password from here, with their own COLONNADE_URI, PG* variables and ~/.pgpass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from colonnade._connection import Connection
from colonnade._libraries import require
from colonnade._plan.plan import Plan

from ._source import PlanOptions, planned

if TYPE_CHECKING:
    import daft  # pyright: ignore[reportMissingImports]
    import dask.dataframe
    import pyspark.sql  # pyright: ignore[reportMissingImports]
    import ray.data  # pyright: ignore[reportMissingImports]

__all__ = ["daft_frame", "dask_frame", "ray_dataset", "spark"]


def dask_frame(
    source: str | Connection | Plan, query: str | None = None, **options: Unpack[PlanOptions]
) -> dask.dataframe.DataFrame:
    """Returns a query as a dask.dataframe, with a partition for each part.

    All columns have pandas' `ArrowDtype`, because the types of a partition must not depend on its values. Only the
    columns that Dask needs are read. Frames of one plan have equal keys in all processes, and frames of two plans never
    have, because the data may have changed in between. The divisions are unknown.

    Args:
        source: A URI, an open connection, or a plan.
        query: The query; None with a plan.
        options: The arguments of `colonnade.plan`: `parts` (Dask's npartitions), `partition_on`, `spool`, `params`,
            `dtype`, `numeric` and others.

    Raises:
        NotSupportedError: Two columns have the same name; or the query cannot be planned (see `colonnade.plan`).
        Error: As for `colonnade.plan`; reading a part raises what `Part.read` raises.
        ImportError: Dask, pandas or pyarrow is not installed.
    """
    require("dask.dataframe", "dask_frame()", "dask")
    from . import _dask

    return _dask.frame(planned("dask_frame", source, query, options))


def ray_dataset(
    source: str | Connection | Plan,
    query: str | None = None,
    *,
    concurrency: int | None = None,
    ray_remote_args: dict[str, Any] | None = None,
    **options: Unpack[PlanOptions],
) -> ray.data.Dataset:
    """Returns a query as a ray.data.Dataset, with a read task for each part.

    Ray knows the schema and the size before it reads, and the tasks read only the columns that it needs. When a worker
    dies, Ray runs its task again, and may take some blocks from the first attempt and some from the second. So that no
    row is lost or repeated, each attempt must give its rows in the same order. Parts of a spool do; the rows of other
    parts are sorted in the worker, by all columns from left to right, and a limit is not sent to the database.

    Args:
        source: A URI, an open connection, or a plan.
        query: The query; None with a plan.
        concurrency: The largest number of parts that are read at the same time.
        ray_remote_args: Arguments of `ray.remote` for the read tasks.
        options: The arguments of `colonnade.plan`: `parts`, `partition_on`, `spool`, `params`, `dtype`, `numeric` and
            others.

    Raises:
        NotSupportedError: Two columns have the same name; or the query cannot be planned (see `colonnade.plan`).
        Error: As for `colonnade.plan`. Reading a part raises `ray.exceptions.RayTaskError`, which is also of the class
            that `Part.read` raises.
        ImportError: Ray or pyarrow is not installed.
    """
    require("ray.data", "ray_dataset()", "ray")
    from . import _ray

    plan = planned("ray_dataset", source, query, options)
    return _ray.dataset(plan, concurrency, ray_remote_args)


def spark(
    session: pyspark.sql.SparkSession,
    source: str | Connection | Plan,
    query: str | None = None,
    **options: Unpack[PlanOptions],
) -> pyspark.sql.DataFrame:
    """Returns a query as a DataFrame of Spark, with a partition for each part. It needs Spark 4.3.

    The parts arrive as Arrow batches. Spark's Python data sources read all columns of the query; filters remain in
    Spark, because Spark applies a filter that was pushed into a Python data source to later queries of the same frame
    too. So name the columns and rows that are needed in the query.

    Unsigned integers become the next larger signed type, enumerations become strings. Refused by name: intervals with
    months, decimals of more than 38 digits. Refused values: infinite dates and timestamps, those outside the years 1 to
    9999, and the time 24:00:00.

    With a URI, the snapshot stays open until this process ends, because Spark does not tell when a frame is dropped. To
    end it earlier, make the plan with `with colonnade.plan(…) as plan`.

    Args:
        session: The session.
        source: A URI, an open connection, or a plan.
        query: The query; None with a plan.
        options: The arguments of `colonnade.plan`: `parts`, `partition_on`, `spool`, `params`, `dtype`, `numeric` and
            others.

    Raises:
        NotSupportedError: Two columns have the same name, or Spark has no type for a column; or the query cannot be
            planned (see `colonnade.plan`).
        Error: As for `colonnade.plan`. Reading a part raises a `PySparkException` with the text of what `Part.read`
            raises.
        ImportError: PySpark or pyarrow is not installed.
    """
    require("pyspark.sql.datasource", "spark()", "spark")
    from . import _spark

    return _spark.frame(session, planned("spark", source, query, options), is_own=not isinstance(source, Plan))


def daft_frame(
    source: str | Connection | Plan, query: str | None = None, **options: Unpack[PlanOptions]
) -> daft.DataFrame:
    """Returns a query as a DataFrame of Daft, with a scan task for each part.

    Only the columns that Daft needs are read, and at most the rows of a limit. Filters remain in Daft. Enumerations
    become strings. Refused by name: decimals of more than 38 digits. Refused values: the time 24:00:00.

    Args:
        source: A URI, an open connection, or a plan.
        query: The query; None with a plan.
        options: The arguments of `colonnade.plan`: `parts`, `partition_on`, `spool`, `params`, `dtype`, `numeric` and
            others.

    Raises:
        NotSupportedError: Two columns have the same name, or Daft has no type for a column; or the query cannot be
            planned (see `colonnade.plan`).
        Error: As for `colonnade.plan`. Reading a part raises Daft's `DaftCoreException` with the text of what
            `Part.read` raises.
        ImportError: Daft or pyarrow is not installed.
    """
    require("daft", "daft_frame()")
    from . import _daft

    return _daft.frame(planned("daft_frame", source, query, options))
