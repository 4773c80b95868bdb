"""What `read_sql` gives: a result in the shape that was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _convert, _numpy, _pandas
from ._errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from ._result import Result

RETURN_TYPES = ("pandas", "polars", "arrow", "arrow_stream", "numpy", "duckdb", "dask", "modin")
#: Those that are made of pandas' frames, and take its arguments; and which module each needs besides.
_PANDAS = {"pandas": None, "dask": "dask.dataframe", "modin": "modin.pandas"}
#: Rows of a Dask partition at most.
_PARTITION_ROWS = 1_000_000
#: Units of numbers that pandas' parse_dates reads as moments.
_UNITS = ("D", "d", "h", "m", "s", "ms", "us", "ns")

ParseDates = list[str] | Mapping[str, str | Mapping[str, Any]]


@dataclass(frozen=True)
class Shape:
    """The arguments of `read_sql` that say what it gives."""

    return_type: str
    index_col: str | list[str] | None = None
    dtype_backend: _pandas.Backend | None = None
    coerce_float: bool | None = None
    parse_dates: ParseDates | None = None
    chunksize: int | None = None
    batch_size: int | None = None

    def __post_init__(self) -> None:
        if self.return_type not in RETURN_TYPES:
            raise ValueError(f"return_type {self.return_type!r} is none of {', '.join(RETURN_TYPES)}")
        for name in ("index_col", "dtype_backend", "coerce_float", "parse_dates"):
            if getattr(self, name) is not None and self.return_type not in _PANDAS:
                raise ValueError(f"{name} needs return_type 'pandas'")
        if self.dtype_backend is not None:
            _pandas.checked(self.dtype_backend)
        if isinstance(self.parse_dates, (bool, str)):
            raise ValueError("parse_dates is a list of columns, or a mapping from columns to formats or units")
        if self.chunksize is not None and (self.return_type != "pandas" or self.chunksize < 1):
            raise ValueError("chunksize needs return_type 'pandas', and must be at least 1")
        if self.batch_size is not None and (self.return_type != "arrow_stream" or self.batch_size < 1):
            raise ValueError("batch_size needs return_type 'arrow_stream', and must be at least 1")

    def require(self) -> None:
        """Raises ImportError before a query runs for nothing."""
        purpose = f"return_type {self.return_type!r}"
        if self.return_type in _PANDAS:
            _convert.require("pandas", purpose)
            _convert.require(_PANDAS[self.return_type] or "pandas", purpose)
        if self.return_type in ("numpy", "polars", "duckdb"):
            _convert.require(self.return_type, purpose)
        if self.return_type != "polars":
            _convert.require("pyarrow", purpose, self.return_type if self.return_type in (*_PANDAS, "numpy") else None)

    @property
    def _backend(self) -> _pandas.Backend:
        return self.dtype_backend or "numpy"

    def prepare(self, result: Result) -> Result:
        """The result with the types that the shape needs, before it is read."""
        if self.return_type in _PANDAS and (self.dtype_backend == "connectorx" or self.coerce_float):
            schema = result.schema
            conversions = _pandas.conversions(schema, self._backend, coerce_float=bool(self.coerce_float))
            result._retype(conversions, "read_sql()")
        return result

    def of_result(self, result: Result) -> Any:
        """All of a result."""
        if self.return_type == "polars":
            return result.to_polars()
        if self.return_type in _PANDAS:
            return self._finished(_pandas.frame(result.schema, result._each("read_sql()"), self._backend))
        return self.of_table([result._table("read_sql()")])

    def of_table(self, held: list[pa.Table]) -> Any:
        """The only table in the list, which is taken out of it."""
        match self.return_type:
            case "arrow":
                return held.pop()
            case "polars":
                return _convert.polars(held.pop())
            case "numpy":
                return _numpy.arrays(held)
            case "duckdb":
                return _convert.duckdb(held.pop(), None)
            case _:
                return self._finished(self._frame(held.pop()))

    def frames(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pd.DataFrame]:
        """Frames of `chunksize` rows each, the last with what is left; one empty frame if there is nothing at all."""
        size = self.chunksize or 1
        waiting: list[pa.RecordBatch] = []
        rows = 0
        first = True
        for batch in resliced(batches, size):
            # A batch of `size` rows at most; the rest of one may complete the frame.
            room = size - rows
            waiting.append(batch.slice(0, room))
            rows += min(room, batch.num_rows)
            if rows == size:
                yield self._finished(_pandas.frame(schema, waiting, self._backend))
                first = False
                rest = batch.slice(room)
                waiting, rows = ([rest], rest.num_rows) if rest.num_rows else ([], 0)
        if waiting or first:
            yield self._finished(_pandas.frame(schema, waiting, self._backend))

    def _frame(self, table: pa.Table) -> pd.DataFrame:
        return _pandas.frame(table.schema, table.to_batches(), self._backend)

    def _finished(self, made: pd.DataFrame) -> Any:
        """The frame with what was asked for besides."""
        for name in self.parse_dates or ():
            how = self.parse_dates[name] if isinstance(self.parse_dates, Mapping) else None
            made[name] = _parsed(name, made[name], how)
        if self.index_col is not None:
            made = _pandas.set_index(made, self.index_col)
        match self.return_type:
            case "dask":
                return _convert.dask(made, _PARTITION_ROWS)
            case "modin":
                return _convert.modin(made)
            case _:
                return made


def _parsed(name: str, series: Any, how: str | Mapping[str, Any] | None) -> pd.Series:
    """A column as moments, by pandas' rules: a unit of numbers (seconds if nothing is said), a format, or arguments of
    pandas.to_datetime."""
    pd = _convert.require("pandas", "parse_dates")
    if isinstance(how, Mapping):
        return pd.to_datetime(series, **how)
    kind = pd.api.types.infer_dtype(series, skipna=True)
    if how in _UNITS or (how is None and kind in ("integer", "floating", "mixed-integer-float", "decimal")):
        unit = how or "s"
        if kind == "decimal":
            # As pandas has it, whose decimals are floats here.
            series = series.astype("float64")
        try:
            return pd.to_datetime(series, unit=unit)
        except (ValueError, OverflowError) as error:
            raise DataError(
                f"column {name!r} has a number that is no moment in the unit {unit!r}: {error}",
                hint="name another unit in parse_dates, such as {'column': 'ms'}, or leave the column out",
                sqlstate="22008",
            ) from error
    return pd.to_datetime(series, **({} if how is None else {"format": how}))


def resliced(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of at most so many."""
    for batch in batches:
        if batch.num_rows <= rows:
            yield batch
        else:
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)
