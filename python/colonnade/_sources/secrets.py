"""Secrets in connection strings, and texts without them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

#: Names of options, and of parameters within their values, whose values are secret.
_SECRET = r"[\w.]*(?:passw|pwd|passphrase|token|secret|credential|private|apikey|api_key|auth)[\w.]*"
#: `scheme://user:password@`; the password may hold what should be escaped.
_LOGIN = re.compile(r"://[^/?#:@]*:(?P<secret>.+)@")
#: `password=…` within a URI's query, a DSN's words, or an ODBC string.
_PAIR = re.compile(rf"\b{_SECRET}\s*=\s*(?P<secret>\{{[^}}]*\}}|'[^']*'|[^&;\s]+)", re.IGNORECASE)


def secrets(options: Mapping[str, str]) -> list[str]:
    """The parts of options' values that must not be shown, the longest first."""
    found: set[str] = set()
    for name, value in options.items():
        if re.fullmatch(_SECRET, name, re.IGNORECASE):
            found.add(value)
        for match in [*_LOGIN.finditer(value), *_PAIR.finditer(value)]:
            secret = match["secret"]
            found |= {secret, unquote(secret), secret.strip("{}'")}
    return sorted(found - {""}, key=len, reverse=True)


def redacted(text: str, hidden: list[str]) -> str:
    """A library's message without them."""
    for secret in hidden:
        text = text.replace(secret, "***")
    return text
