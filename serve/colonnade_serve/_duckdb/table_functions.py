"""Calls of table functions in Python.

A call runs before its statement, on the session's connection and in the same transaction. The rows of its queries are
collected, the function is called, and the statement reads the result under a random name
(`serve/bridge/src/duckdb_api/table.rs`).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
from colonnade._sources.duckdb_types.exact import literal, quoted

from colonnade_serve._core import Refused, TableCall

from .column_names import column_names
from .conversions import result as result_of
from .function_entry import ANY, canonical
from .function_failure import refused
from .table_arguments import (
    Argument,
    BoundArgument,
    Input,
    known,
    may_take,
    must_be_sortable,
    must_have_no_names,
    replaced,
)
from .table_calls import block_call, cast, rows_of
from .table_inputs import NOTHING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from .function_entry import Definition
    from .function_store import TableMacro
    from .functions import SessionFunctions
    from .read_only_connection import ReadOnlyConnection
    from .table_inputs import TableCapture
    from .table_lookup import TableLookup

#: A literal whose value is its text.
TEXT = re.compile(r"\s*'([^'\0]*)'\s*")


@dataclass
class TableFunctions:
    """The table functions of a session."""

    functions: SessionFunctions
    connection: DuckDBPyConnection | ReadOnlyConnection
    lookup: TableLookup
    #: How many function processes a function in LANGUAGE PYTHON_MAP gets.
    threads: int
    #: Of EXPLAIN (INPUTS …), while the calls of its query run.
    capture: TableCapture | None = None
    #: The calls of the present statement.
    _calls: list[TableCall] = field(default_factory=list)
    #: The functions that the present statement names.
    _found: dict[tuple[str | None, str], TableMacro] = field(default_factory=dict)
    #: The names of the session's calls in DuckDB, in the order of the calls of a statement: so a statement that is
    #: repeated has the same text there, and is remembered.
    _names: list[str] = field(default_factory=list)

    def use(self, schema: str | None, name: str) -> str | None:
        """Whether a name is that of a `table` function, or of a function that gets whole columns and gives a
        `column`."""
        use, macro = self.lookup.named(schema, name)
        if macro is not None:
            self._found[schema, name] = macro
        return use

    def stand_in(self, schema: str | None, name: str, given: Sequence[tuple[str, bool, list[str]]]) -> str | None:
        """A subquery with the columns of a call, its queries and its parameters, which is bound but never run. None if
        the columns depend on the rows."""
        inputs = [Input.of(found) for found in given]
        for found in inputs:
            self.lookup.learn(found)
        entries = self._named(schema, name).macro.entries
        must_have_no_names([entry.definition for entry in entries], inputs)
        candidates = [entry for entry in entries if may_take(entry.definition, inputs)] or entries
        if len(candidates) > 1:
            bound = [self.lookup.bind(found, None) for found in inputs]
            columns = [(type_, found.is_query) for found in bound for _, type_ in found.columns]
            definition = self.lookup.choose(name, candidates, columns).definition
        else:
            definition = next(iter(candidates)).definition
        if definition.has_any_columns:
            return None
        columns = ", ".join(f"CAST(NULL AS {type_}) AS {quoted(column)}" for column, type_ in definition.results)
        sources = [f"({found.sql}) AS {quoted(f'q{at}')}" for at, found in enumerate(inputs) if found.is_query]
        # The types of the values are those of their parameters, if the number of columns before them is known.
        values = [found.sql for found in inputs if not found.is_query]
        if values:
            types = [parameter.type for parameter in definition.parameters]
            last = all(not found.is_query for found in inputs[-len(values) :])
            if last and ANY not in types and len(types) >= len(values):
                given_types = types[len(types) - len(values) :] if len(inputs) > len(values) else types
                values = [f"CAST({value} AS {type_})" for value, type_ in zip(values, given_types, strict=False)]
            sources.append(f'(SELECT {", ".join(values)}) AS "values"')
        rows = f" FROM {', '.join(sources)}" if sources else ""
        return f"(SELECT {columns}{rows})"

    def call(
        self,
        schema: str | None,
        name: str,
        given: Sequence[tuple[str, bool, list[str]]],
        values: dict[str, object] | None,
    ) -> str:
        """Call a function. Returns what stands for its rows in the statement."""
        if self.capture is not None and self.capture.is_over:
            return NOTHING
        snapshot = self.lookup.epoch.now
        call, rows = self._collected(schema, name, given, values)
        if snapshot is not None and self.lookup.epoch.now != snapshot:
            # What is known of the catalog may be older or younger than the transaction. From here on, nothing is known.
            if self.capture is not None:
                raise refused("another session changed the catalog", "40001", "Run the statement again.")
            self.use(schema, name)
            call, rows = self._collected(schema, name, given, values)
        if call is None:
            return rows
        call.run()
        # An argument that the function returns has its type, also if its values were converted.
        return rows_of(call, call.columns) if call.columns else rows

    def _collected(
        self,
        schema: str | None,
        name: str,
        given: Sequence[tuple[str, bool, list[str]]],
        values: dict[str, object] | None,
    ) -> tuple[TableCall | None, str]:
        """A call with the rows of its queries, and what stands for its result; None if it need not run."""
        inputs = [Input.of(found) for found in given]
        named = self._named(schema, name)
        must_have_no_names([entry.definition for entry in named.macro.entries], inputs)
        bound = [self.lookup.bind(found, values) for found in inputs]
        columns = [(type_, found.is_query) for found in bound for _, type_ in found.columns]
        definition = self.lookup.choose(name, named.macro.entries, columns).definition
        arguments = self._arguments(definition, bound)
        is_map = definition.language == "python_map"
        queries = [found for found in bound if found.is_query]
        if is_map and len(queries) != 1:
            hint = "A function in LANGUAGE PYTHON gets the rows of several queries."
            raise refused(f"function {definition.signature} takes one subquery", "42883", hint)
        used = values or {}
        if self.capture is not None and self.capture.is_here(definition):
            is_called = not (definition.strict and self._has_null_value(arguments, used))
            self.capture.keep_table(arguments, queries, used, is_called)
            return None, NOTHING
        # Threads run queries on other connections, which do not see what this transaction has changed.
        threads = 0 if self.lookup.epoch.has_changed else self.threads
        call = self._new_call(definition, arguments, threads if is_map else None)
        self._add(call)
        if any(argument.query == 0 for argument in arguments):
            self._collect_values(call, arguments, used)
        if definition.strict and self._has_null_value(arguments, used):
            if definition.has_any_columns:
                hint = "Declare its columns in RETURNS TABLE."
                raise refused(f"function {definition.signature} has no columns for a value that is NULL", "22004", hint)
            empty = ", ".join(f"CAST(NULL AS {type_}) AS {quoted(column)}" for column, type_ in definition.results)
            return None, f"(SELECT {empty} WHERE false)"
        for number, query in enumerate(queries, 1):
            self._collect(call, number, query, arguments, definition.strict, used)
        return call, rows_of(call, definition.results)

    def _add(self, call: TableCall) -> None:
        self._calls.append(call)
        if len(self._calls) > len(self._names):
            self._names.append(call.name)

    def _next_name(self) -> str | None:
        """The name that a call of this place in a statement had before."""
        return self._names[len(self._calls)] if len(self._calls) < len(self._names) else None

    def check(self, definition: Definition) -> Any:
        """Compile a function. Returns why it is no Python, or None."""
        parameters = () if definition.is_variadic else definition.parameters
        arguments = [Argument(parameter, 0, "") for parameter in parameters]
        return self._new_call(definition, arguments, None).check()

    def release(self) -> None:
        """Forget the results of the statement before."""
        for call in self._calls:
            call.close()
        self._calls.clear()
        self._found.clear()

    def _named(self, schema: str | None, name: str) -> TableMacro:
        """The functions that `has` has found."""
        found = self._found.get((schema, name)) or self.functions.find_table(schema, name)
        if found is None:
            raise Refused(f"function {name} does not exist", "42883", None)
        if found.untrusted is not None:
            # Before any text of it becomes a part of a query.
            raise self.functions.store.untrusted(found.untrusted)
        return found

    def call_block(
        self,
        query: Sequence[tuple[str, bool, list[str]]],
        given: Sequence[tuple[str | None, str, int, str]],
        marks: list[str],
        is_outermost: bool,
        sorted_by: list[str],
        values: dict[str, object] | None,
    ) -> str:
        """Run the query of a SELECT, and call the functions that are items of its list. A call has a schema, a name,
        the number of its arguments, and the name of its column. In the query, columns with the names of `marks` stand
        for the calls, and the arguments are the last columns. `sorted_by` has names by which the columns are sorted
        afterwards. Returns what follows SELECT in its place."""
        if self.capture is not None and self.capture.is_over:
            return "NULL AS unknown"
        (found,) = query
        bound = self.lookup.bind(Input(*found), values)
        names = [name for name, _ in bound.columns]
        at = len(names) - sum(count for _, _, count, _ in given)
        shown = column_names(self.functions.library, bound.given.sql, names) if is_outermost else tuple(names)
        #: Name, type and SQL of what is collected.
        collected: list[tuple[str, str, str]] = []
        columns: list[tuple[str, int, bool]] = []
        for number in range(at):
            if names[number] in marks:
                call = marks.index(names[number])
                columns.append((given[call][3], call, True))
                continue
            columns.append((shown[number], len(collected), False))
            collected.append((names[number], known(bound.columns[number][1]), quoted(f"c{number}")))
        # Those of calls are written in the statement.
        pairs = zip(columns, names, strict=False)
        must_be_sortable(sorted_by, [(name, name if is_call else own) for (name, _, is_call), own in pairs])
        calls = []
        for schema, name, count, _ in given:
            named = self._named(schema, name)
            types = [type_ for _, type_ in bound.columns[at : at + count]]
            definition = self.lookup.choose(name, named.macro.entries, [(type_, True) for type_ in types]).definition
            sources = [quoted(f"c{number}") for number in range(at, at + count)]
            at += count
            declared = definition.parameters
            if definition.is_variadic:
                declared = [replaced(definition, f"arg{place}", known(type_)) for place, type_ in enumerate(types, 1)]
            sources += [parameter.default or "NULL" for parameter in declared[count:]]
            if self.capture is not None and self.capture.is_here(definition):
                self.capture.keep_columns(declared, sources, bound, values or {})
                return "NULL AS unknown"
            parameters = []
            for parameter, source in zip(declared, sources, strict=True):
                parameters.append((parameter.name, parameter.type, parameter.scalar, len(collected)))
                collected.append((parameter.name, parameter.type, source))
            calls.append(block_call(definition, parameters))
        try:
            block = TableCall.block(
                self.functions.processes,
                [(name, type_) for name, type_, _ in collected],
                calls,
                # A SELECT may have several columns of a name.
                [(f"r{at}", number, is_call) for at, (_, number, is_call) in enumerate(columns)],
                call=self._next_name(),
            )
        except NotImplementedError as error:
            raise Refused(str(error), "0A000", None) from None
        self._add(block)
        casts = [cast(source, type_) for _, type_, source in collected]
        rows = f"({bound.given.sql}) AS q({', '.join(quoted(f'c{number}') for number in range(len(names)))})"
        self._collect_rows(block, 1, rows, casts, bound.given.parameters, values or {})
        block.run()
        results = [calls[number][3] if is_call else collected[number][1] for _, number, is_call in columns]
        pairs = enumerate(zip(columns, results, strict=True))
        items = [f"{result_of(f'r{at}', type_)} AS {quoted(name)}" for at, ((name, _, _), type_) in pairs]
        return f"{', '.join(items)} FROM system.main.colonnade_rows({literal(block.name)})"

    def _arguments(self, definition: Definition, bound: list[BoundArgument]) -> list[Argument]:
        """What each parameter gets."""
        must_have_no_names([definition], [found.given for found in bound])
        sources: list[tuple[int, str, str, str, list[str]]] = []
        query, values = 0, 0
        for found in bound:
            if found.is_query:
                query += 1
                for at, (column, type_) in enumerate(found.columns):
                    sources.append((query, quoted(f"c{at}"), column, type_, []))
            else:
                values += found.given.name is None
                ((_, type_),) = found.columns
                name = found.given.name or f"arg{values}"
                sources.append((0, found.given.sql, name, type_, found.given.parameters))
        if definition.is_variadic:
            parameters = [replaced(definition, name, known(type_)) for _, _, name, type_, _ in sources]
            names = [parameter.name for parameter in parameters]
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise refused(f'column "{twice}" occurs more than once', "42701", "Give the columns names by AS.")
        else:
            parameters = list(definition.parameters)
            missing = parameters[len(sources) :]
            sources += [(0, parameter.default or "NULL", parameter.name, parameter.type, []) for parameter in missing]
        pairs = zip(parameters, sources, strict=True)
        return [Argument(parameter, query, source, used) for parameter, (query, source, _, _, used) in pairs]

    def _new_call(self, definition: Definition, arguments: list[Argument], threads: int | None) -> TableCall:
        given = [
            (
                argument.parameter.name,
                argument.parameter.type,
                argument.query == 0 or argument.parameter.scalar,
                argument.query,
            )
            for argument in arguments
        ]
        results = [] if definition.has_any_columns else list(definition.results)
        # A function process keeps a function for each way in which it is called.
        identity = hashlib.sha256(canonical([definition.id, given])).hexdigest()[:16]
        name = f"{definition.schema}.{definition.name}"
        try:
            return TableCall(
                self.functions.processes,
                identity,
                name,
                given,
                results,
                definition.source,
                threads=threads,
                call=self._next_name(),
                arrow=definition.style == "arrow",
            )
        except NotImplementedError as error:
            raise Refused(str(error), "0A000", None) from None

    def _collect_values(self, call: TableCall, arguments: list[Argument], values: dict[str, object]) -> None:
        found = [argument for argument in arguments if argument.query == 0]
        texts = [TEXT.fullmatch(argument.source) for argument in found]
        are_texts = all(argument.parameter.type == "VARCHAR" for argument in found)
        if are_texts and all(texts):
            # Such as the name of a model: DuckDB would take as long as for a query.
            call.collect_texts([text[1] for text in texts if text is not None])
            return
        casts = ", ".join(cast(argument.source, argument.parameter.type) for argument in found)
        names = {name for argument in found for name in argument.values}
        sql = f"SELECT system.main.colonnade_collect({literal(call.name)}, '0', 1::BIGINT, {casts})"
        self._run(sql, {name: values[name] for name in names})

    def _has_null_value(self, arguments: list[Argument], values: dict[str, object]) -> bool:
        found = [argument for argument in arguments if argument.query == 0]
        if not found:
            return False
        names = {name for argument in found for name in argument.values}
        tests = " OR ".join(f"({argument.source}) IS NULL" for argument in found)
        ((is_null,),) = self._run(f"SELECT {tests}", {name: values[name] for name in names})
        return is_null

    def _collect(
        self,
        call: TableCall,
        number: int,
        query: BoundArgument,
        arguments: list[Argument],
        is_strict: bool,
        values: dict[str, object],
    ) -> None:
        """Collect the rows of a query, in their order."""
        found = [argument for argument in arguments if argument.query == number]
        names = ", ".join(quoted(f"c{at}") for at in range(len(query.columns)))
        rows = f"({query.given.sql}) AS q({names})"
        if is_strict:
            tests = " AND ".join(f"{argument.source} IS NOT NULL" for argument in found)
            rows = f"(SELECT * FROM {rows} WHERE {tests})"
        casts = [cast(argument.source, argument.parameter.type) for argument in found]
        self._collect_rows(call, number, rows, casts, query.given.parameters, values)

    def _collect_rows(
        self, call: TableCall, number: int, rows: str, casts: list[str], names: list[str], values: dict[str, object]
    ) -> None:
        arguments = ", ".join((literal(call.name), f"'{number}'", "number", *casts))
        collected = f"system.main.colonnade_collect({arguments})"
        used = {name: values[name] for name in names}
        are_collected, numbers = f"SELECT system.main.bool_and({collected})", "system.main.row_number() OVER ()"
        sql = f"{are_collected} FROM (SELECT {numbers} AS number, * FROM {rows})"
        if not self.lookup.keeps_order(sql, used):
            # Several threads would pass on the rows: they are numbered first, and then sorted for one thread.
            given = f"SELECT * FROM (SELECT {numbers} AS given, * FROM {rows}) ORDER BY given"
            sql = f"{are_collected} FROM (SELECT {numbers} AS number, * FROM ({given}))"
        self._run(sql, used)

    def _run(self, sql: str, values: dict[str, object]) -> list[Any]:
        try:
            return self.connection.execute(sql, values or None).fetchall()
        except duckdb.Error as error:
            # The line is not the client's.
            error.args = (str(error).partition("\n\nLINE ")[0],)
            raise
