"""The plan that an engine's workers read.

For all engines, dictionaries become values, because each worker has its own, and a cast that is not exact is an error
with column and row (`_fit.py`). What one engine requires is in its module.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from colonnade._connection import Connection
from colonnade._errors import InterfaceError, NotSupportedError
from colonnade._options.query import Params, QueryOptions
from colonnade._plan.plan import Plan, plan


class PlanOptions(QueryOptions, total=False):
    """The arguments of `colonnade.plan` after the query."""

    parts: int
    partition_on: str | None
    partition_range: tuple[Any, Any] | None
    spool: bool | Literal["auto"]
    params: Params | None


def planned(function: str, source: str | Connection | Plan, query: str | None, options: PlanOptions) -> Plan:
    """The plan of the query, or the one that was given.

    Raises:
        InterfaceError: There is a plan and a query, or neither; or the plan is closed.
        NotSupportedError: Two columns have the same name, which no engine distinguishes.
        Error: As for `colonnade.plan`.
    """
    if isinstance(source, Plan):
        if query is not None or options:
            given = ["query"] * (query is not None) + list(options)
            raise InterfaceError(f"{function}() takes a plan without {', '.join(given)}: give them to colonnade.plan()")
        if not source.is_open:
            raise InterfaceError("the plan is closed: use it within its `with` block", sqlstate="42704")
        made = source
    elif query is None:
        raise InterfaceError(f"{function}() needs a query, or a plan")
    else:
        made = plan(source, query, **options)
    try:
        _require_different_names(function, made.schema.names)
    except NotSupportedError:
        if made is not source:
            made.close()
        raise
    return made


def _require_different_names(function: str, names: list[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        shown = ", ".join(map(repr, repeated))
        raise NotSupportedError(
            f"{function}() needs columns with different names, and several are named {shown}",
            hint="give them other names in the query: SELECT a.id AS a_id",
        )
