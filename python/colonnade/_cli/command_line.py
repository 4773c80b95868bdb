"""A parser of arguments that says what a wrong one may have meant."""

from __future__ import annotations

import argparse
import difflib
import re
from typing import Any, NoReturn

#: Options of other programs, and what does the same here, for each command.
ELSEWHERE = {
    "serve": {"--port": "--listen 127.0.0.1:PORT", "-p": "--listen 127.0.0.1:PORT", "--host": "--listen HOST:PORT"},
}


class Parser(argparse.ArgumentParser):
    """Parsers of subcommands are of this class too."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:  # type: ignore[override]
        """Unknown arguments are an error of the subcommand that got them, with its usage and its options."""
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        """Ends the program with the usage, the message and a suggestion."""
        super().error(message + self._suggestion(message))

    def _suggestion(self, message: str) -> str:
        if choice := re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message):
            known = re.findall(r"[\w.-]+", choice[2])
            near = difflib.get_close_matches(choice[1], known, 1, 0.5)
            return f"; did you mean {near[0]}?" if near else ""
        if unknown := re.match(r"unrecognized arguments: (-[^\s=]+)", message):
            elsewhere = ELSEWHERE.get(self.prog.rpartition(" ")[2], {}).get(unknown[1])
            near = difflib.get_close_matches(unknown[1], list(self._option_string_actions), 1)
            return f"; did you mean {elsewhere or near[0]}?" if elsewhere or near else ""
        return ""
