"""DuckDB's errors about macros, as errors about functions."""

from __future__ import annotations

import re

from colonnade_serve._core import Refused

#: DuckDB's errors about macros and what they call, and the errors sent to clients, which called a function: a message,
#: an SQLSTATE and a hint. Functions in Python are macros.
MACRO_ERRORS = {
    r'Invalid Input Error: Function "(.*)" is a Macro Function\.': (
        'DISTINCT, ORDER BY or FILTER specified, but there is no aggregate "{}" with these arguments',
        "42809",
        None,
    ),
    r"Binder Error: Window function macro bodies must contain exactly one aggregate function": (
        "OVER specified, but the function is neither a window function nor an aggregate",
        "42809",
        None,
    ),
    r"Catalog Error: (?:Table )?Macro Function with name (.*) does not exist!": (
        'function "{}" does not exist',
        "42883",
        None,
    ),
    # The database has functions, and the server has not.
    r"Catalog Error: Scalar Function with name colonnade_\w+ does not exist!": (
        "functions in Python are not enabled on this server",
        "0A000",
        "Start the server with --udf.",
    ),
}


def macro_error(error: str) -> Refused | None:
    """The error sent to a client instead of DuckDB's error about a macro."""
    for pattern, (message, code, hint) in MACRO_ERRORS.items():
        if found := re.match(pattern, error):
            return Refused(message.format(*found.groups()), code, None, None, hint)
    return None
