"""The extension module. It is private; the package `colonnade` has the public names."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Literal, Protocol, TypedDict, final, type_check_only

from colonnade._core import ArrowStream, Source
from typing_extensions import CapsuleType

from ._serve.options import Listening, ServerOptions

__version__: str
#: How the module was compiled. One with debug assertions is many times slower.
BUILD_PROFILE: Literal["debug", "release"]

@type_check_only
class Engine(Protocol):
    """The engine of a worker: `colonnade_serve._duckdb.engine.Engine`."""

    version: str
    database: str | None
    served: tuple[str, bool]
    @property
    def catalog_names(self) -> object:
        """What `colonnade_serve._duckdb.catalog.CatalogNames` has."""

    def session(self, user: str = "duckdb", read_only: bool = False) -> object: ...

class Refused(Exception): ...

@final
class AllowedStatement:
    @property
    def sql(self) -> str: ...
    @property
    def kinds(self) -> list[str]: ...
    @property
    def inner(self) -> tuple[str, list[str]] | None: ...
    @property
    def has_returning(self) -> bool: ...
    @property
    def may_have_origins(self) -> bool: ...
    def form(self) -> str: ...

@final
class Fence:
    def __new__(cls, catalog: list[str], max_bytes: int) -> Fence: ...
    def check(self, sql: str, writes: bool, files: bool) -> AllowedStatement: ...
    def decision(self, section: str, name: str) -> str | None: ...
    @staticmethod
    def tokens(sql: str) -> list[tuple[int, str]]: ...

def register_vectors() -> None: ...

@final
class VectorRows:
    """A result that is gathered from DuckDB's vectors."""

    @staticmethod
    def begin(token: str, columns: Sequence[tuple[str, str]], zone: str, form: str) -> VectorRows | None: ...
    @property
    def rows(self) -> int: ...
    def receive(self, tickets: ArrowStream) -> None: ...

@final
class SourceEngine:
    def __new__(cls, target: str | Callable[[], Source]) -> SourceEngine: ...

@final
class Supervisor:
    def __new__(
        cls,
        listening: Listening,
        command: list[str],
        environment: list[tuple[str, str]],
        settings: bytes,
        template: tuple[list[str], list[tuple[str, str]], tuple[int, int] | None] | None = None,
    ) -> Supervisor: ...
    @property
    def addresses(self) -> list[str]: ...
    @property
    def metrics(self) -> str | None: ...
    @property
    def warnings(self) -> list[str]: ...
    def reload(self) -> None: ...
    def drain(self, seconds: float) -> bool: ...
    def stop(self) -> bool: ...

@final
class Templates:
    """Starts templates of functions, by the supervisor of a worker."""

@final
class Worker:
    def __new__(cls) -> Worker: ...
    @property
    def settings(self) -> bytes: ...
    def templates(self, interpreter: str) -> Templates:
        """Errors name the interpreter so."""
    @staticmethod
    def confine(
        directories: Sequence[str | PathLike[str]], readable: Sequence[str | PathLike[str]] = ...
    ) -> str | None: ...
    @staticmethod
    def limit_memory(bytes: int) -> None: ...
    def serve(self, engine: Engine | SourceEngine, options: ServerOptions) -> int: ...

def add_user(
    path: str | PathLike[str],
    name: str,
    password: str,
    *,
    read_only: bool = False,
    connections: int | None = None,
    functions: bool = False,
) -> bool: ...
def remove_user(path: str | PathLike[str], name: str) -> bool: ...
def list_users(path: str | PathLike[str]) -> list[tuple[str, str, int | None, bool]]: ...
def register_types() -> None:
    """Give each database that is opened from now on PostgreSQL's types that DuckDB lacks: ranges, multiranges, and
    network addresses.

    Raises:
        NotImplementedError: This version of DuckDB cannot have them.
    """

def register_session_functions() -> None:
    """Give each database that is opened from now on the functions that reach the session of their statement.

    Raises:
        NotImplementedError: This version of DuckDB cannot have them.
    """

def register_functions() -> None:
    """Give every DuckDB database that this process opens from now on the dispatchers of functions in Python.

    These are `colonnade_session()`, which gives the token of the calling connection, and those that
    `function_dispatcher` names. Calling it again does nothing.

    Raises:
        NotImplementedError: The installed DuckDB is not of version 2.0, or is not a package with the C interface.
    """

def function_dispatcher(kind: Literal["scalar", "aggregate"], volatility: Literal["i", "s", "v"]) -> str:
    """The name of the DuckDB function that a macro calls for a function in Python. Its arguments are the function's id,
    `colonnade_session()`, and the function's arguments, each of exactly the parameter's type.
    """

def define_function(
    id: str,
    name: str,
    kind: Literal["scalar", "aggregate", "aggregate_per_group"],
    parameters: Sequence[tuple[str, str, bool]] | None,
    result: str,
    source: str,
    *,
    strict: bool = False,
    volatility: Literal["i", "s", "v"] = "v",
    arrow: bool = False,
) -> None:
    """Make a definition known to the dispatchers of all databases of this process. The same id may be defined again,
    and always means the same function. `forget_function` undoes one of these calls.

    Args:
        id: 16 digits in hexadecimal, lower case.
        name: The name with its schema, for messages.
        kind: `aggregate_per_group` is LANGUAGE PYTHON_MAP: one group a call.
        parameters: For each the name in Python, DuckDB's name of the type (`typeof`), and whether it is SCALAR. None
            for a function that takes any arguments.
        result: DuckDB's name of the type.
        source: The body.

    Raises:
        NotImplementedError: A type cannot be passed to a function. The message names it.
        ValueError: The id is none, or is that of another definition.
    """

def forget_function(id: str) -> None:
    """Forget a definition, if `define_function` was not called more often for it. Calls that are bound keep it."""

def has_function(id: str) -> bool:
    """Whether a definition with this id is known."""

def check_private(readable: Sequence[str | PathLike[str]], private: Sequence[tuple[str, str | PathLike[str]]]) -> None:
    """Refuse that functions read `readable` and libraries of the system, if a private path lies in these, or is a
    directory around one of them. Each private path has a name, such as "database".

    Raises:
        ValueError: The text says which one, and what to do.
    """

@final
class FunctionProcesses:
    """The function processes of this process, and the template that forks them."""

    def __new__(
        cls,
        python: str | PathLike[str] | Templates | None = None,
        *,
        isolation: Literal["sandbox", "process", "none"] = "sandbox",
        memory: int = 2 << 30,
        server_memory: int = 4 << 30,
        processes: int = 8,
        timeout: float | None = None,
        readable: Sequence[str | PathLike[str]] = ...,
        private: Sequence[tuple[str, str | PathLike[str]]] = ...,
        preload: Sequence[str] = ...,
        session_processes: int | None = None,
    ) -> FunctionProcesses:
        """`memory` is in bytes for each function process, and for the rows and results of a session's functions in this
        process; `server_memory` is that of all sessions. `timeout` is in seconds for each call. `python` is this
        interpreter if None; with `Templates` the supervisor starts the interpreter, with the modules to preload.
        `private`: see `check_private`.

        Raises:
            OSError: The kernel cannot isolate processes so.
        """

    @property
    def running(self) -> int:
        """The number of function processes."""

    @property
    def used_memory(self) -> int:
        """The bytes of the rows and results of all sessions' functions in this process."""

@type_check_only
class FunctionFailure(TypedDict):
    """Why a function has failed. Texts may be empty, and numbers 0 if unknown."""

    code: str
    message: str
    detail: str
    #: The traceback of the function's own frames: `function "main.f", line 3`.
    context: str
    #: The line and the character of the body, from 1.
    line: int
    position: int
    #: The body of the function, for `internal_query`.
    source: str
    #: The id of a function that no definition is known for.
    unknown: str | None

def column_type(name: str) -> str:
    """How function processes read a type of DuckDB, in JSON, as `_udf/inbound.py` takes it. NotImplementedError if they
    cannot."""

def with_digits(type_name: str) -> str:
    """A type as it is written, in which `numeric` without digits is that of a column."""

@final
class BoundFunction:
    """The function of a call that DuckDB has bound."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str:
        """With its schema."""

    @property
    def dispatcher(self) -> str: ...
    @property
    def parameters(self) -> list[str]: ...
    @property
    def result(self) -> str:
        """DuckDB's name of the result's type."""

    @property
    def is_deferrable(self) -> bool:
        """Whether its calls can be deferred."""

    @property
    def mark(self) -> str:
        """The name of the first field of its deferred calls, which differs between connections."""

@final
class DeferredStream:
    """The rows of a statement whose functions run beside its plan."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType:
        """Raises ValueError the second time."""

@final
class FunctionSession:
    """The function processes of one connection of DuckDB, which its statements use from now on.

    `token` is what `SELECT colonnade_session()` gives on the connection.
    """

    def __new__(cls, processes: FunctionProcesses, token: str) -> FunctionSession:
        """Raises ValueError if no connection has this token."""

    def sibling(self, token: str) -> FunctionSession:
        """The same function processes for another connection, which runs the queries of this one's functions. Its
        `cancel` ends only what it runs. Raises ValueError if no connection has this token."""

    def begin_statement(self) -> None:
        """Forget the cancellation, the printed text and the failures of the statement before."""

    def check(self, id: str) -> FunctionFailure | None:
        """Compile a function. Returns why it is no Python, with the place, or None."""

    def begin_capture(
        self, id: str, call: int, count: int | None = None, *, by_groups: bool = False, seed: int = 0
    ) -> None:
        """Keep the arguments of a function's call (from 1) in the next statement, instead of calling the function.

        `count`: only a uniform sample of this many rows, or groups of an aggregate.
        """

    def end_capture(self) -> tuple[int, Table | None]:
        """How often the statement calls the function, and the arguments: the parameters in order, for aggregates the
        number of the group, and the number of the call of Python. Columns have types that Arrow has: others are texts.
        None without rows. ValueError if they do not fit together."""

    def cancel(self) -> None:
        """Kill the processes that run a function. Their calls fail with the code 57014. From any thread."""

    def note(self, line: str) -> None:
        """Tell the client something, in addition to what functions print."""

    def take_notices(self) -> str:
        """What functions have printed since this was called last."""

    def take_failure(self, message: str) -> FunctionFailure | None:
        """The full record of an error whose text DuckDB has reported. None if no function has failed with this text."""

    def begin_binding(self, defers: bool) -> None:
        """Note the calls of functions that the connection binds from now on. With `defers`, those that can be deferred
        give a STRUCT of their arguments, whose first field has the name `BoundFunction.mark`."""

    def end_binding(self) -> list[BoundFunction]:
        """End that, and give the functions of the calls in the order of binding."""

    def call_deferred(self, stream: ArrowStream, columns: Sequence[tuple[int, str]]) -> DeferredStream:
        """A stream in which functions have been called for their deferred calls. `columns`: the numbers of columns,
        from 0, and the ids of their functions. Raises ValueError if a column has no deferred calls of its function."""

    def end_idle(self, seconds: int) -> None:
        """End function processes that nobody has used for this time."""

    @property
    def process_ids(self) -> list[int]:
        """The ids of the function processes."""

    def close(self) -> None:
        """End the function processes. Calls of the connection fail from now on."""

@final
class TableCall:
    """A call of a table function, between the statement that collects its rows and the one that reads its result.

    An argument has its name, its type, whether it is one value, and the number of its query. Query 0 has the arguments
    that are single values. With `threads`, the function is called with parts of the rows of query 1, as many at a time;
    with 0, one after another when all rows are collected, so that its queries run on the session's own connection.
    `SELECT colonnade_collect(name, number of the query, number of the row, ...)` collects rows, and
    `colonnade_rows(name)` is the result. Without `results`, the function decides the columns. With `arrow`, arguments
    are arrays of pyarrow.
    """

    def __new__(
        cls,
        session: FunctionSession,
        id: str,
        name: str,
        arguments: list[tuple[str, str, bool, int]],
        results: list[tuple[str, str]],
        source: str,
        *,
        threads: int | None = None,
        call: str | None = None,
        arrow: bool = False,
    ) -> TableCall:
        """`call` is the name of a call before, which this one replaces; otherwise it gets a new one.

        Raises NotImplementedError if functions cannot have one of the types."""

    @staticmethod
    def block(
        session: FunctionSession,
        query: list[tuple[str, str]],
        calls: list[tuple[str, str, list[tuple[str, str, bool, int]], str, str, bool, bool]],
        columns: list[tuple[str, int, bool]],
        *,
        call: str | None = None,
    ) -> TableCall:
        """Calls of functions that get whole columns of a query, numbered 1, whose columns have these names and types.

        A call has the function's id, its name, its parameters (name, type, whether it is one value, the number of the
        query's column), the type of its result, its body, whether it is STRICT, and whether its arguments are arrays
        of pyarrow. A column of the result has a name, and the number of a call, or otherwise of a column of the
        query."""

    @property
    def name(self) -> str:
        """The random name by which DuckDB's functions find the call."""

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The names and SQL types of the columns that the function has returned; empty if they are declared."""

    def check(self) -> FunctionFailure | None:
        """Compile the function. Returns why it is no Python, with the place, or None."""

    def collect_texts(self, texts: list[str]) -> None:
        """Collect the arguments that are single values, if all of them are texts."""

    def run(self) -> None:
        """Call the function. RuntimeError with a text for `FunctionSession.take_failure`."""

    def close(self) -> None:
        """Forget the call. A statement that reads its result keeps it."""

@final
class Table:
    def __arrow_c_schema__(self) -> CapsuleType: ...
    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType: ...
