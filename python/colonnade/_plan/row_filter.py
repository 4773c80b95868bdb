"""The argument `where` of a part: a predicate of polars that is decided for each row alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colonnade._errors import InterfaceError, NotSupportedError
from colonnade._frames.dtype import requested
from colonnade._libraries import require

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from colonnade._options.query import QueryOptions

#: Functions of polars whose value for a row depends on this row only.
_BOOLEAN = {"Not", "IsNull", "IsNotNull", "IsNan", "IsNotNan", "IsFinite", "IsInfinite", "IsBetween", "IsIn"}
_TEXT = {"StartsWith", "EndsWith", "Contains"}
_ADVICE = "compare columns with values, and combine these by &, | and ~; filter the result for anything else"


@dataclass(frozen=True)
class RowFilter:
    """A predicate, and what the database can do of it."""

    predicate: pl.Expr
    #: The columns that it reads.
    columns: list[str]
    #: The predicate with literals of the columns' types, as polars reads it.
    typed: pl.Expr | None
    #: The types of all columns that polars has.
    types: dict[str, pl.DataType]

    @classmethod
    def of(cls, where: Any, schema: pa.Schema) -> RowFilter:
        """Checks the argument.

        Raises:
            InterfaceError: It is no predicate, or names a column that the part does not have.
            NotSupportedError: It depends on more than one row, or is of a kind that is not known here, or polars lacks
                the type of a column in it.
        """
        pl = require("polars", "where")
        if not isinstance(where, pl.Expr):
            raise InterfaceError(
                f"where is a {type(where).__name__}: give an expression of polars, such as pl.col('id') > 5"
            )
        try:
            known = _is_of_one_row(json.loads(where.meta.serialize(format="json")))
        except Exception:
            known = False
        columns = list(dict.fromkeys(where.meta.root_names()))
        if not known or not columns:
            raise NotSupportedError(f"where is not a predicate of single rows: {where}", hint=_ADVICE)
        for name in columns:
            if schema.names.count(name) != 1:
                many = "several columns" if name in schema.names else "no column"
                raise InterfaceError(f"where reads {name!r}, and the part has {many} of this name")
        types: dict[str, pl.DataType] = {}
        for name in columns:
            try:
                types[name] = pl.DataFrame(schema.empty_table().select([name])).schema[name]
            except Exception as error:
                kind = schema.field(name).type
                raise NotSupportedError(f"where reads {name!r}, and polars has no type for {kind}") from error
        return cls(where, columns, _typed(where, types), types)

    def condition(self, dialect: str, schema: pa.Schema, options: QueryOptions) -> str | None:
        """A condition in SQL that holds for each row for which the predicate does; None if there is none."""
        from colonnade._lazy.predicate import translated
        from colonnade._lazy.scan import is_plain
        from colonnade._sources.pushed import column

        if self.typed is None:
            return None
        plain = {name: kind for name, kind in self.types.items() if is_plain(schema.field(name), requested(options))}
        return translated(self.typed, dialect, plain, lambda name: column(dialect, name))

    def kept(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows for which the predicate is true."""
        pl = require("polars", "where")
        pa = require("pyarrow", "where")
        for batch in batches:
            if batch.num_rows == 0:
                continue
            frame = pl.DataFrame(pa.Table.from_batches([batch.select(self.columns)]))
            try:
                chosen = frame.select(self.predicate.alias("chosen"))["chosen"]
            except pl.exceptions.PolarsError as error:
                raise _unusable(error) from error
            yield batch.filter(chosen.to_arrow())


def _typed(where: pl.Expr, types: dict[str, pl.DataType]) -> pl.Expr | None:
    """The predicate as polars hands it to a source of rows.

    Raises:
        InterfaceError: It cannot be a filter: it is no truth value, or compares values that do not compare.
    """
    pl = require("polars", "where")
    from polars.io.plugins import register_io_source

    seen: list[pl.Expr | None] = []

    def rows(columns: Any, predicate: pl.Expr | None, limit: Any, size: Any) -> Iterator[pl.DataFrame]:
        seen.append(predicate)
        yield pl.DataFrame(schema=types)

    try:
        register_io_source(rows, schema=pl.Schema(types)).filter(where).collect()
    except pl.exceptions.PolarsError as error:
        raise _unusable(error) from error
    return seen[0] if seen else None


def _unusable(error: Exception) -> InterfaceError:
    reason = str(error).partition("\n")[0]
    return InterfaceError(f"where cannot filter the part: {reason}")


def _is_of_one_row(node: Any, *, lists: bool = False) -> bool:
    """Whether an expression's value for a row depends on this row only. Expressions that are not known here do not
    count, so that another version of polars cannot make a wrong answer."""
    match node:
        case {"Column": str()}:
            return True
        case {"Literal": {"Series": _}}:
            return lists
        case {"Literal": _}:
            return True
        case {"BinaryExpr": {"left": left, "right": right}}:
            return _is_of_one_row(left) and _is_of_one_row(right)
        case {"Cast": {"expr": inner}}:
            return _is_of_one_row(inner)
        case {"Ternary": {"predicate": predicate, "truthy": truthy, "falsy": falsy}}:
            return all(map(_is_of_one_row, (predicate, truthy, falsy)))
        case {"Function": {"input": list(inputs), "function": {"Boolean": function}}}:
            name = function if isinstance(function, str) else next(iter(function))
            is_list = name == "IsIn"
            first, rest = inputs[:1], inputs[1:]
            return (
                name in _BOOLEAN
                and all(map(_is_of_one_row, first))
                and all(_is_of_one_row(node, lists=is_list) for node in rest)
            )
        case {"Function": {"input": list(inputs), "function": {"StringExpr": function}}}:
            name = function if isinstance(function, str) else next(iter(function))
            return name in _TEXT and all(map(_is_of_one_row, inputs))
        case _:
            return False
