"""Deferred calls: functions that run beside the plan. Which statements may run so, and how.

Within a plan, a function is called for the rows of each vector. If a call is a whole item of the outermost SELECT list,
nothing in the plan needs its result. Then the plan gives the arguments, and the function is called for whole batches of
the result (`serve/bridge/src/duckdb_api/deferral.rs`, `deferred_calls.rs`).

That needs proof that nothing else uses the result, because DuckDB would give it a STRUCT:

- The parse tree: the call is an item of a plain SELECT.
- The catalog: all macros with the item's name are functions in Python, so that the item is the call of a dispatcher.
- The binding: there are as many calls as such items, so that no view, subquery or macro has another one.

The proof holds as long as the session sees the same catalog.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import duckdb
from colonnade._sources.duckdb_types.failures import is_passing

from .answers import Capsule
from .column_names import MAX_CHARACTERS
from .parse_tree import is_plain_select

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from colonnade._core import ArrowStream
    from duckdb import DuckDBPyConnection

    from colonnade_serve._core import BoundFunction, FunctionSession

    from .catalog_epoch import CatalogSnapshot, SessionEpoch
    from .library import Bound, Library
    from .read_only_connection import ReadOnlyConnection

#: A macro that only calls a dispatcher: DuckDB's text of its body.
OWN = r'"system"\.main\.'
BODY = re.compile(rf"{OWN}colonnade_map(?:_stable|_volatile)?\('([0-9a-f]{{16}})', {OWN}colonnade_session\(\), (.*)\)")


@dataclass(frozen=True)
class Proof:
    """That a statement's functions can run beside its plan."""

    #: The ids of the functions that its items call, in order.
    ids: tuple[str, ...]
    #: The catalog for which it was proved.
    snapshot: CatalogSnapshot


@dataclass
class BoundCalls:
    """The calls of functions in Python that DuckDB binds for a statement, recorded while it binds."""

    #: The catalog that the session saw then; None if it is unknown.
    snapshot: CatalogSnapshot | None
    functions: list[BoundFunction] = field(default_factory=list)

    @property
    def names(self) -> str:
        """The functions that are called."""
        return ", ".join(dict.fromkeys(function.name for function in self.functions))

    @property
    def is_decided(self) -> bool:
        """Whether the statement runs within its plan for another reason than that the catalog may be changing."""
        return not self.functions or self.snapshot is not None


class DeferredCalls:
    """The deferred calls of one session: functions that run beside the plans of its statements."""

    def __init__(self, library: Library, processes: FunctionSession, epoch: SessionEpoch) -> None:
        self._library = library
        self._processes = processes
        self.epoch = epoch
        #: How many statements have run with deferred calls.
        self.runs = 0

    @contextmanager
    def recording(self, is_begun: bool) -> Iterator[BoundCalls]:
        """Record the calls that are bound meanwhile. With `is_begun`, the transaction may be older than what `epoch`
        knows of."""
        calls = BoundCalls(None if is_begun else self.epoch.now)
        self._processes.begin_binding(False)
        try:
            yield calls
        finally:
            calls.functions += self._processes.end_binding()

    def proof(self, statement: Bound) -> Proof | None:
        """The proof that the functions of a statement can run beside its plan. None if they cannot, or if nobody
        knows."""
        bound = statement.calls
        if bound is None or not bound.functions or bound.snapshot is None or len(statement.sql) > MAX_CHARACTERS:
            return None
        calls, snapshot = bound.functions, bound.snapshot
        if not all(call.is_deferrable for call in calls):
            return None
        try:
            items = called_items(self._library.tree(statement.sql))
            found = [ids for ids in map(self._of_name(items, snapshot).get, items) if ids is not None]
        except (RecursionError, LookupError, duckdb.Error) as error:
            if is_passing(error):
                raise
            return None
        if len(found) != len(calls) or snapshot != self.epoch.now:
            return None
        if not all(call.id in ids for call, ids in zip(calls, found, strict=True)):
            return None
        return Proof(tuple(call.id for call in calls), snapshot)

    def explain(self, inner: str) -> None:
        """Tell the client where the functions of a statement run that EXPLAIN has bound just before."""
        with self.recording(False) as calls:
            bound = self._library.bind(inner)
        if calls.names:
            where = "within" if self.proof(replace(bound, calls=calls)) is None else "beside"
            self._processes.note(f"functions run {where} the plan: {calls.names}")

    def submit(
        self, statement: tuple[str, dict[str, object] | None, int], types: Sequence[object], proof: Proof
    ) -> ArrowStream | None:
        """Run a statement: its text, the values of its parameters, and the rows of a batch. `types` are those of its
        columns. Gives the stream of its rows, or None if the proof holds no more."""
        sql, parameters, rows = statement
        if proof.snapshot != self.epoch.now:
            return None
        self._processes.begin_binding(True)
        try:
            result = self._library.rows(sql, parameters, rows)
        except duckdb.InterruptException:
            raise
        except duckdb.Error:
            # The statement runs again within the plan, and reports its error.
            return None
        finally:
            calls = self._processes.end_binding()
        columns = marked(calls, result.description, types)
        is_proved = tuple(call.id for call in calls) == proof.ids and proof.snapshot == self.epoch.now
        if columns is None or not is_proved:
            result.close()
            return None
        self.runs += 1
        return self._processes.call_deferred(Capsule(result.arrow_capsule()), columns)

    def _of_name(self, names: Sequence[str], snapshot: CatalogSnapshot) -> dict[str, frozenset[str] | None]:
        """The ids that the macros of these names call, by name; None if some macro of the name does something else."""
        known = self.epoch.found(snapshot)
        missing = [name for name in names if name not in known]
        if missing:
            known.update(plain_macros(self._library.connection, missing))
        return known


def called_items(nodes: Sequence[dict[str, Any]]) -> list[str]:
    """The names of the functions that are whole items of a SELECT, in lower case. None if something else in the
    statement may use the items' values. `nodes` are the trees of the text."""
    if len(nodes) != 1 or not is_plain_select(nodes[0], "LIMIT_MODIFIER"):
        return []
    return list(names_of(nodes[0]["select_list"]))


def names_of(items: Sequence[dict[str, Any]]) -> Iterator[str]:
    for item in items:
        if item["class"] == "FUNCTION" and not item.get("is_operator"):
            yield item["function_name"].lower()


def plain_macros(
    connection: DuckDBPyConnection | ReadOnlyConnection, names: Sequence[str]
) -> dict[str, frozenset[str] | None]:
    """For each name, the ids of the functions that its macros call, in all databases and schemas. None if there is no
    macro, or if one of them does something else."""
    query = (
        "SELECT DISTINCT system.main.lower(function_name), parameters, macro_definition "
        "FROM system.main.duckdb_functions() WHERE function_type IN ('macro', 'table_macro') "
        "AND system.main.list_contains($1, system.main.lower(function_name))"
    )
    found: dict[str, set[str] | None] = {}
    for name, parameters, body in connection.execute(query, [list(names)]).fetchall():
        known = found.setdefault(name, set())
        match = BODY.fullmatch(body or "")
        if known is None or match is None or match[2] != ", ".join(parameters):
            found[name] = None
        else:
            known.add(match[1])
    return {name: None if (ids := found.get(name)) is None else frozenset(ids) for name in names}


def marked(
    calls: Sequence[BoundFunction], description: Sequence[tuple[Any, ...]], types: Sequence[object]
) -> list[tuple[int, str]] | None:
    """The columns that have the arguments of calls, each with the function's id. None if not each call has one, or if
    another column has another type than in `types`."""
    waiting = iter(calls)
    found = []
    if len(description) != len(types):
        return None
    for position, ((_, type_, *_), expected) in enumerate(zip(description, types, strict=True)):
        found_name, name = str(type_), str(expected)
        if found_name == name:
            continue
        call = next(waiting, None)
        if call is None or call.result != name or not found_name.startswith(f'STRUCT("{call.mark}"'):
            return None
        found.append((position, call.id))
    return None if next(waiting, None) is not None else found
