"""polars' predicates as conditions in SQL.

A condition may hold for more rows than the predicate, because polars filters the rows again, but never for fewer. What
is not known here is not translated, so a new kind of expression costs speed only.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from colonnade._core import bind

#: The types whose values a dialect compares as polars does. Left out on purpose: floats, because of NaN; text, because
#: of collations (`_of_text`); dates, booleans and decimals of SQLite, whose files have other values for them;
#: PostgreSQL's unsigned oid; MySQL's uint16, which may be YEAR and compares 20 as 2020.
_SIGNED = frozenset({pl.Int8, pl.Int16, pl.Int32, pl.Int64})
_UNSIGNED = frozenset({pl.UInt8, pl.UInt32, pl.UInt64})
_COMPARED: dict[str, frozenset[Any]] = {
    "postgresql": _SIGNED | {pl.Boolean, pl.Date, pl.Datetime, pl.Decimal},
    "duckdb": _SIGNED | _UNSIGNED | {pl.UInt16, pl.Boolean, pl.Date, pl.Datetime, pl.Decimal},
    "mysql": _SIGNED | _UNSIGNED | {pl.Date, pl.Decimal},
    "mysql-no-backslash-escapes": _SIGNED | _UNSIGNED | {pl.Date, pl.Decimal},
    "sqlite": frozenset({pl.Int64}),
}
#: The database's type for text, to which columns of uuid, json and others are cast.
_TEXT = {
    "postgresql": "text",
    "duckdb": "varchar",
    "mysql": "char",
    "mysql-no-backslash-escapes": "char",
    "sqlite": "text",
}
_OPERATORS = {"Eq": "=", "NotEq": "<>", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_BETWEEN = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}
#: The most values of a list. Databases compare each row with each of them, and limit a statement's size.
_MOST_VALUES = 1000
#: Decimals of more digits might not fit into the type in which DuckDB compares them.
_DIGITS = 18


@dataclass(frozen=True)
class Condition:
    """A condition in SQL."""

    sql: str
    #: Whether it is true, false or NULL exactly where the predicate is. Otherwise it is true wherever that is true.
    is_exact: bool


def translated(
    predicate: pl.Expr, dialect: str, schema: Mapping[str, pl.DataType], quote: Callable[[str], str]
) -> str | None:
    """A condition that is true for each row for which the predicate is; None if there is none.

    Args:
        predicate: What polars filters by.
        dialect: The database's dialect.
        schema: The columns whose values the database has as polars has them, and their types.
        quote: The column in SQL.
    """
    if dialect not in _COMPARED:
        return None
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
        condition = _Translation(dialect, schema, quote).top(tree)
    except Exception:
        # Another version of polars may write expressions in another way. Then nothing is translated.
        return None
    return None if condition is None else condition.sql


@dataclass(frozen=True)
class _Translation:
    dialect: str
    schema: Mapping[str, pl.DataType]
    quote: Callable[[str], str]

    def top(self, node: Any) -> Condition | None:
        """A condition for a predicate that must be true: of an AND, what cannot be translated is left out."""
        match node:
            case {"BinaryExpr": {"left": left, "op": "And", "right": right}}:
                found = [condition for side in (left, right) if (condition := self.top(side)) is not None]
                return _joined(found, "AND") if found else None
            case _:
                return self.condition(node)

    def condition(self, node: Any) -> Condition | None:
        match node:
            case {"Column": name} if self.schema.get(name) == pl.Boolean and self._compares(pl.Boolean()):
                return Condition(self.quote(name), is_exact=True)
            case {"BinaryExpr": {"left": left, "op": "And" | "Or" as how, "right": right}}:
                sides = [self.condition(left), self.condition(right)]
                known = [side for side in sides if side is not None]
                return _joined(known, how.upper()) if len(known) == 2 else None
            case {"BinaryExpr": {"left": {"Column": name}, "op": op, "right": {"Literal": _} as literal}}:
                return self._compared(name, _OPERATORS.get(op), literal)
            case {"BinaryExpr": {"left": {"Literal": _} as literal, "op": op, "right": {"Column": name}}}:
                return self._compared(name, _MIRRORED.get(_OPERATORS.get(op, "")), literal)
            case {"Function": {"input": inputs, "function": {"Boolean": function}}}:
                return self._function(inputs, function)
            case _:
                return None

    def _function(self, inputs: Any, function: Any) -> Condition | None:
        match function, inputs:
            case "Not", [inner]:
                condition = self.condition(inner)
                if condition is None or not condition.is_exact:
                    return None
                return Condition(f"(NOT {condition.sql})", is_exact=True)
            case "IsNull" | "IsNotNull", [{"Column": name}] if name in self.schema:
                how = "IS NULL" if function == "IsNull" else "IS NOT NULL"
                return Condition(f"({self.quote(name)} {how})", is_exact=True)
            case {"IsIn": {"nulls_equal": False}}, [{"Column": name}, {"Literal": _} as literal]:
                return self._is_in(name, literal)
            case {"IsBetween": {"closed": closed}}, [{"Column": name}, low, high]:
                operators = zip(_BETWEEN[closed], (low, high), strict=True)
                sides = [self._compared(name, operator, literal) for operator, literal in operators]
                known = [side for side in sides if side is not None]
                return _joined(known, "AND") if len(known) == 2 else None
            case _:
                return None

    def _compared(self, name: str, operator: str | None, node: Any) -> Condition | None:
        if operator is None or name not in self.schema or "Literal" not in node:
            return None
        kind, literal = self.schema[name], _evaluated(node)
        if kind == pl.String and literal.dtype == pl.String and operator == "=":
            return self._of_text(name, literal.to_list())
        if len(literal) != 1 or not self._is_of(kind, literal):
            return None
        return Condition(f"({self.quote(name)} {operator} {self._literal(literal[0])})", is_exact=True)

    def _is_in(self, name: str, node: Any) -> Condition | None:
        if name not in self.schema:
            return None
        kind, literal = self.schema[name], _evaluated(node)
        values = literal.explode() if isinstance(literal.dtype, (pl.List, pl.Array)) else literal
        if not 0 < len(values) <= _MOST_VALUES or values.null_count() > 0:
            return None
        if kind == pl.String and values.dtype == pl.String:
            return self._of_text(name, values.to_list())
        if not self._is_of(kind, values):
            return None
        shown = ", ".join(self._literal(value) for value in values.to_list())
        return Condition(f"({self.quote(name)} IN ({shown}))", is_exact=True)

    def _of_text(self, name: str, texts: list[str | None]) -> Condition | None:
        """Equal texts are equal in every collation, and others may be equal too. PostgreSQL's cast of char(n) removes
        blanks at the end, which the column's values have."""
        wanted = [text for text in texts if text is not None]
        if not wanted or len(wanted) < len(texts) or any("\0" in text for text in wanted):
            return None
        either = dict.fromkeys(form for text in wanted for form in (text, text.rstrip(" ")))
        shown = ", ".join(map(self._literal, either))
        return Condition(f"(CAST({self.quote(name)} AS {_TEXT[self.dialect]}) IN ({shown}))", is_exact=False)

    def _compares(self, kind: pl.DataType) -> bool:
        return type(kind) in _COMPARED[self.dialect]

    def _is_of(self, kind: pl.DataType, values: pl.Series) -> bool:
        """Whether the database compares a column of this type with these values as polars does."""
        if not self._compares(kind) or values.null_count() > 0:
            return False
        if isinstance(kind, pl.Decimal):
            if not isinstance(values.dtype, pl.Decimal) or (kind.precision or 38) > _DIGITS:
                return False
            return all(len(value.as_tuple().digits) <= _DIGITS for value in values.to_list())
        if isinstance(kind, pl.Datetime) and kind.time_unit != "us":
            return False
        return values.dtype == kind

    def _literal(self, value: Any) -> str:
        return bind("$1", [value], self.dialect)


def _joined(conditions: list[Condition], how: str) -> Condition:
    sql = f" {how} ".join(condition.sql for condition in conditions)
    return Condition(f"({sql})", is_exact=all(condition.is_exact for condition in conditions))


def _evaluated(node: Any) -> pl.Series:
    """The value of a literal, as polars itself reads it."""
    expression = pl.Expr.deserialize(io.BytesIO(json.dumps(node).encode()), format="json")
    return pl.select(expression.alias("value"))["value"]
