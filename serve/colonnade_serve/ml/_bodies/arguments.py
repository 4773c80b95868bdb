"""The arguments of a function: columns of a query, then constants, by position or by name."""

from __future__ import annotations

from typing import Any

import pyarrow

from .refused import ModelError


def divided(given: dict[str, Any], names: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns of the query, and the constants by these names."""
    columns = {name: value for name, value in given.items() if isinstance(value, pyarrow.Array)}
    constants: dict[str, Any] = {}
    left = list(names)
    for name, value in given.items():
        if name in columns:
            continue
        if name not in names:
            if not left:
                raise ModelError(f"there is an argument more than {', '.join(names)}")
            name = left[0]
        left.remove(name)
        if value is not None and not isinstance(value, str) and name != "folds":
            raise ModelError(f"the argument {name} is {value!r}: write a text in quotes")
        constants[name] = value
    return columns, constants
