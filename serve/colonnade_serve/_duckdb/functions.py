"""CREATE, DROP and COMMENT ON of functions in Python, in a session of the server.

A function is a macro with typed parameters over a dispatcher that DuckDB has had since the database was opened. So
names, overloads, casts, views, defaults and transactions are DuckDB's own. `function_entry.py` says what the macro's
comment has.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import duckdb
from colonnade._sources.duckdb_types.exact import literal, quoted
from colonnade._sources.duckdb_types.failures import is_passing

from colonnade_serve._core import Refused, with_digits

from .function_entry import ANY, Definition, Entry, Macro, Name, Parameter
from .function_failure import Failure, not_python, refused, used_by_tables
from .function_macro import dispatcher, overloads
from .function_overloads import aggregates, candidate, others
from .snapshot_cache import SnapshotCache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from colonnade_serve._core import FunctionSession

    from .catalog_epoch import SessionEpoch
    from .function_overloads import Candidate
    from .function_store import FunctionStore, TableMacro
    from .library import Library
    from .read_only_connection import ReadOnlyConnection
    from .statement_check import StatementCheck
    from .table_functions import TableFunctions

#: The id of a function.
ID = re.compile("[0-9a-f]{16}")
#: How many functions a session remembers by their names.
MAX_KNOWN = 64


@dataclass
class SessionFunctions:
    """The functions of one session. All changes are a part of its transaction, which the caller has begun."""

    store: FunctionStore
    #: The function processes that run the functions.
    processes: FunctionSession
    library: Library
    statement_check: StatementCheck
    epoch: SessionEpoch
    user: str
    database: str
    #: The name of DuckDB's `main` for clients.
    main_name: str
    #: Calls of table functions.
    tables: TableFunctions = field(init=False)
    #: What `definition` has found. A statement asks several times, and listing DuckDB's functions takes 10 ms.
    _definitions: SnapshotCache[Definition] = field(init=False)

    def __post_init__(self) -> None:
        self._definitions = SnapshotCache(self.epoch, MAX_KNOWN)

    @property
    def connection(self) -> DuckDBPyConnection | ReadOnlyConnection:
        return self.library.connection

    @property
    def other(self) -> DuckDBPyConnection:
        """Another connection, where an error does not abort the session's transaction."""
        return self.library.parser

    def create(self, given: dict[str, Any]) -> None:
        """Create a function. `given` has the fields of `FunctionDefinition`
        (`serve/protocol/src/functions/create.rs`)."""
        self._must_write()
        name = self._name(given["schema"], given["name"])
        existing = self._find_or_free(name)
        definition = self._definition(name, given)
        kept = others(existing, definition, given["or_replace"])
        self.store.must_trust(kept)
        self.store.known.forget_unused(self.other)
        self._compile(definition)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        entry = Entry(definition, self.user, now).signed(self.store.key())
        comment = existing.comment if existing is not None else None
        self._write(name, Macro((*kept, entry), comment))

    def has(self, functions: Sequence[tuple[str | None, str, list[str] | None]]) -> bool:
        """Whether any of these names is a function in Python."""
        return any(self._find_called(schema, name) is not None for schema, name, _ in functions)

    def drop(
        self,
        functions: Sequence[tuple[str | None, str, list[str] | None]],
        is_aggregate: bool,
        if_exists: bool,
        cascades: bool,
    ) -> bool:
        """Drop functions: schema, name, and the types of the parameters as they are written, or None. Returns False,
        and drops none, if none of them is a function in Python, and DuckDB can read the statement. `cascades` changes
        nothing: only tables depend on a function, and DuckDB would drop them with their rows."""
        if not is_aggregate and not self.has(functions) and all(types is None for _, _, types in functions):
            return False
        self._must_write()
        for schema, given, types in functions:
            name, macro = self._meant(schema, given)
            chosen = self._choose(name, macro, types)
            if macro is None or chosen is None:
                if not if_exists:
                    shown = given if types is None else f"{given}({', '.join(types)})"
                    kind = "aggregate" if is_aggregate else "function"
                    raise Refused(f"{kind} {shown} does not exist", "42883", None)
                continue
            if (chosen.definition.kind == "aggregate") != is_aggregate:
                signature = chosen.definition.signature
                what, command = ("no", "FUNCTION") if is_aggregate else ("an", "AGGREGATE")
                raise refused(f"{signature} is {what} aggregate", "42809", f"Use DROP {command} {signature}.")
            rest = tuple(entry for entry in macro.entries if entry is not chosen)
            self.store.must_trust(rest)
            if rest:
                self._write(name, replace(macro, entries=rest))
            else:
                kind = "MACRO TABLE" if macro.is_table else "MACRO"
                self._change(f"DROP {kind} {name.sql}")
        return True

    def comment(self, schema: str | None, given: str, types: list[str] | None, text: str | None) -> bool:
        """Set or remove the comment on a function. Returns False if it is none in Python."""
        name, macro = self._meant(schema, given)
        if macro is None and types is None:
            return False
        self._must_write()
        if macro is None or (types is not None and self._choose(name, macro, types) is None):
            raise Refused(f"function {given}({', '.join(types or [])}) does not exist", "42883", None)
        self._write_comment(name, replace(macro, comment=text))
        return True

    def dispatch(self, schema: str | None, given: str, arguments: int) -> tuple[str, list[Candidate]] | None:
        """How an aggregate with this number of arguments is called: the dispatcher, and what may be meant. None if
        there is none."""
        macro = self._find_called(schema, given)
        if macro is None or macro.entries[0].definition.kind != "aggregate":
            return None
        self.store.must_trust(macro.entries)
        found = aggregates(macro, given, arguments)
        return dispatcher(found[0]), [candidate(one) for one in found]

    def definition(self, schema: str | None, given: str, types: list[str] | None) -> Definition:
        """The one function that a name and types mean."""
        key = (schema, given, None if types is None else tuple(types))
        snapshot, known = self.epoch.now, self._definitions.find(key)
        if known is not None:
            return known
        chosen = self._choose(*self._meant(schema, given), types)
        if chosen is None:
            shown = given if types is None else f"{given}({', '.join(types)})"
            raise Refused(f"function {shown} does not exist", "42883", None)
        self.store.must_trust((chosen,))
        self._definitions.keep(key, chosen.definition, snapshot)
        return chosen.definition

    def failure(self, text: str) -> Failure | None:
        """The failure of a function that DuckDB has reported with this text."""
        found = self.processes.take_failure(text)
        if found is None:
            return None
        if found["unknown"] is not None:
            return self._unknown(found["unknown"])
        return Failure(
            code=found["code"],
            message=found["message"],
            detail=found["detail"] or None,
            context=found["context"],
            body=found["source"],
            position=found["position"] - 1 if found["position"] > 0 else None,
        )

    def _unknown(self, identity: str) -> Failure:
        """Why a call does not find its function. The server writes signatures in the place of an id if no aggregate has
        the types of the arguments (`serve/duckdb/src/aggregates.rs`)."""
        if ID.fullmatch(identity) is None:
            hint = "Add casts to the types of the parameters."
            return Failure("42883", f"no aggregate takes arguments of these types: {identity}", hint=hint)
        entry = self.store.find(self.other, identity)
        if entry is None:
            return Failure("42883", "the function does not exist", hint="It was dropped. Prepare the statement again.")
        if self.store.is_trusted(entry):
            self.store.define(entry.definition)
            return Failure("40001", f"{entry.definition.signature} was not loaded", hint="Repeat the transaction.")
        text, code, _, _, hint = self.store.untrusted(entry).args
        return Failure(code, text, hint=hint)

    def _compile(self, definition: Definition) -> None:
        """Make a function known, and refuse a body that is no Python. The position counts in the body."""
        if definition.kind == "table" or definition.takes_columns:
            found = self.tables.check(definition)
            if found is not None:
                raise not_python(found)
            return
        try:
            self.store.define(definition)
        except NotImplementedError as error:
            raise Refused(str(error), "0A000", None) from None
        found = self.processes.check(definition.id)
        if found is not None:
            raise not_python(found)

    def _must_write(self) -> None:
        if self.statement_check.read_only:
            raise Refused("cannot change functions in a read-only session", "25006", None)

    def _name(self, schema: str | None, name: str) -> Name:
        if schema is None:
            ((current,),) = self.connection.execute("SELECT system.main.current_schema()").fetchall()
            return Name(self.database, current, name)
        return Name(self.database, "main" if schema == self.main_name else schema, name)

    def _meant(self, schema: str | None, given: str) -> tuple[Name, Macro | None]:
        """The name of a function that exists, which is found as calls find it, and the functions of this name."""
        macro = self._find_called(schema, given)
        if schema is None and macro is not None:
            return Name(self.database, macro.entries[0].definition.schema, given), macro
        return self._name(schema, given), macro

    def _find(self, name: Name) -> Macro | None:
        """The functions of this name. A macro in SQL, or another object, is none."""
        query = (
            "SELECT schema_name, function_name, comment, function_oid FROM system.main.duckdb_functions() "
            "WHERE database_name = $1 AND system.main.lower(schema_name) = system.main.lower($2) "
            "AND system.main.lower(function_name) = system.main.lower($3) "
            "AND comment IS NOT NULL LIMIT 1"
        )
        for row in self.connection.execute(query, [name.database, name.schema, name.name]).fetchall():
            return Macro.from_comment(*row)
        return None

    def find_table(self, schema: str | None, name: str) -> TableMacro | None:
        """The table functions that a call with this name means; None if it is no such function."""
        written = quoted(name) if schema is None else self._name(schema, name).sql
        try:
            columns = self.library.bind(f"FROM {written}()").columns
        except (duckdb.CatalogException, duckdb.BinderException):
            # There is none, or it is another function.
            return None
        found = self.store.known_table(columns[0]) if len(columns) == 1 else None
        if found is not None:
            return found
        macro = self._find_called(schema, name)
        if macro is None or not macro.is_table:
            return None
        return self.store.remember_table(macro)

    def find_column(self, schema: str | None, name: str) -> TableMacro | None:
        """The functions that get whole columns and give one that a call with this name means; None if it is no such
        function."""
        macro = self._find_called(schema, name)
        if macro is None or not macro.entries[0].definition.takes_columns:
            return None
        return self.store.known_table(macro.digest) or self.store.remember_table(macro)

    def _find_called(self, schema: str | None, name: str) -> Macro | None:
        """The functions that a call with this name means: those of the first schema that has the name, unless a macro
        in SQL has it there. DuckDB searches `main` behind each path."""
        if schema is not None:
            return self._find(self._name(schema, name))
        query = (
            "SELECT schema_name, function_name, comment, function_oid FROM system.main.duckdb_functions() "
            "WHERE database_name = $1 AND system.main.lower(function_name) = system.main.lower($2) "
            "AND (system.main.list_contains(system.main.current_schemas(false), schema_name) OR schema_name = 'main') "
            "ORDER BY system.main.list_position(system.main.current_schemas(false), schema_name) NULLS LAST, "
            "comment IS NULL LIMIT 1"
        )
        for row in self.connection.execute(query, [self.database, name]).fetchall():
            return Macro.from_comment(*row)
        return None

    def _find_or_free(self, name: Name) -> Macro | None:
        """The functions of this name. Refuse the name of a macro in SQL, and of a function that DuckDB or PostgreSQL's
        catalog has."""
        # One query for both, because DuckDB lists all functions for each.
        query = (
            "SELECT schema_name, function_name, comment, function_oid, database_name = $1 AS is_here "
            "FROM system.main.duckdb_functions() WHERE system.main.lower(function_name) = system.main.lower($3) AND "
            "(database_name IN ('system', 'colonnade_catalog') "
            "OR database_name = $1 AND system.main.lower(schema_name) = system.main.lower($2)) "
            "ORDER BY is_here DESC, comment IS NULL"
        )
        rows = self.connection.execute(query, [name.database, name.schema, name.name]).fetchall()
        for *row, is_here in rows:
            found = Macro.from_comment(*row) if is_here and row[2] is not None else None
            if found is not None:
                return found
            what = "macro" if is_here else "built-in function"
            hint = "Drop it first: DROP MACRO." if is_here else "Choose another name."
            raise refused(f'there is a {what} "{name.name}"', "42723", hint)
        return None

    def _definition(self, name: Name, given: dict[str, Any]) -> Definition:
        if given["parameters"] is None:
            parameters: tuple[Parameter, ...] = (Parameter("*", ANY),)
        else:
            parameters = tuple(self._parameter(*parameter) for parameter in given["parameters"])
        if given["results"] is None:
            results: tuple[tuple[str, str], ...] = (("*", ANY),)
        else:
            results = tuple((column, self._type(type_)) for column, type_ in given["results"])
        return Definition(
            schema=name.schema,
            name=name.name,
            kind=given["kind"],
            language=given["language"],
            parameters=parameters,
            results=results,
            volatility=given["volatility"],
            strict=given["strict"],
            parallel=given["parallel"],
            source=given["source"],
            style=given["style"],
        )

    def _parameter(self, name: str, type_: str, default: str | None, is_scalar: bool) -> Parameter:
        if not name.isidentifier() or keyword.iskeyword(name):
            text = f'"{name}" is no name in Python, so no parameter can have it'
            raise Refused(text, "42P13", None)
        found = self._type(type_)
        if default is not None:
            query = f"SELECT (CAST({default} AS {found}) = {default}) IS FALSE"
            self.statement_check.fence.check(query, False, False)
            ((is_changed,),) = self.connection.execute(query).fetchall()
            if is_changed:
                hint = f"Write a constant that {found} can have."
                raise refused(f'the default {default} of parameter "{name}" is no value of {found}', "42804", hint)
        return Parameter(name, found, default, is_scalar)

    def _type(self, given: str) -> str:
        """DuckDB's name of a type. `given` has only tokens that can stand in a type."""
        query = f"SELECT system.main.typeof(CAST(NULL AS {with_digits(given)}))"
        self.statement_check.fence.check(query, False, False)
        try:
            ((found,),) = self.other.execute(query).fetchall()
        except duckdb.Error:
            # The session's transaction may have created the type. An error aborts the transaction.
            ((found,),) = self.connection.execute(query).fetchall()
        return found

    def _known_type(self, given: str) -> str | None:
        """DuckDB's name of a type that exists, or None. A name may stand before the type."""
        _, _, rest = given.partition(" ")
        for text in (given, rest):
            try:
                query = f"SELECT system.main.typeof(CAST(NULL AS {with_digits(text)}))"
                self.statement_check.fence.check(query, False, False)
                ((found,),) = self.other.execute(query).fetchall()
            except (duckdb.Error, Refused) as error:
                if is_passing(error):
                    raise
                continue
            return found
        return None

    def _choose(self, name: Name, macro: Macro | None, types: list[str] | None) -> Entry | None:
        """The one function that a name and types mean, or None."""
        if macro is None:
            return None
        if types is None or types == ["*"]:
            first, *more = macro.entries
            if more:
                hint = "Write the types of its parameters."
                raise refused(f'function name "{name.name}" is not unique', "42725", hint)
            return first
        wanted = tuple(map(self._known_type, types))
        return next((entry for entry in macro.entries if entry.definition.types == wanted), None)

    def _write(self, name: Name, macro: Macro) -> None:
        if macro.is_table:
            # The server replaces each call. The macro has the name, and the comment with the definitions. The name of
            # its column says which these are: binding it is much faster than listing all functions.
            text = literal(f"table function {name.name} cannot be called here")
            ids = ", ".join(f"({literal(entry.definition.id)})" for entry in macro.entries)
            body = f"SELECT system.main.error({text}) AS {quoted(macro.digest)} FROM (VALUES {ids}) AS functions(id)"
            calls = f"() AS TABLE {body}"
        else:
            calls = ", ".join(call for entry in macro.entries for call in overloads(entry.definition))
        self._change(f"CREATE OR REPLACE MACRO {name.sql}{calls}")
        self._write_comment(name, macro)

    def _change(self, sql: str) -> None:
        try:
            with self.epoch.changing(True):
                self.connection.execute(sql)
        except duckdb.DependencyException as error:
            raise used_by_tables(error) from None

    def _write_comment(self, name: Name, macro: Macro) -> None:
        kind = "MACRO TABLE" if macro.is_table else "MACRO"
        self.connection.execute(f"COMMENT ON {kind} {name.sql} IS {literal(macro.to_comment())}")
