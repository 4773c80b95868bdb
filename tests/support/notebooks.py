"""A kernel of Jupyter that runs cells."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jupyter_client

#: Seconds for an answer of the kernel.
LIMIT = 60


@contextmanager
def kernel(directory: Path | None = None) -> Iterator[tuple[Any, Any]]:
    """A kernel with this interpreter, in a working directory: its manager and its client."""
    manager = jupyter_client.KernelManager()
    manager.kernel_spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager.start_kernel(env=dict(os.environ), cwd=directory or Path.cwd())
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=LIMIT)
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def messages(client: Any, request: str) -> Iterator[dict[str, Any]]:
    """The messages of a cell, until the kernel is idle."""
    while True:
        message = client.get_iopub_msg(timeout=LIMIT)
        if message["parent_header"].get("msg_id") != request:
            continue
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            return
        yield message


def run(client: Any, code: str) -> list[dict[str, Any]]:
    """The messages of a cell."""
    return list(messages(client, client.execute(code)))


def outputs(client: Any, code: str) -> list[dict[str, Any]]:
    """The outputs of a cell, as a notebook's file has them. An exception of the cell is an `AssertionError`."""
    found: list[dict[str, Any]] = []
    for message in run(client, code):
        content = message["content"]
        match message["msg_type"]:
            case "error":
                raise AssertionError("\n".join(content["traceback"]))
            case "stream":
                found.append({"output_type": "stream", "name": content["name"], "text": lines(content["text"])})
            case "execute_result":
                data = {kind: lines(text) for kind, text in content["data"].items()}
                found.append({"output_type": "execute_result", "metadata": {}, "data": data})
    return found


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
