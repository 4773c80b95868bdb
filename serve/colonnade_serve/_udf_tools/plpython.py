"""Functions of PostgreSQL in plpython3u: their inputs, and calls in this process, one for each row.

For the inputs, a transaction replaces the function with one in PL/pgSQL that keeps its arguments in a temporary table,
runs the query, reads the table, and is rolled back. Other sessions never see it.
"""

from __future__ import annotations

import decimal
import secrets
import sys
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

from .file import FunctionFile
from .folder import text_of
from .inputs import Description, Inputs, quoted, signature

if TYPE_CHECKING:
    from colonnade._connection import Connection

    from .declaration import Declaration

#: Types whose values PL/Python gives as Python's (its manual, "Data Type Mapping"). All others are texts.
MAPPED = {"boolean", "smallint", "integer", "bigint", "oid", "real", "double precision", "bytea"}

ABOUT = """
SELECT p.oid::bigint AS oid, n.nspname AS schema, p.proname AS name, p.proretset AS is_set, p.proisstrict AS is_strict,
       p.prorettype::regtype::text AS result, t.typtype::text AS result_kind, p.proallargtypes IS NOT NULL AS has_out,
       pg_catalog.pg_get_function_arguments(p.oid) AS arguments
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
JOIN pg_catalog.pg_type t ON t.oid = p.prorettype WHERE p.oid = $1::regprocedure"""

PARAMETERS = """
SELECT coalesce(p.proargnames[a.place], '') AS name, pg_catalog.format_type(a.type, NULL) AS type,
       t.typtype::text AS kind
FROM pg_catalog.pg_proc p, pg_catalog.unnest(p.proargtypes) WITH ORDINALITY a(type, place)
JOIN pg_catalog.pg_type t ON t.oid = a.type WHERE p.oid = $1::regprocedure ORDER BY a.place"""


def fetch(connection: Connection, declaration: Declaration, query: str) -> Inputs:
    """The arguments that a query gives a function. What else the query does is rolled back."""
    name = signature(declaration)
    (about,) = connection.query(ABOUT, [name]).to_arrow().to_pylist()
    parameters = connection.query(PARAMETERS, [name]).to_arrow().to_pylist()
    check(about, parameters, declaration)
    table = f"colonnade_inputs_{secrets.token_hex(8)}"
    columns = ", ".join(f"p{number} {one['type']}" for number, one in enumerate(parameters, 1))
    arguments = ", ".join(f"${number}" for number in range(1, len(parameters) + 1))
    kept = f"INSERT INTO pg_temp.{table} VALUES (DEFAULT{', ' if arguments else ''}{arguments})"
    given = "RETURN" if about["is_set"] or about["result"] == "void" else "RETURN NULL"
    returns = ("SETOF " if about["is_set"] else "") + about["result"]
    strict = " STRICT" if about["is_strict"] else ""
    path = f"{quoted(about['schema'])}.{quoted(about['name'])}"
    replaced = (
        f"CREATE OR REPLACE FUNCTION {path}({about['arguments']}) RETURNS {returns} LANGUAGE plpgsql VOLATILE "
        f"PARALLEL UNSAFE{strict} AS $capture$BEGIN {kept}; {given}; END$capture$"
    )
    connection.execute("BEGIN")
    try:
        connection.execute(f"CREATE TEMP TABLE {table} (place serial{', ' if columns else ''}{columns})")
        connection.execute(replaced)
        with connection.query(query.strip().rstrip(";")) as result:
            for _ in result:
                pass
        shown = [column(number, one) for number, one in enumerate(parameters, 1)]
        rows = connection.query(
            f"SELECT {', '.join([*shown, '0::bigint AS batch'])} FROM pg_temp.{table} ORDER BY place"
        ).to_arrow()
    finally:
        connection.execute("ROLLBACK")
    described = [(one["name"], one["type"], False) for one in parameters]
    full = f"{about['schema']}.{about['name']}"
    return Inputs(Description(full, "row", "plpython3u", described, about["result"], about["is_strict"], query), rows)


def check(about: dict[str, Any], parameters: list[dict[str, Any]], declaration: Declaration) -> None:
    """Refuse functions that are not called with the values of rows."""
    odd = None
    if about["result"] in ("trigger", "event_trigger"):
        odd = "it is a trigger's"
    elif about["has_out"] or (about["result_kind"] == "p" and about["result"] != "void"):
        odd = "it has OUT parameters or a polymorphic result"
    elif any(one["kind"] in "cp" for one in parameters):
        odd = "a parameter is a row or has any type"
    if odd is not None:
        raise ValueError(f"the inputs of {declaration.signature} cannot be kept: {odd}")


def column(number: int, parameter: dict[str, Any]) -> str:
    """A column of the kept arguments in the form that PL/Python gives."""
    type_ = parameter["type"]
    base = type_.removesuffix("[]")
    if base in MAPPED:
        return f"p{number}"
    return f"p{number}::text{'[]' if base != type_ else ''} AS p{number}"


def values(items: list[Any], type_: str) -> list[Any]:
    """The values of a column as PL/Python gives them. A numeric is a text on the way, which keeps its digits."""
    if type_ == "numeric":
        return [None if item is None else decimal.Decimal(item) for item in items]
    if type_ == "numeric[]":
        return [None if item is None else values(item, "numeric") for item in items]
    return items


class RowFunction:
    """A function of a file, to be called with saved arguments."""

    def __init__(self, path: Path, description: Description) -> None:
        text = text_of(path)
        self.file = FunctionFile.read(text)
        names = tuple(name for name, _, _ in description.parameters)
        if self.file.declaration.names != names:
            raise ValueError(
                f"{path}: the inputs have the columns {', '.join(names)}, and the first line other parameters; push "
                "the function and fetch its inputs again"
            )
        self.state: dict[str, Any] = {
            "plpy": Plpy(),
            "SD": {},
            "GD": {},
            "__name__": "__colonnade__",
            "__file__": str(path),
        }
        exec(compile(text, str(path.resolve()), "exec", dont_inherit=True), self.state)
        self.function = next(value for value in self.state.values() if isinstance(value, FunctionType))
        wanted = self.function.__code__.co_varnames[: self.function.__code__.co_argcount]
        missing = [name for name in wanted if name not in names]
        if missing:
            raise ValueError(f"{path}: the def has the parameter {missing[0]}, which the database does not give it")
        #: The places of the parameters among the arguments.
        self.places = [names.index(name) for name in wanted]

    def run(self, inputs: Inputs) -> list[Any]:
        """The results, one for each row."""
        parameters = enumerate(inputs.description.parameters)
        columns = [values(inputs.table.column(index).to_pylist(), type_) for index, (_, type_, _) in parameters]
        rows = zip(*columns, strict=True) if columns else [()] * inputs.table.num_rows
        results = []
        for row in rows:
            self.state["args"] = list(row)
            found = self.function(*(row[place] for place in self.places))
            # A function that returns a set may be a generator.
            results.append(list(found) if hasattr(found, "__next__") else found)
        return results


class Plpy:
    """What of PL/Python's module works without a server: messages and quoting."""

    class Error(Exception):
        """plpy.Error."""

    SPIError = Error

    def __getattr__(self, name: str) -> NoReturn:
        raise NotImplementedError(f"plpy.{name} needs the server: it does not work in a local run")

    @staticmethod
    def notice(message: object, **_: object) -> None:
        print(message, file=sys.stderr)

    debug = log = info = warning = notice

    def error(self, message: object, **_: object) -> NoReturn:
        raise self.Error(message)

    fatal = error

    @staticmethod
    def quote_literal(text: str) -> str:
        quoted_text = text.replace("'", "''").replace("\\", "\\\\")
        return f"E'{quoted_text}'" if "\\" in text else f"'{quoted_text}'"

    @staticmethod
    def quote_nullable(text: str | None) -> str:
        return "NULL" if text is None else Plpy.quote_literal(text)

    @staticmethod
    def quote_ident(text: str) -> str:
        return text if text.isidentifier() and text.islower() else quoted(text)
