"""Which functions can have one name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade_serve._core import Refused

from .conversions import is_converted
from .function_failure import refused
from .function_macro import MAX_ARGUMENTS, dispatcher

if TYPE_CHECKING:
    from .function_entry import Definition, Entry, Macro

#: An aggregate as the server writes its call: the id, the signature, the types of the parameters, and the constants of
#: the last ones. The types are None if it takes any.
Candidate = tuple[str, str, list[str] | None, list[str]]


def others(existing: Macro | None, definition: Definition, or_replace: bool) -> tuple[Entry, ...]:
    """The other functions that keep the name."""
    if existing is None:
        return ()
    known = existing.entries[0].definition
    if known.kind != definition.kind:
        text = f'cannot change routine kind: "{known.name}" is a function of the kind {known.kind}'
        raise Refused(text, "42809", None)
    replaced = [entry for entry in existing.entries if entry.definition.types == definition.types]
    if replaced and not or_replace:
        hint = "Write CREATE OR REPLACE."
        raise refused(f"function {definition.signature} already exists with same argument types", "42723", hint)
    for entry in replaced:
        if entry.definition.results != definition.results:
            kind = "AGGREGATE" if definition.kind == "aggregate" else "FUNCTION"
            hint = f"Use DROP {kind} {definition.signature} first."
            raise refused("cannot change return type of existing function", "42P13", hint)
    kept = tuple(entry for entry in existing.entries if entry not in replaced)
    if any(entry.definition.takes_columns != definition.takes_columns for entry in kept):
        text = f'functions of the name "{definition.name}" have LANGUAGE PYTHON, and others PYTHON_MAP'
        raise refused(text, "42809", "Choose another name, or the same language.")
    all_ = (definition, *(entry.definition for entry in kept))
    variadic = next((one for one in all_ if one.is_variadic), None)
    if kept and variadic is not None and definition.kind != "table":
        text = f"function {variadic.signature} takes any arguments, so no other function can have its name"
        raise refused(text, "42723", "Choose another name.")
    return kept


def takes(definition: Definition, arguments: int) -> bool:
    """Whether a function can be called with this number of arguments."""
    if definition.is_variadic:
        return arguments <= MAX_ARGUMENTS
    required = [parameter for parameter in definition.parameters if parameter.default is None]
    return len(required) <= arguments <= len(definition.parameters)


def aggregates(macro: Macro, name: str, arguments: int) -> list[Definition]:
    """The aggregates that a call with DISTINCT, ORDER BY or FILTER may mean. Several have one dispatcher, and as many
    parameters as the call has arguments."""
    found = [entry.definition for entry in macro.entries if takes(entry.definition, arguments)]
    if not found:
        hint = f"There is: {', '.join(entry.definition.signature for entry in macro.entries)}."
        raise refused(f"aggregate {name} with {arguments} arguments does not exist", "42883", hint)
    hint = "Write a subquery that sorts or filters, and call the aggregate over it."
    is_chosen = len({dispatcher(one) for one in found}) == 1
    if len(found) > 1 and not (is_chosen and all(len(one.parameters) == arguments for one in found)):
        raise refused(f'aggregate name "{name}" with DISTINCT, ORDER BY or FILTER is not unique', "42725", hint)
    types = (type_ for one in found for type_ in (*one.types, one.results[0][1]))
    converted = next(filter(is_converted, types), None)
    if converted is not None:
        raise refused(f"DISTINCT, ORDER BY and FILTER in an aggregate with the type {converted}", "0A000", hint)
    return found


def candidate(definition: Definition) -> Candidate:
    defaults = [parameter.default for parameter in definition.parameters if parameter.default is not None]
    types = None if definition.is_variadic else list(definition.types)
    return definition.id, definition.signature, types, defaults
