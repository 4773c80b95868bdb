"""The extension module. What the package exports is in the modules around it."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Protocol, TypedDict, Unpack, final, type_check_only

from typing_extensions import CapsuleType

from ._options.dtype import ArrowSchema
from ._options.query import Params, QueryOptions

__version__: str
#: Exceptions by the first two characters of a SQLSTATE.
SQLSTATE_CLASSES: dict[str, str]
__all__ = [
    "SQLSTATE_CLASSES",
    "Batch",
    "Column",
    "Connection",
    "Fence",
    "Production",
    "Refused",
    "SourceEngine",
    "Stream",
    "Supervisor",
    "Table",
    "Worker",
    "__version__",
    "add_user",
    "bind",
    "connect",
    "count_statements",
    "file_uri",
    "has_columns",
    "list_users",
    "printable",
    "refuse_for_plain_source",
    "remove_user",
    "unrepresentable",
]

# `object`, as in the protocols of Arrow's documentation, because other libraries' annotations have to match.

@type_check_only
class ArrowStream(Protocol):
    """Anything with Arrow's PyCapsule interface for streams."""
    def __arrow_c_stream__(self) -> object: ...

@type_check_only
class Source(Protocol):
    """What a connection is made of, whatever it leads to."""

    @property
    def name(self) -> str: ...
    @property
    def server(self) -> str: ...
    @property
    def is_open(self) -> bool: ...
    def query(self, sql: str, params: Params | None = None, **options: Unpack[QueryOptions]) -> Stream: ...
    def execute(self, sql: str, params: Params | None = None) -> int | None: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...

@type_check_only
class Engine(Protocol):
    """What a worker serves: `colonnade._duckdb.engine.Engine`."""
    @property
    def version(self) -> str: ...
    @property
    def database(self) -> str | None: ...
    def session(self, user: str = "duckdb", read_only: bool = False) -> object: ...

@type_check_only
class Listening(TypedDict):
    """Where a server listens, and what its supervisor reads and writes."""

    listen: str | None
    unix: str | PathLike[str] | None
    users: str | PathLike[str] | None
    tls_certificate: str | PathLike[str] | None
    tls_key: str | PathLike[str] | None
    tls_client_ca: str | PathLike[str] | None
    log: str | PathLike[str] | None
    metrics: str | None

@type_check_only
class ServerOptions(TypedDict):
    """What a server's sessions may use. Times are in seconds, sizes in bytes; 0 is no limit."""

    encode_cpu: float
    max_connections: int
    max_user_connections: int
    max_address_logins: int
    login_timeout: float
    statement_timeout: float
    idle_timeout: float
    idle_transaction_timeout: float
    max_result_bytes: int
    max_session_memory: int
    #: How much of all results may be set aside in `spool_directory`; None is the session's memory.
    spool_bytes: int
    spool_directory: str | None
    log_statements: bool

@type_check_only
class StatsDict(TypedDict):
    rows: int
    chunks: int
    wire_bytes: int
    seconds_to_schema: float
    seconds: float
    encodings: list[tuple[str, dict[str, int]]]
    codecs: dict[str, int]
    configurations: dict[str, int]
    configuration: str
    source: str
    server: str

def connect(uri: str, gateway: bool = False) -> Connection: ...
def refuse_for_plain_source(source: str, has_as_text: bool, **options: Unpack[QueryOptions]) -> None: ...
def printable(text: str, *, lines: bool = True) -> str: ...
def has_columns(schema: ArrowSchema) -> bool: ...
def unrepresentable(
    data: ArrowStream,
    *,
    midnight: bool = False,
    years: tuple[int, int] | None = None,
    seconds: bool = False,
    only_nested: bool = False,
) -> tuple[str, str] | None: ...
def bind(sql: str, params: Params | None = None) -> str: ...
def file_uri(uri: str) -> tuple[str, str, list[tuple[str, str]]]: ...
def count_statements(sql: str, product: str) -> int | None: ...

class Refused(Exception): ...

@final
class Fence:
    def __new__(cls, catalog: list[str], max_bytes: int) -> Fence: ...
    def check(self, sql: str, writes: bool, files: bool) -> tuple[list[str], tuple[str, list[str]] | None, bool]: ...
    def decision(self, section: str, name: str) -> str | None: ...
    @staticmethod
    def tokens(sql: str) -> list[tuple[int, str]]: ...

@final
class Connection(Source):
    def partitioned(
        self,
        sql: str,
        params: Params | None,
        key: str | None,
        count: int,
        range: tuple[str, str] | None,
        consistent: bool,
        setup: list[str],
        **options: Unpack[QueryOptions],
    ) -> Stream: ...
    def together(
        self,
        queries: list[str],
        params: Params | None,
        at_once: int | None,
        setup: list[str],
        **options: Unpack[QueryOptions],
    ) -> Stream | None: ...

@final
class Stream:
    @staticmethod
    def from_arrow(
        producer: ArrowStream,
        name: str,
        server: str,
        *,
        cancel: Callable[[], object] | None = None,
        meanings: dict[str, tuple[str, str]] | None = None,
        texts: dict[int, str] | None = None,
        finish: Callable[[bool], object] | None = None,
        chunk_rows: int | None = None,
        chunk_bytes: int | None = None,
    ) -> tuple[Stream, Production]: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def uncommon_types(self) -> list[list[str]]: ...
    @property
    def is_open(self) -> bool: ...
    def close(self) -> None: ...
    def next(self) -> Batch | None: ...
    def read(self, decode: bool) -> Table: ...
    def limited(self, bytes: int) -> Stream: ...
    def converted(self, dtypes: Sequence[tuple[int, str | ArrowSchema, bool]]) -> Stream: ...
    def stats(self) -> StatsDict: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...
    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType: ...

@final
class Production:
    @property
    def is_open(self) -> bool: ...
    def close(self) -> None: ...
    def wait(self, seconds: float) -> bool: ...

@final
class SourceEngine:
    def __new__(cls, connect: Callable[[], Source]) -> SourceEngine: ...
    @property
    def version(self) -> str: ...
    def close(self) -> None: ...

@final
class Supervisor:
    def __new__(
        cls, listening: Listening, command: list[str], environment: list[tuple[str, str]], settings: bytes
    ) -> Supervisor: ...
    @property
    def addresses(self) -> list[str]: ...
    @property
    def metrics(self) -> str | None: ...
    def reload(self) -> None: ...
    def drain(self, seconds: float) -> bool: ...
    def stop(self) -> bool: ...

@final
class Worker:
    def __new__(cls) -> Worker: ...
    @property
    def settings(self) -> bytes: ...
    @staticmethod
    def confine(directories: Sequence[str | PathLike[str]]) -> str | None: ...
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
) -> bool: ...
def remove_user(path: str | PathLike[str], name: str) -> bool: ...
def list_users(path: str | PathLike[str]) -> list[tuple[str, str, int | None]]: ...

@final
class Table:
    @property
    def num_rows(self) -> int: ...
    @property
    def num_batches(self) -> int: ...
    def batch(self, index: int) -> Batch: ...
    def column(self, index: int) -> Column: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...
    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType: ...

@final
class Batch:
    @property
    def num_rows(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...
    def __arrow_c_array__(self, requested_schema: CapsuleType | None = None) -> tuple[CapsuleType, CapsuleType]: ...

@final
class Column:
    @property
    def name(self) -> str: ...
    @property
    def null_count(self) -> int: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...
    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType: ...
