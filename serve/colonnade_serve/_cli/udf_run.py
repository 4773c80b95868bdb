"""What `colonnade udf inputs`, `run`, `debug`, `test` and `key` do, which run functions in this process.

This needs packages that are extras. The arguments are in `udf_local.py`.
"""

from __future__ import annotations

import bdb
import json
import pdb
import sys
import traceback
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from colonnade._cli.terminal import say, tell
from colonnade._connection import connect

from colonnade_serve._udf.failures import Fault
from colonnade_serve._udf_tools import folder, inputs, plpython, saved, sealed, server_check, settings
from colonnade_serve._udf_tools.queries import RecordedQueries

if TYPE_CHECKING:
    import argparse

    from colonnade_serve._udf_tools.inputs import Inputs
    from colonnade_serve._udf_tools.settings import Project

#: How many results are shown.
SHOWN = 20


def one_file(project: Project, name: str) -> Path:
    """The file of a function."""
    found = folder.chosen(folder.read(project.folder), [name], project.folder)
    if len(found) != 1:
        names = ", ".join(str(one.path) for one in found)
        raise ValueError(f"several functions are called {name}: name one file of {names}")
    return found[0].path


def key_of(args: argparse.Namespace) -> bytes | None:
    """The key of files with rows of the database."""
    return None if args.key_file is None else sealed.read_key(args.key_file)


@dataclass(frozen=True)
class Fetched:
    """The inputs of a query, in a file."""

    path: Path
    description: inputs.Description
    rows: int


def obtained(args: argparse.Namespace, project: Project, path: Path) -> Inputs:
    """The inputs that the arguments mean. Those of a query are saved."""
    if args.sql is not None:
        return inputs.load(fetched(args, project, path).path, key_of(args))
    file = args.inputs or saved.recent(project, path)
    if not file.is_file():
        raise ValueError(f"there are no saved inputs in {file}: pass --sql QUERY")
    return inputs.load(file, key_of(args))


def fetched(args: argparse.Namespace, project: Project, path: Path) -> Fetched:
    """Save the inputs of a query."""
    key = key_of(args)
    sql = read_query(args.sql)
    wanted = inputs.Wanted(args.call, args.sample, args.groups, args.seed)
    file = folder.read_file(path).function
    target, below = getattr(args, "output", None), None
    if target is None:
        project.make_private()
        target, below = saved.recent(project, path), project.root
    with connect(project.database()) as connection:
        if file.is_of_postgres:
            if wanted != inputs.Wanted():
                raise ValueError("--call, --sample, --groups and --seed are for functions of colonnade serve")
            if args.compression is not None:
                raise ValueError("--compression is for functions of colonnade serve")
            found = plpython.fetch(connection, file.declaration, sql)
            found.save(target, key, below)
        else:
            with inputs.arriving(connection, file.declaration, sql, wanted, args.compression) as found:
                found.save(target, key, below)
    if not args.json:
        here = target.resolve()
        shown = here.relative_to(Path.cwd()) if here.is_relative_to(Path.cwd()) else target
        say(f"{found.rows} rows of inputs in {shown}", sys.stderr)
    return Fetched(target, found.description, found.rows)


def read_query(given: str) -> str:
    """The query that --sql means."""
    if given == "-":
        return sys.stdin.read()
    return Path(given[1:]).read_text(encoding="utf-8") if given.startswith("@") else given


def queries_of(args: argparse.Namespace, project: Project, path: Path) -> RecordedQueries:
    """What answers the function's own queries."""
    recorded = saved.SavedTest(path).queries if getattr(args, "save", False) else project.private / "queries"
    return RecordedQueries(recorded, None if args.offline else project.uri, key_of(args))


def run_inputs(args: argparse.Namespace) -> int:
    project = settings.project(args.uri, args.dir)
    path = one_file(project, args.name)
    found = fetched(args, project, path)
    if args.json:
        print(json.dumps({"path": str(found.path), "rows": found.rows, "function": found.description.name}))
    return 0


def run_run(args: argparse.Namespace) -> int:
    if args.save and args.key_file is not None:
        raise ValueError("--save writes a test, which is not encrypted: leave out --key-file")
    project = settings.project(args.uri, args.dir)
    path = one_file(project, args.name)
    found = obtained(args, project, path)
    function = saved.local_function(path, found.description, queries_of(args, project, path))
    try:
        # What the function prints is no part of an answer for programs.
        with redirect_stdout(sys.stderr if args.json else sys.stdout):
            results = [saved.plain(result) for result in function.run(found)]
    except Exception as error:
        if args.uncaught:
            args.uncaught = error
            raise
        print_traceback(error, path)
        if args.json:
            print(json.dumps({"error": {"message": message_of(error), "line": line_of(error, path)}}))
        return 1
    difference = None
    if args.check:
        if found.description.language == "plpython3u":
            raise ValueError("--check is for functions of colonnade serve")
        with connect(project.database()) as connection:
            others = server_check.results(connection, function.file.declaration, found)
        difference = saved.first_difference(results, [saved.plain(other) for other in others], "server's")
    if args.save:
        saved.SavedTest(path).save(found, results)
    if args.json:
        print(json.dumps({"results": len(results), "first": results[:SHOWN], "difference": difference}))
    else:
        show(results)
        if args.check:
            say(f"differs: {difference}" if difference else "the server's results are the same")
    return 0 if difference is None else 1


def show(results: list[Any]) -> None:
    for result in results[:SHOWN]:
        say(json.dumps(result, ensure_ascii=False))
    left = len(results) - SHOWN
    if left > 0:
        say(f"({left} more of {len(results)} results)")
    else:
        say(f"({len(results)} result{'' if len(results) == 1 else 's'})")


def run_debug(args: argparse.Namespace) -> int:
    project = settings.project(args.uri, args.dir)
    path = one_file(project, args.name)
    found = obtained(args, project, path)
    function = saved.local_function(path, found.description, queries_of(args, project, path))
    if args.listen is not None:
        wait_for_debugger(args.listen)
        show([saved.plain(result) for result in function.run(found)])
        return 0
    debugger = pdb.Pdb()
    line, name = first_line(path, function.file.def_line)
    # With the name, it does not stop in comprehensions and functions of this line.
    error = debugger.set_break(str(path.resolve()), line, funcname=name)
    if error:
        raise ValueError(f"{path}: {error}")
    try:
        results = traced(debugger, function, found)
    except bdb.BdbQuit:
        return 1
    except Exception as raised:
        print_traceback(raised, path)
        pdb.post_mortem(raised.__traceback__)
        return 1
    show([saved.plain(result) for result in results])
    return 0


def traced(debugger: pdb.Pdb, function: saved.Runnable, found: Inputs) -> list[Any]:
    """Run a function, which stops at the debugger's breakpoints only."""
    debugger.reset()
    # Without a frame to begin with, the debugger would stop in this package.
    debugger.botframe = sys._getframe()
    debugger.set_continue()
    sys.settrace(debugger.trace_dispatch)
    try:
        return function.run(found)
    finally:
        sys.settrace(None)


def print_traceback(error: Exception, path: Path) -> None:
    """Write a traceback from the function's file on; all of it if the file is not in it. A result that is not valid has
    none."""
    if isinstance(error, Fault):
        say(f"{path}: {error} (SQLSTATE {error.state})", sys.stderr)
        return
    frames = traceback.TracebackException.from_exception(error)
    place = str(path.resolve())
    first = next((at for at, frame in enumerate(frames.stack) if frame.filename == place), 0)
    frames.stack = traceback.StackSummary.from_list(list(frames.stack)[first:])
    say("".join(frames.format()).rstrip(), sys.stderr)


def message_of(error: Exception) -> str:
    """The error as the last line of a traceback has it; of a result that is not valid, what is wrong."""
    return str(error) if isinstance(error, Fault) else f"{type(error).__name__}: {error}"


def line_of(error: Exception, path: Path) -> int | None:
    """The line of a function's file at which an error was raised, or None."""
    place = str(path.resolve())
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == place), None)


def first_line(path: Path, line: int) -> tuple[int, str]:
    """The first line that runs in the block of the `def` at a line, and the name of the `def`. A docstring does not
    run."""
    whole = compile(folder.text_of(path), str(path), "exec", dont_inherit=True)
    (code,) = [one for one in whole.co_consts if isinstance(one, CodeType) and one.co_firstlineno == line]
    lines = [found for *_, found in code.co_lines() if found is not None and found > line]
    return min(lines, default=line), code.co_name


def wait_for_debugger(port: int) -> None:
    """Wait until a debugger has connected on this machine."""
    try:
        import debugpy
    except ImportError:
        raise ImportError("--listen needs debugpy: pip install 'colonnade[udf]'") from None
    host, port = debugpy.listen(("127.0.0.1", port))
    say(f"waiting for a debugger on {host}:{port}", sys.stderr)
    debugpy.wait_for_client()


def run_test(args: argparse.Namespace) -> int:
    project = settings.project(args.uri, args.dir)
    wanted = {one.path for one in folder.chosen(folder.read(project.folder), args.names, project.folder)}
    results = []
    for test in saved.tests(project.folder):
        if test.path in wanted:
            try:
                difference = test.difference()
            except Exception as error:
                difference = f"{type(error).__name__}: {error}"
            results.append({"path": str(test.path), "passed": difference is None, "difference": difference})
    if args.json:
        print(json.dumps(results, indent=2))
    else:
        for result in results:
            say(
                f"{'passed' if result['passed'] else 'failed'}\t{result['path']}\t{result['difference'] or ''}".rstrip()
            )
        if not results:
            say("there are no saved inputs: `colonnade udf run NAME --sql QUERY --save` writes them")
    return 0 if results and all(result["passed"] for result in results) else 1


def run_key(args: argparse.Namespace) -> int:
    sealed.make_key(args.path)
    tell(f"{args.path} has a new key; inputs that are encrypted with it cannot be read without it")
    return 0
