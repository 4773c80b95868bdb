"""The macro of a function in Python: its parameters, and the call of a dispatcher.

DuckDB's C interface gives no values of some types. The macro converts these to others, which `python/src/duckdb_api/`
reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._core import function_dispatcher

from .exact import literal, quoted

if TYPE_CHECKING:
    from .function_entry import Definition, Parameter

#: Where the functions of the body are. Anyone who may write can create macros with their names in another schema.
OWN = "system.main."
#: Types that functions get and give as text.
AS_TEXT = ("BIT", "TIME WITH TIME ZONE")


def dispatcher(definition: Definition) -> str:
    """The DuckDB function that calls it."""
    return function_dispatcher("aggregate" if definition.kind == "aggregate" else "scalar", definition.volatility)


def overload(definition: Definition) -> str:
    """The parameters and the body of a macro that calls the function."""
    ((_, type_),) = definition.results
    if definition.takes_columns:
        # The server replaces the SELECT around each call. The macro has the types.
        text = f"function {definition.name} in LANGUAGE PYTHON cannot be called here: make it an item of a SELECT list"
        call = f"CAST(error({literal(text)} || {literal(definition.id)}[:0]) AS {type_})"
        return f"({', '.join(map(declared, definition.parameters))}) AS {call}"
    values = [argument(quoted(parameter.name), parameter.type) for parameter in definition.parameters]
    arguments = ", ".join((literal(definition.id), f"{OWN}colonnade_session()", *values))
    call = result(f"{OWN}{dispatcher(definition)}({arguments})", type_)
    return f"({', '.join(map(declared, definition.parameters))}) AS {call}"


def declared(parameter: Parameter) -> str:
    default = "" if parameter.default is None else f" := {parameter.default}"
    return f"{quoted(parameter.name)} {parameter.type}{default}"


def is_map(type_: str) -> bool:
    return type_.startswith("MAP(") and type_.endswith(")")


def is_converted(type_: str) -> bool:
    """Whether the macro converts values of the type."""
    return type_ in AS_TEXT or is_map(type_)


def argument(value: str, type_: str) -> str:
    """An argument as the dispatcher gets it."""
    if type_ in AS_TEXT:
        return f"CAST({value} AS VARCHAR)"
    return f"{OWN}map_entries({value})" if is_map(type_) else value


def result(call: str, type_: str) -> str:
    """The result of a dispatcher in the function's type."""
    if type_ in AS_TEXT:
        return f"CAST({call} AS {type_})"
    return f"{OWN}map_from_entries({call})" if is_map(type_) else call
