"""The macro of a function in Python: its parameters, and the call of a dispatcher.

`conversions.py` writes what the macro does to arguments and results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._sources.duckdb_types.exact import literal, quoted

from colonnade_serve._core import function_dispatcher

from .conversions import OWN, argument, result
from .function_entry import ANY, Parameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .function_entry import Definition

#: The most arguments of a function that takes any (`serve/bridge/src/duckdb_api/bound.rs`).
MAX_ARGUMENTS = 100


def dispatcher(definition: Definition) -> str:
    """The DuckDB function that calls it."""
    return function_dispatcher("aggregate" if definition.kind == "aggregate" else "scalar", definition.volatility)


def overloads(definition: Definition) -> list[str]:
    """The parameters and bodies of the macros that call the function. One that takes any arguments has a macro for each
    number of them, because no macro takes several numbers. Its parameters have no types."""
    if not definition.is_variadic:
        return [overload(definition, definition.parameters)]
    names = [f"arg{number}" for number in range(1, MAX_ARGUMENTS + 1)]
    parameters = [Parameter(name, ANY) for name in names]
    return [overload(definition, parameters[:number]) for number in range(MAX_ARGUMENTS + 1)]


def overload(definition: Definition, parameters: Sequence[Parameter]) -> str:
    """The parameters and the body of a macro."""
    ((_, type_),) = definition.results
    if definition.takes_columns:
        # The server replaces the SELECT around each call. The macro has the types, and has DuckDB bind the arguments.
        text = f"function {definition.name} in LANGUAGE PYTHON cannot be called here: make it an item of a SELECT list"
        nothing = [literal(definition.id), *(f"CAST({quoted(one.name)} IS NULL AS VARCHAR)" for one in parameters)]
        parts = ", ".join(f"{OWN}left({part}, 0)" for part in nothing)
        call = f"CAST({OWN}error({OWN}concat({literal(text)}, {parts})) AS {type_})"
        return f"({', '.join(map(declared, parameters))}) AS {call}"
    values = [argument(quoted(parameter.name), parameter.type) for parameter in parameters]
    arguments = ", ".join((literal(definition.id), f"{OWN}colonnade_session()", *values))
    call = result(f"{OWN}{dispatcher(definition)}({arguments})", type_)
    return f"({', '.join(map(declared, parameters))}) AS {call}"


def declared(parameter: Parameter) -> str:
    if parameter.type == ANY:
        return quoted(parameter.name)
    default = "" if parameter.default is None else f" := {parameter.default}"
    return f"{quoted(parameter.name)} {parameter.type}{default}"
