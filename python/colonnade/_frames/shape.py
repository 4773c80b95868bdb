"""The result of `read_sql` in the form that its arguments request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from colonnade._libraries import require

from . import convert
from .dtype import by_name, check_names, checked_backend, is_applied_by_pandas, requested

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from colonnade._options.dtype import Backend, NamedDtypes
    from colonnade._options.query import QueryOptions, SourceOptions

    from .layout import Layout
    from .result import Result

ReturnType = Literal["pandas", "polars", "arrow", "arrow_stream", "numpy", "duckdb", "dask", "modin"]
#: The types that are made of pandas' frames and have its arguments, with the module that each needs in addition.
_PANDAS = {"pandas": None, "dask": "dask.dataframe", "modin": "modin.pandas"}
#: The largest number of rows in a Dask partition.
_PARTITION_ROWS = 1_000_000

#: As in pandas, a list may name columns that the result does not have, and True has no effect.
ParseDates = bool | str | Sequence[str] | Mapping[str, str | Mapping[str, Any]]


@dataclass
class Shape:
    """The arguments of `read_sql` that define the form of its result."""

    return_type: str
    index_col: str | list[str] | None
    dtype_backend: Backend | None
    coerce_float: bool | None
    parse_dates: ParseDates | None
    chunksize: int | None
    batch_size: int | None
    options: QueryOptions

    def __post_init__(self) -> None:
        if self.return_type not in get_args(ReturnType):
            raise ValueError(f"return_type must be one of {', '.join(get_args(ReturnType))}, not {self.return_type!r}")
        for name in ("index_col", "dtype_backend", "coerce_float", "parse_dates"):
            if getattr(self, name) is not None and self.return_type not in _PANDAS:
                raise ValueError(f"{name} needs return_type 'pandas'")
        if self.return_type == "dask" and not isinstance(self.index_col, (str, type(None))) and len(self.index_col) > 1:
            raise ValueError("Dask has no index of several columns: name one in index_col")
        if self.dtype_backend is not None:
            checked_backend(self.dtype_backend)
        if self.chunksize is not None and (self.return_type != "pandas" or self.chunksize < 1):
            raise ValueError("chunksize needs return_type 'pandas', and must be at least 1")
        if self.batch_size is not None and (self.return_type != "arrow_stream" or self.batch_size < 1):
            raise ValueError("batch_size needs return_type 'arrow_stream', and must be at least 1")

    def require(self) -> None:
        """Raises ImportError if a library is missing, before the query runs."""
        purpose = f"return_type {self.return_type!r}"
        if self.return_type in _PANDAS:
            require("pandas", purpose, self.return_type)
            require(_PANDAS[self.return_type] or "pandas", purpose)
        if self.return_type in ("numpy", "polars", "duckdb"):
            require(self.return_type, purpose)
        if self.return_type != "polars":
            require("pyarrow", purpose, self.return_type if self.return_type in (*_PANDAS, "numpy") else None)

    @property
    def query_options(self) -> SourceOptions:
        """The options of the query, without the types that pandas applies at the end. pandas parses dates of a file of
        SQLite as they are stored."""
        options: SourceOptions = {**self.options}
        if moments := list(self._moments):
            options["stored_dates"] = moments
        if self.return_type == "polars":
            options["views"] = True
        dtype = options.get("dtype")
        if self.return_type not in _PANDAS or dtype is None:
            return options
        if isinstance(dtype, Mapping):
            others = {name: kind for name, kind in dtype.items() if not is_applied_by_pandas(kind)}
            return {**options, "dtype": others}
        return {**options, "dtype": None if is_applied_by_pandas(dtype) else dtype}

    @property
    def _layout(self) -> Layout:
        from .layout import Layout

        options = self.query_options
        return Layout(self.dtype_backend or "numpy", self.coerce_float, requested(options), self._dtype)

    @property
    def _dtype(self) -> NamedDtypes | None:
        """The types by the names of columns, once `prepare` knows these."""
        return cast("NamedDtypes | None", self.options.get("dtype"))

    @property
    def _moments(self) -> Mapping[str, str | Mapping[str, Any] | None]:
        """The columns to parse as dates, and how."""
        match self.parse_dates:
            case None | bool():
                return {}
            case str():
                return {self.parse_dates: None}
            case Mapping():
                return self.parse_dates
            case _:
                return dict.fromkeys(self.parse_dates)

    def prepare(self, result: Result) -> Result:
        """Gives the result the types that the shape needs, before it is read. A result that cannot have them is closed,
        so that its connection is free."""
        try:
            dtype = by_name(result.column_names, result._kinds, self.options.get("dtype"))
            self.options = {**self.options, "dtype": dtype}
            if self.return_type in _PANDAS:
                check_names(result.column_names, dtype)
                result._retype(self._layout.conversions(result.schema), "read_sql()")
            if self.return_type in ("polars", "duckdb"):
                result._require_types(self.return_type)
        except BaseException:
            result.close()
            raise
        return result

    def of_result(self, result: Result) -> Any:
        """The whole result."""
        if self.return_type == "polars":
            return result.to_polars()
        if self.return_type in _PANDAS:
            return self._frame(result.schema, result._each("read_sql()"), result._apart)
        return self.of_table([result._table("read_sql()")])

    def of_table(self, held: list[pa.Table]) -> Any:
        """The only table in the list, which is removed from it to free its memory."""
        match self.return_type:
            case "arrow":
                return held.pop()
            case "polars":
                return convert.polars(held.pop())
            case "numpy":
                from .numpy import arrays

                return arrays(held)
            case "duckdb":
                return convert.duckdb(held.pop(), None)
            case _:
                table = held.pop()
                return self._frame(table.schema, table.to_batches())

    def frames(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pd.DataFrame]:
        """Frames of `chunksize` rows each; the last one has the rest. Without rows there is one empty frame."""
        size = self.chunksize or 1
        waiting: list[pa.RecordBatch] = []
        rows = 0
        first = True
        for batch in resliced(batches, size):
            # The beginning of the batch may complete this frame. The rest begins the next one.
            room = size - rows
            waiting.append(batch.slice(0, room))
            rows += min(room, batch.num_rows)
            if rows == size:
                yield self._frame(schema, waiting)
                first = False
                rest = batch.slice(room)
                waiting, rows = ([rest], rest.num_rows) if rest.num_rows else ([], 0)
        if waiting or first:
            yield self._frame(schema, waiting)

    def _frame(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], apart: frozenset[int] = frozenset()) -> Any:
        """A frame of the batches, with the types, dates and index of the arguments. Columns `apart` are not copied."""
        from .pandas import astype, frame, moments, require_one, set_index

        made = frame(schema, batches, self._layout, apart)
        if (dtype := self._dtype) is not None:
            made = astype(made, dtype)
        for name, how in self._moments.items():
            if name in made.columns:
                require_one(made, name, "parse_dates")
                made[name] = moments(made[name], how)
        if self.index_col is not None:
            made = set_index(made, self.index_col)
        match self.return_type:
            case "dask":
                return convert.dask(made, _PARTITION_ROWS)
            case "modin":
                return convert.modin(made)
            case _:
                return made


def resliced(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of at most `rows` rows."""
    for batch in batches:
        for start in range(0, batch.num_rows or 1, rows):
            yield batch.slice(start, rows)
