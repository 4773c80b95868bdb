"""Secrets in connection strings, and texts without them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePath
from urllib.parse import quote, unquote

#: Names of secret options, and of secret parameters within the values of options.
_SECRET = r"[\w.]*(?:passw|pwd|passphrase|token|secret|credential|private|apikey|api_key|auth)[\w.]*"
#: `scheme://user:password@`. The password may contain characters that should be escaped.
_LOGIN = re.compile(r"://[^/?#:@]*:(?P<secret>.+)@")
#: `password=…` in the query of a URI, in a DSN, or in an ODBC connection string.
_PAIR = re.compile(rf"\b{_SECRET}\s*=\s*(?P<secret>\{{[^}}]*\}}|'[^']*'|[^&;\s]+)", re.IGNORECASE)
#: In any text: what is before a password, also of a URI that was taken for a path. A number may be a port.
_BEFORE = re.compile(r":/{1,2}[^/?#:@]*:(?!\d{1,5}(?:[/?#\s'\"]|$))")
#: How messages show a part of an argument: as a URI, a path, a text of Python or of JSON.
_FORMS = (lambda text: quote(text, "", errors="surrogateescape"), lambda text: str(PurePath(text)), repr, json.dumps)
#: A secret of so few letters is hidden only as a whole word.
_FEW = 4


def secrets(options: Mapping[str, str]) -> list[str]:
    """The parts of options' values that must not be shown, in all forms in which texts show them; the longest first."""
    found: set[str] = set()
    for name, value in options.items():
        if re.fullmatch(_SECRET, name, re.IGNORECASE):
            found.add(value)
        for match in [*_LOGIN.finditer(value), *_PAIR.finditer(value)]:
            secret = match["secret"]
            found |= {secret, unquote(secret), secret.strip("{}'")}
    for form in _FORMS:
        found |= {form(secret).strip("'\"") for secret in found}
    # The path of nothing.
    return sorted(found - {"", "."}, key=len, reverse=True)


def redacted(text: str, hidden: list[str]) -> str:
    """The text with `***` in place of secrets."""
    for secret in hidden:
        if len(secret) < _FEW and secret.isalnum():
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
        else:
            text = text.replace(secret, "***")
    return text


def masked(text: str) -> str:
    """A connection string without its secrets."""
    return redacted(text, secrets({"": text}))


def without_logins(text: str) -> str:
    """Any text without the passwords of the URIs in it. Each line is read once: the text may be a server's."""
    return "\n".join(map(_without_login, text.split("\n"))) if "@" in text else text


def _without_login(line: str) -> str:
    end = line.rfind("@")
    before = _BEFORE.search(line, 0, end + 1)
    # The character before the last `@` belongs to the password.
    return line if before is None or before.end() >= end else f"{line[: before.end()]}***{line[end:]}"
