"""`colonnade user`: the users of `colonnade serve --users FILE`."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade._cli.terminal import tell

from colonnade_serve._core import add_user, list_users, remove_user

if TYPE_CHECKING:
    import argparse


def add_arguments(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand `user`."""
    summary = "add, remove and list users of a server"
    parser = subparsers.add_parser("user", help=summary, description=summary[0].upper() + summary[1:] + ".")
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    adding = (
        "add a user, or change its password, role and limit; the password is asked for, or read from standard input"
    )
    add = actions.add_parser("add", help=adding, description=adding[0].upper() + adding[1:] + ".")
    add.add_argument("name", metavar="NAME")
    add.add_argument("--read-only", action="store_true", help="a user who cannot change anything")
    limit = "at most so many connections at a time (default: the server's limit)"
    add.add_argument("--connections", metavar="N", type=int, help=limit)
    functions = "may create and drop functions in Python (needs --udf at the server)"
    add.add_argument("--functions", action="store_true", help=functions)
    add.set_defaults(run=run_add)

    remove = actions.add_parser("remove", help="remove a user")
    remove.add_argument("name", metavar="NAME")
    remove.set_defaults(run=run_remove)

    list_ = actions.add_parser("list", help="list users, their roles, limits and whether they may create functions")
    list_.set_defaults(run=run_list)

    for action in (add, remove, list_):
        action.add_argument("--users", metavar="FILE", type=Path, required=True, help="the users file")


def run_add(args: argparse.Namespace) -> int:
    if args.connections is not None and args.connections < 1:
        raise ValueError("--connections must be at least 1; to deny access, remove the user")
    if args.read_only and args.functions:
        raise ValueError("--functions is not for read-only users, who cannot change anything")
    is_new = add_user(
        args.users,
        args.name,
        password(args.name),
        read_only=args.read_only,
        connections=args.connections,
        functions=args.functions,
    )
    tell(f"{'added' if is_new else 'changed'} {args.name}")
    return 0


def password(name: str) -> str:
    """Reads the password, which never comes from the command line, because other users can see that."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    first = getpass.getpass(f"Password for {name}: ")
    if getpass.getpass("Again: ") != first:
        raise ValueError("the passwords are not the same")
    return first


def run_remove(args: argparse.Namespace) -> int:
    if not remove_user(args.users, args.name):
        raise ValueError(f"there is no user {args.name} in {args.users}")
    tell(f"removed {args.name}; open sessions stay open; send SIGHUP to a running server")
    return 0


def run_list(args: argparse.Namespace) -> int:
    for name, role, connections, functions in list_users(args.users):
        limit = "" if connections is None else connections
        print(f"{name}\t{role}\t{limit}" + ("\tfunctions" if functions else ""))
    return 0
