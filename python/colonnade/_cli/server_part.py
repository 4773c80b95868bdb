"""The commands of the package `colonnade_serve`, whose wheel comes with the extra `serve`."""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.util
from typing import Any

from colonnade._libraries import must_be_of_one_version, server_part
from colonnade._system.names import IS_LINUX

from .command_line import Parser

#: What the help says of each.
COMMANDS = {
    "serve": "serve a database over PostgreSQL's protocol",
    "user": "add, remove and list users of a server",
    "udf": "functions in Python as files",
    "ml": "machine learning in a database",
}


def add_arguments(name: str, subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add a subcommand, or what says how to install it."""
    if is_installed():
        importlib.import_module(f"colonnade_serve._cli.{name}").add_arguments(subparsers)
        return
    where = "pip install 'colonnade[serve]'" if IS_LINUX else "on Linux"
    subparsers.add_parser(name, help=f"{COMMANDS[name]} ({where})", add_help=False)
    subparsers.choices[name] = Absent(name)


@functools.cache
def is_installed() -> bool:
    """Whether the package is there, in this version. It exists for Linux only."""
    if not IS_LINUX:
        return False
    try:
        must_be_of_one_version("colonnade")
    except ImportError:
        return False
    return importlib.util.find_spec("colonnade_serve") is not None


class Absent(Parser):
    """The parser of a command that is not installed, or does not run on this system."""

    def __init__(self, name: str) -> None:
        super().__init__(prog=f"colonnade {name}", add_help=False)
        self.name = name

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        return argparse.Namespace(run=self.run), []

    def run(self, _: argparse.Namespace) -> int:
        """Raises an ImportError that says what to install, or where the command runs."""
        return server_part(f"_cli.{self.name}", f"colonnade {self.name}")
