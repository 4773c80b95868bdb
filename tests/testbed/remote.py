"""The testbed's servers for tests that run on Windows: a process on Linux starts them, and the tests ask it.

`Host` is the side on Linux, and `guest` the other one, which replaces the functions of the testbed that need Linux.
Both are on one machine, so a path of one is a path of the other (wine's drive Z:).
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import itertools
import os
import re
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path, PurePosixPath
from typing import Any

import psutil

#: The port and the key of the host.
VARIABLE = "COLONNADE_TESTBED"
_PLAIN = (type(None), bool, int, float, str, bytes)
#: A path of Windows within a text, such as a URI.
_DRIVE = re.compile(r"[Zz]:((?:[\\/][^\\/\s;?&\"'|]+)+)")


@dataclasses.dataclass(frozen=True)
class Place:
    """A path as Linux has it."""

    path: str


@dataclasses.dataclass(frozen=True)
class Thing:
    """An object of the host by its number. Objects of data classes have their fields too."""

    number: int
    kind: str = ""
    fields: dict[str, Any] = dataclasses.field(default_factory=dict)


class Host:
    """Answers the tests until it is closed, and then ends what they have left running."""

    def __init__(self) -> None:
        self._key = os.urandom(32)
        self._listener = Listener(("127.0.0.1", 0), authkey=self._key)
        self._numbers = itertools.count(1)
        self._things: dict[int, Any] = {}
        self._open: dict[int, Any] = {}
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the tests."""
        assert isinstance(self._listener.address, tuple)
        return {VARIABLE: f"{self._listener.address[1]}:{self._key.hex()}"}

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        for number in sorted(self._open, reverse=True):
            with contextlib.suppress(Exception):
                self._open.pop(number).__exit__(None, None, None)

    def _listen(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except (OSError, EOFError):
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: Connection) -> None:
        with connection, contextlib.suppress(EOFError, OSError):
            while True:
                operation, *values = connection.recv()
                try:
                    answer = (True, self._encoded(getattr(self, f"_{operation}")(*map(self._decoded, values))))
                except BaseException as error:
                    answer = (False, f"{type(error).__name__}: {error}")
                connection.send(answer)

    def _call(self, module: str, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return getattr(importlib.import_module(module), name)(*arguments, **named)

    def _kill(self, process: int, number: int) -> None:
        """Sends a signal to a server, or to a process of one. No other process of this system is a test's."""
        if os.getpid() not in (parent.pid for parent in psutil.Process(process).parents()):
            raise ProcessLookupError(f"{process} is none of the servers' processes")
        os.kill(process, number)

    def _enter(self, module: str, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        context = self._call(module, name, arguments, named)
        entered = context.__enter__()
        number = next(self._numbers)
        self._open[number] = context
        return number, entered

    def _leave(self, number: int) -> None:
        self._open.pop(number).__exit__(None, None, None)

    def _attribute(self, thing: Any, name: str) -> Any:
        found = getattr(thing, name)
        return (True, None) if callable(found) else (False, found)

    def _method(self, thing: Any, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return getattr(thing, name)(*arguments, **named)

    def _encoded(self, value: Any) -> Any:
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, Path):
            return Place(str(value))
        if isinstance(value, list | tuple | set):
            return type(value)(map(self._encoded, value))
        if isinstance(value, dict):
            return {key: self._encoded(one) for key, one in value.items()}
        number = next(self._numbers)
        self._things[number] = value
        if not dataclasses.is_dataclass(value):
            return Thing(number)
        fields = {field.name: self._encoded(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return Thing(number, f"{type(value).__module__}:{type(value).__name__}", fields)

    def _decoded(self, value: Any) -> Any:
        if isinstance(value, Place):
            return Path(value.path)
        if isinstance(value, Thing):
            return self._things[value.number]
        if isinstance(value, list | tuple):
            return type(value)(map(self._decoded, value))
        if isinstance(value, dict):
            return {key: self._decoded(one) for key, one in value.items()}
        return value


class Remote:
    """An object of the host, such as a process."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __getattr__(self, name: str) -> Any:
        is_method, value = asked("attribute", Thing(self._number), name)
        return _method(self._number, name) if is_method else value


_connections = threading.local()


def asked(*question: Any) -> Any:
    """The host's answer. Each thread has its own connection."""
    if not hasattr(_connections, "own"):
        port, _, key = os.environ[VARIABLE].partition(":")
        _connections.own = Client(("127.0.0.1", int(port)), authkey=bytes.fromhex(key))
    _connections.own.send(_sent(question))
    is_right, answer = _connections.own.recv()
    if not is_right:
        raise RuntimeError(answer)
    return _received(answer)


def _sent(value: Any) -> Any:
    if isinstance(value, str):
        return _DRIVE.sub(lambda found: found[1].replace("\\", "/"), value)
    if isinstance(value, PurePosixPath):
        return Place(str(value))
    if isinstance(value, Path):
        return Place(value.absolute().as_posix().removeprefix(value.absolute().drive))
    if isinstance(value, list | tuple):
        return tuple(map(_sent, value))
    if isinstance(value, dict):
        return {key: _sent(one) for key, one in value.items()}
    number = getattr(value, "_number", None)
    return value if number is None else Thing(number)


def _received(value: Any) -> Any:
    if isinstance(value, Place):
        return Path(f"Z:{value.path}")
    if isinstance(value, list | tuple | set):
        return type(value)(map(_received, value))
    if isinstance(value, dict):
        return {key: _received(one) for key, one in value.items()}
    if not isinstance(value, Thing):
        return value
    if not value.kind:
        return Remote(value.number)
    module, _, name = value.kind.partition(":")
    made = getattr(importlib.import_module(module), name)(**_received(value.fields))
    object.__setattr__(made, "_number", value.number)
    return made


def _method(number: int, name: str) -> Callable[..., Any]:
    return lambda *arguments, **named: asked("method", Thing(number), name, arguments, named)


@dataclasses.dataclass(frozen=True)
class Replaced:
    """What of a module runs on Linux when tests ask for it."""

    module: str
    contexts: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    #: Methods, and properties, as `Class.name`.
    methods: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()

    def replace(self) -> None:
        module = importlib.import_module(self.module)
        for name in self.contexts:
            setattr(module, name, _context(self.module, name))
        for name in self.functions:
            setattr(module, name, _function(self.module, name))
        for kind, _, name in (name.partition(".") for name in self.methods):
            setattr(getattr(module, kind), name, _remote_method(name))
        for kind, _, name in (name.partition(".") for name in self.properties):
            setattr(getattr(module, kind), name, _remote_property(name))


SERVERS = (
    Replaced(
        "tests.testbed.postgres",
        contexts=("installed", "cluster", "extended", "standby", "scratch"),
        functions=("stock", "pg_config", "version", "give"),
        methods=("Cluster.backends",),
    ),
    Replaced("tests.testbed.mariadb", contexts=("server",), functions=("is_mysql",), methods=("Server.run",)),
    Replaced(
        "tests.testbed.serving",
        contexts=("serve",),
        functions=("function_options", "children", "cpu_ticks", "command_line"),
        methods=("Server.memory", "Server.connections"),
        properties=("Server.worker", "Server.template", "Server.children"),
    ),
)


def guest(*more: Replaced) -> None:
    """Replaces what needs Linux in the modules of this process."""
    for name, content in (
        ("pwd", {"struct_passwd": tuple}),
        *((name, {}) for name in ("fcntl", "pty", "resource", "termios")),
    ):
        sys.modules.setdefault(name, types.ModuleType(name)).__dict__.update(content)
    for name in ("getuid", "geteuid"):
        # Tests ask at import whether they are run by root.
        setattr(os, name, getattr(os, name, lambda: 1))
    for replaced in (*SERVERS, *more):
        replaced.replace()
    signal.__dict__.setdefault("SIGKILL", 9)
    os.__dict__["kill"] = _kill
    pg = importlib.import_module("tests.testbed.postgres")
    pg.__dict__["drop_root"] = lambda *_: None
    # Without unix sockets.
    uri = pg.Cluster.uri
    pg.Cluster.uri = lambda self, *values, **named: uri(self, *values, **{**named, "tcp": True})
    pg.Cluster.dsn = lambda self, database="postgres", user=pg.SUPERUSER: (
        f"host=127.0.0.1 port={self.port} user={user} dbname={database}"
    )


def _kill(process: int, number: int) -> None:
    """`os.kill`, which knows no signals of Unix on Windows, and would end this process."""
    if process == os.getpid():
        signal.raise_signal(number)
    else:
        asked("kill", process, int(number))


def _context(module: str, name: str) -> Callable[..., Any]:
    @contextlib.contextmanager
    def entered(*arguments: Any, **named: Any) -> Iterator[Any]:
        number, thing = asked("enter", module, name, arguments, named)
        try:
            yield thing
        finally:
            asked("leave", number)

    return entered


def _function(module: str, name: str) -> Callable[..., Any]:
    return lambda *arguments, **named: asked("call", module, name, arguments, named)


def _remote_method(name: str) -> Callable[..., Any]:
    return lambda self, *arguments, **named: asked("method", self, name, arguments, named)


def _remote_property(name: str) -> property:
    return property(lambda self: asked("attribute", self, name)[1])
