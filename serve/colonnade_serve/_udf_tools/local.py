"""Calls of a function's file in this process. The file is compiled under its own path, so that breakpoints, coverage
and profilers find its lines. Conversions of arguments and results are those of the server's function processes."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from colonnade_serve._core import column_type
from colonnade_serve._udf.calls import Call, define
from colonnade_serve._udf.failures import Failures, SourceError

from . import memory
from .file import FunctionFile
from .folder import text_of
from .local_table import TableArguments, table_calls

if TYPE_CHECKING:
    import pyarrow as pa

    from .inputs import Description, Inputs
    from .queries import RecordedQueries


class LocalFunction:
    """A function of a file, to be called with saved inputs."""

    def __init__(self, path: Path, description: Description, queries: RecordedQueries | None = None) -> None:
        self.path = path
        text = text_of(path)
        self.file = FunctionFile.read(text)
        names = tuple(name for name, _, _ in description.parameters)
        if not self.file.declaration.is_variadic and self.file.declaration.names != names:
            raise ValueError(
                f"{path}: the inputs have the columns {', '.join(names)}, and the first line other parameters; push "
                "the function and fetch its inputs again"
            )
        try:
            self.call: Call = define(description.for_process(self.file.body), Failures())
        except SourceError as error:
            raise ValueError(f"{path}: line {self.file.def_line + error.line}: {error}") from None
        self.call.globals["_conn"] = queries
        self.description = description
        # Those of the body's names that the file does not import.
        names = {"pyarrow": importlib.import_module("pyarrow")} if description.arrow else {}
        self.call.function = self._adapted(compiled(path, text, names))
        self.call.needs_columns = True

    def _adapted(self, function: FunctionType) -> Callable[..., Any]:
        """The function with arguments in the order of the server's calls. It may take more that a body has by name."""
        given = [*self.call.parameters, *(name for name in self.call.specials if name not in self.call.parameters)]
        wanted = function.__code__.co_varnames[: function.__code__.co_argcount]
        known = {*given, "_columns", "_types", "_conn"}
        missing = [name for name in wanted if name not in known]
        if missing:
            raise ValueError(f"{self.path}: the def has the parameter {missing[0]}, which the server does not give it")
        state = self.call.globals

        def adapted(*arguments: Any) -> Any:
            values = {name: state.get(name) for name in ("_columns", "_types", "_conn")}
            values |= dict(zip(given, arguments, strict=True))
            return function(*(values[name] for name in wanted))

        return adapted

    def run(self, inputs: Inputs) -> list[Any]:
        """The results for inputs as Python's values: one for each row, or each group. Those of a table function are
        the rows of its table, each a list."""
        ring = memory.LocalRing()
        results: list[Any] = []
        calls = table_calls(inputs) if self.description.is_table else batches(inputs.table)
        # Function processes divide by zero without a warning, too.
        with np.errstate(all="ignore"):
            for rows in calls:
                results += self._call_table(ring, rows) if isinstance(rows, TableArguments) else self._call(ring, rows)
        return results

    def _call_table(self, ring: memory.LocalRing, given: TableArguments) -> list[Any]:
        ring.begin()
        for argument, is_one, (_, type_, _) in zip(
            given.columns, self.call.are_scalar, self.description.parameters, strict=True
        ):
            ring.argument(argument.combine_chunks(), json.loads(column_type(type_)), is_one=is_one)
        self.call.call(ring, given.rows, 0, 0, ring.send())
        rows, nodes = ring.result
        found: list[tuple[str, str | int]] = [*self.description.columns]
        if self.description.has_any_columns:
            found = ring.any_columns
        sources = [one if isinstance(one, int) else json.loads(column_type(one)) for _, one in found]
        return memory.read_rows(ring, sources, rows, nodes)

    def _call(self, ring: memory.LocalRing, rows: pa.Table) -> list[Any]:
        ring.begin()
        count = rows.num_rows
        for index, (_, type_, is_scalar) in enumerate(self.description.parameters):
            column = rows.column(index).combine_chunks()
            if is_scalar:
                column = column.slice(0, 1)
            ring.argument(column, json.loads(column_type(type_)), is_one=is_scalar)
        groups_at, groups = 0, 0
        if self.description.has_groups:
            offsets = group_offsets(np.asarray(rows.column(len(self.description.parameters))))
            groups_at, groups = ring.write(offsets.tobytes()), len(offsets) - 1
        self.call.call(ring, count, groups_at, groups, ring.send())
        _, nodes = ring.result
        return memory.read(ring, json.loads(column_type(self.description.result)), nodes)


def compiled(path: Path, text: str, names: Mapping[str, Any] = MappingProxyType({})) -> FunctionType:
    """The `def` of a file, compiled under its path, with these global names."""
    namespace: dict[str, Any] = {"numpy": np, **names, "__name__": "__colonnade__", "__file__": str(path)}
    exec(compile(text, str(path.resolve()), "exec", dont_inherit=True), namespace)
    return next(value for value in namespace.values() if isinstance(value, FunctionType))


def batches(table: pa.Table) -> Iterator[pa.Table]:
    """The rows of each call of Python, by the last column."""
    if table.num_rows == 0:
        return
    numbers = np.asarray(table.column(table.num_columns - 1))
    starts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))
    for start, stop in zip(starts, [*starts[1:], len(numbers)], strict=True):
        yield table.slice(int(start), int(stop - start))


def group_offsets(numbers: np.ndarray) -> np.ndarray:
    """Where the rows of each group begin, and their end. The rows of a group are together."""
    starts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))
    return np.append(starts, len(numbers)).astype(np.int64)
