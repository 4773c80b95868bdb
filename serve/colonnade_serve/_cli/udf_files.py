"""`colonnade udf list`, `pull`, `push` and `diff`: functions of a database as files."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colonnade._cli.terminal import say, table, tell
from colonnade._connection import connect
from colonnade._errors import Error
from colonnade._files import refuse_links

from colonnade_serve._udf_tools import catalog, editors, folder, settings
from colonnade_serve._udf_tools.states import CHANGED_BOTH, CHANGED_HERE, SAME, UNREADABLE, Pair, pairs

if TYPE_CHECKING:
    import argparse


def add_arguments(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the actions."""
    parser = action(actions, "list", "list the functions in Python of a database, and the files that differ from them")
    parser.set_defaults(run=run_list)
    parser = action(actions, "pull", "write functions of a database as files")
    parser.add_argument("--force", action="store_true", help="overwrite files with changes that were not pushed")
    parser.add_argument(
        "--ide", choices=("pycharm", "vscode"), help="also write configurations that run and debug them"
    )
    parser.set_defaults(run=run_pull)
    parser = action(actions, "push", "create or replace functions from files, all in one transaction")
    parser.add_argument("--force", action="store_true", help="replace functions that were changed in the database")
    parser.add_argument("--dry-run", action="store_true", help="show the statements and send none of them")
    parser.set_defaults(run=run_push)
    parser = action(actions, "diff", "show how files differ from the database's functions; the status is 1 if they do")
    parser.set_defaults(run=run_diff)


def action(
    actions: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
    parser.add_argument("names", metavar="NAME", nargs="*", help="a function: name or schema.name; all without one")
    add_project(parser)
    return parser


def add_project(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where the database and the files are."""
    parser.add_argument("--uri", help="the database; otherwise COLONNADE_URI, or uri of [tool.colonnade]")
    parser.add_argument("--dir", type=Path, metavar="FOLDER", help="the folder of the files: udf")
    parser.add_argument("--json", action="store_true", help="write JSON, for programs")


def run_list(args: argparse.Namespace) -> int:
    project = settings.project(args.uri, args.dir)
    with connect(project.database()) as connection:
        remote = catalog.functions(connection)
    found = [
        pair for pair in pairs(remote, folder.read(project.folder)) if not args.names or is_meant(pair, args.names)
    ]
    if args.json:
        print(json.dumps([pair.to_json() for pair in found], indent=2))
    else:
        table(["function", "state", "file"], [[pair.name, pair.state, pair.path or ""] for pair in found])
    return 0


def is_meant(pair: Pair, names: list[str]) -> bool:
    if pair.remote is not None and any(catalog.is_named(pair.remote, name) for name in names):
        return True
    return pair.local is not None and any(name in (pair.local.name, pair.name) for name in names)


def run_pull(args: argparse.Namespace) -> int:
    project = settings.project(args.uri, args.dir)
    with connect(project.database()) as connection:
        remote = catalog.functions(connection, args.names)
    local = folder.read(project.folder)
    taken = {one.path for one in local}
    results: list[dict[str, Any]] = []
    for function in remote:
        pair = Pair(function, folder.partner(function, local))
        path = pair.path or folder.path_for(function, project.folder, taken)
        taken.add(path)
        result: dict[str, Any] = {"name": function.signature, "path": str(path), "id": function.id}
        try:
            refuse_links(path, project.outside)
            if pair.state in (CHANGED_HERE, CHANGED_BOTH, UNREADABLE) and not args.force:
                result |= {"result": "kept", "reason": f"{pair.state}; --force overwrites it"}
            else:
                result["result"] = "written" if folder.write(path, function.file, project.outside) else "same"
        except (ValueError, OSError, Error) as error:
            result |= {"result": "failed", "reason": str(error)}
        results.append(result)
    if args.ide is not None:
        results += [
            {"name": args.ide, "path": str(path), "result": "written"} for path in editors.write(args.ide, project)
        ]
    show(results, is_json=args.json)
    return 1 if any(result["result"] in ("kept", "failed") for result in results) else 0


def run_push(args: argparse.Namespace) -> int:
    project = settings.project(args.uri, args.dir)
    local = folder.chosen(folder.read(project.folder), args.names, project.folder)
    for one in local:
        check_place(one)
    changed = [one for one in local if one.function.is_changed]
    for one in changed:
        refuse_links(one.path, project.outside)
    with connect(project.database()) as connection:
        if args.dry_run:
            return show_statements(connection, changed, args)
        pushed = catalog.push(connection, [one.function for one in changed], force=args.force)
    results = []
    for one, function in zip(changed, pushed, strict=True):
        folder.write(one.path, function, project.outside)
        results.append({"name": function.declaration.signature, "path": str(one.path), "id": function.id})
    show([result | {"result": "pushed"} for result in results], is_json=args.json)
    return 0


def check_place(one: folder.LocalFunction) -> None:
    """Refuse a file whose declaration has another name than its path."""
    declaration = one.function.declaration
    if (declaration.schema, declaration.name) != (one.schema, one.name):
        expected = f"{folder.encoded(declaration.schema or one.schema)}/{folder.encoded(declaration.name)}.py"
        raise ValueError(
            f"{one.path}: the first line declares {declaration.schema or ''}.{declaration.name}; "
            f"write the schema before the name, and call the file {expected}"
        )


def show_statements(connection: Any, changed: list[folder.LocalFunction], args: argparse.Namespace) -> int:
    existing = catalog.functions(connection)
    results = []
    for one in changed:
        is_replaced = catalog.must_replace(one.function, existing, force=args.force)
        results.append({"path": str(one.path), "statement": catalog.statement(one.function, is_replaced=is_replaced)})
    if args.json:
        print(json.dumps(results, indent=2))
    else:
        for result in results:
            say(f"{result['statement']};")
    return 0


def run_diff(args: argparse.Namespace) -> int:
    project = settings.project(args.uri, args.dir)
    with connect(project.database()) as connection:
        remote = catalog.functions(connection)
    local = folder.chosen(folder.read(project.folder), args.names, project.folder)
    found = [pair for pair in pairs(remote, local) if pair.local is not None and pair.state != SAME]
    results = []
    for pair in found:
        assert pair.local is not None
        before = "" if pair.remote is None else pair.remote.file.text()
        after = folder.text_of(pair.local.path)
        name = "nothing" if pair.remote is None else f"{pair.remote.signature} in the database"
        lines = difflib.unified_diff(lined(before), lined(after), name, str(pair.path))
        database = None if pair.remote is None else before
        results.append(pair.to_json() | {"database": database, "diff": "".join(lines)})
    if args.json:
        print(json.dumps(results, indent=2))
    else:
        for result in results:
            say(str(result["diff"]).rstrip("\n"))
    return 1 if results else 0


def lined(text: str) -> list[str]:
    return [line if line.endswith("\n") else f"{line}\n" for line in text.split("\n")[:-1]]


def show(results: list[dict[str, Any]], *, is_json: bool) -> None:
    if is_json:
        print(json.dumps(results, indent=2))
        return
    for result in results:
        reason = f" ({result['reason']})" if "reason" in result else ""
        tell(f"{result['result']}\t{result['path']}{reason}")
