"""The query and its parameters, and the types of columns, on the command line."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from colonnade._errors import InterfaceError

if TYPE_CHECKING:
    import argparse


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """Adds the option `--param`."""
    parser.add_argument(
        "--param",
        metavar="[NAME=]VALUE",
        action="append",
        default=[],
        help="a text for $1, $2, … in order, or for $NAME; cast it in the query where another type is needed",
    )


def given_query(query: str) -> str:
    """The query, or standard input's text in place of `-`."""
    if re.match(r"\s*[a-z][a-z0-9+.-]*://", query, re.IGNORECASE):
        # It could have a password, which no other server may get.
        raise InterfaceError("the query is a URI: the order of the arguments is URI QUERY")
    if query != "-":
        return query
    if sys.stdin is None:
        raise InterfaceError("the query is -, and standard input is closed")
    return sys.stdin.read()


def parameters(given: list[str]) -> list[str] | dict[str, str] | None:
    """The values of --param, in order or by name. A name is an identifier before the first `=`."""
    pairs = [text.partition("=") for text in given]
    named = [bool(separator) and name.isidentifier() for name, separator, _ in pairs]
    if not given:
        return None
    if all(named):
        return {name: value for name, _, value in pairs}
    if any(named) and not all(named):
        raise InterfaceError("only some --param have a name: write NAME=VALUE for all of them, or VALUE for all")
    return given


def dtypes(given: list[str]) -> dict[str, str]:
    """The values of --dtype. The name ends at the first `=`, because a type may contain another."""
    pairs = [text.partition("=") for text in given]
    wrong = [text for text, (name, _, dtype) in zip(given, pairs, strict=True) if not (name and dtype)]
    if wrong:
        raise InterfaceError(f"--dtype {wrong[0]} is not NAME=TYPE, such as price=float64")
    return {name: dtype for name, _, dtype in pairs}
