"""Generates parts of the reference from the code: commands, errors, SQLSTATEs, connection parameters, settings.

Each is a directive without content, such as `commands`. It is replaced by the generated Markdown.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import colonnade
import psycopg
from colonnade import _core, _errors
from colonnade._cli.main import parser as command_line
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]


def table(*rows: tuple[str, ...]) -> Iterator[str]:
    """Rows of a Markdown table; the first is the head."""
    for number, row in enumerate(rows):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
        if number == 0:
            yield "|" + "---|" * len(row)
    yield ""


# --- the command line -------------------------------------------------------------------------------------------------


def commands() -> Iterator[str]:
    """Each command, with its arguments from argparse."""
    for name, parser in _subparsers(command_line()):
        yield from _command(f"colonnade {name}", parser)


def _subparsers(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _command(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    inner = list(_subparsers(parser))
    yield from (f"## {name}", "")
    if parser.description:
        yield from (parser.description, "")
    if inner:
        for action, below in inner:
            yield from _command(f"{name} {action}", below)
        return
    parser.prog = name
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=100)
    yield from ("```text", parser.format_usage().removeprefix("usage: ").rstrip(), "```", "")
    for group in parser._action_groups:
        rows = [(_invocation(action), _help(parser, action)) for action in group._group_actions]
        if not rows:
            continue
        title = {"positional arguments": "arguments"}.get(group.title or "", group.title or "")
        yield from (f"### {title.capitalize()}", "")
        if group.description:
            yield from (group.description, "")
        yield from table(("", ""), *rows)


def _invocation(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return ", ".join(f"`{option}{value}`" for option in action.option_strings)


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    formatter = parser._get_formatter()
    return formatter._expand_help(action) if action.help else ""


# --- errors -----------------------------------------------------------------------------------------------------------


def errors() -> Iterator[str]:
    """A table of the classes: meaning, base class, SQLSTATEs."""
    states: dict[str, list[str]] = {}
    for state, name in _core.SQLSTATE_CLASSES.items():
        states.setdefault(name, []).append(f"`{state}`")
    rows = []
    for name in sorted(vars(_errors), key=lambda name: (name != "Error", name)):
        kind = getattr(_errors, name)
        if isinstance(kind, type) and issubclass(kind, colonnade.Error):
            base = kind.__base__.__name__ if kind.__base__ else ""
            meaning = (kind.__doc__ or "").partition("\n")[0]
            rows.append((f"`{name}`", f"`{base}`", meaning, ", ".join(states.get(name, []))))
    yield from table(("class", "derived from", "meaning", "SQLSTATE classes"), *rows)


def server_sqlstates() -> Iterator[str]:
    """The SQLSTATEs of `colonnade serve`, with PostgreSQL's names, and the client's class for each."""
    text = (ROOT / "serve/protocol/src/sqlstate.rs").read_text()
    found = re.findall(r'pub const (\w+): Self = Self::new\("(\w{5})"\);', text)
    if len(found) < 40:
        raise ValueError("serve/protocol/src/sqlstate.rs no longer lists its SQLSTATEs as constants")
    rows = [
        (f"`{code}`", name.lower(), f"`{_core.SQLSTATE_CLASSES.get(code[:2], 'DatabaseError')}`")
        for name, code in sorted(found, key=lambda one: one[1])
    ]
    yield from table(("SQLSTATE", "name", "class in Python"), *rows)


# --- settings of a server ---------------------------------------------------------------------------------------------


def settings() -> Iterator[str]:
    """The result of `SHOW ALL` on a server with an empty database."""
    command = [sys.executable, "-m", "colonnade", "serve", ":memory:", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip().removeprefix("listening on ")
            with psycopg.connect(f"postgresql://docs@{address}/") as connection:
                shown = connection.execute("SHOW ALL").fetchall()
        finally:
            server.terminate()
    rows = [(f"`{name}`", f"`{value}`" if value else "") for name, value, *_ in shown]
    yield from table(("setting", "value"), *rows)


# --- connection parameters --------------------------------------------------------------------------------------------


def postgresql_parameters() -> Iterator[str]:
    """The libpq parameters that the client accepts, with their environment variables."""
    text = (ROOT / "client/src/postgres/target/settings.rs").read_text()
    found = re.findall(r'^    \("(\w+)", "(\w*)"\),$', text, re.MULTILINE)
    if len(found) < 40:
        raise ValueError("client/src/postgres/target/settings.rs no longer lists its parameters")
    rows = [(f"`{name}`", f"`{variable}`" if variable else "") for name, variable in found]
    yield from table(("parameter", "environment variable"), *rows)


DIRECTIVES: dict[str, Callable[[], Iterator[str]]] = {
    "commands": commands,
    "errors": errors,
    "server-sqlstates": server_sqlstates,
    "settings": settings,
    "postgresql-parameters": postgresql_parameters,
}


class Generated(SphinxDirective):
    """Puts what its function writes where it stands."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n".join(DIRECTIVES[self.name]()), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    for name in DIRECTIVES:
        app.add_directive(name, Generated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
