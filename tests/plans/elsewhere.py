"""A reader in a process of its own: `python -m tests.plans.elsewhere`.

It reads pickled requests from its standard input and answers with pickled tables, so that a test decides when a part is
begun and when it is read on.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

ROOT = Path(__file__).parents[2]
#: The rows of the tables that plans read.
ROWS = 10_000


def serve() -> None:
    """Answers requests: a list of parts is read as a whole; one part is begun, and read on at a second request."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    begun: Any = None
    while True:
        try:
            parts, arguments = pickle.load(requests)
        except EOFError:
            return
        answer: Any
        try:
            if parts == "begin":
                (begun,) = [part.batches() for part in arguments]
                answer = next(begun)
            elif parts == "go on":
                answer = pa.Table.from_batches(list(begun), begun.schema)
            else:
                answer = [part.read("arrow", **arguments) for part in parts]
        except Exception as error:
            answer = error
        pickle.dump(answer, answers)
        answers.flush()


class Reader:
    """A process that reads parts."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def ask(self, what: Any, arguments: Any = None) -> Any:
        """The answer to a request; an error is raised here."""
        self.send(what, arguments)
        return self.answer()

    def send(self, what: Any, arguments: Any = None) -> None:
        assert self._process.stdin is not None
        pickle.dump((what, {} if arguments is None else arguments), self._process.stdin)
        self._process.stdin.flush()

    def answer(self) -> Any:
        assert self._process.stdout is not None
        answer = pickle.load(self._process.stdout)
        if isinstance(answer, Exception):
            raise answer
        return answer


@contextmanager
def reader(**environment: str) -> Iterator[Reader]:
    """A reader, which knows nothing of this process but what the environment says."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.plans.elsewhere"],
        cwd=ROOT,
        env=os.environ | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield Reader(process)
    finally:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        process.stdout.close()
        process.kill()
        process.wait()


if __name__ == "__main__":
    serve()
