"""Secrets in connection strings, and texts without them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

#: Names of secret options, and of secret parameters within the values of options.
_SECRET = r"[\w.]*(?:passw|pwd|passphrase|token|secret|credential|private|apikey|api_key|auth)[\w.]*"
#: `scheme://user:password@`. The password may contain characters that should be escaped.
_LOGIN = re.compile(r"://[^/?#:@]*:(?P<secret>.+)@")
#: `password=…` in the query of a URI, in a DSN, or in an ODBC connection string.
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
    """The text with `***` in place of secrets."""
    for secret in hidden:
        text = text.replace(secret, "***")
    return text
